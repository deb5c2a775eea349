#!/bin/sh
# The front door of the load test: one object, so many clients, every model, one table.
# It only finds Python, which does the rest (run.py); it must know nothing of options.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

# Debian's own python3 first: another one on the PATH may be older or lack modules.
python=
for candidate in /usr/bin/python3 python3; do
    if command -v "$candidate" >/dev/null 2>&1; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo 'loadtest: python3 not found; Debian package: python3' >&2
    exit 3
fi

# The source tree stays as it is: no byte code is written beside the modules.
exec "$python" -B "$here/run.py" "$@"
