"""Medians, flags and ratios from the numbers of single cells."""

import copy

import pytest

from measure import report, summary

CELL = {
    "round": 1, "name": "threads", "kind": "model", "failure": None, "flags": [],
    "load": {"requests": 100000, "generator_share": 0.5, "steal_share": 0.0,
             "others_share": 0.0, "most_connections_seen": 10,
             "pace": {"server": 100.0, "client": 100.0}},
    "fairness": {"effective_clients": 9.9},
    "values": {"req_per_s": 1000.0, "cpu_us_per_request": 8.0, "slowest_client": 0.95,
               "errors": 0, "p50_us": 90.0, "p99_us": 200.0,
               "switches_per_request": 1.0, "memory_mib": 3.0},
}


def cell(changes=(), **top):
    made = copy.deepcopy(CELL)
    made.update(top)
    for (part, key), value in dict(changes).items():
        made[part][key] = value
    return made


@pytest.mark.parametrize("part, key, good, bad, flag", [
    ("values", "slowest_client", 0.10, 0.09, "S"),
    ("fairness", "effective_clients", 9.0, 8.9, "S"),
    ("load", "generator_share", 0.90, 0.91, "C"),
    ("values", "errors", 0, 1, "E"),
    ("load", "most_connections_seen", 10, 11, "K"),
    ("load", "steal_share", 0.01, 0.011, "T"),
    ("load", "others_share", 0.10, 0.11, "B"),
])
def test_flags_begin_where_the_legend_says(part, key, good, bad, flag):
    assert summary.cell_flags(cell({(part, key): good}), 10) == []
    assert summary.cell_flags(cell({(part, key): bad}), 10) == [flag]


def test_every_flag_is_in_the_legend():
    worst = cell({("values", "slowest_client"): 0, ("load", "generator_share"): 1,
                  ("values", "errors"): 1, ("load", "most_connections_seen"): 5000,
                  ("load", "steal_share"): 1, ("load", "others_share"): 1})
    flags = summary.cell_flags(worst, 10)
    assert set(flags) | {"V"} == {flag for flag, _ in summary.LEGEND}


def test_a_row_is_the_median_and_the_range():
    rates = [1000.0, 1040.0, 990.0]
    row = summary.summarise("threads", "model", [
        cell({("values", "req_per_s"): rate}, round=number)
        for number, rate in enumerate(rates, 1)])
    assert row["values"]["req_per_s"] == {"median": 1000.0, "min": 990.0, "max": 1040.0}
    assert row["flags"] == []


def run_of(rates):
    """The cells of {name: [req/s of each round, None where it failed]}."""
    cells = []
    for name, numbers in rates.items():
        for number, rate in enumerate(numbers, 1):
            if rate is None:
                cells.append({"round": number, "name": name, "kind": "model",
                              "failure": "ended", "flags": [], "slices": []})
            else:
                cells.append(cell({("values", "req_per_s"): rate}, round=number,
                                  name=name))
    return cells


def flags_of(rates):
    cells = run_of(rates)
    return {name: summary.summarise(name, "model", cells)["flags"] for name in rates}


def test_what_all_rows_did_together_is_the_machine():
    assert flags_of({"a": [1000.0, 700.0, 900.0], "b": [500.0, 350.0, 450.0],
                     "c": [2000.0, 1400.0, 1800.0]}) == {
                         "a": ["T"], "b": ["T"], "c": ["T"]}


def test_what_one_row_did_alone_is_its_own():
    assert flags_of({"a": [1000.0, 880.0, 1000.0], "b": [500.0, 500.0, 500.0],
                     "c": [900.0, 900.0, 900.0], "d": [800.0, 800.0, 800.0]}) == {
                         "a": ["V"], "b": [], "c": [], "d": []}


def test_a_row_that_keeps_its_rate_while_the_machine_slows_varies():
    found = flags_of({"a": [1000.0, 1000.0], "b": [500.0, 350.0], "c": [900.0, 630.0],
                      "d": [800.0, 560.0]})
    assert found["a"] == ["V", "T"]
    assert found["b"] == found["c"] == found["d"]


@pytest.mark.parametrize("second, flags", [(1105.0, []), (1110.0, ["V"])])
def test_a_single_row_is_judged_by_its_plain_rate(second, flags):
    assert flags_of({"a": [1000.0, second]}) == {"a": flags}


@pytest.mark.parametrize("second, flags", [(1050.0, []), (1055.0, ["T"])])
def test_all_rows_together_may_differ_by_a_twentieth(second, flags):
    assert flags_of({"a": [1000.0, second], "b": [2000.0, 2 * second]})["a"] == flags


def test_a_row_that_failed_in_one_round_is_no_yardstick():
    # Were b in the mean of the first round only, the rounds would have different means.
    rates = {"a": [1000.0, 1000.0], "b": [100.0, None], "c": [900.0, 900.0]}
    cells = run_of(rates)
    assert summary.summarise("a", "model", cells)["flags"] == []
    assert summary.summarise("b", "model", cells)["failure"] == "round 2: ended"


def test_the_only_row_that_never_failed_is_judged_alone():
    cells = run_of({"a": [1000.0, 700.0], "b": [None, 900.0]})
    assert summary.summarise("a", "model", cells)["flags"] == ["V"]


@pytest.mark.parametrize("side", ["server", "client"])
@pytest.mark.parametrize("paces, flags", [
    ((100.0, 105.0, 101.0), []), ((100.0, 106.0, 101.0), ["T"]), ((100.0, None), [])])
def test_a_cpu_that_changes_its_pace_is_flagged(side, paces, flags):
    cells = [cell({("load", "pace"): {"server": 50.0, "client": 50.0, side: pace}})
             for pace in paces]
    assert summary.summarise("threads", "model", cells)["flags"] == flags


def test_a_flag_of_one_round_is_the_row_s():
    cells = [cell(flags=["T"]), cell(flags=["S"])]
    assert summary.summarise("threads", "model", cells)["flags"] == ["S", "T"]


def test_a_failed_round_fails_the_row():
    cells = [cell(), {"round": 2, "name": "threads", "failure": "ended under load",
                      "flags": []}]
    row = summary.summarise("threads", "model", cells)
    assert row["failure"] == "round 2: ended under load"
    lines = report.table([row])
    assert lines[1] == "threads  FAILED  round 2: ended under load"


def test_memory_may_be_unknown():
    row = summary.summarise("threads", "model", [cell({("values", "memory_mib"): None})])
    assert "  ?  " in report.table([row])[1]


def test_ratios_are_taken_within_rounds():
    cells = []
    for number, (green, thread) in enumerate([(150.0, 100.0), (120.0, 100.0),
                                              (390.0, 300.0)], 1):
        cells.append(cell({("values", "req_per_s"): green}, round=number,
                          name="greenthreads"))
        cells.append(cell({("values", "req_per_s"): thread}, round=number))
    assert summary.ratio(cells, "greenthreads", "threads", "req_per_s") == {
        "median": pytest.approx(1.3), "min": pytest.approx(1.2),
        "max": pytest.approx(1.5)}
    rows = [summary.summarise(name, "model", cells)
            for name in ("threads", "greenthreads")]
    assert report.comparisons(cells, rows, True) == [
        "greenthreads/threads 1.30 (1.20..1.50 of rounds) beside 1.263 in 1998"]
    assert report.comparisons(cells, rows, False) == []


def test_no_ratio_without_both_in_every_round():
    cells = [cell(), cell(name="greenthreads"), cell(round=2)]
    assert summary.ratio(cells, "greenthreads", "threads", "req_per_s") is None
    failed = dict(cell(name="greenthreads", round=2), failure="x")
    assert summary.ratio(cells + [failed], "greenthreads", "threads", "req_per_s") is None
