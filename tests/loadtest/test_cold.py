"""cold.sh: every model answers cached files while it waits for cold ones, and the disk of
its preloaded library is really slow.
"""

import json
import os
import subprocess

from harness import SOURCE


def start(runner, tetrad, *arguments):
    return subprocess.run([os.path.join(SOURCE, "loadtest", "cold.sh"), "--tetrad", tetrad,
                           *arguments], env=runner.environment, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)


def test_a_short_run(runner, tetrad, tmp_path_factory):
    path = tmp_path_factory.mktemp("result") / "cold.json"
    done = start(runner, tetrad, "--models", "greenthreads,eventloop", "--rate", "400",
                 "--clients", "4", "--slices", "1", "--slice", "1s", "--disk-ms", "30",
                 "--json", str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    runner.assert_nothing_left()
    rows = json.loads(path.read_text())["rows"]
    assert [row["name"] for row in rows] == ["greenthreads", "eventloop"]
    for row in rows:
        assert row["failure"] is None and row["errors"] == 0 and row["wrong"] == 0
        assert row["cold_s"] and min(row["cold_s"]) >= 0.030
        # One pair: a ratio without an interval.
        assert row["ratio"]["pairs"] == 1 and row["ratio"]["low"] is None
        assert row["p99_us"][0] > 0 and row["p99_us"][1] > 0


def test_wrong_usage(runner, tetrad):
    assert start(runner, tetrad, "--models", "nosuch").returncode == 2
    assert start(runner, tetrad, "--rate", "none").returncode == 2
