#!/bin/sh
# The first code block of a language in a Markdown file, with the place of each line for the compiler;
# with TEXT the first one that has it in a line.
#
#   snippet.sh LANGUAGE FILE [TEXT]
set -u

awk -v begin="\`\`\`$1" -v file="$2" -v text="${3-}" '
    $0 == "```" && inside {
        if (has) { printf "%s", block; found = 1; exit }
        inside = 0
    }
    inside { block = block $0 "\n"; has = has || index($0, text) }
    $0 == begin {
        inside = 1
        has = text == ""
        block = sprintf("#line %d \"%s\"\n", NR + 1, file)
    }
    END { exit !found }' "$2"
