#!/bin/sh
# cluster/setup.sh on machines that lack something, simulated by a PATH of stubs: what it installs,
# and that an unavailable style check is no failure. Nothing is installed. Arguments: SETUP_SH What
# is in single quotes here is for the stubs.
# shellcheck disable=SC2016
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/tap.sh
. "$here/../tap.sh"
setup_sh=$1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-setup-test.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM
log=$scratch/log

# stub NAME LINE...: a program
stub() {
    stub_name=$1
    shift
    printf '%s\n' '#!/bin/sh' "$@" >"$scratch/bin/$stub_name"
    chmod +x "$scratch/bin/$stub_name"
}

# machine: everything is installed. $scratch/packages: what apt-get can install, NAME VERSION.
machine() {
    rm -rf "${scratch:?}/bin"
    mkdir "$scratch/bin"
    for tool in cat chmod cut env grep ls mktemp rm sed sh sort tail tee; do
        ln -s "$(command -v "$tool")" "$scratch/bin/$tool"
    done
    for tool in gcc meson ninja pkg-config redis-server redis-cli openssl valkey-server valkey-cli python3 ip \
        iptables mariadbd mariadb-install-db mariadb g++ readelf cmake git make patch spin valgrind \
        z3 eprover cvc5 man mandoc promtool node; do
        stub "$tool" 'exit 0'
    done
    stub clang 'echo "$0.resources"'
    mkdir -p "$scratch/bin/clang.resources/lib/linux"
    : >"$scratch/bin/clang.resources/lib/linux/libclang_rt.asan.a"
    stub clang-format-14 'exit 0'
    stub ctags 'echo Universal'
    stub shellcheck 'echo "version: 0.9.0"'
    # A normal user, so that the system is not touched even if root runs this.
    stub id 'echo 1000'
    stub sudo 'shift; case ${1-} in apt-get | env) exec "$@" ;; esac'
    stub update-rc.d 'exit 0'
    stub apt-cache "v=\$(sed -n \"s/^\$2 //p\" $scratch/packages)" '[ -z "$v" ] || echo "  Candidate: $v"' \
        '[ -n "$v" ]'
    stub apt-get "echo \"apt-get \$*\" >>$scratch/calls" 'for p; do :; done' \
        "[ \"\$1\" = update ] || grep -q \"^\$p \" $scratch/packages"
    printf '%s\n' 'clang-format-14 1:14.0.6-12' 'shellcheck 0.9.0-1' 'universal-ctags 5.9' \
        'patch 2.7.6' >"$scratch/packages"
}

# expect WHAT STATUS CALLS: CALLS is a pattern for all calls of apt-get in one line
expect() {
    : >"$scratch/calls"
    PATH=$scratch/bin "$scratch/bin/sh" "$setup_sh" test >"$log" 2>&1 </dev/null
    expect_status=$?
    calls=$(tr '\n' ';' <"$scratch/calls")
    echo "status $expect_status, calls: $calls" >>"$log"
    # shellcheck disable=SC2254
    case $calls in $3) [ "$expect_status" -eq "$2" ] ;; *) false ;; esac
    result "$1" $? "$log"
}

machine
expect 'nothing is missing: nothing is done' 0 ''
rm "$scratch/bin/patch"
expect 'patch is installed' 0 'apt-get update;apt-get install*patch;'
: >"$scratch/packages"
expect '... and fails where there is none' 1 'apt-get update;apt-get install*patch;'

machine
rm "$scratch/bin/clang-format-14"
expect 'clang-format 14 is installed' 0 'apt-get update;apt-get install*clang-format-14;'
stub apt-get "echo \"apt-get \$*\" >>$scratch/calls" '[ "$1" = update ]'
expect '... and is no failure if that fails' 0 'apt-get update;apt-get install*clang-format-14;'
: >"$scratch/packages"
expect '... nor where there is none: nothing is done' 0 ''

machine
stub shellcheck 'echo "version: 0.10.0"'
sed -i 's/0\.9\.0/0.10.0/' "$scratch/packages"
expect 'another shellcheck is left alone' 0 ''
rm "$scratch/bin/shellcheck" "$scratch/bin/patch"
expect '... and not installed with others' 0 'apt-get update;apt-get install*patch;'
grep -q 'its check is skipped: shellcheck 0.9' "$log"
result '... which is said' $? "$log"

machine
rm "$scratch/bin/sudo" "$scratch/bin/ctags"
expect 'nobody may install: not a failure for style' 0 ''
rm "$scratch/bin/spin"
expect '... but for the rest' 1 ''
grep -q 'apt-get install.* spin' "$log"
result '... which is named' $? "$log"

# elsewhere COMMAND PATTERN: another system, without two packages
elsewhere() {
    machine
    rm "$scratch/bin/apt-get" "$scratch/bin/ninja" "$scratch/bin/spin"
    [ -z "$1" ] || stub "$1" "echo $1 >>$scratch/calls"
    expect "without apt-get, with ${1:-nothing that is known}: fails, and installs nothing" 1 ''
    grep -q "$2" "$log"
    result "... and names what is missing: $2" $? "$log"
}
elsewhere dnf '^    dnf install ninja-build$'
grep -q 'has not been tried' "$log" && grep -q "what Debian calls: spin\$" "$log"
result '... with what has no name there, and that it was not tried' $? "$log"
elsewhere apk '^    apk add samurai$'
elsewhere pacman '^    pacman -S --needed ninja$'
elsewhere brew '^    brew install ninja spin$'
elsewhere '' '^    ninja-build spin$'

machine
rm "$scratch/bin/apt-get" "$scratch/bin/clang-format-14"
stub dnf "echo dnf >>$scratch/calls"
expect 'without apt-get, and only style is missing: no failure' 0 ''

# Each package that is required has its line in the table.
sed -n 's/^ *want \([a-z][^ ]*\) .*/\1/p' "$setup_sh" | sort -u | while read -r package; do
    [ "$(grep -c "^$package  *[^ ]*  *[^ ]*  *[^ ]*  *[^ ]*\$" "$setup_sh")" = 1 ] || echo "$package"
done >"$log"
[ ! -s "$log" ]
result 'every required package has names for the other systems' $? "$log"
finish
