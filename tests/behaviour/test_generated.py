"""Generated scripts to all models: a sample, always of the same seed; `make parity` plays
more of them. A failure prints the script, which compare.py plays again."""
import asyncio
import os
import sys

import pytest

from docroot import DocumentRoot

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'parity'))

from compare import (OPTIONS, Difference, compare, describe, run_batch)  # noqa: E402
from generator import prepare, script                                     # noqa: E402
from server import Server                                                 # noqa: E402

SEED = 1
BATCHES, SIZE = 10, 30


@pytest.fixture(scope='module')
def addresses(program, models):
    root = DocumentRoot()
    servers = {}
    try:
        prepare(root)
        for model in models:
            servers[model] = Server(program, model, root.path, OPTIONS)
        yield {model: server.address for model, server in servers.items()}
        for server in servers.values():
            server.stop()
    finally:
        for server in servers.values():
            server.kill()
        root.remove()


@pytest.mark.parametrize('batch', range(BATCHES))
def test_generated_scripts(addresses, batch):
    numbers = range(batch * SIZE, (batch + 1) * SIZE)
    answers, differences = asyncio.run(run_batch(addresses, SEED, numbers))
    assert not differences, '\n'.join(describe(SEED, n, text) for n, text in differences)
    assert answers >= SIZE


def test_scripts_are_the_same_everywhere():
    assert script(SEED, 7) == script(SEED, 7)
    assert script(SEED, 7) != script(SEED + 1, 7)


def test_a_difference_is_found(addresses, program, models):
    """One server of two answers otherwise: the comparison must say so."""
    root = DocumentRoot()
    try:
        prepare(root)
        root.write('a.txt', b'other text')
        server = Server(program, models[0], root.path, OPTIONS)
        try:
            pair = {'one': addresses[models[0]], 'other': server.address}
            steps = [('send', b'GET /a.txt HTTP/1.0\r\n\r\n'), ('shut',)]
            with pytest.raises(Difference):
                asyncio.run(compare(pair, steps))
        finally:
            server.kill()
    finally:
        root.remove()
