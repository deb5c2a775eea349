"""The machine: which CPUs carry what, what else runs on them, and a fingerprint that a
result can be judged by. It knows nothing of models or measurements.
"""

import os
import platform
import re
import socket
import subprocess
import time
from collections import namedtuple

CpuTimes = namedtuple("CpuTimes", "busy steal total")
Placement = namedtuple("Placement", "server client")
Paces = namedtuple("Paces", "server client")

# One look at the machine's pace takes 4 ms.
PACE_BYTES, PACE_BATCH, PACE_NS = 6144, 50, 4_000_000

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def place(workers, same_cpu):
    """CPUs of the server and of the clients: apart when there are two.

    The clients take the first CPU, where devices' interrupts tend to go as well.
    """
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) == 1 or same_cpu:
        return Placement({allowed[-1]}, {allowed[-1]})
    count = min(workers, len(allowed) - 1)
    return Placement(set(allowed[-count:]), {allowed[0]})


def own_cpus(placement):
    """Where the measuring program itself does the least harm."""
    spare = os.sched_getaffinity(0) - placement.server
    return spare or placement.client


def cpu_list(cpus):
    return ",".join(str(cpu) for cpu in sorted(cpus))


def cpu_times(cpus):
    """Ticks since boot over the given CPUs. Interrupts are left out of busy: over
    loopback they are the measured work itself."""
    busy = steal = total = 0
    with open("/proc/stat", encoding="ascii") as file:
        for line in file:
            match = re.match(r"cpu(\d+)\s+(.*)", line)
            if not match or int(match[1]) not in cpus:
                continue
            user, nice, system, idle, iowait, irq, softirq, stolen = (
                [int(word) for word in match[2].split()[:8]])
            busy += user + nice + system
            steal += stolen
            total += user + nice + system + idle + iowait + irq + softirq + stolen
    return CpuTimes(busy, steal, total)


def pace(cpus):
    """How fast the machine is just now: round trips of 6 KiB through a socket pair, per
    second of this thread's own CPU time. Of interest are only its changes: a virtual CPU
    can lose a third of its speed to a neighbour without a tick of stolen time."""
    allowed = os.sched_getaffinity(0)
    ours, theirs = socket.socketpair()
    data = bytes(PACE_BYTES)
    count = spent = 0
    try:
        os.sched_setaffinity(0, {min(cpus)})
        started = time.thread_time_ns()
        while spent < PACE_NS:
            for _ in range(PACE_BATCH):
                ours.send(data)
                theirs.recv(PACE_BYTES)
            count += PACE_BATCH
            spent = time.thread_time_ns() - started
    finally:
        os.sched_setaffinity(0, allowed)
        ours.close()
        theirs.close()
    return count * 1e9 / spent


def paces(placement):
    """The pace of a server's CPU and of the clients': a load is as slow as either."""
    server = pace(placement.server)
    same = min(placement.server) == min(placement.client)
    return Paces(server, server if same else pace(placement.client))


def first_line(command, folder=None):
    """First line that a command prints, on either stream; None when it cannot run."""
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, cwd=folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                errors="replace", timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = result.stdout.strip().splitlines()
    return lines[0].strip() if lines else ""


def read_line(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return None


def cpu_model():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(("model name", "Model", "Processor")):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def virtualisation():
    kind = first_line(["systemd-detect-virt", "--vm"])
    if kind:
        return kind
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return "unknown hypervisor" if " hypervisor" in file.read() else "none"
    except OSError:
        return "unknown"


def git_state(folder):
    commit = first_line(["git", "rev-parse", "HEAD"], folder)
    if not commit or not re.fullmatch(r"[0-9a-f]{40,64}", commit):
        return {"commit": None, "dirty": None}
    return {"commit": commit,
            "dirty": bool(first_line(["git", "status", "--porcelain"], folder))}


def compiler_of(binary):
    """Compiler and flags from the build folder that the binary lies in, if it is one."""
    found = {}
    try:
        path = os.path.join(os.path.dirname(binary), "config.log")
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                match = re.match(r"(CC|CFLAGS|CPPFLAGS|LDFLAGS|host)='(.*)'$", line)
                if match:
                    found[match[1]] = match[2]
    except OSError:
        return None
    return found or None


def fingerprint(source, binary, tools):
    """What a reader needs to know about where the numbers come from."""
    governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    return {
        "cpu_model": cpu_model(),
        "cpus_allowed": cpu_list(os.sched_getaffinity(0)),
        "cpus": os.cpu_count(),
        "virtualisation": virtualisation(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "governor": read_line(governor) or "not exposed",
        "load_average": read_line("/proc/loadavg"),
        "git": git_state(source),
        "compiler": compiler_of(binary) if binary else None,
        "tools": {name: first_line(command) for name, command in tools.items()},
    }
