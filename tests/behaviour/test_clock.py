"""The wall clock jumps: deadlines are those of the monotonic clock, only dates move."""
import datetime
import json
import time

import pytest

from client import DATE_AGE, Client, get, request
from docroot import A_TXT, STAMP_NS
from exchanges import PROBE
from faults import clock, fault_library, launch_faulty  # fixtures
from kernel import server_let_go, wait_read
from logs import SOON, log  # log is a fixture
from test_drain import listens
from test_timeouts import BODY, HEADER, KEEPALIVE, SEND
from waiting import AT_ONCE, Stopwatch, holds_for, patient, wait_until

HOUR, YEAR = 3600, 366 * 86400
JUMPS = pytest.mark.parametrize('jump', [HOUR, -HOUR, YEAR, -1],
                                ids=['hour', 'hour-back', 'year', 'second-back'])
TIMEOUTS = [f'--{name}-timeout={seconds * 1000:.0f}ms' for name, seconds in (
    ('header', HEADER), ('keepalive', KEEPALIVE), ('body', BODY), ('send', SEND))]


def half_a_head(client):
    client.send(b'GET /a.txt HTTP/1.1\r\nHo')


def half_a_body(client):
    client.send(request('/a.txt', 'Content-Length: 10', method='POST', body=b'hello'))


def nothing_more(client):
    client.ask(PROBE)


def nothing_read(client):
    client.socket.sendall(get('/big.bin'))


# What is waited for, for how long, and whether 408 tells of the end.
WAITS = {'head': (half_a_head, HEADER, True), 'body': (half_a_body, BODY, True),
         'idle': (nothing_more, KEEPALIVE, False), 'unread': (nothing_read, SEND, False)}


@JUMPS
@pytest.mark.parametrize('kind', WAITS)
def test_Q11_deadlines_stay(launch_faulty, model, clock, kind, jump):
    begin, deadline, told = WAITS[kind]
    server = launch_faulty(model, *TIMEOUTS, CLOCK=clock.path)
    with Client(server.address, receive_buffer=4096) as client:
        watch = Stopwatch()
        begin(client)
        assert holds_for(lambda: not server_let_go(client.socket), deadline / 3)
        clock.set(jump)
        client.reader.skew = jump if told else 0
        wait_until(lambda: server_let_go(client.socket), deadline + 1, 'it is cut')
        watch.check_deadline(deadline, slack=3 * AT_ONCE)    # less than any jump
        client.expect_end()
        assert [answer.status for answer in client.reader.answers[-1:]] == \
            ([408] if told else [200] if kind == 'idle' else [])


@JUMPS
def test_Q11_dates_move_at_once(launch_faulty, model, clock, jump):
    """Those of answers made before and kept, too; the client judges each Date."""
    server = launch_faulty(model, CLOCK=clock.path)
    messages = [PROBE, get('/6k'), get('/big.bin', 'Range: bytes=0-9'), get('/missing'),
                get('/dir'), request('*', method='OPTIONS')]
    with Client(server.address) as client:
        for skew in (0, jump, 0, jump):
            clock.set(skew)
            client.reader.skew = skew
            for message in messages:
                client.ask(message)
            client.expect_kept(PROBE)


@JUMPS
def test_Q11_files_are_looked_at_in_time(launch_faulty, model, clock, docroot, scratch, jump):
    """--revalidate is a time that passes, whatever the clock on the wall says."""
    server = launch_faulty(model, CLOCK=clock.path)
    name = scratch + 'x'
    docroot.write(name, b'first')
    with Client(server.address) as client:
        assert client.ask(get('/' + name)).body == b'first'
        clock.set(jump)
        client.reader.skew = jump
        docroot.replace(name, b'the second', STAMP_NS + 1)
        wait_until(lambda: client.ask(get('/' + name)).body == b'the second', 1 + AT_ONCE)


@JUMPS
def test_Q11_grace_stays(launch_faulty, model, clock, jump):
    grace = 0.6
    server = launch_faulty(model, f'--grace={grace * 1000:.0f}ms', CLOCK=clock.path)
    with Client(server.address, receive_buffer=4096) as client:
        client.socket.sendall(get('/big.bin'))
        assert client.pump(lambda: client.reader.body_bytes > 0, room=1024)
        watch = Stopwatch()
        server.signal()
        wait_until(lambda: not listens(server), AT_ONCE, 'the listener is closed')
        clock.set(jump)
        server.wait(grace + 2)
        watch.check_deadline(grace, slack=2 * AT_ONCE)


@JUMPS
def test_Q11_the_log_goes_on(launch_faulty, model, clock, log, jump):
    """Its lines come as soon as ever, and tell of no request that took an hour."""
    server = launch_faulty(model, '--access-log', log.path, '--log-format', 'json',
                           CLOCK=clock.path)
    with Client(server.address) as client:
        client.send(PROBE[:-2], 'GET')
        wait_read(client.socket)
        clock.set(jump)
        client.reader.skew = jump
        client.send(PROBE[-2:])
        assert client.receive()[0].body == A_TXT
        client.expect_kept(PROBE)
    wait_until(lambda: log.content().count(b'\n') == 2, SOON, 'two lines')
    lines = [json.loads(line) for line in log.content().splitlines()]
    assert all(0 <= line['duration_ms'] <= 1000 * patient(2) for line in lines), lines
    when = datetime.datetime.fromisoformat(lines[1]['time']).timestamp()
    assert abs(time.time() + jump - when) < patient(DATE_AGE)
