# Which Redis or Valkey there is; to be sourced.
#
#   server   REDLOCK_SERVER, or redis-server or valkey-server from the PATH
#   cli      the client that lies beside it, or redis-cli or valkey-cli from the PATH
#
# Where there is none, redis-server or redis-cli is named all the same.
# shellcheck shell=sh disable=SC2034

# first_of PROGRAM...: the first that is there, or the first
first_of() {
    for first_name in "$@"; do
        if command -v "$first_name" >/dev/null 2>&1; then
            printf '%s\n' "$first_name"
            return
        fi
    done
    printf '%s\n' "$1"
}

server=${REDLOCK_SERVER:-$(first_of redis-server valkey-server)}
case $server in
/*) ;;
*/*) server=$PWD/$server ;; # each node has a folder of its own
esac
cli=$(first_of redis-cli valkey-cli)
case $server in
/*-server) [ ! -x "${server%-server}-cli" ] || cli=${server%-server}-cli ;;
esac
