#!/bin/sh
# Serves htdocs at http://127.0.0.1:8080 until Ctrl-C, from a fresh clone on: installs what
# is missing, builds out of the tree, runs.
# usage: ./serve.sh [tetrad options]
set -eu

source=$(cd "$(dirname "$0")" && pwd)
cd "$source"
. tests/setup.sh

# shellcheck disable=SC2086 # a list of words
install_missing $packages_to_build
make_configure
[ -x build/serve/tetrad ] || say "building in build/serve"
build_tree build/serve all
exec build/serve/tetrad --server-header full "$@" build/serve/htdocs
