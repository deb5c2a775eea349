"""The syntax of field lines (RFC 9112 5; RFC 9110 5.5)."""
from client import get, post, request
from docroot import A_TXT
from exchanges import case, each_case, lettered, refused, run_case

CASES = [
    # A name that is empty, or not a token, or followed by a space.
    refused('S6.a', get('/a.txt', 'X : y')),
    *lettered('name', refused, [get('/a.txt', text) for text in (
        ': x', ':', 'X\t: y', 'X y: z', 'X(y: 1', 'X@: 1', 'X/: 1', '"X": 1', 'X;: 1', 'X=: 1',
        'X\\: 1', '{X}: 1', 'X\u0080: 1', 'X\x00: 1', 'X\x7f: 1', 'X\x01: 1', ' : x')]),
    refused('name.host-space', b'GET /a.txt HTTP/1.1\r\nHost : t.test\r\n\r\n'),
    case('name.every-token-byte',
         get('/a.txt', "!#$%&'*+-.^_`|~0123456789ABCXYZabcxyz: 1"), 200, body=A_TXT),
    refused('I7', get('/a.txt', 'no colon here')),
    refused('no-colon.last', get('/a.txt', 'X: 1', 'nocolon')),

    # Values.
    refused('A1', get('/a.txt', 'X:\rYTransfer-Encoding: chunked')),
    *lettered('S6.value', refused, [get('/a.txt', f'X: a{byte}b') for byte in (
        '\x00', '\x01', '\x08', '\x0b', '\x0c', '\x0e', '\x1b', '\x1f', '\x7f', '\r', '\n')]),
    *lettered('S6.edge', refused, [get('/a.txt', text) for text in (
        'X:\x00', 'X: \x00', 'X: a\x00', 'X: \x7f', 'X: a\r', 'X:\r', 'X:\n')]),
    refused('S6.host', get('/a.txt', host='t.test\x00')),
    *lettered('value', case, [get('/a.txt', text) for text in (
        'X:', 'X: ', 'X:y', 'X: \t y \t ', 'X: a\tb', 'X: caf\u00e9', 'X: \u0080\u00ff',
        'X: "a, b"; c=(d)', 'X: :::', 'User-Agent: Mozilla/5.0 (X11; Linux x86_64)')],
        200, body=A_TXT),

    # Folded lines.
    refused('A3', [post('/a.txt', 'X: 1').replace(b'Content', b' Content'), b'GET /']),
    refused('A3.length', b'POST /a.txt HTTP/1.1\r\nHost: t.test\r\nX: 1\r\n'
                         b' Content-Length: 5\r\n\r\nGET /'),
    *lettered('fold', refused, [
        get('/a.txt', 'X: 1', ' folded'),
        get('/a.txt', 'X: 1', '\tfolded'),
        get('/a.txt', 'X:', ' folded'),
        get('/a.txt', 'X: 1', ' '),
        get('/a.txt', 'X: 1', '\t'),
        get('/a.txt', ' folded'),
        b'GET /a.txt HTTP/1.1\r\n Host: t.test\r\n\r\n',
        b'GET /a.txt HTTP/1.1\r\n\r\n \r\nHost: t.test\r\n\r\n',
    ]),

    # What a server of files does not act upon.
    case('A6', get('/a.txt', 'Connection: Upgrade', 'Upgrade: websocket',
                   'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='),
         200, body=A_TXT),
    case('upgrade.h2c', get('/a.txt', 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c',
                            'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA'), 200, body=A_TXT),
    case('upgrade.pipelined', [get('/a.txt', 'Connection: upgrade', 'Upgrade: x'), get('/a.txt')],
         [200, 200], body=A_TXT),
    case('repeated', get('/a.txt', 'X: 1', 'X: 2', 'Accept: a/b', 'Accept: c/d'), 200, body=A_TXT),
    case('names-in-any-case', request('/a.txt', 'hOsT: t.test', 'cOnNeCtIoN: x', host=None), 200,
         body=A_TXT),
]


@each_case(CASES)
def test_fields(case, server):
    run_case(case, server)
