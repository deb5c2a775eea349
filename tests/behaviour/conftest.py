"""Fixtures: the models, the document root, running servers, and a limit for every test.

Options come from the environment: TETRAD is the program under test, TETRAD_MODELS limits
the models (commas or spaces), TETRAD_PATIENCE stretches every time limit.
"""
import os
import re
import resource
import signal

import pytest

from docroot import DocumentRoot
from server import Program, Server, find_binary, list_models
from waiting import patient

TEST_LIMIT = 10
WANTED_FILES = 4096


def pytest_configure(config):
    config.addinivalue_line('markers', 'soak: many connections, or long; "not soak" '
                            'leaves these out')
    config.addinivalue_line('markers', 'limit(seconds): instead of the usual one')
    binary = find_binary()
    config.tetrad_binary = binary
    config.tetrad_models = chosen_models(binary)
    raise_file_limit()
    # Ended from outside: as with Ctrl-C, servers are stopped and folders removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def raise_file_limit():
    """The tests hold many connections themselves."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard > WANTED_FILES:
        hard = max(soft, WANTED_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, resource.getrlimit(
        resource.RLIMIT_NOFILE)[1]))


def chosen_models(binary):
    known = [entry[0] for entry in list_models(binary)]
    wanted = re.findall(r'[^,\s]+', os.environ.get('TETRAD_MODELS', ''))
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise pytest.UsageError(f'TETRAD_MODELS: {unknown} not among {known}')
    return wanted or known


def pytest_generate_tests(metafunc):
    if 'model' in metafunc.fixturenames:
        metafunc.parametrize('model', metafunc.config.tetrad_models, scope='session')


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """No test may take longer, whatever the server does."""
    marker = item.get_closest_marker('limit')
    limit = patient(marker.args[0] if marker else TEST_LIMIT)

    def expire(*_):
        raise AssertionError(f'not done within {limit:g} s')
    previous = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, limit)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, previous)


@pytest.fixture(scope='session')
def models(request):
    return request.config.tetrad_models


@pytest.fixture(scope='session')
def program(request):
    program = Program(request.config.tetrad_binary)
    yield program
    program.remove()


@pytest.fixture(scope='session')
def docroot():
    root = DocumentRoot()
    yield root
    root.remove()


class Pool:
    """Servers shared by tests that leave them as they found them: one for each model and
    list of options."""

    def __init__(self, program, root):
        self._program, self._root, self._servers = program, root, {}

    def get(self, model, *options):
        key = (model, *options)
        if key not in self._servers:
            self._servers[key] = Server(self._program, model, self._root, options)
        return self._servers[key]

    def check(self):
        """Fails, and forgets what ended, if a server did not survive."""
        ended = {k: s for k, s in self._servers.items() if not s.running()}
        said = {key: f'{s.process.returncode}: {s.said()}' for key, s in ended.items()}
        for key, server in ended.items():
            server.kill()
            del self._servers[key]
        assert not said, f'ended during this test: {said}'

    def stop(self):
        errors = []
        for key, server in self._servers.items():
            try:
                server.stop()
            except Exception as error:           # stop them all before complaining
                errors.append(f'{key}: {error}')
        assert not errors, '\n'.join(errors)


@pytest.fixture(scope='session')
def session_pool(program, docroot):
    pool = Pool(program, docroot.path)
    yield pool
    pool.stop()


@pytest.fixture
def pool(session_pool):
    yield session_pool
    session_pool.check()


@pytest.fixture
def server(pool, model):
    """With default options, shared."""
    return pool.get(model)


@pytest.fixture
def launch(program, docroot):
    """Starts servers of a test's own, of the program or of what is used in its place. Those
    still running at its end are stopped, and must stop as they should."""
    started = []

    def start(model, *options, root=None, files=None, using=None, **environment):
        server = Server(using or program, model, root or docroot.path, options, files,
                        environment)
        started.append(server)
        return server
    yield start
    running = [server for server in started if server.running()]
    try:
        for server in running:
            server.stop()
    finally:
        for server in started:
            server.kill()


@pytest.fixture
def scratch(docroot):
    """A folder below the document root for one test's files, as a prefix of names."""
    return docroot.scratch()
