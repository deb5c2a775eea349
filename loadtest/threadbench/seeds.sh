#!/bin/sh
# Every published benchmark of threads at its published parameters, one table per document.
# It only finds Python, which does the rest (seeds.py); it must know nothing of options.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

python=
for candidate in /usr/bin/python3 python3; do
    if command -v "$candidate" >/dev/null 2>&1; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo 'seeds: python3 not found; Debian package: python3' >&2
    exit 3
fi

exec "$python" -B "$here/seeds.py" "$@"
