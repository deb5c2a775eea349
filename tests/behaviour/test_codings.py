"""Precompressed siblings: which form of a file is sent, what its fields say, and how
changes of siblings are seen (RFC 9110 8.4 and 12.5.3)."""
import os
import re

import pytest

from client import Client, ask_once, get, head
from docroot import (LARGE_GZ, PAGE_BR, PAGE_GZ, PAGE_JS, PAGE_ZST, PLAIN_TXT, STAMP_NS,
                     tag)
from exchanges import PROBE, case, each_case, lettered, run_case
from test_responses import STAMP_DATE
from waiting import AT_ONCE, wait_until

BROWSER = 'gzip, deflate, br, zstd'
JS = 'text/javascript; charset=utf-8'
PLAIN = 'text/plain; charset=utf-8'
BODIES = {None: PAGE_JS, 'zstd': PAGE_ZST, 'br': PAGE_BR, 'gzip': PAGE_GZ}


def coded_tag(coding, size, mtime_ns=STAMP_NS):
    return tag(size, mtime_ns)[:-1] + (f'-{coding}"' if coding else '"')


def fields(coding, size, kind=JS):
    return {'Content-Encoding': coding, 'ETag': coded_tag(coding, size), 'Content-Type': kind,
            'Vary': 'Accept-Encoding', 'Last-Modified': STAMP_DATE, 'Accept-Ranges': 'bytes',
            'Content-Length': str(size), 'Cache-Control': 'no-cache'}


def asking(target, accept, *more, **rest):
    """accept: None leaves the field out."""
    ask = [] if accept is None else [f'Accept-Encoding: {accept}']
    return get(target, *ask, *more, **rest)


def chosen(id, coding, *accepts):
    """Each of these gets this form of page.js."""
    body = BODIES[coding]
    return lettered(id, case, [asking('/coded/page.js', accept) for accept in accepts], 200,
                    body=body, fields=fields(coding, len(body)))


def form(id, target, accept, coding, body, kind=PLAIN):
    return case(id, asking(target, accept), 200, body=body,
                fields=fields(coding, len(body), kind))


def plain(id, name):
    """No sibling of it may be used, so nothing varies."""
    return case(id, asking(f'/coded/{name}', BROWSER), 200, body=PLAIN_TXT,
                fields={'Content-Encoding': None, 'Vary': None, 'ETag': tag(len(PLAIN_TXT))})


CHOICES = [
    *chosen('S3.identity', None, None, '', 'identity', 'xgzip, brx', 'gzip;q=0, br;q=0',
            '*;q=0', 'identity;q=0', 'deflate', 'gzip;q=0.5, identity', 'gzip;q=2', 'gzip;x=1',
            'gzip;q=0.5, identity;q=0.6', '"gzip"'),
    *chosen('S3.gzip', 'gzip', 'gzip', 'GZIP', 'x-gzip', 'gzip, deflate', 'gzip;q=0.001',
            'br;q=0.5, gzip', 'gzip;q=1.0, *;q=0', 'identity;q=0, gzip;q=0.1',
            'gzip ; q=0.5 , br ; q=0.4', '*;q=0.3, gzip;q=0.4', 'zstd;q=0,br;q=0,*'),
    *chosen('S3.br', 'br', 'br', 'gzip, br', 'br;q=1, gzip;q=1', '*, zstd;q=0',
            'zstd;q=0.8, br;q=0.9'),
    *chosen('S3.zstd', 'zstd', 'zstd', BROWSER, '*', 'gzip, br, zstd', 'identity, zstd',
            'zstd;q=0.5, identity;q=0.5'),
    case('S3.two-fields', asking('/coded/page.js', 'gzip', 'Accept-Encoding: br'), 200,
         body=PAGE_BR),
    case('S3.excluded-in-another-field',
         asking('/coded/page.js', 'gzip;q=0', 'Accept-Encoding: gzip'), 200, body=PAGE_JS),
    case('S3.1.0', asking('/coded/page.js', 'gzip', version='HTTP/1.0'), 200, end='closed',
         body=PAGE_GZ),
    form('S3.index', '/coded/', 'gzip', 'gzip', b'packed index', 'text/html; charset=utf-8'),
    form('S3.index-by-name', '/coded/index.html', BROWSER, 'gzip', b'packed index',
         'text/html; charset=utf-8'),
    form('S3.escaped', '/coded/%70age.js?v=1', 'gzip', 'gzip', PAGE_GZ, JS),
    form('S3.large', '/coded/large.css', 'gzip', 'gzip', LARGE_GZ, 'text/css; charset=utf-8'),
    form('S3.large-plain', '/coded/large.css', None, None, LARGE_GZ * 2,
         'text/css; charset=utf-8'),
    form('S3.empty', '/coded/empty.txt', BROWSER, 'gzip', b''),
    form('S3.link-inside', '/coded/in.txt', BROWSER, 'gzip', PAGE_GZ),
    form('S3.unreadable', '/coded/locked.txt', BROWSER, 'gzip', b'not locked'),
    case('S3.sibling-itself', asking('/coded/page.js.gz', BROWSER), 200, body=PAGE_GZ,
         fields={'Content-Encoding': None, 'Vary': None, 'Content-Type': 'application/gzip'}),
    case('S3.redirect', asking('/coded', BROWSER), 301,
         fields={'Vary': None, 'Content-Encoding': None}),
    case('S3.missing', asking('/coded/no-such-file', BROWSER), 404, fields={'Vary': None}),
    case('C3', asking('/coded/out.txt', 'gzip'), 200, body=PLAIN_TXT, fields={'Vary': None}),
    plain('C3.all', 'out.txt'), plain('S3.old', 'old.txt'), plain('S3.folder', 'folder.txt'),
    plain('S3.fifo', 'fifo.txt'), plain('S3.loop', 'loop.txt'), plain('S3.gone', 'gone.txt'),
    plain('S3.none', 'none.txt'),
]


def answered(id, message, status, **more):
    expected = {'Vary': 'Accept-Encoding', **more.pop('fields', {})}
    return case(f'S4.{id}', message, status, fields=expected, **more)


GZ_TAG, JS_TAG = coded_tag('gzip', len(PAGE_GZ)), tag(len(PAGE_JS))

ANSWERS = [
    answered('not-modified', asking('/coded/page.js', 'gzip', f'If-None-Match: {GZ_TAG}'), 304,
             fields={'ETag': GZ_TAG, 'Content-Encoding': None}),
    answered('not-modified-plain', asking('/coded/page.js', None, f'If-None-Match: {JS_TAG}'),
             304, fields={'ETag': JS_TAG}),
    answered('tag-of-another-form', asking('/coded/page.js', 'gzip', f'If-None-Match: {JS_TAG}'),
             200, body=PAGE_GZ),
    answered('not-modified-since', asking('/coded/page.js', 'gzip',
                                          f'If-Modified-Since: {STAMP_DATE}'), 304),
    answered('match', asking('/coded/page.js', 'gzip', f'If-Match: {GZ_TAG}'), 200,
             body=PAGE_GZ),
    answered('no-match', asking('/coded/page.js', 'gzip', f'If-Match: {JS_TAG}'), 412),
    answered('range', asking('/coded/page.js', 'gzip', 'Range: bytes=6-9'), 206, body=b'0123',
             fields={'Content-Range': f'bytes 6-9/{len(PAGE_GZ)}', 'Content-Encoding': 'gzip',
                     'Content-Type': JS, 'ETag': GZ_TAG}),
    answered('range-plain', asking('/coded/page.js', None, 'Range: bytes=4-9'), 206,
             body=b'script', fields={'Content-Encoding': None}),
    answered('range-large', asking('/coded/large.css', 'gzip', 'Range: bytes=-5'), 206,
             body=LARGE_GZ[-5:], fields={'Content-Encoding': 'gzip'}),
    answered('no-range', asking('/coded/page.js', 'gzip', f'Range: bytes={len(PAGE_GZ)}-'), 416,
             fields={'Content-Range': f'bytes */{len(PAGE_GZ)}'}),
    answered('range-in-the-plain-form-only',
             asking('/coded/page.js', None, f'Range: bytes={len(PAGE_GZ)}-'), 206),
    answered('if-range', asking('/coded/page.js', 'gzip', 'Range: bytes=0-3',
                                f'If-Range: {GZ_TAG}'), 206, body=b'gzip'),
    answered('if-range-of-another-form', asking('/coded/page.js', 'gzip', 'Range: bytes=0-3',
                                                f'If-Range: {JS_TAG}'), 200, body=PAGE_GZ),
    answered('several-ranges', asking('/coded/page.js', 'gzip', 'Range: bytes=0-3,-3'), 206,
             fields={'Content-Encoding': None,
                     'Content-Type': re.compile('multipart/byteranges; boundary=.*')}),
    answered('head', head('/coded/page.js', 'Accept-Encoding: gzip'), 200,
             fields=fields('gzip', len(PAGE_GZ))),
    answered('head-of-the-plain-form', head('/coded/page.js'), 200,
             fields=fields(None, len(PAGE_JS))),
    answered('in-turn', [asking('/coded/page.js', accept)
                         for accept in ('gzip', None, 'br', 'zstd', 'gzip', '')],
             [200] * 6, body=PAGE_JS),
]

CASES = CHOICES + ANSWERS


@each_case(CASES)
def test_codings(case, server):
    run_case(case, server)


def test_parts_are_coded_and_not_their_wrapping(server):
    answer = ask_once(server.address, asking('/coded/page.js', 'gzip', 'Range: bytes=0-3,-3'))
    boundary = answer.get('Content-Type').partition('boundary=')[2].encode()
    heads = [part.partition(b'\r\n\r\n') for part in answer.body.split(b'--' + boundary)[1:-1]]
    assert [body for _, _, body in heads] == [b'gzip\r\n', b'def\r\n']
    for text, _, _ in heads:
        assert b'\r\nContent-Encoding: gzip\r\n' in text + b'\r\n'
        assert b'\r\nContent-Type: ' + JS.encode() + b'\r\n' in text + b'\r\n'


@pytest.mark.parametrize('options', [(), ('--revalidate', '0'), ('--cache-size', '0')],
                         ids=['cached', 'checked', 'uncached'])
def test_every_form_by_turns(pool, model, options):
    """However often, and whatever was asked for before."""
    with Client(pool.get(model, *options).address) as client:
        for coding in [None, 'gzip', 'br', 'zstd', 'br', None, 'zstd', 'gzip'] * 3:
            answer = client.ask(asking('/coded/page.js', coding))
            assert (answer.get('Content-Encoding'), answer.body) == (coding, BODIES[coding])


# ---- changes

@pytest.fixture(params=['cached', 'checked'])
def served(request, pool, model):
    options = [] if request.param == 'cached' else ['--revalidate', '0']
    return pool.get(model, *options)


@pytest.mark.parametrize('change', ['appears', 'vanishes', 'is replaced', 'gets old',
                                    'is linked outside'])
def test_changes_are_seen_in_time(served, docroot, scratch, change):
    name = scratch + 'x.txt'
    docroot.write(name, b'plain')
    if change != 'appears':
        docroot.write(name + '.gz', b'packed')
    before = (None, b'plain') if change == 'appears' else ('gzip', b'packed')

    def ask():
        answer = ask_once(served.address, asking('/' + name, BROWSER))
        assert answer.get('Vary') == (answer.get('Content-Encoding') and 'Accept-Encoding')
        return answer.get('Content-Encoding'), answer.body
    assert ask() == before and ask() == before
    after = None, b'plain'
    if change == 'appears':
        docroot.write(name + '.gz', b'packed')
        after = 'gzip', b'packed'
    elif change == 'is replaced':
        docroot.replace(name + '.gz', b'repacked')
        after = 'gzip', b'repacked'
    elif change == 'gets old':
        docroot.replace(name, b'newer', STAMP_NS + 1)
        after = None, b'newer'
    else:
        os.unlink(docroot.at(name + '.gz'))
        if change == 'is linked outside':
            os.symlink(docroot.outside('secret'), docroot.at(name + '.gz'))
    # In prefork each child learns of it for itself, so that one more answer may be old.
    wait_until(lambda: ask() == after and ask() == after, 1 + AT_ONCE)


def test_the_plain_form_learns_of_siblings(served, docroot, scratch):
    """Vary must be there for those too who get the file as it is."""
    name = scratch + 'x.txt'
    docroot.write(name, b'plain')
    assert ask_once(served.address, get('/' + name)).get('Vary') is None
    docroot.write(name + '.br', b'packed')

    def varies():
        answer = ask_once(served.address, get('/' + name))
        assert (answer.body, answer.get('Content-Encoding')) == (b'plain', None)
        return answer.get('Vary') == 'Accept-Encoding'
    wait_until(varies, 1 + AT_ONCE)


def test_forms_and_bytes_belong_together(pool, model, docroot, scratch):
    """While both the file and its sibling are being replaced."""
    server = pool.get(model, '--revalidate', '0')
    name = scratch + 'x.txt'
    with Client(server.address) as client:
        for i in range(60):
            stamp = STAMP_NS + i * 10**9
            docroot.replace(name, b'plain %d' % i, stamp)
            if i % 3:
                docroot.replace(name + '.gz', b'packed form %d' % i, stamp)
            answer = client.ask(asking('/' + name, 'gzip'))
            coding = 'gzip' if i % 3 else None
            body = b'packed form %d' % i if i % 3 else b'plain %d' % i
            assert (answer.get('Content-Encoding'), answer.body) == (coding, body)
            assert answer.get('ETag') == coded_tag(coding, len(body), stamp)
        client.expect_kept(PROBE)


@pytest.mark.parametrize('rule, coding', [('inside', 'gzip'), ('never', None),
                                          ('follow', 'gzip')])
def test_links_by_the_rule(launch, model, rule, coding):
    server = launch(model, '--symlinks', rule)
    answer = ask_once(server.address, asking('/coded/in.txt', 'gzip'))
    assert answer.get('Content-Encoding') == coding
    assert answer.body == (PAGE_GZ if coding else PLAIN_TXT)


def test_a_page_for_what_is_missing_has_forms(launch, model):
    server = launch(model, '--spa=coded/index.html')
    for accept, coding, body in ((None, None, b'<p>coded\n'), ('gzip', 'gzip', b'packed index')):
        answer = ask_once(server.address, asking('/users', accept))
        assert (answer.status, answer.body) == (200, body)
        assert answer.get('Content-Encoding') == coding
        assert answer.get('Vary') == 'Accept, Accept-Encoding'
