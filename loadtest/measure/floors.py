"""The floors: bare loops that answer canned bytes (loadtest/floor.c), as rows beside the
servers that are to come near to them.
"""

import os
import urllib.parse

from measure import servers

MODES = ("epoll", "uv", "uv-tcp", "threads", "threads-batch", "processes")
# The loop of the first, with other ways to send a large object: only where they are named.
MODES_ON_REQUEST = ("epoll-sendfile", "epoll-memfd")
ALL_MODES = MODES + MODES_ON_REQUEST

# Whose floor is whose: what waits in the same way, and as cheaply as it can be done.
FLOOR_OF = {
    "prefork": "floor-processes", "apache-prefork": "floor-processes",
    "threads": "floor-threads-batch", "apache-worker": "floor-threads",
    "floor-threads-batch": "floor-threads", "floor-epoll-memfd": "floor-epoll-sendfile",
}
DEFAULT_FLOOR = "floor-epoll"


def floor_of(name):
    return FLOOR_OF.get(name, DEFAULT_FLOOR)


def find_program(binary):
    """The floors' program of the build that a tetrad comes from; None if it has none."""
    path = os.path.join(os.path.dirname(binary), "loadtest", "floor")
    return path if os.path.isfile(path) and os.access(path, os.X_OK) else None


class Floor:
    """A row of the table: one mode of the floors' program."""

    kind = "floor"

    def __init__(self, mode, program):
        self.name = "floor-" + mode
        self.mode, self.program = mode, program

    def launch(self, plan, folder, register):
        path = urllib.parse.unquote(plan.object.url_path.lstrip("/"))
        server = servers.Server([self.program, self.mode, os.path.join(plan.root, path)],
                                plan, folder)
        register(server)
        return server.wait_announced(self.mode)
