#!/bin/sh
# The front door of the load test: one object, so many clients, every model, one table.
# Python does the rest (run.py); it must know nothing of options.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/python.sh"

run_python loadtest "$here/run.py" "$@"
