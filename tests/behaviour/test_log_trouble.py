"""The access log where it is hard: rotation under load, many processes, full disks, pipes
that nobody reads. Serving goes on, lines stay whole, and none is lost without a word."""
import contextlib
import os
import re
import signal
import subprocess
import threading

import pytest

from client import Client, ask_once, get
from docroot import A_TXT
from exchanges import PROBE
from kernel import children, cpu_seconds, descriptors, processes
from logs import SOON, Log, log, read_lines  # log is a fixture
from server import Server
from waiting import AT_ONCE, holds_for, patient, wait_until


class Load:
    """Threads whose clients each ask for targets of their own, one by one."""

    def __init__(self, server, clients, requests, each=1):
        self.asked = {f'GET /a.txt?{client}-{number} HTTP/1.1'
                      for client in range(clients) for number in range(requests)}
        self.answered, self._errors = 0, []
        self._server, self._requests, self._each = server, requests, each
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(client,))
                         for client in range(clients)]
        for thread in self._threads:
            thread.start()

    def _run(self, client):
        try:
            for first in range(0, self._requests, self._each):
                with Client(self._server.address) as connection:
                    for number in range(first, min(first + self._each, self._requests)):
                        answer = connection.ask(get(f'/a.txt?{client}-{number}'))
                        assert answer.body == A_TXT
                        with self._lock:
                            self.answered += 1
        except Exception as error:               # reported by the test's own thread
            self._errors.append(error)

    def going_on(self):
        return any(thread.is_alive() for thread in self._threads)

    def join(self):
        for thread in self._threads:
            thread.join(patient(9))
            assert not thread.is_alive(), 'the load does not end'
        if self._errors:
            raise self._errors[0]


def check_complete(load, lines):
    """Each request is there, once."""
    found = [line.request for line in lines]
    assert len(found) == len(set(found)), 'a line came twice'
    assert set(found) == load.asked, f'{len(load.asked - set(found))} lines are missing'


def end(server):
    """In good order; what it said can still be read."""
    server.signal()
    assert server.wait() == 0, server.said()


# ---- rotation

def rotate(server, log, number):
    """As logrotate does it: the file is given another name, then the server is told."""
    old = f'{log.path}.{number}'
    os.rename(log.path, old)
    server.signal(signal.SIGUSR1)
    wait_until(lambda: os.path.exists(log.path), 1, 'the new file is there')
    return old


def log_holders(server, log):
    """What log files the processes of the server have open."""
    return {path for pid in processes(server.pid) for path in descriptors(pid).values()
            if path.startswith(log.folder)}


@pytest.mark.parametrize('each', [1, 50], ids=['connection-each', 'kept'])
def test_rotation_under_load(launch, model, log, each):
    server = launch(model, *log.options, '--workers', '4')
    load = Load(server, 8, 200, each)
    files, answered = [], 0
    for number in range(5):
        wait_until(lambda: load.answered > answered or not load.going_on(), 5)
        answered = load.answered + 100
        files.append(rotate(server, log, number))
    load.join()
    end(server)
    contents = [log.content(path) for path in [*files, log.path]]
    check_complete(load, [line for content in contents for line in read_lines(content)])
    assert server.said().count('log') == 0, server.said()


def test_no_process_keeps_the_old_file(launch, model, log):
    """Idle ones too: its space on the disk must become free."""
    server = launch(model, *log.options, '--workers', '4')
    load = Load(server, 4, 10)
    load.join()
    log.wait_lines(40)
    rotate(server, log, 1)
    wait_until(lambda: {log.path} >= log_holders(server, log), 1, 'only the new file is open')


def test_a_file_that_is_emptied(launch, model, log):
    """copytruncate: whoever cannot send a signal."""
    server = launch(model, *log.options)
    ask_once(server.address, PROBE)
    log.wait_lines(1)
    os.truncate(log.path, 0)
    ask_once(server.address, get('/missing'))
    assert log.wait_lines(1)[0].status == 404


def test_reopening_fails(launch, model, log):
    """The old file is written on, and somebody is told."""
    server = launch(model, *log.options)
    os.rename(log.path, log.path + '.1')
    os.mkdir(log.path)
    server.signal(signal.SIGUSR1)
    wait_until(lambda: 'cannot reopen' in server.said(), 1)
    ask_once(server.address, PROBE)
    wait_until(lambda: len(log.lines(log.path + '.1')) == 1, 1)
    os.rmdir(log.path)
    server.signal(signal.SIGUSR1)
    wait_until(lambda: os.path.exists(log.path), 1)


def test_every_process_may_be_told(launch, model, log):
    """A service manager signals all processes of a service."""
    server = launch(model, *log.options, '--workers', '4')
    load = Load(server, 4, 100, 50)
    os.rename(log.path, log.path + '.1')
    for pid in processes(server.pid):
        os.kill(pid, signal.SIGUSR1)
    wait_until(lambda: os.path.exists(log.path), 1)
    load.join()
    end(server)
    check_complete(load, read_lines(log.content(log.path + '.1') + log.content()))


# ---- many at once

def test_lines_of_many_are_whole(launch, model, log):
    server = launch(model, *log.options, '--workers', '8')
    load = Load(server, 16, 100, 10)
    load.join()
    end(server)
    check_complete(load, read_lines(log.content()))


def test_two_servers_one_file(launch, model, log):
    servers = [launch(model, *log.options) for _ in range(2)]
    loads = [Load(server, 4, 100, 10) for server in servers]
    for load in loads:
        load.join()
    for server in servers:
        end(server)
    lines = read_lines(log.content())
    assert len(lines) == 800 and {line.request for line in lines} == loads[0].asked


def test_killed_children_take_no_line_along(launch, model, log):
    """What was answered before a child was killed, all but the last, and what others do
    meanwhile."""
    server = launch(model, *log.options, '--workers', '4')
    wanted = set()
    for number in range(5):
        with Client(server.address) as client:
            for i in range(20):
                client.ask(get(f'/a.txt?{number}-{i}'))
                wanted.add(f'GET /a.txt?{number}-{i} HTTP/1.1')
            wanted.remove(f'GET /a.txt?{number}-19 HTTP/1.1')
            for pid in children(server.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        wait_until(lambda: serves(server), 3)
    wait_until(lambda: wanted <= {line.request for line in log.lines()}, SOON)
    assert all(line.status == 200 for line in log.lines())


def serves(server):
    try:
        return ask_once(server.address, PROBE, within=1).body == A_TXT
    except (AssertionError, OSError):
        return False


# ---- P10: a full disk

def complaints(server):
    return [line for line in server.said().splitlines() if 'access log' in line]


def test_P10_full_device(launch, model):
    """Serving goes on as fast as ever; one complaint; no spin."""
    server = launch(model, '--access-log', '/dev/full')
    for _ in range(3):
        load = Load(server, 4, 50, 10)
        load.join()
    wait_until(lambda: complaints(server), 1)
    before = cpu_seconds(server.pid)
    assert holds_for(lambda: len(complaints(server)) == 1, 1)
    assert cpu_seconds(server.pid) - before < 0.1
    end(server)
    assert re.search(r'the last 600 lines are lost', complaints(server)[-1])


DISK_SIZE = 64 << 10


if os.geteuid() == 0:                # who else may mount
    @pytest.fixture
    def small_disk(launch, model, log):
        """(server, its log on a disk of its own). Not in a mount namespace: where the root
        is a mere folder of a mount, as in a chroot, it would take part in that mount's
        changes all the same."""
        subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={DISK_SIZE},mode=777', 'tmpfs',
                        log.folder], check=True)
        try:
            yield launch(model, *log.options), log
        finally:
            subprocess.run(['umount', '--lazy', log.folder], check=True)

    def test_P10_full_disk(small_disk):
        """Each time that it is emptied, the log goes on at the very byte where it had to
        stop, so that all lines are whole; those dropped meanwhile are counted."""
        server, disk = small_disk
        asked, written = 0, bytearray()
        with Client(server.address) as client:
            while not complaints(server):
                client.send(get('/a.txt', f'User-Agent: {"a" * 690}') * 20)
                client.receive(20)
                asked += 20
            for _ in range(5):
                client.expect_kept(PROBE)
                asked += 1
        assert 'No space left on device' in complaints(server)[0]
        assert len(complaints(server)) == 1

        def complete():
            content = disk.content()
            if len(content) == DISK_SIZE:
                written.extend(content)
                os.truncate(disk.path, 0)
                return False
            again = re.search(r'written again; (\d+) lines', complaints(server)[-1])
            found = (written + content).count(b'\n')
            return again and found + int(again[1]) == asked and read_lines(written + content)
        assert all(line.status == 200 for line in wait_until(complete, 5))


# ---- a pipe that nobody reads

def fifo(log):
    os.mkfifo(log.path)
    os.chmod(log.path, 0o666)
    return log.path


def test_stuck_pipe(launch, model, log):
    """Serving goes on, what is too much is counted, and who reads at last gets whole lines."""
    fifo(log)
    server = launch(model, *log.options)
    fields = [f'User-Agent: {"a" * 690}', f'Referer: {"r" * 790}']
    asked = 0
    with Client(server.address) as client:
        while not complaints(server):
            client.send(get('/a.txt', *fields) * 50)
            client.receive(50, 5)
            asked += 50
        first = re.search(r'nobody reads it; (\d+) lines dropped', complaints(server)[0])
        client.send(get('/missing') * 50)
        client.receive(50)
        asked += 50
        assert holds_for(lambda: len(complaints(server)) == 1, AT_ONCE)
    assert int(first[1]) > 0
    lines = drain(log, server)
    last = re.search(r'written again; (\d+) lines dropped', complaints(server)[1])
    assert len(lines) + int(last[1]) == asked
    assert ask_once(server.address, PROBE).body == A_TXT


def drain(log, server):
    """All lines that come out of a pipe until the server could write them all."""
    data = bytearray()
    reader = os.open(log.path, os.O_RDONLY | os.O_NONBLOCK)

    def grows():
        before = len(data)
        with contextlib.suppress(BlockingIOError):
            data.extend(os.read(reader, 1 << 16))
        return len(data) > before
    try:
        wait_until(lambda: not grows() and len(complaints(server)) > 1, 5)
        wait_until(lambda: holds_for(lambda: not grows(), AT_ONCE), 5)
    finally:
        os.close(reader)
    return read_lines(bytes(data))


def test_a_stuck_pipe_does_not_keep_it_from_ending(launch, model, log):
    fifo(log)
    server = launch(model, *log.options)
    with Client(server.address) as client:
        for _ in range(40):
            client.send(get('/a.txt', f'User-Agent: {"a" * 690}') * 10)
            client.receive(10)
    server.signal()
    assert server.wait(2) == 0
    assert re.search(r'the last \d+ lines are lost', server.said())


def test_a_reader_that_comes_late_and_again(launch, model, log):
    fifo(log)
    server = launch(model, *log.options)
    ask_once(server.address, PROBE)
    for status in (200, 404):
        with open(log.path, 'rb') as reader:
            assert read_lines(reader.readline())[0].status == status
        ask_once(server.address, get('/missing'))
    assert not complaints(server)


def test_standard_output_nobody_reads(program, model, docroot):
    with contextlib.ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen(
            program.command(['-m', model, '-p', '0', '--access-log', '-', docroot.path]),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        stack.callback(process.kill)
        ready = next(line for line in process.stderr if b' serving ' in line).decode()
        with Client(('127.0.0.1', int(re.search(r':(\d+)$', ready)[1]))) as client:
            for _ in range(40):
                client.send(get('/a.txt', f'User-Agent: {"a" * 690}') * 10)
                client.receive(10)
        process.send_signal(signal.SIGTERM)
        assert process.wait(patient(3)) == 0
        process.stdout.close()
