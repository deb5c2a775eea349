"""The access log: one line for each answered request, with what truly happened to it."""
import contextlib
import os
import re
import signal
import subprocess

import pytest

from client import Client, ask_once, chunked, get, head, post, request
from docroot import A_TXT, BIG_SIZE, STAMP_NS, tag
from exchanges import PROBE
from kernel import children, wait_read
from logs import SOON, log, read_lines  # log is a fixture
from waiting import patient, wait_until

FORMATS = ['common', 'combined', 'json']

# A request and what its line says of it beyond the status and the body that came back.
REQUESTS = [
    get('/a.txt'), get('/6k'), get('/big.bin'), get('/empty'), head('/a.txt'), get('/dir'),
    get('/missing'), get('/a.txt', f'If-None-Match: {tag(10, STAMP_NS)}'),
    get('/a.txt', 'Range: bytes=2-4'), get('/a.txt', 'Range: bytes=0-1,4-5'),
    get('/a.txt', 'Range: bytes=99-'), request('/', method='OPTIONS'), post('/a.txt', body=b'x' * 9),
    chunked('/a.txt', b'3\r\nabc\r\n0\r\n\r\n'), get('/a.txt?q=%22x'), get('/fifo'),
    get('/%00'), request('/a.txt', method='GET', version='HTTP/1.0', host=None),
    get('http://o.test/a.txt'), post('/a.txt', 'Expect: 100-continue', body=b'x'),
    get('/a.txt', host=None), request('/', method='BREW'), request('a:1', method='CONNECT'),
    b'GET /a.txt HTTP/2.0\r\n\r\n', b'GET  /a.txt HTTP/1.1\r\n\r\n', b'\x16\x03\x01\x00\xa5\r\n',
    b'GET /a.txt HTTP/1.1\nHost: t.test\n\n',
    get('/' + 'x' * 9000), get('/a.txt', 'X: ' + 'y' * 17000),
]


def first_line(message):
    """What the log shows of a request's line: no more than it keeps of it."""
    line = message.split(b'\n')[0].rstrip(b'\r').decode('latin-1')
    return line if len(line) <= 1900 else line[:1900] + '...'


@pytest.mark.parametrize('form', FORMATS)
def test_each_answer_is_a_line(launch, model, log, form):
    log.form = form
    server = launch(model, *log.options)
    answers = [ask_once(server.address, message) for message in REQUESTS]
    lines = log.wait_lines(len(REQUESTS), SOON + 1)
    for line in lines:
        assert line.remote == '127.0.0.1'
    # Of different connections, thus in no order.
    found = sorted((line.request, line.status, line.body_bytes) for line in lines)
    assert found == sorted((first_line(message), answer.status, len(answer.body))
                           for message, answer in zip(REQUESTS, answers))


@pytest.mark.parametrize('form', FORMATS)
def test_to_the_byte(launch, model, log, form):
    """One line, and nothing but the time and the port is not known beforehand."""
    log.form = form
    server = launch(model, *log.options, TZ='UTC-1')
    ask_once(server.address, get('/a.txt?x', 'User-Agent: "Me\\\u00e9\t', 'Referer: http://r.test/#'))
    log.wait_lines(1)
    content = log.content().decode()
    time = {'json': r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+01:00'}.get(
        form, r'\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0100')
    content = re.sub(rf'(\[|"time":"){time}', r'\1TIME', content)
    content = re.sub(r'"duration_ms":\d{1,3},', '"duration_ms":MS,', content)
    common = '127.0.0.1 - - [TIME] "GET /a.txt?x HTTP/1.1" 200 10'
    assert content == {
        'common': common + '\n',
        'combined': common + ' "http://r.test/#" "\\x22Me\\x5C\\xE9"\n',
        'json': '{"time":"TIME","remote":"127.0.0.1","host":"t.test",'
                '"request":"GET /a.txt?x HTTP/1.1","status":200,"bytes":10,'
                '"duration_ms":MS,"referer":"http://r.test/#",'
                '"user_agent":"\\"Me\\\\\\u00E9"}\n'}[form]


def test_combined_is_the_default(launch, model, log):
    server = launch(model, '--access-log', log.path)
    ask_once(server.address, get('/a.txt', 'User-Agent: me'))
    assert log.wait_lines(1)[0].agent == 'me'


def test_pipelined_requests_are_lines_in_order(launch, model, log):
    server = launch(model, *log.options)
    targets = [f'/a.txt?{i}' for i in range(100)]
    with Client(server.address) as client:
        client.send(b''.join(map(get, targets)))
        client.receive(len(targets))
    lines = log.wait_lines(len(targets))
    assert [line.request for line in lines] == [f'GET {t} HTTP/1.1' for t in targets]


# ---- P9, P12: what must not reach a log's reader or a terminal as it is

HOSTILE = ['\x00', '\x1b[2J', '\x9b31m', '\x7f', '\t', '"', '\\', '\\x22', "' - - [x] \"GET",
           '\xff', '\xc3\xa9', '%0a%1b', '\x07', '\r', '\x0b']
FORBIDDEN = re.compile('[\x00-\x08\x0a-\x1f\x7f]')   # in a field's value: a 400, and no line of it


@pytest.mark.parametrize('form', FORMATS)
def test_P9_P12_escapes_in_the_request_line(launch, model, log, form):
    """As a target, and as something that is no request line; read_lines knows what a line
    may be made of, and that it is one."""
    log.form = form
    server = launch(model, *log.options)
    messages = [message for text in HOSTILE for message in
                (get('/' + text), f'GET / HTTP/1.1\r-{text}-\n\r\n'.encode('latin-1'),
                 f'{text} /\r\n\r\n'.encode('latin-1') if text != '\r' else b'\r\r /\r\n\r\n')]
    for message in messages:
        assert ask_once(server.address, message).status in (400, 404)
    lines = log.wait_lines(len(messages), SOON + 1)
    wanted = [first_line(message).lstrip('\r') for message in messages]
    assert sorted(line.request for line in lines) == sorted(wanted)


@pytest.mark.parametrize('form', ['combined', 'json'])
def test_P9_P12_escapes_in_fields(launch, model, log, form):
    log.form = form
    server = launch(model, *log.options)
    texts = [text for text in HOSTILE if not FORBIDDEN.search(text)]
    with Client(server.address) as client:
        for text in texts:
            client.ask(get('/a.txt', f'User-Agent: a{text}b', f'Referer: c{text}d'))
    for line, text in zip(log.wait_lines(len(texts)), texts):
        assert (line.agent, line.referer) == (f'a{text}b', f'c{text}d')


def test_P9_long_texts_are_cut(launch, model, log):
    """A line fits into what a pipe takes in one piece."""
    server = launch(model, *log.options)
    ask_once(server.address, get('/' + '%22' * 2000, 'Referer: ' + '"' * 3000,
                                 'User-Agent: ' + '\xff' * 3000))
    line = log.wait_lines(1)[0]
    assert len(log.content()) <= 4096
    for text in (line.request, line.referer, line.agent):
        assert text.endswith('...')


# ---- the truth about what was sent

def test_cut_download(launch, model, log):
    """The bytes that the server could send, which the client need not have received."""
    server = launch(model, *log.options)
    with Client(server.address, receive_buffer=4096) as client:
        client.socket.sendall(get('/big.bin'))
        assert client.pump(lambda: client.reader.body_bytes > 100000, room=1024)
        received = client.reader.body_bytes
        client.reset()
    line = log.wait_lines(1)[0]
    assert line.status == 200 and received <= line.body_bytes < BIG_SIZE


def test_stalled_download(launch, model, log):
    server = launch(model, *log.options, '--send-timeout', '300ms')
    with Client(server.address, receive_buffer=4096) as client:
        client.socket.sendall(get('/big.bin'))
        line = log.wait_lines(1, 3)[0]
        assert line.status == 200 and 0 < line.body_bytes < BIG_SIZE


def test_answers_that_were_never_sent(launch, model, log):
    """Of those behind a download that is cut, nothing was."""
    server = launch(model, *log.options)
    with Client(server.address, receive_buffer=4096) as client:
        client.socket.sendall(get('/big.bin') + get('/a.txt') * 3)
        assert client.pump(lambda: client.reader.body_bytes > 100000, room=1024)
        client.reset()
    wait_until(lambda: log.lines(), SOON)
    assert [line.body_bytes for line in log.lines()[1:]] in ([], [0, 0, 0])
    assert log.lines()[0].body_bytes < BIG_SIZE


def test_truncated_file(launch, model, log, scratch, docroot):
    server = launch(model, *log.options)
    path = docroot.write(scratch + 'cut.bin', b'x' * BIG_SIZE)
    with Client(server.address, receive_buffer=4096) as client:
        client.socket.sendall(get(f'/{scratch}cut.bin'))
        assert client.pump(lambda: client.reader.body_bytes > 100000, room=1024)
        os.truncate(path, BIG_SIZE // 2)
        client.expect_end(5)
        received = client.reader.body_bytes
    line = log.wait_lines(1)[0]
    assert line.status == 200 and received == line.body_bytes


def test_half_a_request(launch, model, log):
    """408 is an answer; a connection that says nothing has none."""
    server = launch(model, *log.options, '--header-timeout', '300ms', '--body-timeout', '300ms')
    with Client(server.address) as silent, Client(server.address) as slow, \
            Client(server.address) as body:
        slow.send(b'GET /slow HTT')
        body.send(request('/a.txt', 'Content-Length: 9', body=b'1'))
        for client in (slow, body):
            assert client.receive()[0].status == 408
        silent.expect_close()
    lines = log.wait_lines(2)
    assert {(line.request, line.status) for line in lines} == {
        ('GET /slow HTT', 408), ('GET /a.txt HTTP/1.1', 408)}


def test_over_the_limit(launch, model, log):
    server = launch(model, *log.options, '--max-connections', '1')
    with Client(server.address) as client:
        client.ask(PROBE)
        with Client(server.address) as refused:
            answer = refused.receive(within=2)[0]
    first, second = sorted(log.wait_lines(2), key=lambda line: line.status)
    assert first.status == 200
    assert (second.request, second.status, second.body_bytes) == ('-', 503, len(answer.body))


def test_duration(launch, model, log):
    """From the first byte of the request to the last of the answer, in every model: not
    what passed before, and with no wait of the server's own. The machine may add to it, but
    hardly each time."""
    log.form = 'json'
    server = launch(model, *log.options)
    with Client(server.address) as client:
        for _ in range(4):
            client.ask(PROBE)
            client.send(PROBE[:-4])
            wait_read(client.socket)
            assert not client.wait_readable(0.3)
            client.ask(PROBE[-4:])
            assert not client.wait_readable(0.2)
    durations = [line.duration_ms for line in log.wait_lines(8)]
    assert min(durations[::2]) < 150, durations
    # A coarse clock ticks 100 times a second at least.
    assert 280 <= min(durations[1::2]) < 450, durations


# ---- where it comes from and where it goes

def test_remote_addresses(launch, model, log):
    path = os.path.join(log.folder, 'socket')
    server = launch(model, *log.options, '-b', '::1', '-b', f'unix:{path}')
    for address in (server.address, ('::1', server.address[1]), path):
        ask_once(address, PROBE)
    assert {line.remote for line in log.wait_lines(3)} == {'127.0.0.1', '::1', 'unix:'}


def test_standard_output(program, model, docroot):
    """Lines alone: what else the server says goes to standard error."""
    with contextlib.ExitStack() as stack:
        read_end, write_end = os.pipe()
        reader = stack.enter_context(open(read_end, 'rb'))
        process = stack.enter_context(subprocess.Popen(
            program.command(['-m', model, '-p', '0', '--access-log', '-', docroot.path]),
            stdout=write_end, stderr=subprocess.PIPE))
        os.close(write_end)
        stack.callback(process.kill)
        ready = next(line for line in process.stderr if b' serving ' in line).decode()
        address = ('127.0.0.1', int(re.search(r':(\d+)$', ready)[1]))
        with Client(address) as client:
            client.ask(PROBE)
            assert read_lines(reader.readline())[0].request == 'GET /a.txt HTTP/1.1'
            client.ask(get('/missing'))
            process.send_signal(signal.SIGUSR1)
            process.send_signal(signal.SIGTERM)
        assert [line.status for line in read_lines(reader.read())] == [404]
        assert process.wait(patient(5)) == 0


def test_lines_come_soon(launch, model, log):
    """While the server has nothing else to do, and connections are idle."""
    server = launch(model, *log.options)
    with Client(server.address) as client:
        for count in range(1, 4):
            client.ask(PROBE)
            log.wait_lines(count)


def test_lines_are_there_after_the_end(launch, model, log):
    server = launch(model, *log.options)
    with Client(server.address) as client:
        for _ in range(50):
            client.ask(PROBE)
        server.signal()
        assert server.wait(2) == 0
    assert len(read_lines(log.content())) == 50


def test_lines_of_a_killed_child(launch, model, log):
    """All but the last, which may not have been written down yet."""
    server = launch(model, *log.options)
    with Client(server.address) as client:
        for _ in range(20):
            client.ask(PROBE)
        for pid in children(server.pid):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: len(log.lines()) >= 19, SOON)


def test_off(launch, model):
    """SIGUSR1 means nothing then."""
    server = launch(model)
    server.signal(signal.SIGUSR1)
    assert ask_once(server.address, PROBE).body == A_TXT
    assert server.running() and '6144' not in server.said()


@pytest.mark.parametrize('name', ['.', 'missing/access.log', 'locked/access.log'])
def test_cannot_open(program, model, docroot, log, name):
    os.mkdir(os.path.join(log.folder, 'locked'), 0)
    path = os.path.join(log.folder, name)
    result = program.run('-m', model, '-p', '0', '--access-log', path, docroot.path)
    assert result.returncode == 1 and result.stdout == ''
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and path in lines[0], result.stderr
    os.chmod(os.path.join(log.folder, 'locked'), 0o755)


def test_stacks_of_user_threads_are_deep_enough(launch, model, log):
    """With what the log adds to the deepest path: no more than a quarter is used."""
    server = launch(model, *log.options, '--workers', '1', TETRAD_STACK_CENSUS='1')
    for message in REQUESTS:
        ask_once(server.address, message)
    server.signal()
    assert server.wait() == 0
    for used, size in re.findall(r'stack use (\d+) of (\d+)', server.said()):
        assert int(used) <= int(size) / 4
