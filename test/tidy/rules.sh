# What floors.sh and programs.sh share, to be sourced: rules about the files of a tree and about the
# objects that are made of them. A report has a line for each breach, "RULE WHAT: WHERE"; a rule that
# cannot be judged here has the line "RULE SKIP WHY".
#
#   symbols SOURCES PREFIX ARCHIVE...   what each source uses and defines
#   no_symbols                          why there may be none, for a rule that needs them
#   judge RULE...                       $scratch/report as TAP, one case for each rule
#
# The self-tests have a sample tree. Whoever sources this defines report_sample(), which prints the
# report on it.
#
#   put PATH TEXT                       a file of the sample tree
#   archive FOLDER COMPILER_ARGUMENT... the objects of one of its folders, as $scratch/FOLDER.a
#   expect WHAT                         one case: of the sample tree it reports the lines of stdin, each
#                                       up to the last colon, and no more. What cannot be judged here is
#                                       not expected
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
    LC_ALL=C sort >"$scratch/wanted"
    report_sample >"$scratch/got" 2>"$scratch/why"
    sed -n 's/ SKIP .*/ /p' "$scratch/got" >"$scratch/skipped"
    sed '/ SKIP /d; s/:[^:]*$//' "$scratch/got" | LC_ALL=C sort >"$scratch/said"
    grep -v -f "$scratch/skipped" "$scratch/wanted" | diff - "$scratch/said" >"$scratch/log"
    expect_status=$?
    cat "$scratch/got" "$scratch/why" >>"$scratch/log"
    result "$1" $expect_status "$scratch/log"
}
