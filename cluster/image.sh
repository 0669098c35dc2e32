#!/bin/sh
# Builds an image of one Redis node from the programs of this machine; nothing is downloaded.
#
#   image.sh [NAME]    NAME is redlock-redis if it is not given
#
# The image holds redis-server and redis-cli (packages redis-server and redis-tools), a shell and
# grep for the health check, and the libraries that they name. Where a registry can be reached, the
# official image does as well: see docker-compose.yml.
set -eu

name=${1:-redlock-redis}
here=$(cd "$(dirname "$0")" && pwd)

die() {
    echo "image.sh: $*" >&2
    exit 1
}

for tool in redis-server redis-cli sh grep ldd docker; do
    command -v "$tool" >/dev/null ||
        die "$tool is not installed; as root: sh cluster/setup.sh compose"
done
docker info >/dev/null 2>&1 || die 'no Docker engine answers; start one (dockerd, as root)'

context=$(mktemp -d "${TMPDIR:-/tmp}/redlock-image.XXXXXX")
trap 'rm -rf "$context"' EXIT
trap 'exit 130' HUP INT TERM
root=$context/rootfs

# put FILE TARGET: copies FILE, following links, to TARGET
put() {
    mkdir -p "$root$(dirname "$2")"
    cp -L "$1" "$root$2"
}

# with_libraries PROGRAM TARGET: copies the program, and each library under the name by which it is
# loaded
with_libraries() {
    program=$(command -v "$1")
    put "$program" "$2"
    ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }' |
        while IFS= read -r library; do
            [ -e "$root$library" ] || put "$library" "$library"
        done
}

with_libraries redis-server /usr/bin/redis-server
with_libraries redis-cli /usr/bin/redis-cli
with_libraries sh /bin/sh
with_libraries grep /usr/bin/grep
mkdir -p "$root/etc" "$root/tmp" "$context/data"
chmod 1777 "$root/tmp"
printf 'root:x:0:0::/:/bin/sh\nredis:x:999:999::/data:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nredis:x:999:\n' >"$root/etc/group"
cp "$here/Dockerfile" "$context/"

docker build -q -t "$name" "$context" >/dev/null
echo "image.sh: built $name"
