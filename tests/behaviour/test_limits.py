"""The limit of connections, and what happens when descriptors run out."""
import contextlib

import pytest

from client import Client, ask_once, get
from docroot import A_TXT
from exchanges import PROBE
from kernel import children, cpu_seconds, descriptors, processes
from waiting import AT_ONCE, holds_for, wait_until

LIMIT = 4
ENOUGH = 1024


@pytest.fixture
def full(launch, model):
    """(server, the clients that fill it to its limit, each of them served)."""
    server = launch(model, '--max-connections', str(LIMIT))
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(server.address)) for _ in range(LIMIT)]
        for client in clients:
            assert client.ask(PROBE).body == A_TXT
        yield server, clients


def refused_unasked(server):
    """The answer of a connection over the limit, which need not ask for it."""
    with Client(server.address) as client:
        answer = client.receive(within=1 + AT_ONCE)[0]
        assert answer.status == 503 and answer.says_close
        client.expect_close()
        return answer


def test_one_too_many_is_told_so(full):
    server, clients = full
    for _ in range(3):
        refused_unasked(server)
        for client in clients:
            client.expect_kept(PROBE)


def test_one_too_many_can_read_the_answer_after_asking(full):
    server, _ = full
    for message in (PROBE, get('/big.bin') * 3, b'z' * 200000):
        with Client(server.address) as client:
            client.send(message)
            assert client.receive()[0].status == 503
            client.expect_close()


def test_a_place_that_becomes_free_is_used(full):
    server, clients = full
    refused_unasked(server)
    clients[0].close()
    wait_until(lambda: ask_once(server.address, PROBE).status == 200, 1)


def test_many_too_many(full):
    """A crowd over the limit that stays: each is answered, and nobody inside is held up."""
    server, clients = full
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(Client(server.address)) for _ in range(100)]
        for client in clients:
            client.expect_kept(PROBE)
        for client in crowd:
            assert client.receive(within=6)[0].status == 503
            client.expect_close()
    for client in clients:
        client.expect_kept(PROBE)


def test_the_limit_holds_while_those_inside_are_busy(launch, model):
    """In every moment: also in the one in which a connection changes kernel threads."""
    server = launch(model, '--max-connections', '16', '--workers', '2')
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(server.address)) for _ in range(16)]
        for client in clients:
            client.ask(PROBE)
        for _ in range(40):
            for client in clients:
                client.send(PROBE * 3)
            crowd = [stack.enter_context(Client(server.address)) for _ in range(4)]
            for client in clients:
                client.receive(3)
            for client in crowd:
                assert client.receive()[0].status == 503
                client.close()


def test_ten_are_served_at_once_in_every_model(launch, model):
    """Keep-alive clients that stay: none of them waits for another to leave."""
    server = launch(model, '--workers', '1')
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            client = stack.enter_context(Client(server.address))
            assert client.ask(PROBE, within=1).body == A_TXT


# ---- no descriptors left

@contextlib.contextmanager
def no_descriptor_left(program, server):
    """Whatever process of the server asks for one more descriptor gets EMFILE."""
    family = processes(server.pid)
    for pid in family:
        program.set_soft_limit(pid, first_free(descriptors(pid)))
    yield
    for pid in family:
        program.set_soft_limit(pid, ENOUGH)


def first_free(used):
    return next(fd for fd in range(len(used) + 1) if fd not in used)


def test_N3_no_descriptor_for_a_file_is_503(program, launch, model, docroot, scratch):
    """Not 404, and it passes with its cause; a file that is cached is served all the same."""
    server = launch(model, '--workers', '1', '--revalidate', '60s')
    docroot.write(scratch + 'fresh', b'fresh')
    with Client(server.address) as client:
        client.ask(PROBE)
        with no_descriptor_left(program, server):
            assert client.ask(get('/' + scratch + 'fresh')).status == 503
            client.expect_kept(PROBE)
        assert client.ask(get('/' + scratch + 'fresh')).body == b'fresh'


def test_N1_N2_N8_no_descriptor_for_a_connection(program, launch, model):
    """No spin, no death, few lines; who was served stays so, and all recover."""
    server = launch(model, '--workers', '1')
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(Client(server.address))
        first.ask(PROBE)
        said = len(server.said().splitlines())
        with no_descriptor_left(program, server):
            crowd = [stack.enter_context(Client(server.address)) for _ in range(30)]
            used = cpu_seconds(server.pid)
            assert holds_for(server.running, 1)
            assert cpu_seconds(server.pid) - used < 0.2, 'it spins'
            assert len(server.said().splitlines()) - said <= 10, 'too many lines'
            # Its file was checked too long ago, and another look takes a descriptor.
            assert first.ask(PROBE).status in (200, 503)
        for client in crowd:
            assert client.ask(PROBE).status in (200, 503)
        first.expect_kept(PROBE)


def test_N1_start_with_few_descriptors(launch, model):
    """64 descriptors and 200 clients: everybody is answered, none is lost."""
    server = launch(model, files=64)
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(Client(server.address)) for _ in range(200)]
        for client in crowd:
            client.send(get('/a.txt', 'Connection: close'))
        for client in crowd:
            answer = client.receive()[0]
            assert answer.status == 503 or answer.body == A_TXT
            client.close()
    assert ask_once(server.address, PROBE).body == A_TXT
    wait_until(lambda: not any(s == 'Z' for s in children(server.pid).values()), 3,
               'no zombies')
