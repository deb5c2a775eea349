#!/bin/sh
# The front door of the measurement with cold files. Python does the rest (cold.py); it must
# know nothing of options.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/python.sh"

run_python cold "$here/cold.py" "$@"
