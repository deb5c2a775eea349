"""SIGTERM and SIGINT: started answers are finished, everything else ends at once."""
import contextlib
import os
import signal
import socket
import threading

import pytest

from client import Client, get, request
from docroot import A_TXT, BIG_SIZE
from exchanges import PROBE
from kernel import children, wait_read
from server import alive
from waiting import AT_ONCE, Stopwatch, patient, wait_until


def listens(server):
    with socket.socket() as probe:
        probe.settimeout(patient(1))
        try:
            probe.connect(server.address)
        except OSError:
            return False
        return True


def expect_exit(server, family, status=0, within=2):
    assert server.wait(within) == status, server.said()
    wait_until(lambda: not alive(family), AT_ONCE, 'no process is left')


def test_Q8_request_behind_a_large_answer(launch, model, docroot):
    """It comes while the answer is being sent, after the stop. Whether or not it is answered,
    a close with it unread would be a reset that wipes the end of the large answer."""
    server = launch(model)
    with Client(server.address, receive_buffer=8192) as client:
        client.send(get('/big.bin'))
        wait_until(lambda: client.wait_readable(0), 3, 'the answer begins')
        server.signal()
        wait_until(lambda: not listens(server), 3, 'the stop')
        client.socket.send(get('/a.txt'))
        client.hurry()
        assert client.receive(within=8)[0].body == docroot.big
        client.expect_end()
    assert server.wait(4) == 0, server.said()


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_Q7_idle_server_ends_at_once(launch, model, number):
    server = launch(model)
    family = children(server.pid)
    server.signal(number)
    expect_exit(server, family, within=1)


def test_Q7_idle_connections_are_closed(launch, model):
    server = launch(model)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(server.address)) for _ in range(100)]
        for client in clients[::2]:
            client.ask(PROBE)
        family = children(server.pid)
        server.signal()
        for client in clients:
            client.expect_close()
        expect_exit(server, family)


def test_Q8_listener_closes_at_once_and_answers_are_finished(launch, model, docroot):
    server = launch(model)
    with contextlib.ExitStack() as stack:
        busy = [stack.enter_context(Client(server.address, receive_buffer=16384))
                for _ in range(8)]
        idle = stack.enter_context(Client(server.address))
        for client in busy:
            client.send(get('/big.bin'))
            assert client.pump(lambda: client.reader.body_bytes > 0, room=1024)
        idle.ask(PROBE)
        family = children(server.pid)
        server.signal()
        wait_until(lambda: not listens(server), AT_ONCE, 'the listener is closed')
        idle.expect_close(AT_ONCE)
        assert server.running()
        for client in busy:
            assert client.receive()[0].body == docroot.big
            client.expect_close()
            client.close()
        expect_exit(server, family)


def test_a_request_that_had_begun_is_answered_with_close(launch, model):
    server = launch(model)
    message = request('/a.txt', 'Content-Length: 5', body=b'hello')
    with Client(server.address) as client:
        client.send(message[:-2])
        wait_read(client.socket)
        server.signal()
        wait_until(lambda: not listens(server), AT_ONCE, 'the listener is closed')
        client.send(message[-2:])
        answer = client.receive()[0]
        assert answer.body == A_TXT and answer.says_close
        client.expect_close()
    assert server.wait(2) == 0


def test_second_signal_ends_at_once(launch, model):
    server = launch(model)
    with Client(server.address, receive_buffer=4096) as client:
        client.socket.sendall(get('/big.bin'))
        assert client.pump(lambda: client.reader.body_bytes > 0, room=1024)
        family = children(server.pid)
        server.signal()
        wait_until(lambda: not listens(server), AT_ONCE, 'the listener is closed')
        assert server.running()
        server.signal()
        assert server.wait(1) != 0
        wait_until(lambda: not alive(family), 1, 'no process is left')


def test_grace_is_the_longest_that_it_waits(launch, model):
    grace = 0.5
    server = launch(model, '--grace', '500ms')
    with contextlib.ExitStack() as stack:
        for message in (get('/big.bin'), b'GET /a.txt', request('/', 'Content-Length: 9')):
            client = stack.enter_context(Client(server.address, receive_buffer=4096))
            client.socket.sendall(message)
            wait_read(client.socket)
        family = children(server.pid)
        clock = Stopwatch()
        server.signal()
        server.wait(grace + 2)
        clock.check_deadline(grace, slack=2 * AT_ONCE)
        wait_until(lambda: not alive(family), AT_ONCE, 'no process is left')


class Load:
    """A thread whose clients ask without pause until they are closed."""

    def __init__(self, server, message, wanted):
        self.answers, self.error = 0, None
        self._server, self._message, self._wanted = server, message, wanted
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        try:
            with contextlib.ExitStack() as stack:
                clients = [stack.enter_context(Client(self._server.address)) for _ in range(5)]
                while clients:
                    for client in clients:
                        client.send(self._message)
                    clients = [client for client in clients if self._take(client)]
        except Exception as error:               # reported by the test's own thread
            self.error = error

    def _take(self, client):
        """False once the connection has ended, which must not be inside an answer."""
        count = len(client.reader.answers)
        assert client.pump(lambda: len(client.reader.answers) > count), 'no answer'
        assert not client.cut and client.reader.between, client.reader.describe()
        new = client.reader.answers[count:]
        self.answers += len(new)
        assert all(len(answer.body) == self._wanted for answer in new)
        return not client.over and not any(answer.says_close for answer in new)

    def join(self):
        self._thread.join(patient(8))
        assert not self._thread.is_alive(), 'its connections were never closed'
        if self.error:
            raise self.error


def test_under_load_every_started_answer_is_complete(launch, model):
    server = launch(model)
    loads = [Load(server, get('/a.txt'), 10), Load(server, get('/6k'), 6144),
             Load(server, get('/big.bin'), BIG_SIZE)]
    wait_until(lambda: all(load.answers >= 5 or load.error for load in loads), 5,
               'the load runs')
    family = children(server.pid)
    server.signal()
    for load in loads:
        load.join()
    expect_exit(server, family, within=3)


def test_the_port_is_free_afterwards(launch, model):
    server = launch(model)
    with Client(server.address) as client:
        client.ask(PROBE)
        server.signal()
        assert server.wait(2) == 0
        again = launch(model, '-p', str(server.address[1]))
        assert again.address == server.address


def test_a_lost_child_never_keeps_it_from_ending(launch, model):
    server = launch(model, '--workers', '2')
    for pid in children(server.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    server.signal()
    assert server.wait(2) == 0
