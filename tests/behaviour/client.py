"""A client made of a raw socket and of h11 as the judge of whatever comes back.

All bytes that any test receives go through AnswerReader.feed: h11 parses them as a client
must, and check_head adds what h11 is lenient about and what holds for every answer. What a
test did not wait for is judged when it closes the connection.
"""
import dataclasses
import email.utils
import re
import select
import socket
import time

import h11

from waiting import AT_ONCE, Stopwatch, patient

HOST = 't.test'
# Text of every file beside and above the document root: no answer may ever hold it.
SECRET = b'secret-outside-of-the-root'
ANSWER_LIMIT = 5
REST_MOST = 1 << 18                  # of what nobody asked for, looked at in closing
CLOSE_LIMIT = 2
DATE_AGE = 10                        # an answer may have waited to be read

STATUS_START = b'HTTP/1.1 '
STATUS_LINE = re.compile(rb'HTTP/1\.1 [1-5]\d\d [\x20-\x7e]*')
FIELD_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+: (?:[\x21-\x7e](?:[\x20-\x7e]*"
                        rb'[\x21-\x7e])?)?')
HTTP_DATE = re.compile(r'(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d '
                       r'(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) '
                       r'\d{4} \d\d:\d\d:\d\d GMT')


# ---- requests

def request(target, *fields, method='GET', version='HTTP/1.1', host=HOST, body=b''):
    """The bytes of a request; host None leaves the Host field out."""
    lines = [f'{method} {target} {version}']
    if host is not None:
        lines.append(f'Host: {host}')
    lines += fields
    return '\r\n'.join(lines).encode('latin-1') + b'\r\n\r\n' + body


def get(target, *fields, **more):
    return request(target, *fields, **more)


def head(target, *fields, **more):
    return request(target, *fields, method='HEAD', **more)


def post(target, *fields, body=b'', **more):
    """With the length of the body announced."""
    return request(target, *fields, f'Content-Length: {len(body)}', body=body,
                   **{'method': 'POST', **more})


def chunked(target, body, *fields, **more):
    """With a chunked body, given as it goes over the wire."""
    return request(target, *fields, 'Transfer-Encoding: chunked', body=body,
                   **{'method': 'POST', **more})


def method_of(message):
    """HEAD decides how an answer is framed; for h11 every other method is as good as GET."""
    return 'HEAD' if message.lstrip(b'\r\n').startswith(b'HEAD ') else 'GET'


# ---- answers

@dataclasses.dataclass
class Answer:
    method: str
    status: int
    reason: bytes
    fields: list                     # (name as received, value)
    raw: bytes = b''                 # head and body as received, interim answers included
    body: bytes = b''
    interim: list = dataclasses.field(default_factory=list)

    def all(self, name):
        return [v for n, v in self.fields if n.lower() == name.lower()]

    def get(self, name):
        """The value of a field that comes at most once."""
        values = self.all(name)
        assert len(values) <= 1, f'{name} came {len(values)} times'
        return values[0] if values else None

    @property
    def says_close(self):
        return 'close' in (self.get('Connection') or '').lower()

    @property
    def head(self):
        """The final head's bytes, the empty line included."""
        start = len(self.raw) - len(self.body)
        return self.raw[self.raw.rfind(b'HTTP/1.1 ', 0, start):start]

    def __str__(self):
        return f'{self.status} {self.fields} and {len(self.body)} bytes of body'


def check_head_bytes(text):
    """What h11 forgives: bare line ends, spaces, control bytes."""
    lines = text.split(b'\r\n')
    assert STATUS_LINE.fullmatch(lines[0]), f'status line {lines[0]!r}'
    for line in lines[1:]:
        assert FIELD_LINE.fullmatch(line), f'field line {line!r}'


def check_date(value, skew=0):
    """skew: by how many seconds the server's clock is fast, where a test moved it."""
    assert HTTP_DATE.fullmatch(value or ''), f'Date: {value}'
    age = time.time() + skew - email.utils.parsedate_to_datetime(value).timestamp()
    assert -2 <= age <= patient(DATE_AGE), f'Date: {value} is {age:.0f} s old'


def check_location(value):
    """Relative to this host, whatever reads it."""
    assert value and re.fullmatch(r'/(?![/\\])[\x21-\x5b\x5d-\x7e]*', value), \
        f'Location: {value}'


def check_framing(answer):
    assert not answer.all('Transfer-Encoding'), 'no answer needs a transfer coding'
    length = answer.get('Content-Length')
    if answer.status in (204, 304):
        assert length is None, f'{answer.status} with Content-Length: {length}'
    else:
        assert length is not None and re.fullmatch(r'0|[1-9]\d*', length), \
            f'Content-Length: {length}'


def check_head(answer):
    """What holds for every answer of the server, also for one that is cut behind its head."""
    check_framing(answer)
    connection = answer.get('Connection')
    assert connection in (None, 'close', 'keep-alive'), f'Connection: {connection}'
    if answer.status >= 400:
        assert answer.get('Cache-Control') == 'no-store', str(answer)
        assert answer.get('ETag') is None and answer.get('Last-Modified') is None
    if answer.status in (204, 405):
        assert answer.get('Allow') == 'GET, HEAD, OPTIONS', str(answer)
    if answer.status == 301:
        check_location(answer.get('Location'))
    if answer.status == 206 and not answer.get('Content-Range'):
        assert answer.get('Content-Type').startswith('multipart/byteranges; boundary=')
    if answer.status == 416:
        assert re.fullmatch(r'bytes \*/\d+', answer.get('Content-Range') or '')
    if answer.status == 503:
        assert re.fullmatch(r'[1-9]\d*', answer.get('Retry-After') or ''), str(answer)


def check_secret(raw):
    assert SECRET not in raw, 'bytes from outside of the document root'


class AnswerReader:
    """Cuts what a server sent into answers. Methods are those of the requests, in order;
    an answer beyond them counts as one to GET."""

    def __init__(self, methods=()):
        self.methods = list(methods)
        self.answers = []
        self.raw = bytearray()
        self.ended = False
        self.skew = 0
        self._parser = h11.Connection(h11.CLIENT)
        self._begin = 0              # of the current answer in raw
        self._answer = None
        self._interim = []
        self._body = []

    @property
    def between(self):
        """True if no answer has begun and not ended."""
        return self._begin == len(self.raw)

    @property
    def body_bytes(self):
        """Received of the answer under way."""
        return sum(map(len, self._body))

    def feed(self, data):
        self.raw += data
        self._parser.receive_data(data)
        self._read()

    def end(self):
        """The server closed its sending side."""
        self.ended = True
        assert self.between, 'closed inside an answer: ' + self.describe()
        self._end_parser()

    def cut(self):
        """The connection ended, or is left, perhaps inside an answer: what came of it was
        right so far."""
        rest = bytes(self.raw[self._begin:])
        assert rest.startswith(STATUS_START) or STATUS_START.startswith(rest), \
            'no answer: ' + self.describe()
        check_secret(rest)

    def _end_parser(self):
        if self._parser.our_state is not h11.IDLE:
            self._parser.receive_data(b'')
            event = self._parser.next_event()
            assert isinstance(event, h11.ConnectionClosed), event

    def describe(self):
        rest = bytes(self.raw[self._begin:self._begin + 200])
        return f'{len(self.answers)} answers, then {rest!r} with {self.body_bytes} of body'

    def _read(self):
        while True:
            if self._parser.our_state is h11.IDLE:
                if not self._parser.trailing_data[0]:
                    return
                self._open()
            event = self._parser.next_event()
            if event is h11.NEED_DATA:
                return
            assert event is not h11.PAUSED, 'h11 does not expect this'
            self._take(event)

    def _open(self):
        ask = h11.Request(method=self._method(), target='/', headers=[('Host', HOST)])
        self._parser.send(ask)
        self._parser.send(h11.EndOfMessage())

    def _take(self, event):
        if isinstance(event, (h11.Response, h11.InformationalResponse)):
            self._take_head(event)
        elif isinstance(event, h11.Data):
            self._body.append(bytes(event.data))
        elif isinstance(event, h11.EndOfMessage):
            assert not event.headers, 'trailers were never asked for'
            self._take_end()
        else:
            raise AssertionError(f'h11 says {event}')

    def _take_head(self, event):
        start = self._begin + sum(len(a.raw) for a in self._interim)
        end = self.raw.find(b'\r\n\r\n', start)
        assert end >= 0, 'the head ends without CR LF CR LF'
        check_head_bytes(bytes(self.raw[start:end]))
        fields = [(n.decode(), v.decode('latin-1')) for n, v in event.headers.raw_items()]
        answer = Answer(self._method(), event.status_code, bytes(event.reason), fields)
        if isinstance(event, h11.InformationalResponse):
            assert event.status_code == 100, f'{event.status_code} was not asked for'
            answer.raw = bytes(self.raw[start:end + 4])
            self._interim.append(answer)
        else:
            check_date(answer.get('Date'), self.skew)
            check_head(answer)
            answer.interim, self._interim = self._interim, []
            self._answer = answer

    def _method(self):
        index = len(self.answers)
        return self.methods[index] if index < len(self.methods) else 'GET'

    def _take_end(self):
        answer, self._answer = self._answer, None
        end = len(self.raw) - len(self._parser.trailing_data[0])
        answer.raw = bytes(self.raw[self._begin:end])
        answer.body = b''.join(self._body)
        self._begin, self._body = end, []
        check_secret(answer.raw)
        self.answers.append(answer)
        if self._parser.their_state is h11.DONE:
            self._parser.start_next_cycle()


# ---- connections

class Client:
    """One connection. Answers wait in reader.answers until taken by receive()."""

    def __init__(self, address, receive_buffer=0):
        family = socket.AF_UNIX if isinstance(address, str) else (
            socket.AF_INET6 if ':' in address[0] else socket.AF_INET)
        self.socket = socket.socket(family)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(patient(ANSWER_LIMIT))
        try:
            self.socket.connect(address)
        except OSError:
            self.socket.close()
            raise
        if family != socket.AF_UNIX:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.reader = AnswerReader()
        self.broken = False          # the server reset the connection
        self.cut = False             # it ended inside an answer
        self._taken = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.close()
        else:
            self.socket.close()

    def close(self):
        """What has come by now is judged, though the test does not want it."""
        if self.socket.fileno() >= 0:
            try:
                self.judge_rest()
            finally:
                self.socket.close()

    def judge_rest(self):
        left = REST_MOST
        while left > 0 and not self.over and self.wait_readable(0):
            before = len(self.reader.raw)
            self._receive()
            left -= len(self.reader.raw) - before
        self.reader.cut()

    def reset(self):
        """Closes with RST instead of FIN."""
        self.judge_rest()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                               b'\x01\0\0\0\0\0\0\0')
        self.socket.close()

    def shut(self):
        """Sends FIN; answers can still come."""
        self.socket.shutdown(socket.SHUT_WR)

    def hurry(self):
        """Takes as much at once as the window can tell, after a small receive buffer."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)

    @property
    def over(self):
        return self.reader.ended or self.broken or self.cut

    def send(self, data, method=None):
        """Sends all of it, taking in what comes meanwhile. Stops where the server reset
        the connection. method: of a request that begins in this data."""
        if method:
            self.reader.methods.append(method)
        left = memoryview(data)
        limit = time.monotonic() + patient(ANSWER_LIMIT)
        while left and not self.broken:
            readable, writable = self._wait(True, limit - time.monotonic())
            assert readable or writable, f'{len(left)} bytes could not be sent'
            if readable:
                self._receive()
            if writable and left and not self.broken:
                left = left[self._send_some(left):]

    def send_unread(self, data):
        """As send, but what comes meanwhile stays where it is."""
        left = memoryview(data)
        while left and not self.broken:
            ready = select.select([], [self.socket], [], patient(ANSWER_LIMIT))
            assert ready[1], f'{len(left)} bytes could not be sent'
            left = left[self._send_some(left):]

    def _send_some(self, data):
        try:
            return self.socket.send(data[:1 << 18])
        except BlockingIOError:
            return 0
        except (BrokenPipeError, ConnectionResetError):
            self.broken = True
            return 0

    def _wait(self, sending, seconds):
        readers = [] if self.over else [self.socket]
        writers = [self.socket] if sending else []
        ready = select.select(readers, writers, [], max(0, seconds))
        return bool(ready[0]), bool(ready[1])

    def _receive(self, room=1 << 18):
        try:
            data = self.socket.recv(room)
        except BlockingIOError:
            return
        except ConnectionResetError:
            self.broken = True
            return
        if data:
            self.reader.feed(data)
        elif self.reader.between:
            self.reader.end()
        else:
            self.cut = True

    def wait_readable(self, seconds):
        """True if anything came, the end included, within that time."""
        return self._wait(False, seconds)[0]

    def pump(self, done, within=ANSWER_LIMIT, room=1 << 18):
        """Receives until done() or the end of the connection; False when time ran out."""
        watch = Stopwatch()
        while not done() and not self.over:
            if watch.over(within):
                return False
            if self._wait(False, max(0.001, patient(within) - watch.now))[0]:
                self._receive(room)
        return True

    def receive(self, count=1, within=ANSWER_LIMIT):
        """The next answers, in order."""
        want = self._taken + count
        self.pump(lambda: len(self.reader.answers) >= want, within)
        assert len(self.reader.answers) >= want, (
            f'{len(self.reader.answers) - self._taken} answers of {count}; '
            f'{self.ending()}; {self.reader.describe()}')
        answers = self.reader.answers[self._taken:want]
        self._taken = want
        return answers

    def ask(self, message, within=ANSWER_LIMIT):
        """One request, one answer."""
        self.send(message, method_of(message))
        return self.receive(1, within)[0]

    def ending(self):
        return ('reset' if self.broken else 'cut' if self.cut else
                'closed' if self.reader.ended else 'open')

    def expect_close(self, within=CLOSE_LIMIT):
        """In good order, and without a further answer."""
        self.pump(lambda: False, within)
        assert self.ending() == 'closed', f'the connection is {self.ending()}'
        assert len(self.reader.answers) == self._taken, 'an answer too many'

    def expect_end(self, within=CLOSE_LIMIT):
        """In any way, inside an answer too."""
        assert self.pump(lambda: False, within), 'the connection is still open'

    def expect_kept(self, message, status=200):
        """The connection is in step: a plain request gets its own answer and no other."""
        answer = self.ask(message)
        assert answer.status == status, f'next on this connection: {answer}'
        assert len(self.reader.answers) == self._taken, 'an answer too many'
        return answer


def ask_once(address, message, within=ANSWER_LIMIT):
    """One request over a connection of its own."""
    with Client(address) as client:
        return client.ask(message, within)


def answered_at_once(address, message):
    """As ask_once, and without being held up. One that is may have met a busy machine; a
    server that holds clients up holds the next ones up as well."""
    for _ in range(3):
        watch = Stopwatch()
        answer = ask_once(address, message)
        if not watch.over(AT_ONCE):
            return answer
    raise AssertionError(f'answered after {watch.now:.3f} s')
