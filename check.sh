#!/bin/sh
# Runs the tests, from a fresh clone on: installs what is missing, builds every variant out
# of the tree, tests each. The last line is "N passed, N failed".
# usage: ./check.sh [--full]
#   --full: every test in every variant, the browser, parity, coverage, distcheck, make profiled
set -eu

source=$(cd "$(dirname "$0")" && pwd)
cd "$source"
. tests/setup.sh

packages_to_test="libcmocka-dev clang python3 python3-pytest python3-h11 python3-pytest-xdist \
procps curl wrk nghttp2-client systemd libclang-rt-dev \
apache2-utils apache2-bin nginx-light lighttpd h2o strace valgrind binutils"

full='' build=''
case ${1-} in
"") ;;
--full)
    full=yes
    packages_to_test="$packages_to_test chromium lcov" # for tests/browser, make coverage
    ;;
--build) build=$2 ;; # its own, below: one variant and nothing else
*)
    echo "usage: ./check.sh [--full]" >&2
    exit 2
    ;;
esac

# A report ends the program, and so fails the test that caused it.
export ASAN_OPTIONS=detect_stack_use_after_return=0:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=second_deadlock_stack=1
export PYTHONDONTWRITEBYTECODE=1
python=/usr/bin/python3

place=$source/build/check
jobs=$(nproc)
# Most tests of behaviour wait most of the time: for deadlines, and for each other's turns.
waiters=$((2 * jobs))
passed=0 failed=0 groups=

# ---- Processes: each step is a session of its own, so that an interrupt ends all of it.

# launch LOG COMMAND...: in the background; the number of its process group is in $launched.
launch()
{
    log=$1
    shift
    # A shell's background process ignores SIGINT, and Python then would too.
    env --default-signal=INT,QUIT setsid "$@" >"$log" 2>&1 </dev/null &
    launched=$!
    groups="$groups $launched"
}

# No "--" before the group: dash takes it for one.
end_all()
{
    for group in $groups; do
        kill -INT "-$group" 2>/dev/null || true
    done
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        alive=
        for group in $groups; do
            kill -0 "-$group" 2>/dev/null && alive=yes
        done
        [ -n "$alive" ] || break
        sleep 0.5
    done
    for group in $groups; do
        kill -KILL "-$group" 2>/dev/null || true
    done
}

interrupted()
{
    trap '' INT TERM HUP
    say "interrupted; ending what runs"
    end_all
    trap - EXIT
    exit 130
}
trap interrupted INT TERM HUP
trap end_all EXIT

# await GROUP NAME LOG: its exit status; says each half minute that it still runs.
await()
{
    begun=$(date +%s) told=$begun
    while kill -0 "$1" 2>/dev/null; do
        sleep 0.5
        now=$(date +%s)
        if [ $((now - told)) -ge 30 ]; then
            told=$now
            say "$2: running for $((now - begun)) s: $(tail -c 300 "$3" 2>/dev/null | tail -n 1)"
        fi
    done
    status=0
    wait "$1" || status=$?
    groups=$(printf '%s' "$groups" | sed "s/ $1\$//; s/ $1 / /")
    return "$status"
}

# ---- Results

# result NAME PASSED FAILED SKIPPED STATUS LOG: adds up, and shows the log of a failure. What
# failed without a failed test (a compiler, a crash) is one failure.
result()
{
    [ "$5" -eq 0 ] || [ "$3" -gt 0 ] || set -- "$1" "$2" 1 "$4" "$5" "$6"
    passed=$((passed + $2)) failed=$((failed + $3))
    skipped=
    [ "$4" -eq 0 ] || skipped=", $4 skipped"
    say "$1: $2 passed, $3 failed$skipped"
    [ "$3" -eq 0 ] || { tail -n "${CHECK_LOG_LINES:-100}" "$6" >&2; say "the whole log: $6"; }
}

# ---- Builds

variants="plain clang asan tsan${full:+ profiled}"

arguments_of()
{
    case $1 in
    plain | profiled) echo --enable-werror CC=gcc ;;
    clang) echo --enable-werror CC=clang --with-context=ucontext ;;
    asan) echo --enable-werror CC=gcc --enable-asan --enable-ubsan ;;
    tsan) echo --enable-werror CC=gcc --enable-tsan ;;
    esac
}

goals_of()
{
    case $1 in
    profiled) echo profiled ;;
    *) echo check TESTS= ;;
    esac
}

# This script calls itself, so that a build too is a group of processes that can be ended.
if [ -n "$build" ]; then
    # shellcheck disable=SC2046 # a list of words
    build_tree "$place/$build" "$(goals_of "$build")" $(arguments_of "$build")
    exit
fi

build_all()
{
    say "building: $variants"
    for variant in $variants; do
        launch "$place/$variant.build.log" "$0" --build "$variant"
        eval "build_$variant=$launched"
    done
    for variant in $variants; do
        status=0
        eval "await \$build_$variant 'build $variant' $place/$variant/build.log" || status=$?
        result "build $variant" $((status == 0)) $((status != 0)) 0 "$status" \
            "$place/$variant.build.log"
        [ "$status" -eq 0 ] || variants=$(printf '%s' "$variants" | sed "s/\b$variant\b//")
    done
}

built()
{
    case " $variants " in *" $1 "*) return 0 ;; esac
    say "$1: not built, so not tested"
    failed=$((failed + 1))
    return 1
}

# ---- Tests

# unit VARIANT: unit tests; for the plain build also what does not depend on the variant, such
# as the check of the layers; threadbench as a program there, and with --full everywhere.
unit()
{
    built "$1" || return 0
    goal=check-unit
    [ -z "$full" ] || goal=check-programs
    [ "$1" != plain ] || goal=check
    log=$place/$1.unit.log status=0
    find "$place/$1" -name '*.trs' -exec rm -f {} +
    launch "$log" make -C "$place/$1" -k -j "$jobs" "$goal"
    await "$launched" "unit $1" "$log" || status=$?
    [ "$status" -eq 0 ] || cat "$place/$1/test-suite.log" >>"$log" 2>/dev/null || true
    results=$(find "$place/$1" -name '*.trs' -exec cat {} +)
    result "unit $1" \
        "$(printf '%s' "$results" | grep -cE '^:test-result: (PASS|XFAIL)')" \
        "$(printf '%s' "$results" | grep -cE '^:test-result: (FAIL|XPASS|ERROR)')" \
        "$(printf '%s' "$results" | grep -cE '^:test-result: SKIP')" "$status" "$log"
}

# counts REPORT: passed, failed and skipped of a JUnit report; zeros if there is none.
counts()
{
    [ -e "$1" ] || { echo 0 0 0; return; }
    "$python" - "$1" <<'END'
import sys
import xml.etree.ElementTree as tree

total = failed = skipped = 0
for suite in tree.parse(sys.argv[1]).iter("testsuite"):
    total += int(suite.get("tests"))
    failed += int(suite.get("failures")) + int(suite.get("errors"))
    skipped += int(suite.get("skipped"))
print(total - failed - skipped, failed, skipped)
END
}

# How much longer than a plain build a variant may take: the factor of every time limit.
patience_of()
{
    case $1 in
    asan) echo 3 ;;
    tsan) echo 5 ;;
    *) echo 1 ;;
    esac
}

# suite NAME FOLDER VARIANT MODELS PYTEST-ARGUMENTS...: MODELS "": all.
suite()
{
    name="$1 $3" folder=$2 variant=$3 models=$4
    shift 4
    built "$variant" || return 0
    log=$(printf '%s' "$place/$name.log" | tr ' ' -) status=0
    report=${log%.log}.xml
    rm -f "$report"
    launch "$log" env TETRAD="$place/$variant/tetrad" ${models:+TETRAD_MODELS="$models"} \
        TETRAD_PATIENCE="$(patience_of "$variant")" \
        "$python" -m pytest -q -p no:cacheprovider -n "$waiters" --junit-xml="$report" "$@" "$folder"
    await "$launched" "$name" "$log" || status=$?
    # shellcheck disable=SC2046 # three numbers
    result "$name" $(counts "$report") "$status" "$log"
}

# target NAME VARIABLE=VALUE...: a target of the plain build's makefile, as one test.
target()
{
    built plain || return 0
    log=$place/$1.log status=0
    launch "$log" make -C "$place/plain" -j "$jobs" "$@"
    await "$launched" "$1" "$log" || status=$?
    result "$1" $((status == 0)) $((status != 0)) 0 "$status" "$log"
}

# Tables of what one connection asks of one thread, which races with nobody.
alone="bodies directories fields file_kinds host_and_target methods paths policies \
preconditions ranges request_line responses"

without_alone()
{
    for name in $alone; do
        printf ' --ignore=tests/behaviour/test_%s.py' "$name"
    done
}

# ---- What is run

# shellcheck disable=SC2086 # lists of words
install_missing $packages_to_build $packages_to_test
make_configure
mkdir -p "$place"
start=$(date +%s)

build_all
for variant in plain clang asan tsan; do
    unit "$variant"
done
target fuzz
target counts
suite loadtest tests/loadtest plain "" -n 0
if [ -n "$full" ]; then
    for variant in plain clang asan tsan; do
        suite behaviour tests/behaviour "$variant" ""
    done
    suite browser tests/browser plain "" -n 0
    target parity
    target coverage
    target distcheck
    suite behaviour tests/behaviour profiled "" -m "not soak"
else
    suite behaviour tests/behaviour plain ""
    suite behaviour tests/behaviour asan "" -m "not soak"
    # shellcheck disable=SC2046 # a list of words
    suite behaviour tests/behaviour tsan "threads greenthreads hybrid eventloop" -m "not soak" \
        $(without_alone)
fi

say "took $(($(date +%s) - start)) s"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
