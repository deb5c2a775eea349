"""What the slices of a cell add up to: sums of counts, and percentiles of the whole."""

import re

import pytest

from measure import generators, processes, slices


def flat(value):
    return [value] * len(slices.QUANTILE_STEPS)


def quantiles(samples):
    """What wrk would say of these samples."""
    samples = sorted(samples)
    return [samples[-(-step * len(samples) // slices.QUANTILE_UNITS) - 1]
            for step in slices.QUANTILE_STEPS]


def part(**changed):
    made = {"requests": 1000, "seconds": 1.0, "cpu_ns": 500_000_000, "elapsed": 1.0,
            "server_cpu_ns": 800_000_000, "server_user_ticks": 20,
            "server_system_ticks": 60, "switches_voluntary": 100,
            "switches_involuntary": 10, "busy_ticks": 140, "steal_ticks": 1,
            "all_ticks": 200, "own_cpu_ns": 100_000_000, "connections_seen": 10,
            "errors": {"connect": 0, "read": 1, "status": 2},
            "latency_us": {"mean": 100.0, "max": 900, "quantiles": flat(100)},
            "paces": {"server": [200.0, 150.0], "client": [100.0]}}
    made.update(changed)
    return made


def test_the_script_has_the_same_steps():
    with open(generators.WRK_REPORT, encoding="utf-8") as file:
        text = file.read()
    loop = r"for step = (\d+), (\d+) do\s+if step % (\d+) == 0 or step > (\d+)"
    first, last, coarse, fine = map(int, re.search(loop, text).groups())
    assert slices.QUANTILE_STEPS == [
        step for step in range(first, last + 1) if step % coarse == 0 or step > fine
    ] + [slices.QUANTILE_UNITS]


def test_one_slice_keeps_its_percentiles():
    values = list(range(1, len(slices.QUANTILE_STEPS) + 1))
    merged = slices.merge_quantiles([(12345, values)])
    assert merged == {name: values[slices.QUANTILE_STEPS.index(step)]
                      for name, step in slices.PERCENTILES.items()}


def test_percentiles_are_of_all_requests_and_no_mean_of_percentiles():
    # 3 of 4 requests took 100; the rest 1000. No slice alone has a median of both.
    merged = slices.merge_quantiles([(300, flat(100)), (100, flat(1000))])
    assert merged == {"p50": 100, "p75": 100, "p90": 1000, "p99": 1000}


def test_a_bad_slice_of_ten_is_the_tail_of_the_whole():
    good, bad = (100, flat(100)), (5, flat(5000))
    merged = slices.merge_quantiles([good] * 9 + [bad])
    assert (merged["p90"], merged["p99"]) == (100, 100)
    merged = slices.merge_quantiles([good] * 9 + [(10, flat(5000))])
    assert (merged["p90"], merged["p99"]) == (100, 5000)


def test_the_merged_is_near_to_the_truth():
    low = [10 + i % 97 for i in range(30000)]
    high = [60 + (i * i) % 1009 for i in range(10000)]
    merged = slices.merge_quantiles([(len(low), quantiles(low)),
                                     (len(high), quantiles(high))])
    whole = quantiles(low + high)
    for name, step in slices.PERCENTILES.items():
        true = whole[slices.QUANTILE_STEPS.index(step)]
        assert merged[name] == pytest.approx(true, rel=0.03)


def test_a_slice_without_a_request_weighs_nothing():
    assert slices.merge_quantiles([(10, flat(7)), (0, [])])["p99"] == 7
    assert slices.merge_quantiles([(0, [])]) == {}


def test_counts_are_summed():
    load = slices.add_up([part(), part(requests=500, seconds=1.1, steal_ticks=3)])
    assert (load["requests"], load["seconds"]) == (1500, 2.1)
    assert load["req_per_s"] == pytest.approx(1500 / 2.1)
    assert load["server_cpu_ns"] == 1_600_000_000
    assert load["errors"] == {"connect": 0, "read": 2, "status": 4}
    assert load["generator_share"] == pytest.approx(0.5)
    assert load["steal_share"] == pytest.approx(4 / 400)


def test_what_others_used_is_judged_over_the_whole():
    # A tick is too coarse for a slice: what one has too much the next has too little.
    more = 140 + 20 * 10_000_000 // processes.TICK_NS
    less = 140 - 20 * 10_000_000 // processes.TICK_NS
    assert slices.add_up([part(busy_ticks=more)])["others_share"] == pytest.approx(0.2)
    both = slices.add_up([part(busy_ticks=more), part(busy_ticks=less)])
    assert both["others_share"] == pytest.approx(0.0)


def test_latency_of_the_sum():
    slow = {"mean": 400.0, "max": 5000, "quantiles": flat(400)}
    found = slices.add_up([part(), part(requests=3000, latency_us=slow)])["latency_us"]
    assert (found["mean"], found["max"], found["p50"]) == (325.0, 5000, 400)


def test_reconnects_of_one_slice_are_not_averaged_away():
    parts = [part(), part(connections_seen=25), part()]
    assert slices.add_up(parts)["most_connections_seen"] == 25


def test_the_pace_is_the_median_of_every_look_at_either_cpu():
    parts = [part(), part(paces={"server": [160.0], "client": [90.0, 80.0]}),
             part(paces={"server": [], "client": []})]
    assert slices.add_up(parts)["pace"] == {"server": 160.0, "client": 90.0}
    assert slices.add_up(parts[2:])["pace"] == {"server": None, "client": None}


def test_no_answer_at_all_has_no_latency():
    empty = part(requests=0, latency_us={"mean": 0, "max": 0, "quantiles": []})
    assert slices.add_up([empty])["latency_us"] is None


def test_numbers_of_the_table():
    load = slices.add_up([part(), part()])
    fairness = {"failed": 3, "slowest": 90.0, "mean": 100.0}
    assert slices.derive(load, fairness, {"kib": 2048}) == {
        "req_per_s": 1000.0, "p50_us": 100, "p99_us": 100, "cpu_us_per_request": 800.0,
        "switches_per_request": 0.11, "slowest_client": 0.9, "errors": 9,
        "memory_mib": 2.0}
    assert slices.derive(load, fairness, {"kib": None})["memory_mib"] is None
