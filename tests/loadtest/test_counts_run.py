"""The exact counts as a whole: tetrad within its bars and over them, a server that fails,
and what is refused."""

import json
import os
import signal

import pytest
from harness import COUNTS, STAND_IN, Runner, wait_for


@pytest.fixture
def counts(tmp_path):
    return Runner(tmp_path, COUNTS)


def waits(form):
    """Newer processors have only the second of the two calls."""
    return form["calls"].get("epoll_wait", 0) + form["calls"].get("epoll_pwait", 0)


def test_a_model_over_its_bars_fails_the_run(counts, tetrad, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("json") / "counts.json")
    result = counts.run("--tetrad", tetrad, "--models", "greenthreads", "--functions",
                        "--bar", "greenthreads.calls=1.5", "--json", path,
                        "--bar", "greenthreads.instructions=100")
    assert result.returncode == 1, result.stderr
    assert "over: calls, one in flight, calls, 10 at once, instructions" in result.stdout
    assert "conn_step (conn.c)" in result.stdout
    counts.assert_nothing_left()
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    assert document["schema"] == {"name": "tetrad-counts", "version": 1}
    assert document["request"].startswith("GET /6k HTTP/1.1\r\n")
    (row,) = document["rows"]
    one, ten = row["calls"]
    for form in (one, ten):
        assert form["calls"]["recvfrom"] == form["calls"]["sendto"] == form["requests"]
    assert waits(one) >= one["requests"]
    assert ten["requests"] / 10 <= waits(ten) < ten["requests"] / 5
    assert ten["broken_off"] >= ten["requests"] / 10
    assert 100 < row["instructions"]["per_request"] < 10000


def test_a_bar_that_is_kept_fails_nothing(counts, tetrad):
    result = counts.run("--tetrad", tetrad, "--models", "threads", "--only", "calls",
                        "--bar", "threads.calls=9")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("ok") == 1
    counts.assert_nothing_left()


@pytest.mark.parametrize("model, reason", [
    ("wrong", "not the answer expected"),
    ("crashing", "did not start, exit status 1: tetrad: no room left")])
def test_a_failure_is_a_row_with_its_reason(counts, model, reason):
    result = counts.run("--tetrad", STAND_IN, "--models", model, "--only", "calls")
    assert result.returncode == 1
    assert "%s  FAILED  %s" % (model, reason) in result.stdout
    counts.assert_nothing_left()


def program_folder(folder, name, script):
    path = folder / name
    path.write_text(script)
    path.chmod(0o755)
    return str(folder)


def test_a_system_that_forbids_tracing_is_a_failure_that_says_so(counts, tmp_path_factory):
    folder = program_folder(
        tmp_path_factory.mktemp("bin"), "strace", "#!/bin/sh\n"
        "echo 'strace: attach: ptrace(PTRACE_SEIZE, 7): Operation not permitted' >&2\n"
        "exit 1\n")
    counts.environment["PATH"] = folder + ":" + os.environ["PATH"]
    result = counts.run("--tetrad", STAND_IN, "--models", "threads", "--only", "calls")
    assert result.returncode == 1
    assert "threads  FAILED  did not start, exit status 1: strace: attach: " in result.stdout
    assert "Operation not permitted" in result.stdout


@pytest.mark.parametrize("arguments, named", [
    (["more"], "more"),
    (["--only", "time"], "'time'"),
    (["--peers", "apache"], "'apache' (known: nginx)"),
    (["--bar", "threads.calls"], "'threads.calls'"),
    (["--bar", "none.calls=1", "--tetrad", STAND_IN], "'none'"),
    (["--models", "none", "--tetrad", STAND_IN], "'none' (known: threads"),
    (["--json", "/nonexistent/x.json"], "/nonexistent/x.json"),
    (["--tetrad", "/nonexistent/tetrad"], "/nonexistent/tetrad"),
])
def test_usage_errors(counts, arguments, named):
    result = counts.run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1 and named in result.stderr
    assert result.stderr.startswith("counts: ")
    counts.assert_nothing_left()


@pytest.mark.parametrize("only, tool", [("calls", "strace"), ("instructions", "valgrind")])
def test_a_missing_tool(counts, tmp_path_factory, only, tool):
    folder = tmp_path_factory.mktemp("bin")
    for name in ("dirname", "python3"):
        os.symlink("/usr/bin/" + name, folder / name)
    counts.environment["PATH"] = str(folder)
    result = counts.run("--tetrad", STAND_IN, "--only", only)
    assert result.returncode == 3
    assert result.stderr == "counts: %s not found; Debian package: %s\n" % (tool, tool)


@pytest.mark.parametrize("only, program", [("calls", "strace"),
                                           ("instructions", "callgrind")])
def test_a_signal_leaves_nothing(counts, tetrad, only, program):
    process = counts.start("--tetrad", tetrad, "--only", only)
    wait_for(lambda: [name for name in counts.programs().values()
                      if name.startswith(program)])
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    counts.assert_nothing_left()
