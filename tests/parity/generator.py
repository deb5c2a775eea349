"""Scripts for one connection, from a seed and a number: the same ones, wherever they run.

A script is a list of steps, each a tuple: ('send', bytes), ('wait', ms), ('hold', ms): as
wait, and reading nothing meanwhile, ('probe',): a request whose answer shows that the
connection is in step, ('shut',): the end of what the client sends.
"""
import random
import re

from client import get
from docroot import AWKWARD, numbered
from test_parity import CASES

SENTINEL = get('/dir/inner.txt')
SENTINEL_BODY = b'inner\n'

# Longer ones of the tables only now and then: they are megabytes for one fault.
LONG, LONG_SHARE = 20000, 0.02
# A body of requests can become requests by a mutation; so many are enough.
REQUESTS_MOST = 300
SHORT_CASES = [case for case in CASES if len(case.data) <= LONG]
LONG_CASES = [case for case in CASES if len(case.data) > LONG]

TARGETS = ['/', '/a.txt', '/empty', '/1k', '/6k', '/big.bin', '/dir/', '/dir', '/bare/', '/bare',
           '/missing', '/locked.txt', '/fifo', '/socket', '/link-in.txt', '/link-out.txt',
           '/dangling', '/loop', '/.hidden', '/.well-known/security.txt', '/times/zero.txt',
           '/times/fraction.txt', '/a.txt/', '/a.txt?x=1', '/dir?x=%2e', '/bare/?format=json',
           '/bare/?sort=size&order=desc', '/x/../a.txt', '//a.txt', '/dir/..%2f', '/%61.txt',
           'http://t.test/a.txt', 'http://t.test', '/packed.css', '/packed.css', '/packed.css',
           *('/' + name.replace('%', '%25').replace(' ', '%20').replace('\\', '%5C')
             for name in AWKWARD if name.isascii())]
ODD_TARGETS = ['/%2e%2e/secret', '/a%00', '/%zz', '*', 'a.txt', 't.test:80', '//', '/\\',
               'ftp://x/']
METHODS = ['GET'] * 12 + ['HEAD'] * 4 + ['OPTIONS', 'POST', 'PUT', 'DELETE', 'TRACE']
ODD_METHODS = ['GET', 'HEAD', 'OPTIONS', 'BREW', 'CONNECT', 'get', 'PRI']
VERSIONS = ['HTTP/1.1'] * 14 + ['HTTP/1.0'] * 3 + ['HTTP/1.2', 'HTTP/2.0', 'HTTP/0.9', 'http/1.1']
FIELDS = {
    'Connection': ['close', 'keep-alive', 'Keep-Alive, x', 'x, close', 'upgrade', ''],
    'Range': ['bytes=0-', 'bytes=-1', 'bytes=2-4', 'bytes=0-0,4-5', 'bytes=9-2', 'bytes=99999999-',
              'bytes=-0', 'bytes=1-3,2-6,8-', 'lines=1-2', 'bytes=,3-4', 'bytes=5-999,0-1'],
    'If-None-Match': ['*', '"x"', 'W/"x", "y"', '"', '"17ccd1d3f7da9a00-a"'],
    'If-Match': ['*', '"x"', 'W/"17ccd1d3f7da9a00-a"'],
    'If-Modified-Since': ['Mon, 06 May 2024 07:08:09 GMT', 'Monday, 06-May-24 07:08:09 GMT',
                          'Mon May  6 07:08:09 2024', 'Sun, 01 Jan 2023 00:00:00 GMT', 'x'],
    'If-Unmodified-Since': ['Sun, 01 Jan 2023 00:00:00 GMT', 'Mon, 06 May 2024 07:08:09 GMT'],
    'If-Range': ['"x"', 'Mon, 06 May 2024 07:08:09 GMT', 'W/"x"'],
    'Accept-Encoding': ['gzip', 'br, gzip;q=0.5', 'zstd', 'identity;q=0', '*', 'gzip;q=0, *', ''],
    'Accept': ['application/json', 'text/html', '*/*', 'application/json;q=0.1, text/html'],
    'Expect': ['100-continue', 'x', '100-Continue'],
    'Host': ['t.test', 'b b', ''], 'Upgrade': ['websocket'], 'User-Agent': ['x' * 300, 'a"b'],
    'X-Long': ['y' * 3000], 'Content-Length': ['0', '5', '-1', '5, 5', '99999999999'],
    'Transfer-Encoding': ['chunked', 'gzip', 'identity', 'chunked, chunked'],
}
USUAL = ['Connection', 'Range', 'If-None-Match', 'If-Modified-Since', 'Accept-Encoding', 'Accept']
BODIES = [b'', b'hello', b'x' * 4000, b'GET /a.txt HTTP/1.1\r\nHost: t.test\r\n\r\n']

TOKENS = [b'\r', b'\n', b'\r\n', b'\r\n\r\n', b'\0', b'\t', b' ', b'  ', b':', b';', b',', b'"',
          b'%', b'%00', b'%2f', b'%2e', b'..', b'/', b'//', b'\\', b'#', b'?', b'*', b'\x7f',
          b'\x80', b'\xff', b'-', b'+', b'0', b'1', b'9', b'99999999999999999999', b'0x',
          b'ffffffffffffffff', b'HTTP/1.0', b'HTTP/1.1', b'HTTP/9.9', b'GET ', b'HEAD ', b'close',
          b'chunked', b'bytes=',
          b'Host: x\r\n', b'Content-Length: 3\r\n', b'Transfer-Encoding: chunked\r\n',
          b'Connection: close\r\n', b'Expect: 100-continue\r\n', b' folded\r\n', b'0\r\n\r\n',
          b'5\r\nhello\r\n', b'GET /a.txt HTTP/1.1\r\nHost: t.test\r\n\r\n']


def prepare(root):
    """Files that the scripts ask for beside those of every test; none is of many megabytes,
    whatever becomes of a mutated request for it."""
    root.write('big.bin', numbered(256 << 10))
    root.write('huge.bin', b'no longer huge\n')
    root.write('packed.css', b'a { color: red }\n')
    for coding in ('gz', 'br', 'zst'):
        root.write(f'packed.css.{coding}', b'as if of ' + coding.encode() + b'\n')


# ---- valid requests

def valid(rng):
    """One request; most are right, and each is complete."""
    odd = rng.random() < 0.15
    method = rng.choice(ODD_METHODS if odd else METHODS)
    target = rng.choice(ODD_TARGETS if odd and rng.random() < 0.5 else TARGETS)
    fields = [(name, rng.choice(FIELDS[name])) for name in rng.sample(
        list(FIELDS) if odd else USUAL, rng.choice([0, 0, 1, 1, 2, 3]))]
    body = b''
    if method in ('POST', 'PUT') or rng.random() < 0.1:
        body = rng.choice(BODIES)
        if rng.random() < 0.5:
            fields.append(('Content-Length', str(len(body))))
        else:
            fields.append(('Transfer-Encoding', 'chunked'))
            body = chunks(rng, body)
        if rng.random() < 0.2:
            fields.append(('Expect', '100-continue'))
    rng.shuffle(fields)
    lines = [f'{method} {target} {rng.choice(VERSIONS) if odd else "HTTP/1.1"}', 'Host: t.test']
    lines += [f'{name}: {value}' for name, value in fields]
    return '\r\n'.join(lines).encode() + b'\r\n\r\n' + body


def chunks(rng, body):
    size = rng.choice([1, 7, 5000])
    size = max(size, len(body) // 50)
    parts = [body[i:i + size] for i in range(0, len(body), size)]
    extension = rng.choice([b'', b'', b';x', b';x="y"'])
    trailer = rng.choice([b'', b'', b'X: y\r\n'])
    return b''.join(b'%x%s\r\n%s\r\n' % (len(part), extension, part) for part in parts) + \
        b'0\r\n' + trailer + b'\r\n'


def from_tables(rng):
    """One row of the case tables."""
    return rng.choice(LONG_CASES if rng.random() < LONG_SHARE else SHORT_CASES)


# ---- mutations: each makes other bytes of the given ones

def place(rng, data):
    """Of a byte, rather early than late: heads are more brittle than bodies."""
    return rng.randrange(min(len(data), rng.choice([60, 300, len(data)])))


def span(rng, data):
    start = place(rng, data)
    return start, min(len(data), start + rng.choice([1, 1, 2, 5, 20]))


def flip(rng, data):
    at = place(rng, data)
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1:]


def put(rng, data):
    at = place(rng, data)
    return data[:at] + rng.choice(TOKENS) + data[at:]


def swap(rng, data):
    start, end = span(rng, data)
    return data[:start] + rng.choice(TOKENS) + data[end:]


def drop(rng, data):
    start, end = span(rng, data)
    return data[:start] + data[end:]


def double(rng, data):
    start, end = span(rng, data)
    return data[:end] + data[start:end] * rng.choice([1, 1, 2, 30]) + data[end:]


def cut(rng, data):
    return data[:place(rng, data) + 1]


def line_end(rng, data):
    """One CRLF becomes something like it."""
    ends = [found.start() for found in re.finditer(rb'\r\n', data[:LONG])]
    if not ends:
        return put(rng, data)
    at = rng.choice(ends)
    return data[:at] + rng.choice([b'\n', b'\r', b'\r\r\n', b'\n\r', b'\r\n ', b' \r\n', b'',
                                   b'\r\n\r\n']) + data[at + 2:]


def lines(rng, data):
    """Lines of the first head repeated, moved or taken away."""
    head, mark, rest = data.partition(b'\r\n\r\n')
    rows = head.split(b'\r\n')
    at, to = rng.randrange(len(rows)), rng.randrange(len(rows))
    rows = rng.choice([rows[:at] + rows[at + 1:], rows[:to] + [rows[at]] + rows[to:],
                       [row if i != at else rows[to] for i, row in enumerate(rows)]])
    return b'\r\n'.join(rows) + mark + rest


def digits(rng, data):
    found = list(re.finditer(rb'\d+', data[:LONG]))
    if not found:
        return put(rng, data)
    number = rng.choice(found)
    value = int(number[0][:18])
    new = rng.choice([str(value + 1), str(max(0, value - 1)), '0' + str(value), str(value * 10),
                      str(value + (1 << 32)), str(value + (1 << 64)), f'-{value}', '']).encode()
    return data[:number.start()] + new + data[number.end():]


def case(rng, data):
    at = place(rng, data)
    found = re.compile(rb'[A-Za-z-]+').search(data, at)
    return data[:found.start()] + found[0].swapcase() + data[found.end():] if found else \
        put(rng, data)


def field(rng, data):
    """One field more in the first head."""
    at = data.find(b'\r\n')
    name = rng.choice(list(FIELDS))
    line = f'\r\n{name}: {rng.choice(FIELDS[name])}'.encode()
    return data[:at] + line + data[at:] if at >= 0 else put(rng, data)


MUTATIONS = [flip, put, put, swap, swap, drop, double, cut, line_end, line_end, lines, digits,
             case, field, field]


def mutate(rng, data, times):
    """The result, and the names of what was done."""
    names = []
    for _ in range(times):
        if data:
            change = rng.choice(MUTATIONS)
            names.append(change.__name__)
            data = change(rng, data)
    return data, names


# ---- scripts

def content(rng):
    """The bytes of a script: valid requests, rows of the tables, or mutations of both."""
    kind = rng.random()
    if kind < 0.4:
        return b''.join(valid(rng) for _ in range(rng.randint(1, 6)))
    rows = [from_tables(rng).data for _ in range(rng.choice([1, 1, 2, 3]))]
    first = rows[0]
    if kind >= 0.5:
        rows = mutated(rng, rows)
    data = b''.join(rows)
    return data if data.count(b' HTTP/1.') <= REQUESTS_MOST else first


def mutated(rng, rows):
    """One of the rows, or of as many valid requests, is no longer what it was."""
    if rng.random() < 0.4:
        rows = [valid(rng) for _ in rows]
    at = rng.randrange(len(rows))
    rows[at] = mutate(rng, rows[at], rng.choice([1, 1, 2, 3]))[0]
    return rows


def pieces(rng, data):
    """The same bytes in one or several sends."""
    how = rng.random()
    if how < 0.3 or len(data) < 2:
        return [data]
    if how < 0.4:
        size = max(1, len(data) // 200)
        return [data[i:i + size] for i in range(0, len(data), size)]
    if how < 0.6:
        ends = [i + 1 for i, byte in enumerate(data[:LONG]) if byte in b'\r\n']
        cuts = rng.sample(ends, min(len(ends), 12))
    else:
        cuts = [rng.randrange(1, len(data)) for _ in range(rng.randint(1, 8))]
    cuts = [0, *sorted(set(cuts)), len(data)]
    return [data[a:b] for a, b in zip(cuts, cuts[1:]) if a < b]


def script(seed, number):
    """The steps of one connection."""
    rng = random.Random(f'{seed}/{number}')
    steps = []
    sends = [('send', piece) for piece in pieces(rng, content(rng))]
    pauses = set(rng.sample(range(len(sends)), min(len(sends), rng.choice([0, 0, 1, 2, 4]))))
    for index, send in enumerate(sends):
        steps.append(send)
        if index in pauses:
            steps.append((rng.choice(['wait', 'wait', 'hold']), rng.choice([1, 3, 10, 30])))
    if rng.random() < 0.9:
        steps.append(('probe',))
    steps.append(('shut',))
    return steps


def bytes_of(steps):
    return b''.join(SENTINEL if step[0] == 'probe' else step[1] for step in steps
                    if step[0] in ('send', 'probe'))
