"""What is shown in the end: the table, the legend, and the JSON file."""

import json
import sys
import textwrap

from measure import machine, summary

SCHEMA = {"name": "tetrad-loadtest", "version": 2}

# greenthreads/threads of the system this one descends from, on one CPU.
RATIO_OF_1998 = 1.263

WIDTH = 96

NOTES = """req/s: median of the rounds. p50, p99: wrk's, closed loop, with its own
correction; they promise nothing about latency at a given rate. cpu us/req: user and
system time of the server's whole process tree; over loopback it includes receive work of
the clients. slowest: the rate of the slowest client over the mean, of the worst round
(h2load). mem: anonymous and shared memory of the tree, with all clients connected, without
pages of files (program, libraries), which servers share."""

COLUMNS = ("req/s", "(min..max)", "p50 us", "p99 us", "cpu us/req", "switch/req",
           "mem MiB", "slowest", "errors", "flags")


def header(options, plan, facts):
    """What was measured, how and where: three lines above the table."""
    server, client = plan.placement
    where = ("server and clients share CPU %s" % machine.cpu_list(server)
             if server == client else
             "server on CPU %s, clients on CPU %s"
             % (machine.cpu_list(server), machine.cpu_list(client)))
    return [
        "object %s (%d bytes), %d keep-alive clients, %d s x %d rounds after %g s of "
        "warm-up" % (plan.object.name, plan.object.size, plan.clients, plan.seconds,
                     options.rounds, plan.warmup),
        "%s; %d worker%s; seed %d" % (where, plan.workers,
                                      "" if plan.workers == 1 else "s", options.seed),
        "%s, %d CPUs, virtualisation: %s, Linux %s" % (
            facts["cpu_model"], facts["cpus"], facts["virtualisation"], facts["kernel"]),
    ]


def table_row(row):
    values = row["values"]
    rate, memory = values["req_per_s"], values["memory_mib"]

    def median(key, form):
        return form % values[key]["median"]

    return [row["name"], "%.0f" % rate["median"],
            "(%.0f..%.0f)" % (rate["min"], rate["max"]),
            median("p50_us", "%.0f"), median("p99_us", "%.0f"),
            median("cpu_us_per_request", "%.2f"), median("switches_per_request", "%.3f"),
            "%.1f" % memory["median"] if memory else "?",
            "%.2f" % values["slowest_client"]["min"],
            "%.0f" % values["errors"]["max"], "".join(row["flags"]) or "-"]


def table(rows):
    """Aligned lines: the name to the left, numbers to the right. A failed row is its
    name and the reason."""
    cells = [["model"] + list(COLUMNS)]
    cells += [table_row(row) for row in rows if not row["failure"]]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    widths[0] = max([widths[0]] + [len(row["name"]) for row in rows])

    def align(line):
        fields = [line[0].ljust(widths[0])]
        fields += [field.rjust(width) for field, width in zip(line[1:-1], widths[1:-1])]
        return "  ".join(fields + [line[-1]])

    lines = [align(cells[0])]
    for row in rows:
        if row["failure"]:
            lines.append("%s  FAILED  %s" % (row["name"].ljust(widths[0]),
                                             row["failure"]))
        else:
            lines.append(align(table_row(row)))
    return lines


def show_ratio(found):
    return "%.2f (%.2f..%.2f)" % (found["median"], found["min"], found["max"])


def comparisons(cells, rows, same_cpu):
    """Ratios within the rounds of this run, which is all that can be compared."""
    lines = []
    models = [row["name"] for row in rows if row["kind"] == "model"]
    for peer in (row["name"] for row in rows if row["kind"] == "peer"):
        ratios = {model: summary.ratio(cells, model, peer, "cpu_us_per_request")
                  for model in models}
        parts = ["%s %s" % (model, show_ratio(found))
                 for model, found in ratios.items() if found]
        if parts:
            lines += textwrap.wrap("cpu us/req over %s's in the same round: %s"
                                   % (peer, ", ".join(parts)), WIDTH)
    found = summary.ratio(cells, "greenthreads", "threads", "req_per_s")
    if same_cpu and found:
        lines.append("greenthreads/threads %s of rounds) beside %.3f in 1998"
                     % (show_ratio(found)[:-1], RATIO_OF_1998))
    return lines


def legend(rounds):
    lines = textwrap.wrap(NOTES, WIDTH)
    for flag, meaning in summary.LEGEND:
        lines += textwrap.wrap("%s  %s" % (flag, meaning), WIDTH, initial_indent="  ",
                               subsequent_indent="     ")
    if rounds < summary.ROUNDS_FOR_RANKING:
        lines.append("%d round%s: too few to rank rows that lie within each other's "
                     "min..max" % (rounds, "" if rounds == 1 else "s"))
    return lines


def document(options, plan, facts, orders, cells, rows):
    """Everything that is known of a run, for the JSON file."""
    return {
        "schema": SCHEMA,
        "command": sys.argv[1:],
        "seed": options.seed,
        "object": {"name": plan.object.name, "bytes": plan.object.size,
                   "sha256": plan.object.sha256},
        "clients": plan.clients,
        "seconds": plan.seconds,
        "warmup_seconds": plan.warmup,
        "rounds": options.rounds,
        "workers": plan.workers,
        "placement": {"server_cpus": sorted(plan.placement.server),
                      "client_cpus": sorted(plan.placement.client)},
        "cpu_account": plan.accounts.name,
        "environment": facts,
        "order": orders,
        "cells": cells,
        "rows": rows,
        "legend": dict(summary.LEGEND),
    }


def write_json(path, result):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
