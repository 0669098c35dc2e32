#!/bin/sh
# redlock top on a terminal that python3 makes (screen.py): its contents, keys, sizes, signals; and
# without a terminal. Arguments: REDLOCK NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
patient
here=$(cd "$(dirname "$0")" && pwd)
start_nodes 5
is_waited_for() { "$redlock" status "$1" | grep -q '^  1 client waits'; }
# scene WHAT NAME
scene() {
    PYTHONDONTWRITEBYTECODE=1 PYTHONIOENCODING=utf-8 timeout 120 python3 "$here/top_scenes.py" "$redlock" "$2" >"$log" 2>&1
    result "$1" $? "$log"
}

status 'without a terminal' 64 "$redlock" top
says '... it names redlock ls' 'redlock ls lists the locks without one'
status '--json' 64 "$redlock" top --json
status 'a word' 64 "$redlock" top nightly
if ! python3 -c 'import os; os.waitstatus_to_exitcode' 2>/dev/null; then
    skip 'the screen' 'python3 (3.9 or later) is not installed'
    finish
    exit 0
fi

token=$("$redlock" acquire --ttl 20m --max-ttl 1h --holder web1:4711 nightly)
await is_everywhere nightly "$token" --ttl 20m --max-ttl 1h
"$redlock" acquire --ttl 20m --max-ttl 1h --fence many >"$log"
"$redlock" acquire --ttl 20m --max-ttl 1h "größe/日本語" >"$log"
"$redlock" run --wait 10m nightly -- true 2>"$scratch/waiter" &
left="$left $!"
await is_waited_for nightly
scene 'it shows nodes and locks, and gives the terminal back' shows
scene 'it sorts, filters, and hides the nodes' sorts
scene 'it follows the size of the terminal' resizes
scene 'Ctrl-C' interrupt
scene 'SIGTERM' term
scene 'Ctrl-Z, and back' stops
scene 'it ends on a terminal that takes nothing' stuck
scene 'a crash gives the terminal back, too' crashes
awk 'BEGIN { for (i = 0; i < 100; i++) printf "SET row:%02d %040x PX 600000\r\n", i, i }' >"$scratch/rows"
for i in 1 2 3; do "$cli" -p "$(port "$i")" --pipe <"$scratch/rows" >"$log" 2>&1; done
scene 'it scrolls' scrolls
sh "$nodes_sh" kill "$nodes" 2
sh "$nodes_sh" pause "$nodes" 4
scene 'a node is down, another hangs' down
sh "$nodes_sh" resume "$nodes" 4

finish
