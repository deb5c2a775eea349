#!/usr/bin/python3 -B
"""A stand-in for tetrad that behaves as its model's name says: well, or in one wrong way.

It shows what the load test makes of a bad server, which no real model is.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import threading
import time

MODELS = ("threads", "greenthreads", "processes", "starving", "reopening", "closing",
          "wrong", "refusing", "silent", "crashing", "ending", "stubborn", "unclean",
          "leaving")

# Answers of one connection before "reopening" closes it: so few that a slow machine too gets
# to it between the looks at the sockets, half a second apart. h2load's are left alone: one
# of its runs in eight never ends when a connection is closed in the moment of its own end.
REOPENING_AFTER = 20
LEFT_OPEN = b"user-agent: h2load"


def parse(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--list-models", action="store_true")
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--model", choices=MODELS)
    parser.add_argument("--port", type=int)
    parser.add_argument("--workers", type=int)
    parser.add_argument("root", nargs="?")
    return parser.parse_args(arguments)


class Handler:
    def __init__(self, model, root):
        self.model, self.root = model, root
        self.bodies = {}
        self.connections = 0

    def body(self, path):
        if path not in self.bodies:
            name = os.path.join(self.root, path.decode().lstrip("/"))
            with open(name, "rb") as file:
                self.bodies[path] = file.read()
        return self.bodies[path]

    def answer(self, path, count):
        """The bytes of an answer, and whether the connection closes after it."""
        many = self.connections > 2
        if self.model == "ending" and many:
            os.abort()
        if self.model == "refusing" and many:
            return b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", False
        body = self.body(path)
        if self.model == "wrong":
            body = body[:-1] + b"!"
        closes = (self.model == "closing"
                  or self.model == "reopening" and count == REOPENING_AFTER)
        head = b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n" % (
            b"Connection: close\r\n" if closes else b"", len(body))
        return head + body, closes

    def serve(self, conn):
        self.connections += 1
        try:
            with conn:
                self.talk(conn)
        except OSError:
            pass
        finally:
            self.connections -= 1

    def talk(self, conn):
        data, count = b"", 0
        while True:
            received = conn.recv(65536)
            if not received:
                return
            data += received
            while b"\r\n\r\n" in data:
                head, _, data = data.partition(b"\r\n\r\n")
                count += 1
                kept = LEFT_OPEN in head.lower()
                answer, closes = self.answer(head.split(b" ", 2)[1], 0 if kept else count)
                conn.sendall(answer)
                if closes:
                    return


def serve_forever(listener, handler):
    while True:
        conn, _ = listener.accept()
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if handler.model == "starving":
            handler.serve(conn)
        elif handler.model == "processes":
            serve_in_child(listener, conn, handler)
        else:
            threading.Thread(target=handler.serve, args=(conn,), daemon=True).start()


def serve_in_child(listener, conn, handler):
    if os.fork():
        conn.close()
        return
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    listener.close()
    handler.serve(conn)
    os._exit(0)


def end(model):
    """What SIGTERM does, after the model's way."""
    if model == "stubborn":
        return
    if model == "leaving":
        subprocess.Popen(["sleep", "1000"])
    if model == "processes":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)
    os._exit(3 if model == "unclean" else 0)


def main():
    options = parse(sys.argv[1:])
    if options.list_models:
        for model in MODELS:
            print("%s\tbehaves as it says" % model)
        return
    if options.version:
        print("tetrad 0 (stand-in)")
        return
    if options.model == "crashing":
        sys.exit("tetrad: no room left")
    signal.signal(signal.SIGTERM, lambda *_: end(options.model))
    if options.model == "processes":
        signal.signal(signal.SIGCHLD, reap)
    listener = socket.create_server(("127.0.0.1", options.port), backlog=128)
    if options.model != "silent":
        print("tetrad: %s, %d workers, serving %s at http://127.0.0.1:%d"
              % (options.model, options.workers, options.root,
                 listener.getsockname()[1]), file=sys.stderr, flush=True)
    handler = Handler(options.model, options.root)
    threading.Thread(target=serve_forever, args=(listener, handler), daemon=True).start()
    while True:
        time.sleep(1000)


def reap(*_):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


if __name__ == "__main__":
    main()
