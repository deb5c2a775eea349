#!/usr/bin/env python3
"""Checks seeds.sh, one TAP line per check: a quick run of some tables says what belongs there,
runs are fitted to the time there is, and what failed or is missing has no number.

TETRAD_SOURCE names the source tree, TETRAD_BUILD the build that holds the programs.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import tap

FOLDER = Path(os.environ["TETRAD_SOURCE"]) / "loadtest/threadbench"
PROGRAM = Path(os.environ["TETRAD_BUILD"]) / "loadtest/threadbench/threadbench"


def module():
    spec = importlib.util.spec_from_file_location("seeds", FOLDER / "seeds.py")
    found = importlib.util.module_from_spec(spec)
    sys.modules["seeds"] = found
    spec.loader.exec_module(found)
    return found


sys.dont_write_bytecode = True
seeds = module()


def run(*words, program=PROGRAM, folder=None):
    return subprocess.run([FOLDER / "seeds.sh", f"--program={program}", *words], text=True,
                          capture_output=True, check=False, cwd=folder)


def published(*tables):
    return [row for row in seeds.rows_read() if row.table in tables]


def check_quick():
    """a quick run: every system of its tables, ratios, every run in the JSON, progress"""
    with tempfile.TemporaryDirectory(prefix="seeds-") as place:
        done = run("--quick", "--only=yield,unbounded,frames,crew,ctx", folder=place)
        if done.returncode != 0:
            yield f"status {done.returncode}: {done.stdout}{done.stderr}"
            return
        written = json.loads((Path(place) / "seeds.json").read_text())
        if sorted(os.listdir(place)) != ["seeds.json"]:
            yield f"left: {os.listdir(place)}"
    for row in published("yield", "unbounded", "frames", "crew", "ctx", "web"):
        if row.system[:58] not in done.stdout:
            yield f"no row for {row.system}"
    for row in written["rows"]:
        if not row["runs"] and not row["absent"]:
            yield f"neither run nor absent: {row}"
        if row["row"] in ("pthread", "green", "process", "pthread-fp", "green-fp") \
                and not row["runs"]:
            yield f"no run: {row}"
    for text in ("divided by 100", "==== What was reproduced", "cannot run here", "Otherwise: "):
        if text not in done.stdout:
            yield f"no word of \"{text}\""
    if "seeds: " not in done.stderr or "pilot     yield green" not in done.stderr:
        yield f"no progress: {done.stderr}"


def fitted(costs, budget):
    rows = [seeds.Row("2002", "yield", name, name, 1.0, "s", "", cost_s=cost)
            for name, cost in costs.items()]
    tables = {table.key: table for table in seeds.TABLES}
    live = seeds.fit(tables, rows, budget)
    seeds.spend(tables, live, budget - sum(row.cost_s for row in live))
    return rows


def check_fit():
    """runs fit the time: cheap rows run often, a row that is too long runs at a hundredth"""
    rows = fitted({"a": 0.1, "b": 20.0, "c": 900.0}, 300)
    if [row.scaled for row in rows] != [False, False, True]:
        yield f"{rows}"
    if rows[0].runs_wanted != 5 or rows[1].runs_wanted < 2 or rows[2].runs_wanted < 1:
        yield f"{rows}"
    for costs in ({"a": 10.0, "b": 20.0}, {"a": 299.0, "b": 0.5}, {"a": 40.0, "b": 41.0, "c": 42.0}):
        rows = fitted(costs, 300)
        total = sum(row.cost_s * row.runs_wanted for row in rows)
        if total > 300 or any(row.runs_wanted < 1 for row in rows):
            yield f"{total} s: {rows}"


def check_failure():
    """a wrong answer is a failed row and status 1, and so is a program that dies"""
    with tempfile.TemporaryDirectory(prefix="seeds-") as place:
        fake = Path(place) / "threadbench"
        row = '{"runtime": "x", "loaded": "made up", "failed": "the sum is off"}'
        fake.write_text("#!/bin/sh\ncase $* in\n"
                        "*--help) echo 'Runtimes: pthread green process';;\n"
                        "*--rt=green*) exit 134;;\n"
                        f"*--json*) echo '{{\"rows\": [{row}]}}'; exit 1;;\nesac\n")
        fake.chmod(0o755)
        done = run("--only=pipe", program=fake, folder=place)
    if done.returncode != 1 or "FAILED: the sum is off" not in done.stdout:
        yield f"status {done.returncode}: {done.stdout}{done.stderr}"
    if "FAILED: status 134" not in done.stdout:
        yield f"a dead program goes unseen: {done.stdout}"


def check_usage():
    """a wrong command line: status 2"""
    for words in (["--only=nope"], ["--nope"], ["--program=/nonexistent"]):
        done = run(*words)
        if done.returncode != 2 or done.stdout:
            yield f"{words}: status {done.returncode}: {done.stdout}{done.stderr}"


def check_published():
    """every published row belongs to a table and a document"""
    keys = {table.key: table.document for table in seeds.TABLES}
    for row in seeds.rows_read():
        if row.document not in seeds.DOCUMENTS or \
                keys.get(row.table, row.document) != row.document:
            yield f"{row}"
        if row.table != "web" and row.table not in keys:
            yield f"no table {row.table}"
    for key in keys:
        if not published(key):
            yield f"no row in {key}"


CHECKS = [check_quick, check_fit, check_failure, check_usage, check_published]


if __name__ == "__main__":
    sys.exit(tap.run(CHECKS))
