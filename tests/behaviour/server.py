"""Starts, watches and stops tetrad processes, never as root and never left behind."""
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile

from kernel import children, processes
from waiting import patient, wait_until

READY = re.compile(r'tetrad: (\S+), (\d+) workers?, serving (.*) at (.*)')
URL = re.compile(r'http://(?:\[([^]]+)\]|([^:/]+)):(\d+)')
SANITIZER_REPORT = re.compile(r'(ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|'
                              r'runtime error:)')
START_LIMIT = 10
STOP_LIMIT = 10
UNPRIVILEGED = 'nobody'


def find_binary():
    """The program under test: $TETRAD, or the newest in a build folder of the tree."""
    if os.environ.get('TETRAD'):
        return os.path.abspath(os.environ['TETRAD'])
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    folders = [top] + [os.path.join(top, name) for name in os.listdir(top)
                       if name.startswith('build')]
    found = [os.path.join(folder, 'tetrad') for folder in folders]
    found = [path for path in found if os.path.isfile(path) and os.access(path, os.X_OK)]
    if not found:
        raise SystemExit('no tetrad program found: build it, or set TETRAD to its path')
    return max(found, key=os.path.getmtime)


def list_models(binary):
    """[(name, summary)] as the program prints them, whole."""
    text = subprocess.run([binary, '--list-models'], check=True, text=True, timeout=10,
                          env=clean_environment(), stdout=subprocess.PIPE).stdout
    return [tuple(line.split('\t')) for line in text.splitlines()]


def clean_environment(**more):
    """Without options for tetrad that the caller's environment may hold."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith('TETRAD')}
    return {**kept, **more}


class Program:
    """The binary where an unprivileged user can run it, and the command that does so."""

    def __init__(self, path):
        self.path = path
        self.user = pwd.getpwnam(UNPRIVILEGED) if os.geteuid() == 0 else None
        self._copy = None
        if self.user and subprocess.run(self._unprivileged() + ['test', '-x', path],
                                        check=False).returncode != 0:
            self._copy = tempfile.mkdtemp(prefix='tetrad-binary-')
            os.chmod(self._copy, 0o755)
            self.path = shutil.copy(path, self._copy)
            os.chmod(self.path, 0o755)

    def remove(self):
        if self._copy:
            shutil.rmtree(self._copy)

    def _unprivileged(self):
        # The parent's death ends the server too, so that even a killed run leaves nothing.
        command = ['setpriv', '--pdeathsig', 'TERM']
        if self.user:
            command += [f'--reuid={self.user.pw_uid}', f'--regid={self.user.pw_gid}',
                        '--clear-groups']
        return command

    def set_soft_limit(self, pid, files):
        """Of open descriptors, for a process that runs: the same user may do that."""
        subprocess.run(self._unprivileged() + ['prlimit', '--pid', str(pid),
                                               f'--nofile={files}:'], check=True)

    def command(self, options, files=None):
        """files: the limit of open descriptors."""
        limit = ['prlimit', f'--nofile={files}:{files}'] if files else []
        return limit + self._unprivileged() + [self.path, *options]

    def run(self, *options, files=None, **environment):
        """For what ends by itself: a usage error, --version."""
        return subprocess.run(self.command(options, files), text=True, timeout=patient(8),
                              env=clean_environment(**environment), check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)


class Server:
    """One running server. address is of its first TCP listener."""

    def __init__(self, program, model, root, options=(), files=None, environment=None):
        self.model, self.root = model, root
        self._folder = tempfile.mkdtemp(prefix='tetrad-server-')
        self._output = os.path.join(self._folder, 'stderr')
        defaults = ['-m', model, '-p', '0', '-b', '127.0.0.1']
        command = program.command([*defaults, *options, root], files)
        with open(self._output, 'wb') as output:
            self.process = subprocess.Popen(
                command, env=clean_environment(**(environment or {})), stdout=output,
                stderr=output, stdin=subprocess.DEVNULL)
        try:
            self.ready = self._wait_ready()
        except BaseException:
            self.kill()
            raise
        host6, host4, port = URL.search(self.ready[4]).groups()
        self.address = (host4 or host6, int(port))

    @property
    def pid(self):
        return self.process.pid

    def _wait_ready(self):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f'ended with {self.process.returncode}: {self.said()}')
            lines = self.said().splitlines()
            return next(filter(None, map(READY.fullmatch, lines)), None)
        return wait_until(ready, START_LIMIT, 'the ready line')

    def said(self):
        """What it wrote to standard output and standard error so far."""
        with open(self._output, encoding='utf-8', errors='surrogateescape') as file:
            return file.read()

    def running(self):
        return self.process.poll() is None

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait(self, within=STOP_LIMIT):
        """The exit status, once it has ended by itself."""
        return self.process.wait(patient(within))

    def stop(self):
        """Ends it in good order and checks that nothing was left or reported."""
        try:
            family = children(self.pid)
            if self.running():
                self.signal()
            status = self.wait()
            wait_until(lambda: not alive(family), 3, 'no process is left')
            check_reports(self.said())
            assert status == 0, f'exit status {status}: {self.said()}'
        finally:
            self.kill()

    def kill(self):
        """Ends whatever is left of it."""
        family = processes(self.pid) if self.running() else {}
        for pid in family:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def alive(pids):
    """Which of these processes exist and are not zombies."""
    def is_alive(pid):
        try:
            with open(f'/proc/{pid}/stat') as file:
                return file.read().rpartition(')')[2].split()[0] != 'Z'
        except (FileNotFoundError, ProcessLookupError):
            return False
    return [pid for pid in pids if is_alive(pid)]


def check_reports(text):
    assert not SANITIZER_REPORT.search(text), text
