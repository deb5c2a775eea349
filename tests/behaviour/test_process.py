"""The server as processes: replaced children, descriptors, memory, signals, aborts."""
import contextlib
import os
import signal

import pytest

from client import Client, ask_once, get
from docroot import A_TXT
from exchanges import PROBE
from kernel import children, most_descriptors, most_memory, processes, serving, sleeps
from server import alive
from waiting import AT_ONCE, holds_for, wait_until


USER_THREADS = ('greenthreads', 'hybrid')


def serves(server):
    try:
        return ask_once(server.address, PROBE, within=1).body == A_TXT
    except (AssertionError, OSError):
        return False


def no_zombies(server):
    return 'Z' not in processes(server.pid).values()


def test_only_prefork_has_processes(launch, model):
    server = launch(model, '--workers', '2')
    assert serves(server)
    assert bool(children(server.pid)) == (model == 'prefork')


def test_Q4_killed_children_are_replaced(launch, model):
    """A model without children has nothing to replace, and goes on as it is."""
    server = launch(model, '--workers', '3')
    assert serves(server)
    expected = len(children(server.pid))
    for _ in range(3):
        for pid in children(server.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: serves(server), 3)
        wait_until(lambda: no_zombies(server), 3)
        wait_until(lambda: len(children(server.pid)) >= min(expected, 3), 3, 'as many as before')
    assert len(children(server.pid)) <= expected + 16, 'a storm of forks'


def test_Q6_a_killed_child_costs_only_its_own_client(launch, model):
    server = launch(model, '--workers', '2')
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(server.address)) for _ in range(4)]
        for client in clients:
            client.ask(PROBE)
        before = set(children(server.pid))
        victims = [pid for pid in serving(server.pid) if pid != server.pid]
        for pid in victims[:1]:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: no_zombies(server), 3)
        kept = sum(still_served(client) for client in clients)
        assert kept == len(clients) - len(victims[:1])
    assert serves(server)
    assert bool(before) == bool(victims)


def still_served(client):
    try:
        client.expect_kept(PROBE)
        return True
    except AssertionError:
        return False


# ---- nothing leaks (what measures memory is of no use with a sanitizer's own: soak)

def abort_downloads(server, count, reset):
    for _ in range(count):
        client = Client(server.address, receive_buffer=4096)
        client.socket.sendall(get('/big.bin'))
        client.pump(lambda: client.reader.body_bytes > 0, room=1024)
        client.reset() if reset else client.close()


@pytest.mark.parametrize('reset', [False, True], ids=['closed', 'reset'])
def test_N5_descriptors_come_back_after_cut_downloads(launch, model, reset):
    server = launch(model, '--workers', '1')
    abort_downloads(server, 5, reset)
    assert ask_once(server.address, get('/big.bin')).status == 200
    wait_until(lambda: not serving(server.pid), 3, 'no connection is left')
    before = most_descriptors(server.pid)
    abort_downloads(server, 100, reset)
    wait_until(lambda: most_descriptors(server.pid) <= before, 3,
               f'descriptors come back to {before}')
    assert serves(server)


def test_N4_connections_reset_before_they_are_accepted(launch, model):
    server = launch(model)
    for _ in range(500):
        Client(server.address).reset()
    assert serves(server)
    wait_until(lambda: not serving(server.pid), 3, 'no connection is left')


def test_N6_aborts_do_not_end_the_server(launch, model):
    server = launch(model)
    abort_downloads(server, 50, True)
    for _ in range(50):
        with Client(server.address) as client:
            client.send(get('/a.txt') * 20)
    assert serves(server)
    assert server.said().count('\n') < 20


@pytest.mark.soak
def test_Q3_memory_is_flat(launch, model):
    server = launch(model, '--workers', '1')

    def connect(count):
        for _ in range(count):
            with Client(server.address) as client:
                assert client.ask(get('/a.txt', 'Connection: close')).body == A_TXT
    # ThreadSanitizer's own records fill up over so many.
    connect(2000)
    before = most_memory(server.pid)
    connect(2000)
    grown = most_memory(server.pid) - before
    assert grown < 4 << 20, f'{grown >> 10} KiB more'


@pytest.mark.soak
def test_Q9_an_endless_line_takes_no_memory(launch, model):
    server = launch(model, '--workers', '1')
    assert serves(server)
    before = most_memory(server.pid)
    for start, status in ((b'GET /', 414), (b'GET /a.txt HTTP/1.1\r\nHost: t.test\r\nX: ', 431)):
        with Client(server.address) as client:
            client.send(start + b'e' * (16 << 20))
            assert client.receive()[0].status == status
    assert most_memory(server.pid) - before < 6 << 20


@pytest.mark.soak
def test_F2_several_ranges_take_no_memory(launch, model):
    server = launch(model, '--workers', '1')
    message = get('/big.bin', 'Range: bytes=' + ','.join(f'{i}-{i + 999999}' for i in
                                                         range(0, 8000000, 2000000)))
    abort_downloads(server, 2, False)
    with contextlib.ExitStack() as stack:
        before = most_memory(server.pid)
        for _ in range(8):
            client = stack.enter_context(Client(server.address, receive_buffer=4096))
            client.socket.sendall(message)
            assert client.pump(lambda: client.reader.body_bytes > 0, room=1024)
        grown = most_memory(server.pid) - before
    assert grown < 24 << 20, f'{grown >> 10} KiB more for 8 connections'


# ---- signals

def test_N7_harmless_signals_change_nothing(launch, model):
    server = launch(model)
    with Client(server.address) as client:
        for number in [signal.SIGCHLD, signal.SIGWINCH, signal.SIGPIPE, signal.SIGCONT] * 25:
            server.signal(number)
            client.expect_kept(PROBE)
    assert server.running() and serves(server)


def test_N7_stopped_and_continued(launch, model):
    server = launch(model)
    with Client(server.address) as client:
        client.ask(PROBE)
        try:
            wait_until(lambda: all_stopped(server), 2)
            client.send(PROBE)
            assert not client.wait_readable(AT_ONCE / 3)
        finally:
            for pid in processes(server.pid):
                os.kill(pid, signal.SIGCONT)
        assert client.receive()[0].body == A_TXT


def all_stopped(server):
    """Stops what runs, children that were forked meanwhile too."""
    running = [pid for pid, state in processes(server.pid).items() if state != 'T']
    for pid in running:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    return not running


# ---- how the kernel schedules

@pytest.mark.parametrize('chosen', ['batch', 'other', None])
def test_threads_of_the_threads_model_are_batch_threads(launch, model, chosen):
    """By default and unless told otherwise; its main thread is not, nor is any other model's."""
    server = launch(model, *(['--scheduler', chosen] if chosen else []))
    with Client(server.address) as client:
        client.ask(PROBE)
        policies = {task: os.sched_getscheduler(task)
                    for task in map(int, os.listdir(f'/proc/{server.pid}/task'))}
    batch = {task for task, policy in policies.items() if policy == os.SCHED_BATCH}
    if model == 'threads' and chosen != 'other':
        assert batch and server.pid not in batch
    else:
        assert not batch


@pytest.fixture
def resting(launch, model):
    """A server, its clients that said something once, and none of their contexts awake: only
    those that wait for a connection look up now and then (docs/prefork.md)."""
    server = launch(model)
    clients = [Client(server.address) for _ in range(40)]

    def all_rest():
        before = sleeps(server.pid)
        alive_meanwhile = holds_for(server.running, 0.6)
        after = sleeps(server.pid)
        awake = sum(after[task] != before.get(task) for task in after)
        return alive_meanwhile and awake < len(clients) / 2

    with contextlib.ExitStack() as stack:
        for client in clients:
            stack.enter_context(client).ask(PROBE)
        wait_until(all_rest, 5, 'idle connections let their contexts sleep')
        yield server, clients


def test_resting_contexts_answer_and_see_the_stop(resting):
    server, clients = resting
    for client in clients:
        client.expect_kept(PROBE)
    family = children(server.pid)
    server.signal()
    for client in clients:
        client.expect_close()
    assert server.wait(2) == 0, server.said()
    assert not alive(family)


def test_a_resting_child_that_is_told_to_leave_does(resting, model):
    server, clients = resting
    if model != 'prefork':
        assert not children(server.pid)
        return
    for pid in set(serving(server.pid)) - {server.pid}:
        os.kill(pid, signal.SIGTERM)
    for client in clients:
        client.expect_close()
    assert server.running() and serves(server)


# ---- the stacks of user threads

def test_Q1_user_threads_use_a_quarter_of_their_stack_at_most(launch, model, docroot):
    """Everything that reaches deep: long paths, many fields, ranges, errors, large files."""
    server = launch(model, '--workers', '1', TETRAD_STACK_CENSUS='1')
    messages = [get('/' + 'dir/../' * 1100 + 'a.txt'), get('/' + 'n' * 8000), get('/dir'),
                get('/a.txt', *(f'X-{i}: {"v" * 100}' for i in range(90))), get('/big.bin'),
                get('/a.txt', 'Range: bytes=' + ','.join(f'{i}-{i}' for i in range(0, 10, 2))),
                get('/a.txt', 'If-None-Match: ' + '"x", ' * 2000 + '"y"'), get('/missing'),
                get('/link-chain.txt'), get('/fifo'), get('/locked.txt'), get('/a.txt', host=None)]
    for message in messages:
        ask_once(server.address, message)
    server.signal()
    assert server.wait() == 0
    lines = [line for line in server.said().splitlines() if 'stack use' in line]
    assert bool(lines) == (model in USER_THREADS)
    for line in lines:
        words = line.removeprefix('tetrad: deepest user-thread stack use ').split()
        used, size = int(words[0]), int(words[2])
        assert 0 < used <= size / 4, line


def test_busy_connections_move_to_idle_kernel_threads_in_hybrid_alone(launch, model):
    """Bursts on all connections at once, so that one kernel thread is done before the other.
    What they are answered does not tell."""
    server = launch(model, '--workers', '2', TETRAD_STACK_CENSUS='1')
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(Client(server.address)) for _ in range(32)]
        for _ in range(100):
            for client in crowd:
                client.send(PROBE)
            for client in crowd:
                assert client.receive(1)[0].body == A_TXT
    server.signal()
    assert server.wait() == 0
    moved = [int(line.split()[-2]) for line in server.said().splitlines() if ' moved ' in line]
    assert bool(moved) == (model == 'hybrid')
    assert all(count > 0 for count in moved)
