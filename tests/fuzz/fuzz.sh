#!/bin/sh
# Builds the fuzz targets with clang's libFuzzer and runs each for a while, from the
# committed corpus on. What it finds stays in the folder that is named at the end.
# usage: fuzz.sh FOLDER SECONDS [TARGET...]    with SOURCES, FLAGS and LLHTTP in the environment
set -eu

folder=$1 seconds=$2
shift 2
[ $# -gt 0 ] || set -- head target fields conn
source=$(cd "$(dirname "$0")/../.." && pwd)
: "${FUZZ_CC:=clang}" "${FUZZ_SANITIZERS:=address,undefined}" "${FUZZ_JOBS:=$(nproc)}"

command -v "$FUZZ_CC" >/dev/null || {
    echo "fuzz.sh: $FUZZ_CC not found; Debian packages: clang libclang-rt-dev" >&2
    exit 3
}
mkdir -p "$folder/objects"
common="-g -O2 -w -fsanitize=fuzzer-no-link,$FUZZ_SANITIZERS -fno-sanitize-recover=all"
for file in $SOURCES $LLHTTP; do
    case $file in
    *.c) ;;
    *) continue ;;
    esac
    case $file in
    /*) path=$file ;;
    *) path=$source/$file ;;
    esac
    # shellcheck disable=SC2086 # lists of words
    $FUZZ_CC $common $FLAGS -c "$path" -o "$folder/objects/$(basename "$file" .c).o"
done

# fuzz_one TARGET
fuzz_one()
{
    # shellcheck disable=SC2086
    $FUZZ_CC $common -fsanitize=fuzzer $FLAGS "$source/tests/fuzz/fuzz_$1.c" \
        "$folder"/objects/*.o -o "$folder/fuzz_$1"
    mkdir -p "$folder/found/$1"
    status=0
    (cd "$folder" && exec "./fuzz_$1" -max_total_time="$seconds" -timeout=10 \
        -print_final_stats=1 -verbosity=0 "found/$1" "$source/tests/fuzz/corpus/$1") \
        >"$folder/$1.log" 2>&1 || status=$?
    sed -n "s/^stat::number_of_executed_units: */fuzz $1: executions: /p" "$folder/$1.log"
    if [ "$status" -ne 0 ]; then
        tail -n 30 "$folder/$1.log" >&2
        echo "fuzz $1: failed; the input is in $folder" >&2
    fi
    return "$status"
}

# A target is one thread: as many run at once as there are CPUs.
running=''
failed=0
wait_for_all()
{
    for pid in $running; do
        wait "$pid" || failed=1
    done
    running=''
}
# A background process of a script ignores Ctrl-C, and would go on alone.
trap 'trap "" TERM; kill 0; exit 130' INT TERM
for target in "$@"; do
    echo "fuzz $target: $seconds s"
    fuzz_one "$target" &
    running="$running $!"
    # shellcheck disable=SC2086
    set -- $running
    [ $# -lt "$FUZZ_JOBS" ] || wait_for_all
done
wait_for_all
exit "$failed"
