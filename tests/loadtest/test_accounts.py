"""The account of a server's CPU time in a control group: where it is, and that it holds
what ended.
"""

import os
import subprocess
import sys

import pytest

from measure import accounts, processes

V1 = ("cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0\n"
      "cgroup /sys/fs/cgroup/cpuacct cgroup rw,relatime,cpuacct 0 0\n")
JOINT = "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n"
V2 = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"


@pytest.mark.parametrize("mounts, own, found", [
    (V1, "2:cpuacct:/\n1:cpu:/\n", [("v1", "/sys/fs/cgroup/cpuacct", False)]),
    (JOINT, "4:cpu,cpuacct:/user/x\n",
     [("v1", "/sys/fs/cgroup/cpu,cpuacct/user/x", True)]),
    (V2, "0::/user.slice/a\n", [("v2", "/sys/fs/cgroup/user.slice/a", None)]),
    (V2 + V1, "2:cpuacct:/\n0::/\n", [("v1", "/sys/fs/cgroup/cpuacct", False),
                                      ("v2", "/sys/fs/cgroup", None)]),
    ("tmpfs /tmp tmpfs rw 0 0\n", "0::/\n", []),
])
def test_places(mounts, own, found):
    assert accounts.places(mounts, accounts.own_paths(own)) == found


def test_a_place_that_schedules_is_only_for_cpus_apart(monkeypatch):
    place = accounts.Place("v1", "/nowhere", True)
    monkeypatch.setattr(accounts, "places", lambda *_: [place])
    monkeypatch.setattr(accounts, "works", lambda _: True)
    monkeypatch.setattr(accounts, "remove_stale", lambda _: None)
    assert accounts.choose(True).place == place
    assert isinstance(accounts.choose(False), accounts.Clocks)


def test_a_place_where_nothing_can_be_made_is_left_alone(tmp_path):
    for place in (accounts.Place("v2", "/proc", None),
                  accounts.Place("v1", str(tmp_path / "none"), False)):
        assert not accounts.works(place)


def test_cpu_stat_is_in_microseconds(tmp_path):
    group = accounts.Group("v2", str(tmp_path / "group"))
    (tmp_path / "group" / "cpu.stat").write_text("usage_usec 1234\nuser_usec 1000\n")
    assert group.cpu_ns() == 1_234_000


CHILDREN = """
import os, sys, time
for _ in range(8):
    pid = os.fork()
    if pid == 0:
        end = time.process_time() + 0.025
        while time.process_time() < end: pass
        os._exit(0)
    os.waitpid(pid, 0)
print("done", flush=True)
sys.stdin.read()
"""


def test_what_ended_is_in_the_account(tmp_path):
    """By whichever account this machine has; a group holds it to the microsecond, and
    nothing of it is left."""
    chosen = accounts.choose(True)
    group = chosen.new()
    process = subprocess.Popen([sys.executable, "-c", CHILDREN], start_new_session=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               preexec_fn=group and group.join)
    tree = processes.Tree(process.pid, group)
    try:
        assert process.stdout.readline() == b"done\n"
        spent = tree.counters().cpu_ns
        again = tree.counters().cpu_ns
    finally:
        tree.kill()
        process.communicate()
    assert 0.2e9 <= spent <= again < 2e9
    if group:
        group.close()
        assert not os.path.exists(group.folder)
