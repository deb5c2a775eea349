"""Holds tload against wrk and h2load: what crosscheck.sh starts. The same servers are
asked by each of them in turn, in a shuffled order; what they say must agree, wherever
none of them was the limit itself. One of the servers answers by the clock, so that how
fast the machine is just then does not matter.
"""

import os
import statistics
import sys
from collections import namedtuple

from measure import (cell, generators, machine, paired, peers, report, servers, session,
                     tload)
from measure import options as command_line

GENERATORS = ("wrk", "h2load", "tload")

# They agree within this share; a generator that used more of its CPU is a limit itself.
AGREE_SHARE = 0.05
BOUND_SHARE = 0.90

NUMBERS = (("rate", "req/s"), ("server_us", "server us/req"))

# What one generator said in one turn, and what the kernel said meanwhile.
Turn = namedtuple("Turn",
                  "round server generator rate requests server_us client_us share")

PACED_SERVER = os.path.join(session.SOURCE, "loadtest", "measure", "paced_server.py")
PACED_MS = 5

DESCRIPTION = "Holds tload against wrk and h2load, over the same servers in turns.\n"


def parse(arguments):
    parser = command_line.new_parser("crosscheck.sh", DESCRIPTION)
    command_line.add_common(parser, command_line.TLOAD_HELP,
                            "models of tetrad (greenthreads)")
    command_line.add_seed(parser)
    count = command_line.parse_count
    parser.add_argument("--clients", type=count, default=10, metavar="N",
                        help="keep-alive connections (10)")
    parser.add_argument("--seconds", type=count, default=2, metavar="N",
                        help="length of a turn (2)")
    parser.add_argument("--rounds", type=count, default=7, metavar="N",
                        help="turns of each with each server (7)")
    parser.add_argument("--object", default="6k", metavar="OBJECT",
                        help="as loadtest.sh's")
    parser.add_argument("--peers", type=command_line.parse_peers, default=[],
                        metavar="LIST", help="other servers: nginx, ...")
    options = parser.parse_args(arguments)
    options.models = options.models or ["greenthreads"]
    options.workers, options.same_cpu, options.warmup = 1, False, 0
    options.duration = options.seconds
    return command_line.complete(parser, options)


class Paced:
    """The server that answers by the clock."""

    name, kind = "paced", "peer"

    def launch(self, plan, folder, register):
        path = plan.root + plan.object.url_path
        server = servers.Server([sys.executable, "-B", PACED_SERVER, path, str(PACED_MS)],
                                plan, folder)
        register(server)
        return server.wait_announced(self.name)


def ask(generator, program, url, plan):
    """(requests per second, requests, CPU time in ns) as the generator tells them."""
    cpus = plan.placement.client
    if generator == "wrk":
        told = generators.run_wrk(url, plan.clients, plan.seconds, cpus, None)
        return told["requests"] / told["seconds"], told["requests"], told["cpu_ns"]
    if generator == "h2load":
        output = generators.run(["h2load", "--h1", "-t1", "-c%d" % plan.clients,
                                 "-D%d" % plan.seconds, url], cpus, plan.seconds)
        told = generators.parse_h2load(output.text)
        if told is None:
            raise generators.GeneratorError("h2load: %s" % generators.last_line(output))
        return told["req_per_s"], told["requests"], output.cpu_ns
    told = tload.run(program, url, plan.clients, plan.seconds, cpus)
    if tload.errors(told):
        raise generators.GeneratorError("tload: %s" % told["errors"])
    return told["req_per_s"], told["answers"], told["process_cpu_ns"]


def take_turn(number, name, generator, program, server, url, plan):
    before = server.tree.counters()
    rate, requests, cpu_ns = ask(generator, program, url, plan)
    spent = server.tree.counters().cpu_ns - before.cpu_ns
    server.check_alive()
    return Turn(number, name, generator, rate, requests, spent / 1000 / requests,
                cpu_ns / 1000 / requests, cpu_ns / 1e9 / plan.seconds)


def measure(subjects, program, plan, options, scratch, shuffler):
    running, urls, turns = [], {}, []
    try:
        for subject in subjects:
            folder = os.path.join(scratch, "run-" + subject.name)
            os.mkdir(folder, 0o755)
            url = subject.launch(plan, folder, running.append).rstrip("/")
            urls[subject.name] = running[-1], url + plan.object.url_path
            cell.check_answers(urls[subject.name][1], plan, folder)
        for number in range(1, options.rounds + 1):
            order = [(name, generator) for name in urls for generator in GENERATORS]
            shuffler.shuffle(order)
            turns += [take_turn(number, name, generator, program, *urls[name], plan)
                      for name, generator in order]
        for server, _ in urls.values():
            server.stop()
    finally:
        servers.abandon(running)
    return turns


def of(turns, name, generator):
    return sorted((turn for turn in turns
                   if (turn.server, turn.generator) == (name, generator)),
                  key=lambda turn: turn.round)


def ratio(turns, name, other, key, seed):
    """The paired.Ratio over the rounds of tload's number over the other's."""
    pairs = zip(of(turns, name, "tload"), of(turns, name, other))
    return paired.ratio_of([getattr(own, key) / getattr(its, key) for own, its in pairs],
                           seed)


def judge(ratio):
    """'agree' when the whole interval is near 1, 'DIFFER' when none of it is."""
    if ratio.low is None:
        return "undecided"
    if 1 - AGREE_SHARE <= ratio.low and ratio.high <= 1 + AGREE_SHARE:
        return "agree"
    apart = ratio.high < 1 - AGREE_SHARE or ratio.low > 1 + AGREE_SHARE
    return "DIFFER" if apart else "undecided"


def show(ratio):
    interval = "" if ratio.low is None else " (%.3f..%.3f)" % (ratio.low, ratio.high)
    return "%.3f%s" % (ratio.median, interval)


def bound(turns, name, generator):
    """Whether that generator was itself the limit."""
    shares = [turn.share for turn in of(turns, name, generator)]
    return statistics.median(shares) > BOUND_SHARE


def table(turns, names):
    lines = ["%-14s %-9s %10s %15s %15s %10s" % ("server", "asked by", "req/s",
                                                 "server us/req", "client us/req",
                                                 "client CPU")]
    for name in names:
        for generator in GENERATORS:
            own = of(turns, name, generator)
            middle = {key: statistics.median(getattr(turn, key) for turn in own)
                      for key in ("rate", "server_us", "client_us", "share")}
            lines.append("%-14s %-9s %10.0f %15.2f %15.2f %8.0f %%"
                         % (name, generator, middle["rate"], middle["server_us"],
                            middle["client_us"], 100 * middle["share"]))
    return lines


def verdicts(turns, names, seed):
    """[(text, verdict)] of each server and number."""
    found = []
    for name in names:
        for other in GENERATORS[:-1]:
            limited = [one for one in ("tload", other) if bound(turns, name, one)]
            for key, title in NUMBERS:
                its = ratio(turns, name, other, key, seed)
                verdict = ("bound by %s" % " and ".join(limited) if limited
                           else judge(its))
                found.append(("%s, tload over %s: %s %s: %s"
                              % (name, other, title, show(its), verdict), verdict))
    return found


def work(options, scratch):
    binary = session.find_binary(options)
    program = tload.find_program(binary)
    if not program:
        raise session.Refused(command_line.EXIT_USAGE,
                              "no tload beside '%s': not in a build folder" % binary)
    plan = session.make_plan(options, binary, scratch)
    subjects = [Paced()]
    subjects += [servers.Model(name, binary)
                 for name in session.choose_models(options, binary)]
    subjects += [peers.Peer(name, session.SOURCE) for name in options.peers]
    facts = session.fingerprint(binary, options.peers)
    os.sched_setaffinity(0, machine.own_cpus(plan.placement))
    try:
        turns = measure(subjects, program, plan, options, scratch,
                        session.make_shuffler(options))
    except (cell.CellError, generators.GeneratorError) as error:
        raise session.Refused(command_line.EXIT_FAILED, str(error)) from error
    names = [subject.name for subject in subjects]
    found = verdicts(turns, names, options.seed)
    print("object %s, %d keep-alive clients, %d s x %d rounds, seed %d; %s, Linux %s\n"
          % (plan.object.name, plan.clients, plan.seconds, options.rounds, options.seed,
             facts["cpu_model"], facts["kernel"]))
    print("\n".join(table(turns, names) + [""] + [text for text, _ in found]))
    if options.json:
        report.write_json(options.json, {
            "command": sys.argv[1:], "environment": facts, "seed": options.seed,
            "turns": [turn._asdict() for turn in turns],
            "verdicts": [text for text, _ in found]})
    differ = any(verdict == "DIFFER" for _, verdict in found)
    return command_line.EXIT_FAILED if differ else command_line.EXIT_OK


if __name__ == "__main__":
    sys.exit(session.run("crosscheck", parse, work))
