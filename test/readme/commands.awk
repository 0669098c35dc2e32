# The commands in Markdown files, in order: "FILE:LINE<tab>COMMAND", without what is said behind them.
# A command is an indented line, or the rest of one behind "$ ", that begins with a word of these.
# What an indented block shows besides is output, or a configuration.
BEGIN {
    words = "sh|python3|meson|ninja|cc|redlock|redlock-bench|redis-cli|docker|docker-compose|flock|apt|apt-get"
    words = words "|dpkg-buildpackage|export|grep|sudo|clang-format|git|pip|npm|promtool|curl|man|perf|cut|systemctl"
    begins = "^((" words ") |(build|test|examples|\\.)/[^ ]+ |[A-Z_]+=[^ ]* [a-z]|[a-z]+=\\$\\()"
}
FNR == 1 { in_fence = 0 }
/^```/ { in_fence = !in_fence }
in_fence || !/^    [^ ]/ { next }
{
    line = substr($0, 5)
    sub(/^\$ /, "", line)
    sub(/^[0-9*]+ [0-9*]+ \* \* \*  /, "", line) # of a crontab
    if (line !~ begins) next
    gsub(/(  +# .*|   +[^ ].*)$/, "", line)
    print FILENAME ":" FNR "\t" line
}
