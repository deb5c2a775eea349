"""Starting: the ready line, the options and their twins in the environment, and one clear
line for whatever is wrong."""
import os
import re
import signal
import socket
import subprocess

import pytest

from client import Client, ask_once, get
from docroot import A_TXT
from exchanges import PROBE
from server import clean_environment, list_models
from waiting import AT_ONCE, wait_until

USAGE, FAILURE = 2, 1


def one_line(result, status, *words):
    """Nothing on standard output, and one line that names each of the words."""
    assert result.returncode == status, result
    assert result.stdout == ''
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith('tetrad: '), result.stderr
    for word in words:
        assert word in lines[0], f'{word!r} is not named: {lines[0]}'


# ---- models

def test_list_models_format(program, models):
    entries = list_models(program.path)
    assert all(len(entry) == 2 and all(entry) for entry in entries)
    names = [entry[0] for entry in entries]
    assert len(set(names)) == len(names)
    assert {'prefork', 'threads', 'greenthreads', 'hybrid', 'eventloop'} <= set(names)
    assert set(models) <= set(names)
    assert all(re.fullmatch(r'[a-z]+', name) for name in names)


def test_unknown_model(program, docroot):
    result = program.run('-m', 'forks', docroot.path)
    one_line(result, USAGE, 'forks', *(name for name, _ in list_models(program.path)))


# ---- the ready line

def test_ready_line(server, model, docroot):
    assert server.ready[1] == model
    assert server.ready[3] == docroot.path
    assert server.ready[4].startswith(f'http://127.0.0.1:{server.address[1]}')
    assert int(server.ready[2]) >= 1


def test_workers_in_the_ready_line(pool, model):
    assert pool.get(model, '--workers', '3').ready[2] == '3'


def test_default_folder_is_the_current_one(program, model, docroot):
    process = subprocess.Popen(program.command(['-m', model, '-p', '0']), text=True,
                               cwd=docroot.path, env=clean_environment(),
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        port = int(re.search(r'http://127\.0\.0\.1:(\d+)', process.stderr.readline())[1])
        assert ask_once(('127.0.0.1', port), PROBE).body == A_TXT
    finally:
        process.terminate()
        process.stderr.close()
        assert process.wait() == 0


def test_hint_where_a_root_has_nothing_to_show(launch, model, docroot):
    """No index file: one line more at the start."""
    with_index, without = launch(model), launch(model, root=docroot.at('bare'))
    # What is said last comes behind the line that a start is known by.
    wait_until(lambda: all('reachable' in one.said() for one in (with_index, without)), AT_ONCE)
    assert len(without.said().splitlines()) == len(with_index.said().splitlines()) + 1


# ---- what is wrong

@pytest.mark.parametrize('arguments, words', [
    (['-p', 'x'], ['port', 'x']), (['-p', '65536'], ['port', '65536']),
    (['-p', '-1'], ['port', '-1']), (['-p', '8080x'], ['port', '8080x']),
    (['-p', ''], ['port']), (['--port=0x10'], ['port', '0x10']), (['-p', ' 80'], ['port']),
    (['-p', '99999999999999999999'], ['port']),
    (['-w', '0'], ['workers', '0']), (['--workers', 'many'], ['workers', 'many']),
    (['--max-connections', '0'], ['max-connections']),
    (['--max-connections', '1e3'], ['max-connections', '1e3']),
    (['--header-timeout', '5y'], ['header-timeout', '5y']),
    (['--header-timeout', '-5'], ['header-timeout', '-5']),
    (['--keepalive-timeout', ''], ['keepalive-timeout']),
    (['--body-timeout', 's'], ['body-timeout']), (['--send-timeout', '1 s'], ['send-timeout']),
    (['--grace', 'soon'], ['grace', 'soon']), (['--revalidate', 'never'], ['revalidate', 'never']),
    (['--cache-size', '1Q'], ['cache-size', '1Q']), (['--cache-size', '-1'], ['cache-size']),
    (['--max-requests', 'x'], ['max-requests', 'x']),
    (['--scheduler', 'fifo'], ['scheduler', 'fifo']),
    (['--server-header', 'maybe'], ['server-header', 'maybe']),
    (['-b', '300.0.0.1'], ['300.0.0.1']), (['-b', 'unix:'], ['unix:']),
    (['-b', 'localhost:80'], ['localhost:80']), (['-b', ''], ['bind']),
    (['--unknown-option'], ['unknown-option']), (['-Z'], ['Z']), (['--portx', '1'], ['portx']),
    (['-p'], ['port']), (['--model'], ['model']), (['--version=1'], ['version']),
    (['one', 'two'], ['two']),
], ids=lambda value: '_'.join(value) if isinstance(value, list) else None)
def test_bad_usage(program, arguments, words):
    one_line(program.run(*arguments), USAGE, *words)


def test_missing_folder(program, model, docroot):
    missing = docroot.at('no-such-folder')
    one_line(program.run('-m', model, '-p', '0', missing), FAILURE, missing)


def test_folder_that_is_a_file(program, model, docroot):
    file = docroot.at('a.txt')
    one_line(program.run('-m', model, '-p', '0', file), FAILURE, file)


def test_unreadable_folder(program, model, docroot):
    closed = docroot.at('closed')
    one_line(program.run('-m', model, '-p', '0', closed), FAILURE, closed)


def test_Q10_port_in_use(program, model, docroot):
    with socket.socket() as holder:
        holder.bind(('127.0.0.1', 0))
        holder.listen()
        port = str(holder.getsockname()[1])
        result = program.run('-m', model, '-p', port, docroot.path)
    one_line(result, FAILURE, '127.0.0.1', port)


def test_Q10_port_in_use_by_another_tetrad(program, model, docroot, server):
    port = str(server.address[1])
    one_line(program.run('-m', model, '-p', port, docroot.path), FAILURE, port)
    assert ask_once(server.address, PROBE).body == A_TXT


def test_address_of_another_machine(program, model, docroot):
    one_line(program.run('-m', model, '-p', '0', '-b', '192.0.2.1', docroot.path), FAILURE,
             '192.0.2.1')


@pytest.mark.parametrize('files', [32, 47])
def test_too_few_descriptors(program, model, docroot, files):
    one_line(program.run('-m', model, '-p', '0', docroot.path, files=files), FAILURE,
             'descriptors', str(files))


def test_just_enough_descriptors(launch, model):
    assert ask_once(launch(model, files=128).address, PROBE).body == A_TXT


# ---- options that print

def test_version(program):
    result = program.run('--version')
    assert (result.returncode, result.stderr) == (0, '')
    for name in ('tetrad', 'llhttp', 'libuv'):
        assert re.search(rf'\b{name} v?\d+\.\d+', result.stdout), result.stdout
    assert program.run('-V').stdout == result.stdout


def test_help_names_every_option(program):
    result = program.run('--help')
    assert (result.returncode, result.stderr) == (0, '')
    for option in ('model list-models port bind workers scheduler max-connections '
                   'header-timeout keepalive-timeout send-timeout body-timeout '
                   'max-requests revalidate cache-size index listing symlinks dotfiles mime-types charset header cache '
                   'spa error-page no-etag server-header grace version help').split():
        assert f'--{option}' in result.stdout
    assert program.run('-h').stdout == result.stdout


# ---- the environment

def test_environment_twins(launch, model):
    server = launch(model, TETRAD_HEADER_TIMEOUT='400ms', TETRAD_WORKERS='3',
                    TETRAD_SERVER_HEADER='name', TETRAD_MAX_REQUESTS='2')
    assert server.ready[2] == '3'
    with Client(server.address) as client:
        client.send(b'GET')
        assert client.receive(within=0.4 + AT_ONCE)[0].status == 408
    with Client(server.address) as client:
        assert client.ask(PROBE).get('Server') == 'tetrad'
        assert client.ask(PROBE).says_close


def test_the_command_line_wins(launch, model):
    server = launch(model, '--workers', '2', '--server-header', 'off', TETRAD_WORKERS='5',
                    TETRAD_SERVER_HEADER='name', TETRAD_MODEL='none', TETRAD_PORT='x')
    assert server.ready[2] == '2'
    assert ask_once(server.address, PROBE).get('Server') is None


@pytest.mark.parametrize('name, value', [
    ('TETRAD_PORT', 'x'), ('TETRAD_WORKERS', '0'), ('TETRAD_HEADER_TIMEOUT', '5y'),
    ('TETRAD_MODEL', 'forks'), ('TETRAD_BIND', '127.0.0.1\nnowhere'), ('TETRAD_PORT', '')])
def test_bad_values_in_the_environment(program, docroot, name, value):
    result = program.run(docroot.path, **{name: value})
    one_line(result, USAGE, *([name] if name != 'TETRAD_MODEL' else ['forks']))


def test_environment_lists_one_value_a_line(launch, model, docroot, program, tmp_path_factory):
    del tmp_path_factory
    process = subprocess.Popen(
        program.command(['-m', model, docroot.path]), text=True, stdin=subprocess.DEVNULL,
        env=clean_environment(TETRAD_PORT='0', TETRAD_BIND='127.0.0.1\n127.0.0.2'),
        stderr=subprocess.PIPE)
    try:
        urls = re.findall(r'http://([0-9.]+):(\d+)', process.stderr.readline())
        assert [host for host, _ in urls] == ['127.0.0.1', '127.0.0.2']
        for host, port in urls:
            assert ask_once((host, int(port)), PROBE).body == A_TXT
    finally:
        process.terminate()
        process.stderr.close()
        assert process.wait() == 0


# ---- addresses

def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(('::1', 0))
        return True
    except OSError:
        return False


@pytest.mark.parametrize('host', ['127.0.0.2'] + (['::1'] if has_ipv6() else []))
def test_two_addresses(launch, model, host):
    """Of which each is served, at the same port."""
    server = launch(model, '-b', host)
    port = server.address[1]
    for address in (('127.0.0.1', port), (host, port)):
        with Client(address) as client:
            assert client.ask(PROBE).body == A_TXT
            client.expect_kept(PROBE)


def test_unix_socket(launch, model, docroot):
    folder = docroot.outside(f'run-{model}')
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    path = os.path.join(folder, 'socket')
    server = launch(model, '-b', f'unix:{path}')
    for address in (path, server.address):
        with Client(address) as client:
            assert client.ask(PROBE).body == A_TXT
            client.expect_kept(get('/missing'), 404)
    server.signal(signal.SIGTERM)
    assert server.wait(2) == 0
    wait_until(lambda: not os.path.exists(path), AT_ONCE, 'the socket file is gone')
    again = launch(model, '-b', f'unix:{path}')
    assert ask_once(path, PROBE).body == A_TXT
    assert again.running()
