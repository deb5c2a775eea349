"""Sends bytes to any server and says what became of them: the statuses, and whether the
connection was kept. Peers may answer as they like; tetrad's answers are judged as in any test."""
import asyncio
import re

import h11

from client import AnswerReader
from generator import SENTINEL
from play import FEED, Wire, methods_of
from waiting import patient

FLOOD = 12 << 20
HEAD = re.compile(rb'HTTP/\d\.\d (\d\d\d)[^\r\n]*\r?\n')
LENGTH = re.compile(rb'\nContent-Length: *(\d+)', re.IGNORECASE)
CHUNKED = re.compile(rb'\nTransfer-Encoding: *chunked', re.IGNORECASE)
CLOSING = re.compile(rb'\nConnection: *close', re.IGNORECASE)


def check_answers(raw, data):
    """That h11 and the checks of every answer accept all that came, which may end anywhere."""
    reader = AnswerReader(methods_of(raw, b'HEAD' in data))
    try:
        for start in range(0, len(raw), FEED):
            reader.feed(raw[start:start + FEED])
        reader.cut()
    except (AssertionError, h11.ProtocolError) as error:
        raise SystemExit(f'refused by the reader: {error}\n  {data[:2000]!r}') from error


async def observe(address, data, quiet, check=None):
    """Returns e.g. "200,404/kept". The end is kept, closed, or waiting: for the rest of a
    request; the answer to the probe that follows the data is not counted. quiet: how long a
    silence means that nothing more will come. check is given what came, and the data."""
    wire = Wire()
    await asyncio.get_running_loop().create_connection(lambda: wire, *address)
    try:
        wire.transport.write(data + SENTINEL)
        while not wire.over.done() and not wire.in_step and len(wire.raw) < FLOOD:
            wire.event.clear()
            try:
                await asyncio.wait_for(wire.event.wait(), patient(quiet))
            except asyncio.TimeoutError:
                break
        raw = bytes(wire.raw)
        end = ('flood' if len(raw) >= FLOOD else 'kept' if wire.in_step else
               'closed' if wire.over.done() or CLOSING.search(raw) else 'waiting')
    finally:
        wire.transport.abort()
    if check:
        check(raw, data)
    statuses = statuses_of(raw, b'HEAD' in data)
    if end == 'kept':
        statuses = statuses[:-1]
    return f'{",".join(statuses) or "nothing"}/{end}'


def statuses_of(raw, heads_possible):
    """Final statuses in order; "text" is an answer without a head."""
    statuses, at = [], 0
    while at < len(raw):
        start = HEAD.match(raw, at)
        end = raw.find(b'\r\n\r\n', at)
        if not start or end < 0:
            return [*statuses, 'text']
        head, at = raw[at:end], end + 4
        if start[1].startswith(b'1'):
            continue
        statuses.append(start[1].decode())
        at = skip_body(raw, at, head, start[1], heads_possible)
    return statuses


def skip_body(raw, at, head, status, heads_possible):
    if status in (b'204', b'304') or (heads_possible and raw[at:at + 5] in (b'', b'HTTP/')):
        return at
    if CHUNKED.search(head):
        end = raw.find(b'\r\n0\r\n\r\n', at - 2)
        return end + 7 if end >= 0 else len(raw)
    length = LENGTH.search(head)
    return at + int(length[1]) if length else len(raw)
