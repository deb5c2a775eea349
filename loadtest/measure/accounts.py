"""Where the kernel keeps one account of the CPU time of a server and of all that came
from it, what ended included: a control group for each server, where groups can be made.

A group must change nothing but the bookkeeping. Where it is also a unit of the scheduler,
it is taken only if server and clients have a CPU each.
"""

import os
import shutil
import subprocess
import time
from collections import namedtuple

PREFIX = "tetrad-loadtest-"

# How long the last task of a group may take to leave it.
LEAVE_SECONDS = 5

# kind: v1 or v2; parent: the folder in which groups are made; scheduled: whether a group
# is a unit of the scheduler, too.
Place = namedtuple("Place", "kind parent scheduled")


class Group:
    """The account of one server. Its folder is made here and removed by close()."""

    def __init__(self, kind, folder):
        self.kind, self.folder = kind, folder
        os.mkdir(folder)

    def join(self):
        """Called in the child that is to become the server."""
        path = os.path.join(self.folder, "cgroup.procs")
        with open(path, "w", encoding="ascii") as file:
            file.write("0")

    def cpu_ns(self):
        if self.kind == "v1":
            return int(read(os.path.join(self.folder, "cpuacct.usage")))
        for line in read(os.path.join(self.folder, "cpu.stat")).splitlines():
            name, _, value = line.partition(" ")
            if name == "usage_usec":
                return int(value) * 1000
        raise OSError("cpu.stat has no usage_usec")

    def close(self):
        """Nothing of the group runs any more, but what was killed may take a moment."""
        deadline = time.monotonic() + LEAVE_SECONDS
        while os.path.isdir(self.folder):
            try:
                os.rmdir(self.folder)
            except OSError:
                if time.monotonic() > deadline:
                    return
                time.sleep(0.005)


class Groups:
    """Makes groups; says what it is."""

    def __init__(self, place):
        self.place = place
        self.count = 0
        self.name = ("control groups (v1, cpuacct)" if place.kind == "v1"
                     else "control groups (v2, cpu.stat)")

    def new(self):
        self.count += 1
        name = "%s%d-%d" % (PREFIX, os.getpid(), self.count)
        return Group(self.place.kind, os.path.join(self.place.parent, name))


class Clocks:
    """Where no group can be made: the processes' clocks, and what ended in ticks."""

    name = "processes' clocks; what ended, in ticks of 10 ms"

    def new(self):
        return None


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def own_paths(text):
    """{controllers: path} of /proc/self/cgroup; the unified hierarchy is ''."""
    found = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        found[controllers] = path
    return found


def places(mounts, own):
    """Places that the text of /proc/self/mounts and own_paths() offer, best first."""
    found = []
    for line in mounts.splitlines():
        _, folder, kind, options = line.split(" ")[:4]
        words = options.split(",")
        if kind == "cgroup" and "cpuacct" in words:
            path = next((path for names, path in own.items()
                         if "cpuacct" in names.split(",")), None)
            if path is not None:
                found.append(Place("v1", join(folder, path), "cpu" in words))
        elif kind == "cgroup2" and "" in own:
            parent = join(folder, own[""])
            found.append(Place("v2", parent, None))
    return sorted(found, key=lambda place: place.kind)


def join(folder, path):
    return os.path.join(folder, path.lstrip("/")).rstrip("/")


def is_scheduled(place):
    if place.scheduled is not None:
        return place.scheduled
    control = os.path.join(place.parent, "cgroup.subtree_control")
    return "cpu" in read(control).split()


def works(place):
    """Whether a group can be made there and counts: tried with a program that ends."""
    group = None
    try:
        group = Groups(place).new()
        subprocess.run([shutil.which("true") or "/bin/true"], check=True,
                       preexec_fn=group.join, stdin=subprocess.DEVNULL)
        return group.cpu_ns() > 0
    except (OSError, ValueError, subprocess.SubprocessError):
        return False
    finally:
        if group:
            group.close()


def remove_stale(place):
    """Groups that a killed run left; one that is in use cannot be removed."""
    for name in os.listdir(place.parent):
        owner = name[len(PREFIX):].partition("-")[0]
        if (name.startswith(PREFIX) and owner.isdigit()
                and not os.path.exists("/proc/" + owner)):
            try:
                os.rmdir(os.path.join(place.parent, name))
            except OSError:
                continue


def choose(apart):
    """The best account there is; apart: server and clients have a CPU each."""
    try:
        offered = places(read("/proc/self/mounts"), own_paths(read("/proc/self/cgroup")))
        for place in offered:
            if (apart or not is_scheduled(place)) and works(place):
                remove_stale(place)
                return Groups(place)
    except OSError:
        pass
    return Clocks()
