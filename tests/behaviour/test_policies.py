"""What the operator decides: links, dotfiles, added fields, cache rules, charset, media
types, a page for what is missing, error pages, no entity tags."""
import os
import re

import pytest

from client import Client, ask_once, get, head, post, request
from docroot import A_TXT, DIR_INDEX, INDEX, tag
from exchanges import PROBE, case, check, lettered, play, refused
from test_command_line import FAILURE, USAGE, one_line
from test_parity import timeless
from waiting import wait_until

STAMP_DATE = 'Mon, 06 May 2024 07:08:09 GMT'
EARLIER = 'Mon, 06 May 2024 07:08:08 GMT'
BROWSER = 'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
APP = b'another index\n'
INNER = b'inner\n'
HTML = 'text/html; charset=utf-8'
PAGE = re.compile(r'text/html; charset=utf-8')

# ---- the tables: options, and rows played on a server that has them

NEVER = ('--symlinks', 'never')
FOLLOW = ('--symlinks', 'follow')
HIDE = ('--dotfiles', 'hide')
SHOW = ('--dotfiles', 'show')
FIELDS = ('--header', 'X-One: 1', '--header', 'Strict-Transport-Security:max-age=1',
          '--server-header', 'name')
CACHE = ('--cache', 'dir/inner.txt=private', '--cache', '/dir/*=max-age=1, public',
         '--cache', '*.txt=max-age=2', '--cache', 'index.html=no-transform')
LATIN = ('--charset', 'iso-8859-1')
NO_CHARSET = ('--charset', 'none')
NO_ETAG = ('--no-etag',)
SPA = ('--spa=other/start.htm',)
PAGES = ('--error-page', '404=/other/start.htm', '--error-page', '405=dir/inner.txt',
         '--error-page', '416=dir/inner.txt', '--error-page', '400=empty',
         '--error-page', '412=dir/inner.txt', '--error-page', '501=dir/inner.txt')
SPA_AND_PAGES = ('--spa=other/start.htm', '--error-page', '404=dir/inner.txt')

ADDED = {'X-One': '1', 'Strict-Transport-Security': 'max-age=1', 'Server': 'tetrad'}


def added(id, messages, status, **more):
    return case(f'header.{id}', messages, status, fields=ADDED, **more)


def cached(id, target, value, status=200, *fields):
    return case(f'cache.{id}', get(target, *fields), status,
                fields={'Cache-Control': value})


def typed(id, target, value, status=200):
    return case(id, get(target), status, fields={'Content-Type': value})


def untagged(id, fields, status, **more):
    return case(f'no-etag.{id}', get('/a.txt', *fields), status, fields={'ETag': None},
                **more)


def page(id, target, *fields):
    """Gets the page for what is missing."""
    return case(f'spa.{id}', get(target, *fields), 200, body=APP,
                fields={'Content-Type': HTML, 'Vary': 'Accept', 'ETag': tag(len(APP)),
                        'Cache-Control': 'no-cache'})


def missing(id, target, *fields):
    return case(f'spa.{id}', get(target, *fields), 404, fields={'Vary': None})


def error(id, message, status, body, kind, make=case, **fields):
    return make(f'error-page.{id}', message, status, body=body,
                fields={'Content-Type': kind, 'Content-Length': str(len(body)),
                        'Cache-Control': 'no-store', **fields})


TABLES = {
    NEVER: [
        case('C1.never', get('/link-in.txt'), 404),
        case('C1.never-chain', get('/link-chain.txt'), 404),
        case('C1.never-folder', get('/link-dir/'), 404),
        case('C1.never-redirect', get('/link-dir'), 404),
        case('C1.never-through', get('/link-dir/inner.txt'), 404),
        case('C1.never-up', get('/dir/link-up.txt'), 404),
        case('C1.never-out', get('/link-out.txt'), 404),
        case('C2.never', get('/outside-index/'), 404),
        case('C1.never-plain', get('/dir/inner.txt'), 200, body=INNER),
    ],
    FOLLOW: [
        case('C1.follow', get('/link-in.txt'), 200, body=A_TXT),
        case('C1.follow-folder', get('/link-dir/'), 200, body=DIR_INDEX),
        case('C1.follow-redirect', get('/link-dir'), 301,
             fields={'Location': '/link-dir/'}),
        # Links may leave the root; a request may not.
        *lettered('C1.follow-climb', case,
                  [get('/../secret'), get('/%2e%2e/secret'), get('/dir/../../secret'),
                   get('/link-dir/../../secret'), get('/..%2fsecret/../..')], 400),
        case('C1.follow-dots', get('/link-out-dir/../a.txt'), 200, body=A_TXT),
        case('C1.follow-encoded', get('/..%2fsecret'), 404),
        case('C1.follow-loop', get('/loop'), 404),
        case('C1.follow-dangling', get('/dangling'), 404),
        case('C5.follow-device', get('/null'), 403),
        case('C5.follow-no-index', get('/link-out-dir/'), 404),
    ],
    HIDE: [
        case('dotfiles.hide', get('/.hidden'), 200, body=b'dotfile\n'),
        case('dotfiles.hide-deep', get('/.git/config'), 200, body=b'dotfile\n'),
        case('dotfiles.hide-known', get('/.well-known/security.txt'), 200),
        case('dotfiles.hide-missing', get('/.no-such-file'), 404),
    ],
    SHOW: [
        case('dotfiles.show', get('/dir/.hidden'), 200, body=b'dotfile\n'),
        case('dotfiles.show-escaped', get('/%2egit/config'), 200, body=b'dotfile\n'),
        case('dotfiles.show-redirect', get('/.git'), 301, fields={'Location': '/.git/'}),
        case('dotfiles.show-dots', get('/../.hidden'), 400),
    ],
    FIELDS: [
        added('200', get('/a.txt'), 200, body=A_TXT),
        added('head', head('/a.txt'), 200),
        added('old', get('/a.txt', version='HTTP/1.0'), 200, end='closed'),
        added('206', get('/a.txt', 'Range: bytes=1-2'), 206, body=A_TXT[1:3]),
        added('multipart', get('/a.txt', 'Range: bytes=1-2,5-6'), 206),
        added('304', get('/a.txt', 'If-None-Match: *'), 304),
        added('301', get('/dir'), 301),
        added('404', get('/missing'), 404),
        added('405', post('/a.txt'), 405),
        added('412', get('/a.txt', 'If-Match: "x"'), 412),
        added('416', get('/a.txt', 'Range: bytes=10-'), 416),
        added('options', request('/a.txt', method='OPTIONS'), 204),
        added('pipelined', [get('/a.txt'), get('/missing'), get('/dir')], [200, 404, 301]),
        refused('header.400', get('/a.txt', host=None), fields=ADDED),
        refused('header.501', request('/', method='BREW'), 501, fields=ADDED),
    ],
    CACHE: [
        cached('first', '/dir/inner.txt', 'private'),
        cached('index', '/dir/', 'max-age=1, public'),
        cached('star', '/a.txt', 'max-age=2'),
        cached('escaped', '/%61.txt', 'max-age=2'),
        cached('slash', '/.well-known/security.txt', 'max-age=2'),
        cached('root-index', '/', 'no-transform'),
        cached('none', '/1k', 'no-cache'),
        cached('link', '/dir/link-up.txt', 'max-age=1, public'),
        cached('206', '/a.txt', 'max-age=2', 206, 'Range: bytes=0-0'),
        cached('304', '/a.txt', 'max-age=2', 304, 'If-None-Match: *'),
        cached('301', '/dir', 'no-cache', 301),
        cached('404', '/dir/missing.txt', 'no-store', 404),
        cached('412', '/a.txt', 'no-store', 412, 'If-Match: "x"'),
        cached('416', '/a.txt', 'no-store', 416, 'Range: bytes=99-'),
    ],
    LATIN: [
        typed('charset.text', '/a.txt', 'text/plain; charset=iso-8859-1'),
        typed('charset.index', '/', 'text/html; charset=iso-8859-1'),
        typed('charset.bytes', '/1k', 'application/octet-stream'),
        typed('charset.own', '/missing', HTML, 404),
        case('charset.parts', get('/a.txt', 'Range: bytes=0-0,5-5'), 206,
             fields={'Content-Type': re.compile('multipart/byteranges; boundary=.*')}),
    ],
    NO_CHARSET: [
        typed('charset.none', '/a.txt', 'text/plain'),
        typed('charset.none-index', '/dir/', 'text/html'),
        typed('charset.none-bytes', '/1k', 'application/octet-stream'),
    ],
    NO_ETAG: [
        untagged('plain', [], 200, body=A_TXT),
        untagged('match', [f'If-Match: {tag(10)}'], 412),
        untagged('match-any', ['If-Match: *'], 200),
        untagged('none-match', [f'If-None-Match: {tag(10)}'], 200),
        untagged('none-match-any', ['If-None-Match: *'], 304),
        untagged('none-match-first', ['If-None-Match: "x"',
                                      f'If-Modified-Since: {STAMP_DATE}'], 200),
        untagged('since', [f'If-Modified-Since: {STAMP_DATE}'], 304),
        untagged('unmodified', [f'If-Unmodified-Since: {EARLIER}'], 412),
        untagged('range', ['Range: bytes=2-3'], 206, body=A_TXT[2:4]),
        untagged('if-range-tag', ['Range: bytes=2-3', f'If-Range: {tag(10)}'], 200),
        untagged('if-range-date', ['Range: bytes=2-3', f'If-Range: {STAMP_DATE}'], 206),
    ],
    SPA: [
        page('plain', '/users/42'),
        page('query', '/users/42?x=a.js'),
        page('folder', '/users/'),
        page('dot-before', '/v1.2/users'),
        page('escaped', '/%75sers'),
        page('below-a-file', '/a.txt/x'),
        page('no-index', '/bare/'),
        page('browser', '/users/42', BROWSER),
        page('browser-dot', '/users/jane.doe', BROWSER),
        page('any', '/users', 'Accept: */*'),
        page('link-out', '/link-out', BROWSER),
        missing('script', '/app.js'),
        missing('script-any', '/app.js', 'Accept: */*'),
        missing('image', '/x.png', 'Accept: image/avif,image/webp,*/*;q=0.8'),
        missing('json', '/users', 'Accept: application/json'),
        missing('refused', '/users', 'Accept: */*, text/html;q=0'),
        missing('dotfile', '/.git/config', BROWSER),
        missing('encoded-slash', '/a%2Fb', BROWSER),
        case('spa.there', get('/a.txt', BROWSER), 200, body=A_TXT, fields={'Vary': None}),
        case('spa.itself', get('/other/start.htm'), 200, body=APP, fields={'Vary': None}),
        case('spa.index', get('/', BROWSER), 200, body=INDEX),
        case('spa.redirect', get('/dir', BROWSER), 301),
        case('spa.forbidden', get('/locked.txt', BROWSER), 403),
        case('spa.climb', get('/..', BROWSER), 400),
        case('spa.post', post('/users', BROWSER), 405),
        case('spa.options', request('/users', method='OPTIONS'), 204),
        case('spa.head', [head('/users'), get('/users')], [200, 200], body=APP),
        case('spa.304', get('/users', f'If-None-Match: {tag(len(APP))}'), 304,
             fields={'Vary': 'Accept', 'ETag': tag(len(APP))}),
        case('spa.206', get('/users', 'Range: bytes=2-4'), 206, body=APP[2:5],
             fields={'Vary': 'Accept'}),
        case('spa.pipelined', [get('/users'), get('/app.js'), get('/a.txt')],
             [200, 404, 200], body=A_TXT),
    ],
    PAGES: [
        error('404', get('/missing'), 404, APP, HTML),
        error('404-head', head('/missing'), 404, APP, HTML),
        error('404-dotfile', get('/.git'), 404, APP, HTML),
        error('404-link', get('/link-out.txt'), 404, APP, HTML),
        error('405', post('/a.txt'), 405, INNER, 'text/plain; charset=utf-8',
              Allow='GET, HEAD, OPTIONS'),
        error('412', get('/a.txt', 'If-Match: "x"'), 412, INNER,
              'text/plain; charset=utf-8'),
        error('416', get('/a.txt', 'Range: bytes=10-'), 416, INNER,
              'text/plain; charset=utf-8', **{'Content-Range': 'bytes */10'}),
        error('400', get('/%zz'), 400, b'', 'application/octet-stream'),
        error('400-close', get('/', host=None), 400, b'', 'application/octet-stream',
              refused),
        error('501-close', request('/', method='BREW'), 501, INNER,
              'text/plain; charset=utf-8', refused),
        case('error-page.403', get('/locked.txt'), 403, fields={'Content-Type': PAGE}),
        case('error-page.301', get('/dir'), 301, fields={'Content-Type': PAGE}),
        case('error-page.pipelined', [get('/missing'), get('/a.txt')], [404, 200],
             body=A_TXT),
    ],
    SPA_AND_PAGES: [
        case('spa-and-page.page', get('/users'), 200, body=APP),
        case('spa-and-page.error', get('/app.js'), 404, body=INNER),
    ],
}
ROWS = [pytest.param(options, row, id=row.id)
        for options, rows in TABLES.items() for row in rows]


def test_ids_are_unique():
    ids = [row.id for rows in TABLES.values() for row in rows]
    assert sorted(ids) == sorted(set(ids))


@pytest.mark.parametrize('options, row', ROWS)
def test_policies(pool, model, options, row):
    check(row, play(row, pool.get(model, *options).address))


@pytest.mark.parametrize('options, row', ROWS)
def test_parity_of_policies(pool, models, options, row):
    seen = {model: timeless(play(row, pool.get(model, *options).address).raw)
            for model in models}
    for model, raw in seen.items():
        assert raw == seen[models[0]], f'{model} differs from {models[0]}'


# ---- what needs files or a server of its own

def test_follow_leads_outside(pool, model, docroot, scratch):
    """And what lies there changes like any other file."""
    outside = docroot.outside(f'shared-{scratch[:-1]}.txt')
    docroot.write(outside, b'first\n')
    os.symlink(outside, docroot.at(scratch + 'file.txt'))
    os.symlink(os.path.dirname(outside), docroot.at(scratch + 'folder'))
    follow, inside = pool.get(model, *FOLLOW), pool.get(model)
    name = os.path.basename(outside)
    for target in (f'/{scratch}file.txt', f'/{scratch}folder/{name}'):
        assert ask_once(follow.address, get(target)).body == b'first\n'
        assert ask_once(inside.address, get(target)).status == 404
    docroot.write(outside + '.next', b'second\n')
    os.rename(outside + '.next', outside)
    wait_until(lambda: ask_once(follow.address, get(f'/{scratch}file.txt')).body ==
               b'second\n', 3, 'the new file is served')


def test_the_root_may_be_a_link(launch, model, docroot):
    link = docroot.outside(f'link-to-root-{model}')
    os.symlink(docroot.path, link)
    assert ask_once(launch(model, *NEVER, root=link).address, PROBE).body == A_TXT


def test_mime_types(launch, model, docroot, scratch):
    types = docroot.write(scratch + 'types', b'# ours\ntext/x-odd odd\napplication/x-mine txt\n')
    docroot.write(scratch + 'file.ODD', b'odd\n')
    server = launch(model, '--mime-types', types)
    odd = ask_once(server.address, get(f'/{scratch}file.ODD'))
    assert odd.get('Content-Type') == 'text/x-odd; charset=utf-8'
    assert ask_once(server.address, PROBE).get('Content-Type') == 'application/x-mine'
    assert ask_once(server.address, get('/')).get('Content-Type') == HTML


def test_as_many_fields_as_fit(launch, program, model, docroot):
    """An answer with 4096 bytes of added fields, kept and over HTTP/1.0."""
    options = []
    for number in range(16):
        options += ['--header', f'X-{number:02}: ' + 'v' * (256 - len('X-00: \r\n'))]
    server = launch(model, *options)
    for version in ('HTTP/1.1', 'HTTP/1.0'):
        answer = ask_once(server.address, get('/a.txt', version=version))
        assert answer.body == A_TXT
        assert all(answer.get(f'X-{number:02}') for number in range(16))
    one_line(program.run('--header', 'Y: y', *options, docroot.path), USAGE, '--header',
             'X-15')


def test_spa_follows_its_file(launch, model, docroot, scratch):
    """A page that comes, changes and goes; a missing one is said at the start."""
    name = scratch + 'app.html'
    server = launch(model, f'--spa=/{name}', '--revalidate', '0')
    assert name in server.said()
    with Client(server.address) as client:
        assert client.ask(get('/users')).status == 404
        docroot.write(name, b'one\n')
        assert client.ask(get('/users')).body == b'one\n'
        docroot.replace(name, b'another\n')
        assert client.ask(get('/users')).body == b'another\n'
        docroot.write(scratch + 'page', b'there\n')
        assert client.ask(get(f'/{scratch}page')).body == b'there\n'
        os.remove(docroot.at(scratch + 'page'))
        assert client.ask(get(f'/{scratch}page')).body == b'another\n'
        os.remove(docroot.at(name))
        assert client.ask(get('/users')).status == 404


def test_large_page_for_what_is_missing(launch, model, docroot):
    """Sent from a descriptor, as by its own name."""
    server = launch(model, '--spa=big.bin')
    with Client(server.address) as client:
        answer = client.ask(get('/users'))
        assert (answer.status, answer.body) == (200, docroot.big)
        part = client.ask(get('/users', 'Range: bytes=-8'))
        assert (part.status, part.body) == (206, docroot.big[-8:])
        client.expect_kept(PROBE)


def test_error_page_is_read_once(launch, model, docroot, scratch):
    name = scratch + 'lost.html'
    docroot.write(name, b'lost\n')
    server = launch(model, '--error-page', f'404={name}', '--revalidate', '0')
    os.remove(docroot.at(name))
    for _ in range(2):
        answer = ask_once(server.address, get(f'/{name}'))
        assert (answer.status, answer.body) == (404, b'lost\n')


def test_error_page_over_the_limit(launch, model):
    """The refusal of one connection too many has it as well."""
    server = launch(model, '--max-connections', '1', '--error-page', '503=dir/inner.txt',
                    '--header', 'X-One: 1')
    with Client(server.address) as inside, Client(server.address) as outside:
        inside.ask(PROBE)
        answer = outside.receive()[0]
        assert (answer.status, answer.body) == (503, INNER)
        assert answer.get('X-One') == '1'
        outside.expect_close()


def test_hint_about_the_index(launch, model, docroot):
    """None where the page for what is missing stands for it."""
    root = docroot.at('other')
    plain, spa = launch(model, root=root), launch(model, '--spa=start.htm', root=root)
    assert len(spa.said().splitlines()) == len(plain.said().splitlines()) - 1
    assert ask_once(spa.address, get('/')).body == APP


# ---- the environment

def test_environment_twins(launch, model):
    server = launch(model, TETRAD_SYMLINKS='never', TETRAD_DOTFILES='show',
                    TETRAD_CHARSET='none', TETRAD_HEADER='X-One: 1\nX-Two: 2\n',
                    TETRAD_CACHE='a.*=max-age=1\n*=max-age=2', TETRAD_SPA='other/start.htm',
                    TETRAD_ERROR_PAGE='404=dir/inner.txt', TETRAD_NO_ETAG='1',
                    TETRAD_MIME_TYPES='/dev/null')
    with Client(server.address) as client:
        answer = client.ask(PROBE)
        assert answer.get('ETag') is None and answer.get('Last-Modified') == STAMP_DATE
        assert (answer.get('X-One'), answer.get('X-Two')) == ('1', '2')
        assert answer.get('Cache-Control') == 'max-age=1'
        assert answer.get('Content-Type') == 'text/plain'
        assert client.ask(get('/1k')).get('Cache-Control') == 'max-age=2'
        assert client.ask(get('/.hidden')).body == b'dotfile\n'
        assert client.ask(get('/link-in.txt')).body == INNER
        assert client.ask(get('/users')).body == APP


def test_the_command_line_wins(launch, model):
    server = launch(model, '--symlinks', 'inside', '--header', 'X-One: 1', '--spa=0',
                    TETRAD_SYMLINKS='always', TETRAD_HEADER='Date: x', TETRAD_SPA='..')
    answer = ask_once(server.address, get('/link-in.txt'))
    assert (answer.body, answer.get('X-One')) == (A_TXT, '1')
    assert ask_once(server.address, get('/users')).status == 404


# ---- what is wrong

OWNED = ['Date', 'content-length', 'Connection', 'TRANSFER-ENCODING', 'Keep-Alive', 'TE',
         'Trailer', 'Upgrade', 'Proxy-Connection', 'Server', 'ETag', 'Last-Modified',
         'Cache-Control', 'Content-Type', 'Content-Encoding', 'Content-Range',
         'Accept-Ranges', 'Location', 'Allow', 'Retry-After', 'X-Content-Type-Options']


@pytest.mark.parametrize('arguments, words', [
    (['--symlinks', 'always'], ['symlinks', 'always']), (['--symlinks='], ['symlinks']),
    (['--dotfiles', 'yes'], ['dotfiles', 'yes']), (['--dotfiles'], ['dotfiles']),
    (['--charset', 'a b'], ['charset', 'a b']), (['--charset', ''], ['charset']),
    (['--mime-types', ''], ['mime-types']),
    *((['--header', f'{name}: x'], ['header', f'{name}: x']) for name in OWNED),
    (['--header', 'X: a\rb'], ['header']), (['--header', 'X: a\nY: b'], ['header']),
    (['--header', 'X: a\r\n\r\nb'], ['header']), (['--header', 'X: a\tb'], ['header']),
    (['--header', 'X : a'], ['header', 'X : a']), (['--header', 'X'], ['header', 'X']),
    (['--header', 'X:'], ['header', 'X:']), (['--header', ': a'], ['header', ': a']),
    (['--header', 'X: \u00e4'], ['header']), (['--header', 'X: ' + 'y' * 4096], ['header']),
    (['--cache', 'max-age=1\n'], ['cache']), (['--cache', '*.css'], ['cache', '*.css']),
    (['--cache', '=x'], ['cache', '=x']), (['--cache', '*=' + 'y' * 257], ['cache']),
    (['--spa=../x'], ['spa', '../x']), (['--spa=a/'], ['spa', 'a/']),
    (['--error-page', '404'], ['error-page', '404']),
    (['--error-page', '200=x'], ['error-page', '200=x']),
    (['--error-page', '404=../x'], ['error-page', '404=../x']),
    (['--no-etag=1'], ['no-etag']), (['--listing=1'], ['listing']),
], ids=lambda value: '_'.join(value)[:40] if isinstance(value, list) else None)
def test_bad_usage(program, arguments, words):
    one_line(program.run(*arguments), USAGE, *words)


@pytest.mark.parametrize('name, value', [
    ('TETRAD_SYMLINKS', 'x'), ('TETRAD_DOTFILES', ''), ('TETRAD_CHARSET', ';'),
    ('TETRAD_HEADER', 'X: a\nDate: x'), ('TETRAD_CACHE', '*=a\n*'), ('TETRAD_SPA', '/'),
    ('TETRAD_ERROR_PAGE', '404=a\n404=..'), ('TETRAD_NO_ETAG', 'yes'),
    ('TETRAD_LISTING', 'yes'), ('TETRAD_MIME_TYPES', '')])
def test_bad_values_in_the_environment(program, docroot, name, value):
    one_line(program.run(docroot.path, **{name: value}), USAGE, name)


@pytest.mark.parametrize('rule, words', [
    ('404=no-such-file', ['No such file']), ('404=dir', ['directory']),
    ('404=link-out.txt', ['not below']), ('404=big.bin', ['64 KiB']),
    ('404=fifo', ['denied']), ('404=locked.txt', ['denied']), ('402=no-such-file', ['No such'])])
def test_bad_error_pages(program, model, docroot, rule, words):
    result = program.run('-m', model, '-p', '0', '--error-page', rule, docroot.path)
    one_line(result, FAILURE, 'error-page', rule, *words)


def test_bad_mime_types(program, model, docroot, scratch):
    bad = docroot.write(scratch + 'bad', b'text/plain txt\nno-type txt\n')
    for path, words in ((bad, ['line 2']), (docroot.at('no-such-file'), ['No such file']),
                        (docroot.at('dir'), ['directory']), (docroot.at('big.bin'), ['1 MiB'])):
        result = program.run('-m', model, '-p', '0', '--mime-types', path, docroot.path)
        one_line(result, FAILURE, 'mime-types', path, *words)
