"""Ranges, one and several (RFC 9110 14)."""
import re

import pytest

from client import Client, ask_once, get, head, post
from docroot import A_TXT, HUGE_SIZE, ONE, SIX, tag
from exchanges import PROBE, case, each_case, lettered, run_case
from test_preconditions import AFTER, BEFORE
from test_responses import BYTES, PLAIN, STAMP_DATE

TAG = tag(10)
# Without quotes a boundary is a token, of at most 70 bytes (RFC 2046 5.1.1).
BOUNDARY = re.compile(r'multipart/byteranges; boundary=([0-9A-Za-z\'+_.-]{1,70})')


def ranged(value, target='/a.txt', *fields, **more):
    return get(target, f'Range: {value}', *fields, **more)


def part(id, value, first, last, content=A_TXT, target='/a.txt', *fields):
    """A plain 206 with exactly these bytes."""
    return case(id, ranged(value, target, *fields), 206, body=content[first:last + 1], fields={
        'Content-Range': f'bytes {first}-{last}/{len(content)}', 'ETag': tag(len(content)),
        'Content-Type': PLAIN if content is A_TXT else BYTES, 'Last-Modified': STAMP_DATE,
        'Accept-Ranges': 'bytes', 'Cache-Control': 'no-cache'})


def parts(id, rows):
    return [part(f'{id}.{chr(97 + i)}', *row) for i, row in enumerate(rows)]


def whole(id, values, *fields, **more):
    """The range is ignored."""
    return lettered(id, case, [ranged(value, '/a.txt', *fields, **more) for value in values],
                    200, body=A_TXT, fields={'Content-Range': None})


def unsatisfiable(id, values, size=10, target='/a.txt'):
    return lettered(id, case, [ranged(value, target) for value in values], 416,
                    fields={'Content-Range': f'bytes */{size}'})


SINGLE = [
    *parts('range', [('bytes=0-0', 0, 0), ('bytes=0-9', 0, 9), ('bytes=2-4', 2, 4),
                     ('bytes=0-', 0, 9), ('BYTES=2-4', 2, 4), ('Bytes=2-4', 2, 4),
                     ('bytes=0002-0004', 2, 4)]),
    *parts('E2', [('bytes=-9999', 0, 9), ('bytes=-10', 0, 9), ('bytes=-11', 0, 9)]),
    *parts('E5', [('bytes=5-999', 5, 9), ('bytes=0-10', 0, 9), ('bytes=9-10', 9, 9)]),
    *parts('E6', [('bytes=0-18446744073709551616', 0, 9),
                  ('bytes=0-9223372036854775807', 0, 9), ('bytes=0-' + '9' * 400, 0, 9),
                  ('bytes=-18446744073709551617', 0, 9), ('bytes=-' + '9' * 400, 0, 9),
                  ('bytes=-9223372036854775807,-9223372036854775807', 0, 9)]),
    *parts('E11', [('bytes=-3', 7, 9), ('bytes=-1', 9, 9)]),
    *parts('E12', [('bytes=9-', 9, 9), ('bytes=09-', 9, 9)]),
    *parts('range.6k', [('bytes=100-5000', 100, 5000, SIX, '/6k'),
                        ('bytes=-6000', 144, 6143, SIX, '/6k'),
                        ('bytes=6143-', 6143, 6143, SIX, '/6k')]),
    *unsatisfiable('E1', ['bytes=0-', 'bytes=0-0', 'bytes=5-', 'bytes=-0'], 0, '/empty'),
    case('E1.suffix', ranged('bytes=-5', '/empty'), 200, body=b''),
    *unsatisfiable('E3', ['bytes=-0', 'bytes=-00']),
    *unsatisfiable('E4', ['bytes=10-', 'bytes=10-20', 'bytes=11-11', 'bytes=999-']),
    *unsatisfiable('E6.beyond', ['bytes=9223372036854775808-', 'bytes=18446744073709551616-',
                                 'bytes=18446744073709551626-18446744073709551627',
                                 'bytes=' + '9' * 400 + '-']),
    *unsatisfiable('E13', ['bytes=18-18446744073709551615']),
    *whole('E7', ['0-100', '', 'bytes=', 'bytes=a-b', 'bytes=5-2', 'bytes 0-1', 'bytes=-',
                  'bytes=--1', 'bytes=1', 'bytes=0x1-2', 'bytes=1-2x', 'bytes=+1-2', 'bytes=1--2',
                  'bytes:0-1', '=0-1', 'bytes=0 - 1', 'bytes=0-1;', 'lines=0-1', 'bytesx=0-1',
                  'bytes =0-1', 'bytes=\u00b2-3', 'bytes=0-1-2']),
    *whole('E7.set', ['bytes=0-1,5-2', 'bytes=0-1,x', 'bytes=x,0-1', 'bytes=0-1,-']),
    case('E7.repeated', get('/a.txt', 'Range: bytes=0-1', 'Range: bytes=2-3'), 200, body=A_TXT),
    *lettered('E8', case, [head('/a.txt', f'Range: {value}') for value in (
        'bytes=2-4', 'bytes=99-', 'bytes=0-1,4-5')], 200,
        fields={'Content-Length': '10', 'Content-Range': None}),
    case('E8.post', post('/a.txt', 'Range: bytes=0-1'), 405),
    case('E8.old', ranged('bytes=0-1', version='HTTP/1.0'), 206, body=b'01', end='closed'),
    case('E8.missing', ranged('bytes=0-1', '/missing'), 404),
    case('E8.kept', [ranged('bytes=99-'), ranged('bytes=2-4'), get('/a.txt')], [416, 206, 200],
         body=A_TXT),

    # If-Range.
    part('S5.a', 'bytes=0-1', 0, 1, A_TXT, '/a.txt', 'If-Range: ' + TAG),
    part('S5.b', 'bytes=0-1', 0, 1, A_TXT, '/a.txt', 'If-Range: ' + STAMP_DATE),
    *[row for i, value in enumerate((
        '"no"', 'W/' + TAG, BEFORE, AFTER, 'tomorrow', '', '*', TAG[:-1], TAG.strip('"'),
        '"no", ' + TAG)) for row in whole(f'E9.{i}', ['bytes=0-1'], 'If-Range: ' + value)],
    case('E9.unsatisfiable', ranged('bytes=99-', '/a.txt', 'If-Range: "no"'), 200, body=A_TXT),
    case('E9.alone', get('/a.txt', 'If-Range: ' + TAG), 200, body=A_TXT),
    case('E9.match-fails', ranged('bytes=0-1', '/a.txt', 'If-Match: "no"'), 412),
    case('E9.match', ranged('bytes=0-1', '/a.txt', 'If-Match: ' + TAG), 206, body=b'01'),
]

# Several ranges of which one is left.
JOINED = [
    part('E10', 'bytes=50-60,0-1', 0, 1),
    *parts('F.joined', [
        ('bytes=0-4,2-6', 0, 6), ('bytes=0-1,2-3', 0, 3), ('bytes=2-3,0-1', 0, 3),
        ('bytes=0-9,3-4', 0, 9), ('bytes=3-4,0-9', 0, 9), ('bytes=-5,5-9', 5, 9),
        ('bytes=0-0,0-0,0-0', 0, 0), ('bytes=5-,-2', 5, 9), ('bytes=0-,0-', 0, 9),
        ('bytes=4-5,0-1,2-3', 0, 5), ('bytes=0-1,,', 0, 1), ('bytes=,0-1', 0, 1),
        ('bytes=10-,-1', 9, 9), ('bytes=-0,1-1', 1, 1), ('bytes=0-1 , 99-100', 0, 1)]),
    *unsatisfiable('F.none', ['bytes=10-,20-30', 'bytes=-0,-0', 'bytes=50-60,70-80']),
    *lettered('F5', case, [ranged('bytes=' + ','.join(f'{i}-{i}' for i in range(0, count, 2)),
                                  '/1k') for count in (34, 100, 1024)], 200, body=ONE),
]

# (id, value, content, target, [(first, last), ...])
SEVERAL = [
    ('F3.a', 'bytes=0-1,4-5', A_TXT, '/a.txt', [(0, 1), (4, 5)]),
    ('F3.b', 'bytes=0-1,6000-6001', SIX, '/6k', [(0, 1), (6000, 6001)]),
    ('F3.spaces', 'bytes=0-1 ,\t4-5', A_TXT, '/a.txt', [(0, 1), (4, 5)]),
    ('F4', 'bytes=0-0,3000-3001,-1', SIX, '/6k', [(0, 0), (3000, 3001), (6143, 6143)]),
    ('F.order', 'bytes=-2,0-1', A_TXT, '/a.txt', [(8, 9), (0, 1)]),
    ('F.order-joined', 'bytes=7-9,0-1,6-7', A_TXT, '/a.txt', [(6, 9), (0, 1)]),
    ('F.satisfiable', 'bytes=0-1,50-,4-5', A_TXT, '/a.txt', [(0, 1), (4, 5)]),
    ('F.sixteen', 'bytes=' + ','.join(f'{i}-{i}' for i in range(0, 32, 2)), ONE, '/1k',
     [(i, i) for i in range(0, 32, 2)]),
    ('F.large', 'bytes=1-3000000,4000000-', None, '/big.bin',
     [(1, 3000000), (4000000, (8 << 20) - 1)]),
]

CASES = SINGLE + JOINED + [
    case(id, ranged(value, target), 206, splits=content is not None)
    for id, value, content, target, _ in SEVERAL]


@each_case(CASES)
def test_ranges(case, server):
    run_case(case, server)


def split_parts(answer):
    """[(fields, bytes)] of a multipart/byteranges body, taken apart by RFC 2046 5.1.1."""
    boundary = BOUNDARY.fullmatch(answer.get('Content-Type')).group(1).encode()
    body = answer.body if answer.body.startswith(b'\r\n') else b'\r\n' + answer.body
    first, *pieces, last = body.split(b'\r\n--' + boundary)
    assert first == b'' and last in (b'--', b'--\r\n')
    found = []
    for piece in pieces:
        text, mark, data = piece.partition(b'\r\n\r\n')
        assert text.startswith(b'\r\n') and mark
        lines = [line.partition(b': ') for line in text[2:].split(b'\r\n')]
        found.append(({name.decode(): value.decode() for name, _, value in lines}, data))
    return found


@pytest.mark.parametrize('value, content, target, spans',
                         [row[1:] for row in SEVERAL], ids=[row[0] for row in SEVERAL])
def test_several_ranges(server, docroot, value, content, target, spans):
    content = docroot.big if content is None else content
    answer = ask_once(server.address, ranged(value, target))
    assert answer.status == 206 and answer.get('Content-Range') is None
    assert answer.get('ETag') == tag(len(content))
    kind = PLAIN if content is A_TXT else BYTES
    wanted = [({'Content-Type': kind, 'Content-Range': f'bytes {a}-{b}/{len(content)}'},
               content[a:b + 1]) for a, b in spans]
    assert split_parts(answer) == wanted


def test_F1_hundreds_of_overlapping_ranges(server, docroot):
    with Client(server.address) as client:
        answer = client.ask(ranged('bytes=' + ','.join(['5-'] * 1300), '/big.bin'))
        assert (answer.status, answer.body) == (206, docroot.big[5:])
        client.expect_kept(PROBE)


@pytest.mark.parametrize('first, last, body', [
    (4294967296, 4294967299, b'CDEF'), (4294967294, 4294967297, b'ABCD'),
    (HUGE_SIZE - 4, HUGE_SIZE - 1, b'tail'), (0, 3, b'head')])
def test_O5_beyond_4_gib(server, first, last, body):
    answer = ask_once(server.address, ranged(f'bytes={first}-{last}', '/huge.bin'))
    assert (answer.status, answer.body) == (206, body)
    assert answer.get('Content-Range') == f'bytes {first}-{last}/{HUGE_SIZE}'


def test_range_of_a_large_file(server, docroot):
    answer = ask_once(server.address, ranged('bytes=1000001-7000000', '/big.bin'))
    assert (answer.status, answer.body) == (206, docroot.big[1000001:7000001])
