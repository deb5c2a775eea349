"""--user: root's rights end before the first request, for good. The server is started as
root here; who runs the tests as somebody else sees the refusals alone."""
import grp
import os
import pwd
import signal
import socket
import subprocess

import pytest

from client import ask_once, get
from docroot import A_TXT
from exchanges import PROBE
from kernel import descriptors, processes
from logs import log  # a fixture
from server import Server, clean_environment
from waiting import patient, wait_until

USAGE, FAILURE = 2, 1
USER, GROUP = 'nobody', 'daemon'
UID, GID = pwd.getpwnam(USER).pw_uid, pwd.getpwnam(USER).pw_gid
OTHER_GID = grp.getgrnam(GROUP).gr_gid


def one_line(result, status, *words):
    assert result.returncode == status, result
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith('tetrad: '), result.stderr
    assert all(word in lines[0] for word in words), lines[0]


@pytest.mark.parametrize('value', ['no-such-user', f'{USER}:no-such-group', f'{USER}:', ':'])
def test_unknown(program, docroot, value):
    one_line(program.run('--user', value, docroot.path), USAGE, value)


def test_not_root(program, docroot):
    """program.run is never root."""
    result = program.run('-p', '0', '--user', 'daemon', docroot.path)
    one_line(result, FAILURE, 'daemon', 'only root')


def test_not_root_with_a_log(program, docroot, log):
    result = program.run('-p', '0', '-u', 'daemon', *log.options, docroot.path)
    one_line(result, FAILURE, 'daemon', 'only root')


def test_already_that_user(launch, model, program):
    name = program.user.pw_name if program.user else pwd.getpwuid(os.getuid()).pw_name
    server = launch(model, '--user', name)
    assert ask_once(server.address, PROBE).body == A_TXT


class AsRoot:
    """The program without what Program does to lose root's rights."""

    def __init__(self, program):
        self._path = program.path

    def command(self, options, files=None):
        return ['setpriv', '--pdeathsig', 'TERM', self._path, *options]

    def run(self, *options):
        return subprocess.run(self.command(options), text=True, timeout=patient(8),
                              env=clean_environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def status_of(pid):
    """Of each thread of a process: {field: value}."""
    found = []
    for thread in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{thread}/status') as file:
            found.append(dict(line.rstrip('\n').split(':\t', 1) for line in file
                              if ':\t' in line))
    return found


def check_rights(server, gid, groups):
    for pid in processes(server.pid):
        for status in status_of(pid):
            assert status['Uid'].split() == [str(UID)] * 4
            assert status['Gid'].split() == [str(gid)] * 4
            assert {int(group) for group in status['Groups'].split()} == groups
            assert status['NoNewPrivs'] == '1'
            for kind in ('CapEff', 'CapPrm', 'CapInh', 'CapAmb'):
                assert int(status[kind], 16) == 0, kind


def free_low_port():
    """Below 1024, where only root may bind."""
    for port in range(1023, 600, -1):
        with socket.socket() as probe:
            try:
                probe.bind(('127.0.0.1', port))
            except OSError:
                continue
            return port
    raise AssertionError('no free port below 1024')


if os.geteuid() == 0:
    @pytest.fixture
    def launch_as_root(program, docroot):
        started = []

        def start(model, *options, root=None):
            started.append(Server(AsRoot(program), model, root or docroot.path, options))
            return started[-1]
        yield start
        try:
            for server in started:
                if server.running():
                    server.stop()
        finally:
            for server in started:
                server.kill()

    def test_every_process_and_thread_is_the_user(launch_as_root, model):
        server = launch_as_root(model, '-u', USER, '-w', '3', '-p', str(free_low_port()),
                                '--access-log', '/dev/null')
        assert ask_once(server.address, PROBE).body == A_TXT
        check_rights(server, GID, {GID})
        assert 'as root' not in server.said()

    def test_another_group(launch_as_root, model):
        server = launch_as_root(model, '--user', f'{USER}:{GROUP}')
        assert ask_once(server.address, PROBE).body == A_TXT
        check_rights(server, OTHER_GID, {OTHER_GID})

    def test_what_only_root_may_read(launch_as_root, model, docroot, scratch):
        """The rights go before the first request, and the first look at a file."""
        path = docroot.write(scratch + 'secret.txt', b'for root', mode=0o600)
        server = launch_as_root(model, '-u', USER)
        assert ask_once(server.address, get(f'/{scratch}secret.txt')).status == 403
        os.chmod(path, 0o644)
        wait_until(lambda: ask_once(server.address, get(f'/{scratch}secret.txt')).status == 200, 3)

    def test_a_folder_that_the_user_may_not_enter(program, model, docroot, log):
        folder = os.path.join(log.folder, 'closed')
        os.mkdir(folder, 0o700)
        result = AsRoot(program).run('-m', model, '-p', '0', '-u', USER, folder)
        one_line(result, FAILURE, folder, 'Permission denied')

    def test_root_without_user_is_warned(launch_as_root, model):
        server = launch_as_root(model)
        assert 'warning: running as root' in server.said() and '--user' in server.said()

    def test_user_root_is_no_change(launch_as_root, model):
        assert 'warning: running as root' in launch_as_root(model, '-u', 'root').said()

    def test_log_that_root_makes(launch_as_root, model, log):
        """It belongs to the user, who can so open it again."""
        server = launch_as_root(model, '-u', USER, *log.options)
        assert (os.stat(log.path).st_uid, os.stat(log.path).st_gid) == (UID, GID)
        ask_once(server.address, PROBE)
        log.wait_lines(1)
        os.chmod(log.folder, 0o755)
        server.signal(signal.SIGUSR1)
        ask_once(server.address, PROBE)
        log.wait_lines(2)
        assert 'cannot reopen' not in server.said()

    def test_rotation_where_the_user_may_make_files(launch_as_root, model, log):
        os.chown(log.folder, UID, GID)
        os.chmod(log.folder, 0o755)
        server = launch_as_root(model, '-u', USER, *log.options)
        os.rename(log.path, log.path + '.1')
        server.signal(signal.SIGUSR1)
        wait_until(lambda: os.path.exists(log.path), 1)
        assert os.stat(log.path).st_uid == UID

    def test_rotation_where_root_makes_the_files(launch_as_root, model, log):
        """What logrotate's "create" is for."""
        os.chmod(log.folder, 0o755)
        server = launch_as_root(model, '-u', USER, *log.options)
        os.rename(log.path, log.path + '.1')
        server.signal(signal.SIGUSR1)
        wait_until(lambda: 'cannot reopen' in server.said(), 1)
        with open(log.path, 'w'):
            os.chown(log.path, UID, GID)
        server.signal(signal.SIGUSR1)
        wait_until(lambda: log.path in descriptors(server.pid).values(), 1)
        ask_once(server.address, PROBE)
        log.wait_lines(1)

    def test_unix_socket_of_the_user(launch_as_root, model, log):
        """It is gone at the end if its folder is the user's."""
        os.chown(log.folder, UID, GID)
        path = os.path.join(log.folder, 'socket')
        server = launch_as_root(model, '-u', USER, '-b', f'unix:{path}')
        assert ask_once(path, PROBE).body == A_TXT
        server.stop()
        assert not os.path.exists(path)
