#!/bin/sh
# Installs missing packages that the demo or the tests need, from the distribution.
#
#   setup.sh demo      to build the library and the bench and to start nodes
#   setup.sh chaos     ... and to break the nodes: cluster/chaos.sh
#   setup.sh compose   the Docker engine and compose; the engine is not started
#   setup.sh mariadb   ... as for the demo, and MariaDB: examples/fenced-mysql
#   setup.sh test      all but compose, and what the tests need besides
#
# If nothing is missing it ends at once and changes nothing. Otherwise it says what it installs and
# why, then runs apt-get, as root or by a sudo that asks for no password. Without either it names
# the packages and fails. No service is started or enabled.
#
# It knows Debian and its derivatives. For Fedora, Alpine, Arch and Homebrew it names the packages
# and installs nothing: the names are from their lists, and untested.
#
# Packages that only check the source's style are optional: without them, or with another version,
# those tests are skipped. So are the third of three provers, which older releases lack, and
# Prometheus.
set -eu

missing='' # package names
reasons='' # lines to print
style=''   # NAME=VERSION of missing optional packages

# want PACKAGE REASON TEST...: notes PACKAGE as missing unless TEST, which checks for its contents,
# succeeds.
want() {
    want_package=$1
    want_reason=$2
    shift 2
    "$@" >/dev/null 2>&1 && return
    missing="$missing $want_package"
    reasons="$reasons  $(printf '%-19s %s' "$want_package" "$want_reason")
"
}

# want_style PACKAGE VERSION REASON TEST...: the same for an optional package. VERSION: the prefix
# of the required version; '' is any.
want_style() {
    style_package=$1
    style_version=$2
    shift 2
    required=$missing
    want "$style_package" "$@"
    [ "$missing" = "$required" ] || style="$style $style_package=$style_version"
    missing=$required
}

has() { command -v "$1"; }
has_c_compiler() { command -v cc || command -v gcc; }
# Redis, Valkey, or the one that REDLOCK_SERVER names.
has_server() { [ -n "${REDLOCK_SERVER-}" ] || has redis-server || has valkey-server; }
has_server_cli() { has redis-cli || has valkey-cli; }
has_mariadb_server() { PATH=$PATH:/usr/sbin command -v mariadbd && has mariadb-install-db; }
has_mysql_server() { PATH=$PATH:/usr/sbin command -v mysqld && ! has_mariadb_server; }
has_compose() { docker compose version || docker-compose version; }
has_shellcheck_0_9() { shellcheck --version | grep -q '^version: 0\.9\.'; }
has_universal_ctags() { ctags --version | grep -q Universal; }
has_clang_format_14() {
    clang-format-14 --version || clang-format --version | grep -q ' version 14\.'
}
# Packages install modules for the system's python3, which need not be the first in PATH.
has_python() { python3 -c "import $1" || /usr/bin/python3 -c "import $1"; }
# The system's python3 also has its own header.
has_python_h() { pkg-config --exists python3 || pkg-config --exists python3-embed; }
# The sanitizers' library and libFuzzer's are not part of the compiler's package.
has_clang_runtime() {
    runtime=$(clang -print-resource-dir 2>/dev/null) && ls "$runtime"/lib/*/libclang_rt.asan*
}

for_demo() {
    want gcc 'the C compiler' has_c_compiler
    want libc6-dev "the C library's headers" test -e /usr/include/stdio.h
    want meson 'the build' has meson
    want ninja-build 'runs what meson wrote' has ninja
    want pkg-config 'finds the libraries' has pkg-config
    want libhiredis-dev 'speaks to Redis' pkg-config --exists hiredis
    want libuv1-dev 'the event loop' pkg-config --exists libuv
    want libssl-dev 'TLS' pkg-config --exists openssl
    want openssl 'makes certificates' has openssl
    want redis-server 'the nodes' has_server
    want redis-tools 'redis-cli, to see that a node is up' has_server_cli
}

for_chaos() {
    want python3 'runs the chaos script' has python3
    want iproute2 'network namespaces and slow links' has ip
    want iptables 'drops packets between clients and nodes' has iptables
}

for_compose() {
    want docker.io 'the engine' has dockerd
    want docker-compose 'starts five containers' has_compose
    want util-linux 'nsenter, into a container' has nsenter
    want redis-server 'is put into the image' has redis-server
    want redis-tools 'redis-cli, the same' has redis-cli
}

# The core packages have the programs, without a service.
for_mariadb() {
    want mariadb-server-core 'the database of an example' has_mariadb_server
    want mariadb-client-core 'shows its tables' has mariadb
    want libmariadb-dev 'speaks to it' pkg-config --exists libmariadb
}

for_test() {
    want libcmocka-dev 'the unit tests' pkg-config --exists cmocka
    want liblua5.1-0-dev 'the server in memory runs scripts' pkg-config --exists lua5.1
    want python3-redis '... and such a client' has_python redis
    want libzstd-dev 'static programs: what some OpenSSLs link' pkg-config --exists libzstd
    want zlib1g-dev '... and this' pkg-config --exists zlib
    want g++ 'the headers must compile as C++ too' has g++
    want clang 'the second compiler' has clang
    want libclang-rt-dev "clang's sanitizers" has_clang_runtime
    want_style lld '' 'links the sanitized programs in less time' has ld.lld
    want_style clang-format-14 '' 'checks the layout of the source' has_clang_format_14
    want_style universal-ctags '' 'measures functions' has_universal_ctags
    want_style shellcheck 0.9. 'checks the shell scripts' has_shellcheck_0_9
    want cmake 'builds programs that find the library by it' has cmake
    want binutils 'nm and readelf: what the library exports' has readelf
    want git 'lists the files to check' has git
    want make 'builds a newer hiredis' has make
    want patch 'builds Redlock wrongly, for the checker to catch' has patch
    want spin 'checks the models of the protocol' has spin
    want z3 'proves the protocol for any number of nodes' has z3
    want eprover 'proves it in another way' has eprover
    want_style cvc5 '' '... and a third' has cvc5
    want_style prometheus '' 'promtool: checks metrics and alert rules' has promtool
    want valgrind 'looks for errors in the use of memory' has valgrind
    want_style python3-cffi '' 'the package for Python' has_python cffi
    want_style python3-dev '' '... which is an extension of Python' has_python_h
    want_style python3-pytest '' '... its tests' has_python pytest
    want_style mypy '' '... its type hints' has_python mypy
    want_style gunicorn '' '... a server that forks' has_python gunicorn
    want_style man-db '' 'formats the manual pages' has man
    want_style mandoc '' 'a second look at them' has mandoc
    want_style zsh '' 'completion of redlock: bash is there' has zsh
    want_style fish '' '... and another shell' has fish
    want_style nodejs '' 'runs the binding for Node.js' has node
    want_style libnode-dev '' '... what that is built with' test -e /usr/include/node/node_api.h
    want_style furo '' 'the site of the documents: its theme' has_python furo
    want_style python3-myst-parser '' '... and its Markdown' has_python myst_parser
}

case ${1-} in
demo) for_demo ;;
chaos)
    for_demo
    for_chaos
    ;;
compose) for_compose ;;
mariadb)
    for_demo
    for_mariadb
    ;;
test)
    for_demo
    for_chaos
    # With MySQL installed, the tests skip the example with MariaDB.
    has_mysql_server >/dev/null || for_mariadb
    for_test
    ;;
*)
    echo "usage: sh cluster/setup.sh demo|chaos|compose|mariadb|test" >&2
    exit 2
    ;;
esac

# Sets $found to the packages of $style that this system's lists have in the right version.
find_style() {
    found=''
    for one in $style; do
        version=$(LC_ALL=C apt-cache policy "${one%%=*}" 2>/dev/null |
            sed -n 's/^ *Candidate: \([^(].*\)/\1/p')
        case $version in
        '') ;;
        "${one#*=}"*) found="$found ${one%%=*}" ;;
        esac
    done
}

# With nothing else to install, the lists are not updated, or each run would fetch them.
if [ -z "$missing" ]; then
    find_style
    [ -n "$found" ] || exit 0
fi

# give_up: fails only if a required package is missing
give_up() {
    [ -n "$missing" ] && exit 1
    exit 0
}

# Debian's names, and those of Fedora, Alpine, Arch and Homebrew; '-': unknown, or part of the
# system.
names_elsewhere="
gcc                 gcc                       gcc                   gcc             -
libc6-dev           glibc-devel               musl-dev              glibc           -
meson               meson                     meson                 meson           meson
ninja-build         ninja-build               samurai               ninja           ninja
pkg-config          pkgconf-pkg-config        pkgconf               pkgconf         pkgconf
libhiredis-dev      hiredis-devel             hiredis-dev           hiredis         hiredis
libuv1-dev          libuv-devel               libuv-dev             libuv           libuv
redis-server        valkey                    valkey                valkey          valkey
redis-tools         valkey                    valkey-cli            valkey          valkey
python3             python3                   python3               python          python
iproute2            iproute                   iproute2              iproute2        -
iptables            iptables-nft              iptables              iptables        -
docker.io           moby-engine               docker                docker          -
docker-compose      docker-compose            docker-cli-compose    docker-compose  docker-compose
util-linux          util-linux                util-linux-misc       util-linux      -
mariadb-server-core mariadb-server            mariadb               mariadb         mariadb
mariadb-client-core mariadb                   mariadb-client        mariadb-clients mariadb
libmariadb-dev      mariadb-connector-c-devel mariadb-connector-c-dev mariadb-libs  mariadb-connector-c
libcmocka-dev       libcmocka-devel           cmocka-dev            cmocka          cmocka
liblua5.1-0-dev     compat-lua-devel          lua5.1-dev            lua51           -
python3-redis       python3-redis             py3-redis             python-redis    -
libzstd-dev         libzstd-devel             zstd-dev              zstd            zstd
zlib1g-dev          zlib-ng-compat-devel      zlib-dev              zlib            -
g++                 gcc-c++                   g++                   gcc             -
clang               clang                     clang                 clang           llvm
libclang-rt-dev     compiler-rt               compiler-rt           compiler-rt     llvm
cmake               cmake                     cmake                 cmake           cmake
libssl-dev          openssl-devel             openssl-dev           openssl         openssl
openssl             openssl                   openssl               openssl         openssl
binutils            binutils                  binutils              binutils        -
git                 git                       git                   git             git
make                make                      make                  make            make
patch               patch                     patch                 patch           gpatch
spin                -                         -                     -               spin
z3                  z3                        z3                    z3              z3
eprover             E                         -                     -               eprover
valgrind            valgrind                  valgrind              valgrind        -
"

# name_elsewhere COMMAND...: the packages in $missing, by the names of the system that has COMMAND
name_elsewhere() {
    there=''
    nowhere=''
    while read -r debian fedora alpine arch brew; do
        case " $missing " in *" $debian "*) ;; *) continue ;; esac
        case $1 in
        dnf) name=$fedora ;;
        apk) name=$alpine ;;
        pacman) name=$arch ;;
        *) name=$brew ;;
        esac
        case " $there " in
        *" $name "*) ;;
        *) if [ "$name" = - ]; then nowhere="$nowhere $debian"; else there="$there $name"; fi ;;
        esac
    done <<NAMES
$names_elsewhere
NAMES
    echo "setup.sh: no apt-get here. This has not been tried on your system, but should do:" >&2
    echo "    $*$there" >&2
    [ -z "$nowhere" ] || echo "No package is known there for what Debian calls:$nowhere" >&2
}

if ! command -v apt-get >/dev/null 2>&1; then
    printf 'Missing:\n%s' "$reasons"
    if [ -z "$missing" ]; then
        :
    elif command -v dnf >/dev/null 2>&1; then
        name_elsewhere dnf install
    elif command -v apk >/dev/null 2>&1; then
        name_elsewhere apk add
    elif command -v pacman >/dev/null 2>&1; then
        name_elsewhere pacman -S --needed
    elif command -v brew >/dev/null 2>&1; then
        name_elsewhere brew install
    else
        echo "setup.sh: no apt-get here. Install what gives you the above; Debian's names are:" >&2
        echo "   $missing" >&2
    fi
    give_up
fi
printf 'To be installed from the packages of this system:\n%s' "$reasons"

as_root=''
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        as_root='sudo -n'
    else
        echo "setup.sh: not root, and no sudo without a password. Install them as root:" >&2
        echo "    apt-get install${missing:-$found}" >&2
        give_up
    fi
fi

# Installing redis-server would start a service. Debian asks /usr/sbin/policy-rc.d whether it may:
# while we install, the answer is no. An existing policy-rc.d is left as it is.
policy=/usr/sbin/policy-rc.d
log=$(mktemp "${TMPDIR:-/tmp}/redlock-setup.XXXXXX")
made_policy=no
clean_up() {
    rm -f "$log"
    [ "$made_policy" = no ] || $as_root rm -f "$policy"
}
trap clean_up EXIT
trap 'exit 130' HUP INT TERM
if [ ! -e "$policy" ]; then
    made_policy=yes
    printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
    $as_root chmod 755 "$policy"
fi

# run WHAT COMMAND...: its output is shown only if it fails
run() {
    run_what=$1
    shift
    echo "$run_what"
    "$@" >"$log" 2>&1 </dev/null || {
        cat "$log" >&2
        echo "setup.sh: '$*' failed; its output is above" >&2
        exit 1
    }
}

# The lists on a fresh machine are empty or old.
# shellcheck disable=SC2086
run 'apt-get update ...' $as_root apt-get update
# Older releases have no such package: there it is part of the compiler's.
case $missing in
*libclang-rt-dev*)
    apt-cache show libclang-rt-dev >/dev/null 2>&1 ||
        missing=$(echo "$missing" | sed 's/ libclang-rt-dev//')
    ;;
esac
# Older releases have the version in the package's name.
for part in server client; do
    case $missing in
    *mariadb-$part-core*)
        apt-cache show "mariadb-$part-core" >/dev/null 2>&1 || {
            versioned=$(apt-cache search --names-only "^mariadb-$part-core-[0-9.]+\$" |
                cut -d ' ' -f 1 | sort -V | tail -n 1)
            missing=$(echo "$missing" | sed "s/mariadb-$part-core/${versioned:-&}/")
        }
        ;;
    esac
done
# MariaDB would replace an installed MySQL: make apt-get fail instead.
case $missing in *mariadb*) keep=--no-remove ;; *) keep='' ;; esac
# install PACKAGE...
install() {
    # shellcheck disable=SC2086
    run "apt-get install $* ..." $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends $keep "$@"
}
# shellcheck disable=SC2086
[ -z "$missing" ] || install $missing
find_style
for one in $style; do
    case "$found " in
    *" ${one%%=*} "*) (install "${one%%=*}") || : ;;
    *) echo "Not in the packages here, so its check is skipped: ${one%%=*} ${one#*=}" ;;
    esac
done

# It would also start at the next boot, by systemd's or System V's links.
case $missing in
*redis-server*)
    $as_root update-rc.d redis-server disable >/dev/null 2>&1 || :
    echo 'The service redis-server is neither started nor enabled; nodes are plain processes.'
    ;;
esac
case $missing in
*docker.io*)
    $as_root update-rc.d docker disable >/dev/null 2>&1 || :
    $as_root systemctl disable docker.socket >/dev/null 2>&1 || :
    echo 'The Docker engine is neither started nor enabled. By hand, as root: dockerd'
    ;;
esac
