"""ApacheBench, which speaks HTTP/1.0 and keeps its connections only if it is told so in so
many words: Connection: keep-alive, and a Content-Length."""
import re
import shutil
import subprocess

import pytest

from docroot import A_TXT, BIG_SIZE, INDEX, SIX
from kernel import serving
from waiting import patient, wait_until

REQUESTS = 1000


def ab(server, target, *options, requests=REQUESTS, clients=8):
    """{what it counts: number}."""
    program = shutil.which('ab')
    assert program, 'ab is missing; Debian package: apache2-utils'
    url = 'http://{}:{}{}'.format(*server.address, target)
    run = subprocess.run([program, '-q', '-n', str(requests), '-c', str(clients), *options, url],
                         text=True, timeout=patient(8), stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, check=False)
    assert run.returncode == 0, run.stdout
    return {name: int(number) for name, number in
            re.findall(r'^([A-Z][\w -]+): +(\d+)', run.stdout, re.MULTILINE)}


@pytest.mark.parametrize('clients', [1, 8])
@pytest.mark.parametrize('target, length', [('/a.txt', len(A_TXT)), ('/6k', len(SIX)),
                                            ('/empty', 0), ('/', len(INDEX))])
def test_all_requests_are_kept_alive(server, target, length, clients):
    counts = ab(server, target, '-k', clients=clients)
    assert counts['Complete requests'] == counts['Keep-Alive requests'] == REQUESTS
    assert counts['Failed requests'] == 0 and 'Non-2xx responses' not in counts
    assert counts['Document Length'] == length
    assert counts['HTML transferred'] == REQUESTS * length


def test_large_files_too(server):
    counts = ab(server, '/big.bin', '-k', requests=50, clients=4)
    assert counts['Keep-Alive requests'] == 50 and counts['Failed requests'] == 0
    assert counts['HTML transferred'] == 50 * BIG_SIZE


@pytest.mark.parametrize('target, options', [('/missing', []), ('/a.txt', ['-i'])],
                         ids=['404', 'head'])
def test_so_are_errors_and_heads(server, target, options):
    counts = ab(server, target, '-k', *options)
    assert counts['Complete requests'] == counts['Keep-Alive requests'] == REQUESTS
    assert counts['Failed requests'] == 0
    assert counts.get('Non-2xx responses', 0) == (0 if options else REQUESTS)


def test_who_does_not_ask_is_closed(server):
    """Without -k each request is a connection, and none is left."""
    counts = ab(server, '/6k')
    assert counts['Complete requests'] == REQUESTS and counts['Failed requests'] == 0
    assert 'Keep-Alive requests' not in counts
    wait_until(lambda: not serving(server.pid), 3, 'no connection is left')


def test_connections_end_at_the_limit_of_requests(pool, model):
    """--max-requests 10: each tenth answer says close, and ab opens the next connection."""
    counts = ab(pool.get(model, '--max-requests', '10'), '/6k', '-k', clients=1)
    assert counts['Complete requests'] == REQUESTS and counts['Failed requests'] == 0
    assert counts['Keep-Alive requests'] == REQUESTS * 9 // 10
