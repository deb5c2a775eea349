"""The Host field and the forms of a request target (RFC 9112 3.2; RFC 9110 4.2)."""
from client import get, request
from docroot import A_TXT, INDEX
from exchanges import case, each_case, lettered, refused, run_case

OPTIONS_FIELDS = {'Allow': 'GET, HEAD, OPTIONS'}

NO_HOSTS = ['t..test', 't,test', 't.test..', '.', '..', '.:80', ',', 'a~b', 'a%41', 'a!b', "a'b",
            'a(b)', 'a*b', 'a+b', 'a;b', 'a=b', 'a$b', 'a&b', 't.test,u.test:80']

CASES = [
    # Host.
    refused('K1.a', get('/a.txt', host=None)),
    refused('K1.b', get('/a.txt', 'Host: u.test')),
    case('K1.c', get('/a.txt', host=None, version='HTTP/1.0'), 200, end='closed', body=A_TXT),
    refused('K2', b'GET /a.txt HTTP/1.1\r\n\r\n'),
    *lettered('K3', refused, [get('/a.txt', host=host) for host in (
        'a b', 't.test:x', '[::1', 'a/b', 'u@h', '', 't.test:80:80', '::1', '[::1]x', 't.test#x',
        't.test?x', 'a\tb', 'a\\b', '"t.test"', '<t.test>', 't.test:+80', ':80', '[]',
        'caf\u00e9.test', 'a%zz', '%', 'http://t.test', '[::1%eth0', 't.test:8 0')]),
    # Names by RFC 3986, but of no host.
    *lettered('K3.name', refused, [get('/a.txt', host=host) for host in NO_HOSTS]),
    *lettered('K3.old', refused, [get('/a.txt', host=host, version='HTTP/1.0')
                                  for host in NO_HOSTS[:3]]),
    *lettered('host-on-1.0', refused, [get('/a.txt', host=host, version='HTTP/1.0') for host in (
        'a b', '', 't.test:x', 'u@h')]),
    refused('host-on-1.0.two', get('/a.txt', 'Host: t.test', version='HTTP/1.0')),
    *lettered('K9', refused, [
        get('/a.txt', 'Host: t.test'),
        get('/a.txt', 'hOST: t.test'),
        get('/a.txt', host='a, b'),
        get('/a.txt', host='a,b'),
        get('/a.txt', host='t.test,t.test'),
    ]),
    *lettered('host', case, [get('/a.txt', host=host) for host in (
        't.test:80', 't.test:', '127.0.0.1', '127.0.0.1:8080', '[::1]', '[::1]:8080',
        '[2001:db8::7]', 'T.TEST', 'a-b.c_d.test', 'xn--caf-dma.test', 'localhost',
        't.test.', 'T-.test.:80', '  t.test  ')], 200, body=A_TXT),
    case('host.lower-case-name', get('/a.txt', 'host: t.test', host=None), 200, body=A_TXT),

    # Absolute-form: its authority wins.
    *lettered('K4', case, [get(target) for target in (
        'http://t.test/a.txt', 'http://u.test:81/a.txt', 'https://t.test/a.txt',
        'HTTP://T.TEST/a.txt', 'http://[::1]:80/a.txt', 'http://t.test/a.txt?x=http://u/',
        'http://t.test//a.txt')],
        200, body=A_TXT),
    *lettered('K4.root', case, [get(target) for target in (
        'http://t.test', 'http://t.test/', 'http://t.test?x=1', 'http://t.test:80')],
        200, body=INDEX),
    case('K4.old', get('http://t.test/a.txt', host=None, version='HTTP/1.0'), 200, end='closed',
         body=A_TXT),
    refused('K4.no-host', get('http://t.test/a.txt', host=None)),
    refused('K4.bad-host', get('http://t.test/a.txt', host='a b')),
    *lettered('K5', refused, [get(target) for target in (
        'http:///a.txt', '1://x/', 'http://u:p@t.test/a.txt', 'http://u@t.test/a.txt',
        'http://', 'https:///', 'http:/a.txt', 'http:a.txt', 'ftp://t.test/a.txt',
        'file:///a.txt', 'ws://t.test/a.txt', 'http://t.test:x/', 'http://[::1/', 'http://?x',
        'httpx://t.test/a.txt', '://t.test/a.txt', 'http//t.test/a.txt', 'urn:x')]),
    *lettered('K5.name', refused, [get(f'http://{host}/a.txt') for host in NO_HOSTS]),

    # The asterisk.
    case('K6.a', request('*', method='OPTIONS'), 204, fields=OPTIONS_FIELDS, body=b''),
    refused('K6.b', get('*')),
    refused('K6.c', request('*', method='HEAD')),
    case('K6.d', request('/a.txt', method='OPTIONS'), 204, fields=OPTIONS_FIELDS, body=b''),
    refused('K6.e', request('**', method='OPTIONS')),
    refused('K6.f', request('*?x', method='OPTIONS')),
    refused('K6.g', request('*', method='POST')),

    # Anything else that does not begin with a slash, and raw bytes that no target holds.
    *lettered('B2', refused, [get('../etc/passwd'), get('a.txt'), get('./a.txt'), get('?x'),
                              get('%2fa.txt'), get('\\a.txt'), get('t.test:80')]),
    *lettered('K8', refused, [get(target) for target in (
        '!', '/a\tb', '/a\x7fb', '/a\u00ffb', '/a\x01b', '/a b', '/a.txt#x', '/a.txt?x#y',
        '/a.txt?\x00', '/\x00', '/a.txt?a b', '/\u0080', 'http://t.test/a.txt#x', '#', '\x0b')]),
    case('K8.legal', get('/a.txt?"<>[]^`{|}\\'), 200, body=A_TXT),
]


@each_case(CASES)
def test_host_and_target(case, server):
    run_case(case, server)
