# The line rules of the tidy test. Prints "rule file:line: what" for everything that breaks one.

function flag(rule, what) {
    printf "%s %s:%d: %s\n", rule, FILENAME, FNR, what
}

# The code of one line: comments become a space, strings and characters become empty ones.
# in_comment lives on from line to line.
function code_of(line,    out, at) {
    out = ""
    while (line != "") {
        if (in_comment) {
            at = index(line, "*/")
            if (at == 0) return out
            line = substr(line, at + 2)
            in_comment = 0
            out = out " "
        } else if (match(line, /"([^"\\]|\\.)*"|'([^'\\]|\\.)*'|\/\/|\/\*/)) {
            out = out substr(line, 1, RSTART - 1)
            at = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
            if (at == "//") return out
            if (at == "/*") in_comment = 1
            else out = out substr(at, 1, 1) substr(at, 1, 1)
        } else {
            return out line
        }
    }
    return out
}

# The first of the names (n1|n2|...) that the code calls, or "". A member of that name (a->free(),
# a.free()) and a longer name are something else.
function call_of(code, names,    found) {
    code = " " code
    while (match(code, "[A-Za-z_0-9]+[ \t]*[(]")) {
        found = substr(code, RSTART, RLENGTH)
        sub(/[ \t]*[(]$/, "", found)
        if (found ~ ("^(" names ")$") && substr(code, RSTART - 1, 1) !~ /[.>]/) return found
        code = substr(code, RSTART + RLENGTH)
    }
    return ""
}

function check_calls(rule, names, why,    found) {
    found = call_of(code, names)
    if (found != "") flag(rule, found "(): " why)
}

function check_include(    name) {
    name = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", name)
    sub(/[ \t].*/, "", name)
    if (in_core && name !~ /^<(assert|errno|inttypes|limits|stdbool|stddef|stdint|string)\.h>$/ \
        && name !~ /^"(core\/[a-z_]*|base\/(mark|bits|units))\.h"$/)
        flag("core-includes", name " is not for lib/core: the protocol is pure")
    if (in_redis && name ~ /^"(\.\.\/)?(core\/.*|client(\/[a-z_]*)?\.h)"$/ \
        && name !~ /home\.h/)
        flag("redis-includes", name " is not for lib/redis: only the client knows both sides")
    # What asks the nodes itself sends what the library sends, and reads INFO and errors as it does.
    if (in_asking && name ~ /^"(redis\/(url|command|config|info|reply)|core\/(guard|quorum))\.h"$/) return
    # The server in memory knows the library's scripts.
    if (in_server && name == "\"redis/scripts/scripts.h\"") return
    if (in_user && name ~ /^"(\.\.\/)*(lib\/)?(core|redis)\//)
        flag("user-includes", name " is not for users of the library: redlock/redlock.h is")
}

FNR == 1 {
    in_comment = 0
    in_lib = FILENAME ~ /^lib\//
    in_core = FILENAME ~ /^lib\/core\//
    in_redis = FILENAME ~ /^lib\/redis\//
    in_user = FILENAME ~ /^(bench|cli|cluster|examples|tool)\//
    in_asking = FILENAME ~ /^cli\/(doctor|ls|metrics|run\/plan|scan|set|top|wire)/
    in_server = FILENAME ~ /^tool\/server\//
    in_test = FILENAME ~ /^test\//
}

{
    was_in_comment = in_comment
    code = code_of($0)

    # Bytes that continue a UTF-8 character take no column.
    columns = $0
    gsub(/[\200-\277]/, "", columns)
    if (length(columns) > 100) flag("columns", length(columns) " columns, the limit is 100")

    if (FNR == 501) flag("file-length", "more than 500 lines: one concept a file")

    check_calls("calls", "v?sprintf|strcpy|strcat|gets|ato[il]|atoll|strtok|alloca",
        "unbounded, unchecked or not reentrant")
    if (in_lib && FILENAME != "lib/base/memory.c")
        check_calls("memory", "malloc|calloc|realloc|free|strdup|strndup|asprintf",
            "memory comes from the client's allocator, see lib/base/memory.h")
    if (in_core)
        check_calls("core-time", "clock_gettime|time|gettimeofday|clock|timespec_get|uv_now|" \
            "uv_hrtime|s?rand|s?random|getrandom|getentropy|arc4random|[dl]rand48|uv_random",
            "time and randomness are arguments of lib/core")
    if (in_test)
        check_calls("test-sleep", "u?sleep|nanosleep|clock_nanosleep|uv_sleep",
            "wait for the event, not for a while")

    if (!was_in_comment && /^[ \t]*#[ \t]*include/) check_include()

    # Not every awk has word boundaries.
    marks = " " $0 " "
    if (match(marks, /[^A-Za-z0-9_](TODO|FIXME|XXX)[^A-Za-z0-9_]/))
        flag("marks", substr(marks, RSTART + 1, RLENGTH - 2) ": an issue is the place for it")
}
