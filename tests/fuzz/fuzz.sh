#!/bin/sh
# Builds the fuzz targets with clang's libFuzzer and runs each for a while, from the
# committed corpus on. What it finds stays in the folder that is named at the end.
# usage: fuzz.sh FOLDER SECONDS [TARGET...]    with SOURCES, FLAGS and LLHTTP in the environment
set -eu

folder=$1 seconds=$2
shift 2
[ $# -gt 0 ] || set -- head target fields conn
source=$(cd "$(dirname "$0")/../.." && pwd)
: "${FUZZ_CC:=clang}" "${FUZZ_SANITIZERS:=address,undefined}" "${FUZZ_JOBS:=1}"

command -v "$FUZZ_CC" >/dev/null || {
    echo "fuzz.sh: $FUZZ_CC not found; Debian packages: clang libclang-rt-14-dev" >&2
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
failed=0
for target in "$@"; do
    # shellcheck disable=SC2086
    $FUZZ_CC $common -fsanitize=fuzzer $FLAGS "$source/tests/fuzz/fuzz_$target.c" \
        "$folder"/objects/*.o -o "$folder/fuzz_$target"
    mkdir -p "$folder/found/$target"
    echo "fuzz $target: $seconds s"
    status=0
    (cd "$folder" && "./fuzz_$target" -max_total_time="$seconds" -timeout=10 \
        -print_final_stats=1 -jobs=0 -verbosity=0 "found/$target" \
        "$source/tests/fuzz/corpus/$target") >"$folder/$target.log" 2>&1 || status=$?
    grep -E 'executed_units|average_exec' "$folder/$target.log" || true
    if [ "$status" -ne 0 ]; then
        tail -n 30 "$folder/$target.log" >&2
        echo "fuzz $target: failed; the input is in $folder" >&2
        failed=1
    fi
done
exit "$failed"
