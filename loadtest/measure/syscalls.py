"""System calls per request, counted by strace: how a server is started under it, when its
calls count, and what its log means.

What is counted is the calls that end between two moments at both of which every task of
the server sleeps in a call. So nothing of starting and stopping counts, and of what the
requests cause all does.
"""

import contextlib
import os
import re
import signal
import time
from collections import Counter, namedtuple

from measure import peers, processes, servers

# -DDD: the server stays our child, and the tracer is no process of its session.
STRACE = ["strace", "-DDD", "-f", "-qq", "-ttt", "-T", "-s", "0", "-e", "trace=all",
          "-e", "signal=none", "-o"]

# One process is enough: the calls of the one that serves are of interest.
PEER_ARGUMENTS = {"nginx": ["-g", "master_process off;"]}

# How long a server may take to stop at a signal, and its tracer to end with it.
PATIENCE_SECONDS = 10

# A call that ended: in which task, when (seconds since 1970), and an error's name or None.
Call = namedtuple("Call", "task name ended error")

ENTRY = re.compile(r"(\d+) +(\d+\.\d+) (?:<\.\.\. (\w+) resumed>|(\w+)\()(.*)$")
OUTCOME = re.compile(r"(?:\?|-?\w+)(?: (E\w+))?.*?(?: <(\d+\.\d+)>)?$")
# What a call says that a stopped process broke off; the kernel or the program repeats it.
BROKEN_OFF = re.compile(r"EINTR$|ERESTART")


class TracedModel(servers.Model):
    """A model under strace, which writes to log."""

    def __init__(self, name, binary, log):
        super().__init__(name, binary)
        self.log = log

    def command(self, plan):
        return [*STRACE, self.log, *super().command(plan)]


class TracedPeer(peers.Peer):
    """A peer under strace, which writes to log."""

    def __init__(self, name, source, log):
        super().__init__(name, source)
        self.log = log

    def command(self, config, folder):
        return [*STRACE, self.log, *super().command(config, folder),
                *PEER_ARGUMENTS[self.name]]


def wait_tracer_ended(pid):
    """The log is whole once its writer has ended, which is our child since its parent
    ended: we are the subreaper."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        if not processes.wait_ended(pid, PATIENCE_SECONDS):
            raise servers.ServerError("strace did not end with its server")
        os.waitpid(pid, 0)


@contextlib.contextmanager
def stopped(server):
    """The server stands still meanwhile, at a moment when it had nothing to do."""
    server.wait_quiet()
    pids = server.tree.pids()
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        if not processes.wait_states(pids, "Tt", PATIENCE_SECONDS):
            raise servers.ServerError("did not stand still within %d s of SIGSTOP"
                                      % PATIENCE_SECONDS)
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def not_stopped():
    yield


def window(server, requests):
    """Start and end of the time in which requests() is served."""
    server.wait_quiet()
    start = time.time()
    requests()
    server.wait_quiet()
    return start, time.time()


def parse_line(line):
    """The call that a line of strace's log ends; None if it ends none."""
    entry = ENTRY.match(line)
    if not entry or entry[5].endswith((" <unfinished ...>", " <detached ...>")):
        return None
    task, at, resumed, begun, rest = entry.groups()
    outcome = OUTCOME.match(rest.rpartition(" = ")[2])
    if not outcome:
        raise ValueError("not understood in strace's log: %s" % line)
    # The time of a call's one line is that of its begin.
    ended = float(at) + (0 if resumed else float(outcome[2] or 0))
    return Call(int(task), resumed or begun, ended, outcome[1])


def parse(text):
    return [call for call in map(parse_line, text.splitlines()) if call]


def count(calls, start, end, with_stops):
    """How often which call ended from start to end, by name, and how many more the stops
    broke off: those the server would not have made, had we not stopped it."""
    inside = [call for call in calls if start <= call.ended <= end]
    broken = [call for call in inside
              if with_stops and BROKEN_OFF.match(call.error or "")]
    names = Counter(call.name for call in inside)
    names.subtract(Counter(call.name for call in broken))
    return {name: number for name, number in names.most_common() if number}, len(broken)
