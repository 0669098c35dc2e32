#!/bin/sh
# The tidy test: what style rules a machine can check in the C files of this tree (tracked or not yet
# tracked, but not ignored). Each rule is one TAP case; what breaks it is listed as file:line.
#
#   tidy.sh [--root DIR]    check the tree
#   tidy.sh --self-test     check that every rule reports what it is there to report
#
# The line rules are in tidy.awk beside this file. AWK: the awk to use, in place of "awk".
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
rules='columns file-length function-length calls memory core-time core-includes redis-includes
user-includes test-sleep marks listed format'
line_rules='columns file-length calls memory core-time core-includes redis-includes user-includes
test-sleep marks'
function_lines_max=70
awk=${AWK:-awk}
with_layout=yes # the self-test looks at the layout only where that is the point

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-tidy.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM

find_clang_format() {
    for name in clang-format-14 clang-format; do
        if "$name" --version 2>/dev/null | grep -q ' version 14\.'; then
            echo "$name"
            return
        fi
    done
}

# list_files ROOT: paths below ROOT, one per line
list_files() {
    (
        cd "$1" || exit 2
        # A tarball, or a clone that belongs to someone else, has no git to ask.
        if [ -e .git ] && git ls-files >/dev/null 2>&1; then
            git ls-files --cached --others --exclude-standard -- '*.c' '*.h'
        else
            find . -name 'build*' -prune -o -name '*.[ch]' -type f -print | sed 's|^\./||'
        fi | sort -u | while IFS= read -r file; do
            # A tracked file may have been deleted.
            [ ! -f "$file" ] || printf '%s\n' "$file"
        done
    )
}

# is_listed FILE: is it named by the meson.build, or by a script, of its folder or of the one above?
# x_test.c is named by 'x'. A tree without a meson.build has nothing to forget.
is_listed() {
    [ -e meson.build ] || return 0
    stem=${1##*/}
    stem=${stem%.c}
    short=${stem%_test}
    short=${short%_fuzz}
    folder=${1%/*}
    cat "$folder"/meson.build "$folder"/*.sh "$folder"/../meson.build 2>/dev/null |
        grep -q -e "[/' ]$stem\.c['\" ]" -e "'$short'"
}

# broken RULES TOOL: it failed, so it has checked nothing; why is in $scratch/why
broken() {
    for rule in $1; do
        echo "$rule $2 failed: $(head -n 1 "$scratch/why")"
    done
}

# function_lengths FILE...
# shellcheck disable=SC2016
function_lengths() {
    ctags --quiet --options=NONE --languages=C --langmap=C:.c.h --kinds-C=f --fields=+ne \
        -f "$scratch/tags" "$@" 2>"$scratch/why" &&
        "$awk" -F '\t' -v max="$function_lines_max" '
            /^!/ { next }
            {
                first = last = 0
                for (i = 4; i <= NF; i++) {
                    if ($i ~ /^line:/) first = substr($i, 6) + 0
                    if ($i ~ /^end:/) last = substr($i, 5) + 0
                }
                if (last - first + 1 > max)
                    printf "function-length %s:%d: %s() has %d lines, the limit is %d\n",
                        $2, first, $1, last - first + 1, max
            }' "$scratch/tags" 2>"$scratch/why"
}

# layout CLANG_FORMAT FILE...
layout() {
    "$@" --style=file --dry-run -Werror >"$scratch/why" 2>&1 && return
    sed -n 's/^\([^ ]*:[0-9]*\):[0-9]*: error: .*/format \1: run clang-format 14/p' "$scratch/why" |
        sort -u >"$scratch/layout"
    [ -s "$scratch/layout" ] && cat "$scratch/layout"
}

# report ROOT: one line "rule file:line: what" for everything that breaks a rule; "rule SKIP why"
report() {
    list_files "$1" >"$scratch/files"
    [ -s "$scratch/files" ] || {
        echo "columns $1: no C files found"
        return
    }
    (
        cd "$1" || exit 2
        # No file name of this tree has a space in it.
        # shellcheck disable=SC2046
        set -- $(cat "$scratch/files")
        # Bytes, not letters: what a range of them means depends on the locale.
        LC_ALL=C "$awk" -f "$here/tidy.awk" "$@" 2>"$scratch/why" || broken "$line_rules" awk

        if ctags --version 2>/dev/null | grep -q Universal; then
            function_lengths "$@" || broken function-length 'ctags or awk'
        else
            echo "function-length SKIP universal-ctags is not installed"
        fi

        for file in "$@"; do
            case $file in *.c) is_listed "$file" || echo "listed $file:1: no meson.build names it" ;; esac
        done

        [ "$with_layout" = yes ] || exit 0
        clang_format=$(find_clang_format)
        if [ -z "$clang_format" ]; then
            echo "format SKIP clang-format 14 is not installed"
        else
            layout "$clang_format" "$@" || broken format "$clang_format"
        fi
    )
}

check() {
    report "$1" >"$scratch/report"
    number=0
    failed=0
    for rule in $rules; do
        number=$((number + 1))
        skip=$(sed -n "s/^$rule SKIP //p" "$scratch/report")
        if [ -n "$skip" ]; then
            echo "ok $number - $rule # SKIP $skip"
        elif grep -q "^$rule " "$scratch/report"; then
            failed=1
            echo "not ok $number - $rule"
            sed -n "s/^$rule /# /p" "$scratch/report"
        else
            echo "ok $number - $rule"
        fi
    done
    echo "1..$number"
    return $failed
}

# -- the self-test -------------------------------------------------------------------------------

cases=0
cases_failed=0
in=$scratch/in

# expect WHAT PATTERN PATH: the text in $in, as the only file of a tree, at PATH, must give exactly
# one line, which matches PATTERN; or none, if PATTERN is "nothing". The layout of the small samples
# matters only to the cases that are about it.
expect() {
    tree=$scratch/tree
    rm -rf "$tree"
    mkdir -p "$tree/$(dirname "$3")"
    cp "$in" "$tree/$3"
    cp "$root/.clang-format" "$tree/"
    if [ -e "$scratch/meson.build" ]; then
        : >"$tree/meson.build"
        cp "$scratch/meson.build" "$tree/$(dirname "$3")/"
    fi
    case $2 in format*) ;; *) with_layout=no ;; esac
    report "$tree" >"$scratch/all"
    with_layout=yes
    # A missing tool excuses only a case that wants a finding of that tool's rule.
    grep -v ' SKIP ' "$scratch/all" >"$scratch/got"
    excuse=$(sed -n "s/^${2%% *} SKIP //p" "$scratch/all")
    cases=$((cases + 1))
    wanted_lines=1
    [ "$2" != nothing ] || wanted_lines=0
    if [ "$(wc -l <"$scratch/got")" -eq "$wanted_lines" ] &&
        { [ "$wanted_lines" -eq 0 ] || grep -q "^$2" "$scratch/got"; }; then
        echo "ok $cases - $1"
    elif [ -n "$excuse" ]; then
        echo "ok $cases - $1 # SKIP $excuse"
    else
        cases_failed=1
        echo "not ok $cases - $1"
        echo "# wanted: $2"
        sed 's/^/# got: /' "$scratch/got"
    fi
}

# expect_broken TOOL RULE...: a TOOL that fails must not look like one that finds nothing
expect_broken() {
    tool=$1
    shift
    lines 1 >"$in"
    real=$(command -v "$tool")
    rm -rf "${tree:?}" "${scratch:?}/bin"
    mkdir -p "$tree/lib" "$scratch/bin"
    cp "$in" "$tree/lib/a.c"
    cp "$root/.clang-format" "$tree/"
    cat >"$scratch/bin/$tool" <<TOOL
#!/bin/sh
[ "\$1" != --version ] || exec ${real:-false} --version
echo "no such thing" >&2
exit 2
TOOL
    chmod +x "$scratch/bin/$tool"
    (
        PATH=$scratch/bin:$PATH
        report "$tree"
    ) >"$scratch/got"
    for rule in "$@"; do
        cases=$((cases + 1))
        if grep -q "^$rule SKIP" "$scratch/got"; then
            echo "ok $cases - $tool fails: $rule # SKIP $(sed -n "s/^$rule SKIP //p" "$scratch/got")"
        elif grep -q "^$rule .* failed: no such thing" "$scratch/got"; then
            echo "ok $cases - $tool fails: $rule"
        else
            cases_failed=1
            echo "not ok $cases - $tool fails: $rule"
            sed 's/^/# got: /' "$scratch/got"
        fi
    done
}

# a C function named f with $1 lines in all
long_function() {
    echo 'void f(int *x) {'
    i=2
    while [ "$i" -lt "$1" ]; do
        echo '    *x += 1;'
        i=$((i + 1))
    done
    echo '}'
}

lines() {
    i=0
    while [ "$i" -lt "$1" ]; do
        echo 'extern int x;'
        i=$((i + 1))
    done
}

# call NAME: a function that calls NAME in its second line
call() {
    printf 'void f(void) {\n    %s(1);\n}\n' "$1"
}

self_test() {
    wide=$(printf '%087d' 0)
    echo "/* 123456 $wide */" >"$in"
    expect '100 columns pass' nothing lib/a.c
    echo "/* 1234567 $wide */" >"$in"
    expect '101 columns' 'columns lib/a.c:1: ' lib/a.c
    echo "/* é23456 $wide */" >"$in"
    expect 'a letter of two bytes is one column' nothing lib/a.c
    lines 500 >"$in"
    expect '500 lines pass' nothing test/a.c
    lines 501 >"$in"
    expect '501 lines' 'file-length test/a.c:501: ' test/a.c
    long_function 70 >"$in"
    expect 'a function of 70 lines passes' nothing lib/a.c
    long_function 71 >"$in"
    expect 'a function of 71 lines' 'function-length lib/a.c:1: ' lib/a.c
    long_function 71 | sed '1s/^/static /' >"$in"
    expect 'a static function of 71 lines' 'function-length bench/a.h:1: ' bench/a.h

    for name in sprintf vsprintf strcpy strcat gets atoi atol strtok alloca; do
        call "$name" >"$in"
        expect "$name" "calls test/a.c:2: $name" test/a.c
    done
    for name in snprintf my_strcpy 'x->gets' x.atoi; do
        call "$name" >"$in"
        expect "$name passes" nothing test/a.c
    done
    printf '/* strcpy(a, b)\n * gets(c) */\nconst char *x = "atoi(\\"1\\")"; // strcat(a)\n' >"$in"
    expect 'comments and strings pass' nothing lib/a.c
    printf 'int y = %s + strcpy(1);\n' "'\"'" >"$in"
    expect 'code after a quoted quote' 'calls lib/a.c:1: strcpy' lib/a.c
    printf '/* a */ int y = strcpy /* b */ (1); /*\n' >"$in"
    expect 'code between comments' 'calls lib/a.c:1: strcpy' lib/a.c

    for name in malloc calloc realloc free strdup strndup; do
        call "$name" >"$in"
        expect "$name in lib" "memory lib/x/a.c:2: $name" lib/x/a.c
        expect "$name in lib/base/memory.c passes" nothing lib/base/memory.c
        expect "$name in test passes" nothing test/a.c
    done
    for name in rl_free 'a->malloc' 'a->b.free'; do
        call "$name" >"$in"
        expect "$name in lib passes" nothing lib/a.c
    done

    for name in clock_gettime time gettimeofday clock uv_now uv_hrtime rand random getrandom \
        arc4random uv_random; do
        call "$name" >"$in"
        expect "$name in lib/core" "core-time lib/core/a.c:2: $name" lib/core/a.c
        expect "$name in lib passes" nothing lib/a.c
    done

    for name in '<uv.h>' '<hiredis/hiredis.h>' '<stdlib.h>' '<time.h>' '<stdio.h>' '"base/memory.h"' \
        '"redis/node.h"' '"redlock/redlock.h"' '"../client/client.h"'; do
        echo "#include $name" >"$in"
        expect "$name in lib/core" "core-includes lib/core/a.h:1: $name" lib/core/a.h
    done
    for name in '<stdint.h>' '<assert.h>' '<string.h>' '"core/round.h"'; do
        echo "#include $name" >"$in"
        expect "$name in lib/core passes" nothing lib/core/a.h
    done
    for name in '"core/round.h"' '"../core/round.h"' '"client/client.h"'; do
        echo " #  include $name" | sed 's/^ #  /#/' >"$in"
        expect "$name in lib/redis" "redis-includes lib/redis/a.h:1: $name" lib/redis/a.h
    done
    for name in '"redis/url.h"' '"base/memory.h"' '<uv.h>'; do
        echo "#include $name" >"$in"
        expect "$name in lib/redis passes" nothing lib/redis/a.h
    done

    for name in '"core/round.h"' '"redis/node.h"' '"../lib/redis/url.h"'; do
        echo "#include $name" >"$in"
        expect "$name in bench" "user-includes bench/a.c:1: $name" bench/a.c
        expect "$name in test passes" nothing test/a.c
        expect "$name in cli" "user-includes cli/a.c:1: $name" cli/a.c
    done
    for name in '"redis/url.h"' '"redis/command.h"' '"redis/info.h"' '"redis/reply.h"'; do
        echo "#include $name" >"$in"
        expect "$name in cli" "user-includes cli/a.c:1: $name" cli/a.c
        expect "$name in doctor passes" nothing cli/doctor_a.c
    done
    echo '#include "redlock/redlock.h"' >"$in"
    expect 'the public header in examples passes' nothing examples/a.c

    for name in sleep usleep nanosleep clock_nanosleep uv_sleep; do
        call "$name" >"$in"
        expect "$name in test" "test-sleep test/live/a.c:2: $name" test/live/a.c
        expect "$name in bench passes" nothing bench/a.c
    done

    for name in TODO FIXME XXX; do
        echo "/* $name: later */" >"$in"
        expect "$name" "marks lib/a.c:1: $name" lib/a.c
        echo "extern int A_$name;" >"$in"
        expect "A_$name passes" nothing lib/a.c
    done

    echo 'extern int x;' >"$in"
    for list in "'b.c'" "'a_b.c'" "'b/a.c.in'"; do
        echo "$list" >"$scratch/meson.build"
        expect "a file that is not in $list" 'listed lib/a.c:1: ' lib/a.c
    done
    for list in "'a.c'" "'x/a.c'" "'a'"; do
        echo "$list" >"$scratch/meson.build"
        expect "a file that is in $list" nothing lib/a.c
    done
    echo "'a'" >"$scratch/meson.build"
    expect 'a test that is listed without its ending' nothing test/a_test.c
    rm "$scratch/meson.build"

    echo 'int  x;' >"$in"
    expect 'formatting' 'format lib/a.c:1: ' lib/a.c

    # Both lists are words.
    # shellcheck disable=SC2086
    expect_broken "$awk" $line_rules function-length
    expect_broken ctags function-length
    clang_format=$(find_clang_format)
    expect_broken "${clang_format:-clang-format}" format

    # Each awk has its own idea of a regular expression.
    [ -z "${AWK-}" ] || return $cases_failed
    for other in mawk gawk original-awk; do
        case $(readlink -f "$(command -v "$other")") in
        '' | "$(readlink -f "$(command -v awk)")") continue ;;
        esac
        cases=$((cases + 1))
        if AWK=$other sh "$0" --self-test >"$scratch/other"; then
            echo "ok $cases - all of this with $other"
        else
            cases_failed=1
            echo "not ok $cases - all of this with $other"
            grep -v '^ok ' "$scratch/other" | sed 's/^/# /'
        fi
    done
    echo "1..$cases"
    return $cases_failed
}

case ${1-} in
'') check "$root" ;;
--root) check "$(cd "$2" && pwd)" ;;
--self-test) self_test ;;
*)
    sed -n '/^#   tidy.sh/s/^#   //p' "$0" >&2
    exit 2
    ;;
esac
