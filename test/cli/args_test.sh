#!/bin/sh
# The arguments of redlock(1): it names every wrong one, with a remedy, and does nothing. The
# configuration file: file, line, remedy. Arguments: REDLOCK NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"

# bad WHAT PATTERN ARGUMENT...: one case: status 64, and a line on stderr that matches, and no other
bad() {
    bad_what=$1
    bad_pattern=$2
    shift 2
    "$redlock" "$@" >"$out" 2>"$err" </dev/null
    [ $? -eq 64 ] && [ ! -s "$out" ] && grep -q -e "^redlock: .*$bad_pattern" "$err"
    result "$bad_what" $? "$err"
}

bad 'no command' 'no command; try redlock --help'
bad 'unknown command' '"lock" is not a command; there are run' lock
bad 'a command that would harm a terminal' '"?\[31m" is not' "$(printf '\033[31m')"
bad 'a mistyped command' '"rnu" is not a command; did you mean "run"?' rnu
bad '... conform' '"confrom" is not a command; did you mean "conform"?' confrom
bad '... for help' '"stauts" is not a command; did you mean "status"?' help stauts
bad 'option before the command' '\-\-json: options follow the command' --json status k
bad 'no nodes' 'no nodes are named. Give --nodes' status k
REDLOCK_NODES=redis://127.0.0.1:1
export REDLOCK_NODES

bad 'unknown option' '\-\-frob is not an option of run; see redlock run --help' run --frob k -- true
bad 'a mistyped option' '\-\-no-wiat is not an option of run; did you mean --no-wait?' run --no-wiat k -- true
bad '... of another command' '\-\-gracee is not an option of release; see redlock release --help' release --gracee 1s k
bad '--json of top' '\-\-json does not apply to top' top --json
bad '... of metrics' '\-\-json does not apply to metrics' metrics --json
bad 'unknown letter' '\-x is not an option of run' run -x k -- true
bad 'value missing' '\-\-ttl needs a value' run k --ttl
bad 'value too much' '\-\-json takes no value' run --json=1 k -- true
bad 'option of another command' '\-\-grace does not apply to acquire' acquire --grace 1s k
bad 'duration without a unit' '\-\-ttl "10": the unit is missing: write 500ms, 10s' run --ttl 10 k -- true
bad 'unknown unit' '\-\-wait "10y": the unit is not known: write ms, s' run --wait 10y k -- true
bad 'no duration' '\-\-wait "soon": a duration is a number and a unit' run -w soon k -- true
bad 'negative duration' '\-\-wait "-1s": a duration is' run --wait -1s k -- true
bad 'ttl 0' '\-\-ttl "0": it takes 1ms to 1d' run --ttl 0 k -- true
bad 'ttl of two days' '\-\-ttl "48h": it takes 1ms to 1d' run --ttl 48h k -- true
bad 'far too long' '\-\-wait "99999999999999999999s": it is too long' run -w 99999999999999999999s k -- true
bad 'too exact' 'at most three digits' run --wait 1.0001s k -- true
bad '-E 256' '\-\-conflict-exit-code "256": it takes a number from 0 to 255' run -E 256 k -- true
bad '-E x' 'conflict-exit-code "1x"' run -E 1x k -- true
bad 'on-lost' '\-\-on-lost "die": it takes one of kill|ignore' run --on-lost die k -- true
bad 'empty holder' '\-\-holder "": it is empty (an unset variable' run --holder '' k -- true
bad 'holder with a space' '\-\-holder: it must be' run --holder 'a b' k -- true
long=$(printf '%065d' 0)
bad 'holder that is too long' '\-\-holder: it must be' run --holder "$long" k -- true
bad '... of acquire' '\-\-holder: it must be' acquire --holder "$long" k
bad '... in a token' 'release: TOKEN: what is behind the colon is no holder' release k "$(printf %040d 0):a b"
bad '... a slot twice' 'release: TOKEN: what is before the @ is no list of slots' release k "0,0@$(printf %040d 0)"
bad '... a slot too high' 'extend: TOKEN: --permits 2 have no slot 5' extend --permits 2 k "5@$(printf %040d 0)"
bad '--wait and --no-wait' 'exclude each other' run --wait 1s --no-wait k -- true
bad '--grace and ignore' 'no effect with --on-lost=ignore' run --grace 1s --on-lost=ignore k -- true
bad '--repeat and --no-wait' 'leave --no-wait out' run --repeat --no-wait k -- true
bad '--fence-retention alone' 'no effect without --fence' run --fence-retention 1h k -- true
bad 'a retention below the ttl' '\-\-fence-retention 1m is shorter than twice --ttl 5m' \
    acquire --fence --fence-retention 1m --ttl 5m k
bad 'a retention too long' '\-\-fence-retention "32d": it takes 1s to 31d' run --fence --fence-retention 32d k -- true
bad 'a retention too short' 'it takes 1s to 31d' elect --fence --fence-retention 10ms k
bad '--fence of release' '\-\-fence does not apply to release' release --fence k
bad 'a name with a space' '\-\-id must be .* spaces$' elect --id 'a b' name
bad 'a name of ours' 'NAME begins with "libredlock:"' elect libredlock:fence:k
bad 'a key of ours' 'KEY begins with "libredlock:"' run libredlock:fence:k -- true
bad 'a line of ours' 'begins with "libredlock:"' run libredlock:line:k -- true
bad 'no key' 'run: an argument is missing; usage: redlock run .options. KEY' run -- true
bad 'empty key' 'KEY: a key is empty' run '' -- true
bad 'a comma too much' 'KEY: a key is empty' run a,,b -- true
bad 'a key twice' 'KEY: a key is named twice' run a,b,a -- true
bad 'a key too long' 'KEY: a key is longer than 1024' run "$(printf '%01025d' 0)" -- true
bad 'no command to run' 'run: no command follows --; usage: redlock run .* -- COMMAND' run k
bad 'nothing behind --' 'no command follows --' run k --
bad '... of elect' 'elect: no command follows --' elect k --
bad 'no -- before the command' '"true" is one argument too many; usage: redlock run .* -- COMMAND' run k true
bad 'ttl above max-ttl' '\-\-ttl 1m is above --max-ttl 30s, .* give --ttl 30s or less, or write max-ttl = 1m' \
    run --guard strict --ttl 1m k -- true
bad 'the same with observed' '\-\-ttl 30s is above --max-ttl 10s' acquire --guard observed --max-ttl 10s k
bad 'no such guard' '\-\-guard "on": it takes one of off|observed|strict' run --guard on k -- true
bad 'ttl too short to renew' '\-\-ttl 300ms is too short .* give --ttl [0-9a-z]* or more' run --ttl 300ms k -- true
bad 'grace longer than the ttl' '(--grace 10s); give --ttl 2[0-9][0-9]*' run --ttl 10s --grace 10s k -- true
sed -n 's/.*give --ttl \([0-9a-z]*\) or more.*/\1/p' "$err" >"$scratch/enough"
bad 'grace longer than max-ttl' '(--grace 1h); give --grace 14600ms or less' run --guard strict --grace 1h k -- true
status 'the grace that it names is short enough' 69 "$redlock" run --no-wait --guard strict --grace 14600ms k -- true
status 'the ttl that it names is enough' 69 "$redlock" run --no-wait --ttl "$(cat "$scratch/enough")" \
    --grace 10s k -- true

bad 'no token' 'which token? Give what acquire printed' extend k
bad 'a wrong token' 'TOKEN: not a token; give what acquire printed' release k 1234
bad 'an empty token' 'TOKEN: it is empty (an unset variable' release k ''
bad 'a word too much' '"c" is one argument too many' release a b c
bad 'acquire runs nothing' 'leave -- out, or use redlock run' acquire k -- true
bad 'status of nothing' 'status: an argument is missing; usage: redlock status .options. KEY' status
for command in ls top metrics doctor kick; do bad "$command -- true" 'it runs no command' $command -- true; done
bad 'doctor takes no words' '"k" is one argument too many' doctor k

for url in http://h redis://h:0 redis://:@h 127.0.0.1 rediss://h?x=1 unix://; do
    bad "URL $url" '\-\-nodes: ' status --nodes "$url" k
    bad "URL $url, doctor" '\-\-nodes: ' doctor --nodes "$url"
done
if "$redlock" --version | grep -q 'without TLS'; then
    bad 'TLS, and there is none' 'built without' status --nodes rediss://h k
else
    bad 'TLS options for nodes without' 'tls_ca is set, but no node has TLS' \
        status --nodes redis://h --tls-ca /nowhere k
    bad 'an authority that is not there' 'tls_ca is "/nowhere".*No such file' \
        status --nodes rediss://h --tls-ca /nowhere k
    bad '... in the URL' 'node h:6379: tls_ca is "/nowhere".*No such file' \
        status --nodes rediss://h?tls_ca=/nowhere k
    bad 'a certificate without its key' 'tls_cert is set and tls_key is not' \
        status --nodes rediss://h --tls-cert /nowhere k
    bad 'an empty authority' 'it is empty' status --nodes rediss://h --tls-ca '' k
fi
bad 'a node twice' 'nodes 0 and 1 are both h:6379' run --nodes redis://h,redis://h k -- true
bad 'an empty place in the list' 'a URL is missing before or after a comma' status --nodes redis://a,,redis://b k
bad 'an empty list' 'it is empty (an unset variable' status --nodes '' k
# shellcheck disable=SC2046
bad 'too many nodes' 'too many nodes; at most 31' status --nodes \
    "$(printf 'redis://h%s,' $(seq 32) | sed 's/,$//')" k
"$redlock" status --nodes 'redis://:se,cret@h:x' k 2>"$err"
lacks 'no password is shown' 'cret' "$err"
REDLOCK_NODES=, bad 'REDLOCK_NODES' 'REDLOCK_NODES: it is empty' status k

# -- the configuration file --

conf=$scratch/redlock.conf

# broken WHAT PATTERN LINE...: one case: status 78, and "FILE:LINE" with the pattern
broken() {
    broken_what=$1
    broken_pattern=$2
    shift 2
    printf '%s\n' "$@" >"$conf"
    "$redlock" status --config "$conf" k >"$out" 2>"$err"
    [ $? -eq 78 ] && grep -q -e "^redlock: $conf:$broken_pattern" "$err"
    result "config: $broken_what" $? "$err"
}

broken 'a mistyped name' '2: "tll": not a setting; did you mean "ttl"?' '# comment' 'tll = 3s'
broken 'an unknown name' '1: "retries": not a setting. There are: nodes password-file user ttl' 'retries = 3'
broken 'no =' '3: "ttl 3s": no = in it; write name = value' '' '# x' 'ttl 3s'
broken 'no value' '1: "ttl": a value is missing' 'ttl ='
broken 'no name' '1: "": a name is missing' '= 3'
broken 'a bad value' '1: "3": the unit is missing' 'ttl = 3'
broken 'set twice' '3: "ttl": set in line 1 already; remove one' 'ttl = 3s' '' 'ttl = 4s'
broken 'a comment behind a value' '1: "ttl": a comment needs a line of its own' 'ttl = 3s # three'
broken 'nodes' '1: "nodes": a URL is missing' 'nodes = redis://a,,'
broken 'a bad value of a setting that is not used' '1: "1": the unit is missing' 'grace = 1'
printf 'ttl\000 = 3s\n' >"$conf"
status 'config: not text' 78 "$redlock" status --config "$conf" k
says '... and it says so' 'redlock.conf:1: "": not text'
status 'config: missing' 78 "$redlock" status --config "$scratch/none" k
says '... and it says so' '\-\-config: .*/none: No such file or directory; name a file'
status 'config: a folder' 78 "$redlock" status --config "$scratch" k
REDLOCK_CONFIG=$scratch/none status 'REDLOCK_CONFIG: missing' 78 "$redlock" status k
says '... and it says so' '^redlock: REDLOCK_CONFIG: '

# The node that is asked shows which of them wins.
asks() {
    asks_what=$1
    asks_node=$2
    shift 2
    "$redlock" status --json "$@" k 2>"$err" | grep -q "\"node\": \"$asks_node\""
    result "$asks_what" $? "$err"
}
unset REDLOCK_NODES
mkdir -p "$HOME/.config/redlock"
echo 'nodes = redis://127.0.0.1:2' >"$HOME/.config/redlock/redlock.conf"
asks 'the .config of HOME is read' 127.0.0.1:2
mkdir -p "$scratch/xdg/redlock"
echo 'nodes = redis://127.0.0.1:3' >"$scratch/xdg/redlock/redlock.conf"
XDG_CONFIG_HOME=$scratch/xdg asks 'XDG_CONFIG_HOME is' 127.0.0.1:3
printf 'nodes = redis://127.0.0.1:4\n# more\nnodes = redis://127.0.0.1:5 \n' >"$conf"
export REDLOCK_CONFIG="$conf"
asks 'REDLOCK_CONFIG wins over it' 127.0.0.1:4
asks 'nodes add up' 127.0.0.1:5
export REDLOCK_NODES=redis://127.0.0.1:6
asks 'REDLOCK_NODES wins over a file' 127.0.0.1:6
asks '--nodes wins over all' 127.0.0.1:7 --nodes redis://127.0.0.1:7
unset REDLOCK_NODES REDLOCK_CONFIG
printf 'nodes = redis://:secret@127.0.0.1:2\n' >"$conf"
chmod 644 "$conf"
"$redlock" status --config "$conf" k >"$out" 2>"$err"
says 'a password that others can read is told' 'others can read the passwords in it; chmod 600'
chmod 600 "$conf"
"$redlock" status --config "$conf" k >"$out" 2>"$err"
lacks '... and not if they cannot' chmod "$err"
printf 'nodes = redis://127.0.0.1:2\nttl = 300ms\n' >"$conf"
"$redlock" run --config "$conf" k -- true 2>"$err"
says 'the file sets the ttl' '\-\-ttl 300ms is too short'
"$redlock" run --config "$conf" --ttl 200ms k -- true 2>"$err"
says 'the command line wins' '\-\-ttl 200ms is too short'

printf 'nodes = redis://127.0.0.1:2\nfence-retention = 20s\n' >"$conf"
"$redlock" run --config "$conf" --fence --ttl 30s k -- true 2>"$err"
says 'the file sets the retention' '\-\-fence-retention 20s is shorter than twice --ttl 30s'
status 'which means nothing without --fence' 69 "$redlock" run --config "$conf" --ttl 30s --no-wait k -- true

# -- help --

# A screen has 40 lines.
fits() { [ "$(wc -l <"$1")" -le 40 ] && ! grep -q '.\{81\}' "$1"; }
for command in '' run status queue kick ls top metrics doctor set acquire extend release elect conform; do
    # shellcheck disable=SC2086
    "$redlock" $command --help >"$out" 2>"$err" && [ ! -s "$err" ] && grep -q '^Usage: redlock' "$out" &&
        grep -q '^Example\|^Try\|built without' "$out" && fits "$out"
    result "help $command: usage, examples, one screen" $? "$out"
    # shellcheck disable=SC2086
    "$redlock" help $command | cmp -s - "$out"
    result "... by redlock help $command" $? "$out"
done
"$redlock" help options >"$out"
fits "$out" && grep -q '^ *--tls-ca PATH' "$out" && grep -q '^  -n, --nodes' "$out"
result 'help options: what all commands have' $? "$out"
for command in run top metrics; do "$redlock" $command --help; done >"$out"
! grep -q -e '--tls-ca\|--nodes\|--verbose' "$out" && [ "$(grep -c 'redlock help options' "$out")" -eq 3 ]
result '... which are not repeated by each' $? "$out"
for command in top metrics; do "$redlock" $command --help; done >"$out"
lacks 'top and metrics list no option that they refuse' '^ .* --json *JSON\|--watch' "$out"
holds '--version' [ "$("$redlock" --version)" = "redlock $("$redlock" --version | sed 's/.* //')" ]
"$redlock" --help >/dev/full 2>"$err"
[ $? -eq 71 ] && grep -q 'cannot write the output' "$err"
result 'output that cannot be written is an error' $? "$err"

finish
