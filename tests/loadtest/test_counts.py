"""The parts of the exact counts: what strace's and callgrind's output means, the bars, the
client, and what is shown."""

import argparse
import socket
import subprocess
import threading

import pytest
from harness import wait_for

from measure import bars, callgrind, client, counts_report, servers, syscalls

# Two servers' tasks under strace: 11 waits for what 12 receives, 13 only sleeps.
TRACE = """\
11 100.000100 epoll_wait(7, [{events=EPOLLIN, data={u32=8}}], 64, -1) = 1 <0.400000>
12 100.100000 recvfrom(8,  <unfinished ...>
11 100.500000 futex(0x7f0000000010, FUTEX_WAKE_PRIVATE, 1) = 1 <0.000010>
12 100.500100 <... recvfrom resumed>""..., 32768, 0, NULL, NULL) = 45 <0.400100>
12 100.500200 sendto(8, ""..., 6300, MSG_NOSIGNAL, NULL, 0) = 6300 <0.000020>
12 100.500300 recvfrom(8, 0x7f0000000010, 32768, 0, NULL, NULL) = -1 EAGAIN (Resource temporarily unavailable) <0.000010>
11 100.600000 epoll_wait(7, 0x7ffe0000, 64, -1) = -1 EINTR (Interrupted system call) <0.100000>
13 100.600000 restart_syscall(<... resuming interrupted poll ...>) = ? ERESTART_RESTARTBLOCK (Interrupted by signal) <0.100000>
11 100.700100 epoll_wait(7,  <unfinished ...>
12 101.000000 exit_group(0)             = ?
13 101.000000 +++ exited with 0 +++
12 101.000100 +++ exited with 0 +++
11 101.000200 <... epoll_wait resumed> <unfinished ...>) = ?
"""


def test_a_call_ends_where_its_line_says():
    ended = {(call.task, call.name): call.ended for call in syscalls.parse(TRACE)}
    assert ended[11, "futex"] == pytest.approx(100.50001)
    assert ended[12, "recvfrom"] == pytest.approx(100.50031)
    assert ended[13, "restart_syscall"] == pytest.approx(100.7)
    assert (12, "exit_group") in ended


@pytest.mark.parametrize("start, end, stops, names, broken", [
    (100.3, 100.55, False,
     {"epoll_wait": 1, "futex": 1, "recvfrom": 2, "sendto": 1}, 0),
    (100.3, 100.8, False,
     {"epoll_wait": 2, "futex": 1, "recvfrom": 2, "sendto": 1, "restart_syscall": 1}, 0),
    (100.3, 100.8, True,
     {"epoll_wait": 1, "futex": 1, "recvfrom": 2, "sendto": 1}, 2),
    (100.45, 100.5001, False, {"futex": 1, "recvfrom": 1}, 0),
    (0, 100, False, {}, 0),
])
def test_what_ends_in_the_window_counts(start, end, stops, names, broken):
    found = syscalls.count(syscalls.parse(TRACE), start, end, stops)
    assert found == (names, broken)


def test_a_line_that_is_not_understood_is_not_passed_over():
    with pytest.raises(ValueError, match="not understood"):
        syscalls.parse("11 100.0 epoll_wait(7, whatever) = \n")


PROFILE = """\
# callgrind format
version: 1
positions: line
events: Ir
summary: 100

ob=/usr/bin/tetrad
fl=/source/server/main.c
fn=main
10 %(main)d
cfi=/source/server/conn.c
cfn=step
calls=3 20
11 %(step)d

fl=/source/server/conn.c
fn=step
20 %(own)d
fi=/source/server/slice.h
5 1
fe=/source/server/conn.c
cfn=step
calls=1 20
21 7
cob=/lib/libc.so.6
cfi=???
cfn=memcpy
calls=3 0
22 9

ob=/lib/libc.so.6
fl=???
fn=memcpy
0 9

totals: %(total)d
"""


def profile(**values):
    return callgrind.Profile().add(PROFILE % values)


def test_a_profile_is_added_up_by_function():
    found = profile(main=10, step=60, own=50, total=79)
    assert found.total == 79
    assert found.own == {"main (main.c)": 10, "step (conn.c)": 51, "memcpy (libc.so.6)": 9}
    assert found.under == {"main (main.c)": 70, "step (conn.c)": 60, "memcpy (libc.so.6)": 9}


def test_the_difference_of_two_profiles_is_per_request():
    hit = profile(main=10, step=110, own=100, total=129).less(
        profile(main=10, step=60, own=50, total=79), 10)
    assert hit.total == 5
    assert hit.own["step (conn.c)"] == 5 and hit.own["main (main.c)"] == 0
    assert hit.under["main (main.c)"] == 5


def test_a_window_s_files_are_those_of_all_processes(tmp_path):
    counted = callgrind.Counted("threads", "tetrad", str(tmp_path))
    text = PROFILE % {"main": 10, "step": 60, "own": 50, "total": 79}
    (tmp_path / "callgrind.out.7").write_text(text)
    for name in ("callgrind.out.1.1", "callgrind.out.22.3"):
        (tmp_path / name).write_text(text)
    assert counted.take_files().total == 158
    with pytest.raises(servers.ServerError, match="no counts"):
        counted.take_files()


@pytest.mark.parametrize("name, ready, most", [
    ("greenthreads", 1, 3.02), ("greenthreads", 10, 2.12), ("eventloop", 10, 2.12),
    ("hybrid", 10, 2.12), ("threads", 1, 2.02), ("prefork", 10, 2.02)])
def test_the_bars_of_calls(name, ready, most):
    found = bars.most_calls(bars.of_model(name, {}), ready, 1000, 1)
    assert found == pytest.approx(most)
    assert bars.exceeded(most + 0.001, found) and not bars.exceeded(most - 0.001, found)


def test_a_slow_machine_is_granted_the_calls_of_more_seconds():
    bar = bars.of_model("threads", {})
    assert bars.most_calls(bar, 1, 1000, 0.1) == pytest.approx(2.02)
    assert bars.most_calls(bar, 1, 1000, 4) == pytest.approx(2.08)


def test_a_model_without_bars_exceeds_none():
    bar = bars.of_model("other", {})
    assert not bars.exceeded(1e9, bars.most_calls(bar, 1, 1000, 1))
    assert not bars.exceeded(1e9, bar.instructions)


def test_a_bar_of_the_command_line_replaces_one():
    changes = dict([bars.parse("eventloop.instructions=10"), bars.parse("other.calls=1.5")])
    assert bars.of_model("eventloop", changes).instructions == 10
    assert bars.of_model("eventloop", changes).calls == 2
    assert bars.most_calls(bars.of_model("other", changes), 2, 1000, 1) == (
        pytest.approx(2.02))


@pytest.mark.parametrize("text", ["", "x", "threads=1", "threads.time=1",
                                  "threads.calls=", "threads.calls=-1"])
def test_what_is_no_bar(text):
    with pytest.raises(argparse.ArgumentTypeError, match="not a bar"):
        bars.parse(text)


def row(name, **changes):
    form = {"form": "one in flight", "requests": 1000, "per_request": 3.002, "most": 3.02,
            "calls": {"recvfrom": 1000, "sendto": 1000, "epoll_wait": 1000, "read": 2}}
    return {"name": name, "kind": "model", "calls": [form, form], "over": [],
            "instructions": {"per_request": 1500.5, "most": 1500}, "failure": None,
            **changes}


def test_the_table_names_what_is_over_and_what_failed():
    lines = counts_report.table([row("greenthreads", over=["instructions"]),
                                 row("other", instructions=None),
                                 row("threads", failure="did not start")], 10)
    assert lines[2].split() == ["greenthreads", "3.002", "3.02", "3.002", "3.02", "1500.5",
                                "1500", "over:", "instructions"]
    assert lines[3].split()[-3:] == ["-", "-", "ok"]
    assert lines[4].split() == ["threads", "FAILED", "did", "not", "start"]


def test_rare_calls_are_named_together():
    assert counts_report.calls_by_name([row("x")])[1] == (
        "x, one in flight: recvfrom 1.000, sendto 1.000, epoll_wait 1.000, others 0.002")


def first_request(listener):
    """The first head that is sent. wrk tries whether it can connect before."""
    while True:
        conn, _ = listener.accept()
        with conn:
            conn.settimeout(20)
            data = received = conn.recv(4096)
            while received and not data.endswith(b"\r\n\r\n"):
                received = conn.recv(4096)
                data += received
        if data:
            return data


def test_the_committed_request_is_wrk_s(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(20)
        heard = []
        thread = threading.Thread(target=lambda: heard.append(first_request(listener)))
        thread.start()
        port = listener.getsockname()[1]
        with open(tmp_path / "wrk.out", "wb") as output:
            wrk = subprocess.Popen(
                ["wrk", "-t1", "-c1", "-d60s",
                 "http://127.0.0.1:%d%s" % (port, client.PATH)],
                stdout=output, stderr=output)
        try:
            wait_for(lambda: heard)
        finally:
            wrk.kill()
            wrk.wait()
            thread.join()
    assert heard[0].replace(b":%d\r\n" % port, b":8080\r\n") == client.read_request()


def answering(answers):
    """A listener that gives the next of the answers to each connection's one request."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        for answer in answers:
            conn, _ = listener.accept()
            with conn:
                conn.recv(4096)
                conn.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    return listener, thread


def response(body, status=b"200 OK"):
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


@pytest.mark.parametrize("answer, reason", [
    (response(b"bode"), "not the answer expected"),
    (response(b"body", b"404 No"), "not the answer expected"),
    (response(b"bodybody"), "not the object's length"),
    (response(b"body")[:-1], "closed instead of an answer"),
    (b"", "closed instead of an answer")])
def test_a_wrong_answer_is_not_counted(answer, reason):
    listener, thread = answering([response(b"body"), answer])
    with listener:
        port = listener.getsockname()[1]
        with pytest.raises(client.ClientError, match=reason):
            client.Client(port, b"body", 2)
        thread.join()
