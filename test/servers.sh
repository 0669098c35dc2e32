#!/bin/sh
# The tests that need a server, on newer servers than the system's: Valkey 9 or later and Redis 8.4
# or later, from Debian's newer suites.
#
#   servers.sh fetch DIR          fetch them: DIR/valkey and DIR/redis, each with a server and a cli
#   servers.sh run BUILD          get them into build/servers and run the suites live and cli of a
#                                 build on each
#   servers.sh run BUILD NAME...  the same with only these tests
#
# The packages are unpacked beside the system and run with their own C library; apt gets its own
# configuration (apt.sh), and nothing is installed. Servers that DIR has already are not fetched
# again. One server alone: REDLOCK_SERVER=build/servers/valkey/valkey-server meson test -C BUILD
#
# Exit status 77: they are unavailable here, and the last line says why.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/apt.sh
. "$here/apt.sh"

usage() {
    sed -n '/^#   servers.sh/s/^#   //p' "$0" >&2
    exit 2
}

# package_version NAME AT_LEAST: the oldest version of a package that is new enough
package_version() {
    own_cache madison "$1" | awk '{ print $3 }' | sort -uV | while read -r found; do
        if dpkg --compare-versions "${found#*:}" ge "$2"; then
            echo "$found"
            break
        fi
    done
}

# libraries_of PACKAGE[=VERSION]...: names of the packages of shared libraries that these need.
# Their other dependencies (users, services) are not needed to run them.
libraries_of() {
    libraries_left=$*
    libraries_known=' '
    while [ -n "$libraries_left" ]; do
        libraries_left=$(for libraries_name in $libraries_left; do
            own_cache show --no-all-versions "$libraries_name" 2>/dev/null |
                sed -n 's/^\(Pre-\)\{0,1\}Depends: //p' | tr ',' '\n' |
                sed -n 's/^ *\(lib[^ :|]*\).*/\1/p'
        done | sort -u | while read -r libraries_name; do
            case $libraries_known in
            *" $libraries_name "*) ;;
            *) printf '%s ' "$libraries_name" ;;
            esac
        done)
        libraries_known="$libraries_known$libraries_left"
    done
    printf '%s\n' "$libraries_known"
}

# unpack NAME AT_LEAST: NAME-server and NAME-tools with their libraries into $into/NAME
unpack() {
    version=$(package_version "$1-server" "$2")
    [ -n "$version" ] || apt_cannot "no $1-server of $2 or later in the newer suites"
    wanted="$1-server=$version $1-tools=$version"
    # shellcheck disable=SC2046,SC2086
    wanted="$wanted $(libraries_of $wanted)"
    rm -rf "${into:?}/$1"
    mkdir -p "$work/$1" "$into/$1/root"
    # shellcheck disable=SC2086
    (cd "$work/$1" && own_apt download $wanted) >"$work/log" 2>&1 || {
        cat "$work/log"
        apt_cannot "apt could not fetch $1-server; why is above"
    }
    for package in "$work/$1"/*.deb; do
        dpkg -x "$package" "$into/$1/root"
    done
    loader=$(find "$into/$1/root" -name 'ld-linux*' ! -name '*.conf' | head -n 1)
    paths=$(find "$into/$1/root" -name '*.so*' | sed 's|/[^/]*$||' | sort -u | paste -s -d :)
    for program in server cli; do
        printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$loader" "$paths" \
            "$into/$1/root/usr/bin/$1-$program" >"$into/$1/$1-$program"
        chmod +x "$into/$1/$1-$program"
        "$into/$1/$1-$program" --version >"$work/log" 2>&1 || {
            cat "$work/log"
            apt_cannot "$1-$program does not run here; why is above"
        }
    done
    : >"$into/$1/.complete"
}

fetch() {
    mkdir -p "$1"
    into=$(cd "$1" && pwd)
    [ ! -e "$into/valkey/.complete" ] || [ ! -e "$into/redis/.complete" ] || return 0
    apt_needs_debian 'newer servers'
    work=$into/work
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' HUP INT TERM
    echo "newer servers: fetching Valkey and Redis of Debian's newer suites"
    apt_folder "$work" deb forky sid experimental
    # A missing suite does not matter if the others have the packages.
    own_apt update >"$work/update" 2>&1 || cat "$work/update"
    unpack valkey 9
    unpack redis 8.4
    rm -rf "$work"
}

# run_on SERVER BUILD [NAME]...
run_on() {
    run_server=$1
    run_build=$2
    shift 2
    echo
    echo "== $("$run_server" --version)"
    [ $# -gt 0 ] || set -- --suite live --suite cli
    REDLOCK_SERVER=$run_server meson test -C "$run_build" --no-rebuild \
        --logbase "servers-${run_server##*/}" --print-errorlogs "$@"
}

[ $# -ge 2 ] || usage
command=$1
shift
case $command in
fetch)
    [ $# -eq 1 ] || usage
    fetch "$1"
    ;;
run)
    fetch "$here/../build/servers"
    failed=0
    for server in "$into/valkey/valkey-server" "$into/redis/redis-server"; do
        run_on "$server" "$@" || failed=1
    done
    exit "$failed"
    ;;
*) usage ;;
esac
