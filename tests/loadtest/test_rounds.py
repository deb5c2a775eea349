"""How a round goes: turns of a second, an order of its own each time, failures that stay
with their row, and what is said meanwhile.
"""

import io
import os
import random

import pytest
from harness import STAND_IN

from measure import (cell, generators, machine, objects, processes, progress, rounds,
                     servers)


@pytest.fixture
def plan(tmp_path):
    root = str(tmp_path / "root")
    return cell.Plan(objects.provide("1k", root, []), root, 3, 4, 0, 1,
                     machine.place(1, False))


@pytest.fixture
def quick(monkeypatch):
    """Instead of the load: a note of who had a turn, and who was alive meanwhile."""
    seen = []

    def measure(url, server, _plan):
        seen.append((server.process.pid, url))
        server.check_alive()
        return {"requests": 0}

    monkeypatch.setattr(cell, "measure_slice", measure)
    return seen


class Silent:
    def __getattr__(self, _name):
        return lambda *_: None


def make_round(plan, folder, names, told=None, seed=1):
    subjects = [servers.Model(name, STAND_IN) for name in names]
    return rounds.Round(2, subjects, plan, str(folder), random.Random(seed),
                        told or Silent())


def finish_at_once(monkeypatch):
    def finish(one):
        one.running[-1].stop()
        one.end()

    monkeypatch.setattr(cell.Cell, "finish", finish)
    monkeypatch.setattr(rounds.Round, "tell", lambda *_: None)


def test_all_take_turns_on_servers_that_stay(plan, tmp_path, quick, monkeypatch):
    finish_at_once(monkeypatch)
    names = ["threads", "greenthreads", "starving"]
    one = make_round(plan, tmp_path, names)
    results = one.run()
    assert [result["name"] for result in results] == names
    assert all(result["failure"] is None for result in results)
    assert {result["round"] for result in results} == {2}
    assert [len(result["slices"]) for result in results] == [4, 4, 4]
    assert len(set(quick)) == 3, "a fresh server for each, and no other"
    for start in range(0, 12, 3):
        assert len(set(quick[start:start + 3])) == 3, "each has one turn in each slice"
    assert os.listdir(tmp_path) == ["root"]


def test_every_slice_is_shuffled_anew_and_the_seed_repeats_it(plan, tmp_path, quick,
                                                              monkeypatch):
    finish_at_once(monkeypatch)
    names = ["threads", "greenthreads", "starving"]
    orders = []
    for seed in (1, 1, 2):
        one = make_round(plan, tmp_path, names, seed=seed)
        one.run()
        orders.append(one.order)
    assert orders[0] == orders[1] != orders[2]
    turns = [orders[0]["prepare"], *orders[0]["slices"], orders[0]["finish"]]
    assert len(turns) == 6 and len({tuple(turn) for turn in turns}) > 1
    assert all(sorted(turn) == sorted(names) for turn in turns)


def test_a_failure_under_way_ends_its_row_alone(plan, tmp_path, quick, monkeypatch):
    finish_at_once(monkeypatch)
    one = make_round(plan, tmp_path, ["threads", "greenthreads"])
    real = cell.measure_slice
    ended = []

    def measure(url, server, _plan):
        owner = next(c for c in one.cells if server in c.running)
        if owner.subject.name == "threads" and len(owner.result["slices"]) == 2:
            ended.append(server)
            raise generators.GeneratorError("wrk: no luck")
        assert all(gone.process.poll() is not None for gone in ended), "ended at once"
        return real(url, server, _plan)

    monkeypatch.setattr(cell, "measure_slice", measure)
    broken, well = one.run()
    assert broken["failure"] == "wrk: no luck" and len(broken["slices"]) == 2
    assert well["failure"] is None and len(well["slices"]) == 4
    assert [len(turn) for turn in one.order["slices"]] == [2, 2, 2, 1]
    assert one.order["finish"] == ["greenthreads"]


def test_a_server_that_is_gone_explains_it(plan, tmp_path, quick, monkeypatch):
    finish_at_once(monkeypatch)
    one = make_round(plan, tmp_path, ["threads"])

    def measure(_url, server, _plan):
        server.process.kill()
        server.process.wait()
        raise generators.GeneratorError("wrk: unable to connect")

    monkeypatch.setattr(cell, "measure_slice", measure)
    assert one.run()[0]["failure"].startswith("ended under load, killed by SIGKILL")


@pytest.mark.parametrize("step", ["prepare", "load", "finish"])
def test_an_interrupt_in_any_step_leaves_no_server(plan, tmp_path, quick, monkeypatch,
                                                   step):
    finish_at_once(monkeypatch)
    one = make_round(plan, tmp_path, ["threads", "processes", "greenthreads"])
    real = getattr(cell.Cell, step)
    started = []

    def interrupted(self):
        real(self)
        if len(started) == 1:
            raise KeyboardInterrupt
        started.append(self)

    monkeypatch.setattr(cell.Cell, step, interrupted)
    known = []
    launch = servers.Model.launch

    def remember(self, its_plan, folder, register):
        return launch(self, its_plan, folder,
                      lambda server: (register(server), known.append(server)))

    monkeypatch.setattr(servers.Model, "launch", remember)
    with pytest.raises(KeyboardInterrupt):
        one.run()
    assert len(known) == (2 if step == "prepare" else 3)
    assert all(server.process.poll() is not None for server in known)
    assert all(processes.is_zombie(pid) for server in known
               for pid in server.tree.pids())
    assert os.listdir(tmp_path) == ["root"]


def test_several_deaf_servers_are_waited_for_together(plan, tmp_path, monkeypatch):
    waited = []
    monkeypatch.setattr(servers, "INTERRUPTED_SECONDS", 0.3)
    real = processes.wait_ended

    def wait(pid, seconds):
        waited.append(max(0, seconds))
        return real(pid, seconds)

    cells = [cell.Cell(1, servers.Model("stubborn", STAND_IN), plan, str(tmp_path))
             for _ in range(4)]
    for one in cells:
        assert one.take(cell.Cell.prepare), one.result
    running = [server for one in cells for server in one.running]
    monkeypatch.setattr(processes, "wait_ended", wait)
    servers.abandon(running)
    assert sum(waited) < 2 * 0.3
    assert all(server.process.returncode == -9 for server in running)


RESULT = {"name": "threads", "failure": None, "flags": ["C", "T"],
          "values": {"req_per_s": 1234.4, "cpu_us_per_request": 5.678}}


def tell_all(told):
    told.preparing(1, "threads")
    for number in range(1, 11):
        told.slice_done(1, number, 10)
    told.finishing(1, "threads")
    told.measured(1, RESULT)
    told.failed(1, {"name": "wrong", "failure": "wrong bytes"})


def test_progress_in_a_file_is_a_few_lines():
    stream = io.StringIO()
    tell_all(progress.Progress(3, stream))
    assert stream.getvalue().splitlines() == [
        "round 1/3, threads: starting, warming up",
        "round 1/3, slice 3 of 10", "round 1/3, slice 6 of 10",
        "round 1/3, slice 9 of 10", "round 1/3, slice 10 of 10",
        "round 1/3, threads: 1234 req/s, 5.68 us/req  CT",
        "round 1/3, wrong: FAILED: wrong bytes"]


def test_progress_on_a_terminal_keeps_only_results(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    tell_all(progress.Progress(3, stream))
    lines = stream.getvalue().split("\n")
    assert [line.rpartition(progress.ERASE_LINE)[2] for line in lines] == [
        "round 1/3, threads: 1234 req/s, 5.68 us/req  CT",
        "round 1/3, wrong: FAILED: wrong bytes", ""]
    assert "slice 5 of 10" in lines[0]
