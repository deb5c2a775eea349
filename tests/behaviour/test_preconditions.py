"""Conditional requests, in the order of RFC 9110 13.2.2."""
import email.utils
import time

from client import ask_once, get, head, post, request
from docroot import A_TXT, BIG_SIZE, STAMP, tag
from exchanges import case, each_case, lettered, run_case
from test_responses import STAMP_DATE

TAG = tag(10)
BEFORE = email.utils.formatdate(STAMP - 1, usegmt=True)
AFTER = email.utils.formatdate(STAMP + 1, usegmt=True)
SAME = {'ETag': TAG, 'Cache-Control': 'no-cache'}


def asking(*fields, target='/a.txt', **more):
    return get(target, *fields, **more)


def if_none_match(*values):
    return [asking(f'If-None-Match: {value}') for value in values]


def if_modified_since(*values):
    return [asking(f'If-Modified-Since: {value}') for value in values]


CASES = [
    # If-None-Match: weak comparison, lists, the asterisk.
    *lettered('G1', case, if_none_match(
        TAG, '"x", ' + TAG, '*', 'W/' + TAG, TAG + ', "x"', '"a","b",W/' + TAG, ', ,' + TAG,
        '"a,b", ' + TAG, ' ' + TAG + ' '), 304, fields=SAME, body=b''),
    case('G1.two-lines', asking('If-None-Match: "x"', 'If-None-Match: ' + TAG), 304, fields=SAME),
    *lettered('G1.other', case, if_none_match(
        '"x"', '"x", "y"', TAG[:-1] + '0"', TAG.strip('"'), '', 'w/' + TAG, '"', '"' + TAG,
        'x' + TAG, TAG[:-1]), 200, body=A_TXT),
    case('G2', asking('If-None-Match: "no"', 'If-Modified-Since: ' + AFTER), 200, body=A_TXT),
    case('G2.tag', asking('If-None-Match: ' + TAG, 'If-Modified-Since: ' + BEFORE), 304),

    # If-Modified-Since: three forms of a date; anything else is ignored.
    *lettered('G3', case, if_modified_since(
        STAMP_DATE, 'Monday, 06-May-24 07:08:09 GMT', 'Mon May  6 07:08:09 2024', AFTER),
        304, fields=SAME, body=b''),
    case('G3.before', asking('If-Modified-Since: ' + BEFORE), 200, body=A_TXT),
    case('G3.century', asking('If-Modified-Since: Friday, 31-Dec-99 23:59:59 GMT'), 200),
    *lettered('G4', case, if_modified_since(
        '2030', 'Sun, 30 Feb 2025 00:00:00 GMT', 'Sun, 02 Mar 2025 00:00:00 PST', 'tomorrow', '',
        'Mon, 06 May 2024 07:08:09', 'Mon, 06 May 2024 24:00:00 GMT', '0', '1714979289',
        'Mon, 06 May 2024 07:08:09 +0000', 'Mon, 6 May 2024 07:08:09 GMT',
        'Mon, 06 may 2024 07:08:09 GMT', 'Mon, 06 May 99999 07:08:09 GMT',
        'Mon, 06 May 2024 07:60:09 GMT', '2024-05-06T07:08:09Z', STAMP_DATE + ' x',
        'Mon, 31 Apr 2024 07:08:09 GMT', 'Mon, 06 May 2024 07:08:09 UTC'), 200, body=A_TXT),
    case('G11', asking('If-Modified-Since: ' + AFTER, 'If-Modified-Since: ' + AFTER), 200),

    # If-Match and If-Unmodified-Since: strong comparison, tag before date.
    *lettered('G5.match', case, [asking(f'If-Match: {value}') for value in (
        TAG, '*', '"x", ' + TAG)], 200, body=A_TXT),
    *lettered('G5.a', case, [asking(f'If-Match: {value}') for value in (
        '"no"', 'W/' + TAG, '"a", "b"', TAG.strip('"'))], 412),
    case('G5.b', asking('If-Unmodified-Since: ' + BEFORE), 412),
    *lettered('G5.unmodified', case, [asking(f'If-Unmodified-Since: {value}') for value in (
        STAMP_DATE, AFTER, 'tomorrow', '')], 200, body=A_TXT),
    case('G5.c', asking('If-Match: ' + TAG, 'If-Unmodified-Since: ' + BEFORE), 200),
    case('G5.match-first', asking('If-Match: "no"', 'If-None-Match: ' + TAG), 412),
    case('G5.then-none', asking('If-Match: ' + TAG, 'If-None-Match: ' + TAG), 304),
    case('G5.date-then-none', asking('If-Unmodified-Since: ' + BEFORE, 'If-None-Match: *'), 412),
    case('G5.kept', [asking('If-Match: "no"'), get('/a.txt')], [412, 200], body=A_TXT),

    # Only where the answer would be 2xx, and only for GET and HEAD.
    *lettered('G12', case, [asking(field, target='/missing') for field in (
        'If-None-Match: *', 'If-Match: *', 'If-Match: "x"', 'If-Unmodified-Since: ' + BEFORE)],
        404),
    case('G12.folder', asking('If-None-Match: *', target='/bare/'), 404),
    case('G12.closed', asking('If-None-Match: *', target='/locked.txt'), 403),
    case('G12.post', post('/a.txt', 'If-None-Match: *'), 405),
    case('G12.options', request('/a.txt', 'If-Match: "no"', method='OPTIONS'), 204),

    # A 304 and what follows it.
    case('H3', asking('If-None-Match: ' + TAG), 304, body=b'', fields={
        **SAME, 'Content-Length': None, 'Content-Range': None, 'Connection': None}),
    case('H4', [asking('If-Modified-Since: ' + STAMP_DATE)] * 3, [304, 304, 304]),
    case('S7', head('/big.bin', 'If-None-Match: ' + tag(BIG_SIZE)), 304),
    case('S7.head', head('/a.txt', 'If-Match: "no"'), 412),
    case('304.old', get('/a.txt', 'If-None-Match: *', version='HTTP/1.0'), 304, end='closed'),
    case('304.index', get('/', 'If-None-Match: *'), 304),
    case('304.range', asking('Range: bytes=0-1', 'If-None-Match: ' + TAG), 304),
]


@each_case(CASES)
def test_preconditions(case, server):
    run_case(case, server)


def test_G6_without_validators_only_the_asterisk_matches(server):
    for field, status in (('If-None-Match: *', 304), ('If-None-Match: "0-5"', 200),
                          ('If-Match: *', 200), ('If-Match: "0-5"', 412)):
        answer = ask_once(server.address, get('/times/zero.txt', field))
        assert answer.status == status, field


def test_G7_a_future_time_gives_304_to_its_own_date(server):
    first = ask_once(server.address, get('/times/future.txt'))
    for field in ('If-None-Match: ' + first.get('ETag'),
                  'If-Modified-Since: ' + email.utils.formatdate(time.time() + 2 * 10**7,
                                                                 usegmt=True)):
        assert ask_once(server.address, get('/times/future.txt', field)).status == 304
