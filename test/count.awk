# Reads meson's testlog.json, one test a line, behind the file `still`: when the machine stood still (the
# end, in seconds since 1970, and the ms of it). It prints
#
#     again CASES MS NAME                      before a failure: how many cases, for how long the machine
#                                              stood still meanwhile, and the name that meson knows
#     what failed: LEG: NAME (RESULT)          for every test that failed
#     what skipped: LEG: NAME, N cases: WHY    N: if it is more than one
#     sum PASSED FAILED SKIPPED
#
# It counts the TAP cases on a test's stdout, or, if there are none, the test itself. A program that
# is skipped as a whole counts as one. A program that fails although its cases pass is a failure of
# its own. The output of failing tests goes to the file `logs`, without the cases that passed.

# The string value of a key, still in JSON's escapes.
function text(key,    at, rest) {
    at = index($0, "\"" key "\": \"")
    if (at == 0) return ""
    rest = substr($0, at + length(key) + 5)
    return match(rest, /^([^"\\]|\\.)*/) ? substr(rest, 1, RLENGTH) : ""
}

function number(key) {
    return match($0, "\"" key "\": [0-9.]+") ? substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4) + 0 : 0
}

function show(log_text,    lines, i, n, line) {
    n = split(log_text, lines, /\\n/)
    for (i = 1; i <= n; i++) {
        line = lines[i]
        if (line ~ /^ok [0-9]/ || line == "") continue
        gsub(/\\t/, "\t", line)
        gsub(/\\"/, "\"", line)
        gsub(/\\\\/, "\\", line)
        print "    " line > logs
    }
}

FILENAME == still {
    ends[++n_still] = $1
    for_ms[n_still] = $2
    next
}

# The longest stall while the test ran.
function longest(    from, until, i, ms) {
    from = number("starttime")
    until = from + number("duration")
    for (i = 1; i <= n_still; i++) {
        if (ends[i] >= from && ends[i] - for_ms[i] / 1000 <= until && for_ms[i] > ms) ms = for_ms[i]
    }
    return ms + 0
}

{
    name = text("name")
    result = text("result")
    out = "\\n" text("stdout")
    # Why the first one was skipped: "no Docker engine".
    why = match(out, /# SKIP [^\\]+/) ? ": " substr(out, RSTART + 7, RLENGTH - 7) : ""
    skips = gsub(/\\nok [0-9][^\\]*# SKIP/, "", out)
    good = gsub(/\\nok [0-9]/, "", out)
    bad = gsub(/\\nnot ok [0-9]/, "", out)
    if (result == "OK" || result == "EXPECTEDFAIL") {
        if (good + skips == 0) good = 1
    } else if (result == "SKIP") {
        skips = 1
    } else {
        if (bad == 0) bad = 1
        print "again " bad " " longest() " " substr(name, match(name, / \/ /) ? RSTART + 3 : 1)
        print "what failed: " leg ": " name " (" tolower(result) ")"
        print "\n-- " leg ": " name ": " tolower(result) > logs
        show(text("stdout"))
        show(text("stderr"))
    }
    if (skips > 0) print "what skipped: " leg ": " name (skips > 1 ? ", " skips " cases" : "") why
    passed += good
    failed += bad
    skipped += skips
}

END {
    print "sum " passed + 0, failed + 0, skipped + 0
}
