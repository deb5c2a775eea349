"""The comparison with floors and peers: each configuration answers, the whole runs."""

import json
import os
import pathlib
import signal
import tempfile

import pytest
from harness import PEERS, SOURCE, STAND_IN, Runner, wait_for

from measure import accounts, cell, machine, objects, options, peers, processes

SHORT = ("1s", "--rounds", "1", "--warmup", "100ms")


@pytest.fixture
def runner(tmp_path):
    return Runner(tmp_path, PEERS)


def make_plan(folder, name, clients=4, workers=1):
    root = str(folder / "root")
    return cell.Plan(objects.provide(name, root, []), root, clients, 1, 0, workers,
                     machine.place(workers, False), accounts.choose(True))


def test_every_name_has_a_row():
    assert tuple(peers.KINDS) == options.PEERS


@pytest.mark.parametrize("name", options.PEERS)
def test_a_configuration_has_every_value(tmp_path, name):
    plan = make_plan(tmp_path, "1k")
    path = peers.Peer(name, SOURCE).write_config(plan, str(tmp_path), 12345)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert "@" not in text and "12345" in text and plan.root in text
    shown = peers.Peer(name, SOURCE).configuration(plan)
    assert "PORT" in shown and "ROOT" in shown and str(tmp_path) not in shown


# Which peers are installed decides which cases there are: none is skipped.
INSTALLED = [name for name in options.PEERS if peers.find_program(name)]


@pytest.fixture
def open_folder():
    """Apache, started by root, serves as another user, who must come this far."""
    with tempfile.TemporaryDirectory(prefix="tetrad-peers-") as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


@pytest.mark.parametrize("size", ["6k", "1m"])
@pytest.mark.parametrize("name", INSTALLED)
def test_a_peer_starts_answers_and_ends(open_folder, name, size):
    plan = make_plan(open_folder, size)
    one = cell.Cell(1, peers.Peer(name, SOURCE), plan, str(open_folder))
    try:
        assert one.take(cell.Cell.prepare), one.result["failure"]
        server = one.running[-1]
        assert one.take(lambda self: self.running[-1].stop()), one.result["failure"]
        assert server.process.returncode == 0
        assert all(processes.is_zombie(pid) for pid in server.tree.pids())
    finally:
        one.end()
    assert os.listdir(open_folder) == ["root"]


@pytest.mark.parametrize("arguments, status, named", [
    (["--floors", "select"], 2, "'select' (known: epoll"),
    (["--peers", "iis"], 2, "'iis'"),
    (["--tetrad", STAND_IN, "--peers", "none"], 2, "no floor beside"),
    (["--unknown"], 2, "--unknown"),
])
def test_usage_errors(runner, arguments, status, named):
    result = runner.run(*arguments)
    assert result.returncode == status and result.stdout == ""
    assert result.stderr.startswith("peers: ") and named in result.stderr
    runner.assert_nothing_left()


def test_a_peer_that_is_asked_for_and_not_installed(runner, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bin")
    for name in ("wrk", "h2load", "curl", "dirname", "python3"):
        os.symlink("/usr/bin/" + name, folder / name)
    runner.environment["PATH"] = str(folder)
    result = runner.run("--tetrad", STAND_IN, "--peers", "h2o,caddy")
    assert result.returncode == 3
    assert result.stderr == ("peers: h2o not found; Debian package: h2o; "
                             "caddy not found; Debian package: caddy\n")


def groups_of(pid):
    """The control groups that a run made and did not remove."""
    place = getattr(accounts.choose(True), "place", None)
    mark = "%s%d-" % (accounts.PREFIX, pid)
    names = os.listdir(place.parent) if place else []
    return [name for name in names if name.startswith(mark)]


def test_an_interrupted_run_leaves_nothing(runner, tetrad):
    process = runner.start("6k", "4", "60s", "--warmup", "0", "--tetrad", tetrad,
                           "--peers", "none")
    wait_for(lambda: "wrk" in runner.programs().values())
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "peers: stopped by SIGINT; nothing is left running" in errors
    assert groups_of(process.pid) == []
    runner.assert_nothing_left()


def section(text, beginning):
    """{first column: its lines} of the table whose head begins so."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(beginning))
    rows = {}
    for line in lines[start + 1:]:
        if not line:
            break
        rows.setdefault(line.split()[0], []).append(line)
    return rows


def test_a_whole_short_run(runner, tetrad, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("json") / "result.json")
    beside = INSTALLED[:1] or ["none"]
    result = runner.run("--object", "6k", "--clients", "4", *SHORT[1:], "--json", path,
                        "--tetrad", tetrad, "--models", "greenthreads",
                        "--floors", "epoll", "--peers", *beside, "--duration", "1s")
    # One pair of seconds decides nothing, and says so.
    assert result.returncode == 1, result.stderr
    assert "MACHINE NOT JUDGED: fewer than 6 pairs" in result.stdout
    runner.assert_nothing_left()
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    names = ["greenthreads", "floor-epoll", *INSTALLED[:1]]
    assert [row["name"] for row in document["rows"]] == names
    assert all(row["failure"] is None for row in document["rows"])
    assert document["unquiet"] and document["aa"]["verdict"] == "unknown"
    assert len(document["aa"]["attempts"]) == 1
    assert set(document["configurations"]) == set(INSTALLED[:1])
    table = section(result.stdout, "server  ")
    for name in names:
        assert float(table[name][0].split()[2]) > 1
    assert "floor-epoll" in table["greenthreads"][0]
    goals = section(result.stdout, "goal  ")
    assert "undecided" in goals["G1"][0] and "not measured" in goals["G2"][0]
    verdicts = {goal["verdict"] for goal in document["goals"]}
    assert verdicts == {"undecided", "not measured"}
    assert document["ratios"]["greenthreads"]["floor-epoll"]["pairs"] == 1
    for name in INSTALLED[:1]:
        assert "---- " + name in result.stdout
        assert name in section(result.stdout, "cpu us/req over that of")
