#!/bin/sh
# redlock conform on a client that keeps the rules. Failed stories run once more, alone: a machine
# that stalls for a moment makes any client late. Arguments: REDLOCK COMMAND...
redlock=$1
shift
verdicts=$("$redlock" conform -- "$@") && exec echo "$verdicts"
echo "$verdicts"
stories=$(echo "$verdicts" | sed -n 's/^FAIL  *\([a-z-]*\) .*/\1/p' | paste -sd, -)
[ -n "$stories" ] || exit 1
exec "$redlock" conform --jobs 1 --story "$stories" -- "$@"
