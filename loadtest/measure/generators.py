"""The load generators and the byte checker: wrk, h2load and curl, how they are run and
what their output means. Nothing here knows which server answers.
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections import namedtuple

from measure import processes, slices

# Program and the Debian package that has it.
TOOLS = {"wrk": "wrk", "h2load": "nghttp2-client", "curl": "curl"}

# How long a generator may take beyond its own duration before it counts as stuck. After
# the load wrk still corrects its latencies, in a time that grows with the square of the
# longest: one answer that was seconds late costs it half a minute.
SPARE_SECONDS = 60

# Ends wrk's output with one line in which nothing is rounded or left out.
WRK_REPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "wrk_report.lua")

Output = namedtuple("Output", "text status cpu_ns")
Answer = namedtuple("Answer", "status size connects length")

TIME_UNITS_US = {"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6}


class GeneratorError(Exception):
    """A generator did not do what it was asked; the text says what."""


def missing_tools():
    return {tool: package for tool, package in TOOLS.items() if not shutil.which(tool)}


def run(command, cpus, seconds, during=None):
    """Runs a generator of the given length; during is called with its pid meanwhile."""
    with tempfile.TemporaryFile() as output:
        process = processes.start(command, cpus, output, output)
        try:
            if during:
                during(process.pid)
            if not processes.wait_ended(process.pid, seconds + SPARE_SECONDS):
                raise GeneratorError("%s did not end" % command[0])
            spent = processes.cpu_ns(process.pid)
            process.wait()
        finally:
            processes.kill_and_reap(process)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    return Output(text, process.returncode, spent)


def wrk_command(url, clients, seconds):
    return ["wrk", "-t1", "-c%d" % clients, "-d%ds" % seconds, "-s", WRK_REPORT, url]


def run_wrk(url, clients, seconds, cpus, during):
    output = run(wrk_command(url, clients, seconds), cpus, seconds, during)
    result = parse_wrk(output.text)
    if result is None:
        raise GeneratorError("wrk: %s" % last_line(output))
    result["cpu_ns"] = output.cpu_ns
    return result


def warm_up(url, clients, seconds, cpus):
    """wrk counts whole seconds only, so it is ended at the right moment. Nobody wants its
    numbers, so it is not asked to work them out."""
    if seconds <= 0:
        return
    with open(os.devnull, "wb") as nowhere:
        process = processes.start(wrk_command(url, clients, int(seconds) + 10), cpus,
                                  nowhere, nowhere)
        try:
            processes.wait_ended(process.pid, seconds)
        finally:
            processes.kill_and_reap(process)


def run_h2load(url, clients, seconds, cpus, during):
    command = ["h2load", "--h1", "-t1", "-c%d" % clients, "--warm-up-time=200ms",
               "-D%dms" % (seconds * 1000), url]
    output = run(command, cpus, seconds, during)
    result = parse_h2load(output.text)
    if result is None or output.status != 0:
        raise GeneratorError("h2load: %s" % last_line(output))
    if result["requests"] == 0:
        raise GeneratorError("h2load: not one answer")
    return result


def last_line(output):
    lines = output.text.strip().splitlines()
    return lines[-1] if lines else "no output, exit status %d" % output.status


def to_us(text):
    match = re.fullmatch(r"([\d.]+)(us|ms|s|m|h)", text)
    return float(match[1]) * TIME_UNITS_US[match[2]]


def parse_wrk(text):
    """Numbers of wrk_report.lua's line; None without a whole one."""
    line = re.search(r"^wrk-report: (\{.*\})$", text, re.M)
    if not line:
        return None
    told = json.loads(line[1])
    if told["requests"] and len(told["quantiles"]) != len(slices.QUANTILE_STEPS):
        return None
    return {"requests": told["requests"], "seconds": told["microseconds"] / 1e6,
            "latency_us": {key: told[key] for key in ("mean", "max", "quantiles")},
            "errors": told["errors"]}


def parse_h2load(text):
    """Rates of the single clients; None unless it is a whole result."""
    total = re.search(r"finished in \S+, ([\d.]+) req/s", text)
    counts = re.search(r"^requests: .*", text, re.M)
    request = re.search(r"time for request:\s+(\S+)\s+(\S+)\s+(\S+)", text)
    rates = re.search(r"^req/s\s*:\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)", text, re.M)
    if not (total and counts and request and rates):
        return None
    count = {name: int(value) for value, name in re.findall(r"(\d+) (\w+)", counts[0])}
    return {"requests": count["done"], "req_per_s": float(total[1]),
            "mean_us": to_us(request[3]),
            "slowest": float(rates[1]), "fastest": float(rates[2]),
            "mean": float(rates[3]),
            # h2load counts errors and refusals among the failed ones.
            "failed": count["failed"], "errored": count["errored"],
            "timeout": count["timeout"]}


def fetch_twice(url, folder, cpus):
    """Two requests of one curl: [(answer, sha256), (answer, sha256)]."""
    bodies = [os.path.join(folder, name) for name in ("body1", "body2")]
    for body in bodies:
        open(body, "wb").close()  # curl makes no file of an empty body.
    command = ["curl", "--silent", "--show-error", "--http1.1", "--noproxy", "*",
               "--max-time", "20", "--write-out",
               "%{stdout}%{http_code} %{size_download} %{num_connects} "
               "%header{content-length}\\n",
               "-o", bodies[0], url, "-o", bodies[1], url]
    output = run(command, cpus, 40)
    if output.status != 0:
        raise GeneratorError(last_line(output))
    answers = []
    for line, body in zip(output.text.splitlines(), bodies):
        status, size, connects, length = (line.split(" ") + [""])[:4]
        answers.append((Answer(int(status), int(size), int(connects), length),
                        hash_file(body)))
    if len(answers) != 2:
        raise GeneratorError("curl: %s" % last_line(output))
    return answers


def hash_file(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()
