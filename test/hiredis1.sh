#!/bin/sh
# Builds hiredis 1.x and installs it into its own prefix, so that Debian 12, whose hiredis is 0.14,
# can test with both:
#
#   hiredis1.sh PREFIX      then: meson setup BUILD -Dhiredis_root=PREFIX
#
# The source package comes from the next Debian release. apt gets its own configuration: a copy of
# the system's sources with the release's name changed, and its own folders beside PREFIX; the
# system's sources, lists and packages are not touched. If PREFIX has it already, nothing is done.
#
# Exit status 77: it is unavailable here, and the last line says why.
set -eu

[ $# -eq 1 ] || {
    sed -n '/^#   hiredis1.sh/s/^#   //p' "$0" >&2
    exit 2
}
next=trixie
mkdir -p "$1"
prefix=$(cd "$1" && pwd)
[ ! -e "$prefix/.complete" ] || exit 0

# shellcheck source=test/apt.sh
. "$(dirname "$0")/apt.sh"
apt_needs_debian 'hiredis 1.x'
[ "$VERSION_CODENAME" != "$next" ] || apt_cannot "this is $next: the system's hiredis is 1.x already"

work=$prefix.work
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM
apt_folder "$work" deb-src "$next"
mkdir -p "$work/source"

echo "hiredis 1.x: fetching the source package of $next"
own_apt update >"$work/log" 2>&1 || :
(cd "$work/source" && own_apt source --download-only hiredis) >>"$work/log" 2>&1 || {
    cat "$work/log"
    apt_cannot "apt could not fetch the source package of $next; why is above"
}
mkdir "$work/tree"
tar -x -f "$work"/source/hiredis_1.*.orig.tar.* --strip-components=1 -C "$work/tree" ||
    apt_cannot "the source package of $next is not a 1.x"

echo 'hiredis 1.x: building it'
# The makefile would take these paths from the environment, where they may mean something else.
make -C "$work/tree" install PREFIX="$prefix" \
    INCLUDE_PATH=include/hiredis LIBRARY_PATH=lib PKGCONF_PATH=pkgconfig >"$work/log" 2>&1 || {
    cat "$work/log"
    echo 'hiredis 1.x: the build failed; its output is above'
    exit 1
}
: >"$prefix/.complete"
