"""The request line and the limits of a head (RFC 9112 2.2 and 3; RFC 6585 5)."""
from client import get, request
from docroot import A_TXT
from exchanges import case, each_case, either, lettered, refused, run_case

HOST = b'Host: t.test\r\n'
TARGET_MOST = 8192
HEAD_MOST = 16384


def line(text):
    """A request with this request line, which has no CRLF yet."""
    return text + b'\r\n' + HOST + b'\r\n'


def sized_head(size):
    """A request of exactly that many bytes in several fields."""
    base = get('/a.txt', 'X: ', 'Y: ')
    pad = size - len(base)
    return get('/a.txt', 'X: ' + 'x' * (pad // 2), 'Y: ' + 'y' * (pad - pad // 2))


CASES = [
    case('request-line.plain', get('/a.txt'), 200, body=A_TXT),

    # Line ends.
    refused('A2', b'GET /a.txt HTTP/1.1\r\nHost: t.test\r\n\rX' + get('/etc/passwd')),
    refused('A4', b'GET /a.txt\nHost: t.test\r\nContent-Length: 5\r\n\r\nhello'),
    *lettered('line-end', refused, [
        b'GET /a.txt HTTP/1.1\n' + HOST + b'\r\n',
        b'GET /a.txt HTTP/1.1\r' + HOST + b'\r\n',
        b'GET /a.txt HTTP/1.1\r\r\n' + HOST + b'\r\n',
        b'GET /a.txt HTTP/1.1\r\nHost: t.test\n\r\n',
        b'GET /a.txt HTTP/1.1\r\nHost: t.test\r\n\n',
        b'GET /a.txt HTTP/1.1\r\nHost: t.test\r\r\n',
        b'GET /a.txt HTTP/1.1\n\n',
        b'GET\r/a.txt HTTP/1.1\r\n' + HOST + b'\r\n',
        b'\n' + get('/a.txt'),
        b'\r' + get('/a.txt'),
        b'\r\n\n' + get('/a.txt'),
    ]),

    # Empty lines before a request.
    case('I8.a', b'\r\n' + get('/a.txt'), 200, body=A_TXT),
    case('I8.b', [get('/a.txt'), b'\r\n' + get('/a.txt')], [200, 200], body=A_TXT),
    case('I8.c', b'\r\n' * 4 + get('/a.txt'), 200, body=A_TXT),
    case('I8.d', [get('/a.txt'), b'\r\n' * 4 + get('/a.txt')], [200, 200]),
    refused('I8.e', b'\r\n' * 5 + get('/a.txt')),
    refused('I8.f', b'\r\n' * 1000),

    # Versions.
    *lettered('K7', refused, [
        get('/', version='HTTP/0.9'),
        get('/', version='HTTP/2.0'),
        get('/', version='HTTP/1.2'),
        get('/', version='HTTP/3.1'),
        get('/', version='HTTP/0.0'),
        get('/', version='HTTP/9.9'),
    ], 505),
    *lettered('version', refused, [
        get('/', version='HTTP/11.1'),
        get('/', version='HTTP/1.10'),
        get('/', version='http/1.1'),
        get('/', version='Http/1.1'),
        get('/', version='HTTP/1'),
        get('/', version='HTTP/1.'),
        get('/', version='HTTP/.1'),
        get('/', version='HTTP/a.b'),
        get('/', version='HTTP 1.1'),
        get('/', version='HTTP/1.1 '),
        get('/', version='HTTP/1.1\t'),
        get('/', version='HTTP/1.1x'),
        get('/', version='HTTPS/1.1'),
        get('/', version='ICY/1.0'),
        get('/', version=''),
        line(b'GET /a.txt'),
        b'GET /a.txt\r\n\r\n',
    ]),
    refused('version.preface', b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', either(400, 505)),

    # The line's shape.
    *lettered('shape', refused, [
        line(b'GET  /a.txt HTTP/1.1'),
        line(b'GET /a.txt  HTTP/1.1'),
        line(b'GET\t/a.txt HTTP/1.1'),
        line(b'GET /a.txt\tHTTP/1.1'),
        line(b' GET /a.txt HTTP/1.1'),
        line(b'GET /a.txt extra HTTP/1.1'),
        line(b'GET HTTP/1.1'),
        line(b'GET'),
        line(b'/a.txt'),
        line(b'G(T /a.txt HTTP/1.1'),
        line(b'GET, /a.txt HTTP/1.1'),
        line(b'G\xc9T /a.txt HTTP/1.1'),
        line(b'G\x00T /a.txt HTTP/1.1'),
        line(b'"GET" /a.txt HTTP/1.1'),
        b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
        b'\x00' * 64 + b'\r\n\r\n',
        b'\xff\xfe' + get('/a.txt'),
        b'hello\r\n\r\n',
    ]),

    # The target's length.
    case('target.longest', get('/?' + 'q' * (TARGET_MOST - 2)), 200),
    refused('target.too-long', get('/?' + 'q' * (TARGET_MOST - 1)), 414),
    case('target.longest-path', get('/' + 'p' * (TARGET_MOST - 1)), 404),
    refused('target.too-long-path', get('/' + 'p' * TARGET_MOST), 414),
    refused('Q13.b', get('/' + 'u' * 100000), 414),
    refused('Q9.a', b'GET /' + b'e' * (1 << 20), 414),

    # The head's length and number of fields.
    case('head.longest', sized_head(HEAD_MOST - 100), 200, body=A_TXT),
    refused('head.size', sized_head(HEAD_MOST + 100), 431),
    refused('head.one-line', get('/a.txt', 'X: ' + 'x' * HEAD_MOST), 431),
    refused('Q9.b', get('/a.txt', 'X: ' + 'e' * (1 << 20)), 431),
    refused('head.name', get('/a.txt', 'x' * HEAD_MOST + ': 1'), 431),
    case('fields.most', get('/a.txt', *(f'X{i}: 1' for i in range(99))), 200, body=A_TXT),
    refused('fields.too-many', get('/a.txt', *(f'X{i}: 1' for i in range(100))), 431),
    refused('Q13.a', get('/a.txt', *(f'h{i}: 1' for i in range(10000))), 431),
    case('Q1.b', get('/a.txt', *(f'X-{i}: {"v" * 20}' for i in range(64))), 200, body=A_TXT),
    refused('Q9.method', b'M' * (1 << 20), either(400, 414, 431, 501)),
    refused('head.both', request('/' + 'u' * 100000, 'X: ' + 'x' * 100000), 414),
]


@each_case(CASES)
def test_request_line(case, server):
    run_case(case, server)
