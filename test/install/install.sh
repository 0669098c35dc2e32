#!/bin/sh
# Installs this test's build below its own folder and uses it from there as a user would:
# downstream.c and downstream.cpp are built with the installed pkg-config file and by CMake, shared
# and static, and run, also together with a library that has all our internal names; a meson project
# in C99 with werror has this one as a subproject, without assertions, shared and static. It checks
# that both libraries export every function of the headers and nothing else, and that debian/ has
# the same versions.
#
# The archive is there if the build has -Ddefault_library=both, as that of test/run.sh.
#
#   install.sh SOURCE BUILD CC VERSION SOVERSION HIREDIS_ROOT CXX     the last two may be empty
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/tap.sh
. "$here/../tap.sh"
source=$1
nodes_sh=$source/cluster/nodes.sh
build=$2
cc=$3
version=$4
soversion=$5
hiredis_root=$6
cxx=$7

# shellcheck source=test/scratch.sh
. "$here/../scratch.sh"

# The configuration of this test's build must not affect the builds below.
unset DESTDIR CFLAGS LDFLAGS
export CC="$cc"
[ -z "$cxx" ] || export CXX="$cxx"

# -- what is installed --

meson install -C "$build" --no-rebuild --destdir "$scratch/root" >"$log" 2>&1
result 'meson install' $? "$log"
# It has been moved since it was configured; only the pkg-config file needs to know.
pc=$(find "$scratch/root" -name redlock.pc)
prefix=$scratch/root$(sed -n 's/^prefix=//p' "$pc")
lib=${pc%/pkgconfig/redlock.pc}
sed -i "s|^prefix=.*|prefix=$prefix|" "$pc"
export PKG_CONFIG_PATH="$lib/pkgconfig${hiredis_root:+:$hiredis_root/lib/pkgconfig}"
export LD_LIBRARY_PATH="${hiredis_root:+$hiredis_root/lib}"
[ -e "$lib/libredlock.a" ] || {
    skip 'what is installed' 'the build has no archive; it needs -Ddefault_library=both'
    finish
    exit
}

[ "$(pkg-config --modversion redlock 2>"$log")" = "$version" ]
result "pkg-config says $version" $? "$log"

readelf -d "$lib/libredlock.so" >"$log" 2>&1
grep -q "SONAME.*\[libredlock\.so\.$soversion\]" "$log"
result "its soname ends in $soversion" $? "$log"

tls='' tls_libs=''
if readelf -d "$lib/libredlock.so" | grep -q 'NEEDED.*libssl'; then
    tls_libs=$(pkg-config --static --libs openssl)
else
    tls=' (without TLS)'
fi
[ "$(LD_LIBRARY_PATH='' "$prefix/bin/redlock" --version 2>"$log")" = "redlock $version$tls" ]
result 'redlock(1) runs without the shared library' $? "$log"
LD_LIBRARY_PATH='' "$prefix/bin/redlock-bench" --help >"$log" 2>&1 && grep -q '^Usage: redlock-bench' "$log"
result '... and redlock-bench(1), where there is the archive' $? "$log"
[ -s "$prefix/share/man/man1/redlock.1" ] && [ -s "$prefix/share/man/man1/redlock-bench.1" ] &&
    [ -s "$prefix/share/bash-completion/completions/redlock" ] &&
    [ -s "$prefix/share/zsh/site-functions/_redlock" ] &&
    [ -s "$prefix/share/fish/vendor_completions.d/redlock.fish" ]
result 'their manuals and the completion are installed' $?
[ "$(man -M "$prefix/share/man" 3 redlock_acquire 2>"$log" | grep -c '^RETURN VALUE')" -eq 1 ] ||
    { ! command -v man >"$log" && [ -s "$prefix/share/man/man3/redlock_acquire.3" ]; }
result 'man redlock_acquire' $? "$log"
doc=$prefix/share/doc/libredlock
diff "$source/LICENSE" "$doc/LICENSE" >"$log" 2>&1 && diff -r "$source/docs" "$doc/docs" >>"$log" 2>&1 &&
    [ -s "$doc/README.md" ] && [ -s "$doc/CHANGELOG.md" ]
result 'the licence, README, changelog and docs are installed' $? "$log"
diff -r -x meson.build "$source/examples" "$doc/examples" >"$log" 2>&1 && [ -s "$doc/examples/client.py" ]
result '... and the examples, with rules, dashboard and wrap file' $? "$log"
sh "$doc/cluster/nodes.sh" start -n 3 --dir "$scratch/nodes" >"$log" 2>&1
result '... and the script that starts nodes for them' $? "$log"
diff -r "$source/include/redlock" "$prefix/include/redlock" >"$log"
result 'every public header is installed' $? "$log"

# -- a program --

# build_and_run NAME COMPILER_ARGUMENT...
build_and_run() {
    program=$scratch/$1
    program_name=$1
    shift
    case $program_name in
    *C++*) compile="$cxx $scratch/cpp.o" ;; # slow to compile
    *) compile="$cc -std=c11 $here/downstream.c" ;;
    esac
    {
        echo "arguments: $*"
        $compile -D_GNU_SOURCE -Wall -Wextra -Werror -o "$program" "$@" &&
            LD_LIBRARY_PATH="$lib:$LD_LIBRARY_PATH" "$program" "$version"
    } >"$log" 2>&1
    result "a program, $program_name" $? "$log"
}
needs_shared() { readelf -d "$scratch/$1" 2>/dev/null | grep -q "NEEDED.*libredlock\.so\.$soversion"; }

# The output of pkg-config is several words.
# shellcheck disable=SC2046
build_and_run shared $(pkg-config --cflags --libs redlock)
needs_shared shared
result 'the shared program needs the shared library' $?
# The lines of README.md and docs/start.md that link a program. The fully static one works only
# where libuv's archive has the same name.
cp "$source/examples/hold.c" "$scratch/worker.c"
sed -n 's/^    \(cc .*\)/\1/p' "$source/README.md" "$source/docs/start.md" >"$scratch/links"
while read -r link; do
    case $link in
    *luv_a*)
        if [ ! -e "$($cc -print-file-name=libuv_a.a)" ] || [ -n "$hiredis_root" ]; then continue; fi
        ;;
    esac
    (cd "$scratch" && eval "$link" && LD_LIBRARY_PATH="$lib" ./a.out 2>&1 | grep '^usage: hold') >"$log" 2>&1
    result "as the pages say: $link" $? "$log"
done <"$scratch/links"
[ "$(wc -l <"$scratch/links")" -ge 4 ]
result 'there are lines that link a program' $?

# It is compiled without libuv's headers.
if [ -n "$cxx" ]; then
    # shellcheck disable=SC2046
    $cxx -std=c++17 -Wall -Wextra -Werror -c "$here/downstream.cpp" -o "$scratch/cpp.o" \
        $(pkg-config --cflags redlock) >"$log" 2>&1
    result 'a program in C++ is compiled' $? "$log"
    # shellcheck disable=SC2046
    build_and_run 'in C++, shared' $(pkg-config --libs redlock)
fi

# by_cmake NAME TARGET...: builds these of CMakeLists.txt, and runs them
by_cmake() {
    cmake_name=$1
    shift
    (
        cmake -S "$here" -B "$scratch/cmake" -DVERSION="$version" -DWITH_CXX="${cxx:+yes}" \
            -DCMAKE_PREFIX_PATH="$prefix" -G Ninja && ninja -C "$scratch/cmake" "$@" &&
            for cmake_program; do
                "$scratch/cmake/$cmake_program" "$version" || exit 1
            done
    ) >"$log" 2>&1
    result "CMake: $cmake_name" $? "$log"
}
if cmake --version >/dev/null 2>&1; then
    by_cmake 'shared and static' c_redlock c_static ${cxx:+cpp_shared cpp_static}
    needs_shared cmake/c_redlock && ! needs_shared cmake/c_static
    result '... each is linked as its target says' $?
else
    skip 'CMake' 'cmake is not installed'
fi

# Without the shared library the linker takes the static one.
mkdir "$scratch/aside" && mv "$lib"/libredlock.so* "$scratch/aside/"
# shellcheck disable=SC2046
build_and_run static $(pkg-config --static --cflags --libs redlock)
! needs_shared static
result 'the static program does not need it' $?
# shellcheck disable=SC2046
[ -z "$cxx" ] || build_and_run 'in C++, static' $(pkg-config --static --libs redlock)
if cmake --version >/dev/null 2>&1; then
    by_cmake 'the archive alone' c_redlock
    ! needs_shared cmake/c_redlock
    result '... is what it takes then' $?
fi

# Another library with the same names as our internal ones: readline has rl_free().
nm -g --defined-only "$build/lib/libredlock_internal.a" | awk '$2 == "T" && $3 ~ /^rl_/ { print $3 }' |
    sort -u >"$scratch/names"
{
    echo '#include <stdlib.h>'
    sed 's/.*/void &(void);\nvoid &(void) { abort(); }/' "$scratch/names"
} >"$scratch/other.c"
# shellcheck disable=SC2046
[ "$(wc -l <"$scratch/names")" -gt 100 ] &&
    build_and_run "static beside another library's names" "$scratch/other.c" \
        $(pkg-config --static --cflags --libs redlock)

# Wholly static. Debian's libuv.pc names only the shared library; libuv-static.pc names the archive.
if [ -n "$hiredis_root" ] || ! pkg-config --exists libuv-static 2>"$log"; then
    skip 'a program, wholly static' 'no static hiredis and libuv that pkg-config knows'
else
    # getaddrinfo() in a static program is a warning of the linker.
    # shellcheck disable=SC2046,SC2086
    build_and_run 'wholly static' -static $(pkg-config --cflags redlock) -L"$lib" -lredlock \
        -lhiredis $(pkg-config --libs libuv-static) $tls_libs -pthread
fi
mv "$scratch/aside"/* "$lib/"

# -- as a subproject --

# A clone in a folder of this name is found without a wrap file. In C99 uv.h needs _GNU_SOURCE.
super=$scratch/super
mkdir -p "$super/subprojects"
ln -s "$source" "$super/subprojects/libredlock"
cp "$here/downstream.c" "$source/examples/hold.c" "$super/"
cat >"$super/meson.build" <<'MESON'
project('super', 'c', default_options: ['c_std=c99', 'werror=true', 'warning_level=3', 'b_ndebug=true'])
add_project_arguments('-D_GNU_SOURCE', language: 'c')
redlock = dependency('libredlock', default_options: 'hiredis_root=' + get_option('hiredis_root'))
assert(redlock.version() == dependency('redlock').version())
executable('downstream', 'downstream.c', dependencies: redlock)
executable('hold', 'hold.c', dependencies: redlock)
MESON
echo "option('hiredis_root', type: 'string', value: '$hiredis_root')" >"$super/meson_options.txt"
{
    PKG_CONFIG_PATH='' meson setup "$super/build" "$super" -Ddefault_library=static -Doptimization=0 \
        -Ddebug=false &&
        ninja -C "$super/build" && "$super/build/downstream" "$version"
} >"$log" 2>&1
result 'a program in C99 that has it as a subproject, static' $? "$log"
! readelf -d "$super/build/downstream" 2>"$log" | grep -q 'NEEDED.*libredlock' &&
    nm "$super/build/downstream" | grep -q ' T redlock_version'
result '... is linked with the archive' $? "$log"
# shellcheck disable=SC2046
"$super/build/hold" $(cat "$scratch/nodes/urls") >"$log" 2>&1 && grep -qx 'release: success' "$log"
result '... and holds a lock' $? "$log"
# Another name, which a wrap file knows. A subproject remembers the value that it began with.
sed -i "s/'libredlock'/'redlock'/" "$super/meson.build"
cp "$source/examples/redlock.wrap" "$super/subprojects/"
{
    PKG_CONFIG_PATH='' meson configure "$super/build" -Ddefault_library=shared \
        -Dlibredlock:default_library=shared &&
        ninja -C "$super/build" && "$super/build/downstream" "$version"
} >"$log" 2>&1
result '... shared, and found by a wrap file' $? "$log"
readelf -d "$super/build/downstream" 2>"$log" | grep -q 'NEEDED.*libredlock\.so'
result '... is linked with the shared library' $? "$log"

# -- symbols --

cat "$prefix"/include/redlock/*.h | tr '\n' ' ' | grep -o 'REDLOCK_API [^(;]*redlock_[a-z0-9_]*(' |
    sed 's/.*\(redlock_[a-z0-9_]*\)($/\1/' | sort -u >"$scratch/declared"
nm -D --defined-only "$lib/libredlock.so" | awk '$2 != "A" { print $3 }' | sort -u >"$scratch/exported"
sed "s/\$/@@REDLOCK_$soversion/" "$scratch/declared" | diff - "$scratch/exported" >"$log" 2>&1 &&
    [ "$(wc -l <"$scratch/declared")" -gt 10 ]
result 'the shared library exports what the headers declare (<) and nothing else (>)' $? "$log"
nm -g --defined-only "$lib/libredlock.a" | awk 'NF == 3 { print $3 }' | sort -u |
    diff "$scratch/declared" - >"$log" 2>&1
result '... and so does the archive' $? "$log"
readelf -d "$lib/libredlock.so" 2>"$log" | grep -q 'FLAGS.*NOW'
result 'the calls of the shared library are bound at its start: see live/secret' $? "$log"


# -- what debian/ repeats --

[ "$(sed -n '1s/^libredlock (\(.*\)) .*/\1/p' "$source/debian/changelog")" = "$version" ]
result "the version in debian/changelog is $version" $?
grep -qx "Package: libredlock$soversion" "$source/debian/control" &&
    grep -qx "libredlock.so.$soversion libredlock$soversion #MINVER#" \
        "$source/debian/libredlock$soversion.symbols" &&
    [ -e "$source/debian/libredlock$soversion.install" ]
result "Debian's package of the library is named by its soversion, $soversion" $?

finish
