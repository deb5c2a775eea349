"""Runs every published benchmark of threads on this machine, and prints one table for each
document with the published numbers beside, as ratios; then what came out alike and what did
not. seeds.tsv holds what was published.

A pilot with a hundredth of each count tells what a run costs; what cannot be run even once in
the time there is stays at its hundredth. Then every row runs once, and the time that is left
goes to more runs, of cheap rows first; the tables say how many there were.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
QUICK = 100
TREE_FILES = 10000
# Seconds of all full runs; with pilots and the start of each process it stays under 20 minutes.
BUDGET_S = 900
NAN = float("nan")


@dataclass
class Table:
    """One benchmark at its published parameters."""
    document: str
    key: str
    title: str
    bench: str
    counts: dict  # what --quick and the pilot divide
    fixed: list = field(default_factory=list)
    value: str = "real_s"  # of a run, in the unit of seeds.tsv
    more: str = ""         # one more number of a run
    wanted: int = 5


TABLES = [
    Table("1998", "ctx", "a token round a ring of two, by pipes", "ctx", {"rounds": 100000},
          value="us_per_hop", more="switches_per_hop"),
    Table("1998", "pipe", "a number to and fro over pipes", "pipe", {"trips": 100000},
          value="us_per_trip", more="switches_per_trip"),
    Table("2002", "yield", "test1 1000000 10: ten threads yield", "yield", {"reps": 1000000},
          ["--threads=10"], more="ns_per_switch"),
    Table("2002", "io-tmpfs", "test1 100000 10 i, files in memory", "io", {"reps": 100000},
          ["--threads=10", "--dir={memory}"], more="ns_per_switch"),
    Table("2002", "io-disk", "test1 100000 10 i, files on a disk", "io", {"reps": 100000},
          ["--threads=10", "--dir={disk}"], more="ns_per_switch"),
    Table("2003", "crew", "crew node DIR: four workers search a tree", "crew", {},
          ["--string=node", "--dir={tree}", "--workers=4"], more="waits"),
    Table("2004", "aqueue", "aqueue -n 10000000: a queue between two threads (reconstructed)",
          "aqueue", {"items": 10000000}, more="items_per_wake"),
    Table("2006", "slot", "3000 messages through 500 threads, mailboxes of one place", "message",
          {"messages": 3000}, ["--mailbox=slot"], more="ns_per_hop", wanted=13),
    Table("2006", "rendezvous", "3000 messages, each through the whole chain", "message",
          {"messages": 3000}, ["--mailbox=rendezvous"], more="ns_per_hop", wanted=13),
    Table("2006", "unbounded", "3000 messages, mailboxes without a bound", "message",
          {"messages": 3000}, ["--mailbox=unbounded"], more="ns_per_hop", wanted=13),
    Table("2006", "frames", "the same with and without frame pointers", "message",
          {"messages": 3000}, ["--mailbox=slot"], more="ns_per_hop", wanted=13),
    Table("2006", "pipes", "2000 pipes, one writer at random", "pipes", {"seconds": 3},
          ["--handles=2000"], value="events_per_s", more="events_per_wake", wanted=3),
]

DOCUMENTS = {
    "1998": "Apache on NSPR, kernel threads against user threads",
    "2002": "NGPT against LinuxThreads",
    "2003": "a crew of workers on FreeBSD's thread libraries",
    "2004": "a queue on FreeBSD's thread libraries",
    "2006": "Erlang against POSIX threads, and kevent against epoll",
}

# Why a result is not as published, where it is not.
WHY = {
    ("yield", "green"): "a switch here never enters the kernel, where NGPT's did for its locks "
                        "and its signals; compare ns per switch that was seen",
    ("yield", "hybrid"): "a switch here never enters the kernel, where NGPT's did",
    ("io-tmpfs", "green"): "most of the time is the copying of 20 GB, the same for all; what is "
                           "left is the switch, which is cheaper here",
    ("io-disk", "green"): "the files never leave the page cache, so the disk is not seen; what "
                          "is left is the switch, which is cheaper here",
    ("io-tmpfs", "hybrid"): "as for one kernel thread",
    ("io-disk", "hybrid"): "as for one kernel thread",
    ("aqueue", "green"): "one who never is interrupted pushes everything before the first is "
                         "popped, so it waits once, not a million times",
    ("aqueue", "hybrid"): "mutex and condition of kernel threads were made anew since (futex)",
    ("slot", "erlang"): "mailboxes of one place are not Erlang's own; see the unbounded ones",
    ("unbounded", "erlang"): "without a bound a kernel thread empties its whole mailbox in one "
                             "go, which the published program's could not",
    ("rendezvous", "erlang"): "each message waits for an answer from the end of the chain, which "
                              "is not how Erlang sends",
    ("unbounded", "green"): "kernel threads too switch once for many messages then",
    ("pipes", "io_uring"): "it is a stand-in that works otherwise: completions lie in memory that "
                           "both see, one for each write, and many are taken without a call",
    ("pipes", "busy"): "the reader blocks in one pipe at a time, so on one CPU every few bytes "
                       "cost a switch of the kernel, while the others read batches",
}


@dataclass
class Row:
    """One system of a document, and what was measured in its place."""
    document: str
    table: str
    system: str
    name: str  # our row; "-": none
    published: float
    unit: str
    remark: str
    cost_s: float = NAN
    runs_wanted: int = 0
    scaled: bool = False
    missing: str = ""
    failed: str = ""
    loaded: str = ""
    answer: str = ""
    runs: list = field(default_factory=list)

    def values(self, table):
        factor = QUICK if self.scaled and table.value == "real_s" else 1
        return sorted(run[table.value] * factor for run in self.runs)

    def median(self, table):
        values = self.values(table)
        return values[len(values) // 2] if values else NAN

    def middle_run(self, table):
        return sorted(self.runs, key=lambda run: run[table.value])[len(self.runs) // 2]


def rows_read():
    rows = []
    for line in (HERE / "seeds.tsv").read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        document, table, system, name, value, unit, remark = (line.split("\t") + [""])[:7]
        rows.append(Row(document, table, system, name, NAN if value == "-" else float(value), unit,
                        remark))
    return rows


def number(value):
    """Four digits, whatever its size."""
    if math.isnan(value):
        return "-"
    if value == 0 or abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.{max(0, 3 - math.floor(math.log10(abs(value))))}f}"


class Bench:
    """Calls threadbench, one row and one run at a time, and tells how far it is."""

    def __init__(self, options, places):
        self.options, self.places = options, places
        self.began = time.monotonic()
        self.known = {}

    def say(self, text):
        print(f"seeds: {time.monotonic() - self.began:5.0f} s  {text}", file=sys.stderr, flush=True)

    def program(self, row):
        return self.options.program + ("-fp" if row.name.endswith("-fp") else "")

    def words(self, table, divide):
        counts = [f"--{name}={max(1, count // divide)}" for name, count in table.counts.items()]
        return [table.bench, *counts, *(word.format(**self.places) for word in table.fixed)]

    def has(self, table, name):
        """Whether the program knows such a row at all."""
        if table.bench not in self.known:
            done = subprocess.run([self.options.program, table.bench, "--help"], text=True,
                                  capture_output=True, check=True)
            lines = [line for line in done.stdout.splitlines()
                     if line.startswith(("Runtimes:", "Other rows:"))]
            self.known[table.bench] = " ".join(lines).split()
        return name.removesuffix("-fp") in self.known[table.bench]

    def run(self, table, row, divide):
        """One run, added to the row's; its time with all that belongs to it."""
        command = [self.program(row), *self.words(table, divide), "--runs=1", "--json",
                   f"--rt={row.name.removesuffix('-fp')}", f"--cpus={self.options.cpus}"]
        began = time.monotonic()
        done = subprocess.run(command, text=True, capture_output=True, check=False)
        if done.returncode not in (0, 1) or not done.stdout:
            row.failed = done.stderr.strip() or f"status {done.returncode}"
            return 0
        found = json.loads(done.stdout)["rows"][0]
        row.loaded = found.get("loaded", "")
        row.missing = found.get("absent", "")
        row.failed = found.get("failed", "")
        row.answer = found.get("answer", "")
        row.runs += found.get("runs", [])
        return time.monotonic() - began


def pilot(bench, tables, rows):
    """What a full run of each row costs."""
    for row in rows:
        table = tables.get(row.table)
        if table is None:
            row.missing = row.remark
            continue
        if row.name == "-" or not bench.has(table, row.name):
            row.missing = row.remark if row.name == "-" else f"this build has no row {row.name}"
            continue
        bench.say(f"pilot     {table.key} {row.name}")
        took = bench.run(table, row, QUICK)
        if row.runs and table.counts and "seconds" not in table.counts:
            # The start of the process does not grow with the counts.
            real_s = row.runs[0]["real_s"]
            row.cost_s = took + real_s * (QUICK - 1)
        else:
            row.cost_s = took * table.counts.get("seconds", 1)
        row.runs = row.runs if bench.options.quick else []


def fit(tables, rows, budget_s):
    """Those that run, once. What is too long even once is left at its hundredth."""
    live = [row for row in rows if row.table in tables and not row.missing and not row.failed]
    for row in sorted(live, key=lambda row: -row.cost_s):
        if sum(other.cost_s for other in live if not other.scaled) > budget_s:
            row.scaled = bool(tables[row.table].counts)
            row.cost_s = row.cost_s / QUICK
    for row in live:
        row.runs_wanted = 1
    return live


def spend(tables, live, left_s):
    """What is left goes to more runs. A row gets half of it at most, the cheapest first."""
    for row in sorted(live, key=lambda row: row.cost_s):
        more = min(tables[row.table].wanted - 1, int(left_s / 2 / max(row.cost_s, 0.01)))
        row.runs_wanted = 1 + max(0, more)
        left_s -= max(0, more) * row.cost_s


def measure_turn(bench, table, rows, turn):
    """One run of each row that has one left, beginning with another row each time."""
    due = [row for row in rows if turn < row.runs_wanted and not row.failed]
    first = turn % len(due) if due else 0
    for row in due[first:] + due[:first]:
        of = f"of {row.runs_wanted}" if turn > 0 else ""
        bench.say(f"run {turn + 1:2} {of:5} {table.key} {row.name}"
                  + (" (a hundredth)" if row.scaled else ""))
        row.cost_s = bench.run(table, row, QUICK if row.scaled else 1)


def measure(bench, tables, live, budget_s):
    """Everything once, then rounds, so that the rows of a table are interleaved."""
    began = time.monotonic()
    own = {key: [row for row in live if row.table == key] for key in tables}
    for key, table in tables.items():
        measure_turn(bench, table, own[key], 0)
    spend(tables, live, budget_s - (time.monotonic() - began))
    for key, table in tables.items():
        for turn in range(1, max((row.runs_wanted for row in own[key]), default=0)):
            measure_turn(bench, table, own[key], turn)


def base_of(rows, what):
    """What ratios of a table are to: its first row that has a number."""
    return next((value for value in map(what, rows) if not math.isnan(value)), NAN)


def ratio(value, base):
    return value / base if base and not math.isnan(base) else NAN


def row_line(row, table, base, published_base):
    left = f"  {row.system[:58]:58} {number(row.published):>8} " \
           f"{number(ratio(row.published, published_base)):>6}"
    if not row.runs:
        reason = f"FAILED: {row.failed}" if row.failed else row.missing
        return f"{left}  {row.name:10} {reason}"
    values, run = row.values(table), row.middle_run(table)
    factor = QUICK if row.scaled else 1
    spread = f"({number(values[0])}..{number(values[-1])})"
    scaled = "; a hundredth of the counts, times 100" if row.scaled else ""
    more = run.get(table.more)
    return (f"{left}  {row.name:10} {number(row.median(table)):>8} {spread:>19} "
            f"{number(ratio(row.median(table), base)):>6} {len(values):>4} "
            f"{run['kernel_threads']:>8} {run['user_s'] * factor:8.2f} "
            f"{run['sys_s'] * factor:8.2f} "
            f"{number(NAN if more is None else more):>8}  {row.loaded}{scaled}"
            + (f"; {row.remark}" if row.remark else ""))


def table_print(table, rows, bench):
    base = base_of(rows, lambda row: row.median(table))
    published_base = base_of([row for row in rows if row.runs],
                             lambda row: row.published)
    print(f"\n{table.title}\n  threadbench {' '.join(bench.words(table, bench.divide))}")
    print(f"  {'system of the document':58} {'publ.':>8} {'ratio':>6}  {'row':10} "
          f"{rows[0].unit:>8} {'(min..max)':>19} {'ratio':>6} {'runs':>4} {'kthreads':>8} "
          f"{'user s':>8} {'sys s':>8} {table.more.replace('_per_', '/')[:12]:>8}  loaded")
    for row in rows:
        print(row_line(row, table, base, published_base))


def like(published, measured):
    """Both less, both more, or both about the same."""
    def side(value):
        return 0 if 0.9 <= value <= 1.1 else (value > 1) - (value < 1)
    return side(published) == side(measured)


def closing(tables, rows, quick):
    alike, otherwise, without = [], [], []
    for table in tables.values():
        own = [row for row in rows if row.table == table.key]
        compared = [row for row in own if row.runs and not math.isnan(row.published)]
        for row in compared[1:]:
            published = ratio(row.published, compared[0].published)
            measured = ratio(row.median(table), compared[0].median(table))
            text = (f"{table.document} {table.key}, {row.system} to {compared[0].system}: "
                    f"published {number(published)}, here {row.name} to {compared[0].name} "
                    f"{number(measured)}")
            if like(published, measured):
                alike.append(text)
            else:
                otherwise.append(f"{text}, for {WHY.get((table.key, row.name), 'what reason is not known')}")
        without += [f"{row.system} ({row.failed or row.missing})" for row in own if not row.runs]
    parts = ["Alike: " + ("; ".join(alike) or "nothing") + ".",
             "Otherwise: " + ("; ".join(otherwise) or "nothing") + "."]
    if without:
        parts.append("Without a number: " + "; ".join(dict.fromkeys(without)) + ".")
    parts.append("The published times are of machines of their day, so only ratios compare.")
    if quick:
        parts.append("This was --quick: counts were divided by 100, so much of it is the start.")
    return "\n".join(textwrap.fill(part, 98) for part in parts)


def report(tables, rows, bench):
    print(f"Every published benchmark of threads, on {os.cpu_count()} CPUs, each run on "
          f"{bench.options.cpus}; " + ("counts divided by 100 (--quick)" if bench.options.quick
                                       else "published parameters"))
    print(f"Ratios are to the first row of each table. Runs were fitted to {bench.options.budget} s;"
          " each table says how many there were.")
    for document, title in DOCUMENTS.items():
        print(f"\n==== {document}: {title}")
        for table in tables.values():
            if table.document == document:
                table_print(table, [row for row in rows if row.table == table.key], bench)
        for row in rows:
            if row.document == document and row.table == "web":
                value = "" if math.isnan(row.published) else f": published {row.published:g} {row.unit}"
                print(f"  {row.system}{value}; {row.remark}")
    print("\n==== What was reproduced")
    print(closing(tables, rows, bench.options.quick))


def json_write(path, options, tables, rows):
    """Every single run."""
    def of(row):
        published = None if math.isnan(row.published) else row.published
        return {"document": row.document, "table": row.table, "system": row.system,
                "row": row.name, "published": published, "unit": row.unit, "remark": row.remark,
                "absent": row.missing, "failed": row.failed, "loaded": row.loaded,
                "answer": row.answer, "hundredth": row.scaled, "runs": row.runs}
    content = {"quick": options.quick, "cpus": options.cpus, "budget_s": options.budget,
               "tables": {table.key: {"bench": table.bench, "counts": table.counts,
                                      "fixed": table.fixed, "value": table.value}
                          for table in tables.values()},
               "rows": [of(row) for row in rows]}
    Path(path).write_text(json.dumps(content, indent=1) + "\n")


def options_read():
    parser = argparse.ArgumentParser(prog="seeds.sh", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true", help="divide counts by 100")
    parser.add_argument("--only", default="", help="tables, separated by commas: "
                        + " ".join(table.key for table in TABLES))
    parser.add_argument("--json", default="seeds.json", help="where every run goes (seeds.json)")
    parser.add_argument("--cpus", default="1", help="that all threads of a run share (1)")
    parser.add_argument("--budget", type=int, default=BUDGET_S, help=f"seconds of runs ({BUDGET_S})")
    parser.add_argument("--program", default=os.environ.get("THREADBENCH",
                                                            "loadtest/threadbench/threadbench"),
                        help="threadbench, with threadbench-fp beside it")
    options = parser.parse_args()
    keys = [table.key for table in TABLES]
    unknown = [key for key in options.only.split(",") if key and key not in keys]
    if unknown:
        parser.error(f"no table is called {unknown[0]}")
    if not shutil.which(options.program):
        parser.error(f"{options.program} is not there: build it, or name it with --program")
    options.program = os.path.abspath(options.program)
    return options


def tree_make(options, place):
    """The tree that the crew searches, the same each time."""
    tree = str(Path(place) / "tree")
    files = TREE_FILES // QUICK if options.quick else TREE_FILES
    subprocess.run([options.program, "mktree", tree, f"--files={files}"], check=True)
    return tree


def grep_compare(rows, tree):
    """A crew that finds other files than grep has failed."""
    found = subprocess.run(["grep", "-rlF", "node", tree], text=True, capture_output=True,
                           check=False).stdout.count("\n")
    for row in rows:
        if row.table == "crew" and row.runs and row.answer != f"{found} hits":
            row.failed, row.runs = f"{row.answer}, and grep has {found}", []


def main():
    options = options_read()
    only = options.only.split(",") if options.only else [table.key for table in TABLES]
    tables = {table.key: table for table in TABLES if table.key in only}
    rows = [row for row in rows_read() if row.table in tables or row.table == "web"]
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
    with tempfile.TemporaryDirectory(prefix="seeds-") as place:
        bench = Bench(options, {"memory": memory, "disk": os.getcwd(),
                                "tree": tree_make(options, place)})
        bench.divide = QUICK if options.quick else 1
        pilot(bench, tables, rows)
        if not options.quick:
            measure(bench, tables, fit(tables, rows, options.budget), options.budget)
        grep_compare(rows, bench.places["tree"])
        bench.say("done")
    report(tables, rows, bench)
    json_write(options.json, options, tables, rows)
    return 1 if any(row.failed for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
