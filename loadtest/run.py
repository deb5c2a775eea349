"""Runs the load test: what loadtest.sh starts.

Order of the work: command line, tools, build, rounds, table. Every server is its own
fresh process; whatever happens, none is left and the scratch folder is removed.
"""

import os
import sys

from measure import machine, peers, report, servers, session, summary
from measure import options as command_line


def show(options, plan, facts, cells, rows):
    same_cpu = plan.placement.server == plan.placement.client
    parts = [report.header(options, plan, facts), report.table(rows),
             report.comparisons(cells, rows, same_cpu), report.legend(options.rounds)]
    print("\n\n".join("\n".join(part) for part in parts if part))


def measure_all(options, scratch):
    binary = session.find_binary(options)
    names = session.choose_models(options, binary)
    plan = session.make_plan(options, binary, scratch)
    subjects = [servers.Model(name, binary) for name in names]
    subjects += [peers.Peer(name, session.SOURCE) for name in options.peers]
    facts = session.fingerprint(binary, options.peers)
    os.sched_setaffinity(0, machine.own_cpus(plan.placement))

    cells, orders = session.run_rounds(subjects, plan, options, scratch,
                                       session.make_shuffler(options))
    rows = [summary.summarise(subject.name, subject.kind, cells)
            for subject in subjects]
    show(options, plan, facts, cells, rows)
    if options.json:
        report.write_json(options.json, report.document(options, plan, facts, orders,
                                                        cells, rows))
    failed = any(row["failure"] for row in rows)
    return command_line.EXIT_FAILED if failed else command_line.EXIT_OK


if __name__ == "__main__":
    sys.exit(session.run("loadtest", command_line.parse, measure_all))
