#!/bin/sh
# The tidy test: what style rules a machine can check in the C files of this tree (tracked or not yet
# tracked, but not ignored). Each rule is one TAP case; what breaks it is listed as file:line.
#
#   tidy.sh [--root DIR]    check the tree
#   tidy.sh --self-test     check that every rule reports what it should
#
# The line rules are in tidy.awk beside this file. AWK: the awk to use, in place of "awk".
set -u

# shellcheck source=test/tidy/rules.sh
. "$(dirname "$0")/rules.sh"

rules='columns file-length function-length calls memory core-time core-includes redis-includes
user-includes test-sleep marks listed format'
line_rules='columns file-length calls memory core-time core-includes redis-includes user-includes
test-sleep marks'
function_lines_max=70

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

# broken RULES TOOL: the tool failed, so nothing was checked; $scratch/why has the reason
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
    # shellcheck disable=SC2086
    judge $rules
}

# -- the self-test -------------------------------------------------------------------------------

report_sample() { report "$scratch/tree"; }

# lines N TEXT: the text, N times
lines() { yes "$2" | head -n "$1"; }

self_test() {
    mkdir "$scratch/tree" && cp "$root/.clang-format" "$scratch/tree/"
    zeros=$(printf '%087d' 0)
    put meson.build "'near.c', 'near'\n"
    put lib/base/meson.build "'x/memory.c', 'tten.c', 'forgotten.c.in'\n"
    put lib/near.c "/* é23456 $zeros */\n/* strcpy(a, b)\n * gets(c) */\nextern int A_TODO;\nconst char *x = \"atoi(1)\"; /* strcat(a) */  // gets(a)\nint f(void) {\n    return rl_free(1) + a->malloc(1) + a->b.free(time(1));\n}\n"
    put lib/base/memory.c 'void f(void) {\n    free(1);\n}\n'
    put lib/core/near.h '#include <stdint.h>\n#include "core/round.h"\n'
    put lib/redis/near.h '#include <uv.h>\n#include "redis/url.h"\n'
    put cli/doctor/near.h '#include "redis/url.h"\n'
    put test/near_test.c '#include "core/round.h"\nvoid f(void) {\n    snprintf(1), my_strcpy(1), x->gets(1), x.atoi(1), malloc(1);\n}\n'
    put bench/near.h 'void f(void) {\n    usleep(1);\n}\n'
    put test/near.h "$(lines 500 'extern int x;\n' | tr -d '\n')"
    put lib/near.h "void f(int *x) {\n$(lines 68 '    *x += 1;\n' | tr -d '\n')}\n"
    expect 'what keeps the rules, if barely' </dev/null

    put lib/columns.h "/* é234567 $zeros */\n"
    put lib/core/time.h 'void f(void) {\n    clock_gettime(1);\n}\n'
    put lib/core/includes.h '#include <time.h>\n\n#include <uv.h>\n\n#include "redis/node.h"\n'
    put lib/base/forgotten.c 'const char x = '"'\"'"', y = strcpy /* b */ (1); /*\n */\n'
    put lib/marks.h '/* FIXME: later */\n'
    put lib/memory.h 'void f(void) {\n    calloc(1);\n}\n'
    put lib/redis/includes.h '#include "../core/round.h"\n'
    put bench/includes.h '#include "redis/node.h"\n'
    put bench/long.h "static void f(int *x) {\n$(lines 69 '    *x += 1;\n' | tr -d '\n')}\n"
    put test/layout.h 'extern  int x;\n'
    put test/long.h "$(lines 501 'extern int x;\n' | tr -d '\n')"
    put test/sleep.h 'void f(void) {\n    usleep(atoi(1));\n}\n'
    expect 'what breaks each' <<'REPORT'
calls lib/base/forgotten.c:1: strcpy()
calls test/sleep.h:2: atoi()
columns lib/columns.h:1
core-includes lib/core/includes.h:1: <time.h> is not for lib/core
core-includes lib/core/includes.h:3: <uv.h> is not for lib/core
core-includes lib/core/includes.h:5: "redis/node.h" is not for lib/core
core-time lib/core/time.h:2: clock_gettime()
file-length test/long.h:501: more than 500 lines
format test/layout.h:1
function-length bench/long.h:1
listed lib/base/forgotten.c:1
marks lib/marks.h:1: FIXME
memory lib/memory.h:2: calloc()
redis-includes lib/redis/includes.h:1: "../core/round.h" is not for lib/redis
test-sleep test/sleep.h:2: usleep()
user-includes bench/includes.h:1: "redis/node.h" is not for users of the library
REPORT
    awk=false
    report_sample | grep -c ' awk failed' >"$scratch/log"
    grep -qx '1[01]' "$scratch/log"
    result 'a tool that fails has found nothing wrong, and says so' $? "$scratch/log"
    finish
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
