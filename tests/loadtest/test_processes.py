"""The accounts of a process tree: nothing that ran may be missing."""

import os
import subprocess
import sys

import pytest
from harness import SOURCE, wait_for

from measure import machine, processes

# Each burns about the given seconds of CPU time and prints a line when done.
BURN = """
import os, sys, threading, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def thread(seconds):
    one = threading.Thread(target=burn, args=(seconds,)); one.start(); one.join()
def child(seconds):
    pid = os.fork()
    if pid == 0:
        burn(seconds); os._exit(0)
    os.waitpid(pid, 0)
{what}(0.3)
print("done", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def program():
    started = []

    def start(text):
        process = subprocess.Popen([sys.executable, "-c", text], start_new_session=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(process)
        return process

    yield start
    for process in started:
        processes.Tree(process.pid).kill()
        process.communicate()


@pytest.mark.parametrize("what", ["burn", "thread", "child"])
def test_cpu_time_of_the_living_and_the_ended(program, what):
    process = program(BURN.format(what=what))
    assert process.stdout.readline() == b"done\n"
    counters = processes.Tree(process.pid).counters()
    assert 0.28e9 < counters.cpu_ns < 1e9
    assert counters.user_ticks + counters.system_ticks >= 25


def test_cpu_time_of_a_running_child(program):
    process = program("""
import os, sys, time
if os.fork() == 0:
    end = time.process_time() + 0.3
    while time.process_time() < end: pass
    print("done", flush=True)
    time.sleep(1000)
sys.stdin.read()
""")
    assert process.stdout.readline() == b"done\n"
    tree = processes.Tree(process.pid)
    assert tree.counters().cpu_ns > 0.28e9
    assert tree.count() == (2, 2)
    assert tree.memory_kib() > 1000


def test_memory_does_not_depend_on_who_else_runs_the_program(program):
    def start():
        process = program("import sys; print('done', flush=True); sys.stdin.read()")
        assert process.stdout.readline() == b"done\n"
        return processes.Tree(process.pid)

    tree = start()
    alone = tree.memory_kib()
    for _ in range(3):
        start()
    assert abs(tree.memory_kib() - alone) < 50


def test_switches_are_those_of_the_interval(program):
    process = program("""
import sys, time
for line in sys.stdin:
    for _ in range(200): time.sleep(0.0001)
    print("done", flush=True)
""")
    tree = processes.Tree(process.pid)
    before = tree.counters()
    process.stdin.write(b"go\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"done\n"
    voluntary, _ = processes.switches_between(before.switches, tree.task_switches())
    assert 200 <= voluntary < 450


def test_switches_of_new_and_of_ended_tasks():
    before = {(1, 1): (10, 1), (1, 2): (5, 0)}
    latest = {(1, 1): (15, 2), (1, 3): (7, 1)}
    assert processes.switches_between(before, latest) == (12, 2)


def test_killing_reaches_every_process_of_the_session(program):
    process = program("""
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        if os.fork() == 0: time.sleep(1000)
        time.sleep(1000)
print("done", flush=True)
time.sleep(1000)
""")
    assert process.stdout.readline() == b"done\n"
    tree = processes.Tree(process.pid)
    wait_for(lambda: tree.count()[0] == 7)
    tree.kill()
    assert all(processes.is_zombie(pid) for pid in tree.pids())


@pytest.mark.parametrize("deaf", [False, True])
def test_ending_lets_tidy_up_and_then_insists(program, monkeypatch, tmp_path, deaf):
    monkeypatch.setattr(processes, "KILL_SECONDS", 1 if deaf else 20)
    path = tmp_path / "half-made"
    process = program("""
import os, signal, sys, time
def end(*_):
    if os.path.exists({path!r}): os.unlink({path!r})
    os._exit(1)
signal.signal(signal.SIGTERM, signal.SIG_IGN if {deaf} else end)
open({path!r}, "w").close()
print("done", flush=True)
os.fork()
time.sleep(1000)
""".format(path=str(path), deaf=deaf))
    assert process.stdout.readline() == b"done\n"
    tree = processes.Tree(process.pid)
    wait_for(lambda: tree.count()[0] == 2)
    processes.end_with_descendants(process)
    wait_for(lambda: all(processes.is_zombie(pid) for pid in tree.pids()))
    assert path.exists() == deaf


def test_waiting_leaves_the_status_and_the_clock_readable(program):
    process = program("import sys; sys.exit(7)")
    assert processes.wait_ended(process.pid, 20)
    assert processes.cpu_ns(process.pid) > 0
    assert process.wait() == 7


def test_waiting_ends_with_its_time(program):
    process = program("import sys; sys.stdin.read()")
    assert not processes.wait_ended(process.pid, 0.01)


@pytest.mark.parametrize("allowed, workers, same, server, client", [
    ({0, 1}, 1, False, {1}, {0}),
    ({0, 1}, 4, False, {1}, {0}),
    ({0, 1}, 1, True, {1}, {1}),
    ({3}, 1, False, {3}, {3}),
    ({2, 4, 5, 7}, 2, False, {5, 7}, {2}),
])
def test_placement(monkeypatch, allowed, workers, same, server, client):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: allowed)
    assert machine.place(workers, same) == (server, client)


def test_pace_is_of_one_cpu_and_leaves_the_affinity():
    allowed = os.sched_getaffinity(0)
    assert machine.pace(allowed) > 1000
    assert os.sched_getaffinity(0) == allowed


def test_both_paces_are_looked_at(monkeypatch):
    monkeypatch.setattr(machine, "pace", lambda cpus: 100 + min(cpus))
    assert machine.paces(machine.Placement({3}, {5})) == (103, 105)
    assert machine.paces(machine.Placement({3}, {3})) == (103, 103)


def test_sockets_are_seen_beside_some_that_come_and_go(program):
    process = program("""
import os, socket, threading
def come_and_go():
    while True:
        for one in [socket.socket() for _ in range(20)]:
            one.close()
first = [socket.socket() for _ in range(20)]
kept = [socket.socket() for _ in range(30)]
for one in first: one.close()
threading.Thread(target=come_and_go, daemon=True).start()
print("done", flush=True)
os.read(0, 1)
""")
    assert process.stdout.readline() == b"done\n"
    looks = []

    def others_came():
        looks.append(processes.sockets_of(process.pid))
        return len(looks) > 100 and len(set.union(*looks)) > 50

    wait_for(others_came)
    assert len(set.intersection(*looks)) >= 30


@pytest.mark.parametrize("seconds", [1, 10])
def test_the_last_look_is_just_before_the_end(seconds):
    times = processes.LoadWatch(None, seconds, None).times()
    assert seconds - processes.SAMPLE_SECONDS < times[-1] < seconds
    assert 0.9 * seconds < times[-1]


def test_what_nobody_registered_is_killed_in_the_end(program):
    process = program("""
import os, subprocess, sys
sys.path.insert(0, {path!r})
from measure import processes
processes.become_subreaper()
orphan = "import os, time; os.fork() and os._exit(0); os.setsid(); time.sleep(1000)"
deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(1000)"
subprocess.Popen([sys.executable, "-c", orphan])
subprocess.Popen([sys.executable, "-c", deaf])
print("done", flush=True)
sys.stdin.readline()
processes.kill_descendants()
parents, _ = processes.read_relations()
print(os.getpid() in parents.values(), flush=True)
""".format(path=os.path.join(SOURCE, "loadtest")))
    assert process.stdout.readline() == b"done\n"
    wait_for(lambda: sum(parent == process.pid for parent in
                         processes.read_relations()[0].values()) >= 2)
    process.stdin.write(b"go\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"False\n"
