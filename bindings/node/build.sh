#!/bin/sh
# Builds the addon from source with plain cc, for this machine or another one.
#
#   build.sh [OUTPUT]       default build/redlock.node beside this script
#
# CC, CFLAGS   the compiler; default cc and -O2
# NODE         the program whose headers are used, of include/node beside it (Debian: libnode-dev)
# HIREDIS      a folder with the source of hiredis, which then is inside of the addon; without it the
#              installed hiredis is used, by pkg-config
#
# Neither libuv nor OpenSSL is linked: the addon uses node's own. The library's source is in deps in
# the npm package, and two folders up in a clone.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
[ -e "$root/lib/redlock.map" ] || root=$here/deps
mkdir -p "$(dirname "${1:-$here/build/redlock.node}")"
output=$(cd "$(dirname "${1:-$here/build/redlock.node}")" && pwd)/$(basename "${1:-redlock.node}")
cc=${CC:-cc}
node=${NODE:-node}
work=$output.work
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM
mkdir -p "$work/include/redis/scripts"

# Debian has the headers of libuv and OpenSSL elsewhere.
headers=$("$node" -p 'require("path").join(process.execPath, "../../include/node")')
[ -e "$headers/node_api.h" ] || {
    echo "build.sh: $node has no headers here (Debian: libnode-dev)" >&2
    exit 1
}
includes="-I$work/include -I$root/include -I$root/lib -isystem $headers"
[ -e "$headers/uv.h" ] || includes="$includes $(pkg-config --cflags libuv openssl)"

# Makes the header with the nodes' scripts; the npm package has it already.
if [ ! -e "$root/lib/redis/scripts/scripts.h" ]; then
    scripts=$(sed -n "/^redis_scripts = /,/^)/s/^ *'\(.*\)',$/\1/p" "$root/lib/redis/scripts/meson.build")
    # shellcheck disable=SC2086
    (cd "$root/lib/redis/scripts" && python3 embed.py "$work/include/redis/scripts/scripts.h" $scripts)
fi

# The whole library except the parts with threads.
find "$here/src" "$root/lib" -name '*.c' ! -path '*/blocking/*' ! -name loop_thread.c >"$work/sources"
libraries=''
if [ -n "${HIREDIS-}" ]; then
    ln -s "$HIREDIS" "$work/include/hiredis"
    for file in alloc hiredis net read sds sockcompat; do
        [ ! -e "$HIREDIS/$file.c" ] || echo "$HIREDIS/$file.c" >>"$work/sources"
    done
else
    includes="$includes $(pkg-config --cflags hiredis)"
    libraries=$(pkg-config --libs hiredis)
fi

n=0
while read -r source; do
    n=$((n + 1))
    # shellcheck disable=SC2086
    $cc -std=gnu11 -D_GNU_SOURCE -DNDEBUG -DRL_WITH_TLS ${CFLAGS:--O2} -fPIC -fvisibility=hidden \
        -ffunction-sections $includes -c "$source" -o "$work/$n.o"
done <"$work/sources"
# shellcheck disable=SC2086
$cc -shared -s -Wl,--gc-sections -Wl,-z,now -Wl,--version-script="$here/addon.map" \
    "$work"/*.o $libraries -o "$output.new"
mv "$output.new" "$output"
