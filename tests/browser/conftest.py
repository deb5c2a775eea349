"""Fixtures of the browser's tests: tetrad under each model, and one browser for all. What
starts and watches servers is that of the behaviour tests."""
import os
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'behaviour'))

from chromium import Browser, find_program                      # noqa: E402
from logs import Log                                            # noqa: E402
from server import Program, Server, find_binary, list_models    # noqa: E402


def pytest_configure():
    if not find_program():
        raise pytest.UsageError('no Chromium here; Debian package: chromium')


def pytest_generate_tests(metafunc):
    if 'model' in metafunc.fixturenames:
        wanted = os.environ.get('TETRAD_MODELS', '').replace(',', ' ').split()
        known = [name for name, _ in list_models(find_binary())]
        metafunc.parametrize('model', wanted or known, scope='session')


@pytest.fixture(scope='session')
def browser():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture(scope='session')
def program():
    program = Program(find_binary())
    yield program
    program.remove()


@pytest.fixture(scope='module')
def root():
    """An empty folder to be served."""
    path = tempfile.mkdtemp(prefix='tetrad-browser-')
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def log():
    folder = tempfile.mkdtemp(prefix='tetrad-log-')
    os.chmod(folder, 0o777)
    yield Log(folder, 'json')
    shutil.rmtree(folder)


@pytest.fixture
def launch(program, model, root):
    """Starts a server of the root; gives it and its URL."""
    started = []

    def start(*options):
        server = Server(program, model, root, options)
        started.append(server)
        return server, 'http://{}:{}/'.format(*server.address)
    yield start
    for server in started:
        server.stop()
