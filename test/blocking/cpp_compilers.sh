#!/bin/sh
# Compiles the programs that test redlock.hpp with g++ and clang++: C++17 and later, warnings are
# errors.
#
#   cpp_compilers.sh SOURCE LIBUV_INCLUDE HIREDIS_ROOT     the last two may be empty
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/tap.sh
. "$here/../tap.sh"
source=$1
set -- -I "$source/include" -I "$source/test" -I "$source" ${2:+-I "$2"} \
    ${3:+-isystem "$3/include"}

log=$(mktemp "${TMPDIR:-/tmp}/redlock-cpp.XXXXXX") || exit 2
trap 'rm -f "$log"' EXIT
trap 'exit 130' HUP INT TERM

for cxx in g++ clang++; do
    for std in c++17 c++20; do
        if ! command -v "$cxx" >/dev/null; then
            skip "$cxx -std=$std" "no $cxx"
            continue
        fi
        "$cxx" -std=$std -Wall -Wextra -Wpedantic -Wshadow -Werror -D_GNU_SOURCE -fsyntax-only \
            "$@" "$here/cpp_test.cpp" "$here/cpp_shared_test.cpp" \
            "$here/cpp_semaphore_test.cpp" >"$log" 2>&1
        result "$cxx -std=$std" $? "$log"
    done
done

finish
