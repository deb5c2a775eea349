"""The document root is put in the place of another one, as a deployment does it, while
clients ask: each answer is of one of them, and soon of the new one."""
import contextlib
import os
import shutil
import threading

import pytest

from client import Client, ask_once, get
from docroot import STAMP_NS, tag
from kernel import most_descriptors
from waiting import AT_ONCE, patient, wait_until

SIZES = {'small': 100, 'kept': 20000, 'open': 200000, 'sub/deep': 3000}
LARGE = 4 << 20
STEP_NS = 10**9


def content(version, size):
    """Of another length in each version."""
    return b'%07d\n' % version * (size // 8 + version)


class Roots:
    """Folders of one server, BASE/www being the one in use: itself, or a link to it."""

    def __init__(self, base, linked):
        self.base, self.linked, self.version = base, linked, 0
        self.path = os.path.join(base, 'www')
        self.put_in_place(self.make(0), None)

    def make(self, version):
        folder = os.path.join(self.base, f'new-{version}')
        for name, size in {**SIZES, 'large': LARGE}.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'wb') as file:
                file.write(content(version, size))
            os.utime(path, ns=(STAMP_NS + version * STEP_NS,) * 2)
        return folder

    def put_in_place(self, folder, old):
        if self.linked:
            os.symlink(folder, self.path + '.next')
            os.rename(self.path + '.next', self.path)
            return
        if old:
            os.rename(self.path, old)
        os.rename(folder, self.path)

    def replace(self):
        """By the next version. What was in use is gone afterwards."""
        version = self.version + 1
        old = os.path.join(self.base, f'new-{self.version}' if self.linked else 'w.old')
        self.put_in_place(self.make(version), old)
        shutil.rmtree(old)
        self.version = version


@pytest.fixture(params=['folder', 'link'])
def roots(request, docroot):
    base = docroot.outside(f'roots-{request.param}')
    yield Roots(base, request.param == 'link')
    shutil.rmtree(base)


def version_of(answer, size):
    """The one that length, tag and all bytes are of."""
    version = int(answer.body[:8])
    assert answer.body == content(version, size)
    assert answer.get('ETag') == tag(len(answer.body), STAMP_NS + version * STEP_NS)
    return version


class Load(threading.Thread):
    """Asks for the files by turns, until stopped. What a root has lost may be missing for a
    moment, as its files go one by one; that it comes from two is never right."""

    def __init__(self, address):
        super().__init__()
        self.answers, self.error = 0, None
        self._address, self._stop_asking = address, threading.Event()
        self.start()

    def run(self):
        try:
            while not self._stop_asking.is_set():
                with Client(self._address) as client:
                    client.send(b''.join(get('/' + name) for name in SIZES) * 5)
                    for answer, size in zip(client.receive(5 * len(SIZES)),
                                            list(SIZES.values()) * 5):
                        if answer.status != 404:
                            assert answer.status == 200, str(answer)
                            version_of(answer, size)
                        self.answers += 1
        except Exception as error:               # reported by the test's own thread
            self.error = error

    def stop(self):
        self._stop_asking.set()
        self.join(patient(8))
        assert not self.is_alive()
        if self.error:
            raise self.error


@pytest.mark.parametrize('revalidate', ['0', '1s'])
def test_C7_replaced_under_load(launch, model, roots, revalidate):
    server = launch(model, '--revalidate', revalidate, root=roots.path)
    loads = [Load(server.address) for _ in range(3)]
    try:
        for _ in range(6):
            before = sum(load.answers for load in loads)
            roots.replace()
            wait_until(lambda: sum(load.answers for load in loads) > before + 100, 5)
    finally:
        for load in loads:
            load.stop()

    def is_new():
        answer = ask_once(server.address, get('/kept'))
        return answer.status == 200 and version_of(answer, SIZES['kept']) == roots.version
    wait_until(is_new, 0.1 if revalidate == '0' else 1 + AT_ONCE, 'the new root is seen')
    assert server.running()


def test_C7_a_download_under_way_is_of_the_old_one(launch, model, roots):
    server = launch(model, '--revalidate', '0', root=roots.path)
    with Client(server.address, receive_buffer=8192) as client:
        client.send(get('/large'), 'GET')
        assert client.pump(lambda: client.reader.body_bytes > 0, room=1024)
        roots.replace()
        assert version_of(ask_once(server.address, get('/large')), LARGE) == 1
        client.hurry()
        assert version_of(client.receive()[0], LARGE) == 0
        assert version_of(client.ask(get('/large')), LARGE) == 1


def test_C7_while_there_is_none_the_last_is_served(launch, model, roots):
    server = launch(model, '--revalidate', '0', root=roots.path)
    away = roots.path + '.away'
    with Client(server.address) as client:
        os.rename(roots.path, away)
        for name, size in SIZES.items():
            assert version_of(client.ask(get('/' + name)), size) == 0
        os.rename(away, roots.path)
        assert client.ask(get('/missing')).status == 404


def test_C7_old_roots_are_let_go(launch, model, roots):
    """Descriptors do not pile up with each deployment."""
    server = launch(model, '--workers', '1', '--revalidate', '0', root=roots.path)
    counts = []
    for _ in range(8):
        roots.replace()
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(Client(server.address)) for _ in range(4)]
            for client in clients:
                assert version_of(client.ask(get('/open')), SIZES['open']) == roots.version
        counts.append(most_descriptors(server.pid))
    assert max(counts[4:]) <= max(counts[:4]) + 4, counts
