"""Plays a script over one connection, and has h11 judge all that came back.

Many connections run at once in one asyncio loop. Pauses are part of the stimulus: a pause is
a wait for the end of the connection that is allowed to time out.
"""
import asyncio
import contextlib
import dataclasses
import hashlib
import re

from client import AnswerReader
from generator import SENTINEL, SENTINEL_BODY, bytes_of
from test_parity import timeless
from waiting import patient

# After the last byte: so long without a byte means that the server waits for the client. If it
# was only late, which shows when the answer comes all the same, the script is played again with
# more time: a server must not wait for the client's end before it answers.
QUIET, QUIET_AGAIN = 0.25, 5
END_LIMIT = 8
FEED = 16384                             # the reader copies what it has not yet looked at

LENGTH = re.compile(rb'\r\nContent-Length: (\d+)\r\n')
SAYS_CLOSE = re.compile(rb'\r\nConnection: *close\r\n', re.IGNORECASE)


@dataclasses.dataclass
class Played:
    raw: bytes
    end: str                             # kept: in step; closed: as announced; waiting: for the
                                         # rest of a request; or a fault


class Wire(asyncio.Protocol):
    """Collects what comes. Its end is the end of what the server sends."""

    def __init__(self):
        self.raw = bytearray()
        self.event = asyncio.Event()     # something came
        self.over = asyncio.get_running_loop().create_future()
        self.how = None                  # eof or reset
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.raw += data
        self.event.set()

    def eof_received(self):
        self._finish('eof')
        return True                      # what remains to be sent is still sent

    def connection_lost(self, exc):
        self._finish('reset' if exc else 'eof')

    def _finish(self, how):
        self.event.set()
        if not self.over.done():
            self.how = how
            self.over.set_result(None)

    @property
    def in_step(self):
        """The probe has its answer."""
        return self.raw.endswith(b'\r\n\r\n' + SENTINEL_BODY)

    def shut(self):
        """The end of what the client sends; that the server is gone is known otherwise."""
        with contextlib.suppress(OSError):
            if not self.transport.is_closing():
                self.transport.write_eof()

    async def wait_over(self, seconds):
        """True if the end came within that time."""
        if not self.over.done():
            await asyncio.wait([self.over], timeout=seconds)
        return self.over.done()

    async def wait_settled(self, quiet):
        """Until the answer of the probe, the end, or silence."""
        while not self.over.done() and not self.in_step:
            self.event.clear()
            try:
                await asyncio.wait_for(self.event.wait(), patient(quiet))
            except asyncio.TimeoutError:
                return


async def send_steps(wire, steps):
    for step in steps:
        if wire.over.done() and step[0] != 'shut':
            return                       # nobody reads the rest
        if step[0] in ('send', 'probe'):
            wire.transport.write(SENTINEL if step[0] == 'probe' else step[1])
        elif step[0] == 'wait':
            await wire.wait_over(step[1] / 1000)
        elif step[0] == 'hold':
            wire.transport.pause_reading()
            await wire.wait_over(step[1] / 1000)
            if not wire.transport.is_closing():
                wire.transport.resume_reading()


async def play(address, steps, quiet=QUIET):
    wire = Wire()
    await asyncio.get_running_loop().create_connection(lambda: wire, *address)
    try:
        await send_steps(wire, steps)
        probed = ('probe',) in steps
        if probed:
            await wire.wait_settled(quiet)
            # An answer that says close is followed by the end, without the client's doing.
            if SAYS_CLOSE.search(wire.raw) and not await wire.wait_over(patient(END_LIMIT)):
                return Played(bytes(wire.raw), 'left open')
        kept, early = probed and wire.in_step, wire.over.done()
        wire.shut()
        if not await wire.wait_over(patient(END_LIMIT)):
            return Played(bytes(wire.raw), 'never ended')
        return Played(bytes(wire.raw), ending(wire, kept, early, probed))
    finally:
        wire.transport.abort()


def ending(wire, kept, early, probed):
    if wire.how == 'reset':
        return 'reset'
    if SAYS_CLOSE.search(wire.raw):
        return 'closed'
    if kept:
        return 'kept'
    if probed and wire.in_step:
        return 'late'
    return 'dropped' if early and probed else 'waiting'


# ---- what came back

def methods_of(raw, heads_possible):
    """Which answers are to HEAD requests cannot be told from mutated bytes; it is told from
    the answers: an announced body that is not there, but the next answer or the end."""
    methods, at = [], 0
    while True:
        end = raw.find(b'\r\n\r\n', at)
        if end < 0:
            return methods
        head, at = raw[at:end + 2], end + 4
        if head.startswith(b'HTTP/1.1 100 '):
            continue
        length = LENGTH.search(head)
        size = int(length[1]) if length else 0
        is_head = heads_possible and size > 0 and raw[at:at + 9] in (b'', b'HTTP/1.1 ')
        methods.append('HEAD' if is_head else 'GET')
        at += 0 if is_head else size


def read(played, steps):
    """The answers, each of them accepted by h11 and the checks of every answer."""
    reader = AnswerReader(methods_of(played.raw, b'HEAD' in bytes_of(steps)))
    for start in range(0, len(played.raw), FEED):
        reader.feed(played.raw[start:start + FEED])
    reader.end()
    return reader.answers


def outcome(played, answers):
    """What must be equal in every model."""
    return played.end, tuple(
        (answer.status, tuple(timeless(interim.raw) for interim in answer.interim),
         timeless(answer.head), hashlib.sha256(timeless(answer.head + answer.body)).hexdigest())
        for answer in answers)
