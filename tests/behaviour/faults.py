"""Servers that meet faults: a preloaded library of short and failing system calls, another
clock, and strace. The library is faults.c, compiled by who first needs it."""
import os
import shutil
import struct
import subprocess
import tempfile

import pytest

# What a sanitizer forbids itself here: being second, and looking for leaks under strace.
SANITIZERS = {'verify_asan_link_order': '0', 'detect_leaks': '0'}


class Under:
    """The program, started by another command: env, prlimit or strace."""

    def __init__(self, program, *before):
        self._program, self._before = program, list(before)

    def command(self, options, files=None):
        command = self._program.command(options, files)
        place = command.index(self._program.path)
        return command[:place] + self._before + command[place:]


def sanitizer_options(*names):
    """Of the environment, with these added."""
    given = os.environ.get('ASAN_OPTIONS', '')
    return ':'.join(filter(None, [given, *(f'{n}={SANITIZERS[n]}' for n in names)]))


class Folder:
    """Of a test's own, which the server's user can look into."""

    def __init__(self, prefix):
        self.path = tempfile.mkdtemp(prefix=prefix)
        os.chmod(self.path, 0o755)

    def at(self, name):
        return os.path.join(self.path, name)

    def remove(self):
        shutil.rmtree(self.path)


@pytest.fixture(scope='session')
def fault_library():
    """The path of the compiled library."""
    folder = Folder('tetrad-faults-')
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'faults.c')
    library = folder.at('faults.so')
    subprocess.run([os.environ.get('CC', 'cc'), '-shared', '-fPIC', '-O1', '-Wall', '-Wextra',
                    '-Werror', '-o', library, source, '-ldl'], check=True)
    os.chmod(library, 0o755)
    yield library
    folder.remove()


@pytest.fixture
def launch_faulty(launch, program, fault_library):
    """As launch, and with faults by name: SHORT=1 is FAULT_SHORT=1 for the library."""
    def start(model, *options, root=None, **faults):
        settings = [f'FAULT_{name}={value}' for name, value in faults.items()]
        options_of_asan = sanitizer_options('verify_asan_link_order')
        # A thread that hangs in a read is left behind when the process ends.
        options_of_tsan = os.environ.get('TSAN_OPTIONS', '') + ':report_thread_leaks=0'
        under = Under(program, 'env', f'LD_PRELOAD={fault_library}',
                      f'ASAN_OPTIONS={options_of_asan}', f'TSAN_OPTIONS={options_of_tsan}',
                      *settings)
        return launch(model, *options, root=root, using=under)
    return start


class Met:
    """How many receives and sends the library made short."""

    def __init__(self, folder):
        self.path = folder.at('met')
        with open(self.path, 'wb') as file:
            file.write(bytes(8))
        os.chmod(self.path, 0o666)

    def counts(self):
        with open(self.path, 'rb') as file:
            return struct.unpack('=II', file.read())


@pytest.fixture
def faults_met():
    folder = Folder('tetrad-met-')
    yield Met(folder)
    folder.remove()


class Clock:
    """The wall clock of a server, by how many seconds it is off."""

    def __init__(self, folder):
        self.path = folder.at('clock')
        self.set(0)

    def set(self, seconds):
        with open(self.path, 'r+b' if os.path.exists(self.path) else 'wb') as file:
            file.write(struct.pack('=q', seconds))
        os.chmod(self.path, 0o644)


@pytest.fixture
def clock():
    folder = Folder('tetrad-clock-')
    yield Clock(folder)
    folder.remove()


class Trace:
    """What strace wrote. The server stays its starter's child (-D)."""

    def __init__(self, folder, program, calls, *more):
        self._path = folder.at('trace')
        self.under = Under(program, 'strace', '-D', '-f', '-qq', '-o', self._path, '-e',
                           f'trace={calls}', *more)

    def lines(self):
        with open(self._path, encoding='utf-8', errors='replace') as file:
            return file.read().splitlines()


@pytest.fixture
def traced(launch, program):
    """Starts a server under strace: (server, trace)."""
    folder = Folder('tetrad-trace-')
    os.chmod(folder.path, 0o777)

    def start(model, calls, *options, more=()):
        trace = Trace(folder, program, calls, *more)
        server = launch(model, *options, using=trace.under,
                        ASAN_OPTIONS=sanitizer_options('detect_leaks'))
        return server, trace
    yield start
    folder.remove()
