# Who knows whom in lib/, for floors.sh. Reads lines
#
#     file PATH               a file of lib/, without the lib/
#     known RULE WHAT         an exception that is known, see floors.known
#     include FROM TO LINE    FROM (a path of lib/) includes "TO"; system headers with their <>
#     defines FILE SYMBOL     FILE (a .c of lib/) defines SYMBOL for others
#     uses FILE SYMBOL        ... and needs this one from elsewhere
#     declares FILE WORD      FILE (a header of lib/, or a public one) has this word in it
#     function FILE LINE NAME the data has a function
#     user FILE LINE          FILE calls a function of the user's
#     field FILE LINE NAME    FILE reaches into a struct that is a field NAME of another
#     mode FILE LINE          FILE names a mode, or asks whether a lock is a semaphore's
#
# and prints "RULE WHAT: why" for what breaks a rule, once. A unit is a .c and its header.

function unit(path) {
    sub(/\.[ch]$/, "", path)
    return path
}

function room(name) {
    sub(/\/.*/, "", name)
    return name
}

# Is it allowed that FROM knows TO? Both are units.
function allowed(from, to,    a, b) {
    a = room(from)
    b = room(to)
    if (a == b) return !(to in doors)
    if ((a, b) in rooms) return 1
    return (a, to) in lists || (from, b) in lists
}

function broken(rule, what, why,    key) {
    key = rule " " what
    if (key in said) return
    said[key] = 1
    if (key in known) { needed[key] = 1; return }
    print key ": " why
}

function edge(from, to, why) {
    if (from == to) return
    if (!allowed(from, to)) broken("arrow", from " " to, why)
    reach[from, to] = 1
    if (!((from, to) in because)) because[from, to] = why
}

BEGIN {
    # Arrows go down. open.c gives a client its world, and has the interface for a header.
    n = split("core:base redis:base uv:base client:tls nodes:tls tls:base any:base election:base blocking:base " \
        "init:base open:client open:uv open:base lock:mode lock:nodes lock:wait lock:watch mode:wait wait:nodes " \
        "wait:watch", pair, " ")
    for (i = 1; i <= n; i++) { split(pair[i], ab, ":"); rooms[ab[1], ab[2]] = 1 }
    # The rooms of a client stand on the core, and know the data of the client and what surrounds it.
    n = split("lock mode nodes query wait watch", seven, " ")
    for (i = 1; i <= n; i++) {
        rooms["client", seven[i]] = lists[seven[i], "client/state"] = lists[seven[i], "client/env"] = 1
    }
    seven[++n] = "client"
    for (i = 1; i <= n; i++)
        rooms[seven[i], "base"] = rooms[seven[i], "core"] = rooms[seven[i], "redis"] = 1
    # One file of a room that may be known, or may know a room: what a recipe needs of a client, the
    # thread with a loop that blocking calls use, and where what is heard goes up again; whose votes
    # count for a resource, and what the name of a set weighs for it; who has which seat, and what a
    # hold remembers by seats.
    n = split("any:client/recipe election:client/recipe blocking:client/recipe blocking:uv/loop_thread " \
        "lock:client/options lock:client/check mode:lock/step nodes:wait/resource wait:lock/life " \
        "wait:mode/mode query:mode/mode wait/line_event:lock " \
        "watch:lock/message query:nodes/sets watch:nodes/sets redis:core/home mode:nodes/seats " \
        "watch:nodes/seats nodes:mode/mode", pair, " ")
    for (i = 1; i <= n; i++) { split(pair[i], ab, ":"); lists[ab[1], ab[2]] = 1 }
    # Nobody calls the file that opens and closes clients.
    doors["client/client"] = 1
    # Who may know headers of others.
    outside["<uv.h>"] = "uv"
    outside["<hiredis/hiredis.h>"] = outside["<hiredis/async.h>"] = "redis"
    outside["<hiredis/read.h>"] = outside["<hiredis/sds.h>"] = "redis"
    # Structs of the client and the lock that one room alone looks into.
    n = split("calls:lock loss:lock extras:lock lines:wait waiting:wait " \
        "holding:mode permit:mode listening:nodes notifications:nodes closing:client " \
        "flushing:client", pair, " ")
    for (i = 1; i <= n; i++) { split(pair[i], ab, ":"); owner[ab[1]] = ab[2] }
    # Recipes know the interface: what they use of it is no arrow into the client.
    recipe["any"] = recipe["election"] = recipe["blocking"] = 1
}

$1 == "known" { key = $2 " " $3; if (NF > 3) key = key " " $4; known[key] = 1 }
$1 == "file" { files[$2] = 1; if ($2 ~ /\.c$/) sources[$2] = 1 }
$1 == "include" {
    if ($3 ~ /^<openssl\//) outside[$3] = "tls"
    if ($3 in outside && room($2) != outside[$3])
        broken("outside", unit($2) " " $3, "lib/" $2 ":" $4 " includes " $3)
    if ($3 !~ /^</ && $3 !~ /^redlock\// && $3 in files)
        edge(unit($2), unit($3), "lib/" $2 ":" $4 " includes it")
}
$1 == "defines" { where[$3] = $2 }
$1 == "uses" { user[++uses] = $2; symbol[uses] = $3 }
$1 == "declares" { if ($2 ~ /^redlock\//) public[$3] = 1; else declared[$2, $3] = 1 }
$1 == "function" { broken("data", unit($2) " " $4, "lib/" $2 ":" $3 " has a function: " $4 "()") }
# What checks the invariants, and lays the data out, looks into all of them.
$1 == "field" && $4 in owner && room($2) != owner[$4] &&
    (room($2) == "client" || (room($2), "client/state") in lists) &&
    $2 != "client/check.c" && $2 != "client/state.h" {
    broken("field", unit($2) " " $4, "lib/" $2 ":" $3 " looks into what is the " owner[$4] " room's")
}
# ... and the rooms above the commands ask a mode's rules.
$1 == "mode" && room($2) != "mode" && (room($2) == "client" || (room($2), "client/state") in lists) &&
    $2 != "client/check.c" {
    broken("mode", unit($2), "lib/" $2 ":" $3 " asks which mode it is")
}
$1 == "user" {
    broken("user-code", unit($2), "lib/" $2 ":" $3 " calls the user: only client/turn.c may")
}

END {
    for (i = 1; i <= uses; i++) {
        if (!(symbol[i] in where)) continue
        if (room(user[i]) in recipe && symbol[i] ~ /^redlock_/) continue
        edge(unit(user[i]), unit(where[symbol[i]]), "lib/" user[i] " uses " symbol[i] "()")
    }
    for (name in where) {
        if (!(name in public)) inside[where[name]] = 1
        header = unit(where[name]) ".h"
        if (header in files && !((header, name) in declared) && !(name in public))
            broken("own-header", unit(where[name]) " " name, "lib/" header " does not declare it")
    }
    for (path in sources) {
        header = unit(path) ".h"
        if (!(header in files) && path in inside)
            broken("own-header", unit(path), "there is no lib/" header)
    }
    circles()
    for (key in known)
        if (!(key in needed)) print "known " key ": not needed any more: take it out of the list"
}

# Who reaches himself again, and by whom.
function circles(    a, b, c, name, pairs, ab, direct, path) {
    for (pairs in reach) {
        split(pairs, ab, SUBSEP)
        name[ab[1]] = name[ab[2]] = 1
        direct[ab[1], ab[2]] = 1
    }
    for (b in name)
        for (a in name)
            if ((a, b) in reach)
                for (c in name) if ((b, c) in reach) reach[a, c] = 1
    for (a in name) {
        if (!((a, a) in reach)) continue
        path = ""
        for (b in name)
            if ((a, b) in direct && (b, a) in reach) path = path "; " because[a, b] " (" b ")"
        broken("circle", a, substr(path, 3))
    }
}
