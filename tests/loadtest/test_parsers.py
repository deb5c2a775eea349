"""Output of the generators, as they really print it, into numbers."""

import pytest
from harness import sample

from measure import generators


def test_wrk():
    result = generators.parse_wrk(sample("wrk.txt"))
    assert result == {
        "requests": 41836, "seconds": 2.0, "req_per_s": 20887.72,
        "latency_us": {"p50": 287, "p75": 454, "p90": 1300, "p99": 5780,
                       "mean": 788.19, "max": 102190},
        "errors": {"connect": 0, "read": 0, "write": 0, "timeout": 0, "status": 0}}


def test_wrk_counts_refusals():
    result = generators.parse_wrk(sample("wrk-refused.txt"))
    assert result["errors"]["status"] == 25604
    assert result["requests"] == 25606


def test_wrk_counts_broken_connections():
    errors = generators.parse_wrk(sample("wrk-reset.txt"))["errors"]
    assert errors == {"connect": 0, "read": 9272, "write": 6713, "timeout": 0,
                      "status": 0}


@pytest.mark.parametrize("text", ["", "garbage\n", sample("wrk-no-server.txt"),
                                  sample("wrk.txt").replace("Requests/sec", "x"),
                                  sample("wrk.txt").replace("99%", "98%")])
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
