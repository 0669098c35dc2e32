#!/bin/sh
# examples/cron.sh: the cron dispatcher on three processes, whose leaders die, hang and resign. The
# example checks itself; this test compares the ledger with its output, and tries bad input.
#
#   cron_test.sh CRON_SH NODES_SH CRON
set -u

# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
cron_sh=$1
nodes_sh=$2
cron=$3

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-cron-test.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM
log=$scratch/log

sh "$cron_sh" "$nodes_sh" "$cron" "$scratch/run" >"$log" 2>&1
result 'each tick exactly once, by four leaders' $? "$log"
grep -q 'each dispatched exactly once' "$log"
result 'and it says so' $? "$log"

# The ledger has exactly the entries of the logs.
awk '$3 == "dispatches" { print $4 }' "$scratch/run"/log.* | sort >"$scratch/said"
find "$scratch/run/ledger" -type f -exec basename {} \; | sort >"$scratch/written"
[ -s "$scratch/said" ] && cmp "$scratch/said" "$scratch/written" >"$log" 2>&1
result 'the ledger agrees' $? "$log"

# Each process that waited saw who led.
awk '$3 == "sees" && $4 != "-" { print $2 }' "$scratch/run"/log.* | sort -u >"$log"
[ "$(wc -l <"$log")" -eq 4 ]
result 'each saw who leads' $? "$log"

"$cron" >"$log" 2>&1
[ $? -eq 2 ] && grep -q usage "$log"
result 'without arguments it explains itself' $? "$log"
"$cron" "$scratch" 100 0 redis://127.0.0.1:1 >"$log" 2>&1
[ $? -eq 2 ] && grep -q ttl_ms "$log"
result 'a ttl of 0 is refused' $? "$log"
"$cron" "$scratch" 100 1000 http://127.0.0.1:1 >"$log" 2>&1
[ $? -eq 2 ] && grep -q http "$log"
result 'a bad URL is refused' $? "$log"

finish
