"""What every program of the load test does around its work: signals, a scratch folder,
tools, the binary, the plan, the rounds. Whatever happens, no process is left and the
scratch folder is removed.
"""

import os
import random
import shutil
import signal
import sys
import tempfile

from measure import (accounts, build, cell, generators, machine, objects, peers, processes,
                     progress, rounds, servers)
from measure import options as command_line

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

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


def say(program, text):
    sys.stderr.write("%s: %s\n" % (program, text))
    sys.stderr.flush()


def missing_tools(options):
    """{program: Debian package} of what measuring under load needs and is not there."""
    return {**generators.missing_tools(), **peers.missing(options.peers or [])}


def check_tools(missing):
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


def make_plan(options, binary, scratch):
    root = os.path.join(scratch, "htdocs")
    try:
        thing = objects.provide(options.object, root,
                                [os.path.join(os.path.dirname(binary), "htdocs"),
                                 os.path.join(SOURCE, "htdocs")])
    except objects.NoObject as error:
        raise Refused(command_line.EXIT_USAGE, str(error)) from error
    placement = machine.place(options.workers, options.same_cpu)
    apart = not placement.server & placement.client
    return cell.Plan(thing, root, options.clients, options.duration, options.warmup,
                     options.workers, placement, accounts.choose(apart))


def fingerprint(binary, chosen_peers):
    commands = {"tetrad": [binary, "--version"], "wrk": ["wrk", "--version"],
                "h2load": ["h2load", "--version"], "curl": ["curl", "--version"],
                "python3": [sys.executable, "--version"]}
    commands.update(peers.version_commands(chosen_peers))
    return machine.fingerprint(SOURCE, binary, commands)


def run_rounds(subjects, plan, options, scratch, shuffler, told=None):
    """All cells, and the order of all that was done."""
    told = told or progress.Progress(options.rounds)
    cells, orders = [], []
    for number in range(1, options.rounds + 1):
        one = rounds.Round(number, subjects, plan, scratch, shuffler, told)
        cells += one.run()
        orders.append(one.order)
    return cells, orders


def make_shuffler(options):
    return random.Random(options.seed)


def run(program, parse, work, missing=missing_tools):
    """parse makes options of the command line, missing(options) says which programs are
    not there, and work(options, scratch) does it; the exit status."""
    for name in STOP_SIGNALS:
        signal.signal(name, stop_on_signal)
    options = parse(sys.argv[1:])
    processes.become_subreaper()
    scratch = None
    try:
        check_tools(missing(options))
        scratch = tempfile.mkdtemp(prefix="tetrad-loadtest-")
        os.chmod(scratch, 0o755)
        return work(options, scratch)
    except Refused as refusal:
        say(program, refusal)
        return refusal.status
    except (build.BuildError, servers.ServerError, OSError) as error:
        say(program, error)
        return command_line.EXIT_FAILED
    except Stopped as stopped:
        number = stopped.args[0]
        say(program, "stopped by %s; nothing is left running"
            % signal.Signals(number).name)
        return 128 + number
    finally:
        processes.kill_descendants()
        if scratch:
            shutil.rmtree(scratch, ignore_errors=True)
