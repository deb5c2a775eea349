"""Makes the parts of the load test importable, and the fixtures of its tests."""

import os
import sys

import pytest

import harness

sys.path.insert(0, os.path.join(harness.SOURCE, "loadtest"))


@pytest.fixture
def runner(tmp_path):
    return harness.Runner(tmp_path)


@pytest.fixture
def tetrad():
    """Path of the binary under test."""
    if "TETRAD" not in os.environ:
        pytest.fail("set TETRAD to the path of the binary under test")
    return os.environ["TETRAD"]
