#!/bin/sh
# Every published benchmark of threads at its published parameters, one table per document.
# Python does the rest (seeds.py); it must know nothing of options.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../python.sh"

run_python seeds "$here/seeds.py" "$@"
