"""What the kernel knows of a server: its sockets' queues, its processes, descriptors, CPU.

A test that must not go on before the server has read what was sent asks here, so that no
test has to guess how long that takes.
"""
import contextlib
import os
import socket
import struct

from waiting import wait_until

ESTABLISHED = 1

SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLM_F_REQUEST = 1
NLMSG_ERROR = 2
NLMSG_HEADER = struct.Struct('=IHHII')
DIAG_REQUEST = struct.Struct('=BBBBI')
ANY_STATE = 0xffffffff
ANY_COOKIE = struct.pack('=II', 0xffffffff, 0xffffffff)
DIAG_QUEUES = struct.Struct('=II')
DIAG_QUEUES_AT = NLMSG_HEADER.size + 4 + 48 + 4


def peer_of(client):
    """(state, bytes the server has not read) of the server's end of an IPv4 socket of this
    machine; None if the server's process has closed it and it is gone."""
    try:
        address, port = client.getpeername()
    except OSError:                  # nobody is there any more
        return None
    own_address, own_port = client.getsockname()
    identity = struct.pack('!HH16s16s', port, own_port, socket.inet_aton(address),
                           socket.inet_aton(own_address))
    body = DIAG_REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, ANY_STATE)
    body += identity + struct.pack('=I', 0) + ANY_COOKIE
    head = NLMSG_HEADER.pack(NLMSG_HEADER.size + len(body), SOCK_DIAG_BY_FAMILY,
                             NLM_F_REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, SOCK_DIAG) as netlink:
        netlink.send(head + body)
        reply = netlink.recv(8192)
    if NLMSG_HEADER.unpack_from(reply)[1] == NLMSG_ERROR:
        return None
    return reply[NLMSG_HEADER.size + 1], DIAG_QUEUES.unpack_from(reply, DIAG_QUEUES_AT)[0]


def wait_read(client, within=3):
    """Until the server has read all that was sent, or has closed."""
    def all_read():
        peer = peer_of(client)
        return peer is None or peer[1] == 0
    wait_until(all_read, within, 'the server reads what was sent', poll=0.0002)


def server_let_go(client):
    """True once the server has closed or shut its end of the connection."""
    peer = peer_of(client)
    return peer is None or peer[0] != ESTABLISHED


# ---- processes

def stat_of(pid):
    """(state, parent, fields from the third on) of a process, or None."""
    try:
        with open(f'/proc/{pid}/stat') as file:
            fields = file.read().rpartition(')')[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return fields[0], int(fields[1]), fields


def processes(root):
    """{pid: state letter} of a process and all its descendants that exist now."""
    parents, states = {}, {}
    for name in os.listdir('/proc'):
        found = stat_of(name) if name.isdigit() else None
        if found:
            states[int(name)], parents[int(name)] = found[0], found[1]
    family, todo = {}, [root]
    while todo:
        pid = todo.pop()
        if pid in states:
            family[pid] = states[pid]
            todo += [child for child, parent in parents.items() if parent == pid]
    return family


def children(root):
    """{pid: state letter} of the descendants alone."""
    return {pid: state for pid, state in processes(root).items() if pid != root}


def descriptors(pid):
    """What each open descriptor of a process refers to."""
    found = {}
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for name in os.listdir(f'/proc/{pid}/fd'):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found[int(name)] = os.readlink(f'/proc/{pid}/fd/{name}')
    return found


def most_descriptors(root):
    """The largest number of descriptors that any process of the family holds."""
    return max(len(descriptors(pid)) for pid in processes(root))


def established_sockets():
    """The inodes of all established IPv4 sockets, as descriptors() shows them."""
    with open('/proc/net/tcp') as table:
        rows = [row.split() for row in table.readlines()[1:]]
    return {f'socket:[{row[9]}]' for row in rows if row[3] == '01'}


def serving(root):
    """Which processes of the family hold a connection."""
    open_ones = established_sockets()
    return [pid for pid in processes(root) if open_ones & set(descriptors(pid).values())]


def sleeps(root):
    """{task: how often it slept so far} of all threads of the family."""
    counts = {}
    for pid in processes(root):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for task in os.listdir(f'/proc/{pid}/task'):
                with open(f'/proc/{pid}/task/{task}/status') as file:
                    counts[int(task)] = int(
                        file.read().partition('\nvoluntary_ctxt_switches:')[2].split()[0])
    return counts


def cpu_seconds(root):
    """Used so far by a family of processes, the root's ended children included."""
    ticks = 0
    for pid in processes(root):
        found = stat_of(pid)
        if found:
            ticks += sum(int(v) for v in found[2][11:15 if pid == root else 13])
    return ticks / os.sysconf('SC_CLK_TCK')


def most_memory(root):
    """Resident bytes of the largest process of the family."""
    most = 0
    for pid in processes(root):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f'/proc/{pid}/statm') as file:
                most = max(most, int(file.read().split()[1]))
    return most * os.sysconf('SC_PAGE_SIZE')
