"""HTTP servers that misbehave, for the tests of tload: each is what it does with one
connection.
"""

import contextlib
import re
import socket
import threading
import time

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class Server:
    """Gives each connection, with its number, to do(), in a thread; counts what came."""

    def __init__(self, do):
        self.do = do
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.port = self.listener.getsockname()[1]
        self.connections, self.requests, self.sources = 0, [], []
        self.open, self.lock = [], threading.Lock()
        self.thread = threading.Thread(target=self.accept, daemon=True)

    @property
    def url(self):
        return "http://127.0.0.1:%d/x" % self.port

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            for connection in self.open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self.thread.join(10)

    def accept(self):
        while True:
            try:
                connection, address = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.open.append(connection)
                self.sources.append(address[0])
                number = self.connections
                self.connections += 1
            threading.Thread(target=self.serve, args=(connection, number),
                             daemon=True).start()

    def serve(self, connection, number):
        with connection, contextlib.suppress(OSError):
            self.do(self, connection, number)

    def read_request(self, connection):
        """The bytes of a head without a body; b"" at the end."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            part = connection.recv(65536)
            if not part:
                return b""
            head += part
        with self.lock:
            self.requests.append(head)
        return head


def answers(*replies, close=False):
    """Sends these in turn, the last one from then on; with close, and then closes."""
    def do(server, connection, _number):
        count = 0
        while server.read_request(connection):
            connection.sendall(replies[min(count, len(replies) - 1)])
            count += 1
            if close and count >= len(replies):
                return
    return do


def silent(server, connection, _number):
    while server.read_request(connection):
        pass


def closes_at_once(server, connection, _number):
    server.read_request(connection)


def answers_the_first(count):
    """Connections from that number on are never answered."""
    def do(server, connection, number):
        (answers(HELLO) if number < count else silent)(server, connection, number)
    return do


def stalls_once(request, seconds):
    """Answers at once, but for one request of the whole run."""
    def do(server, connection, _number):
        while server.read_request(connection):
            if len(server.requests) == request:
                time.sleep(seconds)
            connection.sendall(HELLO)
    return do


def in_pieces(server, connection, _number):
    """Each byte of the head by itself."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while server.read_request(connection):
        head = HELLO[:HELLO.index(b"\r\n\r\n") + 4]
        for index in range(len(head)):
            connection.sendall(head[index:index + 1])
        connection.sendall(HELLO[len(head):])


def field(request, name):
    found = re.search(rb"^%s: *(.*?)\r$" % name.encode(), request, re.M | re.I)
    return found[1].decode() if found else None
