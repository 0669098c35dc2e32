#!/bin/sh
# The archive to be installed: one object, in which every name but the public ones is local.
#
#   archive.sh OUTPUT INPUT OBJCOPY AR CC [ARGUMENT]...
#
# Hidden names are hidden in shared libraries alone. In an archive the linker sees them, and would give
# our rl_free() to a program that wants readline's, or refuse the two.
set -eu

output=$1
input=$2
objcopy=$3
ar=$4
shift 4
object=$output.p/redlock.o
mkdir -p "$output.p"
"$@" -r -nostdlib -o "$object" -Wl,--whole-archive "$input" -Wl,--no-whole-archive
"$objcopy" --localize-hidden "$object"
rm -f "$output"
"$ar" crs "$output" "$object"
