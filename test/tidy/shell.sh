#!/bin/sh
# Every shell script of this tree: shellcheck, as the shell that it names. Versions differ in their
# warnings, so it must be the one for which the scripts were written.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 2
# shellcheck source=test/tap.sh
. "$root/test/tap.sh"

log=$(mktemp "${TMPDIR:-/tmp}/redlock-shell.XXXXXX") || exit 2
trap 'rm -f "$log"' EXIT
trap 'exit 130' HUP INT TERM

version=$(shellcheck --version 2>/dev/null | sed -n 's/^version: *//p')
case $version in
0.9.*) why='' ;;
'') why='shellcheck is not installed' ;;
*) why="written for shellcheck 0.9; this is $version" ;;
esac

for file in .ci/run cluster/*.sh debian/tests/five-nodes examples/*.sh examples/*/*.sh lib/*.sh test/*.sh \
    test/*/*.sh; do
    if [ -z "$why" ]; then
        shellcheck -x "$file" >"$log" 2>&1
        result "$file" $? "$log"
    else
        skip "$file" "$why"
    fi
done
finish
