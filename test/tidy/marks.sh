#!/bin/sh
# Every mark of lib/base/mark.h has one branch in lib/ and a test that must reach it. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 2

number=0
failed=0
names=$(sed -n 's/^ *X(\([A-Z_]*\)).*/\1/p' lib/base/mark.h)
for name in $names; do
    number=$((number + 1))
    branches=$(grep -rhc "RL_MARK($name)" lib --include='*.c' | awk '{ n += $1 } END { print n }')
    from=$(grep -rlw "MARK_FROM($name)" test | sort)
    to=$(grep -rlw "MARK_TO($name)" test | sort)
    if [ "$branches" -eq 1 ] && [ -n "$to" ] && [ "$from" = "$to" ]; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        echo "# $branches branches; begun in: $from; asked for in: $to"
        failed=1
    fi
done
echo "1..$number"
[ "$number" -gt 0 ] && [ "$failed" -eq 0 ]
