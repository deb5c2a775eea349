#!/bin/sh
# The front door of the comparison: every model beside bare loops and other servers, with
# ratios that carry an interval. Python does the rest (peers.py); it must know nothing of
# options.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/python.sh"

run_python peers "$here/peers.py" "$@"
