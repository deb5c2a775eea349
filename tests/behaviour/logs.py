"""Access logs: a folder for them that any user can write to, and readers of each format.

A reader takes nothing but whole lines of exactly its format.
"""
import dataclasses
import datetime
import email.utils
import json
import os
import re
import shutil
import tempfile
import time

import pytest

from waiting import patient, wait_until

# A line comes into the file within about a second.
SOON = 1.3

TEXT = r'((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\x[0-9A-F]{2})*)'
COMMON = (r'(\S+) - - \[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] '
          rf'"{TEXT}" (\d{{3}}) (\d+)')
PATTERNS = {'common': re.compile(COMMON),
            'combined': re.compile(rf'{COMMON} "{TEXT}" "{TEXT}"')}
JSON_KEYS = ['time', 'remote', 'host', 'request', 'status', 'bytes', 'duration_ms',
             'referer', 'user_agent']


@dataclasses.dataclass(frozen=True)
class Line:
    """Texts are as the client sent them, bytes as Latin-1; "-" where there was nothing."""
    remote: str
    request: str
    status: int
    body_bytes: int
    referer: str = None
    agent: str = None
    host: str = None
    duration_ms: int = None


def unescape(text):
    return re.sub(r'\\x(..)', lambda m: chr(int(m[1], 16)), text)


def check_time(when):
    age = time.time() - when
    assert -2 <= age <= patient(12), f'{age:.0f} s old'


def read_text_line(text, form):
    found = PATTERNS[form].fullmatch(text)
    assert found, f'no {form} line: {text!r}'
    remote, when, request, status, count, *more = found.groups()
    date = re.sub(r'(\d\d)/(\w+)/(\d+):', r'\1 \2 \3 ', when)
    check_time(email.utils.parsedate_to_datetime(date).timestamp())
    return Line(remote, unescape(request), int(status), int(count), *map(unescape, more))


def read_json_line(text):
    assert re.fullmatch(r'\{[\x20-\x7e]*\}', text), f'bytes in {text!r}'
    data = json.loads(text)
    assert list(data) == JSON_KEYS, text
    assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d', data['time'])
    check_time(datetime.datetime.fromisoformat(data['time']).timestamp())
    assert all(isinstance(data[key], int) for key in ('status', 'bytes', 'duration_ms'))
    return Line(data['remote'], data['request'] or '-', data['status'], data['bytes'],
                data['referer'], data['user_agent'], data['host'], data['duration_ms'])


def read_line(text, form='combined'):
    return read_json_line(text) if form == 'json' else read_text_line(text, form)


def read_lines(data, form='combined'):
    """Of a log's whole content."""
    assert not data or data.endswith(b'\n'), f'a torn line: {data[-100:]}'
    return [read_line(text, form) for text in data.decode('ascii').split('\n')[:-1]]


class Log:
    """A log file, and the options that make a server write it."""

    def __init__(self, folder, form='combined'):
        self.folder, self.form = folder, form
        self.path = os.path.join(folder, 'access.log')

    @property
    def options(self):
        return ['--access-log', self.path, '--log-format', self.form]

    def content(self, path=None):
        try:
            with open(path or self.path, 'rb') as file:
                return file.read()
        except FileNotFoundError:
            return b''

    def lines(self, path=None):
        """What is in the file now, of which the last line may be under way."""
        data = self.content(path)
        return read_lines(data[:data.rfind(b'\n') + 1], self.form)

    def wait_lines(self, count, within=SOON):
        """That many lines, no fewer and no more."""
        wait_until(lambda: self.content().count(b'\n') >= count, within,
                   f'{count} lines in the log')
        lines = read_lines(self.content(), self.form)
        assert len(lines) == count, lines
        return lines


@pytest.fixture
def log():
    folder = tempfile.mkdtemp(prefix='tetrad-log-')
    os.chmod(folder, 0o777)
    yield Log(folder)
    shutil.rmtree(folder)
