"""A server that takes its time: each request is answered so many milliseconds after it
came, by a clock and not by a CPU. What clients get from it depends on neither's speed, so
load generators must agree about it, whatever the machine does meanwhile.

usage: paced_server.py FILE MILLISECONDS
"""

import asyncio
import signal
import sys


class Paced(asyncio.Protocol):
    def __init__(self, answer, seconds):
        self.answer, self.seconds = answer, seconds
        self.received = b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.received += data
        while b"\r\n\r\n" in self.received:
            _, _, self.received = self.received.partition(b"\r\n\r\n")
            asyncio.get_running_loop().call_later(self.seconds, self.send)

    def send(self):
        if not self.transport.is_closing():
            self.transport.write(self.answer)


async def serve(path, milliseconds):
    with open(path, "rb") as file:
        body = file.read()
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    server = await loop.create_server(lambda: Paced(answer, milliseconds / 1000),
                                      "127.0.0.1", 0, backlog=1000)
    print("floor: paced, 1 worker, serving %s at http://127.0.0.1:%d"
          % (path, server.sockets[0].getsockname()[1]), flush=True)
    await stopped.wait()
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], float(sys.argv[2])))
