#!/bin/sh
# Tests the project on other systems, each in a chroot that debootstrap makes and that is removed at
# the end. It is run by hand; docs/testing.md has the dates and results.
#
#   systems.sh debian           a fresh Debian: the README's two commands
#   systems.sh start            a fresh Debian: docs/start.md, its commands and the program in each
#                               language, with the packages for Python and Node.js made and installed
#   systems.sh i386             32 bit, a Debian for i386: one leg of test/run.sh, and the histories
#   systems.sh cross ARCH       cross-built, run by qemu: s390x (big endian), arm64 (char has no
#                               sign), armhf (both 32 bit and that): unit, fuzz corpus, histories, and
#                               the client against scripted servers
#   systems.sh musl             musl in place of glibc; hiredis, libuv and cmocka are built for it
#   systems.sh --help           this list
#
# Before the first word:
#   --suite NAME                which Debian; trixie if it is not given
#   --keep FOLDER               the chroot is made there, used again if it is there, and stays
#   --command 'SHELL COMMAND'   this, in the clone in the chroot, in place of the tests
#   --seeds N                   how many histories of each preset; 60
#
# Histories: the simulator is built on this machine, too, and the hash over all that happens in the
# first seeds of each preset must be the same there. It tests the last commit, HEAD.
#
# It needs root, debootstrap and unshare. Packages come from the mirror of this machine's own
# sources. It runs in its own mount and PID namespace, so no mount and no process is left, however
# it ends. The last line is "N passed, N failed"; the exit status is 0 if none failed, and 77 if the
# system is unavailable here, with the reason in the last line.
#
# The functions of the chroot are called by name, and clean_up by a trap:
# shellcheck disable=SC2317
set -u

here=$(cd "$(dirname "$0")" && pwd)
self=$here/systems.sh
usage() { sed -n '/^#   /s/^#   //p' "$self"; }

passed=0
failed=0

# -- in the chroot -------------------------------------------------------------------------------

fail() {
    echo "FAILED: $*"
    failed=$((failed + 1))
}

# quietly WHAT COMMAND...: if it fails, shows its output and exits
quietly() {
    quietly_what=$1
    shift
    echo "-- $quietly_what"
    "$@" >/root/log 2>&1 </dev/null || {
        cat /root/log
        fail "$quietly_what"
        finish
    }
}

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}

install() {
    quietly "apt-get install $*" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -qy --no-install-recommends "$@"
}

# build FOLDER OPTION...
build() {
    build_dir=$1
    shift
    if [ ! -e "$build_dir/build.ninja" ]; then
        quietly "meson setup $build_dir $*" meson setup "$build_dir" -Dwerror=true -Dtests=enabled "$@"
    fi
    quietly "ninja -C $build_dir" ninja -C "$build_dir" all meson-test-prereq
}

# suites WHAT FOLDER ARGUMENT...: runs meson test, and counts each case
suites() {
    suites_what=$1
    suites_dir=$2
    shift 2
    echo "-- $suites_what"
    rm -f "$suites_dir"/meson-logs/testlog.json /root/log
    meson test -C "$suites_dir" --no-rebuild --num-processes "$(($(nproc) + 1))" "$@" </dev/null
    if [ ! -s "$suites_dir/meson-logs/testlog.json" ]; then
        fail "$suites_what: no test ran"
        return
    fi
    awk -v leg="$suites_what" -v logs=/root/log -f test/count.awk \
        "$suites_dir/meson-logs/testlog.json" >/root/count
    [ ! -e /root/log ] || cat /root/log
    sed -n 's/^what //p' /root/count
    # shellcheck disable=SC2046
    set -- $(sed -n 's/^sum //p' /root/count)
    passed=$((passed + $1))
    failed=$((failed + $2))
}

# hashes COMMAND...: for each preset its name and the hash of its first histories, by this simulator
hashes() {
    sed -n "s/^    '\([a-z]*\)': '1\.\..*/\1/p" test/sim/meson.build | while read -r hashes_preset; do
        hashes_line=$("$@" --preset "$hashes_preset" --seeds "1..$seeds" --no-progress </dev/null |
            sed -n 's/.*trace \([0-9a-f]*\);.*/\1/p')
        echo "$hashes_preset ${hashes_line:-failed}"
    done
}

# histories COMMAND...: compares the hashes with those of the calling machine
histories() {
    echo "-- $seeds histories of each preset, beside those of the machine that this runs on"
    hashes "$@" >/root/hashes
    while read -r preset hash; do
        if [ "$hash" != failed ] && grep -qx "$preset $hash" /root/hashes; then
            passed=$((passed + 1))
        else
            fail "histories of $preset: $(grep "^$preset " /root/hashes), and there $hash"
        fi
    done </root/reference
    [ -s /root/reference ] || fail 'histories: there is nothing to compare with'
}

inside_debian() {
    echo '-- sh cluster/demo.sh'
    sh cluster/demo.sh || fail 'the demo'
    echo '-- sh test/run.sh'
    sh test/run.sh
    exit
}

# shows WHAT LINE COMMAND: the command, run in this shell, succeeds, and its last line matches LINE;
# '': any
shows() {
    echo "-- $1"
    if eval "$3" >/root/log 2>&1 </dev/null && { [ -z "$2" ] || sed '/^$/d' /root/log | tail -n 1 | grep -qx "$2"; }; then
        passed=$((passed + 1))
    else
        cat /root/log
        fail "$1"
    fi
}

# typed PAGE BEGINNING: the first command of a page that begins so
typed() {
    shows "$1: $2" '' "$(awk -f test/readme/commands.awk "$1" | cut -f 2 | grep -m 1 -F -e "$2")"
}

# program LANGUAGE TEXT FILE: the first program of docs/start.md in a language that has the text
program() {
    sh test/readme/snippet.sh "$1" docs/start.md "$2" | sed 1d >"$3"
}

# Installs only the packages that the pages name and the commands need; nothing of this machine is
# in the chroot.
inside_start() {
    rm -rf /root/wheel /root/sdist /root/app five dist # from an earlier run
    install python3-dev python3-cffi
    awk -f test/readme/commands.awk docs/start.md | cut -f 2 |
        sed '/^apt-get install/,$d; /nodes.sh stop/d' >/root/commands
    while read -r command; do
        shows "$command" '' "$command"
    done <<COMMANDS
$(cat /root/commands)
COMMANDS
    urls=$(paste -s -d ' ' five/urls)

    install g++ python3-venv python3-build python3-mesonpy patchelf nodejs npm libnode-dev
    typed docs/start.md 'meson setup release'
    program cpp '' /root/first.cpp
    shows 'the program in C++' 'step 3' "c++ -std=c++17 /root/first.cpp -o /root/first \
        \$(pkg-config --cflags --libs redlock) && /root/first $urls"

    program python 'with redlock' /root/first.py
    program python asyncio /root/second.py
    python_programs() {
        shows "the program in Python, $1" 'step 3' "$2 /root/first.py $urls"
        shows "... with asyncio" 'fence [0-9]*' "$2 /root/second.py $urls"
    }
    python_programs 'of the build' 'PYTHONPATH=build/bindings/python python3'
    typed docs/python.md 'python3 -m build'
    shows 'pip install' 'Successfully installed libredlock.*' 'python3 -m venv --system-site-packages /root/wheel &&
        /root/wheel/bin/pip install --no-index dist/*.whl'
    python_programs 'by a wheel' /root/wheel/bin/python
    shows 'pip install, from the sdist' 'Successfully installed libredlock.*' \
        'python3 -m venv --system-site-packages /root/sdist &&
        /root/sdist/bin/pip install --no-index --no-build-isolation dist/*.tar.gz'
    python_programs 'by the sdist' /root/sdist/bin/python

    shows 'npm pack' 'libredlock-.*\.tgz' '(cd bindings/node && npm pack)'
    mkdir -p /root/app /root/bin
    for program in env node npm sh; do
        ln -sf "$(command -v "$program")" /root/bin/
    done
    program js '' /root/app/first.js
    shows 'npm install, without a compiler' 'added 1 package.*' \
        '(cd /root/app && PATH=/root/bin npm install --no-audit --no-fund /root/project/bindings/node/*.tgz)'
    shows 'the program in Node.js' 'step 3' "(cd /root/app && PATH=/root/bin node first.js $urls)"
    sh cluster/nodes.sh stop five
    finish
}

# Proofs and the source's style do not depend on the machine.
inside_i386() {
    echo '-- sh cluster/demo.sh'
    sh cluster/demo.sh || fail 'the demo'
    echo '-- sh test/run.sh --compiler gcc'
    sh test/run.sh --compiler gcc -- --no-suite model --no-suite tidy >/root/leg 2>&1
    cat /root/leg
    # shellcheck disable=SC2046
    set -- $(tail -n 1 /root/leg | tr -dc '0-9 ')
    passed=$((passed + ${1:-0}))
    failed=$((failed + ${2:-1}))
    histories build/test/gcc/test/sim/redlock-sim
    finish
}

inside_cross() {
    quietly 'sh cluster/setup.sh demo' sh cluster/setup.sh demo
    install dpkg-dev
    triplet=$(dpkg-architecture -a "$1" -q DEB_HOST_GNU_TYPE 2>/dev/null)
    cpu=$(dpkg-architecture -a "$1" -q DEB_HOST_GNU_CPU)
    endian=$(dpkg-architecture -a "$1" -q DEB_HOST_ARCH_ENDIAN)
    dpkg --add-architecture "$1"
    quietly 'apt-get update' apt-get update
    install "gcc-$triplet" qemu-user "libc6-dev:$1" "libhiredis-dev:$1" "libuv1-dev:$1" \
        "libcmocka-dev:$1"
    cat >/root/cross <<CROSS
[binaries]
c = '$triplet-gcc'
ar = '$triplet-ar'
strip = '$triplet-strip'
pkg-config = 'pkg-config'
exe_wrapper = 'qemu-$cpu'
[properties]
pkg_config_libdir = ['/usr/lib/$triplet/pkgconfig', '/usr/share/pkgconfig']
[host_machine]
system = 'linux'
cpu_family = '$cpu'
cpu = '$cpu'
endian = '$endian'
CROSS
    dir=build/systems/$1
    build "$dir" --cross-file /root/cross
    # Only programs run in the emulator, so tests that are scripts around programs are left out. So
    # are two programs that need what qemu's user mode lacks: madvise() and PID namespaces.
    unit=$(meson test -C "$dir" --list --suite unit 2>/dev/null | sed 's|.* / ||' |
        grep -vx -e 'script-.*' -e fork -e uv_random)
    # shellcheck disable=SC2086
    suites "unit, $1" "$dir" -t 10 $unit
    histories "qemu-$cpu" "$dir/test/sim/redlock-sim"
    suites "fake, $1" "$dir" -t 10 --suite fake
    finish
}

# musl_source NAME COMMAND...: COMMAND in the upstream source of Debian's package
musl_source() {
    musl_name=$1
    shift
    [ ! -e "/musl/$musl_name.done" ] || return 0
    rm -rf "/musl/source/$musl_name"
    mkdir -p "/musl/source/$musl_name/tree"
    cd "/musl/source/$musl_name" || exit 2
    quietly "apt-get source $musl_name" \
        apt-get source -q --download-only --tar-only -o APT::Sandbox::User=root "$musl_name"
    quietly 'tar' tar -x -f ./*.orig.tar.* --strip-components=1 -C tree
    cd tree || exit 2
    quietly "$musl_name for musl" "$@"
    : >"/musl/$musl_name.done"
    cd /root/project || exit 2
}

cmake_install() {
    cmake -S . -B musl -DCMAKE_C_COMPILER=/musl/bin/cc -DCMAKE_INSTALL_PREFIX=/musl \
        -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_BUILD_TYPE=RelWithDebInfo "$@" && cmake --build musl &&
        cmake --install musl
}

hiredis_install() {
    make install CC=/musl/bin/cc PREFIX=/musl INCLUDE_PATH=include/hiredis LIBRARY_PATH=lib \
        PKGCONF_PATH=pkgconfig
}

inside_musl() {
    quietly 'sh cluster/setup.sh demo' sh cluster/setup.sh demo
    install musl-tools linux-libc-dev cmake make
    sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >/etc/apt/sources.list.d/source.list
    quietly 'apt-get update' apt-get update
    # musl-gcc knows only musl's headers, so the kernel's are added; it sees none of glibc's.
    mkdir -p /musl/bin /musl/kernel
    ln -sfn /usr/include/linux /musl/kernel/linux
    ln -sfn /usr/include/asm-generic /musl/kernel/asm-generic
    ln -sfn "/usr/include/$(gcc -print-multiarch)/asm" /musl/kernel/asm
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nexec musl-gcc -isystem /musl/kernel "$@"\n' >/musl/bin/cc
    chmod +x /musl/bin/cc
    printf '/musl/lib\n' >"/etc/ld-musl-$(uname -m).path"
    musl_source hiredis hiredis_install
    musl_source libuv1 cmake_install -DBUILD_TESTING=OFF -DLIBUV_BUILD_TESTS=OFF
    musl_source cmocka cmake_install -DWITH_EXAMPLES=OFF
    # There is no C++ library for it.
    export CC=/musl/bin/cc CXX=false PKG_CONFIG_LIBDIR=/musl/lib/pkgconfig
    dir=build/systems/musl
    build "$dir"
    suites 'unit and sim, musl' "$dir" -t 3 --suite unit --suite uv --suite sim --no-suite controls
    histories "$dir/test/sim/redlock-sim"
    suites 'live, musl' "$dir" -t 3 --suite fake --suite fail --suite live --suite threads --suite cli
    finish
}

inside() {
    what=$1
    seeds=$2
    shift 2
    mount -t proc proc /proc && mount -t tmpfs tmpfs /dev/shm || exit 2
    cd /root/project || exit 2
    if [ "$what" = command ]; then
        sh -c "$1"
        exit
    fi
    "inside_$what" "$@"
}

# -- outside -------------------------------------------------------------------------------------

unavailable() {
    echo "systems.sh: $*"
    exit 77
}

# The mirror of this machine's sources for its own release.
find_mirror() {
    # shellcheck source=test/apt.sh
    . "$here/apt.sh"
    apt_needs_debian 'other systems'
    apt_folder "$1" deb "$suite"
    cat "$1"/parts/* | sed -n -e 's/^URIs:[ 	]*\([^ 	]*\).*/\1/p' \
        -e 's/^deb \(\[[^]]*\] *\)*\([^ ]*\).*/\2/p' | head -n 1
}

# Runs the same histories on this machine. build/systems keeps the hashes of each commit.
make_reference() {
    kept=$here/../build/systems/$(git -C "$root/root/project" rev-parse HEAD).$seeds
    if [ ! -s "$kept" ]; then
        echo '-- the histories on this machine'
        {
            meson setup "$work/reference" "$root/root/project" -Dtests=enabled &&
                ninja -C "$work/reference" test/sim/redlock-sim
        } >"$work/log" 2>&1 || {
            cat "$work/log"
            unavailable 'the simulator does not build on this machine; why is above'
        }
        mkdir -p "$here/../build/systems"
        (cd "$root/root/project" && hashes "$work/reference/test/sim/redlock-sim") >"$work/hashes"
        mv "$work/hashes" "$kept"
    fi
    cp "$kept" "$root/root/reference"
}

# make_chroot ARCHITECTURE: '' means this machine's
make_chroot() {
    [ ! -e "$root/.complete" ] || return 0
    mirror=$(find_mirror "$work/apt") || unavailable "$mirror"
    echo "-- a Debian $suite ${1:+for $1 }by debootstrap"
    debootstrap --variant=minbase --include=ca-certificates,git ${1:+"--arch=$1"} "$suite" "$root" \
        "$mirror" >"$work/log" 2>&1 || {
        tail -n 20 "$work/log"
        unavailable 'debootstrap failed; why is above'
    }
    cp -n /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io" # for speed, not safety
    : >"$root/.complete"
}

child=''
clean_up() {
    if [ -n "$child" ]; then
        kill -s KILL "$child" 2>/dev/null # unshare ignores TERM; its whole namespace ends with it
        wait "$child" 2>/dev/null
    fi
    rm -rf --one-file-system "$work"
}

suite=trixie
keep=''
command=''
seeds=60
while [ $# -gt 0 ]; do
    case $1 in
    --inside)
        shift
        inside "$@"
        exit
        ;;
    -h | --help)
        usage
        exit
        ;;
    --suite | --keep | --command | --seeds)
        [ $# -ge 2 ] || {
            usage >&2
            exit 2
        }
        case $1 in
        --suite) suite=$2 ;;
        --keep) keep=$2 ;;
        --command) command=$2 ;;
        --seeds) seeds=$2 ;;
        esac
        shift 2
        ;;
    *) break ;;
    esac
done
arch=''
personality=''
case ${1-}:$# in
debian:1 | start:1 | musl:1 | cross:2) ;;
i386:1)
    arch=i386
    personality=linux32 # or uname says x86_64
    ;;
*)
    usage >&2
    exit 2
    ;;
esac
[ "$(id -u)" = 0 ] || unavailable 'a chroot needs root'
for program in debootstrap unshare git; do
    command -v "$program" >/dev/null 2>&1 || unavailable "there is no $program"
done

work=$(mktemp -d "${TMPDIR:-/tmp}/redlock-systems.XXXXXX") || exit 2
trap clean_up EXIT
trap 'exit 130' HUP INT TERM
root=${keep:-$work/root}
mkdir -p "$root"
root=$(cd "$root" && pwd)
make_chroot "$arch"
cp /etc/resolv.conf "$root/etc/"
if [ -e "$root/root/project" ]; then
    git -C "$root/root/project" fetch -q "$here/.." HEAD &&
        git -C "$root/root/project" reset -q --hard FETCH_HEAD || exit 2
else
    git clone -q "$here/.." "$root/root/project" || exit 2
fi
echo "== $* on $suite, $(git -C "$root/root/project" log -1 --format='%h, %cs')"
if [ -n "$command" ]; then
    set -- command "$seeds" "$command"
else
    case $1 in debian | start) ;; *) make_reference ;; esac
    what=$1
    shift
    set -- "$what" "$seeds" "$@"
fi
# A bind mount of the chroot on itself makes "/" a mount in it, which "ip netns" needs. The mounts
# belong to this namespace, and end with its last process.
# shellcheck disable=SC2016
$personality unshare --mount --propagation private --pid --fork --kill-child sh -c '
    root=$1
    shift
    mount --bind "$root" "$root" && mount --bind /dev "$root/dev" &&
        mount --bind /dev/pts "$root/dev/pts" || exit 2
    exec chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        HOME=/root TERM=dumb sh /root/project/test/systems.sh --inside "$@"' sh "$root" "$@" </dev/null &
child=$!
wait "$child"
status=$?
child=''
exit "$status"
