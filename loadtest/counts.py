"""Counts what a request costs each model, exactly: what counts.sh starts.

Order of the work: command line, tools, build, each model under strace and callgrind,
table, verdict. Every server is its own fresh process, and none is left.
"""

import os
import shutil
import sys

from measure import (bars, callgrind, cell, client, counts_options, counts_report,
                     machine, objects, options, peers, processes, servers, session, syscalls)

OBJECT = "6k"
CONNECTIONS = 10

# Enough that what happens once a second is little by request.
REQUESTS_TRACED = 1000
# Of the smaller windows, of which there are so many, as of those with twice the requests.
REQUESTS_COUNTED, WINDOWS = 500, 3

FAILURES = (servers.ServerError, client.ClientError, OSError)


class Bench:
    """What all rows share: the object, the CPUs, a new folder for each server."""

    def __init__(self, scratch):
        root = os.path.join(scratch, "htdocs")
        self.scratch, self.object = scratch, objects.provide(OBJECT, root, [])
        # Nothing is measured in time.
        self.plan = cell.Plan(self.object, root, CONNECTIONS, 0, 0, 1,
                              machine.place(1, False))
        with open(os.path.join(root, OBJECT), "rb") as file:
            self.body = file.read()

    def folder(self, name):
        path = os.path.join(self.scratch, name)
        os.mkdir(path)
        return path


def count_calls(subject, bench, folder, waits):
    """The calls of both forms: one request in flight, and one of each connection at once.
    Who waits for all connections in one place is held meanwhile, so that it finds them
    all ready."""
    def use(server, port):
        hold = (lambda: syscalls.stopped(server)) if waits else syscalls.not_stopped
        with client.Client(port, bench.body, CONNECTIONS) as clients:
            turns = syscalls.window(server, lambda: clients.in_turn(REQUESTS_TRACED))
            rounds = syscalls.window(
                server, lambda: clients.at_once(REQUESTS_TRACED // CONNECTIONS, hold))
        return processes.tracer_of(server.process.pid), turns, rounds

    tracer, turns, rounds = servers.serve(subject, bench.plan, folder, use)
    syscalls.wait_tracer_ended(tracer)
    with open(subject.log, encoding="utf-8", errors="replace") as file:
        calls = syscalls.parse(file.read())
    return [form_of("one in flight", calls, 1, False, turns),
            form_of("%d at once" % CONNECTIONS, calls, CONNECTIONS, waits, rounds)]


def form_of(name, calls, ready, stops, window):
    start, end = window
    names, broken = syscalls.count(calls, start, end, stops)
    return {"form": name, "ready": ready, "requests": REQUESTS_TRACED,
            "seconds": end - start, "calls": names, "broken_off": broken,
            "per_request": sum(names.values()) / REQUESTS_TRACED}


def count_instructions(name, binary, bench):
    subject = callgrind.Counted(name, binary, bench.folder("%s-instructions" % name))
    windows = [REQUESTS_COUNTED, 2 * REQUESTS_COUNTED] * WINDOWS

    def use(server, port):
        profiles = []
        with client.Client(port, bench.body, 1) as one:
            subject.end_window(server)
            for requests in windows:
                one.in_turn(requests)
                profiles.append(subject.end_window(server))
        return profiles

    profiles = servers.serve(subject, bench.plan, subject.folder, use)
    once, twice = (min(some, key=lambda profile: profile.total)
                   for some in (profiles[0::2], profiles[1::2]))
    hit = twice.less(once, REQUESTS_COUNTED)
    return {"requests": REQUESTS_COUNTED, "per_request": hit.total,
            "windows": [profile.total for profile in profiles],
            "own": dict(hit.own.most_common()), "under": dict(hit.under.most_common())}


def judge(row, bar):
    """Puts the bars beside the counts, and into "over" what exceeds them."""
    for form in row["calls"] or []:
        form["most"] = bars.most_calls(bar, form["ready"], form["requests"],
                                        form["seconds"])
        if bars.exceeded(form["per_request"], form["most"]):
            row["over"].append("calls, %s" % form["form"])
    if row["instructions"]:
        row["instructions"]["most"] = bar.instructions
        if bars.exceeded(row["instructions"]["per_request"], bar.instructions):
            row["over"].append("instructions")


def empty_row(name, kind):
    return {"name": name, "kind": kind, "calls": None, "instructions": None, "over": [],
            "failure": None}


def count_row(row, work):
    """Fills a row by work(row); what goes wrong is its failure."""
    sys.stderr.write("counts: %s\n" % row["name"])
    try:
        work(row)
    except FAILURES as error:
        row["failure"] = str(error)
    return row


def count_model(name, binary, bench, only, bar):
    def work(row):
        if only != bars.INSTRUCTIONS:
            folder = bench.folder("%s-calls" % name)
            subject = syscalls.TracedModel(name, binary, os.path.join(folder, "trace"))
            row["calls"] = count_calls(subject, bench, folder, bar.waits)
        if only != bars.CALLS:
            row["instructions"] = count_instructions(name, binary, bench)
        judge(row, bar)

    return count_row(empty_row(name, "model"), work)


def count_peer(name, bench):
    def work(row):
        folder = bench.folder(name)
        subject = syscalls.TracedPeer(name, session.SOURCE, os.path.join(folder, "trace"))
        row["calls"] = count_calls(subject, bench, folder, True)
        judge(row, bars.NO_BAR)

    return count_row(empty_row(name, "peer"), work)


def missing_tools(asked):
    tools = {"strace": asked.only != bars.INSTRUCTIONS or asked.peers,
             "valgrind": asked.only != bars.CALLS}
    return {**{name: name for name, used in tools.items()
               if used and not shutil.which(name)}, **peers.missing(asked.peers)}


def measure_all(asked, scratch):
    binary = session.find_binary(asked)
    names = session.choose_models(asked, binary)
    bench = Bench(scratch)
    for name, _ in asked.bars:
        if name not in names:
            raise session.Refused(options.EXIT_USAGE, "--bar: no model '%s' here" % name)
    request = client.read_request()
    facts = machine.fingerprint(session.SOURCE, binary, {
        "tetrad": [binary, "--version"], "strace": ["strace", "--version"],
        "valgrind": ["valgrind", "--version"], "python3": [sys.executable, "--version"]})
    rows = [count_model(name, binary, bench, asked.only, bars.of_model(name, asked.bars))
            for name in names]
    rows += [count_peer(name, bench) for name in asked.peers]
    counts_report.show(rows, facts, bench.object, request, CONNECTIONS, asked.functions)
    if asked.json:
        counts_report.write_json(asked.json, rows, facts, bench.object, request,
                                 CONNECTIONS)
    bad = any(row["failure"] or row["over"] for row in rows)
    return options.EXIT_FAILED if bad else options.EXIT_OK


if __name__ == "__main__":
    sys.exit(session.run("counts", counts_options.parse, measure_all, missing_tools))
