#!/bin/sh
# Installs the library into a prefix of its own and uses it from there as somebody else would:
# downstream.c is built with the installed pkg-config file, shared and static, and run; a meson
# project that has this one as a subproject is built and run. Then the symbols: the shared library
# exports every function of the headers and nothing else.
#
#   install.sh SOURCE CC VERSION SOVERSION HIREDIS_ROOT     the last may be empty
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/tap.sh
. "$here/../tap.sh"
source=$1
cc=$2
version=$3
soversion=$4
hiredis_root=$5

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-install.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM
log=$scratch/log
prefix=$scratch/prefix
lib=$prefix/lib

# What the build around this test was configured with is not for the builds below.
unset DESTDIR CFLAGS LDFLAGS
export CC="$cc"
export PKG_CONFIG_PATH="$lib/pkgconfig${hiredis_root:+:$hiredis_root/lib/pkgconfig}"
export LD_LIBRARY_PATH="${hiredis_root:+$hiredis_root/lib}"
options="-Dtests=false -Dbench=false -Dexamples=false"

# shellcheck disable=SC2086
{
    meson setup "$scratch/build" "$source" --prefix="$prefix" --libdir=lib $options \
        -Dhiredis_root="$hiredis_root" && meson install -C "$scratch/build"
} >"$log" 2>&1
result 'meson install' $? "$log"

[ "$(pkg-config --modversion redlock 2>"$log")" = "$version" ]
result "pkg-config says $version" $? "$log"

readelf -d "$lib/libredlock.so" >"$log" 2>&1
grep -q "SONAME.*\[libredlock\.so\.$soversion\]" "$log"
result "its soname ends in $soversion" $? "$log"

[ "$(LD_LIBRARY_PATH='' "$prefix/bin/redlock" --version 2>"$log")" = "redlock $version" ]
result 'redlock(1) runs without the shared library' $? "$log"
[ -s "$prefix/share/man/man1/redlock.1" ] &&
    [ -s "$prefix/share/bash-completion/completions/redlock" ]
result 'its manual and completion are installed' $?

# build_and_run NAME PKG_CONFIG_FLAGS
build_and_run() {
    # shellcheck disable=SC2046,SC2086
    {
        flags=$(pkg-config --cflags --libs $2 redlock libuv) && echo "flags: $flags" &&
            $cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror "$here/downstream.c" -o "$scratch/$1" $flags &&
            LD_LIBRARY_PATH="$lib:$LD_LIBRARY_PATH" "$scratch/$1" "$version"
    } >"$log" 2>&1
    result "a program, $1" $? "$log"
}

build_and_run shared ''
readelf -d "$scratch/shared" 2>/dev/null | grep -q "NEEDED.*libredlock\.so\.$soversion"
result 'the shared program needs the shared library' $?

# Without the shared library there, the linker takes the static one.
mkdir "$scratch/aside" && mv "$lib"/libredlock.so* "$scratch/aside/"
build_and_run static --static
! readelf -d "$scratch/static" 2>/dev/null | grep -q 'NEEDED.*libredlock'
result 'the static program does not need it' $?
mv "$scratch/aside"/* "$lib/"

# -- as a subproject --

mkdir -p "$scratch/super/subprojects"
ln -s "$source" "$scratch/super/subprojects/libredlock"
cp "$here/downstream.c" "$scratch/super/"
cat >"$scratch/super/meson.build" <<'MESON'
project('super', 'c', default_options: ['c_std=gnu11'])
redlock = dependency(
    'redlock',
    fallback: 'libredlock',
    default_options: 'hiredis_root=' + get_option('hiredis_root'),
)
executable('downstream', 'downstream.c', dependencies: [redlock, dependency('libuv')])
MESON
echo "option('hiredis_root', type: 'string', value: '$hiredis_root')" >"$scratch/super/meson_options.txt"
{
    PKG_CONFIG_PATH='' meson setup "$scratch/super/build" "$scratch/super" \
        --wrap-mode=default --force-fallback-for=redlock &&
        meson compile -C "$scratch/super/build" &&
        "$scratch/super/build/downstream" "$version"
} >"$log" 2>&1
result 'a program that has it as a subproject' $? "$log"

# -- symbols --

cat "$prefix"/include/redlock/*.h | tr '\n' ' ' | grep -o 'REDLOCK_API [^(;]*redlock_[a-z0-9_]*(' |
    sed 's/.*\(redlock_[a-z0-9_]*\)($/\1/' | sort -u >"$scratch/declared"
nm -D --defined-only "$lib/libredlock.so" | awk '$2 != "A" { print $3 }' | sort -u >"$scratch/exported"
sed "s/\$/@@REDLOCK_$soversion/" "$scratch/declared" | diff - "$scratch/exported" >"$log" 2>&1 &&
    [ "$(wc -l <"$scratch/declared")" -gt 10 ]
result 'the shared library exports what the headers declare (<) and nothing else (>)' $? "$log"

nm -g --defined-only "$lib/libredlock.a" | awk 'NF == 3 { print $3 }' | sort -u |
    grep -v -E '^(redlock|rl)_' >"$log"
[ ! -s "$log" ]
result 'global names in the static library begin with redlock_ or rl_' $? "$log"

diff -r "$source/include/redlock" "$prefix/include/redlock" >"$log"
result 'every public header is installed' $? "$log"

finish
