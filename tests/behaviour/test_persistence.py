"""Which connections stay, pipelining, and closing so that the answer can be read (RFC 9112
9.3 and 9.6)."""
import contextlib
import os
import signal
import socket

import pytest

from client import Client, get, head, post, request
from docroot import A_TXT, SIX
from exchanges import PROBE, case, each_case, lettered, refused, run_case
from kernel import most_descriptors, processes, wait_read
from waiting import wait_until

OLD = 'HTTP/1.0'
KEPT_OLD = {'Connection': 'keep-alive', 'Content-Length': '10'}

CASES = [
    case('I1', [get('/a.txt'), get('/6k'), get('/dir/inner.txt')], [200] * 3, body=b'inner\n'),
    case('I3.a', get('/a.txt'), 200, fields={'Connection': None}),
    case('I3.b', get('/a.txt', version=OLD), 200, end='closed', body=A_TXT),
    *lettered('I4', refused, [get('/a.txt', *fields) for fields in (
        ['Connection: keep-alive, close'], ['Connection: keep-alive', 'Connection: close'],
        ['Connection: Close'], ['Connection: x ,\tclose'], ['Connection: close, x'],
        ['Connection: ,,close'], ['connection:close'], ['Connection: close', 'Connection: x'])],
        200, body=A_TXT),
    *lettered('I4.kept', case, [get('/a.txt', f'Connection: {value}') for value in (
        'keep-alive', 'closed', 'x-close', 'close-x', '', ',', 'TE', 'keep-alive, x')],
        200, body=A_TXT),
    *lettered('old.kept', case, [get('/a.txt', *fields, version=OLD) for fields in (
        ['Connection: keep-alive'], ['Connection: Keep-Alive'], ['Connection: x, keep-alive'],
        ['Connection: x', 'Connection: KEEP-ALIVE'])], 200, fields=KEPT_OLD, body=A_TXT),
    *lettered('old.closed', refused, [get('/a.txt', *fields, version=OLD) for fields in (
        ['Connection: keep-alive, close'], ['Connection: close'], ['Connection: x'],
        ['Proxy-Connection: keep-alive'], ['Keep-Alive: 300'])], 200, body=A_TXT),
    case('old.head', head('/6k', 'Connection: keep-alive', version=OLD), 200,
         fields={'Connection': 'keep-alive', 'Content-Length': '6144'}),
    case('old.error', get('/missing', 'Connection: keep-alive', version=OLD), 404,
         fields={'Connection': 'keep-alive'}),
    case('old.304', get('/a.txt', 'If-None-Match: *', 'Connection: keep-alive', version=OLD), 304,
         fields={'Connection': 'keep-alive'}),
    case('old.pipelined', [get('/a.txt', 'Connection: keep-alive', version=OLD), get('/6k')],
         [200, 200], body=SIX),

    # One answer only, whatever follows what closes.
    refused('A7', [get('/a.txt', 'Connection: close'), b'junk\r\n\r\n'], 200, body=A_TXT),
    refused('I5', [get('/a.txt', 'Connection: close'), b'\x00\x01 garbage\r\n\r\n'], 200,
            body=A_TXT),
    refused('I5.long', [get('/6k', 'Connection: close'), b'z' * 300000], 200, body=SIX),
    refused('I6', [get('/a.txt', version=OLD)] * 2, 200, body=A_TXT),
    refused('I7.tail', [get('/a.txt', 'no colon'), get('/a.txt')]),
    case('I5.first', [get('/a.txt'), b'garbage\r\n\r\n'], [200, 400], end='closed'),
    case('I5.middle', [get('/a.txt'), get('/missing'), get('/a.txt', host=None), get('/a.txt')],
         [200, 404, 400], end='closed'),
]


@each_case(CASES)
def test_persistence(case, server):
    run_case(case, server)


# ---- pipelining

def mixed(docroot, count):
    """[(request, status, body)] in turns, some large."""
    turns = [(get('/a.txt'), 200, A_TXT), (get('/6k'), 200, SIX), (get('/missing'), 404, None),
             (head('/big.bin'), 200, b''), (get('/a.txt', 'Range: bytes=2-4'), 206, b'234'),
             (post('/a.txt', body=b'GET / HTTP/1.1\r\n\r\n'), 405, None), (get('/dir'), 301, None),
             (get('/a.txt', 'If-None-Match: *'), 304, b''), (get('/empty'), 200, b''),
             (get('/dir/inner.txt'), 200, b'inner\n')]
    return [turns[i % len(turns)] for i in range(count)]


def check_in_order(answers, wanted):
    assert [a.status for a in answers] == [status for _, status, _ in wanted]
    for answer, (_, _, body) in zip(answers, wanted):
        assert body is None or answer.body == body


@pytest.mark.parametrize('count', [2, 10, 100])
def test_I1_pipelined_in_one_write(server, docroot, count):
    wanted = mixed(docroot, count)
    with Client(server.address) as client:
        client.reader.methods += ['HEAD' if m.startswith(b'HEAD') else 'GET' for m, _, _ in wanted]
        client.send(b''.join(message for message, _, _ in wanted))
        check_in_order(client.receive(count), wanted)
        client.expect_kept(PROBE)


def test_I1_thousand_of_one_kind(server):
    with Client(server.address) as client:
        client.send(get('/6k') * 1000)
        assert all(answer.body == SIX for answer in client.receive(1000))
        client.expect_kept(PROBE)


def test_A8_behind_a_blocked_answer(server, docroot):
    """What waits behind an answer that nobody reads yet is neither lost nor reordered."""
    wanted = [(get('/big.bin'), 200, docroot.big)] + [
        w for w in mixed(docroot, 50) if b'HEAD' not in w[0]]
    with Client(server.address, receive_buffer=8192) as client:
        client.socket.sendall(b''.join(message for message, _, _ in wanted))
        wait_until(lambda: client.wait_readable(0), 3, 'the first bytes of the answer')
        check_in_order(client.receive(len(wanted)), wanted)
        client.expect_kept(PROBE)


def test_I2_large_answers_read_slowly(server, docroot):
    with Client(server.address, receive_buffer=16384) as client:
        client.send(get('/big.bin') * 3)
        assert client.pump(lambda: len(client.reader.answers) == 3, room=65536)
        assert all(answer.body == docroot.big for answer in client.receive(3))
        client.expect_kept(PROBE)


@contextlib.contextmanager
def halted(server):
    """What is sent meanwhile is all there when the server goes on."""
    pids = list(processes(server.pid))
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def test_urgent_data_between_requests(server):
    """It is not part of the stream, but a receive ends where it was: what was already there
    behind it must be asked for again."""
    with Client(server.address) as client:
        client.expect_kept(PROBE)
        for _ in range(5):
            with halted(server):
                client.socket.send(get('/a.txt') + b'!', socket.MSG_OOB)  # its last byte
                client.socket.send(get('/6k'))
            assert [answer.status for answer in client.receive(2)] == [200, 200]


def test_M5_reset_behind_half_a_head(launch, model):
    """Both are there when the server looks: the bytes come first, and the reset must not be
    forgotten over them."""
    server = launch(model, '--workers', '1')
    with Client(server.address) as client:
        client.expect_kept(PROBE)
    before = most_descriptors(server.pid)
    for _ in range(3):
        client = Client(server.address)
        client.expect_kept(PROBE)
        with halted(server):
            client.socket.send(b'GET / HT')
            client.reset()
    wait_until(lambda: most_descriptors(server.pid) <= before, 3, 'descriptors come back')


def test_many_requests_one_after_another(server):
    with Client(server.address) as client:
        for _ in range(300):
            assert client.ask(get('/a.txt')).body == A_TXT


# ---- the ZeusBench rule

@pytest.mark.parametrize('target', ['/a.txt', '/1k', '/6k', '/', '/empty'])
def test_zeusbench_rule(server, target):
    message = get(target, 'Connection: Keep-Alive', version=OLD, host=None)
    with Client(server.address) as client:
        for _ in range(3):
            answer = client.ask(message)
            lines = answer.head.split(b'\r\n')
            assert answer.status == 200 and len(answer.head) < 512
            assert b'Connection: keep-alive' in lines
            assert b'Content-Length: %d' % len(answer.body) in lines


# ---- a limit of requests

def test_max_requests(pool, model):
    server = pool.get(model, '--max-requests', '3')
    with Client(server.address) as client:
        assert not client.ask(get('/a.txt')).says_close
        assert not client.ask(get('/missing')).says_close
        assert client.ask(get('/a.txt')).says_close
        client.expect_close()
    with Client(server.address) as client:
        client.send(get('/a.txt') * 5)
        assert [a.says_close for a in client.receive(3)] == [False, False, True]
        client.expect_close()


# ---- half-close

@pytest.mark.parametrize('target', ['/a.txt', '/6k', '/big.bin', '/missing'])
def test_M4_half_closed_gets_its_whole_answer(server, docroot, target):
    with Client(server.address, receive_buffer=16384) as client:
        client.send(get(target))
        client.shut()
        answer = client.receive()[0]
        assert answer.status == (404 if target == '/missing' else 200)
        assert target != '/big.bin' or answer.body == docroot.big
        client.expect_close()


def test_M4_half_closed_after_pipelined_requests(server, docroot):
    with Client(server.address) as client:
        client.send(get('/a.txt') + get('/big.bin') + get('/6k'))
        client.shut()
        assert [a.body for a in client.receive(3)] == [A_TXT, docroot.big, SIX]
        client.expect_close()


@pytest.mark.parametrize('sent', [b'', b'GET', get('/a.txt')[:-2],
                                  request('/a.txt', 'Content-Length: 5', body=b'hel')],
                         ids=['nothing', 'method', 'head', 'body'])
def test_M4_half_closed_inside_a_request(server, sent):
    """Nobody is left to be answered: closed at once, without a word or with a refusal."""
    with Client(server.address) as client:
        client.send(sent)
        client.shut()
        client.pump(lambda: False, 2)
        assert client.ending() == 'closed'
        assert [a.status for a in client.reader.answers] in ([], [400])


# ---- lingering close

@pytest.mark.parametrize('message, status', [
    (request('/a.txt', f'Content-Length: {10 << 20}', method='POST'), 413),
    (get('/a.txt', host=None), 400),
    (get('/a.txt', version='HTTP/2.0'), 505),
    (request('/a.txt', method='BREW'), 501),
    (get('/a.txt', 'Connection: close'), 200),
    (b'GET /a.txt HTTP/1.1\r\n' + b'X: y\r\n' * 101, 431),
], ids=['413', '400', '505', '501', 'close', '431'])
def test_M5_an_early_answer_can_be_read(server, message, status):
    """The client goes on to send megabytes and reads only then."""
    with Client(server.address) as client:
        client.socket.sendall(message)
        wait_until(lambda: client.wait_readable(0), 3, 'the answer')
        client.send_unread(b'z' * (10 << 20))
        assert not client.broken, 'reset while the answer was unread'
        assert client.receive()[0].status == status
        client.expect_close()


def test_M5_flood_of_fields(server):
    with Client(server.address) as client:
        client.send(b'GET /a.txt HTTP/1.1\r\nHost: t.test\r\n'
                    + b''.join(b'X-%03d: %b\r\n' % (i, b'y' * 1000) for i in range(200)))
        assert client.receive()[0].status == 431
        client.expect_close()


def test_the_server_closes_when_the_client_has(server):
    """After a refusal the server waits for the client, and no longer than for it."""
    with Client(server.address) as client:
        client.send(get('/a.txt', host=None))
        assert client.receive()[0].status == 400
        client.expect_close()
        assert not client.broken
        client.shut()
        wait_read(client.socket)
