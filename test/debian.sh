#!/bin/sh
# Debian's packages, built and used as others would, each in a clean chroot. By hand, as root:
#
#   sh test/debian.sh [FOLDER [SUITE]]    FOLDER, which is made, gets the packages
#
# In one chroot dpkg-buildpackage builds the checked-out commit, as a user, and lintian checks the
# result. In the other the packages are installed and purged, which must leave nothing behind, and
# installed again for autopkgtest to run debian/tests. Both are of this system's release, or of
# SUITE, by debootstrap and from this system's sources. It takes minutes, and 3 GB of memory, or
# below TMPDIR. Exit status 77: it cannot be done here.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)

cannot() {
    echo "debian.sh: $*"
    exit 77
}

[ "$(id -u)" -eq 0 ] || cannot 'not root'
for tool in debootstrap git unshare; do
    command -v "$tool" >/dev/null || cannot "$tool is not installed"
done
# shellcheck source=/dev/null
. /etc/os-release
[ "${ID-}" = debian ] || cannot 'not Debian'
suite=${2:-$VERSION_CODENAME}
# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
    "Codename: $VERSION_CODENAME" | head -n 1)
[ -n "$mirror" ] || cannot "no source of $VERSION_CODENAME: apt-get update"

# When the namespace's last process ends, so do its mounts and everything that it has started.
if [ -z "${REDLOCK_DEBIAN-}" ]; then
    REDLOCK_DEBIAN=yes exec unshare --mount --pid --fork --kill-child sh "$0" "$@"
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-debian.XXXXXX")
# dpkg waits for the disk after each package, but not for memory, which is used if there is enough.
[ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -lt 8000000 ] ||
    mount -t tmpfs -o size=6g redlock-debian "$scratch"
clean=$scratch/clean build=$scratch/build use=$scratch/use
clean_up() {
    umount "$build/proc" "$use/proc" "$scratch" 2>/dev/null || :
    rm -rf --one-file-system "$scratch"
}
trap clean_up EXIT
trap 'exit 130' HUP INT TERM

say() { printf '\n== %s\n' "$*"; }
# within CHROOT COMMAND...
within() {
    within=$1
    shift
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        TMPDIR=/tmp ${DEB_BUILD_OPTIONS:+DEB_BUILD_OPTIONS="$DEB_BUILD_OPTIONS"} \
        chroot "$within" "$@" </dev/null
}
# install CHROOT PACKAGE...
install() {
    install=$1
    shift
    within "$install" apt-get install -q -y --no-install-recommends "$@"
}
# All files but apt's and dpkg's own
files() {
    (cd "$use" && find . -xdev | LC_ALL=C sort |
        grep -v -e '^\./var/cache/' -e '^\./var/log/' -e '^\./var/lib/apt/' -e '^\./var/lib/dpkg/[^/]*-old$')
}

say "a clean $suite"
debootstrap --variant=minbase "$suite" "$clean" "$mirror" >"$scratch/log" 2>&1 || {
    cat "$scratch/log"
    exit 1
}
rm -rf "$clean/etc/apt/sources.list"*
cp -r /etc/apt/. "$clean/etc/apt/"
# Keeps only the settings of the network; the rest belongs to packages that are not installed.
rm -rf "$clean"/etc/apt/apt.conf*
mkdir "$clean/etc/apt/apt.conf.d"
apt-config dump Acquire >"$clean/etc/apt/apt.conf.d/90acquire"
find "$clean/etc/apt" -name '*sources*' -type f -exec sed -i "s/$VERSION_CODENAME/$suite/g" {} +
cp /etc/resolv.conf /etc/hosts "$clean/etc/"
# Starts no services.
printf '#!/bin/sh\nexit 101\n' >"$clean/usr/sbin/policy-rc.d"
chmod 755 "$clean/usr/sbin/policy-rc.d"
within "$clean" apt-get update -q
within "$clean" apt-get upgrade -q -y
within "$clean" useradd --create-home builder
cp -a "$clean" "$use"
mv "$clean" "$build"
for chroot in "$build" "$use"; do
    mount -t proc proc "$chroot/proc"
done

say 'dpkg-buildpackage'
source=$build/home/builder/libredlock
git clone -q "$root" "$source"
install "$build" build-essential lintian
within "$build" sh -c 'cd /home/builder/libredlock && apt-get build-dep -q -y --no-install-recommends ./'
within "$build" chown -R builder /home/builder
within "$build" su builder -c 'cd ~/libredlock && dpkg-buildpackage -us -uc'

say 'lintian'
within "$build" su builder -c 'cd && lintian --version && lintian -i --fail-on error,warning *.changes'
# Cleans what was built.
within "$build" su builder -c 'cd ~/libredlock && dpkg-buildpackage -T clean >/dev/null'
git -C "$source" -c safe.directory='*' status --porcelain --ignored >"$scratch/left"
[ ! -s "$scratch/left" ] || {
    echo 'debian.sh: the build leaves behind:'
    cat "$scratch/left"
    exit 1
}
if [ -n "${1-}" ]; then
    mkdir "$1"
    cp "$build"/home/builder/*.* "$1/"
fi

say 'installed and purged'
files >"$scratch/before"
mkdir "$use/packages"
packages='' # without -dbgsym
for deb in "$build"/home/builder/*.deb; do
    name=${deb##*/}
    case $name in *-dbgsym_*) continue ;; esac
    cp "$deb" "$use/packages/"
    packages="$packages ${name%%_*}"
done
install_them() { within "$use" sh -c 'apt-get install -q -y --no-install-recommends /packages/*.deb'; }
install_them
# shellcheck disable=SC2086
within "$use" apt-get purge -q -y $packages
within "$use" apt-get autoremove -q -y --purge
files | grep -v '^\./packages' | diff "$scratch/before" - || {
    echo 'debian.sh: this was left (>), or taken away (<)'
    exit 1
}

say 'installed and used: autopkgtest'
install_them
install "$use" autopkgtest
cp -r "$source" "$use/libredlock"
within "$use" autopkgtest --no-built-binaries /libredlock -- null
echo
echo 'debian.sh: all is well'
