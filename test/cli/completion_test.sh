#!/bin/sh
# Completion: redlock's answers to the shells, and that bash, zsh and fish put them into the line.
# Arguments: REDLOCK NODES_SH BASH_FILE ZSH_FILE FISH_FILE
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
patient
in_bash=$3
in_zsh=$4
in_fish=$5

# offers WHAT CANDIDATES WORD...: one case: the candidates for the last word, without descriptions
offers() {
    offers_what=$1
    offers_wanted=$2
    shift 2
    "$redlock" complete "$@" >"$out" 2>"$err" </dev/null
    [ "$(cut -f 1 "$out" | paste -sd ' ')" = "$offers_wanted" ] && [ ! -s "$err" ]
    result "$offers_what" $? "$out"
}
# instructs WHAT INSTRUCTION WORD...
instructs() {
    instructs_what=$1
    instructs_wanted=$2
    shift 2
    holds "$instructs_what" [ "$("$redlock" complete "$@")" = "$(printf '\t%s' "$instructs_wanted")" ]
}

offers 'commands' \
    'run acquire extend release status elect doctor ls top queue kick metrics set conform help --help --version' ''
offers 'one of them' release re
offers 'help of a command' 'run release' help r
offers '... and of options' options help o
offers 'nothing of no command' '' nonsense --
offers 'an option' --on-lost run --on
holds '... with what it is for' [ "$("$redlock" complete run --no-wa)" = "$(printf -- '--no-wait\ttry once; exit if another client has the lock')" ]
offers '... not of another command' '' status --grace
offers '... not what top and metrics refuse' '' top --js
offers 'choices' 'kill ignore' run --on-lost ''
offers '... behind =' --guard=strict run --guard=s
offers '... of a letter' 'left longest' ls -s l
offers '... of top' 'left longest' top --waiting --sort l
offers 'no value of a flag' '' run --no-wait s
for row in tls-ca tls-cert tls-key password-file config; do
    instructs "files of --$row" files run --$row ''
    instructs "... behind =" files run --$row=x
done
instructs 'files of a letter' files run -c ''
instructs 'the command behind --' command run --on-lost kill k -- tes
instructs '... and its options' command elect k -- sed --quiet --w
if "$redlock" conform --list >"$log" 2>&1; then
    offers 'conform -s: stories' 'lost-vote lost-vote-held' conform -s lost-
    offers '... of a list' 'grant,drift' conform --story grant,dri
    offers 'options of conform' --time-scale conform --time
fi
"$redlock" help options >"$scratch/known"
for command in conform run acquire extend release status elect doctor ls top queue kick metrics set; do
    "$redlock" help "$command" >"$scratch/own"
    [ "$command" = conform ] || cat "$scratch/known" >>"$scratch/own"
    sed -n 's/^  \(-., \)\{0,1\} *\(--[a-z-]*\).*/\2/p' "$scratch/own" | LC_ALL=C sort >"$scratch/wanted"
    "$redlock" complete "$command" -- | cut -f 1 | LC_ALL=C sort | comm -3 "$scratch/wanted" -
done >"$log"
[ "$(grep -c . "$scratch/wanted")" -gt 3 ] && [ ! -s "$log" ]
result 'of each command the options that --help and help options have' $? "$log"

# -- Keys --

offers 'keys without nodes' '' status ''
offers '... of nodes that are not there' '' status -n redis://127.0.0.1:1 ''
start_nodes 3
for key in billing:eu billing:us 'odd key' 'a\,b' ende; do
    "$redlock" acquire --ttl 20m --max-ttl 1h "$key"
done >"$log"
"$redlock" acquire --permits 2 --ttl 20m --max-ttl 1h ende >>"$log"
"$redlock" acquire --ttl 20m --max-ttl 1h "$(printf 'tab\there')" >>"$log"
offers 'keys' 'a,b billing:eu billing:us ende odd key' status ''
offers 'what set does' 'init show replace resize add-set remove-set resume abort' set --yes ''
offers '... once' '' set init ''
offers '... that begin so' 'billing:eu billing:us' kick --reason x bill
offers '... second of a list' 'x,billing:eu x,billing:us' run x,bill
offers '... commas in them' 'a\,b' acquire a
offers '... second of status' billing:us status billing:eu billing:u
offers 'no token' '' extend billing:eu b
offers 'no key where none is asked' '' doctor bill
env -u REDLOCK_NODES "$redlock" complete status --nodes "$REDLOCK_NODES" en >"$out"
says 'nodes of the line' '^ende$' "$out"
for i in 1 2 3; do redis-cli -p "$(port "$i")" set --yes "$(printf %040d 0)" px 1200000; done >"$log"
offers 'none that would be read as an option' 'a,b billing:eu billing:us ende odd key' kick ''
offers '... but second of a list' 'x,--yes' run x,-
offers 'a line that makes no sense' '' run --ttl 5 bill
echo secret | { "$redlock" complete status --password-fd 0 bill && cat; } >"$out"
holds 'stdin, where somebody types, is not read' [ "$(cat "$out")" = secret ]
sh "$nodes_sh" pause "$nodes" 1
offers 'keys, while a node hangs' 'billing:eu billing:us' status --node-timeout 250ms bill
sh "$nodes_sh" pause "$nodes" 2
scene() { "$redlock" complete status --node-timeout 10s '' >"$out" 2>&1; }
holds 'nodes that hang: it does not wait for the node timeout' in_time 9000 scene
holds '... and nothing is said' [ ! -s "$out" ]
mkfifo "$scratch/pipe"
beside_pipe() { timeout 10 "$redlock" complete status --password-file "$scratch/pipe" '' >"$out" 2>&1; }
holds '... nor for a pipe that nobody writes to' in_time 9000 beside_pipe
sh "$nodes_sh" resume "$nodes" 1
sh "$nodes_sh" resume "$nodes" 2

# -- In the shells --

mkdir "$scratch/bin" "$scratch/cwd"
ln -s "$redlock" "$scratch/bin/redlock"
printf '#!/bin/sh\n' >"$scratch/bin/zebra-crossing"
chmod +x "$scratch/bin/zebra-crossing"
: >"$scratch/cwd/authority.pem"
PATH=$scratch/bin:$PATH
export PATH

cat >"$scratch/type.py" <<'PYTHON'
"""type.py FIRST SHELL...: types FIRST, then each line of stdin and TAB, and prints the words that the
shell's line has then."""
import os, pty, re, select, sys

pid, fd = pty.fork()
if pid == 0:
    os.execvpe(sys.argv[2], sys.argv[2:], {**os.environ, "TERM": "dumb"})

def await_text(pattern):
    seen = b""
    while not (match := re.search(pattern, seen)):
        if not select.select([fd], [], [], 30)[0]:
            sys.exit(f"not on the terminal: {pattern!r} in {seen!r}")
        seen += os.read(fd, 4096)
    return match[1].decode()

os.write(fd, f"{sys.argv[1]}; echo it' is 'ready\r".encode())
await_text(rb"(it is ready)\r?\n")
for line in sys.stdin:
    # To the beginning of the line, and to its end.
    os.write(fd, line.rstrip("\n").encode() + b"\t\x01printf '<%s>' \x05; echo\r")
    print(await_text(rb"(<redlock>(?:<[^<>]*>)*)\r?\n"))
PYTHON

cat >"$scratch/typed" <<'LINES'
redlock rel
redlock run --on-l
redlock run --on-lost=k
redlock run --on-lost k
redlock conform --time
redlock run --tls-ca auth
redlock run --tls-ca=auth
redlock status billing:e
redlock status odd
redlock acquire a
redlock run x,billing:u
redlock run k -- zebra-c
redlock run k -- cat auth
LINES
cat >"$scratch/wanted" <<'LINES'
<redlock><release>
<redlock><run><--on-lost>
<redlock><run><--on-lost=kill>
<redlock><run><--on-lost><kill>
<redlock><conform><--time-scale>
<redlock><run><--tls-ca><authority.pem>
<redlock><run><--tls-ca=authority.pem>
<redlock><status><billing:eu>
<redlock><status><odd key>
<redlock><acquire><a\,b>
<redlock><run><x,billing:us>
<redlock><run><k><--><zebra-crossing>
<redlock><run><k><--><cat><authority.pem>
LINES
if ! "$redlock" conform --list >"$log" 2>&1; then
    for file in typed wanted; do
        grep -v conform "$scratch/$file" >"$scratch/less" && mv "$scratch/less" "$scratch/$file"
    done
fi

# completes SHELL FIRST ARGUMENT...: one case
completes() {
    completes_shell=$1
    completes_first=$2
    shift 2
    if ! command -v "$completes_shell" >/dev/null || ! command -v python3 >/dev/null; then
        skip "in $completes_shell" "$completes_shell, or python3 for its terminal, is not installed"
        return
    fi
    (cd "$scratch/cwd" && timeout 120 python3 "$scratch/type.py" "$completes_first" "$completes_shell" "$@") \
        <"$scratch/typed" >"$out" 2>"$err"
    diff "$scratch/wanted" "$out" >"$log"
    completes_status=$?
    cat "$err" >>"$log"
    result "in $completes_shell" $completes_status "$log"
}
completes bash ". '$in_bash'" --norc --noprofile -i
for i in 1 2 3; do
    redis-cli -p "$(port "$i")" set "\"\$(touch $scratch/ran)\"é" "$(printf %040d 0)" px 1200000
done >"$log"
LC_ALL=C bash -c '. "$1"; COMP_LINE="redlock status \""; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(redlock status \") COMP_CWORD=2
    _redlock; echo "${#COMPREPLY[@]}"' - "$in_bash" >"$out" 2>"$err"
[ "$(cat "$out")" = 0 ] && "$redlock" complete status '"' | grep -q touch
result 'in bash no key behind an open quote, which it could end' $? "$out"
completes zsh "fpath=('$(dirname "$in_zsh")' \$fpath); autoload -U compinit; compinit -D -u; bindkey -e" -f -i
if command -v fish >/dev/null; then
    while read -r line; do
        (cd "$scratch/cwd" && fish --no-config -c "source '$in_fish'; complete -C '$line'" | cut -f 1 | tail -n 1)
    done <"$scratch/typed" >"$out" 2>"$err"
    sed 's/>$//; s/.*[<]//' "$scratch/wanted" | diff - "$out" >"$log"
    result 'in fish' $? "$log"
else
    skip 'in fish' 'fish is not installed'
fi

finish
