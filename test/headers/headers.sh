#!/bin/sh
# Each public header is compiled alone, as C99, C11 and C++17, with warnings as errors: programs that
# use the library are built with what they like. Then every public macro is expanded (macros.c), and macros.c is checked to use every public macro there is.
#
#   headers.sh INCLUDE_DIR CC CXX     CXX may be "-": no C++ compiler
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/tap.sh
. "$here/../tap.sh"
include=$1
cc=$2
cxx=$3
strict='-Wall -Wextra -Wpedantic -Wconversion -Wundef -Wshadow -Werror -fsyntax-only'

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-headers.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM

# compile WHAT FILE: as C99, C11 and C++17
compile() {
    for std in 99 11; do
        # A compiler may be several words.
        # shellcheck disable=SC2086
        $cc -x c -std=c$std $strict -Wstrict-prototypes -I "$include" "$2" >"$scratch/log" 2>&1
        result "$1 as C$std" $? "$scratch/log"
    done
    if [ "$cxx" = - ]; then
        skip "$1 as C++17" 'no C++ compiler'
        return
    fi
    # shellcheck disable=SC2086
    $cxx -x c++ -std=c++17 $strict -I "$include" "$2" >"$scratch/log" 2>&1
    result "$1 as C++17" $? "$scratch/log"
}

for header in "$include"/redlock/*.h; do
    name=redlock/${header##*/}
    # Twice, so that a missing include guard shows; a C file must declare something.
    printf '#include "%s"\n#include "%s"\nextern int alone;\n' "$name" "$name" >"$scratch/alone.c"
    compile "$name" "$scratch/alone.c"
done

for header in "$include"/redlock/*.hpp; do
    name=redlock/${header##*/}
    if [ "$cxx" = - ]; then
        skip "$name as C++17" 'no C++ compiler'
        continue
    fi
    printf '#include "%s"\n#include "%s"\n' "$name" "$name" >"$scratch/alone.cpp"
    # shellcheck disable=SC2086
    $cxx -x c++ -std=c++17 $strict -I "$include" "$scratch/alone.cpp" >"$scratch/log" 2>&1
    result "$name as C++17" $? "$scratch/log"
done

# All headers together, forwards and backwards: they must not conflict in either order.
for order in '' -r; do
    for header in "$include"/redlock/*.h; do
        printf '#include "redlock/%s"\n' "${header##*/}"
    done | sort $order >"$scratch/together.c"
    echo 'extern int together;' >>"$scratch/together.c"
    compile "all headers together${order:+, backwards}" "$scratch/together.c"
done

compile 'every macro' "$here/macros.c"

# Include guards end in _H; names that end in _ are for the headers themselves.
sed -n 's/^#define \(REDLOCK_[A-Z0-9_]*\).*/\1/p' "$include"/redlock/*.h | sort -u |
    while read -r macro; do
        case $macro in *_H | *_) continue ;; esac
        grep -qw "$macro" "$here/macros.c" || echo "$macro is not in test/headers/macros.c"
    done >"$scratch/log"
[ ! -s "$scratch/log" ]
result 'macros.c has them all' $? "$scratch/log"

# The headers' functions, the library's exports and the functions tested with NULL are the same.
sed -n 's/^REDLOCK_API .*[ *]\(redlock_[a-z_]*\)(.*/\1/p' "$include"/redlock/*.h |
    LC_ALL=C sort >"$scratch/functions"
[ "$(cat "$include"/redlock/*.h | grep -c '^REDLOCK_API')" -eq "$(wc -l <"$scratch/functions")" ]
result 'every declaration of a function is understood' $?

sed -n 's/^ *\(redlock_[a-z_]*\);$/\1/p' "$include/../lib/redlock.map" >"$scratch/exported"
diff "$scratch/functions" "$scratch/exported" >"$scratch/log"
result 'redlock.map has the functions of the headers, sorted' $? "$scratch/log"

# A paragraph that declares functions begins with a comment, which has a "Since".
awk 'BEGIN { RS = "" }
    /(^|\n)REDLOCK_API / && (!/^\/\*/ || !/Since[ *\n]*0\.1\./) { print FILENAME ": " $0 }' \
    "$include"/redlock/*.h >"$scratch/log"
[ ! -s "$scratch/log" ]
result 'every function has a comment, and says since when' $? "$scratch/log"

nulls="$here/../unit/null_test.c"
while read -r function; do
    grep -q "[A-Z]($function(" "$nulls" || echo "$function() is not in test/unit/null_test.c"
done <"$scratch/exported" >"$scratch/log"
[ ! -s "$scratch/log" ]
result 'null_test.c has every function' $? "$scratch/log"

finish
