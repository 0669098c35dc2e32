#!/bin/sh
# Makes the files of the npm package that are not in this folder: `npm pack` runs it, in a clone on
# Debian.
#
#   prebuilds/linux-x64/node.napi.glibc.node      by cc
#   prebuilds/linux-x64/node.napi.musl.node       by musl-gcc (Debian: musl-tools)
#   prebuilds/linux-arm64/node.napi.glibc.node    by aarch64-linux-gnu-gcc (gcc-aarch64-linux-gnu)
#   deps                                          the library's source, for other systems
#
# Each contains hiredis, from this Debian's source package. A binary whose compiler is missing is
# left out with a message; without the source of hiredis there is no package.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
# shellcheck source=test/apt.sh
. "$root/test/apt.sh"
apt_needs_debian 'the source of hiredis'
work=$here/build/hiredis
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM
apt_folder "$work" deb-src "$VERSION_CODENAME"
mkdir -p "$work/source" "$work/tree"
own_apt update >"$work/log" 2>&1 || :
(cd "$work/source" && own_apt source --download-only hiredis) >>"$work/log" 2>&1 || {
    cat "$work/log" >&2
    apt_cannot 'apt could not fetch it; why is above'
}
tar -x -f "$work"/source/hiredis_*.orig.tar.* --strip-components=1 -C "$work/tree"

rm -rf "$here/deps" "$here/prebuilds"

# one SYSTEM LIBC COMPILER
one() {
    if ! command -v "$3" >/dev/null 2>&1; then
        echo "prebuild.sh: without $1, $2: there is no $3" >&2
        return
    fi
    echo "prebuild.sh: $1, $2" >&2
    CC=$3 HIREDIS=$work/tree sh "$here/build.sh" "$here/prebuilds/$1/node.napi.$2.node"
}
case $(uname -m) in
x86_64)
    one linux-x64 glibc cc
    one linux-x64 musl musl-gcc
    one linux-arm64 glibc aarch64-linux-gnu-gcc
    ;;
aarch64)
    one linux-arm64 glibc cc
    one linux-arm64 musl musl-gcc
    ;;
esac
cp "$work/tree/COPYING" "$here/prebuilds/COPYING.hiredis"

mkdir -p "$here/deps/lib"
cp -R "$root/include" "$root/LICENSE" "$here/deps"
(cd "$root/lib" && find . -name '*.[ch]' ! -path './blocking/*' -exec cp --parents {} "$here/deps/lib" \;)
scripts=$(sed -n "/^redis_scripts = /,/^)/s/^ *'\(.*\)',$/\1/p" "$root/lib/redis/scripts/meson.build")
mkdir -p "$here/deps/lib/redis/scripts"
# shellcheck disable=SC2086
(cd "$root/lib/redis/scripts" && python3 embed.py "$here/deps/lib/redis/scripts/scripts.h" $scripts)
