"""The build that is measured: the same set-up and the same folder as serve.sh uses.

It knows nothing of what is done with the binary.
"""

import os

from measure import processes

# Paths are given as arguments, so that no character of them means anything to the shell.
SCRIPT = """
set -eu
source=$1
cd "$source"
. tests/setup.sh
install_missing $packages_to_build
make_configure
[ -x "$2/tetrad" ] || say "building in $2"
build_tree "$2" all
"""

FOLDER = "build/serve"


class BuildError(Exception):
    """There is no binary to measure; the text says why."""


def tetrad(source):
    """Path of an up-to-date binary."""
    command = ["sh", "-c", SCRIPT, "loadtest.sh", source, FOLDER]
    process = processes.start(command, os.sched_getaffinity(0), None, None)
    try:
        status = process.wait()
    finally:
        processes.end_with_descendants(process)
    binary = os.path.join(source, FOLDER, "tetrad")
    if status != 0 or not os.access(binary, os.X_OK):
        raise BuildError("tetrad could not be built")
    return binary
