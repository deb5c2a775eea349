"""From a target to a file (RFC 3986 5.2.4 and 6.2.2; RFC 9110 17.3)."""
import pytest

from client import ask_once, get
from docroot import A_TXT, AWKWARD, DIR_INDEX, INDEX
from exchanges import case, each_case, lettered, run_case


def found(id, target, body):
    return case(id, get(target), 200, body=body)


def gets(*targets):
    return [get(target) for target in targets]


CASES = [
    # Dot segments.
    *lettered('B1', case, gets(
        '/%2e%2e/%2e%2e/etc/passwd', '/.%2e/.%2e/etc/passwd', '/%2e./%2e./etc/passwd',
        '/../../etc/passwd', '/..', '/../', '/%2e%2e', '/dir/../../etc/passwd', '/./../secret',
        '/dir/inner.txt/../../../secret', '/a.txt/../../secret', '//../secret', '/%2E%2E/secret'),
        400),
    *lettered('B1.slash', case, gets('/..%2f..%2fetc/passwd', '/..%2Fsecret', '/%2e%2e%2fsecret'),
              404),
    case('B3', get('/../www-private/x'), 400),
    *lettered('B4', case, gets('/.%2e/.%2e/etc/passwd', '/%%32%65%%32%65/etc/passwd'), 400),
    case('B4.twice', get('/%252e%252e/%252e%252e/etc/passwd'), 404),
    *lettered('dots', case, gets(
        '/./a.txt', '/dir/../a.txt', '/dir/./../a.txt', '/%2e/a.txt', '/dir/%2e%2e/a.txt',
        '/no-such/../a.txt', '/a.txt/../a.txt', '/dir/inner.txt/../../a.txt', '//a.txt',
        '///a.txt', '/.//a.txt', '/dir//../a.txt', '/dir/..//a.txt', '/a%2etxt', '/%61%2e%74xt'),
        200, body=A_TXT),
    *lettered('dots.root', case, gets('/', '//', '/.', '/./', '/dir/..', '/dir/../', '/?', '/?x',
                                      '/no-such/..', '/%2e', '//.//'), 200, body=INDEX),
    *lettered('dots.folder', case, gets('/dir/', '/dir/.', '/dir/./', '/dir//', '/dir/x/..',
                                        '//dir/', '/dir/index.html', '/dir//index.html'),
              200, body=DIR_INDEX),

    # Escapes.
    found('B5', '/foo%2525bar.txt', b'file foo%25bar.txt\n'),
    found('B5.once', '/foo%25bar.txt', b'file foo%bar.txt\n'),
    *lettered('B6', case, gets('/a.txt%00', '/%00', '/a.txt%00.html'), 400),
    *lettered('B7', case, gets('/dir%00/', '/dir/%00/x', '/dir/index.html%00.txt'), 400),
    *lettered('B8', case, gets('/%', '/a%2', '/%C', '/a.txt%'), 400),
    *lettered('B8.bytes', case, gets('/%C3', '/%F0%80%80', '/%ff%fe', '/%80', '/%1b%5b31m',
                                     '/%0d%0aX:%20y', '/%7f'), 404),
    found('B8.query', '/a.txt?%', A_TXT),
    *lettered('B14', case, gets('/%zz', '/%u0041', '/%2', '/%2g', '/%g2', '/%+2', '/%-1',
                                '/dir/%zz/../../a.txt', '/%zz?x'), 400),

    # Plain names.
    *lettered('B9', case, gets('/..%20/x', '/.../x', '/a.txt.', '/a.txt%20', '/%20a.txt',
                               '/.../.../etc/passwd', '/A.TXT', '/a.txt~', '/a.txt%2f'), 404),
    *lettered('B10', case, gets('/x//%5c../%5c../etc/passwd', '/..%5c..%5csecret',
                                '/..\\..\\secret', '/dir\\inner.txt'), 404),
    found('B11.a', '/with%20space.txt', b'file with space.txt\n'),
    found('B11.b', '/caf%C3%A9.txt', b'file caf\xc3\xa9.txt\n'),
    *lettered('B12', case, gets('/a+b.txt', '/a%2Bb.txt', '/a%2bb.txt'), 200,
              body=b'file a+b.txt\n'),
    case('B12.space', get('/a%20b.txt'), 404),
    *lettered('B13', case, gets('/dir/..%2f..%2fetc/passwd', '/dir%2finner.txt', '/dir%2F',
                                '/%2fa.txt', '/%2f', '/dir/%2finner.txt'), 404),
    found('B15', '/+x+.css', b'file +x+.css\n'),
    found('name.backslash', '/back\\slash.txt', b'file back\\slash.txt\n'),
    found('name.semicolon', '/semi;colon.txt', b'file semi;colon.txt\n'),
    case('name.parameter', get('/a.txt;jsessionid=1'), 404),

    # The query.
    *lettered('query', case, gets('/a.txt?', '/a.txt?x=1', '/a.txt?/../..', '/a.txt??',
                                  '/a.txt?%zz', '/a.txt?%00', '/a.txt?a=b&c=d',
                                  '/a.txt?http://u.test/'),
              200, body=A_TXT),
    case('query.encoded', get('/a.txt%3Fx=1'), 404),

    # Missing, and a file taken for a folder.
    *lettered('missing', case, gets('/missing', '/missing/', '/dir/missing', '/missing/index.html',
                                    '/bare/two.txt', '/index.htm', '/dir/dir'), 404),
    *lettered('P2', case, gets('/a.txt/x', '/a.txt/', '/a.txt//', '/a.txt/.', '/a.txt/index.html',
                               '/dir/inner.txt/'), 404),
    case('P1.a', get('/' + 'n' * 300), 404),
    case('P1.b', get('/' + 'seg/' * 1250), 404),
    case('P1.c', get('/' + 'n' * 255), 404),
    case('P1.d', get('/' + 'n' * 256), 404),
    case('P1.e', get('/' + '%6e' * 2700), 404),
    case('Q1.a', get('/' + 'qq/' * 1200 + 'x'), 404),
    case('P1.deep', get('/' + 'dir/../' * 1100 + 'a.txt'), 200, body=A_TXT),
    case('P1.slashes', get('/' * 4096 + 'a.txt'), 200, body=A_TXT),

    # Dotfiles.
    *lettered('dotfile', case, gets('/.hidden', '/%2ehidden', '/.git/config', '/.git/', '/.git',
                                    '/dir/.hidden', '/.no-such', '/dir/../.hidden'), 404),
    found('dotfile.well-known', '/.well-known/security.txt', b'known\n'),
    case('dotfile.well-known-missing', get('/.well-known/no-such'), 404),
]


@each_case(CASES)
def test_paths(case, server):
    run_case(case, server)


def percent(text):
    return ''.join(f'%{byte:02X}' for byte in text.encode())


@pytest.mark.parametrize('name', AWKWARD, ids=percent)
def test_B11_any_name_is_reachable(server, name):
    answer = ask_once(server.address, get('/' + percent(name)))
    assert (answer.status, answer.body) == (200, b'file ' + name.encode() + b'\n')
