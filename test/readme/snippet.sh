#!/bin/sh
# The first code block of a language in a Markdown file, with the place of each line for the compiler.
#
#   snippet.sh LANGUAGE FILE
set -u

awk -v begin="\`\`\`$1" -v file="$2" '
    $0 == "```" && inside { exit }
    inside { print }
    $0 == begin { inside = 1; printf "#line %d \"%s\"\n", NR + 1, file }
    END { exit !inside }' "$2"
