"""Whole, short runs: against a stand-in that misbehaves, and against tetrad itself."""

import json
import os
import random
import subprocess

import pytest
from harness import STAND_IN, Runner, rows_of

from measure import cell, machine, objects, peers, progress, rounds, servers

SHORT = ("1s", "--rounds", "1", "--warmup", "200ms")


@pytest.fixture(scope="module")
def bad_run(tmp_path_factory):
    """One run over every model of the stand-in that can be measured in little time."""
    runner = Runner(tmp_path_factory.mktemp("scratch"))
    models = ("threads", "processes", "starving", "reopening", "closing", "wrong",
              "refusing", "crashing", "ending", "unclean", "leaving")
    result = runner.run("6k", "6", *SHORT, "--tetrad", STAND_IN, "--seed", "7",
                        "--models", ",".join(models))
    runner.assert_nothing_left()
    return result


def test_a_failed_row_fails_the_run(bad_run):
    assert bad_run.returncode == 1


@pytest.mark.parametrize("model", ["threads", "processes"])
def test_a_good_server_is_measured(bad_run, model):
    row = rows_of(bad_run.stdout)[model]
    assert float(row[0]) > 100
    assert 1 < float(row[4]) < 1000
    assert 0 < float(row[5]) < 10
    assert not set(row[-1]) & set("SEK")


@pytest.mark.parametrize("model, flag", [
    ("starving", "S"), ("refusing", "E"), ("reopening", "K")])
def test_a_bad_server_is_flagged(bad_run, model, flag):
    row = rows_of(bad_run.stdout)[model]
    assert flag in row[-1] and row[0] != "FAILED"


@pytest.mark.parametrize("model, reason", [
    ("closing", "keep-alive not held"),
    ("wrong", "wrong bytes: 6144 of them"),
    ("crashing", "did not start, exit status 1: tetrad: no room left"),
    ("ending", "ended under load, killed by SIGABRT"),
    ("unclean", "exit status 3 after SIGTERM"),
    ("leaving", "left processes running: 1"),
])
def test_a_failure_is_a_row_with_its_reason(bad_run, model, reason):
    row = " ".join(rows_of(bad_run.stdout)[model])
    assert row.startswith("FAILED round 1: ") and reason in row


def test_progress_and_legend_are_shown(bad_run):
    for line in ("threads: starting, warming up", "slice 1 of 1", "threads: ",
                 "wrong: FAILED: wrong bytes"):
        assert "round 1/1, " + line in bad_run.stderr
    for line in ("  S  starved", "  C  client-bound", "seed 7"):
        assert line in bad_run.stdout


@pytest.mark.parametrize("model, limit, reason", [
    ("silent", "START_SECONDS", "not ready within"),
    ("stubborn", "STOP_SECONDS", "did not stop within")])
def test_a_server_that_makes_one_wait(tmp_path, monkeypatch, model, limit, reason):
    monkeypatch.setattr(servers, limit, 1)
    monkeypatch.setattr(servers, "INTERRUPTED_SECONDS", 0)
    root = str(tmp_path / "root")
    plan = cell.Plan(objects.provide("6k", root, []), root, 2, 1, 0, 1,
                     machine.place(1, False))
    one = rounds.Round(1, [servers.Model(model, STAND_IN)], plan, str(tmp_path),
                       random.Random(1), progress.Progress(1))
    result = one.run()[0]
    assert reason in result["failure"]
    assert os.listdir(tmp_path) == ["root"]


def shuffled(shuffler, names):
    shuffler.shuffle(names)
    return names


def test_the_seed_s_order_and_every_raw_number_are_kept_in_json(runner, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("json") / "result.json")
    result = runner.run("1k", "3", "2s", "--rounds", "2", "--warmup", "0", "--seed", "4",
                        "--same-cpu", "--tetrad", STAND_IN, "--json", path,
                        "--models", "threads,greenthreads")
    assert result.returncode == 0
    assert "greenthreads/threads " in result.stdout
    assert "beside 1.263 in 1998" in result.stdout
    runner.assert_nothing_left()
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    shuffler = random.Random(4)
    for number, order in enumerate(document["order"], 1):
        turns = [shuffled(shuffler, ["threads", "greenthreads"]) for _ in range(4)]
        assert order == {"round": number, "prepare": turns[0], "slices": turns[1:3],
                         "finish": turns[3]}
    assert document["schema"] == {"name": "tetrad-loadtest", "version": 2}
    assert document["seed"] == 4 and document["object"]["bytes"] == 1024
    assert document["environment"]["tools"]["wrk"].startswith("wrk ")
    assert len(document["cells"]) == 4
    for entry in document["cells"]:
        assert entry["load"]["requests"] > 0 and entry["fairness"]["slowest"] > 0
        assert len(entry["slices"]) == 2
        assert sum(part["requests"] for part in entry["slices"]) == (
            entry["load"]["requests"])
        for part in entry["slices"]:
            assert part["paces"]["server"] and part["paces"]["client"]


def test_a_peer_is_a_row_beside_the_models(runner):
    result = runner.run("6k", "4", *SHORT, "--tetrad", STAND_IN, "--models", "threads",
                        "--peers", "nginx")
    if peers.find_program("nginx"):
        assert result.returncode == 0, result.stdout
        assert float(rows_of(result.stdout)["nginx"][0]) > 100
        assert "cpu us/req over nginx's in the same round: threads " in result.stdout
    else:
        assert result.returncode == 3 and "nginx" in result.stderr
    runner.assert_nothing_left()


def test_every_model_of_tetrad(runner, tetrad):
    listed = subprocess.run([tetrad, "--list-models"], capture_output=True, text=True,
                            check=True).stdout
    models = [line.split("\t")[0] for line in listed.splitlines()]
    result = runner.run("6k", "10", *SHORT, "--tetrad", tetrad)
    assert result.returncode == 0, result.stdout
    rows = rows_of(result.stdout)
    assert list(rows) == models
    for name in models:
        assert float(rows[name][0]) > 100
        assert not set(rows[name][-1]) & set("SEK"), result.stdout
    runner.assert_nothing_left()
