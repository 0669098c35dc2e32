# Completion of redlock(1) for bash. The options are asked of redlock itself, so they are those of
# the version that is installed.
# shellcheck shell=bash

_redlock_options() {
    { "${COMP_WORDS[0]}" help "$1" && "${COMP_WORDS[0]}" help options; } 2>/dev/null | sed -n 's/^  \(-., \)\{0,1\} *\(--[a-z-]*\).*/\2/p'
}

_redlock() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} i
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W \
            'run status queue kick ls top metrics doctor acquire extend release elect conform --help --version' -- "$word")
        return
    fi
    # Behind -- stands another command: complete that as if it stood alone.
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [ "${COMP_WORDS[i]}" = -- ]; then
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            elif [ "$COMP_CWORD" -eq $((i + 1)) ]; then
                mapfile -t COMPREPLY < <(compgen -c -- "$word")
            else
                mapfile -t COMPREPLY < <(compgen -f -- "$word")
            fi
            return
        fi
    done
    [ "$word" != = ] || word=
    [ "$previous" != = ] || previous=${COMP_WORDS[COMP_CWORD - 2]}
    case $previous in
    --config | -c | --password-file) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    --on-lost) mapfile -t COMPREPLY < <(compgen -W 'kill ignore' -- "$word") ;;
    --sort | -s)
        mapfile -t COMPREPLY < <(compgen -W 'name holder votes fence age left waiting longest' -- "$word")
        ;;
    --interval) mapfile -t COMPREPLY < <(compgen -W '1s 2s 5s' -- "$word") ;;
    --guard) mapfile -t COMPREPLY < <(compgen -W 'strict observed off' -- "$word") ;;
    --max-ttl) mapfile -t COMPREPLY < <(compgen -W '30s 1m 5m' -- "$word") ;;
    --ttl | -t) mapfile -t COMPREPLY < <(compgen -W '10s 30s 1m 5m' -- "$word") ;;
    --fence-retention) mapfile -t COMPREPLY < <(compgen -W '1d 7d 30d' -- "$word") ;;
    --story | -s)
        mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" conform --list 2>/dev/null |
            sed 's/ .*//')" -- "$word")
        ;;
    --wait | -w) mapfile -t COMPREPLY < <(compgen -W '10s 1m 10m' -- "$word") ;;
    *)
        case $word in
        -*) mapfile -t COMPREPLY < <(compgen -W "$(_redlock_options "$command") --" -- "$word") ;;
        esac
        ;;
    esac
}
complete -F _redlock redlock
