"""The judge itself: what must be refused of an answer, is; what is right, passes."""
import contextlib
import email.utils
import socket
import threading

import h11
import pytest

from client import SECRET, AnswerReader, Client
from docroot import SIX
from exchanges import Transcript, case, check
from waiting import wait_until

FIELDS = {'Date': None, 'Content-Length': '2', 'Cache-Control': 'no-store'}


def answer(status='HTTP/1.1 200 OK', body=b'ab', end=b'\r\n', **changes):
    """A right answer, but for the changes: a name with _ for -, and None for "left out"."""
    fields = {**FIELDS, 'Date': email.utils.formatdate(usegmt=True)}
    fields.update({name.replace('_', '-'): value for name, value in changes.items()})
    lines = [status] + [f'{n}: {v}' for n, v in fields.items() if v is not None]
    return end.join(line.encode('latin-1') for line in lines) + end * 2 + body


def read(data, *methods):
    reader = AnswerReader(methods)
    reader.feed(data)
    reader.end()
    return reader.answers


# Made when asked for: a Date grows old.
RIGHT = {
    'one': lambda: [answer()],
    'several': lambda: [answer(), answer(body=b'', Content_Length='0'), answer()],
    'last-says-close': lambda: [answer(), answer(Connection='close')],
    'interim': lambda: [b'HTTP/1.1 100 Continue\r\n\r\n' + answer()],
    '304': lambda: [answer('HTTP/1.1 304 Not Modified', b'', Content_Length=None)],
    'large': lambda: [answer(body=SIX, Content_Length='6144')],
}

WRONG = {
    'bare-lf': lambda: answer(end=b'\n'),
    'bare-cr': lambda: answer(X='a\rb'),
    'not-http': lambda: b'hello\r\n\r\n',
    'old-version': lambda: answer('HTTP/1.0 200 OK'),
    'no-reason-space': lambda: answer('HTTP/1.1 200'),
    'no-date': lambda: answer(Date=None),
    'date-form': lambda: answer(Date='Mon May  6 07:08:09 2024'),
    'date-age': lambda: answer(Date='Mon, 06 May 2024 07:08:09 GMT'),
    'no-length': lambda: answer(Content_Length=None),
    'length-form': lambda: answer(Content_Length='02'),
    'short': lambda: answer(body=b'a'),
    'long': lambda: answer(body=b'abc'),
    'chunked': lambda: answer(body=b'2\r\nab\r\n0\r\n\r\n', Content_Length=None,
                              Transfer_Encoding='chunked'),
    'after-close': lambda: answer(Connection='close') + answer(),
    '304-length': lambda: answer('HTTP/1.1 304 Not Modified', b''),
    '204-body': lambda: answer('HTTP/1.1 204 No Content', Allow='GET, HEAD, OPTIONS'),
    '101': lambda: answer('HTTP/1.1 101 Switching Protocols', b'', Content_Length=None),
    '405-allow': lambda: answer('HTTP/1.1 405 No'),
    '503-retry': lambda: answer('HTTP/1.1 503 No'),
    '416-range': lambda: answer('HTTP/1.1 416 No'),
    '404-cached': lambda: answer('HTTP/1.1 404 No', Cache_Control='no-cache'),
    '404-tag': lambda: answer('HTTP/1.1 404 No', ETag='"x"'),
    '206-range': lambda: answer('HTTP/1.1 206 Partial', Content_Type='text/plain'),
    'location-host': lambda: answer('HTTP/1.1 301 Moved', Location='//evil.test/'),
    'location-backslash': lambda: answer('HTTP/1.1 301 Moved', Location='/\\evil.test/'),
    'location-absolute': lambda: answer('HTTP/1.1 301 Moved', Location='http://t.test/dir/'),
    'no-location': lambda: answer('HTTP/1.1 301 Moved'),
    'connection': lambda: answer(Connection='upgrade'),
    'secret': lambda: answer(body=SECRET, Content_Length=str(len(SECRET))),
    'two-spaces': lambda: answer(X=' y'),
    'field-name': lambda: answer().replace(b'Date:', b'Date :'),
}


@pytest.mark.parametrize('name', RIGHT)
@pytest.mark.parametrize('step', [1, 7, 10**6])
def test_right_answers_pass(name, step):
    wanted = RIGHT[name]()
    data = b''.join(wanted)
    reader = AnswerReader()
    for start in range(0, len(data), step):
        reader.feed(data[start:start + step])
    reader.end()
    assert [answer.raw for answer in reader.answers] == wanted


@pytest.mark.parametrize('name', WRONG)
def test_wrong_answers_are_refused(name):
    data = WRONG[name]()
    # Whether h11 or check_answer complains is of no interest.
    with pytest.raises((AssertionError, h11.RemoteProtocolError)):
        read(data)


# Those that show before the end, where a connection is cut.
CUT_WRONG = sorted(set(WRONG) - {'short', 'long', 'after-close', '204-body', '304-length'})


@pytest.mark.parametrize('name', CUT_WRONG)
def test_wrong_answers_are_refused_when_they_are_cut(name):
    data = WRONG[name]()
    reader = AnswerReader()
    with pytest.raises((AssertionError, h11.RemoteProtocolError)):
        reader.feed(data[:-1] if data.endswith(b'ab') else data)
        reader.cut()


@pytest.mark.parametrize('name', RIGHT)
def test_right_answers_may_be_cut_anywhere(name):
    data = b''.join(RIGHT[name]())[:400]
    for end in range(len(data)):
        reader = AnswerReader()
        reader.feed(data[:end])
        reader.cut()


class Peer:
    """A server that says the same to everybody."""

    def __init__(self, data):
        self._listener = socket.create_server(('127.0.0.1', 0))
        self.address = self._listener.getsockname()
        self._data = data

    def serve_one(self):
        with self._listener.accept()[0] as connection, \
                contextlib.suppress(ConnectionResetError):
            connection.sendall(self._data)
            connection.recv(1)

    def close(self):
        self._listener.close()


@pytest.mark.parametrize('data, wrong', [
    (b'', False), (b'HTTP/1.1 200 ', False), (b'hello', True),
    (b'HTTP/1.1 200 OK\nDate: x\n\n', True)])
@pytest.mark.parametrize('leave', [Client.close, Client.reset])
def test_what_is_left_unread_is_judged(data, wrong, leave):
    peer = Peer(data)
    thread = threading.Thread(target=peer.serve_one)
    try:
        client = Client(peer.address)
        thread.start()
        if data:
            wait_until(lambda: client.wait_readable(0), 2)
        with pytest.raises((AssertionError, h11.RemoteProtocolError)) if wrong else \
                contextlib.nullcontext():
            leave(client)
        client.socket.close()
        thread.join()
    finally:
        peer.close()


def test_head_has_a_length_and_no_body():
    first, second = read(answer(body=b'') + answer(), 'HEAD', 'GET')
    assert (first.body, second.body) == (b'', b'ab')
    with pytest.raises(AssertionError):
        read(answer(), 'HEAD')


@pytest.mark.parametrize('expect', [
    {'status': 404}, {'status': 200, 'end': 'closed'}, {'status': 200, 'body': b'xx'},
    {'status': 200, 'fields': {'Cache-Control': 'no-cache'}}, {'status': 200, 'interim': 1},
    {'status': 200, 'fields': {'Cache-Control': None}}])
def test_expectations_can_fail(expect):
    transcript = Transcript(read(answer()), b'', 'kept')
    check(case('right', b'', 200, body=b'ab'), transcript)
    with pytest.raises(AssertionError):
        check(case('wrong', b'', **expect), transcript)
