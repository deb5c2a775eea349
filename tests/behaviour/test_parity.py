"""The same bytes to all models: what comes back is equal to the byte, but for Date and a
multipart's boundary, and so is what becomes of the connection."""
import re

import pytest

import test_bodies
import test_codings
import test_directories
import test_fields
import test_file_kinds
import test_host_and_target
import test_methods
import test_paths
import test_persistence
import test_preconditions
import test_ranges
import test_request_line
import test_responses
from client import Client, get
from exchanges import PROBE, SPLITS, check, play

TABLES = (test_request_line, test_host_and_target, test_fields, test_bodies, test_methods,
          test_paths, test_file_kinds, test_directories, test_responses, test_preconditions,
          test_ranges, test_persistence, test_codings)
CASES = [case for table in TABLES for case in table.CASES]

BOUNDARY = re.compile(rb'multipart/byteranges; boundary="?([^\r"]+)')
DATE = re.compile(rb'\r\nDate: [^\r]*\r\n')


def timeless(raw):
    """Without what no two answers need share: the Date and a multipart's boundary."""
    for boundary in set(BOUNDARY.findall(raw)):
        raw = raw.replace(boundary, b'-' * len(boundary))
    return DATE.sub(b'\r\nDate: -\r\n', raw)


def turns():
    """Every case whole, and those that may be split in every split."""
    return [pytest.param(case, split, id=f'{name}-{case.id}')
            for name, split in SPLITS.items()
            for case in CASES if case.splits or name == 'whole']


def test_ids_are_unique():
    ids = [case.id for case in CASES]
    assert sorted(ids) == sorted(set(ids))


@pytest.mark.parametrize('case, split', turns())
def test_parity(pool, models, case, split):
    seen = {}
    for model in models:
        transcript = play(case, pool.get(model).address, split)
        check(case, transcript)
        seen[model] = timeless(transcript.raw), transcript.end
    first = seen[models[0]]
    for model, other in seen.items():
        assert other == first, f'{model} differs from {models[0]}'


def test_parity_over_the_limit(launch, models):
    """The refusal of one connection too many."""
    seen = set()
    for model in models:
        server = launch(model, '--max-connections', '1')
        with Client(server.address) as inside, Client(server.address) as outside:
            inside.ask(PROBE)
            assert outside.receive()[0].status == 503
            outside.expect_close()
            seen.add(timeless(bytes(outside.reader.raw)))
    assert len(seen) == 1


@pytest.mark.parametrize('message', [b'GET', get('/a.txt')[:-1]], ids=['line', 'head'])
def test_parity_of_408(pool, models, message):
    seen = set()
    for model in models:
        with Client(pool.get(model, '--header-timeout', '200ms').address) as client:
            client.send(message)
            assert client.receive()[0].status == 408
            client.expect_close()
            seen.add(timeless(bytes(client.reader.raw)))
    assert len(seen) == 1
