# The table of coverage.sh, out of gcov's annotated sources.

function percent(part, whole) {
    return whole > 0 ? sprintf("%5.1f %%", 100 * part / whole) : "      -"
}

function show(name, lines, lines_hit, branches, branches_hit, rest) {
    printf "%-28s %s of %4d lines  %s of %4d branches%s\n", name, \
        percent(lines_hit, lines), lines, percent(branches_hit, branches), branches, rest
}

# Our own files, by their path from the root; not what they include from elsewhere.
/^ *-: *0:Source:/ {
    file = $0
    sub(/.*:Source:/, "", file)
    ours = sub(/.*\/lib\//, "lib/", file) || sub(/^lib\//, "lib/", file)
    if (file ~ /^lib\/.*\.[ch]$/) seen[file] = 1
    else ours = 0
    next
}

!ours { next }

/^ *[0-9#=-][^:]*: *[0-9]+:/ {
    split($0, part, ":")
    count = part[1]
    number = part[2] + 0
    gsub(/ /, "", count)
    if (count == "-") next
    at = file ":" number
    if (!(at in known)) {
        known[at] = 1
        order[file, ++lines[file]] = number
    }
    if (count !~ /^[#=]/) hit[at] = 1
    branch = 0
    next
}

# A header's line appears once in each source that includes it: reached if it is in any.
/^branch / {
    id = at ":" branch++
    if (!(id in known_branch)) {
        known_branch[id] = 1
        branch_file[id] = file
    }
    if ($3 == "taken" && $4 + 0 > 0) branch_hit[id] = 1
}

END {
    print "Of lib/ the tests reach:"
    for (id in known_branch) {
        branches[branch_file[id]]++
        branches_hit[branch_file[id]] += (id in branch_hit)
    }
    for (name in seen) {
        if (lines[name] == 0) continue
        reached = 0
        missing = ""
        for (i = 1; i <= lines[name]; i++) {
            if ((name ":" order[name, i]) in hit) reached++
            else missing = missing " " order[name, i]
        }
        show(name, lines[name], reached, branches[name], branches_hit[name], \
            missing != "" ? "  not:" missing : "")
        group = "~ lib"
        if (match(name, /^lib\/(core|redis)\//)) group = "~ " substr(name, 1, RLENGTH - 1)
        for (g = 1; g <= 2; g++) {
            key = g == 1 ? group : "~ together"
            all[key] += lines[name]
            all_hit[key] += reached
            all_branches[key] += branches[name]
            all_branches_hit[key] += branches_hit[name]
        }
    }
    for (key in all) show(key, all[key], all_hit[key], all_branches[key], all_branches_hit[key], "")
}
