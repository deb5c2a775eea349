"""Rows of the tables: bytes to send, answers to get, and what becomes of the connection.

Every row is played twice over: by its own file, once per model, against what is expected
(a decorator, each_case), and by test_parity.py against all models at once, in several
splits, where the bytes that come back must be equal.
"""
import dataclasses
import re

import pytest

from client import Client, get, method_of
from docroot import A_TXT
from kernel import wait_read

PROBE = get('/a.txt')
PIECES_MOST = 1000
CUTS_MOST = 24


@dataclasses.dataclass(frozen=True)
class Expect:
    status: frozenset                # of the statuses that are right
    fields: dict                     # name: text, pattern, or None for "must be absent"
    body: bytes = None
    interim: int = 0                 # how many 100 Continue come before

    def check(self, answer):
        assert answer.status in self.status, str(answer)
        for name, want in self.fields.items():
            value = answer.get(name)
            if isinstance(want, re.Pattern):
                assert want.fullmatch(value or ''), f'{name}: {value}'
            else:
                assert value == want, f'{name}: {value}'
        if self.body is not None:
            assert answer.body == (b'' if answer.method == 'HEAD' else self.body)
        assert len(answer.interim) == self.interim


@dataclasses.dataclass(frozen=True)
class Case:
    id: str
    messages: tuple                  # the requests, sent as one run of bytes
    answers: tuple                   # of Expect
    end: str                         # kept, closed, or "" where either is right
    splits: bool                     # False: the split may change the answer

    @property
    def data(self):
        return b''.join(self.messages)


def either(*statuses):
    return frozenset(statuses)


def as_set(status):
    return status if isinstance(status, frozenset) else frozenset([status])


def case(id, messages, status, *, end='kept', splits=True, **expect):
    """status: one, several with either(), or a list of these, one for each answer. fields,
    body and interim are those of the last answer."""
    if isinstance(messages, bytes):
        messages = [messages]
    statuses = status if isinstance(status, list) else [status]
    fields = expect.pop('fields', {})
    answers = [Expect(as_set(s), {}) for s in statuses[:-1]]
    answers.append(Expect(as_set(statuses[-1]), fields, **expect))
    return Case(id, tuple(messages), tuple(answers), end, splits)


def refused(id, messages, status=400, **expect):
    """One answer, which says close; then the connection closes."""
    fields = {'Connection': 'close', **expect.pop('fields', {})}
    return case(id, messages, status, end='closed', fields=fields, **expect)


def lettered(id, make, rows, *arguments, **more):
    """Several rows of one kind: id.a, id.b, ..."""
    rows = list(rows)
    assert len(rows) <= 26
    return [make(f'{id}.{chr(97 + i)}', row, *arguments, **more)
            for i, row in enumerate(rows)]


# ---- how the bytes are split

def whole(client, data):
    client.send(data)


def byte_by_byte(client, data):
    """A send for each byte; for each thousandth part of what is long."""
    size = max(1, len(data) // PIECES_MOST)
    for start in range(0, len(data), size):
        client.send(data[start:start + size])


def line_end_by_line_end(client, data):
    """Cut behind every CR and every LF; each piece is read before the next one comes."""
    cuts = [i + 1 for i, byte in enumerate(data[:20000]) if byte in b'\r\n']
    step = -(-len(cuts) // CUTS_MOST) or 1
    start = 0
    for cut in [*cuts[::step], len(data)]:
        client.send(data[start:cut])
        if client.over:
            return
        wait_read(client.socket)
        start = cut


SPLITS = {'whole': whole, 'bytes': byte_by_byte, 'lines': line_end_by_line_end}


# ---- playing a case

@dataclasses.dataclass
class Transcript:
    answers: list
    raw: bytes
    end: str


def play(case, address, split=whole):
    """Sends it over a connection of its own; an answer that says close must be followed by
    the end of the connection, and any other by one that is in step."""
    with Client(address) as client:
        client.reader.methods += map(method_of, case.messages)
        split(client, case.data)
        answers = client.receive(len(case.answers))
        client.reader.methods[len(answers):] = []
        if answers[-1].says_close:
            client.expect_close()
            end = 'closed'
        else:
            probe = client.expect_kept(PROBE)
            assert probe.body == A_TXT
            end = 'kept'
        return Transcript(answers, bytes(client.reader.raw), end)


def check(case, transcript):
    for expect, answer in zip(case.answers, transcript.answers):
        expect.check(answer)
    assert case.end in ('', transcript.end), f'the connection was {transcript.end}'


def each_case(cases):
    """Decorates a test with the parameter `case`, named by the rows' ids."""
    return pytest.mark.parametrize('case', [pytest.param(c, id=c.id) for c in cases])


def run_case(case, server):
    check(case, play(case, server.address))
