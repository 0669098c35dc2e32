# What floors.sh and programs.sh share, to be sourced: rules about the files of a tree and about the
# objects that are made of them. A report has a line for each breach, "RULE WHAT: WHERE"; a rule that
# cannot be judged here has the line "RULE SKIP WHY".
#
#   symbols SOURCES PREFIX ARCHIVE...   what each source uses and defines
#   no_symbols                          why there may be none, for a rule that needs them
#   judge RULE...                       $scratch/report as TAP, one case for each rule
#
# The self-tests have a sample tree that keeps the rules. Whoever sources this defines sample(), which
# makes it anew, and report_sample(), which prints the report on it.
#
#   put PATH TEXT                       a file of the sample tree
#   archive FOLDER COMPILER_ARGUMENT... the objects of one of its folders, as $scratch/FOLDER.a
#   expect WHAT PATTERN...              one case: the sample tree, with what was put into it, gives
#                                       exactly one line for each pattern, which begins with it
# shellcheck shell=sh

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2034 # for those who source this
root=$(cd "$here/../.." && pwd)
# shellcheck source=test/tap.sh
. "$here/../tap.sh"
awk=${AWK:-awk}
nm=${NM:-nm}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-rules.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM

# An object of meson has its source's path with _ in place of /, from the folder that built it (PREFIX).
# shellcheck disable=SC2016
symbols() {
    symbols_sources=$1
    symbols_prefix=$2
    shift 2
    for symbols_archive in "$@"; do
        [ -r "$symbols_archive" ] || {
            echo "$symbols_archive is not there: ninja -C BUILD meson-test-prereq" >&2
            exit 2
        }
    done
    for symbols_archive in "$@"; do
        "$nm" -A -P -g "$symbols_archive" 2>"$scratch/nm"
    done | "$awk" -v prefix="$symbols_prefix" '
        NR == FNR {
            flat = substr($1, length(prefix) + 1)
            gsub(/\//, "_", flat)
            path[flat] = $1
            next
        }
        {
            object = $1
            sub(/\]?:$/, "", object)
            sub(/\.o$/, "", object)
            sub(/.*[\/[]/, "", object)
            if (object in path) print $3 == "U" ? "uses" : "defines", path[object], $2
        }' "$symbols_sources" -
}

no_symbols() { echo "$nm shows no symbols of the objects"; }

judge() {
    for judge_rule in "$@"; do
        judge_why=$(sed -n "s/^$judge_rule SKIP //p" "$scratch/report")
        if [ -n "$judge_why" ]; then
            skip "$judge_rule" "$judge_why"
        else
            ! sed -n "s/^$judge_rule //p" "$scratch/report" | tee "$scratch/breaches" | grep -q .
            result "$judge_rule" $? "$scratch/breaches"
        fi
    done
    finish
}

put() {
    mkdir -p "$scratch/tree/$(dirname "$1")"
    printf '%b' "$2" >"$scratch/tree/$1"
}

# The arguments name folders of the sample tree.
archive() {
    archive_of=$1
    shift
    rm -rf "$scratch/objects" "$scratch/$archive_of.a"
    mkdir "$scratch/objects"
    for archive_file in $(cd "$scratch/tree/$archive_of" && find . -name '*.c' | sed 's|^\./||'); do
        (cd "$scratch/tree" && ${CC:-cc} -w -c "$@" "$archive_of/$archive_file" \
            -o "$scratch/objects/$(echo "$archive_file" | tr / _).o") || return
    done
    ${AR:-ar} cr "$scratch/$archive_of.a" "$scratch"/objects/*.o
}

expect() {
    expect_what=$1
    shift
    report_sample >"$scratch/got" 2>"$scratch/why"
    expect_status=$?
    [ "$(wc -l <"$scratch/got")" -eq $# ] || expect_status=1
    for expect_pattern in "$@"; do
        grep -q "^$expect_pattern" "$scratch/got" || expect_status=1
        echo "wanted: $expect_pattern"
    done >"$scratch/log"
    sed 's/^/got: /' "$scratch/got" "$scratch/why" >>"$scratch/log"
    result "$expect_what" $expect_status "$scratch/log"
    sample
}
