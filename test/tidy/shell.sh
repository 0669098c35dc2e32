#!/bin/sh
# Every shell script of this tree: shellcheck, as the shell that it names.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 2
# shellcheck source=test/tap.sh
. "$root/test/tap.sh"

log=$(mktemp "${TMPDIR:-/tmp}/redlock-shell.XXXXXX") || exit 2
trap 'rm -f "$log"' EXIT
trap 'exit 130' HUP INT TERM

for file in .ci/run cluster/*.sh examples/*.sh examples/*/*.sh test/*.sh test/*/*.sh; do
    if command -v shellcheck >/dev/null 2>&1; then
        shellcheck -x "$file" >"$log" 2>&1
        result "$file" $? "$log"
    else
        skip "$file" 'shellcheck is not installed'
    fi
done
finish
