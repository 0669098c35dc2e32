#!/bin/sh
# Certificates for the Redis nodes of a test, a demo or a trial, made by openssl(1): a private
# authority and what it signs.
#
#   certificates.sh authority DIR                       DIR/ca.crt and DIR/ca.key, if they are not there
#   certificates.sh make DIR NAME SUBJECT_ALT_NAMES [FROM UNTIL]
#                                                       DIR/NAME.crt and DIR/NAME.key, signed by it
#   certificates.sh self DIR NAME SUBJECT_ALT_NAMES     ... signed by itself
#
# SUBJECT_ALT_NAMES: as openssl has them, e.g. DNS:localhost,IP:127.0.0.1. FROM and UNTIL:
# YYYYMMDDHHMMSSZ; without them it is good for ten years. A certificate that is made again gets a
# new key.
#
# Not for production: the authority's key is in the same folder, without a passphrase.
set -eu

die() {
    printf 'certificates.sh: %s\n' "$*" >&2
    exit 1
}
usage() {
    sed -n '/^#   certificates.sh/s/^#   //p' "$0" >&2
    exit 2
}

# quiet COMMAND...: shows its output only if it fails
quiet() {
    "$@" >"$dir/.openssl.log" 2>&1 || {
        cat "$dir/.openssl.log" >&2
        die "$1 $2 failed"
    }
    rm -f "$dir/.openssl.log"
}

new_key() {
    # Replaces the file with a new one: a process that has opened the old one keeps it.
    rm -f "$1"
    (umask 077 && quiet openssl ecparam -name prime256v1 -genkey -noout -out "$1")
}

# The configuration of `openssl ca`, the only command that takes both dates in all versions.
write_conf() {
    cat >"$dir/$1.cnf" <<CONF
[ca]
default_ca = this
[this]
database = $dir/$1.index
new_certs_dir = $dir
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[req]
distinguished_name = name
prompt = no
[name]
CN = $2
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
[leaf]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth,clientAuth
subjectAltName = $3
CONF
    : >"$dir/$1.index"
}

forget_conf() {
    rm -f "$dir/$1.cnf" "$dir/$1.csr" "$dir/$1.index"*
}

authority() {
    [ ! -s "$dir/ca.crt" ] || return 0
    write_conf ca 'libredlock test authority' DNS:none
    new_key "$dir/ca.key"
    quiet openssl req -x509 -new -config "$dir/ca.cnf" -extensions authority -sha256 -days 3650 \
        -key "$dir/ca.key" -out "$dir/ca.crt"
    forget_conf ca
}

make() {
    write_conf "$1" "$1" "$2"
    new_key "$dir/$1.key"
    quiet openssl req -new -config "$dir/$1.cnf" -key "$dir/$1.key" -out "$dir/$1.csr"
    rm -f "$dir/$1.crt"
    quiet openssl ca -batch -notext -config "$dir/$1.cnf" -extensions leaf -in "$dir/$1.csr" \
        -cert "$dir/ca.crt" -keyfile "$dir/ca.key" -startdate "${3:-20200101000000Z}" \
        -enddate "${4:-$(($(date +%Y) + 10))0101000000Z}" -out "$dir/$1.crt"
    rm -f "$dir"/[0-9A-F]*.pem
    forget_conf "$1"
}

self() {
    write_conf "$1" "$1" "$2"
    new_key "$dir/$1.key"
    rm -f "$dir/$1.crt"
    quiet openssl req -x509 -new -config "$dir/$1.cnf" -extensions leaf -sha256 -days 3650 \
        -key "$dir/$1.key" -out "$dir/$1.crt"
    forget_conf "$1"
}

[ $# -ge 2 ] || usage
command -v openssl >/dev/null 2>&1 ||
    die "openssl is not installed. On Debian and Ubuntu: apt-get install openssl"
command=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd -P)
shift 2
case $command in
authority) [ $# -eq 0 ] || usage ;;
make) [ $# -eq 2 ] || [ $# -eq 4 ] || usage ;;
self) [ $# -eq 2 ] || usage ;;
*) usage ;;
esac
case ${1-} in *[!A-Za-z0-9_-]*) die "$1: a name is letters, digits, - and _" ;; esac
"$command" "$@"
