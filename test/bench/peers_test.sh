#!/bin/sh
# bench/peers: tables and plots of recorded results, what the documents show of them, and the harness with what this machine has, for
# moments. How fast anyone was is not looked at.
# Arguments: BENCH [REDLOCK]
set -u

# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
bench=$1
redlock=${2-none}
root=$(cd "$(dirname "$0")/../.." && pwd)
recorded=$root/bench/peers/recorded.json
export PYTHONDONTWRITEBYTECODE=1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-peers.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
out=$scratch/out
err=$scratch/err

if ! python3 -c '' 2>/dev/null; then
    skip 'bench/peers' 'python3 is not installed'
    finish
    exit
fi

# peers OPTION...
peers() {
    python3 "$root/bench/peers" --bench "$bench" --redlock "$redlock" "$@" >"$out" 2>"$err" </dev/null
}

mkdir "$scratch/plots"
peers --from "$recorded" --plots "$scratch/plots"
result 'plots are made of the recorded results' $? "$err"
for picture in cycles contention kill; do
    cmp "$scratch/plots/beside-$picture.svg" "$root/docs/beside-$picture.svg" >"$err" 2>&1
    result "docs/beside-$picture.svg is that of the recorded results" $? "$err"
done
python3 "$(dirname "$0")/peers.py" "$scratch/plots" "$recorded" >"$err" 2>&1
result 'the plots are whole: numbers, names, nothing outside' $? "$err"

cat >"$scratch/made.json" <<'JSON'
{"rows": {
 "cycle1": {"ours": [{"locks_per_s": 1000, "grant_p50_ms": 2}, {"locks_per_s": 5000}, {"locks_per_s": 3000}], "etcd": "it is not here"},
 "cycle64": {"ours": [{"locks_per_s": 0.5}], "etcd": "it is not here"},
 "greedy2": {"ours": [{"hand_overs_per_s": 7, "fewest_most": [3, 9]}, {"hand_overs_per_s": 9, "fewest_most": [4, 5]}],
             "node-redlock": [{"hand_overs_per_s": 1, "overlaps": 2}], "postgres": "it is elsewhere"}}}
JSON
peers --from "$scratch/made.json" --plots "$scratch/plots" &&
    grep -qF '| one lock at a time | libredlock | 3,000 | 2 / - |' "$out" && grep -qF '| 64 locks in flight | libredlock | 0.5 | - |' "$out" &&
    grep -qF 'Not in this table: etcd: it is not here.' "$out" && grep -qF '| libredlock | 8 | 3 / 9 |' "$out" &&
    grep -qF '| node-redlock 4 (two holders at one time: 2) | 1 |' "$out" && grep -qF '| PostgreSQL, one server | it is elsewhere |' "$out"
result 'medians, the least fair repetition, two holders, and reasons' $? "$out"

peers --rows greedy9
[ $? -eq 2 ] && grep -q 'no row "greedy9"; there are cycle1, ' "$err"
result 'a row that is none' $? "$err"
peers --bench "$scratch/none" --rows cycle1
[ $? -eq 2 ] && grep -q "$scratch/none is not there" "$err"
result 'a bench that is not built' $? "$err"

python3 "$(dirname "$0")/relay.py" "$root/bench/peers" >"$err" 2>&1
result 'distance: both ways, in order, and what bench/relay.c draws' $? "$err"

moments='--seconds 0.3 --stretch 0.2 --repetitions 1 --kills 1 --jvm-warmup 0.1'
# shellcheck disable=SC2086
peers $moments --rows cycle1,greedy2,polite --systems ours --save "$scratch/saved.json" &&
    grep -qE '^\| one lock at a time \| libredlock \| [0-9.,]+ \| [0-9.]+ / ' "$out" &&
    grep -qE '^\| 2 greedy clients, hold 5 ms \| libredlock \| [0-9.]+ \| ' "$out" &&
    grep -qE '^\| 2 clients, 50 ms of thought.* \| libredlock \| [0-9]' "$out" && cp "$out" "$scratch/before" &&
    peers --from "$scratch/saved.json" && cmp -s "$out" "$scratch/before"
result 'us; and the same from what was saved' $? "$err"
# shellcheck disable=SC2086
peers $moments --rows kill --systems ours,postgres --plots "$scratch/plots" &&
    grep -qE '^\| 8 greedy clients.*killed \| libredlock \| [0-9]' "$out" && grep -q 'PostgreSQL.* | one server: ' "$out" &&
    python3 "$(dirname "$0")/peers.py" "$scratch/plots" >>"$err" 2>&1
result 'a node is killed, and comes back' $? "$err"
# shellcheck disable=SC2086
peers $moments --rows greedy2 --systems node-redlock,zookeeper --modules "$scratch/none" &&
    [ "$(grep -cE 'is not installed' "$out")" -eq 2 ]
result 'what is not installed is in the table, with the reason' $? "$out"
if [ "$redlock" != none ]; then
    # shellcheck disable=SC2086
    peers $moments --rows shells8 --systems 'ours,flock(1)' && grep -qE '^\| +\| flock\(1\) \| [0-9]' "$out"
    result 'shells, beside flock(1)' $? "$err"
else
    skip 'shells, beside flock(1)' 'redlock(1) is not built'
fi
if command -v etcd >/dev/null && command -v node >/dev/null; then
    # shellcheck disable=SC2086
    peers $moments --rows cycle1,greedy2,kill --systems etcd && [ "$(grep -cE '^\| [^|]+ \| etcd \| [0-9]' "$out")" -eq 3 ]
    result 'etcd: one at a time, two that want one lock, and a member that is killed' $? "$err"
else
    skip 'etcd' 'etcd or Node.js is not installed'
fi
finish
