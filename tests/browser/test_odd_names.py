"""A listing of odd names in a browser: it shows them, each link leads to the bytes of its
name, and no name becomes a script."""
import os
import shutil

import pytest

NAMES = ['plain', 'with space', ' leading', 'two  spaces', 'caf\u00e9', '\u65e5\u672c\u8a9e',
         '\U0001f42d', "quote'", 'double"quote', "' onmouseover='ran=1", '" onfocus="ran=1',
         '<img src=x onerror=ran=1>', '<script>ran=1', '<svg onload=ran=1>', '<!--', ']]>',
         'a&b', 'a&lt;b', 'a&#60;b', 'what?', '?ran=1', 'hash#tag', '#', 'p%41', '%', '%00',
         '%2e%2e', '%2F', 'a:b', 'my:file', 'javascript:ran=1', 'data:text,ran=1', 'http:',
         'semi;colon', 'back\\slash', '\\evil.test', 'a=b', 'a+b', '~tilde', '-dash', '*',
         'new\nline', 'cr\rlf\n', 'tab\there', '\x01\x1b[31m', '\x7f', '\u202egpj.exe',
         '\u2028', 'a.', 'n' * 200]
STAMP = 1714979289
RAW_NAMES = [b'\xff\xfe', b'half \xc3', b'\xed\xa0\x80']

# What it would look like if something did run.
CONTROL = '<!doctype html><title>t</title><img src=x onerror=ran=1><script>ran=1</script>'
HAS_RUN = 'typeof ran !== "undefined"'
LINKS = '[...document.querySelectorAll("tbody a")].map(a => [a.textContent, a.href])'
CLICK = '[...document.querySelectorAll("tbody a")].find(a => a.href === {!r}).click()'


@pytest.fixture(scope='module')
def bodies(root):
    """{name on disk: the bytes behind it}. Of each name there is a text and a file without
    a type, which is downloaded; of each third, as they are slow, a folder with an index."""
    found = {}
    base = os.path.join(os.fsencode(root), b'odd')
    os.mkdir(base)
    for i, name in enumerate([*map(str.encode, NAMES), *RAW_NAMES]):
        for kind, path in (('text', name + b'.txt'), ('data', name + b' data'),
                           ('folder', b'd ' + name + b'/index.html'))[:2 + (i % 3 == 0)]:
            found[path.removesuffix(b'/index.html')] = body = f'{kind} {i}\n'.encode()
            path = os.path.join(base, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'wb') as file:
                file.write(body)
            os.utime(path, (STAMP + i, STAMP + i))
    with open(os.path.join(root, 'control.html'), 'w', encoding='utf-8') as file:
        file.write(CONTROL)
    return found


@pytest.fixture
def page(launch, browser, bodies):
    """Opens the listing; gives its URL."""
    _, url = launch('--listing')
    browser.forget('Network.requestWillBeSent')
    browser.open(url + 'odd/')
    return url + 'odd/'


def test_each_name_is_a_link(browser, page, bodies):
    links = [link for link in browser.evaluate(LINKS) if link[1].startswith(page)]
    assert len({href for _, href in links}) == len(links) == len(bodies)
    shown = {text for text, _ in links}
    for name in NAMES:
        if name.isprintable() and name.isascii():
            assert {name + '.txt', name + ' data'} <= shown


def test_no_script_runs(browser, page):
    """None of the page's, and none that a name brought; not even one put in afterwards."""
    assert browser.evaluate('document.querySelectorAll("script, img, svg, iframe").length') == 0
    assert not browser.evaluate(HAS_RUN)
    assert not browser.seen('Page.javascriptDialogOpening')
    asked = {event['request']['url'] for event in browser.seen('Network.requestWillBeSent')}
    assert asked <= {page, page.replace('odd/', 'favicon.ico')}, 'it asks for what it names'
    browser.evaluate('''{ const script = document.createElement("script");
        script.textContent = "ran = 1"; document.body.append(script);
        document.body.insertAdjacentHTML("beforeend", "<img src=x onerror=ran=1>"); }''')
    assert not browser.evaluate(f'new Promise(go => setTimeout(() => go({HAS_RUN}), 200))')
    browser.open(page.replace('odd/', 'control.html'))
    assert browser.evaluate(HAS_RUN), 'nothing would be noticed'


def test_links_lead_to_their_bytes(browser, page, bodies):
    """By a click each: texts and folders are pages, the rest is downloaded."""
    downloads = os.path.join(browser.folder, 'downloads')
    browser.call('Browser.setDownloadBehavior', behavior='allowAndName', downloadPath=downloads,
                 eventsEnabled=True)
    found = []
    for text, href in browser.evaluate(LINKS):
        if not href.startswith(page):
            continue
        browser.events.clear()
        browser.evaluate(CLICK.format(href))
        if text.endswith(' data'):
            found.append(downloaded(browser, downloads))
        else:
            browser.wait_event('Page.loadEventFired')
            assert browser.evaluate('location.href') == href
            assert not browser.evaluate(HAS_RUN)
            found.append(browser.evaluate('document.documentElement.textContent').encode())
            browser.open(page)
    assert sorted(body.strip() for body in found) == sorted(
        body.strip() for body in bodies.values())
    shutil.rmtree(downloads)


def downloaded(browser, folder):
    event = browser.wait_event('Browser.downloadProgress',
                               lambda event: event['state'] != 'inProgress')
    assert event['state'] == 'completed'
    with open(os.path.join(folder, event['guid']), 'rb') as file:
        return file.read()


@pytest.mark.parametrize('column', ['Name', 'Size', 'Modified (UTC)'])
def test_columns_sort(browser, page, column):
    """A click on a column's head is one order, the next click the other."""
    seen = []
    for _ in range(2):
        browser.forget('Page.loadEventFired')
        browser.evaluate('[...document.querySelectorAll("th a")].find('
                         f'a => a.textContent.startsWith({column!r})).click()')
        browser.wait_event('Page.loadEventFired')
        seen.append([href for _, href in browser.evaluate(LINKS) if href.startswith(page)])
    assert sorted(seen[0]) == sorted(seen[1]) and seen[0] != seen[1]
