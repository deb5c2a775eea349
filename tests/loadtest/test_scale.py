"""The measurement with many connections: a whole run with few of them, what it makes of
its numbers, and the comparison of load generators.
"""

import json
import os
import subprocess

import pytest
from harness import SOURCE, rows_of

import crosscheck
from measure import kernel, paired, scaling, scaling_report, tload


def start(runner, tetrad, script, *arguments):
    """Runs a script of loadtest/ beside loadtest.sh."""
    return subprocess.run([os.path.join(SOURCE, "loadtest", script), "--tetrad", tetrad,
                           *arguments], env=runner.environment, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)


def test_a_whole_run(runner, tetrad, tmp_path_factory):
    path = tmp_path_factory.mktemp("result") / "scale.json"
    done = start(runner, tetrad, "scale.sh", "--models", "greenthreads", "--idle", "40",
                 "--clients", "5", "--few", "2", "--seconds", "1", "--rounds", "1",
                 "--warmup", "100ms", "--churn", "--json", str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    runner.assert_nothing_left()
    row = rows_of(done.stdout)["greenthreads"]
    assert row[0] == "40" and float(row[5]) > 0 and row[-1] == "0"
    assert "user memory per idle connection, KiB: greenthreads" in done.stdout
    told = json.loads(path.read_text())
    assert told["cells"][0]["idle_open"] == 40
    assert [len(told["cells"][0]["slices"][kind])
            for kind in ("few", "many", "beside", "churn")] == [1, 1, 1, 1]


def test_several_workers(runner, tetrad):
    done = start(runner, tetrad, "scale.sh", "--models", "greenthreads", "--workers", "2",
                 "--few", "4", "--seconds", "1", "--clients", "5", "--idle", "5")
    assert done.returncode == 0, done.stdout + done.stderr
    runner.assert_nothing_left()
    loops = rows_of(done.stdout)["greenthreads"][0].rstrip(",")
    assert sum(map(int, loops.split("+"))) == 4


def test_generators_are_compared(runner, tetrad):
    done = start(runner, tetrad, "crosscheck.sh", "--seconds", "1", "--rounds", "1",
                 "--clients", "2")
    assert done.returncode in (0, 1), done.stderr
    assert "paced, tload over wrk: req/s" in done.stdout
    assert "greenthreads, tload over h2load: server us/req" in done.stdout
    runner.assert_nothing_left()


@pytest.mark.parametrize("low, high, verdict", [
    (0.96, 1.04, "agree"), (0.94, 1.04, "undecided"), (0.96, 1.3, "undecided"),
    (1.06, 1.3, "DIFFER"), (0.5, 0.94, "DIFFER"), (None, None, "undecided")])
def test_when_generators_agree(low, high, verdict):
    assert crosscheck.judge(paired.Ratio(1.0, low, high, 8)) == verdict


def test_without_its_tload(runner, tetrad, tmp_path_factory):
    lonely = tmp_path_factory.mktemp("bin") / "tetrad"
    lonely.symlink_to(tetrad)
    done = start(runner, str(lonely), "scale.sh")
    assert done.returncode == 2 and "no tload beside" in done.stderr


def part(cpu_ns, answers, slowest=10, fastest=10, ends=((1000, 1),), **errors):
    return {"server_cpu_ns": cpu_ns,
            "tload": {"answers": answers, "elapsed_ns": 10**9, "unanswered": 0,
                      "slowest": slowest, "fastest": fastest, "errors": errors,
                      "histogram_ns": [list(end) for end in ends]}}


def cell_of(name="greenthreads", **changes):
    memory = {"user_kib_before": 100, "user_kib_after": 150,
              "kernel_before": {"Slab": 1000, "KernelStack": 10, "PageTables": 5},
              "kernel_after": {"Slab": 1300, "KernelStack": 10, "PageTables": 5}}
    cell = {"round": 1, "name": name, "kind": "model", "failure": None, "idle": 100,
            "memory": memory,
            "slices": {"few": [part(10_000_000, 1000)], "many": [part(11_000_000, 1000)],
                       "beside": [part(10_000_000, 1000, 8, 12, ((2000, 98), (9000, 2))),
                                  part(14_000_000, 1000, reset=3)],
                       "churn": []}}
    cell.update(changes)
    return cell


def test_the_numbers_of_a_row():
    values = scaling_report.summarise("greenthreads", [cell_of()])["values"]
    assert (values["user_kib"], values["kernel_kib"]) == (0.5, 3)
    assert (values["us_few"], values["us_many"], values["us_beside"]) == (10, 11, 12)
    assert values["over_few"] == pytest.approx(1.2)
    assert (values["p99_us"], values["unevenness"], values["errors"]) == (9, 1.5, 3)


def test_goals_are_met_or_not():
    cells = [cell_of(), cell_of("prefork")]
    rows = [scaling_report.summarise(name, cells) for name in ("greenthreads", "prefork")]
    found = {(verdict.name, verdict.goal.key): verdict.met
             for verdict in scaling_report.judge(rows)}
    assert found == {("greenthreads", "user_kib"): True,
                     ("greenthreads", "over_few"): False, ("prefork", "over_few"): False,
                     ("greenthreads", "unevenness"): True,
                     ("prefork", "unevenness"): True}


def test_a_failed_cell_is_a_failed_row():
    cells = [cell_of(), cell_of(round=2, failure="3 of 100 idle connections were closed")]
    row = scaling_report.summarise("greenthreads", cells)
    assert scaling_report.table([row], scaling_report.COLUMNS)[-1] == (
        "greenthreads  FAILED  round 2: 3 of 100 idle connections were closed")
    assert scaling_report.judge([row]) == []


def test_a_starved_connection_is_infinitely_uneven():
    starved = part(10_000_000, 1000, slowest=0)
    assert tload.unevenness(starved["tload"]) is None
    assert scaling_report.worst_unevenness([part(1, 1), starved]) == float("inf")


def test_percentiles_of_several_runs_together():
    runs = [part(1, 1, ends=((100, 90), (300, 1)))["tload"],
            part(1, 1, ends=((200, 8), (900, 1)))["tload"]]
    assert tload.merge_percentiles(runs) == {"p50": 100, "p90": 100, "p99": 300,
                                             "p99.9": 900}
    assert tload.merge_percentiles([]) == {}


def test_what_the_kernel_says():
    text = "Slab:    10 kB\nSReclaimable: 4 kB\nPageTables:  7 kB\n"
    assert kernel.parse_meminfo(text) == {"Slab": 10, "PageTables": 7}
    assert kernel.parse_sockstat("TCP: inuse 9 orphan 0 tw 3 alloc 10 mem 2\n") == {
        "tcp_inuse": 9, "tcp_pages": 2}
    before, after = {"Slab": 1, "tcp_pages": 1}, {"Slab": 5, "tcp_pages": 9}
    assert kernel.difference_kib(before, after) == 4


def test_prefork_has_fewer():
    assert scaling.idle_of("prefork", 10000) == 500
    assert scaling.idle_of("threads", 10000) == 10000
    assert scaling.connections_of("threads", 10000, 0) > 10000
