"""Usage errors, missing tools, and what else is refused before anything runs."""

import os

import pytest
from harness import STAND_IN

from measure import options


@pytest.mark.parametrize("arguments, named", [
    (["6k", "0"], "'0'"),
    (["6k", "ten"], "'ten'"),
    (["6k", "10", "0s"], "'0s'"),
    (["6k", "10", "1.5s"], "'1.5s'"),
    (["6k", "10", "10x"], "'10x'"),
    (["6k", "10", "10s", "more"], "more"),
    (["6k", "9000000"], "descriptors"),
    (["--rounds", "0"], "'0'"),
    (["--rounds"], "--rounds"),
    (["--warmup", "x"], "'x'"),
    (["--workers", "-1"], "--workers"),
    (["--seed", "x"], "'x'"),
    (["--models", ""], "empty"),
    (["--models", "threads,threads"], "twice"),
    (["--peers", "iis"], "'iis' (known: nginx, nginx-plain, apache-prefork"),
    (["--peers", "apache,apache-event"], "twice"),
    (["6k", "--object", "1k"], "OBJECT is given twice: '6k'"),
    (["6k", "10", "--clients", "3"], "CLIENTS is given twice: '10'"),
    (["--clients", "0"], "'0'"),
    (["--unknown"], "--unknown"),
    (["--round", "3"], "--round"),
    (["--json", "/nonexistent/x.json"], "/nonexistent/x.json"),
    (["--tetrad", "/nonexistent/tetrad"], "/nonexistent/tetrad"),
    (["--tetrad", STAND_IN, "--models", "threads,none"], "'none' (known: threads"),
    (["nothing", "--tetrad", STAND_IN], "'nothing'"),
])
def test_usage_errors(runner, arguments, named):
    result = runner.run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1 and named in result.stderr
    runner.assert_nothing_left()


def test_help_names_every_option(runner):
    result = runner.run("--help")
    assert result.returncode == 0
    for option in ("--models", "--rounds", "--warmup", "--workers", "--same-cpu",
                   "--peers", "--json", "--seed", "--tetrad", "--object", "--clients"):
        assert option in result.stdout


def limited_path(folder, names):
    for name in names:
        found = next(os.path.join(place, name) for place in ("/usr/bin", "/bin")
                     if os.path.exists(os.path.join(place, name)))
        os.symlink(found, os.path.join(folder, name))
    return str(folder)


@pytest.mark.parametrize("tool, package", [
    ("wrk", "wrk"), ("h2load", "nghttp2-client"), ("curl", "curl")])
def test_a_missing_tool(runner, tmp_path_factory, tool, package):
    tools = {"wrk", "h2load", "curl", "dirname", "python3"} - {tool}
    runner.environment["PATH"] = limited_path(tmp_path_factory.mktemp("bin"), tools)
    result = runner.run("--tetrad", STAND_IN)
    assert result.returncode == 3
    assert result.stderr == ("loadtest: %s not found; Debian package: %s\n"
                             % (tool, package))


def test_a_missing_peer(runner, tmp_path_factory):
    tools = ["wrk", "h2load", "curl", "dirname", "python3"]
    runner.environment["PATH"] = limited_path(tmp_path_factory.mktemp("bin"), tools)
    result = runner.run("--tetrad", STAND_IN, "--peers", "h2o")
    assert result.returncode == 3
    assert result.stderr == "loadtest: h2o not found; Debian package: h2o\n"


def test_a_tetrad_that_does_not_list_models(runner):
    result = runner.run("--tetrad", "/bin/false")
    assert result.returncode == 1
    assert "--list-models" in result.stderr


@pytest.mark.parametrize("text, seconds", [
    ("200ms", 0.2), ("10s", 10), ("10", 10), ("1m", 60), ("0", 0), ("1.5s", 1.5)])
def test_times(text, seconds):
    assert options.parse_time(text) == pytest.approx(seconds)


def test_defaults():
    parsed = options.parse([])
    assert (parsed.object, parsed.clients, parsed.duration) == ("6k", 10, 10)
    assert (parsed.rounds, parsed.warmup, parsed.workers) == (3, 2.0, 1)


@pytest.mark.parametrize("arguments, expected", [
    (["1k", "3", "5s"], ("1k", 3, 5)),
    (["--object", "1k", "--clients", "3"], ("1k", 3, 10)),
    (["--same-cpu", "1k", "--rounds", "2", "3"], ("1k", 3, 10))])
def test_words_and_options(arguments, expected):
    parsed = options.parse(arguments)
    assert (parsed.object, parsed.clients, parsed.duration) == expected


def test_apache_is_all_of_its_models():
    assert options.parse(["--peers", "h2o,apache"]).peers == [
        "h2o", "apache-prefork", "apache-worker", "apache-event"]
