"""Ratios by pairs, their intervals, and every verdict both ways, on known numbers."""

import random

import pytest

import peers
from measure import goals, paired, peers_report


def cell(name, costs, number=1, failure=None):
    """A row in one round: CPU us per request in each turn, None where nothing came."""
    return {"name": name, "round": number, "failure": failure,
            "slices": [{"requests": 0 if cost is None else 100,
                        "server_cpu_ns": 0 if cost is None else cost * 100_000}
                       for cost in costs]}


def ratio(low, high):
    return paired.Ratio((low + high) / 2, low, high, 10)


def test_a_pair_is_the_same_turn_of_the_same_round():
    cells = [cell("a", [10, 20]), cell("b", [5, 5]),
             cell("a", [30, 40], 2), cell("b", [10, 10], 2)]
    found = paired.ratios(paired.cpu_us_of_turns(cells, "a"),
                          paired.cpu_us_of_turns(cells, "b"))
    assert found == [2.0, 4.0, 3.0, 4.0]


def test_what_a_machine_does_to_both_is_not_in_the_ratio():
    paces = [1.0, 0.6, 1.4, 1.0, 0.5, 1.0, 0.9, 1.3]
    cells = [cell("a", [11 / pace for pace in paces]),
             cell("b", [10 / pace for pace in paces])]
    found = paired.compare(cells, "a", "b", 1)
    assert found == (pytest.approx(1.1), pytest.approx(1.1), pytest.approx(1.1), 8)


def test_a_turn_without_an_answer_is_no_pair():
    cells = [cell("a", [10, None, 30]), cell("b", [10, 10, None])]
    assert paired.compare(cells, "a", "b", 1) == (1.0, None, None, 1)


def test_a_row_that_failed_in_a_round_has_no_ratio():
    cells = [cell("a", [10] * 9), cell("b", [10] * 9), cell("a", [10], 2, "ended")]
    assert paired.compare(cells, "a", "b", 1) is None
    assert paired.compare(cells, "b", "a", 1) is None
    assert paired.compare(cells, "b", "none", 1) is None


def test_too_few_pairs_have_a_ratio_and_no_interval():
    assert paired.ratio_of([1.0] * 5, 1) == (1.0, None, None, 5)
    assert paired.ratio_of([1.0] * 6, 1) == (1.0, 1.0, 1.0, 6)


def test_the_interval_is_of_the_seed():
    numbers = [random.Random(3).gauss(1, 0.1) for _ in range(20)]
    assert paired.ratio_of(numbers, 1) == paired.ratio_of(numbers, 1)
    many = [1 + step / 1000 for step in range(31)]
    first, second = (paired.ratio_of(many, seed) for seed in (1, 2))
    assert abs(first.low - second.low) < 0.003 and abs(first.high - second.high) < 0.003


def test_the_interval_of_a_known_distribution():
    # Of 0..100 the median is 50, with a standard error of about half of the square root
    # of 101 ranks: 1.96 of these are 10.
    found = paired.ratio_of([float(number) for number in range(101)], 7)
    assert found.median == 50
    assert found.low == pytest.approx(40, abs=2)
    assert found.high == pytest.approx(60, abs=2)


def test_the_interval_holds_the_truth_about_as_often_as_it_says(monkeypatch):
    monkeypatch.setattr(paired, "RESAMPLES", 200)
    source = random.Random(5)
    held = 0
    for seed in range(100):
        found = paired.ratio_of([source.gauss(1, 0.05) for _ in range(15)], seed)
        held += found.low <= 1 <= found.high
    assert 88 <= held <= 100


def test_one_outlier_moves_nothing():
    assert paired.ratio_of([1.0] * 11 + [9.0], 1)[:3] == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("low, high, same", [
    (0.95, 1.05, True), (1.0, 1.2, True), (1.002, 1.009, True), (0.991, 0.995, True),
    (1.002, 1.011, False), (0.98, 0.999, False), (1.05, 1.06, False)])
def test_same_is_about_one_or_next_to_it(low, high, same):
    assert paired.is_same(ratio(low, high)) is same


def test_nothing_is_known_of_too_few():
    assert paired.is_same(None) is None
    assert paired.is_same(paired.Ratio(1.0, None, None, 3)) is None
    assert paired.judge(paired.Ratio(1.0, None, None, 3), 2.0) == "undecided"


@pytest.mark.parametrize("low, high, verdict", [
    (1.01, 1.06, "met"), (1.01, 1.061, "undecided"), (1.061, 1.07, "not met"),
    (1.06, 1.07, "undecided")])
def test_only_a_whole_interval_decides(low, high, verdict):
    assert paired.judge(ratio(low, high), 1.06) == verdict


@pytest.mark.parametrize("low, high, least", [
    (0.98, 1.01, 0.02), (0.99, 1.03, 0.03), (1.0, 1.0, 0.0), (1.002, 1.008, 0.008)])
def test_what_cannot_be_told_apart(low, high, least):
    assert paired.resolution(ratio(low, high)) == pytest.approx(least)
    assert paired.resolution(paired.Ratio(1.0, None, None, 3)) is None


def test_the_header_says_what_the_same_twice_came_to():
    aa = {"model": "threads", "verdict": "same", "reason": None, "resolution": 0.0345,
          "texts": ["1.040 (1.020..1.060)", "0.990 (0.966..1.010)"]}
    assert peers_report.aa_lines(aa) == [
        "A/A: threads twice: same, 0.990 (0.966..1.010); "
        "before that: 1.040 (1.020..1.060)",
        "rows that differ by less than 3.5 % cannot be told apart by this run"]
    aa.update(verdict="different", reason="it differs")
    assert peers_report.aa_lines(aa)[-1] == (
        "UNQUIET MACHINE: it differs; believe no ratio of this run")


SAME, DIFFERENT = ratio(0.99, 1.02), ratio(1.03, 1.05)


@pytest.mark.parametrize("attempts, verdict, count", [
    ([SAME], "same", 1),
    ([DIFFERENT, SAME], "same", 2),
    ([DIFFERENT, DIFFERENT, SAME], "same", 3),
    ([DIFFERENT, DIFFERENT, DIFFERENT, SAME], "different", 3),
    ([None, SAME], "unknown", 1),
    ([paired.Ratio(1.0, None, None, 3), SAME], "unknown", 1),
])
def test_the_same_server_twice(attempts, verdict, count):
    coming = iter(attempts)
    found, reason, ratios = peers.judge_aa(lambda: next(coming))
    assert (found, ratios) == (verdict, attempts[:count])
    assert (reason is None) == (verdict == "same")


def test_goals_by_their_bars():
    known = {("greenthreads", "floor-epoll"): ratio(1.02, 1.05),
             ("eventloop", "floor-epoll"): ratio(1.07, 1.09),
             ("threads", "floor-threads-batch"): ratio(1.07, 1.09),
             ("threads", "nginx"): ratio(0.7, 0.8),
             ("greenthreads", "nginx"): ratio(1.01, 1.1),
             ("greenthreads", "h2o"): ratio(0.8, 0.84)}
    results = goals.judge_all(["threads", "greenthreads"],
                              lambda one, other: known.get((one, other)))
    found = {(goal.name, goal.numerator, goal.denominator): verdict
             for goal, verdict, _ in results}
    assert found == {
        ("G1", "greenthreads", "floor-epoll"): "met",
        ("G2", "eventloop", "floor-epoll"): "undecided",
        ("G3", "threads", "floor-threads-batch"): "not met",
        ("G4", "prefork", "floor-processes"): "not measured",
        ("G5", "threads", "nginx"): "met",
        ("G5", "greenthreads", "nginx"): "not met",
        ("G5", "greenthreads", "lighttpd"): "not measured",
        ("G5", "greenthreads", "h2o"): "met",
        ("G5", "eventloop", "lighttpd"): "not measured",
        ("G5", "eventloop", "h2o"): "not measured"}


def test_only_a_goal_beyond_doubt_is_missed():
    def results(*verdicts):
        return [goals.Result(None, verdict, None) for verdict in verdicts]

    assert not goals.missed(results("met", "undecided", "not measured"))
    assert goals.missed(results("met", "not met"))
