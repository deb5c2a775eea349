"""Output of the generators, as they really print it, into numbers."""

import pytest
from harness import sample

from measure import generators, slices


def test_wrk():
    result = generators.parse_wrk(sample("wrk.txt"))
    latency = result["latency_us"]
    found = latency.pop("quantiles")
    assert result == {
        "requests": 63027, "seconds": 1.000272,
        "latency_us": {"mean": 96.2, "max": 1263},
        "errors": {"connect": 0, "read": 0, "write": 0, "timeout": 0, "status": 0}}
    assert found == sorted(found) and found[-1] == latency["max"]
    # As wrk itself shows them.
    for name, shown in (("p50", 88), ("p75", 105), ("p90", 156), ("p99", 207)):
        assert found[slices.QUANTILE_STEPS.index(slices.PERCENTILES[name])] == shown


def test_wrk_counts_refusals():
    result = generators.parse_wrk(sample("wrk-refused.txt"))
    assert result["errors"]["status"] == 36383
    assert result["requests"] == 36383


def test_wrk_counts_broken_connections():
    errors = generators.parse_wrk(sample("wrk-reset.txt"))["errors"]
    assert errors == {"connect": 0, "read": 5887, "write": 5804, "timeout": 0,
                      "status": 0}


def test_wrk_without_one_answer():
    result = generators.parse_wrk(sample("wrk-no-answer.txt"))
    assert result["requests"] == 0
    assert result["latency_us"] == {"mean": 0, "max": 0, "quantiles": []}


@pytest.mark.parametrize("text", [
    "", "garbage\n", sample("wrk-no-server.txt"),
    sample("wrk.txt").replace("wrk-report", "x"),
    sample("wrk.txt").rstrip()[:-3],
    sample("wrk.txt").replace('"quantiles": [', '"quantiles": [1,')])
def test_wrk_without_a_whole_result(text):
    assert generators.parse_wrk(text) is None


def test_h2load():
    result = generators.parse_h2load(sample("h2load.txt"))
    assert result == {"requests": 49309, "req_per_s": 32872.67, "mean_us": 303,
                      "slowest": 3234.37, "fastest": 3349.30, "mean": 3286.77,
                      "failed": 0, "errored": 0, "timeout": 0}


def test_h2load_shows_a_client_that_got_nothing():
    result = generators.parse_h2load(sample("h2load-starved.txt"))
    assert (result["slowest"], result["mean"]) == (0.0, 1663.71)


def test_h2load_counts_refusals_once():
    assert generators.parse_h2load(sample("h2load-refused.txt"))["failed"] == 42254


def test_h2load_without_a_server():
    assert generators.parse_h2load(sample("h2load-no-server.txt"))["requests"] == 0


@pytest.mark.parametrize("text", ["", "garbage\n",
                                  sample("h2load.txt").replace("req/s  ", "x")])
def test_h2load_without_a_whole_result(text):
    assert generators.parse_h2load(text) is None


@pytest.mark.parametrize("text, microseconds", [
    ("86us", 86), ("1.04ms", 1040), ("2.00s", 2e6), ("1.50m", 90e6), ("1h", 3600e6)])
def test_units(text, microseconds):
    assert generators.to_us(text) == pytest.approx(microseconds)
