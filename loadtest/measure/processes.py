"""Processes as the kernel accounts for them: starting one on chosen CPUs, waiting for it,
and the CPU time, context switches and memory of it and all its descendants.

The only file that reads /proc about processes. It knows nothing of HTTP.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import time
from collections import namedtuple

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")

# Between two looks at a server under load. A task that ends in between has its last
# switches uncounted; its CPU time is never lost. The last look of a slice of a second is
# just before its end: tasks that end with their connection end with the slice.
SAMPLE_SECONDS = 0.48

# How long killed processes may take to vanish.
KILL_SECONDS = 5

Counters = namedtuple("Counters", "cpu_ns user_ticks system_ticks switches")

_prctl = ctypes.CDLL(None, use_errno=True).prctl


def become_subreaper():
    """Descendants whose parent ends become our children, so that none gets lost."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def start(command, cpus, output, errors, session=False, environment=None, join=None):
    """Starts command on cpus. It does not survive us, whatever ends us. join is called in
    the child, before the command is."""
    def prepare():
        os.sched_setaffinity(0, cpus)
        _prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if join:
            join()

    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                            stderr=errors, start_new_session=session,
                            preexec_fn=prepare, env=environment)


def wait_ended(pid, seconds):
    """Whether the child ended within so many seconds. It stays unreaped and readable."""
    descriptor = os.pidfd_open(pid)
    try:
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        return bool(poller.poll(max(0, seconds) * 1000))
    finally:
        os.close(descriptor)


def kill_and_reap(process):
    """Ends a child of ours for good; harmless when it has ended."""
    if process.poll() is None:
        process.kill()
        process.wait()


def cpu_ns(pid):
    """CPU time of a process, threads that ended included, in ns; a zombie still has one.

    The kernel's clock of another process: clock_getcpuclockid(3) builds the same number.
    """
    return time.clock_gettime_ns((~pid << 3) | 2)


def read_text(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def read_stat(pid):
    """The fields of /proc/PID/stat from the third, the state, on."""
    return read_text("/proc/%d/stat" % pid).rpartition(")")[2].split()


def read_relations():
    """Every process's parent, and every process's session."""
    parents, sessions = {}, {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            fields = read_stat(int(name))
        except OSError:
            continue
        parents[int(name)], sessions[int(name)] = int(fields[1]), int(fields[3])
    return parents, sessions


def with_descendants(pids, parents):
    members = set(pids)
    grown = True
    while grown:
        found = {pid for pid, parent in parents.items() if parent in members}
        grown = not found <= members
        members |= found
    return members


def end_with_descendants(process):
    """Ends a child of ours and its children, first so that each can tidy up behind
    itself, then for good; harmless when it has ended."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        parents, _ = read_relations()
        for pid in with_descendants({process.pid}, parents):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        wait_ended(process.pid, KILL_SECONDS)
    process.wait()


def kill_descendants():
    """Kills and reaps whatever came from this process, once all else has tidied up: what
    was just being started when the user interrupted is nowhere registered yet."""
    deadline = time.monotonic() + KILL_SECONDS
    while time.monotonic() < deadline:
        parents, _ = read_relations()
        found = with_descendants({os.getpid()}, parents) - {os.getpid()}
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
            except (ProcessLookupError, ChildProcessError):
                continue
        time.sleep(0.01)


class Tree:
    """A server: the leader of a session, which we started, and all that came from it.
    group: the kernel's account of its CPU time (accounts.py), if it has one."""

    def __init__(self, root, group=None):
        self.root, self.group = root, group

    def pids(self):
        """Processes of the session, and descendants that left it."""
        parents, sessions = read_relations()
        leaders = {pid for pid, session in sessions.items() if session == self.root}
        return with_descendants(leaders, parents)

    def counters(self):
        """CPU time by now, that of ended and reaped children included, and the switches
        of each living task as {(pid, tid): (voluntary, involuntary)}."""
        total_ns = user = system = 0
        switches = {}
        for pid in self.pids():
            try:
                fields = read_stat(pid)
                total_ns += cpu_ns(pid) + (int(fields[13]) + int(fields[14])) * TICK_NS
                user += int(fields[11]) + int(fields[13])
                system += int(fields[12]) + int(fields[14])
                switches.update(task_switches(pid))
            except OSError:
                continue  # It ended meanwhile: its parent has its time.
        if self.group:
            total_ns = self.group.cpu_ns()
        return Counters(total_ns, user, system, switches)

    def task_switches(self):
        switches = {}
        for pid in self.pids():
            switches.update(task_switches(pid))
        return switches

    def memory_kib(self):
        """Memory of all processes; None where the kernel does not say. Pages of files
        are left out: how many other servers share them would decide their part."""
        total, seen = 0, False
        for pid in self.pids():
            try:
                text = read_text("/proc/%d/smaps_rollup" % pid)
            except OSError:
                continue
            for line in text.splitlines():
                if line.startswith(("Pss_Anon:", "Pss_Shmem:")):
                    total += int(line.split()[1])
                    seen = True
        return total if seen else None

    def count(self):
        """Processes and tasks."""
        pids = self.pids()
        tasks = 0
        for pid in pids:
            try:
                tasks += len(os.listdir("/proc/%d/task" % pid))
            except OSError:
                continue
        return len(pids), tasks

    def kill(self):
        """SIGKILL to each process by its pid until none is left."""
        deadline = time.monotonic() + KILL_SECONDS
        while time.monotonic() < deadline:
            living = [pid for pid in self.pids() if not is_zombie(pid)]
            if not living:
                return
            for pid in living:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.01)

    def reap(self):
        """Reaps descendants that became our children."""
        for pid in self.pids() - {self.root}:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue


def is_zombie(pid):
    try:
        return read_stat(pid)[0] in "ZX"
    except OSError:
        return True


def task_switches(pid):
    result = {}
    try:
        tids = os.listdir("/proc/%d/task" % pid)
    except OSError:
        return result
    for tid in tids:
        try:
            text = read_text("/proc/%d/task/%s/status" % (pid, tid))
        except OSError:
            continue
        values = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        result[pid, int(tid)] = (int(values.get("voluntary_ctxt_switches", 0)),
                                 int(values.get("nonvoluntary_ctxt_switches", 0)))
    return result


def tracer_of(pid):
    """The process that traces pid; 0: nobody does."""
    text = read_text("/proc/%d/status" % pid)
    return int(text.partition("TracerPid:")[2].split(None, 1)[0])


def task_states(pids):
    """The states of all tasks, a letter each."""
    states = ""
    for pid in pids:
        for task in os.listdir("/proc/%d/task" % pid):
            text = read_text("/proc/%d/task/%s/stat" % (pid, task))
            states += text.rpartition(")")[2].split()[0]
    return states


def wait_states(pids, letters, seconds):
    """Whether within so many seconds the state of every task was one of letters."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if not task_states(pids).strip(letters):
                return True
        except FileNotFoundError:
            pass  # A task has just ended.
        time.sleep(0.0005)
    return False


def sockets_of(pid):
    """The sockets that a process has open, by their numbers in the kernel. Those that it
    closes while it is looked at may be missing."""
    found = set()
    folder = "/proc/%d/fd" % pid
    with contextlib.suppress(OSError):  # It ended meanwhile.
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):  # It closed this one.
                target = os.readlink(os.path.join(folder, name))
                if target.startswith("socket:"):
                    found.add(target)
    return found


class LoadWatch:
    """Looks at a server, at its load generator and at the machine from time to time, and
    remembers the last seen switches of every task, every socket that the generator ever
    had, and what pace() said each time."""

    def __init__(self, tree, seconds, pace):
        self.tree, self.seconds, self.pace = tree, seconds, pace
        self.switches, self.sockets, self.paces = {}, set(), []

    def times(self):
        """When to look, in seconds from the start."""
        return [count * SAMPLE_SECONDS
                for count in range(1, int(self.seconds / SAMPLE_SECONDS) + 1)]

    def __call__(self, generator):
        """Returns when the generator has ended or its time is over."""
        started = time.monotonic()
        for due in self.times():
            if wait_ended(generator, started + due - time.monotonic()):
                return
            self.switches.update(self.tree.task_switches())
            self.sockets |= sockets_of(generator)
            self.paces.append(self.pace())


def switches_between(before, latest):
    """(voluntary, involuntary) of all tasks; one that was not there before began at 0."""
    voluntary = involuntary = 0
    for task, (last_voluntary, last_involuntary) in latest.items():
        first_voluntary, first_involuntary = before.get(task, (0, 0))
        voluntary += last_voluntary - first_voluntary
        involuntary += last_involuntary - first_involuntary
    return voluntary, involuntary
