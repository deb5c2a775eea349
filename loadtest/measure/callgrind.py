"""User instructions per request, counted by valgrind's callgrind: how a server is started
under it, how its counts are taken, and what callgrind's files say.

A window is what happens between two moments at which the server is quiet and is told to
write its counts and to begin anew. Some windows have twice as many requests as others; the
difference belongs to the requests alone, since being told is in both. Whatever comes with
time, such as a new Date each second, only adds: of windows of the same requests the one
with the fewest instructions counts.
"""

import glob
import os
from collections import Counter

from measure import processes, servers

# A forked process can be told to give its counts only if children are traced.
VALGRIND = ["valgrind", "--tool=callgrind", "--vgdb=yes", "--trace-children=yes",
            "--compress-strings=no", "--compress-pos=no"]

PREFIX = "callgrind.out."
UNKNOWN = "???"

# How long writing a server's counts may take.
DUMP_SECONDS = 30


class Counted(servers.Model):
    """A model under callgrind, each of whose processes leaves files in folder."""

    def __init__(self, name, binary, folder):
        super().__init__(name, binary)
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self, plan):
        return [*VALGRIND, "--vgdb-prefix=" + self.path("vgdb"),
                "--log-file=" + self.path("valgrind.%p"),
                "--callgrind-out-file=" + self.path(PREFIX + "%p"),
                *super().command(plan)]

    def end_window(self, server):
        """Has each process of the server write its counts and begin anew: their sum."""
        server.wait_quiet()
        with open(self.path("vgdb.log"), "ab") as log:
            told = {pid: processes.start(
                ["vgdb", "--vgdb-prefix=" + self.path("vgdb"), "--pid=%d" % pid,
                 "--max-invoke-ms=1", "dump", "window"],
                os.sched_getaffinity(0), log, log) for pid in server.tree.pids()}
        try:
            for pid, process in told.items():
                ended = processes.wait_ended(process.pid, DUMP_SECONDS)
                # One that has just ended, as a spare child may, has nothing to give.
                if not (ended and process.wait() == 0 or processes.is_zombie(pid)):
                    raise servers.ServerError("callgrind does not give its counts: %s"
                                              % self.last_words())
        finally:
            for process in told.values():
                processes.kill_and_reap(process)
        return self.take_files()

    def last_words(self):
        lines = processes.read_text(self.path("vgdb.log")).strip().splitlines()
        return lines[-1] if lines else "vgdb says nothing"

    def take_files(self):
        """The sum of the files that were written since the last time."""
        profile = Profile()
        for path in glob.glob(os.path.join(glob.escape(self.folder), PREFIX + "*.*")):
            profile.add(processes.read_text(path))
            os.unlink(path)
        if not profile.total:
            raise servers.ServerError("callgrind left no counts")
        return profile


class Profile:
    """Instructions of some processes: in all, by function (own: in its own code, under:
    with all that it called; what it called by itself counts once)."""

    def __init__(self):
        self.total, self.own, self.under = 0, Counter(), Counter()

    def add(self, text):
        """Adds a file of callgrind's."""
        name, called, program, file = None, None, "", ""
        for line in text.splitlines():
            key, _, value = line.partition("=")
            if key == "ob":
                program = os.path.basename(value)
            elif key == "fl":
                # Of a library without symbols callgrind knows the name alone.
                file = program if value == UNKNOWN else os.path.basename(value)
            elif key == "fn":
                name = "%s (%s)" % (value, file)
            elif key == "cfn":
                called = value
            elif called is not None and line[:1].isdigit():
                if called != name.partition(" (")[0]:
                    self.under[name] += int(line.split()[1])
                called = None
            elif name and line[:1].isdigit():
                cost = int(line.split()[1])
                self.own[name] += cost
                self.under[name] += cost
            elif line.startswith("totals:"):
                self.total += int(line.split()[1])
        return self

    def less(self, other, requests):
        """What this has more than other, per request."""
        result = Profile()
        result.total = (self.total - other.total) / requests
        for mine, theirs, difference in ((self.own, other.own, result.own),
                                         (self.under, other.under, result.under)):
            for name in mine.keys() | theirs.keys():
                difference[name] = (mine[name] - theirs[name]) / requests
        return result
