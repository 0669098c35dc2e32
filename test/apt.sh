# apt with its own configuration: packages of newer Debian releases, without touching the system's
# sources, lists and packages. To be sourced.
#
#   apt_needs_debian WHAT         ends by apt_cannot unless this is a Debian with apt-get
#   apt_folder FOLDER TYPE SUITE...
#                                 own_apt and own_cache use FOLDER and TYPE (deb, deb-src) of SUITEs
#   own_apt ARGUMENT...           apt-get
#   own_cache ARGUMENT...         apt-cache
#   apt_cannot WHY                ends with status 77; says what is unavailable, and why
#
# It uses only the hosts of the system's own sources, with the release's name changed. It reads both
# formats of sources, and takes only the release itself: no updates, no security, no other vendors.
# shellcheck shell=sh

apt_what=packages

apt_cannot() {
    echo "$apt_what: $*"
    exit 77
}

apt_needs_debian() {
    apt_what=$1
    ID='' VERSION_CODENAME=''
    # shellcheck source=/dev/null
    [ ! -e /etc/os-release ] || . /etc/os-release
    [ "$ID" = debian ] || apt_cannot "only looked for on Debian, and this is ${ID:-unknown}"
    command -v apt-get >/dev/null 2>&1 || apt_cannot 'no apt-get here'
}

apt_folder() {
    apt_dir=$1
    apt_type=$2
    shift 2
    rm -rf "$apt_dir"
    mkdir -p "$apt_dir/parts" "$apt_dir/lists/partial" "$apt_dir/archives/partial"
    : >"$apt_dir/status" # nothing is installed, so the newest of each package is the candidate
    for apt_file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ ! -f "$apt_file" ] || cat "$apt_file"
    done | awk -v now="$VERSION_CODENAME" -v type="$apt_type" -v suites="$*" '
        # deb [options] URI suite component...
        $1 == "deb" {
            suite = 3
            if ($2 ~ /^\[/) {
                for (suite = 2; $suite !~ /\]$/ && suite < NF; suite++) continue
                suite += 2
            }
            if ($suite != now) next
            $1 = type
            n = split(suites, names, " ")
            for (i = 1; i <= n; i++) {
                $suite = names[i]
                print
            }
        }' >"$apt_dir/parts/own.list"
    for apt_file in /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$apt_file" ] || {
            cat "$apt_file"
            echo
        }
    done | awk -v now="$VERSION_CODENAME" -v type="$apt_type" -v suites="$*" '
        function end_stanza() {
            if (wanted && !disabled) printf "%s\n", stanza
            stanza = ""
            wanted = disabled = 0
        }
        /^[ \t]*$/ { end_stanza(); next }
        /^#/ { next }
        /^Types:/ { stanza = stanza "Types: " type "\n"; next }
        /^Enabled:[ \t]*no/ { disabled = 1; next }
        /^Suites:/ {
            for (i = 2; i <= NF; i++) if ($i == now) wanted = 1
            stanza = stanza "Suites: " suites "\n"
            next
        }
        { stanza = stanza $0 "\n" }
        END { end_stanza() }' >"$apt_dir/parts/own.sources"
    grep -q . "$apt_dir"/parts/* || apt_cannot "no source for $VERSION_CODENAME in /etc/apt"
}

# apt_run PROGRAM ARGUMENT...
apt_run() {
    apt_program=$1
    shift
    "$apt_program" -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt_dir/parts" \
        -o Dir::State::lists="$apt_dir/lists" -o Dir::State::status="$apt_dir/status" \
        -o Dir::Cache="$apt_dir" -o Acquire::Languages=none \
        -o APT::Sandbox::User="$(id -un)" "$@" </dev/null
}
own_apt() { apt_run apt-get "$@"; }
own_cache() { apt_run apt-cache "$@"; }
