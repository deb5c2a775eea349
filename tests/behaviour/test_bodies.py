"""Bodies: their framing, their limits, and Expect (RFC 9112 6 and 7; RFC 9110 10.1.1).

A body is read and dropped, so the answer is that of the request without it, and what
follows it on the connection is in step.
"""
from client import Client, chunked, get, head, method_of, post, request
from docroot import A_TXT
from exchanges import PROBE, case, each_case, either, lettered, refused, run_case
from kernel import wait_read

MOST = 1 << 20
SMUGGLED = get('/dir/inner.txt')
CHUNK_SMUGGLED = b'%x\r\n%b\r\n0\r\n\r\n' % (len(SMUGGLED), SMUGGLED)


def lengths(*values, body=b'hello', method='POST'):
    return request('/a.txt', *(f'Content-Length:{value}' for value in values), method=method,
                   body=body)


def coded(*values, body=SMUGGLED, **more):
    return request('/a.txt', *(f'Transfer-Encoding:{value}' for value in values), body=body,
                   **{'method': 'POST', **more})


def in_chunks(size, chunk):
    """A whole chunked body of `size` bytes."""
    full, rest = divmod(size, chunk)
    piece = b'%x\r\n' % chunk + b'z' * chunk + b'\r\n'
    tail = b'%x\r\n' % rest + b'z' * rest + b'\r\n' if rest else b''
    return piece * full + tail + b'0\r\n\r\n'


def trailers(count, length=1):
    return b'0\r\n' + b''.join(b'T%d: %b\r\n' % (i, b'x' * length) for i in range(count))


LENGTHS = [
    case('L4.a', post('/a.txt', method='GET', body=SMUGGLED), 200, body=A_TXT),
    case('L4.b', post('/a.txt', body=SMUGGLED), 405),
    case('L4.c', chunked('/a.txt', CHUNK_SMUGGLED, method='GET'), 200, body=A_TXT),
    case('L4.d', chunked('/a.txt', CHUNK_SMUGGLED), 405),
    case('L5', post('/a.txt', body=b'a=b'), 405),
    case('length.zero', get('/a.txt', 'Content-Length: 0'), 200, body=A_TXT),
    case('length.zeros', lengths(' 0000000000000000000005'), 405),
    case('length.head', head('/a.txt', 'Content-Length: 5', body=b'hello'), 200, body=A_TXT),
    case('length.pipelined', [post('/a.txt', body=b'x' * 3000), get('/a.txt'),
                              get('/a.txt', 'Content-Length: 3', body=b'\r\n\r')],
         [405, 200, 200], body=A_TXT),
    case('length.most', post('/a.txt', body=b'z' * MOST), 405),
    refused('length.too-much', request('/a.txt', f'Content-Length: {MOST + 1}'), 413),
    refused('J9.a', post('/a.txt', body=(SMUGGLED * (2 + MOST // len(SMUGGLED)))), 413),
    refused('J9.b', post('/a.txt', body=b'z' * MOST + SMUGGLED, method='GET'), 413),
    refused('length.terabyte', request('/a.txt', 'Content-Length: 1099511627776'), 413),
    *lettered('J2', refused, [
        lengths(' 5', ' 6', body=b'helloG'),
        lengths(' 5', ' 5'),
        lengths(' 5, 6', body=b'helloG'),
        lengths(' 5, 5'),
        lengths(' 5', ' 6', body=b'helloG', method='GET'),
        lengths(' 0', ' 0', body=b''),
        lengths(' 5', ''),
    ]),
    refused('J3', lengths('', ' 5')),
    *lettered('length.malformed', refused, [lengths(value) for value in (
        '', ' ', ' +5', ' -5', ' -0', ' 5 5', ' 0x5', ' 5.0', ' 5,', ' ,5', ' 5;', ' "5"', ' five',
        ' 5e0', ' \u00b2', ' 5\t6', ' \t')]),
    *lettered('length.overflow', refused, [lengths(value) for value in (
        ' 18446744073709551616', ' 18446744073709551621', ' 99999999999999999999999999')],
        either(400, 413)),
]

CODINGS = [
    *lettered('J1', refused, [
        request('/a.txt', 'Content-Length: 6', 'Transfer-Encoding: chunked', method='POST',
                body=b'0\r\n\r\nG'),
        request('/a.txt', 'Transfer-Encoding: chunked', 'Content-Length: 5', method='POST',
                body=b'0\r\n\r\n' + SMUGGLED),
        request('/a.txt', 'Content-Length: 6', 'Transfer-Encoding: chunked',
                body=b'0\r\n\r\nG'),
    ]),
    *lettered('J4', refused, [coded(value) for value in (
        ' gzip', ' identity', ' chunked, gzip', ' xchunked', ' chunkedx', '', ' "chunked"',
        ' chunked;q=1', ' chunked\x0b', ' , ', ' chunke d')]),
    *lettered('J4.beside', refused, [
        coded(' gzip, chunked', body=CHUNK_SMUGGLED),
        coded(' gzip', ' chunked', body=CHUNK_SMUGGLED),
        coded(' identity, chunked', body=CHUNK_SMUGGLED),
    ], 501),
    refused('J4.twice', coded(' chunked, chunked', body=CHUNK_SMUGGLED), either(400, 501)),
    *lettered('J4.legal', case, [coded(value, body=CHUNK_SMUGGLED) for value in (
        ' Chunked', ' CHUNKED', '\tchunked ', ' , chunked')], 405),
    # Two readers need not agree that nothing behind the comma is nothing: see docs/protocol.md.
    *lettered('J4.comma', refused, [coded(*values, body=CHUNK_SMUGGLED) for values in (
        [' chunked,'], [' chunked ,'], [' , chunked ,'], [' chunked, ,'], [' chunked', ' ,'],
        [' chunked', ' '])]),
    refused('J11', coded(' chunked', body=b'0\r\n\r\n', version='HTTP/1.0')),
    refused('J11.kept', request('/a.txt', 'Transfer-Encoding: chunked', 'Connection: keep-alive',
                                version='HTTP/1.0', body=b'0\r\n\r\n')),
]

CHUNKS = [
    case('chunks.empty', chunked('/a.txt', b'0\r\n\r\n', method='GET'), 200, body=A_TXT),
    case('chunks.some', chunked('/a.txt', b'5\r\nhello\r\n1\r\n \r\nA\r\n0123456789\r\n0\r\n\r\n',
                                method='GET'), 200, body=A_TXT),
    case('chunks.line-ends', chunked('/a.txt', b'4\r\n\r\n\r\n\r\n0\r\n\r\n'), 405),
    case('chunks.pipelined', [chunked('/a.txt', CHUNK_SMUGGLED), get('/a.txt'),
                              chunked('/a.txt', b'000\r\n\r\n'), get('/a.txt')],
         [405, 200, 405, 200], body=A_TXT),
    case('chunks.longest-size', chunked('/a.txt', b'000000000000000A\r\n0123456789\r\n0\r\n\r\n'),
         405),
    case('chunks.long-last', chunked('/a.txt', b'0000000000000000\r\n\r\n'), 405),
    case('chunks.most', chunked('/a.txt', in_chunks(MOST, 65536)), 405),
    case('chunks.small', chunked('/a.txt', in_chunks(20000, 1)), 405),
    refused('chunks.too-much', chunked('/a.txt', in_chunks(MOST + 1, 65536)), 413),
    refused('chunks.one-too-big', chunked('/a.txt', b'100001\r\n'), 413),
    refused('J8.a', chunked('/a.txt', b'FFFFFFFFFFFFFFFF\r\nZ\r\n0\r\n\r\n'), 413),
    refused('J8.b', chunked('/a.txt', b'F' * 40 + b'\r\nZ\r\n0\r\n\r\n')),
    refused('J8.c', chunked('/a.txt', b'10000000000000001\r\nZ\r\n0\r\n\r\n')),
    refused('J8.d', chunked('/a.txt', b'00000000000000001\r\nZ\r\n0\r\n\r\n')),
    refused('J8.e', chunked('/a.txt', b'8000000000000000\r\n'), 413),
    *lettered('A5', refused, [chunked('/a.txt', body) for body in (
        b'1\rXZ??0\r\n\r\n', b'1\r\nZ??0\r\n\r\n', b'1\r\nZ\r?0\r\n\r\n', b'1\r\nZ?\n0\r\n\r\n',
        b'1\nZ\r\n0\r\n\r\n', b'1\r\nZ\n0\r\n\r\n', b'1\r\nZ\r\n0\n\r\n', b'1\r\nZ\r\n0\r\n\n',
        b'1\r\nZ\r\n0\r\n\rX', b'1\r\nZZ\r\n0\r\n\r\n', b'2\r\nZ\r\n0\r\n\r\n',
        b'1\r\r\nZ\r\n0\r\n\r\n')]),
    *lettered('J5', refused, [chunked('/a.txt', size + b'\r\nZ\r\n0\r\n\r\n') for size in (
        b'1abcxyz', b'+1', b'-1', b'1 x', b'1 ', b' 1', b'\t1', b'1\t', b'', b'g', b'1,1', b'1:',
        b'1\x00', b'\x001', b'1\xff', b'0x1', b'1h', b'1.0', b'"1"')]),
    *lettered('J6', refused, [chunked('/a.txt', body) for body in (
        b'0_0\r\n\r\n', b'\r0\r\n\r\n', b'0x0\r\n\r\n', b'\n0\r\n\r\n', b'\r\n0\r\n\r\n')]),
    refused('J10', chunked('/a.txt', b'0x3a\r\n' + SMUGGLED + b'x' * 20)),
    refused('J5.get', chunked('/a.txt', b'1abcxyz\r\nZ\r\n0\r\n\r\n', method='GET')),
    refused('J5.second', chunked('/a.txt', b'1\r\nZ\r\nq\r\n' + SMUGGLED)),

    # Extensions.
    *lettered('extension', case, [
        chunked('/a.txt', b'1' + text + b'\r\nZ\r\n0' + text + b'\r\n\r\n')
        for text in (b';a', b';a=b', b';a="b c"', b';a=b;c=d', b';a="\\""', b' ; a')], 405),
    case('extension.most', chunked('/a.txt', b'1;' + b'a' * 4000 + b'\r\nZ\r\n0\r\n\r\n'), 405),
    refused('J7.a', chunked('/a.txt', b'1;' + b'a' * 5000 + b'\r\nZ\r\n0\r\n\r\n')),
    refused('J7.b', chunked('/a.txt', b'1;' + b'a' * MOST + b'\r\nZ\r\n0\r\n\r\n')),
    refused('J7.c', chunked('/a.txt', b'1;aaaaaa\r\nZ\r\n' * 1000 + b'0\r\n\r\n')),
    refused('J7.d', chunked('/a.txt', b'1;a\x00b\r\nZ\r\n0\r\n\r\n')),
    refused('J7.e', chunked('/a.txt', b'1;a\nb\r\nZ\r\n0\r\n\r\n')),

    # Trailers.
    case('trailer', chunked('/a.txt', b'1\r\nZ\r\n0\r\nX: 1\r\nY:\r\n\r\n', method='GET'), 200,
         body=A_TXT),
    case('trailer.most', chunked('/a.txt', trailers(100) + b'\r\n'), 405),
    refused('trailer.too-many', chunked('/a.txt', trailers(101) + b'\r\n'), 431),
    refused('J12.a', chunked('/a.txt', trailers(5000) + b'\r\n'), 431),
    refused('trailer.too-long', chunked('/a.txt', trailers(1, 17000) + b'\r\n'), 431),
    refused('trailer.endless', chunked('/a.txt', b'0\r\nX: ' + b'x' * MOST), 431),
    case('J12.b', chunked('/a.txt', b'0\r\nContent-Length: 5\r\n\r\n', method='GET'), 200,
         body=A_TXT),
    case('J12.c', chunked('/a.txt', b'0\r\nHost: other\r\nConnection: close\r\n'
                                    b'Transfer-Encoding: gzip\r\n\r\n', method='GET'), 200,
         body=A_TXT),
    *lettered('trailer.bad', refused, [
        chunked('/a.txt', b'0\r\n' + text + b'\r\n\r\n') for text in (
            b'X : 1', b': 1', b'nocolon', b'X: 1\r\n folded', b'X: \x00', b'X: a\nY: b',
            b'X: a\rb', b' X: 1', b'X(: 1')]),
]

EXPECTATIONS = [
    case('expect.at-once', get('/a.txt', 'Expect: 100-continue', 'Content-Length: 5',
                               body=b'hello'), 200, interim=1, body=A_TXT),
    case('expect.no-body', get('/a.txt', 'Expect: 100-continue'), 200, body=A_TXT),
    case('L2.a', post('/a.txt', 'Expect: 100-continue', version='HTTP/1.0', body=b'hello'), 405,
         end='closed'),
    *lettered('L3', case, [get('/a.txt', 'Expect: ' + value) for value in (
        'foo', '100-continue, foo', '200-ok', '100-continue=1', '100-continu')], 417, end=''),
    case('expect.on-1.0', get('/a.txt', 'Expect: foo', version='HTTP/1.0'), 200, end='closed'),
]

CASES = LENGTHS + CODINGS + CHUNKS + EXPECTATIONS


@each_case(CASES)
def test_bodies(case, server):
    run_case(case, server)


def send_head_only(client, message):
    client.send(message, method_of(message))
    wait_read(client.socket)


def test_L2_b_continue_comes_once_and_before_the_body(server):
    with Client(server.address) as client:
        send_head_only(client, get('/a.txt', 'Expect: 100-continue', 'Content-Length: 10'))
        assert client.pump(lambda: b'100 Continue\r\n\r\n' in client.reader.raw)
        client.send(b'hello')
        wait_read(client.socket)
        client.send(b'world')
        answer = client.receive()[0]
        assert (answer.status, answer.body, len(answer.interim)) == (200, A_TXT, 1)
        client.expect_kept(PROBE)


def test_L2_c_continue_for_chunks(server):
    with Client(server.address) as client:
        send_head_only(client, get('/a.txt', 'Expect: 100-Continue',
                                   'Transfer-Encoding: chunked'))
        assert client.pump(lambda: b'100 Continue\r\n\r\n' in client.reader.raw)
        client.send(b'5\r\nhello\r\n0\r\n\r\n')
        answer = client.receive()[0]
        assert (answer.status, answer.body, len(answer.interim)) == (200, A_TXT, 1)
        client.expect_kept(PROBE)


def known_error(server, message, status):
    """The final answer comes instead of 100, and the body is never asked for."""
    with Client(server.address) as client:
        send_head_only(client, message)
        answer = client.receive()[0]
        assert (answer.status, answer.interim) == (status, [])
        assert answer.says_close
        client.expect_close()


def test_L2_d_no_continue_for_a_refused_method(server):
    known_error(server, request('/a.txt', 'Expect: 100-continue', 'Content-Length: 5',
                                method='POST'), 405)


def test_L2_e_no_continue_for_a_missing_file(server):
    known_error(server, get('/missing', 'Expect: 100-continue', 'Content-Length: 5'), 404)


def test_L2_f_no_continue_for_a_body_too_large(server):
    known_error(server, get('/a.txt', 'Expect: 100-continue', f'Content-Length: {MOST + 1}'), 413)


def test_L2_g_no_continue_for_unknown_expectation(server):
    known_error(server, get('/a.txt', 'Expect: foo', 'Content-Length: 5'), 417)
