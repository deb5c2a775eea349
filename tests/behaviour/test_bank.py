"""The accounts of the bank of faults: docs/testing.md says how many of each kind there are,
and for each there is a test under every model, or a reason in that page why there is none."""
import os
import re
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, '..', '..', 'docs', 'testing.md')
TOTAL, UNTESTED_MOST = 150, 5

KIND = re.compile(r'^\| ([A-Z]) \| (\d+) \| .+ \|$', re.MULTILINE)
UNTESTED = re.compile(r'^\| ([A-Z]\d+) \| .{20,} \|$', re.MULTILINE)
NODE = re.compile(r'[^\[]*::test_((?:[A-Z]\d+_)*)[^\[]*(?:\[(.*)\])?')
CASE = re.compile(r'(?:^|-)([A-Z]\d+)(?=[.-]|$)')


def read_page():
    """(all ids, those of which the page says why they have no test)."""
    with open(PAGE, encoding='utf-8') as file:
        text = file.read()
    ids = {f'{letter}{number}' for letter, count in KIND.findall(text)
           for number in range(1, int(count) + 1)}
    return ids, UNTESTED.findall(text)


def named_in(node):
    """The ids in the name of one test."""
    name, parameters = NODE.fullmatch(node).groups()
    return {*name.split('_')[:-1], *CASE.findall(parameters or '')}


@pytest.fixture(scope='module')
def nodes(request, models):
    """The names of all behaviour tests, whichever of them are being run."""
    command = [sys.executable, '-B', '-m', 'pytest', '-q', '-p', 'no:cacheprovider',
               '--collect-only', HERE]
    environment = {**os.environ, 'TETRAD': request.config.tetrad_binary,
                   'TETRAD_MODELS': ' '.join(models)}
    text = subprocess.run(command, check=True, text=True, env=environment,
                          stdout=subprocess.PIPE).stdout
    return [line for line in text.splitlines() if '::' in line]


def test_the_page_knows_all_kinds():
    ids, untested = read_page()
    assert len(ids) == TOTAL
    assert len(untested) == len(set(untested)) <= UNTESTED_MOST
    assert set(untested) <= ids


def test_each_fault_has_a_test_or_a_reason(nodes, model):
    ids, untested = read_page()
    tested = set()
    for node in nodes:
        if re.search(rf'\b{model}\b', node.partition('[')[2]):
            tested |= named_in(node)
    assert not ids - tested - set(untested), 'neither a test nor a reason'
    assert not tested & set(untested), 'a reason, and a test all the same'


def test_no_name_is_of_a_fault_that_does_not_exist(nodes):
    ids, _ = read_page()
    letters = {name[0] for name in ids}
    unknown = {name: node for node in nodes for name in named_in(node)
               if name[0] in letters and name not in ids}
    assert not unknown


@pytest.mark.parametrize('node, ids', [
    ('x.py::test_C7_a_thing[prefork]', {'C7'}), ('x.py::test_N1_N2_x[a-b]', {'N1', 'N2'}),
    ('x.py::test_paths[threads-B1.slash.a]', {'B1'}), ('x.py::test_names[caf%C3%A9]', set()),
    ('x.py::test_paths[A1]', {'A1'}), ('x.py::test_odd_E3', set()), ('x.py::test_x', set())])
def test_names_are_read_whole(node, ids):
    assert named_in(node) == ids
