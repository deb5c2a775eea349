#!/bin/sh
# The front door of the exact counts: system calls and user instructions per request, with
# bars that must not be exceeded. Python does the rest (counts.py); it must know nothing of
# options.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/python.sh"

run_python counts "$here/counts.py" "$@"
