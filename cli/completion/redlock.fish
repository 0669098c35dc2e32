# Completion of redlock(1) for fish. What fits, redlock itself says: cli/complete.c.

function __redlock_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l lines ($words[1] complete $words[2..-1] "$typed" 2>/dev/null)
    switch "$lines[1]"
        case \tfiles
            set -l option (string match -r -- '^--[^=]*=' "$typed")
            printf "$option%s\n" (__fish_complete_path (string replace -- "$option" '' "$typed"))
        case \tcommand
            set -l own (contains -i -- -- $words)
            complete -C (string join ' ' -- (string escape -- $words[(math $own + 1)..-1]) "$typed")
        case '*'
            printf '%s\n' $lines
    end
end
complete -c redlock -f -a '(__redlock_complete)'
