"""Slow clients: cut at the same deadline under every model, and in nobody's way (RFC 9110
15.5.9)."""
import pytest

from client import Client, answered_at_once, chunked, get, request
from docroot import A_TXT
from exchanges import PROBE
from kernel import server_let_go
from waiting import Stopwatch, holds_for, wait_until

HEADER, KEEPALIVE, BODY, SEND = 0.6, 0.9, 0.7, 0.8
TRICKLE = 0.05


@pytest.fixture
def hasty(pool, model):
    """With short and different timeouts."""
    return pool.get(model, '--header-timeout', f'{HEADER * 1000:.0f}ms',
                    '--keepalive-timeout', f'{KEEPALIVE * 1000:.0f}ms',
                    '--body-timeout', f'{BODY * 1000:.0f}ms',
                    '--send-timeout', f'{SEND * 1000:.0f}ms', '--workers', '2')


def cut_with_408(client, clock, deadline):
    answer = client.receive(within=deadline + 1)[0]
    clock.check_deadline(deadline)
    assert answer.status == 408 and answer.says_close
    client.expect_close()


def cut_silently(client, clock, deadline):
    client.expect_close(deadline + 1)
    clock.check_deadline(deadline)


def test_M1_trickled_head(hasty):
    """The deadline is for the whole head: bytes that come do not move it."""
    with Client(hasty.address) as client:
        clock = Stopwatch()
        client.send(b'GET /a.txt HTTP/1.1\r\nHost: t.test\r\nX: ')
        while not client.wait_readable(TRICKLE):
            client.send(b'y')
            assert answered_at_once(hasty.address, PROBE).body == A_TXT
        cut_with_408(client, clock, HEADER)


@pytest.mark.parametrize('sent', [b'G', b'GET /a.t', get('/a.txt')[:-1], get('/a.txt')[:-2],
                                  b'\r\nG'], ids=['byte', 'line', 'all-but-lf', 'all-but-crlf',
                                                  'after-empty-line'])
def test_M1_half_a_head(hasty, sent):
    with Client(hasty.address) as client:
        clock = Stopwatch()
        client.send(sent)
        cut_with_408(client, clock, HEADER)


def test_M1_half_a_head_after_a_request(hasty):
    with Client(hasty.address) as client:
        client.ask(PROBE)
        clock = Stopwatch()
        client.send(b'GET /a.t')
        cut_with_408(client, clock, HEADER)


def test_M1_half_a_head_behind_a_request(hasty):
    with Client(hasty.address) as client:
        clock = Stopwatch()
        client.send(get('/a.txt') + b'GET /a.t')
        assert client.receive()[0].body == A_TXT
        cut_with_408(client, clock, HEADER)


def test_M1_not_one_byte(hasty):
    clock = Stopwatch()
    with Client(hasty.address) as client:
        cut_silently(client, clock, HEADER)


def test_idle(hasty):
    with Client(hasty.address) as client:
        clock = Stopwatch()
        client.ask(PROBE)
        cut_silently(client, clock, KEEPALIVE)


def test_idle_time_begins_anew_with_each_request(hasty):
    with Client(hasty.address) as client:
        for _ in range(4):
            clock = Stopwatch()
            client.ask(PROBE)
            assert not client.wait_readable(KEEPALIVE / 2)
        cut_silently(client, clock, KEEPALIVE)


@pytest.mark.parametrize('message', [
    request('/a.txt', 'Content-Length: 10', method='POST'),
    request('/a.txt', 'Content-Length: 10', body=b'hello'),
    chunked('/a.txt', b''), chunked('/a.txt', b'5\r\nhel'),
    chunked('/a.txt', b'5\r\nhello\r\n0\r\n'),
], ids=['length', 'length-half', 'chunks', 'chunks-half', 'trailer'])
def test_stalled_body(hasty, message):
    with Client(hasty.address) as client:
        clock = Stopwatch()
        client.send(message)
        cut_with_408(client, clock, BODY)


def test_slow_body_that_moves(hasty):
    """The body's timeout is for a stall: what moves may take longer."""
    pieces = 6
    with Client(hasty.address) as client:
        client.send(request('/a.txt', f'Content-Length: {pieces}'))
        for _ in range(pieces):
            assert not client.wait_readable(BODY / 4), 'cut while it moved'
            client.send(b'z')
        assert client.receive()[0].body == A_TXT


def test_M2_nothing_is_read(hasty):
    """Cut as soon as nothing was acknowledged for the time-out, and in nobody's way."""
    with Client(hasty.address, receive_buffer=4096) as client:
        clock = Stopwatch()
        client.socket.sendall(get('/big.bin'))
        while not server_let_go(client.socket):
            assert answered_at_once(hasty.address, PROBE).body == A_TXT
            assert not clock.over(SEND + 2), 'never cut'
        clock.check_deadline(SEND)
        client.expect_end()
        assert not client.reader.answers


def test_M3_a_slow_download_that_moves_is_not_cut(hasty, docroot):
    """Read at a pace that takes several times the send time-out in all."""
    with Client(hasty.address, receive_buffer=32768) as client:
        client.send(get('/big.bin'))
        clock = Stopwatch()
        while clock.now < 3 * SEND:
            more = client.reader.body_bytes + 16384
            assert client.pump(lambda: client.reader.body_bytes >= more, SEND, room=4096)
            assert holds_for(lambda: not client.over, TRICKLE), 'cut while it moved'
        assert client.receive()[0].body == docroot.big
        client.expect_kept(PROBE)


def test_many_slow_clients_hold_nobody_up(hasty):
    """More of each kind than there are workers."""
    kinds = [b'G', get('/a.txt')[:-2], request('/a.txt', 'Content-Length: 10'), b'',
             get('/big.bin')]
    clients = []
    try:
        for message in kinds * 4:
            clients.append(Client(hasty.address, receive_buffer=4096))
            clients[-1].socket.sendall(message)
        for _ in range(20):
            assert answered_at_once(hasty.address, PROBE).body == A_TXT
        wait_until(lambda: all(server_let_go(c.socket) for c in clients), 3, 'all are cut')
    finally:
        for client in clients:
            client.close()
    assert answered_at_once(hasty.address, PROBE).body == A_TXT
