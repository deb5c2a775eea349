"""Listings of directories, as HTML and as JSON: what they show, in which order, and that
every link leads to the bytes of its name."""
import html.parser
import json
import os
import re
import threading
from urllib.parse import unquote_to_bytes, urljoin, urlsplit

import pytest

from client import HOST, Client, ask_once, get, head
from docroot import A_TXT, INDEX, STAMP, STAMP_NS
from exchanges import PROBE, case, check, play, refused
from test_parity import timeless
from waiting import AT_ONCE, wait_until

JSON = 'Accept: application/json'
HTML_TYPE = 'text/html; charset=utf-8'
JSON_TYPE = 'application/json; charset=utf-8'
STAMP_TEXT = '2024-05-06T07:08:09Z'
LIMIT = 10000
LONG = 9                             # seconds, where others have most of the machine

NAMES = ['plain.txt', 'with space', ' leading', 'trailing ', 'two  spaces', 'caf\u00e9',
         '\u65e5\u672c\u8a9e', '\U0001f42d', '<img src=x onerror=1>', "' onmouseover='x",
         '" onfocus="x', '<script>alert(1)', '<!--', ']]>', '<b><i', 'a&b', 'a&lt;b', 'a&amp;b',
         'what?', 'hash#tag', 'p%41', '%', '%00', 'a:b', 'my:file', 'javascript:alert(1)',
         'semi;colon', 'back\\slash', 'a=b', 'a+b', '~tilde', '-dash', '*', '?sort=size', '#',
         'new\nline', 'cr\rlf\n', 'tab\there', '\x01\x1b[31m', '\x7f', '\u202egpj.exe',
         '\u2028', '\x9b31m', 'a..', 'a.', 'n' * 250]
RAW_NAMES = [b'\xff\xfe', b'half \xc3', b'\xed\xa0\x80', b'\xc3\x28<']


@pytest.fixture
def listing(pool, model):
    return pool.get(model, '--listing')


# ---- reading a page as a browser does

class Page(html.parser.HTMLParser):
    ELEMENTS = {'html', 'head', 'meta', 'link', 'title', 'style', 'body', 'h1', 'table',
                'thead', 'tbody', 'tr', 'th', 'td', 'a', 'time', 'p'}
    ATTRIBUTES = {'href', 'lang', 'charset', 'name', 'content', 'rel', 'type', 'scope',
                  'aria-sort', 'datetime'}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.links = []                  # (href, text shown)
        self.title = ''
        self.inside = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        assert tag in self.ELEMENTS, f'a name became <{tag}>'
        assert {name for name, _ in attrs} <= self.ATTRIBUTES, attrs
        if tag not in ('meta', 'link'):
            self.inside.append(tag)
        if tag == 'a':
            self.links.append((dict(attrs)['href'], ''))

    def handle_endtag(self, tag):
        assert self.inside.pop() == tag

    def handle_data(self, data):
        if 'a' in self.inside:
            href, text = self.links.pop()
            self.links.append((href, text + data))
        elif 'title' in self.inside:
            self.title += data

    def handle_comment(self, data):
        raise AssertionError(f'a name became a comment: {data}')


def targets(page, folder):
    """{target: text} of the links to entries: not those that sort, not the parent's."""
    found = {}
    for href, text in page.links:
        url = urlsplit(urljoin(f'http://{HOST}{folder}', href))
        assert (url.scheme, url.netloc, url.fragment) == ('http', HOST, ''), href
        if url.path.startswith(folder) and url.path != folder:
            assert not url.query, href
            found[url.path] = text
    return found


def page_of(server, folder, *fields):
    answer = ask_once(server.address, get(folder, *fields))
    assert (answer.status, answer.get('Content-Type')) == (200, HTML_TYPE)
    return Page(answer.body.decode('utf-8'))


def data_of(server, target):
    answer = ask_once(server.address, get(target, JSON))
    assert (answer.status, answer.get('Content-Type')) == (200, JSON_TYPE)
    return json.loads(answer.body.decode('utf-8'))


def names_of(server, folder):
    return [entry['name'] for entry in data_of(server, folder)]


# ---- names

@pytest.fixture
def names(docroot, scratch):
    """A folder in which every file's bytes are its name, and every folder's index too."""
    base = os.fsencode(docroot.at(scratch))
    for name in [*map(str.encode, NAMES), *RAW_NAMES]:
        with open(os.path.join(base, name), 'wb') as file:
            file.write(b'name ' + name)
        os.mkdir(os.path.join(base, b'd ' + name))
        with open(os.path.join(base, b'd ' + name, b'index.html'), 'wb') as file:
            file.write(b'folder ' + name)
    return '/' + scratch


def test_P7_each_link_leads_to_its_bytes(listing, names):
    page = page_of(listing, names)
    bodies = set()
    with Client(listing.address) as client:
        for target in targets(page, names):
            answer = client.ask(get(target))
            assert answer.status == 200, target
            bodies.add(answer.body)
    raw = [*map(str.encode, NAMES), *RAW_NAMES]
    assert bodies == {b'name ' + name for name in raw} | {b'folder ' + name for name in raw}


def test_P5_P6_names_are_shown_and_nothing_else(listing, names):
    """The page parses into the elements of a listing only; text is the name, made visible."""
    page = page_of(listing, names)
    shown = targets(page, names)
    assert len(shown) == 2 * len(NAMES + RAW_NAMES)
    for target, text in shown.items():
        name = unquote_to_bytes(target[len(names):]).decode('utf-8', 'replace')
        pictures = ''.join(chr(0x2400 + ord(c)) if c < ' ' else c for c in name)
        pictures = pictures.replace('\x7f', '\u2421').replace('\x9b', '\ufffd')
        assert re.sub('\ufffd+', '\ufffd', text) == re.sub('\ufffd+', '\ufffd', pictures)
    for href, _ in page.links:
        assert re.fullmatch(r'(\./[!-~]+|\.\./|\?[a-z=&]+)', href), href


def test_P8_links_are_relative_and_no_scheme(listing, names):
    for href, _ in page_of(listing, names).links:
        assert href.startswith(('./', '../', '?'))
        assert not re.match(r'[A-Za-z][A-Za-z0-9+.-]*:', href)


def test_no_script_may_run(listing, names):
    answer = ask_once(listing.address, get(names))
    assert answer.get('Content-Security-Policy').startswith("default-src 'none'; ")
    assert answer.get('X-Content-Type-Options') == 'nosniff'
    assert b'<script' not in answer.body


def test_data_names_every_entry(listing, names):
    """Valid whatever the names are: what is no UTF-8 is replaced."""
    found = data_of(listing, names)
    assert all(set(entry) == {'name', 'type', 'size', 'mtime'} for entry in found)
    files = {entry['name'] for entry in found if entry['type'] == 'file'}
    assert files >= set(NAMES)
    assert len(found) == 2 * len(NAMES + RAW_NAMES)
    for entry in found:
        if entry['type'] == 'directory':
            assert entry['size'] is None and entry['name'].startswith('d ')
        elif entry['name'] in NAMES:
            assert entry['size'] == len(b'name ' + entry['name'].encode())
        assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ', entry['mtime'])


def test_titles_and_parents(listing, docroot, scratch):
    folder = 'a<b&c\n'
    docroot.write(f'{scratch}{folder}/x', b'x')
    target = f'/{scratch}a%3Cb&c%0A/'
    page = page_of(listing, target)
    assert page.title == f'Index of /{scratch}a<b&c\u240a/'
    parent = next(href for href, text in page.links if text == '../')
    assert urljoin(target, parent) == '/' + scratch
    assert list(targets(page_of(listing, '/' + scratch), '/' + scratch)) == [target]


def test_the_root_has_no_parent(launch, model, docroot):
    server = launch(model, '--listing', root=docroot.at('bare'))
    page = page_of(server, '/')
    assert page.title == 'Index of /'
    assert [text for _, text in page.links] == ['Name', 'Size', 'Modified (UTC)', 'one.txt']


# ---- the order

def key_of(sort):
    if sort == 'size':
        return lambda entry: entry['size'] or 0
    if sort == 'time':
        return lambda entry: entry['mtime']
    return lambda entry: entry['name'].encode()


@pytest.fixture
def ordered(docroot, scratch):
    for i, name in enumerate('dbacfe'):
        docroot.write(scratch + name, b'x' * (i % 4), STAMP_NS + i // 2 * 10**9)
        os.makedirs(docroot.at(f'{scratch}sub {name}'))
        os.utime(docroot.at(f'{scratch}sub {name}'), (STAMP - i % 3, STAMP - i % 3))
    return '/' + scratch


@pytest.mark.parametrize('order', ['asc', 'desc', None, 'DESC'])
@pytest.mark.parametrize('sort', ['name', 'size', 'time', None, 'date'])
def test_order(listing, ordered, sort, order):
    query = '&'.join(f'{k}={v}' for k, v in (('sort', sort), ('order', order)) if v)
    found = data_of(listing, f'{ordered}?{query}')
    want = sorted(found, key=lambda entry: entry['name'].encode())
    want.sort(key=key_of(sort), reverse=order == 'desc')
    want.sort(key=lambda entry: entry['type'] != 'directory')
    assert found == want and len(found) == 12
    page = page_of(listing, f'{ordered}?{query}')
    assert [text.rstrip('/') for text in targets(page, ordered).values()] == [
        entry['name'] for entry in found]


def test_columns_lead_to_their_orders(listing, ordered):
    page = page_of(listing, ordered)
    for href, text in page.links[:3]:
        assert text in ('Name', 'Size', 'Modified (UTC)')
        assert data_of(listing, ordered + href) == data_of(listing, ordered + {
            'Name': '?sort=name&order=desc', 'Size': '?sort=size',
            'Modified (UTC)': '?sort=time'}[text])


# ---- the table, and parity

def listed(id, message, kind, **more):
    return case(f'listing.{id}', message, 200, fields={
        'Content-Type': kind, 'Vary': 'Accept', 'Cache-Control': 'no-cache', 'ETag': None,
        'Last-Modified': None, 'X-Content-Type-Options': 'nosniff', 'Content-Encoding': None,
        'Content-Security-Policy': None if kind == JSON_TYPE else re.compile(".*'none'.*"),
        'Listing-Limit': None}, **more)


def accepting(accept):
    return get('/bare/', f'Accept: {accept}')


BARE = (b'[\n{"name":"one.txt","type":"file","size":4,"mtime":"' + STAMP_TEXT.encode() +
        b'"}\n]\n')

CASES = [
    listed('page', get('/bare/'), HTML_TYPE),
    *(listed(f'page.{i}', accepting(accept), HTML_TYPE) for i, accept in enumerate([
        '*/*', 'text/html', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
        'application/json;q=0', 'application/json;q=0.5, text/html', 'image/png', '',
        'application/json, text/html', 'application/json;q=x'])),
    *(listed(f'data.{i}', accepting(accept), JSON_TYPE, body=BARE) for i, accept in enumerate([
        'application/json', 'application/*', 'APPLICATION/JSON',
        'application/json;q=0.2, text/html;q=0.1', 'text/html;q=0, */*',
        'application/json, text/plain, */*', 'application/json; charset=utf-8'])),
    listed('by-query', get('/bare/?format=json'), JSON_TYPE, body=BARE),
    listed('by-query-against-accept', get('/bare/?format=html', JSON), HTML_TYPE),
    listed('head', head('/bare/', JSON), JSON_TYPE),
    listed('1.0', get('/bare/?format=json', version='HTTP/1.0'), JSON_TYPE, end='closed',
           body=BARE),
    listed('link', get('/link-dir/../bare/?format=json'), JSON_TYPE, body=BARE),
    listed('range', get('/bare/', JSON, 'Range: bytes=0-1'), JSON_TYPE, body=BARE),
    listed('stale', get('/bare/', JSON, 'If-None-Match: "x"',
                        'If-Modified-Since: Fri, 31 Dec 2100 00:00:00 GMT'), JSON_TYPE),
    listed('compressed', get('/bare/', JSON, 'Accept-Encoding: gzip'), JSON_TYPE, body=BARE),
    case('listing.any-tag', get('/bare/', 'If-None-Match: *'), 304, fields={'Vary': 'Accept'}),
    case('listing.no-tag', get('/bare/', 'If-Match: "x"'), 412, fields={'Vary': 'Accept'}),
    case('listing.index', get('/dir/', JSON), 200, fields={'Vary': None}),
    case('listing.redirect', get('/bare?format=json'), 301,
         fields={'Location': '/bare/?format=json'}),
    case('listing.file', get('/bare/one.txt/'), 404),
    case('listing.missing', get('/no-such-folder/'), 404),
    case('listing.dotfiles', get('/.git/'), 404),
    case('listing.outside', get('/link-out-dir/'), 404),
    case('listing.outside-index', get('/outside-index/'), 404),
    case('listing.closed', get('/closed/'), 403),
    case('P11.unreadable-index', get('/locked-index/'), 403),
    case('P11.closed', get('/lockdir/'), 403),
    case('P11.dangling', get('/dangling'), 404),
    case('listing.pipelined', [get('/bare/', JSON), get('/a.txt'), get('/bare/', JSON)],
         [200, 200, 200], body=BARE),
    refused('listing.bad-target', get('/bare/#x')),
]


@pytest.mark.parametrize('case', [pytest.param(c, id=c.id) for c in CASES])
def test_listing(listing, case):
    check(case, play(case, listing.address))


@pytest.mark.parametrize('case', [pytest.param(c, id=c.id) for c in CASES])
def test_parity_of_listings(pool, models, case):
    seen = {}
    for model in models:
        transcript = play(case, pool.get(model, '--listing').address)
        seen[model] = timeless(transcript.raw), transcript.end
    assert len(set(seen.values())) == 1, seen


def test_parity_of_odd_names(pool, models, names):
    seen = set()
    for model in models:
        for message in (get(names), get(names, JSON)):
            with Client(pool.get(model, '--listing').address) as client:
                client.ask(message)
                seen.add(timeless(bytes(client.reader.raw)))
    assert len(seen) == 2


# ---- only what would be served

@pytest.mark.parametrize('options', [
    (), ('--dotfiles', 'hide'), ('--dotfiles', 'show'), ('--symlinks', 'never'),
    ('--symlinks', 'follow'), ('--symlinks', 'never', '--dotfiles', 'show')], ids='_'.join)
def test_only_what_would_be_served(launch, model, docroot, options):
    """Everything of the document root, which holds all kinds: what is listed is answered
    with 200, and what is not listed is not, but for dotfiles that are only hidden."""
    server = launch(model, '--listing', '--index', 'no-index', *options)
    listed = {f'{entry["name"]}/' if entry['type'] == 'directory' else entry['name']
              for entry in data_of(server, '/')}
    assert {'a.txt', 'empty', 'dir/', 'big.bin'} <= listed
    for name in os.listdir(docroot.path):
        folder = os.path.isdir(docroot.at(name))
        shown = (name + '/' if folder else name) in listed
        target = '/' + ''.join(f'%{byte:02x}' for byte in name.encode())
        status = ask_once(server.address, head(target + '/' * folder)).status
        hidden = name.startswith('.') and ('hide' in options or name == '.well-known')
        assert (status == 200) == shown or (hidden and not shown), (name, status)
    if 'follow' in options:
        assert {'link-out.txt', 'link-out-dir/'} <= listed
    else:
        assert not {name for name in listed if name.startswith(('link-out', 'null'))}


def test_rights_are_seen(listing, docroot, scratch):
    docroot.write(scratch + 'open', b'x')
    docroot.write(scratch + 'locked', b'x', mode=0)
    for name, mode in (('blind', 0o711), ('closed', 0), ('free', 0o755)):
        os.mkdir(docroot.at(scratch + name))
        os.chmod(docroot.at(scratch + name), mode)
    assert names_of(listing, '/' + scratch) == ['free', 'open']
    assert ask_once(listing.address, get(f'/{scratch}blind/')).status == 403
    os.chmod(docroot.at(scratch + 'closed'), 0o755)


def test_without_the_option_there_is_none(server):
    answer = ask_once(server.address, get('/bare/?format=json', JSON))
    assert (answer.status, answer.get('Vary')) == (404, None)


# ---- changes

def test_changes_are_seen_at_once(listing, docroot, scratch):
    folder = '/' + scratch
    with Client(listing.address) as client:
        for i in range(10):
            docroot.write(f'{scratch}file {i}', b'x' * i)
            found = json.loads(client.ask(get(folder, JSON)).body)
            assert [entry['size'] for entry in found] == list(range(i + 1))
    docroot.write(scratch + 'index.html', b'an index\n')
    wait_until(lambda: ask_once(listing.address, get(folder)).body == b'an index\n', AT_ONCE + 1)
    os.remove(docroot.at(scratch + 'index.html'))
    wait_until(lambda: b'file 9' in ask_once(listing.address, get(folder)).body, AT_ONCE + 1)


def test_changing_directory_is_always_well_formed(listing, docroot, scratch):
    stop = threading.Event()

    def change():
        i = 0
        while not stop.is_set():
            path = docroot.at(f'{scratch}{i % 50}')
            with open(path, 'wb') as file:
                file.write(b'x' * (i % 7))
            if i % 3 == 0:
                os.remove(path)
            i += 1
    thread = threading.Thread(target=change)
    thread.start()
    try:
        with Client(listing.address) as client:
            for _ in range(50):
                found = json.loads(client.ask(get('/' + scratch, JSON)).body)
                names = [entry['name'] for entry in found]
                assert len(set(names)) == len(names) <= 50
    finally:
        stop.set()
        thread.join()


# ---- limits

@pytest.fixture(scope='module')
def crowd(docroot):
    """A folder of one entry more than is shown."""
    folder = docroot.scratch()
    for i in range(LIMIT + 1):
        os.mknod(docroot.at(f'{folder}entry {i:05}'), 0o644)
    return '/' + folder


def test_at_most_so_many_entries(listing, crowd):
    page = ask_once(listing.address, get(crowd), LONG)
    assert page.get('Listing-Limit') == str(LIMIT)
    assert len(set(re.findall(rb'<a href="(\./entry%20\d{5})">', page.body))) == LIMIT
    assert b'<p>There are more entries: only 10000 of them are shown.</p>' in page.body
    data = ask_once(listing.address, get(crowd, JSON), LONG)
    assert data.get('Listing-Limit') == str(LIMIT)
    assert len({entry['name'] for entry in json.loads(data.body)}) == LIMIT


def test_a_long_listing_holds_up_nobody(listing, crowd):
    """While long listings are under way, one of them read by nobody."""
    clients = [Client(listing.address) for _ in range(4)]
    try:
        for client in clients:
            client.send_unread(get(crowd))
        for _ in range(20):
            assert ask_once(listing.address, PROBE).body == A_TXT
        for client in clients[1:]:
            assert len(client.receive(within=LONG)[0].body) > LIMIT * 50
    finally:
        for client in clients:
            client.close()


def test_Q1_deepest_listing(listing, docroot, scratch):
    """The longest path that a request can name, at its end a folder to be listed."""
    name = 'd' * 250
    depth = (4000 - len(scratch)) // (len(name) + 1)
    at = os.open(docroot.at(scratch), os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=at)
        inner = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(os.open('x' * 255, os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=at))
    os.close(os.open('y', os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=at))
    os.close(at)
    target = f'/{scratch}' + f'{name}/' * depth
    found = names_of(listing, target)
    assert found[-1] == 'y'
    for entry in found:
        assert ask_once(listing.address, get(target + entry)).status == 200


# ---- the option

def test_environment_twin(launch, model):
    server = launch(model, TETRAD_LISTING='1')
    assert names_of(server, '/bare/') == ['one.txt']


def test_hint_about_the_index(launch, model, docroot):
    """None where the root is listed."""
    root = docroot.at('bare')
    plain, listed = launch(model, root=root), launch(model, '--listing', root=root)
    # What is said last comes behind the line that a start is known by.
    wait_until(lambda: all('reachable' in one.said() for one in (plain, listed)), AT_ONCE)
    assert len(listed.said().splitlines()) == len(plain.said().splitlines()) - 1


def test_index_wins(listing):
    assert ask_once(listing.address, get('/')).body == INDEX
