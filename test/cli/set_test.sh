#!/bin/sh
# redlock set: makes nodes a set, and changes it under load. Arguments: REDLOCK NODES_SH
# Lists of nodes are words.
# shellcheck disable=SC2046
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source=test/cli/set.sh
. "$(dirname "$0")/set.sh"

# -- Arguments --

use 1 2 3 4 5
status 'no subcommand' 64 "$redlock" set
says '... says which there are' 'there are init, show, replace OLD NEW, resize'
status 'another subcommand' 64 "$redlock" set grow
says '... says so' '"grow" is not one; there are init'
status 'replace needs two nodes' 64 "$redlock" set replace a
says '... says so' 'redlock set replace OLD NEW'
status 'resize to eight' 64 "$redlock" set resize --yes 1 2 3 4 5 6 7 8
status 'resize to none' 64 "$redlock" set resize --yes
status 'no terminal, no --yes' 64 "$redlock" set init
says '... says the remedy' 'no terminal to ask on; give --yes'
status 'a set of no configuration' 64 "$redlock" set replace --yes "$(url 1)" "$(url 6)"
says '... says what to do' 'no configuration: redlock set init'
status 'show of it' 1 "$redlock" set show
says '... says what to do, too' 'has a configuration: redlock set init' "$out"
status 'show of nodes that are down' 69 "$redlock" set show --nodes redis://127.0.0.1:1
status 'resume of it' 64 "$redlock" set resume
status 'a node that is down' 69 "$redlock" set init --yes --nodes "$(url 1),redis://127.0.0.1:1"
status 'too many' 64 "$redlock" set init --yes --nodes "$all"
says '... says how many there may be' 'at most 7 nodes'
status 'one server by two names' 64 "$redlock" set init --yes --nodes "$(url 1),redis://localhost:$(port 1)"
says '... says so' 'are the same server'
status 'a socket' 64 "$redlock" set init --yes --nodes unix:///tmp/redis
status 'a dry run' 0 "$redlock" set init --dry-run --max-ttl 2s
holds '... writes nothing' [ -z "$(text 1)" ]
says '... and says so' '^would make a set (its id is drawn then) of 5 nodes, max-ttl 2s$' "$out"

# If connections were not cut after a text is written, some clients would still count by their own list.
for i in 1 2 3 4 5; do ask "$i" acl setuser uncut on '>pw' '~*' '&*' +@all '-client|kill'; done >"$log"
uncut=$(for i in 1 2 3 4 5; do url "$i"; done | sed 's|//|//uncut:pw@|' | paste -sd, -)
status 'a user who may not cut connections' 69 "$redlock" set init --yes --nodes "$uncut"
says '... says what is missing' "NOPERM .*client|kill.*nothing was done. Use a user with .*+client|kill"
holds '... writes nothing' [ -z "$(text 1)$(text 5)" ]

# -- init --

status 'init' 0 "$redlock" set init --yes --max-ttl 2s
says '... says where it is' '^epoch 1: on 5 of 5 nodes$' "$out"
text 1 | paste -sd '|' - >"$out"
says 'the text' "^libredlock-config 1|id [0-9a-f]\{16\}|epoch 1|change [0-9a-f]\{8\}|max_ttl 2000|nodes $(list 1 2 3 4 5)|self $(url 1)|\{0,1\}\$" "$out"
status 'show' 0 "$redlock" set show
says '... they agree' '^all agree$' "$out"
says '... a line for each node' "^  127.0.0.1:$(port 5)  *1  *[0-9a-f]\{8\}  *stable  *127.0.0.1:$(port 5)  *-\$" "$out"
status 'show, as JSON' 0 "$redlock" set show --json --nodes "$(url 2)"
says '... of one node that leads to the others' "\"agree\": true, \"findings\": \[\], \"answers\": \[{\"node\": \"127.0.0.1:$(port 2)\", \"epoch\": 1, .*\"self\": \"$(url 5)\", \"vote\": null, \"member\": true, \"error\": null}\]}" "$out"
status 'a second init' 1 "$redlock" set init --yes
says '... is refused' 'is a node of set [0-9a-f]* already, epoch 1'
ask 3 del libredlock:config >/dev/null
status 'a node has lost it' 1 "$redlock" set show
says '... which is said, with the remedy' "^  127.0.0.1:$(port 3) has no configuration: redlock set resume\$" "$out"
status 'an init that was not finished is completed' 0 "$redlock" set init --yes
agrees && [ "$(epoch)" = 1 ]
result '... with the same text' $? "$out"
ask 3 del libredlock:config >/dev/null
status 'resume' 0 "$redlock" set resume
says '... waits until what it may have forgotten is over' "^waits [123] s: no configuration, and perhaps lost locks: 127.0.0.1:$(port 3)\$" "$out"
holds '... gives it to the node' agrees
"$redlock" ls >"$out"
lacks 'redlock ls does not take it for a lock' config "$out"

# -- doctor --

joined() { "$redlock" doctor | awk '/^(ok|note|warning|error) /{ if (l) print l; l = $0; next } { sub(/^ +/, " "); l = l $0 } END { print l }' >"$out"; }
joined
says 'doctor: nodes that agree' '^ok  *set  *all have the same configuration$' "$out"
REDLOCK_NODES=$(url 7),$(url 8) joined
says '... that have none' '^ok  *set  *no configuration: all clients have to list the same nodes$' "$out"
REDLOCK_NODES=$REDLOCK_NODES,$(url 8) joined
says '... that differ' "^warning  *set  *the configuration of 127.0.0.1:$(port 1) is of epoch 1, and 127.0.0.1:$(port 8) has none remedy .*redlock set resume" "$out"
# edit I SED: its text
edit() { text "$1" | sed "/^\$/d; $2" >"$scratch/text" && ask "$1" -x set libredlock:config <"$scratch/text" >"$log"; }
for i in 1 2; do edit "$i" "s/^epoch .*/epoch 3/; s|^nodes .*|nodes $(list 1 2 4 5)|"; done
REDLOCK_NODES=$(list 1 2 3 | tr ' ' ,) joined
says '... of which one has left' "^warning  *set  *it has left the set (127.0.0.1:$(port 3)) remedy *list the nodes of the set: 127.0.0.1:$(port 1), 127.0.0.1:$(port 2), 127.0.0.1:$(port 4), 127.0.0.1:$(port 5)\$" "$out"
for i in 1 2; do edit "$i" "s/^epoch .*/epoch 1/; s|^nodes .*|nodes $(list 1 2 3 4 5)|"; done
"$redlock" doctor --acl app --key-prefix app: >"$out"
says '... and the user may read it' ' ~libredlock:config ' "$out"

# -- replace, and what is refused --

status 'OLD is not in the set' 64 "$redlock" set replace --yes "$(url 7)" "$(url 6)"
says '... says so' 'is not in the set'
status 'NEW is in it' 64 "$redlock" set replace --yes "$(url 1)" "$(url 2)"
says '... says so' 'is already in the set'
status 'NEW is down' 69 "$redlock" set replace --yes "$(url 1)" 127.0.0.1:1
says '... says why' '127.0.0.1:1: .*; nothing was done'
status 'NEW is one of the set by another name' 64 "$redlock" set replace --yes "$(url 1)" "localhost:$(port 2)"
ask 6 replicaof 127.0.0.1 "$(port 7)" >/dev/null
status 'NEW is a replica' 64 "$redlock" set replace --yes "$(url 1)" "$(url 6)"
says '... says so' 'is a replica'
ask 6 replicaof no one >/dev/null
"$redlock" set init --yes --nodes "$(url 8)" >>"$log" 2>&1
status 'NEW is in another set' 64 "$redlock" set replace --yes "$(url 1)" "$(url 8)"
says '... says how to free it' 'belongs to set .* is free again by DEL libredlock:config'
ask 8 del libredlock:config >/dev/null
status 'the same nodes' 0 "$redlock" set resize --yes $(list 5 4 3 2 1)
says '... need no change' 'the set has these nodes already'
status 'a dry run of what asks nothing' 64 "$redlock" set resume --dry-run
status 'new nodes that are too young for strict clients' 0 "$redlock" set replace --dry-run --guard strict --max-ttl 1h "$(url 1)" "$(url 6)"
says '... are waited for' '^first, .* min: until a majority of the new nodes has run long enough to vote$' "$out"
status 'a dry run' 0 "$redlock" set replace --dry-run "$(url 1)" "127.0.0.1:$(port 6)"
says '... says who leaves' "^  leaves  $(url 1)\$" "$out"
says '... and who comes' "^  comes   $(url 6)\$" "$out"
says '... and how long it takes' 'After 2.0 s, the longest ttl,$' "$out"
[ "$(epoch)" = 1 ] && [ -z "$(text 6)" ]
result '... and does nothing' $?

# -- Under load --

begin_load -q shared shared
begin_load --fence shared
start "$redlock" run --ttl 1800ms --max-ttl 2s held -- sh -c 'exec sleep 1000' 2>"$err.held"
held=$pid
"$redlock" acquire --fence --ttl 1800ms --max-ttl 2s fenced >"$out" 2>>"$log"
fence=$(sed 's/.* //' "$out")
# As if a fence had reached only nodes that leave.
for i in 3 4 5; do ask $i set libredlock:fence:fenced "$((fence + 5))" px 100000 >/dev/null; done
for i in 3 4 5; do ask $i set 'libredlock:permits:{pool}' 3 px 100000 >/dev/null; done
await [ -s "$scratch/grants" ]

status 'one node is replaced' 0 "$redlock" set replace --yes "$(url 1)" "$(url 6)"
says '... both majorities first' '^epoch 2, old and new nodes: on 6 of 6$' "$out"
says '... then it waits' '^waited: no lock is left that old nodes alone' "$out"
says '... then it is decided' '^decided: done$' "$out"
says '... and the new nodes have it' '^epoch 3: on 5 of 5 nodes$' "$out"
holds '... and they are the set' agree_on 2 3 4 5 6
before=$(grants)
status 'five to three' 0 "$redlock" set resize --yes $(list 2 6 7)
holds '... which are the set' agree_on 2 6 7
for i in 2 6 7; do
    [ "$(ask $i get libredlock:fence:fenced)" = "$((fence + 5))" ] || echo "node $i: fence"
    [ "$(ask $i get 'libredlock:permits:{pool}')" = 3 ] || echo "node $i: permits"
done >"$out"
holds 'fences and permits have come along, also where a node stays' [ ! -s "$out" ]
"$redlock" acquire --fence --ttl 1800ms --max-ttl 2s --wait 5s fenced >"$out" 2>>"$log"
holds '... and the next fence is larger' [ "$(sed 's/.* //' "$out")" -gt "$((fence + 5))" ]
status 'three to five, with JSON' 0 "$redlock" set resize --json --yes $(list 2 6 8 9 10)
says '... the steps are in it' '^{"command": "resize", "exit_status": 0, .*"steps": \[{"step": "joint".*{"step": "carried".*{"step": "waited".*{"step": "decided".*{"step": "stable"' "$out"
REDLOCK_NODES="$(url 7)" agrees && members_are 2 6 8 9 10
result '... and a node that has left leads to it' $? "$out"
# If its connections were not cut, its holder would still renew it on the first nodes alone.
status 'what is held is not granted by the new nodes' 1 "$redlock" acquire --ttl 1800ms --max-ttl 2s --no-wait held
# A lock that the old nodes granted and that is not renewed ends before the new nodes grant it.
began=$(ms)
"$redlock" acquire --ttl 1900ms --max-ttl 2s --wait 5s granted >>"$log" 2>&1
"$redlock" run -q --ttl 1800ms --max-ttl 2s --wait 20s granted -- true 2>>"$log" &
second=$!
status 'all five by others' 0 "$redlock" set resize --yes $(list 1 3 4 5 7)
wait $second && [ $(($(ms) - began)) -ge 1900 ]
result 'a lock of the old nodes is over before the new ones grant it' $? "$log"
holds '... are the set' members_are 1 3 4 5 7
# Clients that name nodes which have left find the others; they started with these.
[ "$(grants)" -gt "$before" ]
result 'locks were granted all the time' $? "$scratch/loads"
load_goes_on 10
runs "$held" && ! grep -q lost "$err.held"
result 'a lock that was held through four changes was never lost' $? "$err.held"
end_load
kill -s TERM "$held"
wait "$held"

# -- On a terminal --

if ! command -v script >/dev/null; then
    skip 'the question' 'script is not installed'
    finish
    exit
fi
# answer WORD SUBCOMMAND...
answer() {
    answer_word=$1
    shift
    : >"$scratch/screen"
    rm -f "$scratch/answered"
    (await grep -q 'y/N' "$scratch/screen" && printf '%s\n' "$answer_word" && await [ -e "$scratch/answered" ]) |
        script -qefc "$redlock set $*; status=\$?; : >'$scratch/answered'; exit \$status" "$scratch/screen" >/dev/null 2>&1
}
reset
use 1 2 3
answer n init --max-ttl 1s
[ $? -eq 1 ] && [ -z "$(text 1)" ]
result 'init asks; no' $? "$scratch/screen"
says '... and says what clients do not read it' 'clients of other libraries, and of versions before this one' "$scratch/screen"
answer y init --max-ttl 1s
[ "$(epoch)" = 1 ]
result 'yes' $? "$scratch/screen"
answer n replace "$(url 1)" "$(url 4)"
[ $? -eq 1 ] && [ "$(epoch)" = 1 ]
result 'replace asks; no' $? "$scratch/screen"
answer y replace "$(url 1)" "$(url 4)"
members_are 2 3 4
result 'yes' $? "$scratch/screen"
says '... on a line that is kept up to date' 'waits [12] s: until no lock' "$scratch/screen"

finish
