"""One cell of the table: a fresh server, its bytes checked, warmed up, measured, asked
whether it serves all clients alike, its bytes checked again, and stopped.
"""

import os
import resource
import shutil
import statistics
import tempfile
import time
from collections import namedtuple

from measure import generators, machine, processes, servers

# How long the fairness pass lasts, in seconds.
FAIRNESS_SHORTEST, FAIRNESS_LONGEST = 1, 5

Plan = namedtuple("Plan", "object root clients seconds warmup workers placement")


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


def measure_load(url, server, plan):
    """The timed run: wrk between two readings of every counter."""
    cpus = plan.placement.server | plan.placement.client
    own = own_cpu_ns()
    ticks = machine.cpu_times(cpus)
    started = time.monotonic()
    before = server.tree.counters()
    watch = processes.LoadWatch(server.tree, plan.seconds,
                                lambda: machine.pace(plan.placement.server))
    load = generators.run_wrk(url, plan.clients, plan.seconds, plan.placement.client,
                              watch)
    after = server.tree.counters()
    elapsed = time.monotonic() - started
    ticks_after = machine.cpu_times(cpus)
    own = own_cpu_ns() - own
    server.check_alive()

    watch.switches.update(after.switches)
    voluntary, involuntary = processes.switches_between(before.switches, watch.switches)
    server_ns = after.cpu_ns - before.cpu_ns
    busy_ns = (ticks_after.busy - ticks.busy) * processes.TICK_NS
    others_ns = busy_ns - server_ns - load["cpu_ns"] - own
    load.update({
        "server_cpu_ns": server_ns,
        "server_user_ticks": after.user_ticks - before.user_ticks,
        "server_system_ticks": after.system_ticks - before.system_ticks,
        "switches_voluntary": voluntary,
        "switches_involuntary": involuntary,
        "elapsed": elapsed,
        "generator_share": load["cpu_ns"] / 1e9 / elapsed,
        "steal_share": ((ticks_after.steal - ticks.steal)
                        / max(1, ticks_after.total - ticks.total)),
        "others_share": max(0, others_ns) / 1e9 / elapsed,
        "connections_seen": len(watch.sockets),
        "pace": statistics.median(watch.paces) if watch.paces else None,
    })
    return load


def measure_fairness(url, server, plan):
    """A second witness, which shows each client's own rate; meanwhile, with all clients
    connected and nothing being timed, the memory is read."""
    seconds = min(FAIRNESS_LONGEST, max(FAIRNESS_SHORTEST, plan.seconds / 4))
    memory = {}

    def read_memory(generator):
        processes.wait_ended(generator, seconds / 2)
        memory["pss_kib"] = server.tree.memory_kib()
        memory["processes"], memory["tasks"] = server.tree.count()

    fairness = generators.run_h2load(url, plan.clients, seconds, plan.placement.client,
                                     read_memory)
    server.check_alive()
    # Little's law: how many clients were being served on average.
    fairness["effective_clients"] = fairness["req_per_s"] * fairness["mean_us"] / 1e6
    return fairness, memory


def derive(load, fairness):
    """Numbers of the table from the raw ones of one cell."""
    requests = max(1, load["requests"])
    switches = load["switches_voluntary"] + load["switches_involuntary"]
    errors = sum(load["errors"].values()) + fairness["failed"]
    slowest = fairness["slowest"] / fairness["mean"] if fairness["mean"] else 0.0
    return {"req_per_s": load["req_per_s"],
            "p50_us": load["latency_us"]["p50"],
            "p99_us": load["latency_us"]["p99"],
            "cpu_us_per_request": load["server_cpu_ns"] / 1000 / requests,
            "switches_per_request": switches / requests,
            "slowest_client": slowest,
            "errors": errors}


def run_on(url, server, path, plan, folder):
    target = url.rstrip("/") + path
    check_answers(target, plan, folder)
    generators.warm_up(target, plan.clients, plan.warmup, plan.placement.client)
    server.check_alive()
    load = measure_load(target, server, plan)
    if load["requests"] == 0:
        raise CellError("not one answer under load")
    fairness, memory = measure_fairness(target, server, plan)
    check_answers(target, plan, folder)
    values = derive(load, fairness)
    values["pss_mib"] = memory["pss_kib"] / 1024 if memory.get("pss_kib") else None
    return {"load": load, "fairness": fairness, "memory": memory, "values": values}


def reason(error, running):
    """Why the cell failed; a server that is gone explains whatever else was noticed."""
    try:
        if running and not isinstance(error, servers.ServerError):
            running[-1].check_alive()
    except servers.ServerError as ended:
        error = ended
    return str(error) or type(error).__name__


def measure(subject, plan, scratch):
    """The cell as a dictionary; 'failure' in it is None or the reason."""
    folder = tempfile.mkdtemp(prefix=subject.name + "-", dir=scratch)
    os.chmod(folder, 0o755)
    running = []
    result = {}
    failure = None
    try:
        url = subject.launch(plan.root, plan.workers, plan.placement.server, folder,
                             running.append)
        result = run_on(url, running[-1], plan.object.url_path, plan, folder)
        running[-1].stop()
    except (CellError, servers.ServerError, generators.GeneratorError, OSError) as error:
        failure = reason(error, running)
    finally:
        for server in running:
            server.abandon()
        shutil.rmtree(folder, ignore_errors=True)
    result["failure"] = failure
    return result
