"""The client of the exact counts: it sends the committed bytes of wrk's request over
keep-alive connections, in an order that is always the same, and looks at every answer.

A load generator keeps as many requests in flight as it can, and how many of them a server
then finds ready at once is chance. Here it is not.
"""

import os
import re
import socket
import struct

REQUEST = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "conf",
                       "wrk-request.txt")
PATH = "/6k"

# An answer that takes longer is a failure; also of a server that valgrind slows down.
ANSWER_SECONDS = 20

LONGEST_HEAD = 8192


class ClientError(Exception):
    """An answer was not what it should be; the text says how."""


def read_request():
    with open(REQUEST, "rb") as file:
        return file.read()


def length_of_head(data):
    """Bytes of a response's head; 0 if it has not ended yet."""
    return data.find(b"\r\n\r\n") + 4 if b"\r\n\r\n" in data else 0


class Connection:
    """One connection. The first answer says how long each has to be."""

    def __init__(self, port, request, body):
        self.request, self.body, self.length = request, body, None
        # The kernel keeps the time: with a time-out of Python's own, receiving a whole
        # answer would be a loop here.
        self.socket = socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS)
        self.socket.settimeout(None)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO,
                               struct.pack("ll", ANSWER_SECONDS, 0))

    def ask(self):
        self.socket.sendall(self.request)

    def receive(self, size, flags=0):
        try:
            data = self.socket.recv(size, flags)
        except BlockingIOError:
            raise ClientError("no answer within %d s" % ANSWER_SECONDS) from None
        except ConnectionError as error:
            raise ClientError("no answer: %s" % error.strerror) from None
        if not data:
            raise ClientError("closed instead of an answer")
        return data

    def read_first(self):
        """An answer of unknown length; the next have the same."""
        data = b""
        while not length_of_head(data):
            data += self.receive(LONGEST_HEAD)
            if len(data) > LONGEST_HEAD + len(self.body):
                raise ClientError("a head without an end")
        found = re.search(rb"\r\nContent-Length: (\d+)\r\n", data, re.I)
        if not found or int(found[1]) != len(self.body):
            raise ClientError("not the object's length")
        self.length = length_of_head(data) + len(self.body)
        while len(data) < self.length:
            data += self.receive(self.length - len(data))
        return data

    def read(self):
        if self.length is None:
            data = self.read_first()
        else:
            data = self.receive(self.length, socket.MSG_WAITALL)
        if (len(data) != self.length or not data.startswith(b"HTTP/1.1 200 ")
                or not data.endswith(self.body)):
            raise ClientError("not the answer expected: %r..." % data[:60])

    def close(self):
        self.socket.close()


class Client:
    """So many connections, each of which was answered once before anything is counted."""

    def __init__(self, port, body, count):
        self.connections = []
        try:
            request = read_request()
            for _ in range(count):
                self.connections.append(Connection(port, request, body))
            self.in_turn(count)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.close()

    def close(self):
        for connection in self.connections:
            connection.close()

    def in_turn(self, count):
        """So many requests, one connection after the other, one in flight at a time."""
        for number in range(count):
            connection = self.connections[number % len(self.connections)]
            connection.ask()
            connection.read()

    def at_once(self, rounds, hold):
        """In each round a request on every connection, sent while hold() keeps the server
        from looking, and then all answers."""
        for _ in range(rounds):
            with hold():
                for connection in self.connections:
                    connection.ask()
            for connection in self.connections:
                connection.read()
