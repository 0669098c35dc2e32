#!/bin/sh
# How many assertions there are for each function of lib/: assert(), RL_REQUIRE() and static_assert(),
# outside of comments and strings. Below the floor a change has brought code that says less of what it
# relies on than the rest does.
#
#   assertions.sh [--root DIR]    count those of the tree
#   assertions.sh --self-test     check that too few are reported, and what is counted
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
floor=90 # hundredths: what is reached; raised as more is
awk=${AWK:-awk}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-assertions.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM

# count ROOT: "FUNCTIONS ASSERTIONS"
# shellcheck disable=SC2016
count() {
    (
        cd "$1" || exit 2
        # No file name of this tree has a space in it.
        # shellcheck disable=SC2046
        set -- $(find lib -name '*.[ch]' | LC_ALL=C sort)
        functions=$(ctags --quiet --options=NONE --languages=C --langmap=C:.c.h --kinds-C=f \
            -f - "$@" | grep -vc '^!')
        assertions=$(LC_ALL=C "$awk" '
            # The code of a line; a comment may go on in the next one.
            function code(line,    out, end) {
                gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
                out = ""
                while (line != "") {
                    if (in_comment) {
                        end = index(line, "*/")
                        if (end == 0) return out
                        line = substr(line, end + 2)
                        in_comment = 0
                    } else if ((end = index(line, "/*")) > 0) {
                        out = out substr(line, 1, end - 1) " "
                        line = substr(line, end + 2)
                        in_comment = 1
                    } else return out line
                }
                return out
            }
            FNR == 1 { in_comment = 0 }
            {
                text = " " code($0)
                if (text ~ /^ # *define/) next
                n += gsub(/[^A-Za-z0-9_](assert|_?[sS]tatic_assert|RL_REQUIRE)\(/, "", text)
            }
            END { print n + 0 }' "$@")
        echo "$functions $assertions"
    )
}

# check ROOT: one TAP case
check() {
    if ! ctags --version 2>/dev/null | grep -q Universal; then
        echo "ok 1 - assertions # SKIP universal-ctags is not installed"
        echo 1..1
        return 0
    fi
    count "$1" >"$scratch/count"
    read -r functions assertions <"$scratch/count"
    if [ "$functions" -gt 0 ] && [ $((assertions * 100)) -ge $((functions * floor)) ]; then
        answer=ok
    else
        answer='not ok'
    fi
    echo "$answer 1 - assertions"
    "$awk" -v f="$functions" -v a="$assertions" -v floor="$floor" 'BEGIN {
        printf "# %d assertions in %d functions: %.2f, the floor is %.2f\n",
            a, f, (f ? a / f : 0), floor / 100
    }'
    echo 1..1
    [ "$answer" = ok ]
}

# -- the self-test -------------------------------------------------------------------------------

cases=0
cases_failed=0

# put TEXT: the only file of the sample
put() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/lib/core" "$scratch/tree/test"
    printf '%b' "$1" >"$scratch/tree/lib/core/a.c"
    printf 'void t(void) {}\n' >"$scratch/tree/test/a.c"
}

# expect WHAT STATUS PATTERN
expect() {
    cases=$((cases + 1))
    check "$scratch/tree" >"$scratch/got"
    status=$?
    if grep -q ' SKIP ' "$scratch/got"; then
        echo "ok $cases - $1 # SKIP universal-ctags is not installed"
    elif [ $status -eq "$2" ] && grep -q "$3" "$scratch/got"; then
        echo "ok $cases - $1"
    else
        cases_failed=1
        echo "not ok $cases - $1"
        sed 's/^/# got: /' "$scratch/got"
    fi
}

self_test() {
    put 'void f(int x) {\n    assert(x);\n    RL_REQUIRE(x);\n}\nstatic_assert(1, "a");\n'
    expect 'three in one function' 0 '^# 3 assertions in 1 functions: 3.00'
    put 'void f(int x) {\n    assert(x);\n}\nvoid g(void) {\n}\n'
    expect 'one in two functions is too few' 1 '^not ok 1 - assertions'
    put 'void f(int x) {\n    /* assert(x);\n     * assert(x); */ my_assert(x); g("assert(");\n}\n'
    expect 'comments, strings and other names do not count' 1 '^# 0 assertions in 1 functions'
    put '#define RL_REQUIRE(x) RL_REQUIRE(x)\nvoid f(void) {\n}\n'
    expect 'what defines one does not count' 1 '^# 0 assertions in 1 functions'
    put 'int x;\n'
    expect 'a tree without functions' 1 '^not ok 1 - assertions'
    echo "1..$cases"
    return $cases_failed
}

case ${1-} in
'') check "$root" ;;
--root) check "$(cd "$2" && pwd)" ;;
--self-test) self_test ;;
*)
    sed -n '/^#   assertions.sh/s/^#   //p' "$0" >&2
    exit 2
    ;;
esac
