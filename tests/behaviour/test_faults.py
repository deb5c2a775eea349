"""System calls that do less than they were asked for, or fail; and files that are not what
they seem. What a client gets stays whole, or the connection ends; nothing spins."""
import contextlib
import mmap
import os
import re
import socket
import subprocess

import pytest

from client import ANSWER_LIMIT, AnswerReader, Client, ask_once, chunked, get, head, post
from docroot import A_TXT, BIG_SIZE, HUGE_SIZE
from exchanges import PROBE
from faults import Under, fault_library, faults_met, launch_faulty, traced  # fixtures
from kernel import children, cpu_seconds, most_descriptors, serving, wait_read
from server import alive
from test_parity import timeless
from waiting import AT_ONCE, PATIENCE, holds_for, patient, wait_until

MESSAGES = [
    PROBE, head('/big.bin'), get('/6k'), get('/missing'), get('/dir'), get('/empty'),
    get('/6k', 'Range: bytes=0-99,1000-1099,6000-'), post('/a.txt', body=b'z' * 3000),
    chunked('/a.txt', b'5;x=y\r\nhello\r\n0\r\nT: v\r\n\r\n'), get('/coded/large.css'),
    get('/big.bin', 'Range: bytes=4000000-5000000'), get('/a.txt', 'If-None-Match: *'), PROBE]


def exchange(address):
    with Client(address) as client:
        client.reader.methods += ['HEAD' if message.startswith(b'HEAD') else 'GET'
                                  for message in MESSAGES]
        client.send(b''.join(MESSAGES))
        client.receive(len(MESSAGES))
        client.expect_kept(PROBE)
        return timeless(bytes(client.reader.raw))


@pytest.mark.parametrize('seed', [1, 2, 3])
def test_short_calls_change_no_byte(launch_faulty, server, model, seed, faults_met):
    """Reads and sends of one byte and of any number, and calls that a signal interrupts."""
    short = launch_faulty(model, SHORT=seed, MET=faults_met.path)
    want = exchange(server.address)
    for _ in range(5):
        assert exchange(short.address) == want
    receives, sends = faults_met.counts()
    assert receives > 10 and sends > 10, 'the library was not asked'


@pytest.mark.parametrize('seed', [1, 2])
def test_I2_short_sends_of_large_files(launch_faulty, model, docroot, seed):
    server = launch_faulty(model, SHORT=seed)
    with Client(server.address) as client:
        client.send(get('/big.bin') * 2 + PROBE)
        bodies = [answer.body for answer in client.receive(3)]
        assert bodies == [docroot.big, docroot.big, A_TXT]


# ---- accept

@pytest.mark.parametrize('each', [1 + 1, 3])
def test_N4_accepts_that_fail(launch_faulty, model, each):
    """With each error that accept is known for: the next connection is served, in time, and
    so is one that waited when it failed."""
    server = launch_faulty(model, '--workers', '2', ACCEPT=each)
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            crowd = [stack.enter_context(Client(server.address)) for _ in range(10)]
            for client in crowd:
                client.expect_kept(PROBE)
    assert server.running()
    assert len(server.said().splitlines()) <= 20


# Also of a call that another thread's line came between.
RESULT = re.compile(r'accept4?(?:\(.*| resumed>.*)\) += (.*)')


def test_Q5_a_connection_wakes_few(traced, model):
    """How many accepts find nothing: about one for each connection, not one for each worker."""
    workers, connections = 4, 100
    server, trace = traced(model, 'accept,accept4', '--workers', str(workers))
    with contextlib.ExitStack() as stack:
        for _ in range(connections // 10):
            crowd = [stack.enter_context(Client(server.address)) for _ in range(10)]
            for client in crowd:
                client.ask(PROBE)
    server.stop()
    results = [found[1] for found in map(RESULT.search, trace.lines()) if found]
    taken = sum(result.isdigit() for result in results)
    empty = sum('EAGAIN' in result for result in results)
    assert taken == connections
    assert empty <= 1.5 * connections + 10 * workers


# ---- O2, O3: files that end before they should

@pytest.mark.parametrize('each', [1, 2, 5])
def test_O2_sendfile_that_meets_the_end(launch_faulty, model, docroot, each):
    """The connection is cut, as nothing else can tell the client; nobody spins."""
    server = launch_faulty(model, '--workers', '2', EOF=each)
    with Client(server.address) as other:
        other.ask(PROBE)
        used = cpu_seconds(server.pid)
        with Client(server.address) as client:
            client.socket.sendall(get('/big.bin') * 5 + PROBE)
            client.expect_end(5)
            assert client.cut or client.broken
            whole = client.reader.answers
            assert all(answer.body == docroot.big for answer in whole) and len(whole) < 5
        assert holds_for(lambda: cpu_seconds(server.pid) - used < 1, AT_ONCE), 'it spins'
        other.expect_kept(PROBE)
    wait_until(lambda: not serving(server.pid), 3, 'no connection is left')


def kernel_files():
    """Files without a size, with a size that is none, and with holes for a content."""
    found = ['/proc/version', '/proc/cpuinfo', '/proc/self/maps', '/proc/self/mem',
             '/proc/sys/kernel/ostype', '/sys/kernel/mm/transparent_hugepage/enabled',
             '/sys/devices/system/cpu/online', '/sys/kernel/uevent_seqnum', '/proc/self',
             '/sys/kernel', '/proc/kmsg', '/dev/zero', '/dev/full']
    return [path for path in found if os.path.lexists(path)]


@pytest.mark.parametrize('follow', [False, True], ids=['inside', 'follow'])
def test_O2_files_that_the_kernel_makes_up(pool, model, docroot, scratch, follow):
    """404 by default; with --symlinks follow what is announced comes, or it is refused, as a
    file that has not the bytes it is said to have."""
    server = pool.get(model, *(['--symlinks', 'follow'] if follow else []))
    assert len(kernel_files()) > 5
    used = cpu_seconds(server.pid)
    for i, path in enumerate(kernel_files()):
        os.symlink(path, docroot.at(f'{scratch}k{i}'))
        for _ in range(2):
            with Client(server.address) as client:
                client.send(get(f'/{scratch}k{i}'), 'GET')
                assert client.pump(lambda: client.reader.answers, 2), path
                assert client.reader.answers[0].status in (
                    [200, 301, 403, 404, 503] if follow else [404]), path
    assert holds_for(lambda: cpu_seconds(server.pid) - used < 0.5, AT_ONCE), 'it spins'
    assert ask_once(server.address, PROBE).body == A_TXT


@pytest.mark.parametrize('size', [6144, 100000, BIG_SIZE], ids=['kept', 'open', 'large'])
def test_O3_truncated_at_any_time(launch, model, docroot, scratch, size):
    """A file that loses its end, its middle and all, and gets them again: whatever the server
    holds of it, it lives on, and each answer is whole or cut."""
    server = launch(model, '--revalidate', '0')
    name = scratch + 'x'
    path = docroot.write(name, docroot.big[:size])
    for left in (size - 1, size // 2, 4096, 1, 0, size):
        with Client(server.address, receive_buffer=8192) as client:
            client.socket.sendall(get('/' + name) * 3)
            wait_read(client.socket)
            os.truncate(path, left)
            client.hurry()
            client.pump(lambda: len(client.reader.answers) == 3, 3)
            assert client.over or len(client.reader.answers) == 3
        answer = ask_once(server.address, get('/' + name))
        assert (answer.status, len(answer.body)) == (200, left)
    assert server.running()


# ---- O7: more than one call, or 32 bits, can tell

# Never written to, so it is no memory.
UNSEEN = mmap.mmap(-1, 1 << 30)


def take(client, count, keep=False):
    """Receives so many bytes of a body: returned, or dropped by the kernel unseen."""
    kept = bytearray()
    while count > 0:
        assert client.wait_readable(patient(ANSWER_LIMIT)), f'{count} bytes are missing'
        if keep:
            got = client.socket.recv(count)
            kept += got
            count -= len(got)
            assert got, f'cut, and {count} bytes are missing'
        else:
            got = client.socket.recv_into(UNSEEN, min(count, len(UNSEEN)), socket.MSG_TRUNC)
            count -= got
            assert got > 0, f'cut, and {count} bytes are missing'
    return bytes(kept)


@pytest.mark.soak
@pytest.mark.limit(40)
def test_O7_a_huge_file_to_a_fast_reader(server):
    with Client(server.address) as client:
        client.send_unread(get('/huge.bin'))
        client.reader.methods.append('GET')
        assert client.pump(lambda: client.reader.body_bytes >= 4, room=4096)
        assert f'Content-Length: {HUGE_SIZE}\r\n'.encode() in client.reader.raw
        at = client.reader.body_bytes
        assert client.reader.raw[-at:][:4] == b'head'
        for place, data in ((1 << 32) - 2, b'ABCDEFGH'), (HUGE_SIZE - 4, b'tail'):
            take(client, place - at)
            assert take(client, len(data), keep=True) == data
            at = place + len(data)
        client.reader = AnswerReader()           # the other one misses what was dropped
        client.expect_kept(PROBE)


# ---- Q2: the client is gone before the file is read

COLD_MS = 5


@pytest.mark.parametrize('reset', [False, True], ids=['closed', 'reset'])
@pytest.mark.parametrize('target', ['/big.bin', '/6k', '/a.txt', '/dir/'])
def test_Q2_gone_while_a_file_is_read(launch_faulty, model, reset, target):
    """Each read takes its time, and the client does not wait for it: what comes back from
    the read must not find its connection gone. (A sanitizer tells, where one is built in.)"""
    server = launch_faulty(model, '--workers', '1', '--revalidate', '0', COLD=COLD_MS)
    assert ask_once(server.address, get(target)).status == 200
    before = most_descriptors(server.pid)
    for i in range(30):
        client = Client(server.address)
        client.socket.sendall(get(target) * (1 + i % 3))
        if i % 2:
            wait_read(client.socket)
        client.reset() if reset else client.close()
    assert ask_once(server.address, get(target), within=8).status == 200
    wait_until(lambda: not serving(server.pid), 5, 'no connection is left')
    wait_until(lambda: most_descriptors(server.pid) <= before, 3, 'descriptors come back')


# ---- stopping while a disk hangs

def test_Q8_a_hung_disk_does_not_outlive_the_grace(launch_faulty, model):
    """The thread that sleeps in the file system cannot be ended; the process can."""
    # Without an index file, which it would look for at its start.
    server = launch_faulty(model, '--workers', '1', '--grace', '300ms', '--index', 'none',
                           COLD=60000)
    family = children(server.pid)
    with Client(server.address) as client:
        client.send(get('/6k'))
        wait_read(client.socket)
        server.signal()
        assert server.wait(6) == 0, server.said()
    wait_until(lambda: not alive(family), 1, 'no process is left')


# ---- Q12: large frames on the stack

# What is on the main thread's stack at most, and what a sanitizer's red zones make of it.
STACK = 64 << 10
FRAME_MOST = 16 << 10
FRAME = re.compile(r'\bsub +(?:\$(0x[0-9a-f]+),%rsp|sp, sp, #(0x[0-9a-f]+)(, lsl #12)?)')


def frames(path):
    """The sizes of all stack frames in a program."""
    text = subprocess.run(['objdump', '-d', '--no-show-raw-insn', path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    for x86, arm, shifted in FRAME.findall(text):
        size = int(x86 or arm, 16) << (12 if shifted else 0)
        if size < 1 << 63:                       # an addition in disguise
            yield size


def test_Q12_no_frame_is_large(program):
    sizes = list(frames(program.path))
    assert len(sizes) > 100 and max(sizes) <= FRAME_MOST


def test_Q12_a_small_stack_is_enough(launch, program, model):
    """64 KiB for the main thread, and for threads of which nobody said how much."""
    size = STACK if PATIENCE == 1 else 16 * STACK
    under = Under(program, 'prlimit', f'--stack={size}:{size}')
    server = launch(model, '--listing', '--workers', '1', using=under)
    messages = [get('/' + 'dir/../' * 1100 + 'a.txt'), get('/' + 'n' * 8000), get('/bare/'),
                get('/a.txt', *(f'X-{i}: {"v" * 100}' for i in range(90))), get('/missing'),
                get('/bare/?format=json'), get('/link-chain.txt'), get('/locked.txt'),
                get('/6k', 'Range: bytes=' + ','.join(f'{i}-{i}' for i in range(0, 30, 2))),
                chunked('/a.txt', b'1;' + b'e' * 4000 + b'\r\nx\r\n0\r\n\r\n'), get('/big.bin')]
    for message in messages:
        assert ask_once(server.address, message).status < 500
    assert server.running()
