#!/bin/sh
# Histories that once had a finding have none: one case for each line of seeds.txt. TAP.
#
#   seeds.sh PROGRAM
set -u
folder=$(dirname "$0")
# shellcheck source=test/tap.sh
. "$folder/../tap.sh"

log=$(mktemp "${TMPDIR:-/tmp}/redlock-seeds.XXXXXX") || exit 2
trap 'rm -f "$log"' EXIT
while read -r line; do
    case $line in '' | '#'*) continue ;; esac
    # shellcheck disable=SC2086
    "$1" $line --no-progress >"$log" 2>&1
    result "$line" $? "$log"
done <"$folder/seeds.txt"
finish
