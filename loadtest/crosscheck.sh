#!/bin/sh
# The front door of the comparison of load generators. Python does the rest
# (crosscheck.py); it must know nothing of options.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/python.sh"

run_python crosscheck "$here/crosscheck.py" "$@"
