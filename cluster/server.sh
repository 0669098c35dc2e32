# Finds Redis or Valkey; to be sourced.
#
#   server   REDLOCK_SERVER, or redis-server or valkey-server from the PATH
#   cli      the client that lies beside it, or redis-cli or valkey-cli from the PATH
#
# If nothing is installed, they are redis-server and redis-cli.
# shellcheck shell=sh disable=SC2034

# first_of PROGRAM...: the first that is installed, or else the first
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
*/*) server=$PWD/$server ;; # each node runs in its own folder
esac
cli=$(first_of redis-cli valkey-cli)
case $server in
/*-server) [ ! -x "${server%-server}-cli" ] || cli=${server%-server}-cli ;;
esac
