# TAP for shell tests; to be sourced.
#
#   result WHAT STATUS [LOG]   one case: passed if STATUS is 0; otherwise LOG is shown
#   skip WHAT WHY              one case that cannot be run here
#   finish                     prints the plan; status 0 if all cases passed
# shellcheck shell=sh

tap_number=0
tap_failed=0

result() {
    tap_number=$((tap_number + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $tap_number - $1"
    else
        tap_failed=1
        echo "not ok $tap_number - $1"
        [ -z "${3-}" ] || sed 's/^/# /' "$3"
    fi
}

skip() {
    tap_number=$((tap_number + 1))
    echo "ok $tap_number - $1 # SKIP $2"
}

finish() {
    echo "1..$tap_number"
    return $tap_failed
}
