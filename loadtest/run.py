"""Runs the load test: what loadtest.sh starts.

Order of the work: command line, tools, build, rounds, table. Every server is its own
fresh process; whatever happens, none is left and the scratch folder is removed.
"""

import os
import random
import shutil
import signal
import sys
import tempfile

from measure import (build, cell, generators, machine, objects,
                     processes, progress, report, rounds, servers, summary)
from measure import options as command_line

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """The user has had enough; not an Exception, so that nothing swallows it."""


class Refused(Exception):
    """The run cannot start; carries the exit status."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def stop_on_signal(number, _frame):
    # Cleaning up is quick and must not be cut short by an impatient second signal.
    for name in STOP_SIGNALS:
        signal.signal(name, signal.SIG_IGN)
    raise Stopped(number)


def say(text):
    sys.stderr.write("loadtest: %s\n" % text)
    sys.stderr.flush()


def check_tools(options):
    missing = generators.missing_tools()
    for name in options.peers:
        if not servers.find_program(name):
            missing[name] = servers.PEER_PACKAGES[name]
    if missing:
        raise Refused(command_line.EXIT_TOOL_MISSING, "; ".join(
            "%s not found; Debian package: %s" % tool for tool in missing.items()))


def find_binary(options):
    if not options.tetrad:
        return build.tetrad(SOURCE)
    path = os.path.abspath(options.tetrad)
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        raise Refused(command_line.EXIT_USAGE, "'%s' is not a program" % options.tetrad)
    return path


def choose_models(options, binary):
    known = servers.list_models(binary)
    for name in options.models or []:
        if name not in known:
            raise Refused(command_line.EXIT_USAGE, "unknown model '%s' (known: %s)"
                          % (name, ", ".join(known)))
    return options.models or known


def run_rounds(subjects, plan, options, scratch):
    """All cells, and the order of all that was done."""
    shuffler = random.Random(options.seed)
    told = progress.Progress(options.rounds)
    cells, orders = [], []
    for number in range(1, options.rounds + 1):
        one = rounds.Round(number, subjects, plan, scratch, shuffler, told)
        cells += one.run()
        orders.append(one.order)
    return cells, orders


def show(options, plan, facts, cells, rows):
    same_cpu = plan.placement.server == plan.placement.client
    parts = [report.header(options, plan, facts), report.table(rows),
             report.comparisons(cells, rows, same_cpu), report.legend(options.rounds)]
    print("\n\n".join("\n".join(part) for part in parts if part))


def measure_all(options, scratch):
    binary = find_binary(options)
    names = choose_models(options, binary)
    root = os.path.join(scratch, "htdocs")
    try:
        thing = objects.provide(options.object, root,
                                [os.path.join(os.path.dirname(binary), "htdocs"),
                                 os.path.join(SOURCE, "htdocs")])
    except objects.NoObject as error:
        raise Refused(command_line.EXIT_USAGE, str(error)) from error
    plan = cell.Plan(thing, root, options.clients, options.duration, options.warmup,
                     options.workers, machine.place(options.workers, options.same_cpu))
    subjects = [servers.Model(name, binary) for name in names]
    subjects += [servers.Peer(name, SOURCE, thing.size) for name in options.peers]
    facts = machine.fingerprint(SOURCE, binary, version_commands(options, binary))
    os.sched_setaffinity(0, machine.own_cpus(plan.placement))

    cells, orders = run_rounds(subjects, plan, options, scratch)
    rows = [summary.summarise(subject.name, subject.kind, cells)
            for subject in subjects]
    show(options, plan, facts, cells, rows)
    if options.json:
        report.write_json(options.json, options, plan, facts, orders, cells, rows)
    failed = any(row["failure"] for row in rows)
    return command_line.EXIT_FAILED if failed else command_line.EXIT_OK


def version_commands(options, binary):
    commands = {"tetrad": [binary, "--version"], "wrk": ["wrk", "--version"],
                "h2load": ["h2load", "--version"], "curl": ["curl", "--version"],
                "python3": [sys.executable, "--version"]}
    for name in options.peers:
        flag = "-V" if name == "lighttpd" else "-v"
        commands[name] = [servers.find_program(name), flag]
    return commands


def main():
    for name in STOP_SIGNALS:
        signal.signal(name, stop_on_signal)
    options = command_line.parse(sys.argv[1:])
    processes.become_subreaper()
    scratch = None
    try:
        check_tools(options)
        scratch = tempfile.mkdtemp(prefix="tetrad-loadtest-")
        os.chmod(scratch, 0o755)
        return measure_all(options, scratch)
    except Refused as refusal:
        say(refusal)
        return refusal.status
    except (build.BuildError, servers.ServerError, OSError) as error:
        say(error)
        return command_line.EXIT_FAILED
    except Stopped as stopped:
        number = stopped.args[0]
        say("stopped by %s; nothing is left running" % signal.Signals(number).name)
        return 128 + number
    finally:
        processes.kill_descendants()
        if scratch:
            shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
