#!/bin/sh
# Which lines and branches of lib/ the tests reach.
#
#   coverage.sh                    all suites that run the library
#   coverage.sh --suite unit ...   only these; whatever "meson test" takes
#
# Built by gcc in build/coverage, without assertions: the branch that fails one is not there to be
# reached. gcov comes with gcc. Per file: lines and branches, how many of them were reached, and the
# lines that were not. (A branch counts as reached if it was taken and not only looked at.)
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 2
build=$root/build/coverage

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

# One text with a line per source line: "count: number: text", and "branch ... taken ..." below it.
find "$build/lib" -name '*.gcda' >"$tmp/objects"
[ -s "$tmp/objects" ] || {
    echo 'coverage.sh: no test ran the library' >&2
    exit 1
}
(cd "$build" && xargs gcov --branch-probabilities --branch-counts --stdout <"$tmp/objects") \
    >"$tmp/gcov" 2>"$tmp/log" || {
    cat "$tmp/log"
    exit 1
}
echo
awk -f test/coverage.awk "$tmp/gcov" >"$tmp/table"
head -n 1 "$tmp/table"
sed 1d "$tmp/table" | sort
[ "$tests" -eq 0 ] || echo 'Some tests failed: see above.'
exit "$tests"
