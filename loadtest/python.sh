# Sourced by the front doors of the measurements. It only finds Python, which does the rest.

# run_python NAME SCRIPT ARGUMENT...: NAME for the message if there is none. Does not return.
run_python()
{
    name=$1
    shift
    # Debian's own python3 first: another one on the PATH may be older or lack modules.
    for python in /usr/bin/python3 python3; do
        if command -v "$python" >/dev/null 2>&1; then
            # The source tree stays as it is: no byte code is written beside the modules.
            exec "$python" -B "$@"
        fi
    done
    echo "$name: python3 not found; Debian package: python3" >&2
    exit 3
}
