"""The fields of answers (RFC 9110 6.6.1, 8.3, 8.6 and 8.8)."""
import email.utils
import re

import pytest

from client import ask_once, get, head
from docroot import (A_TXT, BIG_SIZE, HUGE_SIZE, INDEX, ONE, SIX, STAMP, STAMP_NS, numbered,
                     tag)
from exchanges import case, each_case, run_case

STAMP_DATE = email.utils.formatdate(STAMP, usegmt=True)


def whole_file(size, kind):
    return {'Content-Length': str(size), 'ETag': tag(size), 'Last-Modified': STAMP_DATE,
            'Accept-Ranges': 'bytes', 'Cache-Control': 'no-cache', 'Content-Type': kind,
            'X-Content-Type-Options': 'nosniff', 'Connection': None, 'Server': None,
            'Content-Encoding': None, 'Content-Range': None, 'Set-Cookie': None}


PLAIN = 'text/plain; charset=utf-8'
HTML = 'text/html; charset=utf-8'
BYTES = 'application/octet-stream'

CASES = [
    case('S2', get('/a.txt'), 200, fields=whole_file(10, PLAIN), body=A_TXT),
    case('S8.c', get('/'), 200, fields=whole_file(len(INDEX), HTML), body=INDEX),
    case('fields.1k', get('/1k'), 200, fields=whole_file(1024, BYTES), body=ONE),
    case('fields.6k', get('/6k'), 200, fields=whole_file(6144, BYTES), body=SIX),
    case('fields.big', get('/big.bin'), 200, fields=whole_file(BIG_SIZE, BYTES),
         body=numbered(BIG_SIZE), splits=False),
    case('O6', get('/empty'), 200, fields=whole_file(0, BYTES), body=b''),
    case('O5.head', head('/huge.bin'), 200, fields=whole_file(HUGE_SIZE, BYTES)),
    case('G9', get('/a.txt'), 200, fields={'ETag': re.compile(r'"[\x21\x23-\x7e]+"')}),
    case('S8.a', get('/missing'), 404,
         fields={'Cache-Control': 'no-store', 'Connection': None, 'Accept-Ranges': None}),
    case('fields.301', get('/dir'), 301, fields={'ETag': None, 'Last-Modified': None}),
]


@each_case(CASES)
def test_responses(case, server):
    run_case(case, server)


# ---- times

@pytest.mark.parametrize('name', ['zero', 'one', 'negative'])
def test_G6_early_times_give_no_validators(server, name):
    answer = ask_once(server.address, get(f'/times/{name}.txt'))
    assert (answer.status, answer.body) == (200, name.encode() + b'\n')
    assert answer.get('ETag') is None and answer.get('Last-Modified') is None


def test_G6_two_seconds_give_validators(server):
    answer = ask_once(server.address, get('/times/two.txt'))
    assert answer.get('ETag') == tag(4, 2 * 10**9)
    assert answer.get('Last-Modified') == 'Thu, 01 Jan 1970 00:00:02 GMT'


def test_G7_last_modified_is_never_later_than_date(server):
    answer = ask_once(server.address, get('/times/future.txt'))
    assert answer.status == 200
    seen = [email.utils.parsedate_to_datetime(answer.get(name))
            for name in ('Last-Modified', 'Date')]
    assert seen[0] <= seen[1]


def test_G10_enormous_time(server):
    answer = ask_once(server.address, get('/times/far.txt'))
    assert (answer.status, answer.body) == (200, b'far\n')


def test_G9_fractions_of_a_second_are_in_the_tag(server):
    answer = ask_once(server.address, get('/times/fraction.txt'))
    assert answer.get('ETag') == tag(9, STAMP_NS + 123456789)
    assert answer.get('Last-Modified') == STAMP_DATE


# ---- types

TYPES = {
    'html': HTML, 'htm': HTML, 'txt': PLAIN, 'css': 'text/css; charset=utf-8',
    'js': 'text/javascript; charset=utf-8', 'mjs': 'text/javascript; charset=utf-8',
    'json': 'application/json; charset=utf-8', 'svg': 'image/svg+xml; charset=utf-8',
    'xml': re.compile(r'(text|application)/xml; charset=utf-8'), 'png': 'image/png',
    'md': re.compile(r'text/markdown; charset=utf-8'), 'csv': 'text/csv; charset=utf-8',
    'jpg': 'image/jpeg', 'jpeg': 'image/jpeg', 'gif': 'image/gif', 'webp': 'image/webp',
    'avif': 'image/avif', 'ico': re.compile(r'image/(x-icon|vnd\.microsoft\.icon)'),
    'wasm': 'application/wasm', 'woff': 'font/woff', 'woff2': 'font/woff2',
    'ttf': 'font/ttf', 'otf': 'font/otf', 'pdf': 'application/pdf', 'mp4': 'video/mp4',
    'webm': 'video/webm', 'mp3': 'audio/mpeg', 'ogg': re.compile(r'(audio|video)/ogg'),
    'zip': 'application/zip', 'gz': 'application/gzip',
    'webmanifest': re.compile(r'application/manifest\+json(; charset=utf-8)?'),
    'unknown-extension': BYTES, 'HTML': HTML, 'Png': 'image/png',
}


def test_types_come_from_the_extension(server, docroot, scratch):
    wrong = {}
    for extension, want in TYPES.items():
        docroot.write(f'{scratch}x.{extension}', b'x')
        kind = ask_once(server.address, get(f'/{scratch}x.{extension}')).get('Content-Type')
        if not re.fullmatch(want if isinstance(want, re.Pattern) else re.escape(want), kind):
            wrong[extension] = kind
    assert not wrong


@pytest.mark.parametrize('name, kind', [('none', BYTES), ('html', BYTES), ('a.b.html', HTML),
                                        ('a.html.', BYTES), ('a.html~', BYTES)])
def test_types_of_unusual_names(server, docroot, scratch, name, kind):
    docroot.write(scratch + name, b'x')
    answer = ask_once(server.address, get('/' + scratch + name))
    assert answer.get('Content-Type') == kind


# ---- the Server field and the index

@pytest.mark.parametrize('choice, pattern', [
    ('off', None), ('name', r'tetrad'), ('full', r'tetrad/\S+ \({model}\)')])
def test_server_header(pool, model, choice, pattern):
    server = pool.get(model, '--server-header', choice)
    for target in ('/a.txt', '/missing', '/dir', '/6k'):
        value = ask_once(server.address, get(target)).get('Server')
        if pattern is None:
            assert value is None
        else:
            assert re.fullmatch(pattern.format(model=re.escape(model)), value)
    assert (ask_once(server.address, get('/a.txt', host=None)).get('Server') is None) == \
        (pattern is None)


def test_index_list(pool, model):
    server = pool.get(model, '--index', 'start.htm,index.html')
    answer = ask_once(server.address, get('/other/'))
    assert (answer.status, answer.body) == (200, b'another index\n')
    assert answer.get('Content-Type') == HTML
    assert ask_once(server.address, get('/')).body == INDEX
    assert ask_once(server.address, get('/bare/')).status == 404


def test_no_index(pool, model):
    server = pool.get(model, '--index', '')
    assert ask_once(server.address, get('/')).status == 404
    assert ask_once(server.address, get('/dir')).status == 301
    assert ask_once(server.address, get('/index.html')).body == INDEX
