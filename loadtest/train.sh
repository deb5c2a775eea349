#!/bin/sh
# The front door of the training run of "make profiled": each model serves what servers are
# mostly asked for, so that the compiler sees which way the code usually goes. Python does
# the rest (train.py); it must know nothing of compilers.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/python.sh"

run_python train "$here/train.py" "$@"
