"""One server at scale: a fresh one with many idle connections, and one of its kind
without, which are asked in turns of a second; what the idle ones hold in memory;
connections that are made for one request; and how a few connections spread over several
workers.
"""

import os
import shutil
import tempfile
import time
from collections import namedtuple

from measure import cell, generators, kernel, processes, servers, tload

# Before memory is read it must not have changed for so long, or it is read after all.
STEADY_SECONDS, STEADY_LONGEST = 0.3, 5

# The kinds of slices: few clients or many, many beside idle ones, connections.
FEW, MANY, BESIDE, CHURN = "few", "many", "beside", "churn"

# A process per connection is not meant for ten thousand.
MOST_IDLE = {"prefork": 500}

# idle, few, many: connections. base: the plan that servers are started by.
Plan = namedtuple("Plan", "base tload idle few many seconds churn")


class Model(servers.Model):
    """tetrad with room for all connections, which it does not close for being idle."""

    def __init__(self, name, binary, connections):
        super().__init__(name, binary)
        self.connections = connections

    def command(self, plan):
        command = super().command(plan)
        return command[:-1] + ["--max-connections", str(self.connections),
                               "--keepalive-timeout", "1h", command[-1]]


def idle_of(name, idle):
    return min(idle, MOST_IDLE.get(name, idle))


def connections_of(name, idle, many):
    """Room for those of one slice that are still closing when those of the next come."""
    return idle_of(name, idle) + 2 * many + 16


def steady_memory(tree):
    """KiB of a server once it does not change any more."""
    deadline = time.monotonic() + STEADY_LONGEST
    last = tree.memory_kib()
    while time.monotonic() < deadline:
        processes.wait_ended(tree.root, STEADY_SECONDS)
        now = tree.memory_kib()
        if now == last:
            break
        last = now
    return last


class Steps:
    """What is common to the measurements of one subject in one round; measure() is what
    makes one of them."""

    def __init__(self, round_number, subject, plan, scratch):
        self.subject, self.plan = subject, plan
        self.idle = idle_of(subject.name, plan.idle)
        self.folder = tempfile.mkdtemp(prefix=subject.name + "-", dir=scratch)
        os.chmod(self.folder, 0o755)
        self.running, self.holders = [], []
        self.result = {"round": round_number, "name": subject.name, "kind": subject.kind,
                       "failure": None, "idle": self.idle, "memory": None,
                       "slices": {kind: [] for kind in (FEW, MANY, BESIDE, CHURN)}}

    def run(self, shuffler):
        """The result; whatever happens, nothing of it is left."""
        try:
            self.measure(shuffler)
        except (cell.CellError, servers.ServerError, generators.GeneratorError,
                OSError) as error:
            self.result["failure"] = str(error) or type(error).__name__
        finally:
            for holder in self.holders:
                holder.kill()
            servers.abandon(self.running)
            shutil.rmtree(self.folder, ignore_errors=True)
        return self.result

    def launch(self, label):
        folder = os.path.join(self.folder, label)
        os.mkdir(folder, 0o755)
        started = len(self.running)
        url = self.subject.launch(self.plan.base, folder, self.running.append)
        target = url.rstrip("/") + self.plan.base.object.url_path
        cell.check_answers(target, self.plan.base, folder)
        server = self.running[-1]
        del self.running[started:-1]  # One whose port was taken has been abandoned.
        return server, target

    def ask(self, url, clients, seconds, *arguments):
        plan = self.plan
        return tload.run(plan.tload, url, clients, seconds, plan.base.placement.client,
                         *arguments)

    def hold(self, url, count):
        folder = tempfile.mkdtemp(dir=self.folder)
        cpus = self.plan.base.placement.client
        holder = tload.Holder(self.plan.tload, url, count, cpus, folder)
        self.holders.append(holder)
        holder.wait_open()
        return holder

    def open_idle(self, server, url):
        before, kernel_before = steady_memory(server.tree), kernel.read()
        holder = self.hold(url, self.idle)
        after, kernel_after = steady_memory(server.tree), kernel.read()
        server.check_alive()
        if before is None or after is None:
            raise cell.CellError("the kernel does not tell its memory")
        count = server.tree.count()
        self.result["memory"] = {
            "user_kib_before": before, "user_kib_after": after,
            "kernel_before": kernel_before, "kernel_after": kernel_after,
            "processes": count[0], "tasks": count[1]}
        return holder

    def slice(self, kind, server, url, clients, *arguments):
        before = server.tree.counters()
        result = self.ask(url, clients, cell.SLICE_SECONDS, *arguments)
        after = server.tree.counters()
        server.check_alive()
        if not result["answers"]:
            raise cell.CellError("not one answer under load (%s)" % kind)
        self.result["slices"][kind].append(
            {"server_cpu_ns": after.cpu_ns - before.cpu_ns, "tload": result})


class Scaled(Steps):
    """A server with idle connections, and one without."""

    def measure(self, shuffler):
        alone, alone_url = self.launch("alone")
        beside, beside_url = self.launch("beside")
        for url in (alone_url, beside_url):
            self.ask(url, self.plan.many, self.plan.base.warmup)
        holder = self.open_idle(beside, beside_url)
        kinds = [(FEW, alone, alone_url, self.plan.few),
                 (MANY, alone, alone_url, self.plan.many),
                 (BESIDE, beside, beside_url, self.plan.many)]
        for _ in range(self.plan.seconds):
            shuffler.shuffle(kinds)
            for kind, server, url, clients in kinds:
                self.slice(kind, server, url, clients)
        if self.plan.churn:
            for _ in range(self.plan.seconds):
                self.slice(CHURN, alone, alone_url, self.plan.few, "--close")
        self.result["idle_open"] = holder.stop()
        if self.result["idle_open"] != self.idle:
            raise cell.CellError("%d of %d idle connections were closed"
                                 % (self.idle - self.result["idle_open"], self.idle))
        for server in (alone, beside):
            server.stop()


class Spread(Steps):
    """A few connections over several workers: which loop has how many of them."""

    def loops(self, server):
        return {(pid, name): count for pid in server.tree.pids()
                for name, count in kernel.sockets_waited_for(pid).items()}

    def held_by(self, server, url):
        """How many of the few connections each loop has that has any."""
        quiet = self.loops(server)
        holder = self.hold(url, self.plan.few)
        busy = self.loops(server)
        holder.stop()
        return sorted(busy[key] - quiet.get(key, 0) for key in busy
                      if busy[key] > quiet.get(key, 0))

    def measure(self, _shuffler):
        server, url = self.launch("spread")
        self.result["spread"] = []
        for _ in range(self.plan.seconds):
            self.result["spread"].append(self.held_by(server, url))
            self.slice(FEW, server, url, self.plan.few)
        server.stop()
