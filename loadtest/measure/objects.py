"""The document root of a run: a folder with the one object that is asked for.

Every server of a run is given the same folder, so all send the same bytes.
"""

import os
import re
import shutil
import urllib.parse
from collections import namedtuple

from measure import generators

SIZE_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
LARGEST = 4 << 30

# One line of every object that is made, numbered so that a misplaced part would show.
LINE = b"%012d tetrad load test object, the same for every server of this run\n"

Object = namedtuple("Object", "name url_path size sha256")


class NoObject(Exception):
    """The object cannot be served; the text says why."""


def size_of(name):
    """Bytes that a name such as 6k or 1m stands for; None for any other name."""
    match = re.fullmatch(r"(\d{1,12})([kmg]?)", name)
    if not match:
        return None
    return int(match[1]) * SIZE_UNITS[match[2]]


def write_object(path, size):
    with open(path, "wb") as file:
        number = written = 0
        while written < size:
            block = b"".join(LINE % (number + i) for i in range(1000))
            written += file.write(block[:size - written])
            number += 1000


def provide(name, root, folders):
    """Puts the object called name into the new folder root: from one of the given
    document roots, or made, or from wherever name points to."""
    os.makedirs(root, mode=0o755)
    size = size_of(name)
    below = find_below(name, folders)
    if below:
        relative = os.path.normpath(name.lstrip("/"))
        os.makedirs(os.path.dirname(os.path.join(root, relative)), exist_ok=True)
        shutil.copyfile(below, os.path.join(root, relative))
    elif size is not None:
        if size > LARGEST:
            raise NoObject("'%s' is more than %d bytes" % (name, LARGEST))
        relative = name
        write_object(os.path.join(root, name), size)
    elif os.path.isfile(name):
        relative = os.path.basename(name)
        shutil.copyfile(name, os.path.join(root, relative))
    else:
        raise NoObject("no object '%s': neither a size such as 0, 6k or 1m, nor a file"
                       % name)
    path = os.path.join(root, relative)
    return Object(name, "/" + urllib.parse.quote(relative), os.path.getsize(path),
                  generators.hash_file(path))


def find_below(name, folders):
    """The file called name in the first of the document roots that has it."""
    for folder in folders:
        path = os.path.join(folder, name.lstrip("/"))
        real, real_folder = os.path.realpath(path), os.path.realpath(folder)
        if os.path.isfile(path) and real.startswith(real_folder + os.sep):
            return path
    return None
