#!/bin/sh
# Which lines and branches of lib/ the tests reach.
#
#   coverage.sh                    all suites that run the library
#   coverage.sh --suite unit ...   only these; whatever "meson test" takes
#
# Built by gcc in build/coverage, without assertions, so that their failing branches do not count.
# gcovr prints, for each file, the lines that were not reached, and the share of its branches.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 2
build=$root/build/coverage
command -v gcovr >/dev/null || {
    echo 'coverage.sh: apt-get install gcovr' >&2
    exit 1
}

tmp=$(mktemp -d "${TMPDIR:-/tmp}/redlock-coverage.XXXXXX") || exit 2
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' HUP INT TERM

if [ ! -e "$build/build.ninja" ]; then
    rm -rf "$build"
    CC=gcc meson setup "$build" -Db_coverage=true -Db_ndebug=true -Doptimization=0 \
        >"$tmp/log" 2>&1 || {
        cat "$tmp/log"
        exit 1
    }
fi
ninja --quiet -C "$build" >"$tmp/log" 2>&1 || {
    cat "$tmp/log"
    exit 1
}
find "$build" -name '*.gcda' -exec rm -f {} +
[ $# -gt 0 ] || set -- --no-suite tidy --no-suite package --no-suite valgrind --no-suite model
meson test -C "$build" --no-rebuild -t 3 "$@"
tests=$?

gcovr --root "$root" --filter lib/ "$build" && gcovr --root "$root" --filter lib/ --txt-metric branch "$build" ||
    exit 1
[ "$tests" -eq 0 ] || echo 'Some tests failed: see above.'
exit "$tests"
