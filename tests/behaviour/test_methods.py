"""Methods (RFC 9110 9) and what HEAD and OPTIONS answer."""
import pytest

from client import ask_once, get, head, post, request
from docroot import A_TXT, BIG_SIZE
from exchanges import case, each_case, lettered, refused, run_case

# IANA's registry, but for GET, HEAD, OPTIONS and CONNECT.
REGISTERED = ('ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT COPY DELETE LABEL LINK LOCK MERGE '
              'MKACTIVITY MKCALENDAR MKCOL MKREDIRECTREF MKWORKSPACE MOVE ORDERPATCH PATCH '
              'POST PRI PROPFIND PROPPATCH PUT REBIND REPORT SEARCH TRACE UNBIND UNCHECKOUT '
              'UNLINK UNLOCK UPDATE UPDATEREDIRECTREF VERSION-CONTROL').split()
ALLOW = {'Allow': 'GET, HEAD, OPTIONS'}

CASES = [
    *[case(f'L1.{method}', request('/a.txt', method=method), 405, fields=ALLOW)
      for method in REGISTERED],
    *lettered('L1.body', case, [post(target, body=b'') for target in (
        '/a.txt', '/', '/dir', '/dir/', '/missing')], 405, fields=ALLOW),
    *lettered('L1.unknown', refused, [request('/a.txt', method=method) for method in (
        'BREW', 'get', 'Get', 'GETS', 'GE', 'G', 'HEADS', 'X-GET', "!#$%&'*+-.^_`|~", '0',
        'LONGMETHODTHATNOBODYKNOWS', 'POSTX', 'OPTION')], 501),

    refused('connect.authority', request('t.test:443', method='CONNECT', host='t.test:443'), 405,
            fields=ALLOW),
    refused('A6.connect', request('/a.txt', method='CONNECT'), 405, fields=ALLOW),
    refused('connect.absolute', request('http://t.test/', method='CONNECT'), 405, fields=ALLOW),
    refused('connect.tail', [request('t.test:443', method='CONNECT'), get('/a.txt')], 405),

    case('options.missing', request('/missing', method='OPTIONS'), 204, fields=ALLOW, body=b''),
    case('options.directory', request('/dir', method='OPTIONS'), 204, fields=ALLOW, body=b''),
    case('options.query', request('/a.txt?x', method='OPTIONS'), 204, fields=ALLOW, body=b''),
    case('options.absolute', request('http://t.test/a.txt', method='OPTIONS'), 204, fields=ALLOW),
    case('options.body', post('/a.txt', method='OPTIONS', body=b'hello'), 204, fields=ALLOW),
    case('options.fields', request('/a.txt', 'Range: bytes=0-1', 'If-None-Match: *',
                                   method='OPTIONS'), 204),
    case('options.old', request('/a.txt', method='OPTIONS', version='HTTP/1.0'), 204,
         end='closed'),

    case('H1', head('/big.bin'), 200, fields={'Content-Length': str(BIG_SIZE)}),
    case('H2', head('/a.txt'), 200, fields={'Content-Length': '10'}),
    case('head.empty', head('/empty'), 200, fields={'Content-Length': '0'}),
    case('head.missing', head('/missing'), 404),
    case('head.redirect', head('/dir'), 301, fields={'Location': '/dir/'}),
    case('head.pipelined', [head('/a.txt'), get('/a.txt'), head('/big.bin'), head('/missing'),
                            get('/a.txt')], [200, 200, 200, 404, 200], body=A_TXT),
    case('head.old', head('/a.txt', version='HTTP/1.0'), 200, end='closed',
         fields={'Content-Length': '10'}),
    refused('head.refused', head('/a.txt', host=None)),
    refused('HEAD.too-long', head('/' + 'u' * 9000), 414),
]


@each_case(CASES)
def test_methods(case, server):
    run_case(case, server)


@pytest.mark.parametrize('target', ['/a.txt', '/empty', '/6k', '/big.bin', '/', '/dir',
                                    '/missing', '/locked.txt', '/fifo', '/%zz', '/dir/'])
def test_H1_head_has_the_fields_of_get(server, target):
    def fields(answer):
        return [(n, v) for n, v in answer.fields if n != 'Date']
    full, bare = ask_once(server.address, get(target)), ask_once(server.address, head(target))
    assert (bare.status, fields(bare), bare.body) == (full.status, fields(full), b'')
    assert full.get('Content-Length') == str(len(full.body))
