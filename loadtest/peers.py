"""Measures models beside floors and peers: what peers.sh starts.

Order of the work: command line, tools, build; the same model twice, which must come out
the same; the rounds; tables, goals, configurations.
"""

import functools
import os
import sys
from collections import namedtuple

from measure import (floors, goals, machine, paired, peers, peers_options, peers_report,
                     progress, report, servers, session, summary)
from measure import options as command_line

# How often the same model twice may come out different before the machine is blamed.
AA_ATTEMPTS = 3

AA_FAVOURITE = "greenthreads"

# What a run found. absent: (name, package) of peers that are not installed; compare: the
# Ratio of two rows.
Found = namedtuple("Found", "aa absent cells orders rows compare results configurations")


def choose_peers(options):
    """The peers to measure, and (name, package) of those that are not installed."""
    if options.peers is not None:
        return options.peers, []
    absent = [(name, peers.KINDS[name].package) for name in command_line.PEERS
              if not peers.find_program(name)]
    names = {name for name, _ in absent}
    return [name for name in command_line.PEERS if name not in names], absent


def choose_floors(options, binary):
    program = floors.find_program(binary)
    if options.floors and not program:
        raise session.Refused(
            command_line.EXIT_USAGE, "no floor beside '%s': not in a build folder; "
            "--floors none goes without" % binary)
    return [floors.Floor(mode, program) for mode in options.floors]


def judge_aa(attempt, attempts=AA_ATTEMPTS):
    """(verdict, reason, ratios) of the same model twice; attempt() measures it once. It
    is repeated when it says different: chance alone does that in one of 20 cases."""
    found = []
    for _ in range(attempts):
        found.append(attempt())
        same = paired.is_same(found[-1])
        if same:
            return "same", None, found
        if same is None:
            return ("unknown", "fewer than %d pairs of seconds, or none"
                    % paired.FEWEST_PAIRS, found)
    return "different", "the same server twice differs by more than 1 %", found


def measure_aa(options, plan, scratch, shuffler, model, binary):
    names = [model + "-1", model + "-2"]
    attempts = []

    def attempt():
        told = progress.Progress(options.rounds, what="A/A")
        subjects = [servers.Model(model, binary, name) for name in names]
        cells, orders = session.run_rounds(subjects, plan, options, scratch, shuffler,
                                           told)
        attempts.append({"order": orders, "cells": cells})
        return paired.compare(cells, *names, options.seed)

    verdict, reason, ratios = judge_aa(attempt)
    for one, ratio in zip(attempts, ratios):
        one["ratio"] = ratio and ratio._asdict()
    return {"model": model, "verdict": verdict, "reason": reason,
            "resolution": paired.resolution(ratios[-1]),
            "texts": [peers_report.show_ratio(ratio) for ratio in ratios],
            "attempts": attempts}


def all_ratios(found):
    """{numerator: {denominator: ratio}} of all that is shown, for the JSON file."""
    wanted = {(row["name"], floors.floor_of(row["name"])) for row in found.rows}
    wanted |= {(one["name"], other["name"]) for one in found.rows for other in found.rows
               if one["kind"] == "model" and other["kind"] != "model"}
    ratios = {}
    for numerator, denominator in sorted(wanted):
        ratio = found.compare(numerator, denominator)
        if ratio and numerator != denominator:
            ratios.setdefault(numerator, {})[denominator] = ratio._asdict()
    return ratios


def show(options, plan, facts, found):
    """What is long and seldom read comes first: a terminal ends with the goals."""
    parts = [peers_report.configurations(found.configurations),
             peers_report.header(options, plan, facts, found.aa, found.absent),
             peers_report.legend(options.rounds),
             peers_report.rows_table(found.rows, found.compare),
             peers_report.peers_table(found.rows, found.compare),
             peers_report.goals_table(found.results)]
    print("\n\n".join("\n".join(part) for part in parts if part))


def write_json(options, plan, facts, found):
    document = report.document(options, plan, facts, found.orders, found.cells,
                               found.rows)
    document.update(
        schema=peers_report.SCHEMA, aa=found.aa, unquiet=found.aa["verdict"] != "same",
        not_installed=dict(found.absent), ratios=all_ratios(found),
        goals=[{**goal._asdict(), "verdict": verdict, "ratio": ratio and ratio._asdict()}
               for goal, verdict, ratio in found.results],
        configurations=found.configurations)
    report.write_json(options.json, document)


def measure_all(options, scratch):
    binary = session.find_binary(options)
    models = session.choose_models(options, binary)
    names, absent = choose_peers(options)
    beside = [peers.Peer(name, session.SOURCE) for name in names]
    subjects = [servers.Model(name, binary) for name in models]
    subjects += choose_floors(options, binary) + beside
    plan = session.make_plan(options, binary, scratch)
    facts = session.fingerprint(binary, names)
    os.sched_setaffinity(0, machine.own_cpus(plan.placement))

    shuffler = session.make_shuffler(options)
    aa = measure_aa(options, plan, scratch, shuffler,
                    AA_FAVOURITE if AA_FAVOURITE in models else models[0], binary)
    cells, orders = session.run_rounds(subjects, plan, options, scratch, shuffler)
    rows = [summary.summarise(subject.name, subject.kind, cells) for subject in subjects]

    @functools.lru_cache(maxsize=None)
    def compare(numerator, denominator):
        return paired.compare(cells, numerator, denominator, options.seed)

    found = Found(aa, absent, cells, orders, rows, compare,
                  goals.judge_all(models, compare),
                  {peer.name: peer.configuration(plan) for peer in beside})
    show(options, plan, facts, found)
    if options.json:
        write_json(options, plan, facts, found)
    failed = aa["verdict"] != "same" or any(row["failure"] for row in rows)
    failed = failed or (options.gate and goals.missed(found.results))
    return command_line.EXIT_FAILED if failed else command_line.EXIT_OK


if __name__ == "__main__":
    sys.exit(session.run("peers", peers_options.parse, measure_all))
