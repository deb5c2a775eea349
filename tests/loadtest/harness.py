"""What the tests of the load test share: running it, and looking for what it left."""

import os
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
LOADTEST = os.path.join(SOURCE, "loadtest", "loadtest.sh")
PEERS = os.path.join(SOURCE, "loadtest", "peers.sh")
COUNTS = os.path.join(SOURCE, "loadtest", "counts.sh")
STAND_IN = os.path.join(HERE, "fake_tetrad.py")

LONGEST_RUN = 300


def sample(name):
    with open(os.path.join(HERE, "samples", name), encoding="utf-8") as file:
        return file.read()


def wait_for(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not happen within %d s" % seconds)


class Runner:
    """Runs loadtest.sh, or another program like it, with a scratch folder of its own, by
    which everything that comes from it can be recognised: descendants inherit the
    environment."""

    def __init__(self, scratch, program=LOADTEST):
        self.scratch, self.program = str(scratch), program
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("TETRAD")}
        self.environment["TMPDIR"] = self.scratch

    def start(self, *arguments):
        return subprocess.Popen([self.program, *arguments], env=self.environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, start_new_session=True)

    def run(self, *arguments):
        return subprocess.run([self.program, *arguments], env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=LONGEST_RUN, check=False)

    def programs(self):
        """Names of the processes that came from this runner, by pid."""
        mark = b"TMPDIR=" + os.fsencode(self.scratch)
        found = {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/environ" % name, "rb") as file:
                    marked = mark in file.read().split(b"\0")
                with open("/proc/%s/comm" % name, encoding="utf-8") as file:
                    comm = file.read().strip()
            except OSError:
                continue
            if marked:
                found[int(name)] = comm
        return found

    def assert_nothing_left(self):
        assert self.programs() == {}
        assert os.listdir(self.scratch) == []


def rows_of(text):
    """{name: fields} of the printed table."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("model "))
    rows = {}
    for line in lines[start + 1:]:
        if not line:
            break
        fields = line.split()
        rows[fields[0]] = fields[1:]
    return rows
