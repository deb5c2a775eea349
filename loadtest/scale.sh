#!/bin/sh
# The front door of the measurement with thousands of connections. Python does the rest
# (scale.py); it must know nothing of options.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/python.sh"

run_python scale "$here/scale.py" "$@"
