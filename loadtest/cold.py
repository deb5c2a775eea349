"""Measures what cold files cost those who ask for cached ones: what cold.sh starts.

A steady open load asks for one cached object. In every other slice of time one request more
in a hundred asks for a file that is not in memory, a new one each time; reading it takes the
disk 100 ms. The disk is the preloaded library of faults that the tests have, too. Order of
the work: command line, tools, build, library; each model by itself, its slices in turns;
table and goal.
"""

import http.client
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse

from measure import (cell, generators, machine, paired, report, servers, session, tload)
from measure import options as command_line

LIBRARY = os.path.join(session.SOURCE, "tests", "behaviour", "faults.c")

# One cold request for so many others.
SHARE = 100
# The p99 of the cached ones may change by so much.
MOST = 1.10
COLD_BYTES = 6144

DESCRIPTION = """\
Measures the latency of cached files under a steady load, while one request in a hundred is
for a file whose reading takes the disk long.
"""


def build_parser():
    parser = command_line.new_parser("cold.sh", DESCRIPTION)
    command_line.add_common(parser, command_line.TLOAD_HELP)
    count = command_line.parse_count
    for name, default, text in (
            ("rate", 2000, "requests for the cached object, per second (2000)"),
            ("clients", 50, "connections of these (50)"),
            ("slices", 10, "pairs of slices, without and with cold files (10)"),
            ("disk-ms", 100, "what reading a cold file takes (100)")):
        parser.add_argument("--" + name, type=count, default=default, metavar="N",
                            help=text)
    parser.add_argument("--slice", type=command_line.parse_time, default=2.0,
                        metavar="TIME", help="length of a slice (2s)")
    return parser


def parse(arguments):
    parser = build_parser()
    options = parser.parse_args(arguments)
    options.object, options.duration, options.warmup = "6k", 1, 0
    options.workers, options.same_cpu, options.peers = 1, False, []
    options.seed = 1
    return command_line.complete(parser, options)


def missing(_options):
    return {} if shutil.which("cc") else {"cc": "gcc"}


def compile_library(folder):
    path = os.path.join(folder, "faults.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", path, LIBRARY, "-ldl"],
                   check=True)
    os.chmod(path, 0o755)
    return path


class Model(servers.Model):
    """tetrad over the slow disk."""

    def __init__(self, name, binary, library, disk_ms):
        super().__init__(name, binary)
        self.before = ["env", "LD_PRELOAD=" + library, "FAULT_COLD=%d" % disk_ms]

    def command(self, plan):
        command = super().command(plan)
        # Enough for the blocking models, where each cold request holds a context.
        return self.before + command[:-1] + ["--max-connections", "1000", command[-1]]


class ColdReader:
    """Asks for cold files at a rate, each on its turn, on as many connections as the disk
    may hold up; what came back is checked."""

    def __init__(self, url, names, rate):
        parts = urllib.parse.urlsplit(url)
        self.address = (parts.hostname, parts.port)
        self.names, self.rate = names, rate
        self.over = threading.Event()
        self.latencies, self.wrong = [], 0
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.work, args=(i,)) for i in range(16)]

    def work(self, index):
        link = http.client.HTTPConnection(*self.address)
        due = time.monotonic() + index / self.rate
        while not self.over.wait(max(0, due - time.monotonic())):
            with self.lock:
                name = self.names.pop() if self.names else None
            if name is None:
                break
            started = time.monotonic()
            try:
                link.request("GET", "/" + name)
                answer = link.getresponse()
                fine = len(answer.read()) == COLD_BYTES and answer.status == 200
            except (OSError, http.client.HTTPException):
                link.close()  # opened again by the next request
                fine = False
            with self.lock:
                self.latencies.append(time.monotonic() - started)
                self.wrong += not fine
            due = max(due + len(self.threads) / self.rate, time.monotonic())
        link.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()


def cold_names(root, count):
    names = ["cold-%06d" % number for number in range(count)]
    for name in names:
        with open(os.path.join(root, name), "wb") as file:
            file.write(name.encode() * (COLD_BYTES // len(name)))
            file.write(b"." * (COLD_BYTES % len(name)))
    return names


def ask(url, options, plan):
    program = tload.find_program(options.binary)
    return tload.run(program, url, options.clients, options.slice, plan.placement.client,
                     "--rate", str(options.rate))


def measure_model(subject, plan, options, names, folder):
    running = []
    try:
        url = subject.launch(plan, folder, running.append).rstrip("/")
        target = url + plan.object.url_path
        ask(target, options, plan)
        pairs, cold, wrong = [], [], 0
        for _ in range(options.slices):
            alone = ask(target, options, plan)
            with ColdReader(url, names, options.rate / SHARE) as reader:
                beside = ask(target, options, plan)
            pairs.append((alone, beside))
            cold += reader.latencies
            wrong += reader.wrong
        running[-1].stop()
        return {"name": subject.name, "failure": None, "cold_s": cold, "wrong": wrong,
                "pairs": [[tload.merge_percentiles([one]) for one in pair]
                          for pair in pairs],
                "errors": sum(tload.errors(one) for pair in pairs for one in pair)}
    except (cell.CellError, servers.ServerError, generators.GeneratorError) as error:
        return {"name": subject.name, "failure": str(error)}
    finally:
        servers.abandon(running)


def summarise(row, seed):
    """p99 of the cached ones in us, alone and beside, and the ratio by pairs."""
    alone, beside = zip(*row["pairs"])
    row["ratio"] = paired.ratio_of([b["p99"] / a["p99"] for a, b in row["pairs"]], seed)
    row["p99_us"] = [statistics.median(one["p99"] for one in side) / 1000
                     for side in (alone, beside)]
    return row


def show(row):
    if row["failure"]:
        return "%-12s  FAILED  %s" % (row["name"], row["failure"])
    ratio = row["ratio"]
    between = "" if ratio.low is None else " (%.2f..%.2f)" % (ratio.low, ratio.high)
    return ("%-12s  %7.0f  %7.0f  %5.2f%-14s  %-9s  %5d  %7.0f  %d"
            % (row["name"], *row["p99_us"], ratio.median, between,
               paired.judge(ratio, MOST),
               len(row["cold_s"]), statistics.median(row["cold_s"] or [0]) * 1000,
               row["errors"] + row["wrong"]))


def header(options, plan):
    return ["cached %s at %d/s on %d connections; one cold file in %d, %d ms each; "
            "%d pairs of %g s" % (plan.object.name, options.rate, options.clients, SHARE,
                                  options.disk_ms, options.slices, options.slice),
            "p99 us of the cached ones, alone and with cold ones beside; ratio by pairs,",
            "95 %% interval of its median; goal: at most %.2f" % MOST,
            "%-12s  %7s  %7s  %-19s  %-9s  %5s  %7s  errors"
            % ("model", "alone", "beside", "ratio", "verdict", "cold", "p50 ms")]


def write_json(options, rows):
    document = {"schema": {"name": "tetrad-cold", "version": 1}, "command": sys.argv[1:],
                "environment": session.fingerprint(options.binary, []),
                "rows": [{**row, "ratio": row["ratio"]._asdict()} if row.get("ratio")
                         else row for row in rows]}
    report.write_json(options.json, document)


def measure_all(options, scratch):
    options.binary = session.find_binary(options)
    if not tload.find_program(options.binary):
        raise session.Refused(command_line.EXIT_USAGE, "no tload beside '%s': not in a "
                              "build folder" % options.binary)
    models = session.choose_models(options, options.binary)
    plan = session.make_plan(options, options.binary, scratch)
    library = compile_library(scratch)
    os.sched_setaffinity(0, machine.own_cpus(plan.placement))
    print("\n".join(header(options, plan)), flush=True)
    rows = []
    for name in models:
        folder = os.path.join(scratch, name)
        os.mkdir(folder)
        names = cold_names(plan.root, int(options.rate / SHARE * options.slice
                                          * options.slices) + 64)
        session.say("cold", name)
        rows.append(measure_model(Model(name, options.binary, library, options.disk_ms),
                                  plan, options, names, folder))
        if not rows[-1]["failure"]:
            summarise(rows[-1], options.seed)
        print(show(rows[-1]), flush=True)
    if options.json:
        write_json(options, rows)
    bad = any(row["failure"] or row["errors"] + row["wrong"] for row in rows)
    return command_line.EXIT_FAILED if bad else command_line.EXIT_OK


if __name__ == "__main__":
    sys.exit(session.run("cold", parse, measure_all, missing))
