#!/bin/sh
# Builds hiredis 1.x and installs it into a prefix of its own, so that a Debian 12, whose hiredis is
# 0.14, can test with both:
#
#   hiredis1.sh PREFIX      then: meson setup BUILD -Dhiredis_root=PREFIX
#
# The source package comes from the next Debian release. apt is given a configuration of its own: a
# copy of the system's sources with the release's name changed, and folders of its own beside PREFIX;
# the system's sources, lists and packages are left alone. If PREFIX has it already, nothing is done.
#
# Exit status 77: it cannot be had here, and the last line says why.
set -eu

[ $# -eq 1 ] || {
    sed -n '/^#   hiredis1.sh/s/^#   //p' "$0" >&2
    exit 2
}
next=trixie
mkdir -p "$1"
prefix=$(cd "$1" && pwd)
[ ! -e "$prefix/.complete" ] || exit 0

cannot() {
    echo "hiredis 1.x: $*"
    exit 77
}

ID='' VERSION_CODENAME=''
# shellcheck source=/dev/null
[ ! -e /etc/os-release ] || . /etc/os-release
[ "$ID" = debian ] || cannot "its source is only looked for on Debian, and this is ${ID:-unknown}"
[ "$VERSION_CODENAME" != "$next" ] || cannot "this is $next: the system's hiredis is 1.x already"
command -v apt-get >/dev/null 2>&1 || cannot 'no apt-get here'

work=$prefix.work
rm -rf "$work"
mkdir -p "$work/parts" "$work/lists/partial" "$work/archives/partial" "$work/source"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

# The system's sources come in two formats. Of both only the release itself is taken, not its
# updates or security, and nothing of other vendors.
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ ! -f "$file" ] || cat "$file"
done | awk -v now="$VERSION_CODENAME" -v next_="$next" '
    # deb [options] URI suite component...
    $1 == "deb" {
        suite = 3
        if ($2 ~ /^\[/) {
            for (suite = 2; $suite !~ /\]$/ && suite < NF; suite++) continue
            suite += 2
        }
        if ($suite != now) next
        $1 = "deb-src"
        $suite = next_
        print
    }' >"$work/parts/next.list"
for file in /etc/apt/sources.list.d/*.sources; do
    [ ! -f "$file" ] || {
        cat "$file"
        echo
    }
done | awk -v now="$VERSION_CODENAME" -v next_="$next" '
    function end_stanza() {
        if (wanted) printf "%s\n", stanza
        stanza = ""
        wanted = 0
    }
    /^[ \t]*$/ { end_stanza(); next }
    /^#/ { next }
    /^Types:/ { stanza = stanza "Types: deb-src\n"; next }
    /^Enabled:[ \t]*no/ { stanza = ""; next }
    /^Suites:/ {
        for (i = 2; i <= NF; i++) if ($i == now) wanted = 1
        stanza = stanza "Suites: " next_ "\n"
        next
    }
    { stanza = stanza $0 "\n" }
    END { end_stanza() }' >"$work/parts/next.sources"
grep -q . "$work"/parts/* || cannot "no source for $VERSION_CODENAME in /etc/apt"

own_apt() {
    apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/parts" \
        -o Dir::State::lists="$work/lists" -o Dir::Cache="$work" \
        -o Acquire::Languages=none -o APT::Sandbox::User="$(id -un)" "$@" </dev/null
}

echo "hiredis 1.x: fetching the source package of $next"
own_apt update >"$work/log" 2>&1 || :
(cd "$work/source" && own_apt source --download-only hiredis) >>"$work/log" 2>&1 || {
    cat "$work/log"
    cannot "apt could not fetch the source package of $next; why is above"
}
mkdir "$work/tree"
tar -x -f "$work"/source/hiredis_1.*.orig.tar.* --strip-components=1 -C "$work/tree" ||
    cannot "the source package of $next is not a 1.x"

echo 'hiredis 1.x: building it'
# Its makefile would take these paths from the environment, where they can mean something else.
make -C "$work/tree" install PREFIX="$prefix" \
    INCLUDE_PATH=include/hiredis LIBRARY_PATH=lib PKGCONF_PATH=pkgconfig >"$work/log" 2>&1 || {
    cat "$work/log"
    echo 'hiredis 1.x: the build failed; its output is above'
    exit 1
}
: >"$prefix/.complete"
