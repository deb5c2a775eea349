"""The floors answer what tetrad answers, whole and to the byte, and leave no trace."""

import os
import re
import signal
import socket
import subprocess

import h11
import pytest
from harness import wait_for

from measure import floors, objects, processes

READY = re.compile(
    rb"^floor: (\S+), 1 worker, serving .* at http://127\.0\.0\.1:(\d+)\n$")
REQUEST = b"GET /6k HTTP/1.1\r\nHost: t.test\r\n\r\n"

# Far more than a socket's buffers hold.
LARGE = 16 << 20


class Running:
    """A floor, and how it ended."""

    def __init__(self, program, mode, path):
        self.process = subprocess.Popen([program, mode, path], stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, start_new_session=True)
        line = self.process.stderr.readline()
        found = READY.match(line)
        assert found and found[1].decode() == mode, line
        self.port = int(found[2])
        self.tree = processes.Tree(self.process.pid)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)


@pytest.fixture
def program(tetrad):
    found = floors.find_program(os.path.abspath(tetrad))
    assert found, "the build of TETRAD has no loadtest/floor"
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("objects")
    for name, size in (("0", 0), ("6k", 6144), ("1m", 1 << 20), ("large", LARGE)):
        objects.write_object(str(root / name), size)
    return root


@pytest.fixture
def start(program, folder):
    started = []

    def begin(mode, name="6k"):
        started.append(Running(program, mode, str(folder / name)))
        return started[-1]

    yield begin
    for one in started:
        one.tree.kill()
        one.process.wait()
        one.process.stderr.close()


def read_answer(conn, client):
    """(head, body) of the next answer, which h11 judges."""
    if client.our_state is h11.DONE:
        client.start_next_cycle()
    client.send(h11.Request(method="GET", target="/6k", headers=[("Host", "t.test")]))
    client.send(h11.EndOfMessage())
    head, body, event = None, bytearray(), None
    while not isinstance(event, h11.EndOfMessage):
        event = client.next_event()
        if event is h11.NEED_DATA:
            client.receive_data(conn.recv(1 << 20))
        elif isinstance(event, h11.Response):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
    assert head.status_code == 200
    return head, bytes(body)


def ask(conn, client=None):
    conn.sendall(REQUEST)
    return read_answer(conn, client or h11.Connection(h11.CLIENT))


@pytest.mark.parametrize("mode", floors.ALL_MODES)
@pytest.mark.parametrize("name", ["0", "6k", "1m"])
def test_the_whole_file_to_each_request_of_each_client(start, folder, mode, name):
    one = start(mode, name)
    content = (folder / name).read_bytes()
    with one.connect() as first, one.connect() as second:
        for conn in (first, second, first, first):
            assert ask(conn)[1] == content


@pytest.mark.parametrize("mode", floors.ALL_MODES)
def test_a_slow_reader_gets_all_of_it_and_then_the_next(start, folder, mode):
    one = start(mode, "large")
    content = (folder / "large").read_bytes()
    with one.connect() as slow, one.connect() as other:
        slow.sendall(REQUEST)
        # Its buffers are full, and it waits while others are served.
        assert ask(other)[1] == content
        slow.sendall(REQUEST)
        client = h11.Connection(h11.CLIENT)
        assert read_answer(slow, client)[1] == content
        assert read_answer(slow, client)[1] == content


def test_the_head_is_that_of_tetrad(start, folder, tetrad):
    one = start("epoll")
    with one.connect() as conn:
        mine = ask(conn)[0].headers
    server = subprocess.Popen([tetrad, "--port", "0", str(folder)], text=True,
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        line = next(line for line in server.stderr if "serving" in line)
        port = int(line.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=20) as conn:
            theirs = ask(conn)[0].headers
    finally:
        server.kill()
        server.wait()
        server.stderr.close()
    assert [name for name, _ in mine] == [name for name, _ in theirs]
    assert [len(value) for _, value in mine] == [len(value) for _, value in theirs]
    assert {name: value for name, value in mine if name != b"date"} == {
        name: value for name, value in theirs if name != b"date"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("mode", floors.ALL_MODES)
def test_a_signal_ends_it_and_all_its_children(start, mode, number):
    one = start(mode)
    with one.connect() as first, one.connect() as second:
        ask(first)
        ask(second)
        assert one.tree.count() == {"threads": (1, 3), "threads-batch": (1, 3),
                                    "processes": (3, 3)}.get(mode, (1, 1))
        one.process.send_signal(number)
        assert one.process.wait(20) == 0
        assert one.tree.pids() == set()


def test_children_are_reaped_with_their_connection(start):
    one = start("processes")
    with one.connect() as conn:
        ask(conn)
        assert one.tree.count()[0] == 2
    wait_for(lambda: one.tree.count()[0] == 1)


def test_children_do_not_survive_a_killed_parent(start):
    one = start("processes")
    with one.connect() as conn:
        ask(conn)
        one.process.kill()
        one.process.wait()
        wait_for(lambda: all(processes.is_zombie(pid) for pid in one.tree.pids()))


@pytest.mark.parametrize("mode", floors.ALL_MODES)
def test_threads_batch_is_of_the_batch_class_and_nothing_else_is(start, mode):
    one = start(mode)
    with one.connect() as conn:
        ask(conn)
        classes = {os.sched_getscheduler(int(tid)) for pid in one.tree.pids()
                   for tid in os.listdir("/proc/%d/task" % pid)}
    assert classes == {os.SCHED_BATCH if mode == "threads-batch" else os.SCHED_OTHER}


@pytest.mark.parametrize("arguments, status, told", [
    (["epoll"], 2, "usage: floor MODE FILE"),
    (["select", "/dev/null"], 2, "modes: epoll epoll-sendfile epoll-memfd uv"),
    (["epoll", "/dev/null", "--port", "70000"], 2, "usage:"),
    (["epoll", "/nonexistent"], 1, "floor: /nonexistent: No such file"),
])
def test_what_it_refuses(program, arguments, status, told):
    result = subprocess.run([program, *arguments], capture_output=True, text=True,
                            timeout=20, check=False)
    assert result.returncode == status and told in result.stderr
