"""Measures servers with thousands of connections: what scale.sh starts.

Order of the work: command line, tools, build; in each round every server by itself, in a
shuffled order; tables and goals.
"""

import os
import sys
import textwrap

from measure import (machine, peers, report, scaling, scaling_report, session, tload)
from measure import options as command_line

# Both ends of a connection have a descriptor, each in its own process.
SPARE_DESCRIPTORS = 500

DESCRIPTION = """\
Measures every model of tetrad with thousands of idle connections: their memory, and the
server's CPU time per request with and without them.
"""

EPILOG = """\
exit status: 0 all rows measured, 1 a row failed, 2 wrong usage, 3 a tool is missing
examples:
  loadtest/scale.sh
  loadtest/scale.sh --peers nginx --churn --json result.json
  loadtest/scale.sh --workers 2
"""


def build_parser():
    parser = command_line.new_parser("scale.sh", DESCRIPTION, EPILOG)
    command_line.add_common(parser, command_line.TLOAD_HELP)
    command_line.add_seed(parser)
    count = command_line.parse_count
    for name, default, text in (
            ("idle", 10000, "idle connections (10000; prefork at most 500)"),
            ("clients", 100, "connections that ask, alone and beside idle ones (100)"),
            ("few", 10, "connections that ask, to compare with (10)"),
            ("seconds", 4, "slices of a second of each kind, in turns (4)"),
            ("rounds", 3, "fresh servers of each kind (3)"),
            ("workers", 1, "more than 1: only how the few connections spread over them")):
        parser.add_argument("--" + name, type=count, default=default, metavar="N",
                            help=text)
    parser.add_argument("--object", default="6k", metavar="OBJECT",
                        help="as loadtest.sh's")
    parser.add_argument("--peers", type=command_line.parse_peers, default=[],
                        metavar="LIST", help="other servers as rows: nginx, ...")
    parser.add_argument("--churn", action="store_true",
                        help="also a connection for each request, from the few")
    parser.add_argument("--warmup", type=command_line.parse_time, default=1.0,
                        metavar="TIME", help="load of each server before (1s)")
    return parser


def parse(arguments):
    parser = build_parser()
    options = parser.parse_args(arguments)
    options.same_cpu, options.duration = False, options.seconds
    command_line.check_descriptors(parser, options.idle + 2 * options.clients
                                   + SPARE_DESCRIPTORS)
    return command_line.complete(parser, options)


def make_plan(options, binary, scratch):
    program = tload.find_program(binary)
    if not program:
        raise session.Refused(command_line.EXIT_USAGE,
                              "no tload beside '%s': not in a build folder" % binary)
    base = session.make_plan(options, binary, scratch)
    base = base._replace(clients=options.idle + options.clients)
    return scaling.Plan(base, program, options.idle, options.few, options.clients,
                        options.seconds, options.churn)


def header(options, plan, facts):
    base = plan.base
    what = ("%d connections over %d workers, %d s"
            % (options.few, options.workers, options.seconds) if options.workers > 1 else
            "%d idle connections, %d or %d that ask; %d s of each x %d rounds"
            % (options.idle, options.few, options.clients, options.seconds,
               options.rounds))
    return [
        "object %s (%d bytes); %s; seed %d"
        % (base.object.name, base.object.size, what, options.seed),
        "server on CPU %s, clients on CPU %s; %s, %d CPUs, virtualisation: %s, Linux %s"
        % (machine.cpu_list(base.placement.server),
           machine.cpu_list(base.placement.client), facts["cpu_model"], facts["cpus"],
           facts["virtualisation"], facts["kernel"])]


def tables(options, cells, rows):
    if options.workers > 1:
        return [scaling_report.spread_table(cells)]
    parts = [scaling_report.table(rows, scaling_report.COLUMNS)]
    good = [row for row in rows if not row["failure"]]
    if options.churn and good:
        parts.append(["a connection for each request, %d at a time:" % options.few]
                     + scaling_report.table(good, scaling_report.CHURN_COLUMNS))
    return parts + [scaling_report.goals(rows),
                    textwrap.wrap(scaling_report.LEGEND, report.WIDTH)]


def write_json(options, plan, facts, cells, rows):
    document = {"schema": {"name": "tetrad-scale", "version": 1}, "command": sys.argv[1:],
                "seed": options.seed, "environment": facts,
                "object": {"name": plan.base.object.name, "bytes": plan.base.object.size,
                           "sha256": plan.base.object.sha256},
                "idle": plan.idle, "few": plan.few, "many": plan.many,
                "workers": options.workers, "cells": cells, "rows": rows,
                "goals": [{"text": verdict.goal.text, "name": verdict.name,
                           "value": verdict.value, "most": verdict.goal.most,
                           "met": verdict.met} for verdict in scaling_report.judge(rows)]}
    report.write_json(options.json, document)


def measure_round(number, subjects, plan, options, scratch, shuffler):
    order = list(subjects)
    shuffler.shuffle(order)
    cells = []
    for subject in order:
        session.say("scale", "round %d of %d: %s"
                    % (number, options.rounds, subject.name))
        steps = scaling.Scaled if options.workers == 1 else scaling.Spread
        cells.append(steps(number, subject, plan, scratch).run(shuffler))
        if cells[-1]["failure"]:
            session.say("scale", "%s: %s" % (subject.name, cells[-1]["failure"]))
    return cells


def measure_all(options, scratch):
    binary = session.find_binary(options)
    names = session.choose_models(options, binary)
    plan = make_plan(options, binary, scratch)
    subjects = [scaling.Model(name, binary, scaling.connections_of(
        name, options.idle, options.clients)) for name in names]
    subjects += [peers.Peer(name, session.SOURCE) for name in options.peers]
    facts = session.fingerprint(binary, options.peers)
    os.sched_setaffinity(0, machine.own_cpus(plan.base.placement))

    shuffler = session.make_shuffler(options)
    cells = []
    for number in range(1, (1 if options.workers > 1 else options.rounds) + 1):
        cells += measure_round(number, subjects, plan, options, scratch, shuffler)
    rows = ([] if options.workers > 1 else
            [scaling_report.summarise(subject.name, cells) for subject in subjects])
    parts = [header(options, plan, facts)] + tables(options, cells, rows)
    print("\n\n".join("\n".join(part) for part in parts if part))
    if options.json:
        write_json(options, plan, facts, cells, rows)
    failed = any(one["failure"] for one in cells)
    return command_line.EXIT_FAILED if failed else command_line.EXIT_OK


if __name__ == "__main__":
    sys.exit(session.run("scale", parse, measure_all))
