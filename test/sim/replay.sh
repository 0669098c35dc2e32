#!/bin/sh
# A seed replays byte for byte: the hash over all that happened in some histories is the same when
# they are run again, in another process, with another environment and so at other addresses; and it
# is another one with other seeds. TAP.
#
#   replay.sh PROGRAM
set -u
program=$1

# hash PRESET SEEDS
trace() {
    "$program" --preset "$1" --seeds "$2" --no-progress | sed -n 's/.*trace \([0-9a-f]*\);.*/\1/p'
}

number=0
failed=0
for preset in swarm forgetful elected slow; do
    number=$((number + 1))
    first=$(trace $preset 1..15)
    second=$(PADDING=$(head -c 5000 /dev/zero | tr '\0' x) trace $preset 1..15)
    other=$(trace $preset 2..16)
    if [ -n "$first" ] && [ "$first" = "$second" ] && [ "$first" != "$other" ]; then
        echo "ok $number - $preset: $first"
    else
        failed=1
        echo "not ok $number - $preset: $first, then $second; other seeds $other"
    fi
done
echo "1..$number"
exit $failed
