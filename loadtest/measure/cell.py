"""One cell of the table: one subject in one round. A fresh server, its bytes checked,
warmed up, measured in slices, asked whether it serves all clients alike, its bytes checked
again, and stopped. When each step is due is the round's affair (rounds.py).
"""

import os
import resource
import shutil
import tempfile
import time
from collections import namedtuple

from measure import accounts, generators, machine, processes, servers, slices

# wrk's shortest run, in seconds.
SLICE_SECONDS = 1

# How long the fairness pass lasts, in seconds.
FAIRNESS_SHORTEST, FAIRNESS_LONGEST = 1, 5

# seconds: so many slices of one second. accounts: who counts the servers' CPU time.
Plan = namedtuple("Plan", "object root clients seconds warmup workers placement accounts",
                  defaults=[accounts.Clocks()])


class CellError(Exception):
    """The cell cannot be measured; the text says why."""


def check_answers(url, plan, folder):
    """Raises unless two requests in a row get every byte, over one connection."""
    answers = generators.fetch_twice(url, folder, plan.placement.client)
    for answer, digest in answers:
        if answer.status != 200:
            raise CellError("status %d instead of 200" % answer.status)
        if answer.length != str(plan.object.size):
            raise CellError("Content-Length '%s' instead of %d"
                            % (answer.length, plan.object.size))
        if answer.size != plan.object.size or digest != plan.object.sha256:
            raise CellError("wrong bytes: %d of them, sha256 %s" % (answer.size, digest))
    if sum(answer.connects for answer, _ in answers) != 1:
        raise CellError("keep-alive not held: two requests needed two connections")


def own_cpu_ns():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return int((usage.ru_utime + usage.ru_stime) * 1e9)


def measure_slice(url, server, plan, seconds=SLICE_SECONDS):
    """The timed part: wrk between two readings of every counter."""
    cpus = plan.placement.server | plan.placement.client
    own = own_cpu_ns()
    ticks = machine.cpu_times(cpus)
    before = server.tree.counters()
    watch = processes.LoadWatch(server.tree, seconds,
                                lambda: machine.paces(plan.placement))
    started = time.monotonic()
    part = generators.run_wrk(url, plan.clients, seconds, plan.placement.client, watch)
    elapsed = time.monotonic() - started
    after = server.tree.counters()
    ticks_after = machine.cpu_times(cpus)
    own = own_cpu_ns() - own
    server.check_alive()

    watch.switches.update(after.switches)
    voluntary, involuntary = processes.switches_between(before.switches, watch.switches)
    part.update({
        "server_cpu_ns": after.cpu_ns - before.cpu_ns,
        "server_user_ticks": after.user_ticks - before.user_ticks,
        "server_system_ticks": after.system_ticks - before.system_ticks,
        "switches_voluntary": voluntary,
        "switches_involuntary": involuntary,
        "elapsed": elapsed,
        "busy_ticks": ticks_after.busy - ticks.busy,
        "steal_ticks": ticks_after.steal - ticks.steal,
        "all_ticks": ticks_after.total - ticks.total,
        "own_cpu_ns": own,
        "connections_seen": len(watch.sockets),
        "paces": {"server": [seen.server for seen in watch.paces],
                  "client": [seen.client for seen in watch.paces]},
    })
    return part


def measure_fairness(url, server, plan):
    """A second witness, which shows each client's own rate; meanwhile, with all clients
    connected and nothing being timed, the memory is read."""
    seconds = min(FAIRNESS_LONGEST, max(FAIRNESS_SHORTEST, plan.seconds / 4))
    memory = {}

    def read_memory(generator):
        processes.wait_ended(generator, seconds / 2)
        memory["kib"] = server.tree.memory_kib()
        memory["processes"], memory["tasks"] = server.tree.count()

    fairness = generators.run_h2load(url, plan.clients, seconds, plan.placement.client,
                                     read_memory)
    server.check_alive()
    # Little's law: how many clients were being served on average.
    fairness["effective_clients"] = fairness["req_per_s"] * fairness["mean_us"] / 1e6
    return fairness, memory


class Cell:
    """The steps of one subject in one round. A step that goes wrong ends the server at
    once and leaves the reason; the steps after it are then not to be taken."""

    def __init__(self, round_number, subject, plan, scratch):
        self.subject, self.plan = subject, plan
        self.folder = tempfile.mkdtemp(prefix=subject.name + "-", dir=scratch)
        os.chmod(self.folder, 0o755)
        self.running = []
        self.target = None
        self.result = {"round": round_number, "name": subject.name,
                       "kind": subject.kind, "failure": None, "flags": [], "slices": []}

    @property
    def failed(self):
        return self.result["failure"] is not None

    def take(self, step):
        """Takes a step, a method of this object; whether all is well."""
        try:
            step(self)
        except (CellError, servers.ServerError, generators.GeneratorError,
                OSError) as error:
            self.result["failure"] = self.reason(error)
            self.end()
        return not self.failed

    def reason(self, error):
        """Why it failed; a server that is gone explains whatever else was noticed."""
        try:
            if self.running and not isinstance(error, servers.ServerError):
                self.running[-1].check_alive()
        except servers.ServerError as ended:
            error = ended
        return str(error) or type(error).__name__

    def prepare(self):
        plan = self.plan
        url = self.subject.launch(plan, self.folder, self.running.append)
        self.target = url.rstrip("/") + plan.object.url_path
        check_answers(self.target, plan, self.folder)
        generators.warm_up(self.target, plan.clients, plan.warmup, plan.placement.client)
        self.running[-1].check_alive()

    def load(self):
        self.result["slices"].append(
            measure_slice(self.target, self.running[-1], self.plan))

    def finish(self):
        result, server = self.result, self.running[-1]
        load = slices.add_up(result["slices"])
        if load["requests"] == 0:
            raise CellError("not one answer under load")
        fairness, memory = measure_fairness(self.target, server, self.plan)
        check_answers(self.target, self.plan, self.folder)
        result.update(load=load, fairness=fairness, memory=memory,
                      values=slices.derive(load, fairness, memory))
        server.stop()
        self.end()

    def end(self):
        """Nothing of it is left afterwards."""
        servers.abandon(self.running)
        self.forget()

    def forget(self):
        """What end() does, for one whose servers have been abandoned."""
        self.running.clear()  # Their ids may be another program's from now on.
        shutil.rmtree(self.folder, ignore_errors=True)
