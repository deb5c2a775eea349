# shellcheck shell=sh disable=SC2034,SC2154
# Sourced by serve.sh and check.sh: what is missing is installed, and a build is made or
# brought up to date. It must never know what is done with the build.
# The caller has set `source` to the source tree and is in it.

packages_to_build="gcc libc6-dev make autoconf automake pkg-config libuv1-dev node-llhttp"

# say WORDS...: one line of progress on standard error.
say()
{
    printf '%s: %s\n' "${0##*/}" "$*" >&2
}

# install_missing PACKAGE...: asks nobody and touches no network if all are there.
install_missing()
{
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        say "no apt-get here; needed are what Debian calls: $*"
        return 0
    fi
    missing=
    for package in "$@"; do
        case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
        installed) ;;
        *) missing="$missing $package" ;;
        esac
    done
    [ -n "$missing" ] || return 0

    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            say "missing, and there is no sudo to install it; as root: apt-get install$missing"
            return 1
        fi
        as_root=sudo
    fi
    say "installing with ${as_root:+sudo }apt-get:$missing"
    # shellcheck disable=SC2086 # a list of words
    answer=$(apt_get update 2>&1) &&
        answer=$(apt_get install -y --no-install-recommends $missing 2>&1) && return 0
    printf '%s\n' "$answer" | tail -n 40 >&2
    return 1
}

apt_get()
{
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q "$@"
}

# The configure script, for a clone, which has none.
make_configure()
{
    if [ -e config.status ]; then
        say "this directory holds a build of its own, which is in the way; first: make distclean"
        return 1
    fi
    [ -x configure ] && [ -e Makefile.in ] && return 0
    say "making configure"
    autoreconf -fi >autoreconf.log 2>&1 || { cat autoreconf.log >&2; return 1; }
    rm -f autoreconf.log
}

# build_tree FOLDER TARGETS ARGUMENTS...: configures with the arguments where that was not
# done, and makes the targets. What the tools say goes to FOLDER/build.log.
build_tree()
{
    folder=$1 targets=$2
    shift 2
    mkdir -p "$folder" || return 1
    (
        flock 9
        cd "$folder" || exit 1
        if [ ! -e config.status ] || [ "$*" != "$(cat configure.arguments 2>/dev/null)" ]; then
            "$source/configure" -q "$@" >build.log 2>&1 || exit 1
            printf '%s\n' "$*" >configure.arguments
        fi
        # shellcheck disable=SC2086 # a list of words
        make -j "$(nproc)" $targets >build.log 2>&1
    ) 9>"$folder/lock" && return 0
    cat "$folder/build.log" >&2
    return 1
}
