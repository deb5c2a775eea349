"""Files that change while they are served (RFC 9110 8.8.1; RFC 9112 6.3 and 8)."""
import os
import threading

import pytest

from client import Client, ask_once, get
from docroot import BIG_SIZE, STAMP_NS, tag
from exchanges import PROBE
from kernel import cpu_seconds, processes
from waiting import AT_ONCE, holds_for, wait_until

SMALL_BUFFER = 8192


@pytest.fixture(params=['cached', 'checked'])
def served(request, pool, model):
    """With the default --revalidate, and with one that asks the file system each time."""
    options = [] if request.param == 'cached' else ['--revalidate', '0']
    return pool.get(model, *options)


def test_replaced_is_seen_in_time(served, docroot, scratch):
    name = scratch + 'x.txt'
    docroot.write(name, b'first')
    first = ask_once(served.address, get('/' + name))
    docroot.replace(name, b'the second', STAMP_NS + 1)

    def second_seen():
        answer = ask_once(served.address, get('/' + name))
        assert (answer.body, answer.get('ETag')) in (
            (b'first', first.get('ETag')), (b'the second', tag(10, STAMP_NS + 1)))
        return answer.body == b'the second'
    wait_until(second_seen, 1 + AT_ONCE)


def test_replaced_is_seen_at_once(pool, model, docroot, scratch):
    server = pool.get(model, '--revalidate', '0')
    name = scratch + 'x.txt'
    with Client(server.address) as client:
        for i in range(20):
            body = b'version %d' % i
            docroot.replace(name, body, STAMP_NS + i)
            answer = client.ask(get('/' + name))
            assert (answer.body, answer.get('ETag')) == (body, tag(len(body), STAMP_NS + i))


def test_G8_rewritten_within_a_second_changes_the_tag(pool, model, docroot, scratch):
    server = pool.get(model, '--revalidate', '0')
    name, tags = scratch + 'x.txt', []
    with Client(server.address) as client:
        for i in range(5):
            docroot.write(name, b'rewrite %d' % i, STAMP_NS + i * 10**8)
            seen = [f'If-None-Match: {tags[-1]}'] if tags else []
            answer = client.ask(get('/' + name, *seen))
            assert (answer.status, answer.body) == (200, b'rewrite %d' % i)
            tags.append(answer.get('ETag'))
    assert len(set(tags)) == len(tags)


@pytest.mark.parametrize('change', ['created', 'deleted', 'to-folder', 'to-link-outside'])
def test_other_changes_are_seen(pool, model, docroot, scratch, change):
    server = pool.get(model, '--revalidate', '0')
    name = scratch + 'x'
    path = docroot.at(name)
    if change == 'created':
        assert ask_once(server.address, get('/' + name)).status == 404
        docroot.write(name, b'now')
    else:
        docroot.write(name, b'before')
        assert ask_once(server.address, get('/' + name)).body == b'before'
        os.unlink(path)
    if change == 'to-folder':
        os.mkdir(path)
    elif change == 'to-link-outside':
        os.symlink(docroot.outside('secret'), path)
    want = {'created': 200, 'deleted': 404, 'to-folder': 301, 'to-link-outside': 404}[change]
    assert ask_once(server.address, get('/' + name)).status == want


def test_created_is_seen_in_time(server, docroot, scratch):
    assert ask_once(server.address, get('/' + scratch + 'new')).status == 404
    docroot.write(scratch + 'new', b'now')
    wait_until(lambda: ask_once(server.address, get('/' + scratch + 'new')).status == 200,
               1 + AT_ONCE)


def test_C6_length_tag_and_bytes_belong_together(served, docroot, scratch):
    """A file is replaced without pause by one of another size, while clients ask."""
    name, stop = scratch + 'flip', threading.Event()

    def version(i):
        return b'%07d\n' % i * (1 if i % 2 else 700)

    def flip():
        i = 0
        while not stop.is_set():
            i += 1
            docroot.replace(name, version(i), STAMP_NS + i)
    docroot.replace(name, version(0), STAMP_NS)
    thread = threading.Thread(target=flip)
    thread.start()
    try:
        for _ in range(10):
            with Client(served.address) as client:
                client.send(get('/' + name) * 30)
                for answer in client.receive(30):
                    i = int(answer.body[:8])
                    assert answer.body == version(i)
                    assert answer.get('ETag') == tag(len(version(i)), STAMP_NS + i)
    finally:
        stop.set()
        thread.join()


# ---- while an answer is on its way

def started(server, docroot, name, follow=b''):
    """A large file of which the client has read a little, so that most is unsent."""
    docroot.write(name, docroot.big)
    client = Client(server.address, receive_buffer=SMALL_BUFFER)
    client.socket.sendall(get('/' + name) + follow)
    assert client.pump(lambda: client.reader.body_bytes > 0, room=1024)
    return client


def test_O1_truncated_while_sent_cuts_the_connection(server, docroot, scratch):
    with started(server, docroot, scratch + 'cut', get('/a.txt')) as client:
        os.truncate(docroot.at(scratch + 'cut'), 4096)
        client.hurry()
        client.expect_end()
        assert client.cut or client.broken
        assert not client.reader.answers
        got = client.reader.body_bytes
        # What sendfile had queued already may read as zeros: the kernel clears cut pages.
        assert 4096 <= got < BIG_SIZE
        assert client.reader.raw[-got:][:4096] == docroot.big[:4096]
    used = cpu_seconds(server.pid)
    assert holds_for(lambda: cpu_seconds(server.pid) - used < 0.2, 0.3), 'it spins'


def test_O1_emptied_while_sent(server, docroot, scratch):
    with started(server, docroot, scratch + 'cut') as client:
        os.truncate(docroot.at(scratch + 'cut'), 0)
        client.expect_end()
        assert not client.reader.answers
    assert ask_once(server.address, PROBE).status == 200


def test_O1_others_go_on(server, docroot, scratch):
    with Client(server.address) as other:
        other.ask(PROBE)
        with started(server, docroot, scratch + 'cut') as client:
            os.truncate(docroot.at(scratch + 'cut'), 0)
            client.expect_end()
        other.expect_kept(PROBE)


def test_O4_grown_while_sent_keeps_the_announced_length(server, docroot, scratch):
    with started(server, docroot, scratch + 'grow') as client:
        with open(docroot.at(scratch + 'grow'), 'ab') as file:
            file.write(b'+' * 100000)
        client.hurry()
        assert client.receive()[0].body == docroot.big
        client.expect_kept(PROBE)


@pytest.mark.parametrize('how', ['deleted', 'replaced'])
def test_O8_completes_from_the_open_file(server, docroot, scratch, how):
    name = scratch + 'gone'
    with started(server, docroot, name) as client:
        if how == 'deleted':
            os.unlink(docroot.at(name))
        else:
            docroot.replace(name, b'+' * BIG_SIZE)
        client.hurry()
        assert client.receive()[0].body == docroot.big
        client.expect_kept(PROBE)
    assert processes(server.pid)
