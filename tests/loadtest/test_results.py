"""What is kept of a result, and the plots' data."""

import json
import os
import sys

import pytest
from harness import SOURCE

sys.path.insert(0, os.path.join(SOURCE, "loadtest"))
import results  # noqa: E402


def result(size, clients, **cpu):
    return {"object": {"bytes": size}, "clients": clients,
            "command": ["6k", "--json", "/some/folder/result.json"],
            "rows": [{"name": name.replace("_", "-"), "failure": None,
                      "values": {"cpu_us_per_request": {"median": value}}}
                     for name, value in cpu.items()],
            "cells": [{"slices": [{"requests": 7, "latency_us": {"p50": 1},
                                   "paces": {"server": [1]}}]}]}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The folder of what is kept, with two results in it."""
    monkeypatch.setattr(results, "FOLDER", str(tmp_path / "kept"))
    for name, one in (("peers-6k-10", result(6144, 10, threads=8.0, floor_epoll=5.0)),
                      ("peers-6k-100", result(6144, 100, threads=9.0))):
        path = tmp_path / (name + ".json")
        path.write_text(json.dumps(one))
        results.keep([str(path)])
    return tmp_path / "kept"


def test_details_are_left_out_and_counters_kept(kept):
    told = json.loads((kept / "peers-6k-10.json").read_text())
    assert told["cells"] == [{"slices": [{"requests": 7}]}]
    assert told["command"] == ["6k", "--json", "result.json"]
    assert told["rows"][0]["values"]["cpu_us_per_request"]["median"] == 8.0


def test_points(kept):
    assert kept.is_dir()
    assert results.read_points() == [(6144, 10, {"threads": 8.0, "floor-epoll": 5.0}),
                                     (6144, 100, {"threads": 9.0})]


def test_what_a_plot_is_given(kept, monkeypatch):
    given = []
    monkeypatch.setattr(results.subprocess, "run",
                        lambda command, **more: given.append((command, more["input"])))
    monkeypatch.setattr(results.shutil, "which", lambda name: name)
    assert results.main(["plot"]) == 0
    # One size is no curve; two numbers of clients are one, of who was measured at both.
    [(command, script)] = given
    assert command == ["gnuplot"] and 'set output "clients.svg"' in script
    assert "10 8\n100 9" in script and "floor-epoll" not in script
    assert kept.is_dir()


def test_usage(capsys):
    assert results.main([]) == 2 and results.main(["keep"]) == 2
    assert "results.py keep FILE" in capsys.readouterr().err
