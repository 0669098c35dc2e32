# Who knows whom in the programs, for programs.sh. Reads lines
#
#     file PATH              a file of a program, or of tool/
#     include FROM TO LINE   FROM includes "TO"
#     declares FILE WORD     FILE, a header, has this word in it
#     defines FILE SYMBOL    FILE, a .c, defines SYMBOL for others
#     uses FILE SYMBOL       ... and needs this one from elsewhere
#
# and prints "RULE WHAT: why" for what breaks a rule, once. A unit is a .c and its header.

function unit(path) {
    sub(/\.[ch]$/, "", path)
    return path
}

# The program of a file: what is before its first / that a program has.
function program(path) {
    if (path ~ /^cluster\/chaos\//) return "cluster/chaos"
    sub(/\/.*/, "", path)
    return path
}

# The path of an included file in this tree; "" if it is not ours.
function resolved(from, to,    folder) {
    if (to in files) return to
    folder = from
    sub(/[^\/]*$/, "", folder)
    if ((folder to) in files) return folder to
    if ((program(from) "/" to) in files) return program(from) "/" to
    return ""
}

function broken(rule, what, why) {
    if (!((rule, what) in said)) print rule " " what ": " why
    said[rule, what] = 1
}

function edge(from, to) {
    if (from != to) { knows[from, to] = 1; name[from] = name[to] = 1 }
}

$1 == "file" { files[$2] = 1 }
$1 == "include" { from[++includes] = $2; to[includes] = $3; line[includes] = $4 }
$1 == "declares" { declared[$2, $3] = 1 }
$1 == "defines" { where[program($2), $3] = $2; sources[$2] = 1; if ($3 == "main") main[$2] = 1 }
$1 == "uses" { user[++uses] = $2; symbol[uses] = $3; sources[$2] = 1 }

# In the header with its name; or in one that the .c includes and that belongs to no .c.
function is_declared(path, symbol,    i, header) {
    if ((unit(path) ".h", symbol) in declared) return 1
    for (i = 1; i <= includes; i++) {
        header = from[i] == path ? resolved(path, to[i]) : ""
        if ((header, symbol) in declared && !((unit(header) ".c") in files)) return 1
    }
    return 0
}

END {
    asking = "^cli/((doctor|ls|metrics|scan|set|top|wire)/|run/plan[.])"
    theirs = "^(redis/(url|command|config|info|reply)|tls/(context|stream)|nodes/tls|core/(guard|quorum)|base/(bits|memory|world))[.]h$"
    servers = "^tool/server/"
    for (i = 1; i <= includes; i++) {
        path = resolved(from[i], to[i])
        why = from[i] ":" line[i] " includes it"
        if (to[i] ~ /^redlock\//) continue
        if (path == "") {
            if ((from[i] !~ asking || to[i] !~ theirs) &&
                (from[i] !~ servers || to[i] !~ "^(redis/scripts/scripts|base/sha1)\\.h$"))
                broken("arrow", unit(from[i]) " " to[i], why)
        } else if (from[i] ~ servers && path ~ servers) continue
        else if (program(path) == program(from[i])) edge(unit(from[i]), unit(path))
        else if (program(path) != "tool") broken("arrow", unit(from[i]) " " to[i], why)
    }
    for (i = 1; i <= uses; i++) {
        if ((program(user[i]), symbol[i]) in where)
            edge(unit(user[i]), unit(where[program(user[i]), symbol[i]]))
        else if (symbol[i] ~ /^rl_/ && !(("tool", symbol[i]) in where) && user[i] !~ asking)
            broken("arrow", unit(user[i]) " " symbol[i], user[i] " uses it")
    }
    for (pair in where) {
        split(pair, part, SUBSEP)
        path = where[pair]
        if (part[2] ~ /^(rl|tool|chaos)_/ && !is_declared(path, part[2]))
            broken("own-header", unit(path) " " part[2], "neither " unit(path) ".h nor a header of its room declares it")
    }
    circles()
}

# Removes, repeatedly, files that know no other: the rest is in a circle, or knows one. Then files
# that no other knows.
function circles(    a, b, pair, ab, changed, in_, out_, text) {
    do {
        changed = 0
        for (a in name) in_[a] = out_[a] = 0
        for (pair in knows) { split(pair, ab, SUBSEP); out_[ab[1]]++; in_[ab[2]]++ }
        for (pair in knows) {
            split(pair, ab, SUBSEP)
            if (out_[ab[2]] == 0 || in_[ab[1]] == 0) { delete knows[pair]; changed = 1 }
        }
    } while (changed)
    for (pair in knows) { split(pair, ab, SUBSEP); text[ab[1]] = 1 }
    for (a in text) list[program(a)] = list[program(a)] " " a
    for (a in list) broken("circle", a, sorted(list[a]))
}

function sorted(words,    n, word, i, j, swap, out) {
    n = split(words, word, " ")
    for (i = 1; i <= n; i++)
        for (j = i + 1; j <= n; j++)
            if (word[j] < word[i]) { swap = word[i]; word[i] = word[j]; word[j] = swap }
    for (i = 1; i <= n; i++) out = out (i > 1 ? " " : "") word[i]
    return out
}
