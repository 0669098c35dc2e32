#!/bin/sh
# redlock doctor on nodes with TLS: each kind of bad certificate, and settings that cannot be used.
# Arguments: REDLOCK NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source=test/cli/doctor.sh
. "$(dirname "$0")/doctor.sh"

certificates_sh=$(dirname "$nodes_sh")/certificates.sh
if ! command -v openssl >/dev/null || ! "$cli" --help 2>&1 | grep -q -e --tls; then
    skip 'doctor and TLS' 'no openssl, or a server without TLS'
    finish
    exit
fi
start_nodes 3 --tls
patient
one() { printf '%s' "127.0.0.1:$(cat "$nodes/$1/tls-port")"; } # its port with TLS

if "$redlock" --version | grep -q 'without TLS'; then
    status 'a build without TLS says so' 64 "$redlock" doctor --ttl 1s
    says '... in one sentence' 'redlock: .*built without TLS' "$err"
    finish
    exit
fi

tls=$nodes/tls
other=$scratch/other
{
    sh "$certificates_sh" authority "$other" &&
        sh "$certificates_sh" make "$other" stranger IP:127.0.0.1 &&
        sh "$certificates_sh" make "$tls" elsewhere DNS:redis.example &&
        sh "$certificates_sh" make "$tls" expired IP:127.0.0.1 20200101000000Z 20210203040506Z &&
        sh "$certificates_sh" make "$tls" early IP:127.0.0.1 20900102030405Z 20910101000000Z &&
        sh "$certificates_sh" make "$tls" client DNS:client &&
        sh "$certificates_sh" self "$tls" self IP:127.0.0.1
} >"$log" 2>&1
result 'certificates' $? "$log"

# shows FOLDER NAME: from now on, node 3 has this certificate
shows() {
    "$cli" -p "$(port 3)" config set tls-cert-file "$1/$2.crt" tls-key-file "$1/$2.key" >"$log" 2>&1
    grep -q '^OK' "$log"
}
# url3 PARAMETERS: node 3 has these in its URL, instead of its authority
url3() {
    REDLOCK_NODES=$(sed "3s|?.*|$1|" "$nodes/urls" | paste -sd, -)
}

finds 'good certificates' ok tls 'its certificate is good' 1
shows "$tls" expired
finds 'expired' error reachable "TLS: certificate expired on 2021-02-03 04:05:06 UTC ($(one 3))" 2
holds '... and the others are usable' grep -q '^ok *quorum *2 of 3 nodes are usable, 2 are needed' "$out.joined"
shows "$tls" early
finds 'not yet valid' error reachable \
    "TLS: certificate is not valid before 2090-01-02 03:04:05 UTC ($(one 3))" 2
shows "$tls" elsewhere
finds 'another name' error reachable \
    "TLS: name mismatch: the certificate is for redis.example, not for 127.0.0.1 ($(one 3))" 2
reasons '... elsewhere' 'name mismatch: the certificate is for redis.example, not for 127.0.0.1' \
    --nodes "rediss://$(one 3)?tls_ca=$tls/ca.crt"
url3 "?tls_ca=$tls/ca.crt\&tls_server_name=redis.example"
finds '... that is expected' ok tls 'its certificate is good' 1
url3 "?tls_ca=$tls/ca.crt"
shows "$other" stranger
finds 'an unknown authority' error reachable "TLS: unknown authority: .* is not in tls_ca ($(one 3))" 2
reasons '... elsewhere' 'unknown authority .*: set tls_ca to its certificate' --nodes "rediss://$(one 3)"
reasons 'a plain port' 'no TLS handshake \(yet\|in time\); is it a TLS port?' \
    --nodes "rediss://127.0.0.1:$(port 3)?tls_ca=$tls/ca.crt" --connect-timeout 500ms
shows "$tls" self
finds 'self-signed' error reachable \
    "TLS: self-signed certificate that is not in tls_ca ($(one 3))" 2
url3 ''
finds '... and no authority is named' error reachable \
    "TLS: self-signed certificate: set tls_ca to it ($(one 3))" 2
url3 '?tls_insecure_skip_verify=1'
finds 'no verification' warning tls \
    "its certificate is not verified: any machine on the way can be this node ($(one 3))" 1
holds '... and it is asked over TLS all the same' grep -q '^ok *quorum *all 3 are usable' "$out.joined"
REDLOCK_NODES=$(paste -sd, "$nodes/urls")
shows "$tls" node
ask_tls() { "$cli" -p "$(port 3)" config set "$@" >"$log" 2>&1; }
ask_tls tls-auth-clients yes
finds 'a client certificate is missing' error reachable \
    "TLS: .*client certificate.*: set tls_cert and tls_key ($(one 3))" 2
finds '... and is given' ok tls 'its certificate is good' 1 \
    --tls-cert "$tls/client.crt" --tls-key "$tls/client.key"
finds '... by another authority' error reachable \
    "TLS: the server does not know the authority of our certificate (tls_cert) ($(one 3))" 2 \
    --tls-cert "$other/stranger.crt" --tls-key "$other/stranger.key"
ask_tls tls-auth-clients no
REDLOCK_NODES=$(sed "3s|:[0-9]*?|:$(port 3)?|" "$nodes/urls" | paste -sd, -)
finds 'a plain port' error reachable 'TLS: .*TLS' 2 --connect-timeout 2s
REDLOCK_NODES=$(paste -sd, "$nodes/urls")

# -- What cannot be used --------------------------------------------------------------------------

# refuses WHAT PATTERN OPTION...
refuses() {
    refuses_what=$1
    refuses_pattern=$2
    shift 2
    status "$refuses_what" 64 "$redlock" doctor --ttl 1s "$@"
    says '... and says why' "$refuses_pattern" "$err"
}
refuses 'no name' 'it is empty' --tls-server-name ''
refuses 'many names' 'tls_server_name is no host name' --tls-server-name '.example'
refuses 'a name without end' 'tls_server_name is no host name' \
    --tls-server-name "$(printf 'a%.0s' $(seq 300))"
refuses 'a certificate without its key' 'tls_cert is set and tls_key is not' --tls-cert "$tls/client.crt"
REDLOCK_NODES=$(sed 's|?.*||' "$nodes/urls" | paste -sd, -)
refuses 'an authority that is not looked at' 'tls_ca and tls_insecure_skip_verify are both set' \
    --tls-ca "$tls/ca.crt" --tls-insecure-skip-verify
REDLOCK_NODES=redis://$(printf '127.0.0.1:%s' "$(port 1)")
refuses 'an option that nobody needs' 'tls_ca is set, but no node has TLS' --tls-ca "$tls/ca.crt"

# redlock never asks for it, even on a terminal.
REDLOCK_NODES=$(paste -sd, "$nodes/urls")
openssl pkey -in "$tls/client.key" -aes128 -passout pass:secret -out "$tls/locked.key" 2>"$log"
refuses 'a key with a passphrase' 'the key has a passphrase; give one without' \
    --tls-cert "$tls/client.crt" --tls-key "$tls/locked.key"

# The guard process has a name in place of its arguments, but still has the options.
shows "$tls" node
REDLOCK_NODES=$(sed 's|?.*||' "$nodes/urls" | paste -sd, -)
start "$redlock" run --tls-ca "$tls/ca.crt" k -- sleep 1000 2>"$err.bg"
await "$redlock" status --tls-ca "$tls/ca.crt" k
kill -s KILL "$pid"
comes 'redlock run --tls-ca is killed: its guard releases the lock' '^redlock: k: the lock is released' "$err.bg"

# In a set of nodes with TLS, host:port is enough.
REDLOCK_NODES=$(sed 's|?.*||' "$nodes/urls" | paste -sd, -)
"$redlock" set init --yes --max-ttl 1s --tls-ca "$tls/ca.crt" --nodes "$(echo "$REDLOCK_NODES" | cut -d, -f 1,2)" >"$log" 2>&1
status 'a node of a set by host:port' 0 "$redlock" set replace --dry-run "$(one 1)" "$(one 3)" --tls-ca "$tls/ca.crt" --nodes "${REDLOCK_NODES%%,*}"
says '... has the scheme of the others' "^  comes   rediss://$(one 3)\$" "$out"

finish
