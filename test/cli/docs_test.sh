#!/bin/sh
# The manuals and docs/: they are well-formed and name what redlock knows; the scripts and units in docs/
# work. Arguments: REDLOCK NODES_SH MANUAL
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source=cluster/server.sh
. "$(dirname "$nodes_sh")/server.sh"
manual=$3
top=$(cd "$(dirname "$manual")/.." && pwd)

if man --version >/dev/null 2>&1; then
    man --warnings -E UTF-8 -l -Tutf8 -Z "$top"/man/*.1 >/dev/null 2>"$log" && [ ! -s "$log" ]
    result 'man has no warnings' $? "$log"
else
    skip 'man has no warnings' 'man is not installed'
fi
if mandoc -V >/dev/null 2>&1 || command -v mandoc >/dev/null; then
    mandoc -Tlint -Werror "$top"/man/*.1 >"$log" 2>&1
    result 'mandoc has none either' $? "$log"
fi
if man --version >/dev/null 2>&1; then
    MANWIDTH=80 man -l "$top"/man/*.1 2>/dev/null | col -b >"$out"
    ! grep -q '.\{81\}' "$out" && [ -s "$out" ]
    result 'they fit into 80 columns' $? "$out"
fi

# Options, settings and exit statuses that the program knows are in the manual.
sed 's/[\\]//g' "$manual" >"$scratch/manual"
for command in options run status queue kick ls top metrics doctor set acquire extend release elect conform; do
    "$redlock" help "$command" >"$out"
    sed -n 's/^  \(-., \)\{0,1\} *\(--[a-z-]*\).*/\2/p' "$out" | while read -r option; do
        grep -q -e "$option" "$scratch/manual" || echo "$command $option"
    done
done >"$log"
holds 'the manual names every option' [ ! -s "$log" ]
printf 'no-such = 1\n' >"$scratch/conf"
"$redlock" status -c "$scratch/conf" k 2>&1 | sed 's/.*There are: //' | tr ' ' '\n' |
    while read -r name; do grep -q -e "$name" "$scratch/manual" || echo "$name"; done >"$log"
holds '... and every setting' [ ! -s "$log" ]

# Commands in README.md and docs/ have only options that redlock knows.
cat "$top/README.md" "$top"/docs/*.md >"$scratch/docs"
grep -o 'redlock \(run\|status\|queue\|kick\|ls\|top\|doctor\|set\|acquire\|extend\|release\|elect\|conform\) [^`]*' "$scratch/docs" |
    sed 's/ -- .*//; s/ | .*//; s/ #.*//' >"$scratch/commands"
set -f
while read -r _ command rest; do
    for word in $rest; do
        case $word in -[a-zA-Z] | --[a-z]*) ;; *) continue ;; esac
        { "$redlock" help "$command" && "$redlock" help options; } | grep -q -e "^ .* ${word%%[!a-zA-Z-]*}[ =,[]" ||
            echo "redlock $command: $word"
    done
done <"$scratch/commands" >"$log"
set +f
[ ! -s "$log" ] && [ "$(wc -l <"$scratch/commands")" -gt 15 ]
result 'docs/ names only options that there are' $? "$log"

# block LANGUAGE PATTERN FILE: the code block of FILE with a line that matches
block() {
    awk -v begin="\`\`\`$1" -v pattern="$2" '
        $0 == begin { inside = 1; text = ""; next }
        $0 == "```" { if (inside && text ~ pattern) printf "%s", text; inside = 0 }
        inside { text = text $0 "\n" }' "$3"
}

# Units: as systemd reads them. The user and the command after -- need not exist.
mkdir "$scratch/units"
for unit in billing.service nightly-report.service nightly-report.timer; do
    block ini "/etc/systemd/system/$unit\n" "$top/docs/recipes.md" |
        sed "s#/usr/bin/redlock#$redlock#" >"$scratch/units/$unit"
    [ -s "$scratch/units/$unit" ] || echo "there is no $unit"
done >"$log"
holds 'docs/ has units for systemd' [ ! -s "$log" ]
if systemd-analyze --version >/dev/null 2>&1; then
    systemd-analyze verify "$scratch"/units/* >"$log" 2>&1 && [ ! -s "$log" ]
    result 'systemd has nothing to say against them' $? "$log"
else
    skip 'systemd has nothing to say against them' 'systemd-analyze is not installed'
fi

# A deployment: YAML in which redlock runs the given command.
block yaml 'kind: Deployment' "$top/docs/recipes.md" >"$scratch/deployment"
if python3 -c 'import yaml' 2>/dev/null; then
    python3 - "$scratch/deployment" >"$out" 2>"$log" <<'PYTHON'
import sys, yaml
pod = yaml.safe_load(open(sys.argv[1], encoding="utf-8"))["spec"]["template"]["spec"]
print(*pod["containers"][0]["args"])
PYTHON
    holds 'the deployment of docs/recipes.md is YAML' [ "$(cat "$out")" = 'run billing -- /usr/bin/billing-daemon' ]
else
    skip 'the deployment of docs/recipes.md is YAML' 'python3-yaml is not installed'
fi

# Taking away a lock of another library, by redis-cli.
start_nodes 3
"$redlock" acquire --ttl 20s taken >"$log" 2>&1
delete=$(sed -n 's/^    redis-cli -h a \(EVAL .*\) KEY VALUE$/\1/p' "$top/docs/troubleshooting.md")
for value in "another's" "$(cat "$log")"; do
    for i in 1 2 3; do
        echo "$cli -p $(port $i) $delete taken \"$value\""
    done
done >"$scratch/delete"
holds 'EVAL of docs/troubleshooting.md deletes it where it has this value' [ "$(sh "$scratch/delete" 2>&1 | tee "$log" | paste -s -d ' ')" = '0 0 0 1 1 1' ]
# docs/ tells operators to create the user that doctor prints and acl_test.sh tries.
"$redlock" doctor --acl locks | sed 's/^/    /' >"$out"
holds 'docs/nodes.md has the user of the clients' grep -qxF -f "$out" "$top/docs/nodes.md"

finish
