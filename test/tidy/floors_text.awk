# What the text of C files says, for floors.awk: see there. Comments are left out.
{
    if (FNR == 1) in_comment = has_function = 0
    line = $0
    if (line ~ /^#[ \t]*include/) {
        name = line
        sub(/^#[ \t]*include[ \t]*/, "", name)
        sub(/[ \t].*/, "", name)
        gsub(/"/, "", name)
        print "include", FILENAME, name, FNR
        next
    }
    line = code(line)
    if (FILENAME ~ /\.h$/) words(line)
    if (FILENAME ~ /^(client|lock|mode|nodes|query|wait|watch)\// && FILENAME != "client/turn.c" &&
        line ~ /^ .*(->|\.|[^a-z_])callback\(|^ .*(->|\.)on_[a-z]+\(/)
        print "user", FILENAME, FNR
    fields(line)
    if (line ~ /(^|[^A-Z_])RL_(EXCLUSIVE|SHARED|PERMIT)([^A-Z_]|$)|permit [!=]= NULL/)
        print "mode", FILENAME, FNR
    if (FILENAME ~ /^(client\/state|[a-z]+\/data)\.h$/ && line ~ /^[a-z].*[a-z_0-9]\(/ &&
        line !~ /^(static|typedef|struct.*\{)/) {
        name = line
        sub(/\(.*/, "", name)
        sub(/.*[^a-z_0-9]/, "", name)
        print "function", FILENAME, FNR, name
    }
}

function words(text,    n, i, word) {
    gsub(/[^A-Za-z_0-9]+/, " ", text)
    n = split(text, word, " ")
    for (i = 1; i <= n; i++)
        if (word[i] ~ /^(rl|redlock)_/ && !((FILENAME, word[i]) in seen)) {
            seen[FILENAME, word[i]] = 1
            print "declares", FILENAME, word[i]
        }
}

# Fields of other structs that are reached into: the rooms' structs are such.
function fields(text) {
    while (match(text, /(->|\.)[a-z]+(->|\.|\[)/)) {
        text = substr(text, RSTART)
        sub(/^[-.>]+/, "", text)
        print "field", FILENAME, FNR, substr(text, 1, match(text, /[^a-z]/) - 1)
    }
}

# The line without what is in comments, or in strings.
function code(text,    out, c, two, i, n, in_string) {
    out = ""
    n = length(text)
    for (i = 1; i <= n; i++) {
        c = substr(text, i, 1)
        two = substr(text, i, 2)
        if (in_comment) {
            if (two == "*/") { in_comment = 0; i++ }
        } else if (in_string) {
            if (c == "\\") i++
            else if (c == "\"") in_string = 0
        } else if (two == "/*") { in_comment = 1; i++ }
        else if (two == "//") break
        else if (c == "\"") in_string = 1
        else out = out c
    }
    return out
}
