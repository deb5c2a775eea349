"""tload, the project's own load generator: where it is, how it is run, and what several
of its results are together. Nothing here knows which server answers.
"""

import json
import os
import signal
import tempfile
import time

from measure import generators, processes

# How long opening the idle connections may take, in seconds.
OPEN_SECONDS = 60

OPENED = "idle connections are open"

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}


def find_program(binary):
    """The tload of the build that this tetrad is of, or None."""
    path = os.path.join(os.path.dirname(binary), "loadtest", "tload")
    return path if os.access(path, os.X_OK) else None


def read_result(path, text):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        lines = text.strip().splitlines()
        raise generators.GeneratorError(
            "tload: %s" % (lines[-1] if lines else "no result")) from error


def run(program, url, clients, seconds, cpus, *arguments):
    """One run; its result, with the CPU time of the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tload.json")
        command = [program, "--json", path, "-c", str(clients), "-t", "%gs" % seconds,
                   *arguments, url]
        output = generators.run(command, cpus, seconds)
        result = read_result(path, output.text)
    result["process_cpu_ns"] = output.cpu_ns
    return result


class Holder:
    """A tload that opens idle connections and holds them."""

    def __init__(self, program, url, count, cpus, folder):
        self.path = os.path.join(folder, "holder.json")
        self.log = os.path.join(folder, "holder.log")
        # Four sources, so that ports in use by others do not matter.
        command = [program, "--json", self.path, "-c", "0", "--idle", str(count),
                   "--sources", "4", "-t", "1000m", url]
        with open(self.log, "wb") as log:
            self.process = processes.start(command, cpus, log, log)

    def wait_open(self):
        deadline, ended = time.monotonic() + OPEN_SECONDS, False
        while not ended and time.monotonic() < deadline:
            ended = processes.wait_ended(self.process.pid, 0.05)
            if OPENED in processes.read_text(self.log):
                return
        raise generators.GeneratorError(
            "tload: %s" % (processes.read_text(self.log).strip() or
                           "idle connections not open within %d s" % OPEN_SECONDS))

    def stop(self):
        """Ends it; how many connections were still open."""
        self.process.send_signal(signal.SIGINT)
        if not processes.wait_ended(self.process.pid, OPEN_SECONDS):
            raise generators.GeneratorError("tload did not end")
        self.process.wait()
        return read_result(self.path, processes.read_text(self.log))["idle_open"]

    def kill(self):
        """For good; harmless when it has ended."""
        processes.kill_and_reap(self.process)


def merge_percentiles(results):
    """{'p50': ns, ...} of the requests of several results together; {} without any."""
    steps = {}
    for result in results:
        for end, count in result["histogram_ns"]:
            steps[end] = steps.get(end, 0) + count
    total = sum(steps.values())
    found, reached = {}, 0
    for end in sorted(steps):
        reached += steps[end]
        for name, share in PERCENTILES.items():
            if name not in found and reached >= share * total:
                found[name] = end
    return found


def errors(result):
    """All that went wrong in one result."""
    return sum(result["errors"].values()) + result["unanswered"]


def unevenness(result):
    """The fastest connection's answers over the slowest one's; None when one got none."""
    return result["fastest"] / result["slowest"] if result["slowest"] else None
