# Completion of redlock(1) for bash. What fits, redlock itself says: cli/complete.c.
# shellcheck shell=bash

_redlock() {
    local rest=${COMP_LINE:0:COMP_POINT} current=${COMP_WORDS[COMP_CWORD]} words=() word line i
    # bash splits words at = and : as well, which stand in options and in keys.
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        case $rest in
        [[:blank:]]*) words+=("$word") ;;
        *) if [ ${#words[@]} -eq 0 ]; then words=("$word"); else words[-1]+=$word; fi ;;
        esac
        rest=${rest#"${rest%%[![:blank:]]*}"}
        rest=${rest#"$word"}
    done
    case $current in = | :) current= ;; esac
    word=${words[-1]%"$current"}
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        $'\t'files) compopt -o default ;;
        $'\t'command)
            for ((i = 2; i < COMP_CWORD; i++)); do
                [ "${COMP_WORDS[i]}" != -- ] || break
            done
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            elif [ "$COMP_CWORD" -eq $((i + 1)) ]; then
                mapfile -t COMPREPLY < <(compgen -c -- "$current")
            else
                compopt -o default
            fi
            ;;
        *)
            # bash puts what is quoted by %q behind a quote that is still open: a key could end it.
            case ${words[-1]} in *[\"\']*) continue ;; esac
            line=${line%%$'\t'*}
            line=${line#"$word"}
            case $line in *[!a-zA-Z0-9_.,:=/@+-]*) printf -v line %q "$line" ;; esac
            COMPREPLY+=("$line")
            ;;
        esac
    done < <("${words[0]}" complete "${words[@]:1}" 2>/dev/null)
}
complete -F _redlock redlock
