#!/bin/sh
# cluster/docker-compose.yml with a real engine: five healthy nodes, the bench, a crash, TLS,
# replicas, chaos.
#
#   compose_test.sh ROOT BENCH
#
# Without a Docker engine or compose it is one skipped case. The run has its own project name,
# ports, subnet and image, and removes them at the end. No image is pulled: cluster/image.sh builds
# one.
set -u

# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
root=$1
bench=$2

give_up() {
    skip 'the compose cluster' "$1"
    finish
    exit
}

docker info >/dev/null 2>&1 || give_up 'no Docker engine'
if docker compose version >/dev/null 2>&1; then
    compose_tool='docker compose'
elif docker-compose version >/dev/null 2>&1; then
    compose_tool=docker-compose
else
    give_up 'no docker compose and no docker-compose'
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-compose-test.XXXXXX") || exit 2
log=$scratch/log
project=redlocktest$$
export REDLOCK_REDIS_IMAGE=$project
started=no

compose() {
    $compose_tool -p "$project" -f "$root/cluster/docker-compose.yml" \
        -f "$root/cluster/docker-compose.replicas.yml" "$@"
}
clean_up() {
    [ "$started" = no ] || compose down -v -t 1 >/dev/null 2>&1
    docker rmi "$project" >/dev/null 2>&1
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' HUP INT TERM

# Uses the script's own functions to find free ports and a free subnet.
free() { (cd "$root/cluster/chaos" && python3 -B -c "$1"); }
REDLOCK_SUBNET=$(free 'import subnet; print(subnet.free_prefix())')
REDLOCK_PORTS=$(free 'import compose; print(compose.free_ports())')
REDLOCK_TLS=$scratch/tls
export REDLOCK_SUBNET REDLOCK_PORTS REDLOCK_TLS
urls=''
for i in 1 2 3 4 5; do urls="$urls${urls:+,}redis://127.0.0.1:$REDLOCK_PORTS$i"; done

# cli NODE COMMAND...
cli() {
    cli_port=$REDLOCK_PORTS$1
    shift
    timeout 5 redis-cli -p "$cli_port" "$@" 2>&1
}

# await WHAT SECONDS COMMAND...: waits until the command succeeds
await() {
    await_what=$1
    await_left=$(($2 * 5))
    shift 2
    until "$@"; do
        await_left=$((await_left - 1))
        [ "$await_left" -gt 0 ] || {
            echo "$await_what: not so in time" >>"$log"
            return 1
        }
        sleep 0.2
    done
}

# healthy SERVICE...: whether all pass their health check
healthy() {
    for service; do
        id=$(compose ps -q "$service") &&
            [ "$(docker inspect -f '{{.State.Health.Status}}' "$id")" = healthy ] || return 1
    done
}

sh "$root/cluster/image.sh" "$project" >"$log" 2>&1
result 'an image from the packages of this machine' $? "$log"

started=yes
compose up -d node1 node2 node3 node4 node5 >"$log" 2>&1
result "up, by $compose_tool" $? "$log"
await 'five healthy nodes' 60 healthy node1 node2 node3 node4 node5
result 'five nodes are healthy' $? "$log"

for i in 1 2 3 4 5; do
    cli $i config get maxmemory-policy | tail -n 1
    cli $i config get appendonly | tail -n 1
    cli $i config get appendfsync | tail -n 1
done | sort | uniq -c | awk '{ print $1 $2 }' | tr '\n' ' ' >"$log"
[ "$(cat "$log")" = '5always 5noeviction 5yes ' ]
result 'AOF before the answer, no eviction' $? "$log"

"$bench" --nodes "$urls" --workload cycle --in-flight 16 --seconds 1 >"$log" 2>&1
result 'the bench runs against them' $? "$log"
cp "$log" "$scratch/bench"

cli 5 set kept yes >"$log"
node5=$(compose ps -q node5)
docker kill "$node5" >>"$log" 2>&1
result 'a node is killed' $? "$log"
"$bench" --nodes "$urls" --workload cycle --in-flight 4 --seconds 1 >"$log" 2>&1
result 'the bench runs against the other four' $? "$log"
docker start "$node5" >"$log" 2>&1 && await 'node5 healthy' 60 healthy node5 &&
    [ "$(cli 5 get kept)" = yes ]
result 'it comes back with its data' $? "$log"

# Recreates the nodes, on the same volumes.
with_tls() {
    REDLOCK_TLS_PORTS=$(free 'import compose; print(compose.free_ports())')
    export REDLOCK_TLS_PORTS
    mkdir "$REDLOCK_TLS"
    sh "$root/cluster/certificates.sh" authority "$REDLOCK_TLS" &&
        sh "$root/cluster/certificates.sh" make "$REDLOCK_TLS" node IP:127.0.0.1,DNS:localhost &&
        chmod 755 "$REDLOCK_TLS" && chmod 644 "$REDLOCK_TLS/node.key" &&
        $compose_tool -p "$project" -f "$root/cluster/docker-compose.yml" \
            -f "$root/cluster/docker-compose.tls.yml" up -d &&
        await 'five healthy nodes' 60 healthy node1 node2 node3 node4 node5
}
with_tls >"$log" 2>&1 && [ "$(cli 5 get kept)" = yes ]
result 'the nodes with TLS' $? "$log"
urls_tls=''
for i in 1 2 3 4 5; do
    urls_tls="$urls_tls${urls_tls:+,}rediss://127.0.0.1:$REDLOCK_TLS_PORTS$i?tls_ca=$REDLOCK_TLS/ca.crt"
done
"$bench" --nodes "$urls_tls" --workload cycle --in-flight 4 --seconds 1 >"$log" 2>&1
result 'the bench runs against them with TLS' $? "$log"

compose up -d >"$log" 2>&1 &&
    await 'replicas in step' 60 healthy replica1 replica2 replica3 replica4 replica5
result 'a replica for each node' $? "$log"
compose down -v -t 1 >"$log" 2>&1 &&
    [ -z "$(docker ps -aq --filter "label=com.docker.compose.project=$project")" ]
result 'down removes it all' $? "$log"

if [ "$(id -u)" -eq 0 ]; then
    sh "$root/cluster/chaos.sh" --backend compose --scenario failover --seconds 8 --ttl-ms 1000 \
        --seed 1 >"$log" 2>&1
    result 'chaos: replicas take over' $? "$log"
else
    skip 'chaos: replicas take over' 'not root'
fi
sed 's/^/# /' "$scratch/bench"
finish
