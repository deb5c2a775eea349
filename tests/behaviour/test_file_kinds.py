"""What is served and what is not: links, FIFOs, sockets, devices, closed doors."""
import os

import pytest

from client import Client, answered_at_once, ask_once, get
from docroot import A_TXT, DIR_INDEX
from exchanges import case, each_case, lettered, run_case
from waiting import AT_ONCE, Stopwatch


def gets(*targets):
    return [get(target) for target in targets]


CASES = [
    # Links that stay inside, and links that do not.
    *lettered('C1.inside', case, gets('/link-in.txt', '/link-chain.txt', '/dir/link-up.txt',
                                      '/link-dir/link-up.txt'), 200, body=A_TXT),
    case('C1.folder', get('/link-dir/'), 200, body=DIR_INDEX),
    case('C1.file-in-folder', get('/link-dir/inner.txt'), 200, body=b'inner\n'),
    *lettered('C1', case, gets('/link-out.txt', '/link-out-relative.txt', '/link-out-dir/secret',
                               '/link-out-dir/www/a.txt', '/link-out-dir/', '/null'), 404),
    *lettered('C1.dots', case, gets('/link-dir/../../secret', '/link-out-dir/../../secret'), 400),
    *lettered('C2', case, gets('/outside-index/', '/outside-index/index.html'), 404),
    *lettered('P4', case, gets('/loop', '/loop/', '/loop/x'), 404),
    *lettered('P11.dangling', case, gets('/dangling', '/dangling/'), 404),

    # Neither files nor folders.
    case('C4.kind', get('/fifo'), 403),
    case('C5.socket', get('/socket'), 403),
    *([case('C5.device', get('/device'), 403)] if os.geteuid() == 0 else []),

    # No permission.
    case('P3.file', get('/locked.txt'), 403),
    *lettered('P3.folder', case, gets('/lockdir/in.txt', '/lockdir/', '/lockdir/index.html',
                                      '/lockdir/missing'), 403),
    case('P3.on', [get('/locked.txt'), get('/a.txt')], [403, 200], body=A_TXT),

    # No listing, whatever the reason for having no index.
    case('S8.bare', get('/bare/'), 404),
    case('P11.index', get('/locked-index/'), 403),
]


@each_case(CASES)
def test_file_kinds(case, server):
    run_case(case, server)


def test_P11_no_name_is_revealed(server):
    for target in ('/locked-index/', '/bare/'):
        answer = ask_once(server.address, get(target))
        assert b'name-to-hide' not in answer.body and b'one.txt' not in answer.body


@pytest.mark.parametrize('target', ['/fifo', '/socket'])
def test_C4_refused_at_once_and_nobody_is_held_up(server, target):
    with Client(server.address) as client:
        watch = Stopwatch()
        client.send(get(target))
        assert answered_at_once(server.address, get('/a.txt')).body == A_TXT
        assert client.receive()[0].status == 403
        assert not watch.over(2 * AT_ONCE)
