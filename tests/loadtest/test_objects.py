"""Objects of a run: made, copied, and refused."""

import hashlib
import os

import pytest

from measure import objects


@pytest.mark.parametrize("name, size", [
    ("0", 0), ("1", 1), ("1k", 1024), ("6k", 6144), ("100k", 102400), ("1m", 1 << 20)])
def test_sizes(tmp_path, name, size):
    root = str(tmp_path / "root")
    thing = objects.provide(name, root, [])
    with open(os.path.join(root, name), "rb") as file:
        content = file.read()
    assert (thing.size, len(content)) == (size, size)
    assert thing.sha256 == hashlib.sha256(content).hexdigest()
    assert thing.url_path == "/" + name


def test_a_file_of_a_document_root(tmp_path):
    (tmp_path / "docs" / "sub").mkdir(parents=True)
    (tmp_path / "docs" / "sub" / "a b.html").write_bytes(b"hello")
    thing = objects.provide("/sub/a b.html", str(tmp_path / "root"),
                            [str(tmp_path / "none"), str(tmp_path / "docs")])
    assert (thing.url_path, thing.size) == ("/sub/a%20b.html", 5)
    assert (tmp_path / "root" / "sub" / "a b.html").read_bytes() == b"hello"


def test_the_first_document_root_that_has_a_name_wins_over_a_size(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "two" / "6k").write_bytes(b"made at build")
    thing = objects.provide("6k", str(tmp_path / "root"),
                            [str(tmp_path / "one"), str(tmp_path / "two")])
    assert thing.size == 13


def test_a_path(tmp_path):
    (tmp_path / "picture.svg").write_bytes(b"<svg/>")
    thing = objects.provide(str(tmp_path / "picture.svg"), str(tmp_path / "root"), [])
    assert (thing.url_path, thing.size) == ("/picture.svg", 6)


@pytest.mark.parametrize("name", [
    "nothing", "6q", "k", "-1", "999999999999g", "../outside"])
def test_what_cannot_be_served(tmp_path, name):
    (tmp_path / "outside").write_bytes(b"x")
    (tmp_path / "docs").mkdir()
    with pytest.raises(objects.NoObject):
        objects.provide(name, str(tmp_path / "root"), [str(tmp_path / "docs")])
