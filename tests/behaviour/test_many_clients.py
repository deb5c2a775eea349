"""Many keep-alive clients at once: all served, none starved."""
import contextlib
import select
import time

import pytest

from client import Client, ask_once, get
from docroot import A_TXT
from exchanges import PROBE
from waiting import AT_ONCE, Stopwatch, patient

ROUNDS = 5
FILES = 4096


def clients_for(model):
    """A process for each connection has its price."""
    return 200 if model == 'prefork' else 1000


def run_rounds(clients, rounds):
    """Every client asks, and asks again as soon as it is answered, `rounds` times. Fails
    where one waits for as long as the others need for most of their rounds."""
    by_fd = {client.socket.fileno(): client for client in clients}
    poller, asked, longest = select.poll(), {}, 0
    left = dict.fromkeys(by_fd, rounds)

    def ask(fd):
        by_fd[fd].socket.sendall(PROBE)
        asked[fd] = time.monotonic()
    for fd in by_fd:
        poller.register(fd, select.POLLIN)
        ask(fd)
    watch = Stopwatch()
    while left:
        assert not watch.over(8), f'{len(left)} clients are not served'
        for fd, _ in poller.poll(1000):
            by_fd[fd].receive()
            longest = max(longest, time.monotonic() - asked[fd])
            left[fd] -= 1
            if left[fd]:
                ask(fd)
            else:
                del left[fd]
                poller.unregister(fd)
    assert longest <= 0.7 * watch.now + patient(AT_ONCE), \
        f'one client waited {longest:.1f} s'


@pytest.mark.soak
def test_all_are_served_and_none_is_starved(launch, model):
    count = clients_for(model)
    server = launch(model, files=FILES)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(server.address)) for _ in range(count)]
        for client in clients:           # the pool grows
            client.send(PROBE)
        for client in clients:
            client.receive()
        run_rounds(clients, ROUNDS)
        for client in clients[::50]:
            client.expect_kept(PROBE)
        assert ask_once(server.address, PROBE).body == A_TXT


def test_twenty_share_fairly(server):
    """With more clients than workers, each gets on at the same pace."""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(server.address)) for _ in range(20)]
        for client in clients:
            client.send(get('/6k') * 50)
        for client in clients:
            client.receive(50)
        run_rounds(clients, 20)


def test_idle_crowd_costs_nobody(server):
    """Connections that do not ask do not slow those that do."""
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(Client(server.address)) for _ in range(100)]
        watch = Stopwatch()
        with Client(server.address) as client:
            for _ in range(50):
                client.expect_kept(PROBE)
        assert not watch.over(2)
        idle[0].expect_kept(PROBE)
