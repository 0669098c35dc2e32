#!/bin/sh
# redlock conform on a client that keeps the rules. What fails is asked once more, alone: a machine that
# stands still for a moment makes any client late. Arguments: REDLOCK COMMAND...
redlock=$1
shift
verdicts=$("$redlock" conform -- "$@") && exec echo "$verdicts"
echo "$verdicts"
stories=$(echo "$verdicts" | sed -n 's/^FAIL  *\([a-z-]*\) .*/\1/p' | paste -sd, -)
[ -n "$stories" ] || exit 1
exec "$redlock" conform --jobs 1 --story "$stories" -- "$@"
