#!/bin/sh
# Installs the C interface: header, static and shared library, and the file for pkg-config.
# Usage: [DESTDIR=FOLDER] sh install.sh STATIC-LIBRARY PREFIX
set -eu

library=$1
prefix=$2
source=$(dirname "$0")
root=${DESTDIR:-}$prefix
version=$(sed -n 's/^#define KINGPOST_VERSION_STRING "\(.*\)"$/\1/p' "$source/include/kingpost.h")
# Before version 1, each minor version has an interface of its own.
interface=${version%.*}
# Libraries of the system that Rust's standard library needs.
system="-lgcc_s -lutil -lrt -lpthread -lm -ldl"

mkdir -p "$root/include" "$root/lib/pkgconfig"
cp "$source/include/kingpost.h" "$root/include/kingpost.h"
cp "$library" "$root/lib/libkingpost.a"

# Programs that are linked with one interface do not find their symbols in a library with another one.
versions=$root/lib/kingpost.map
trap 'rm -f "$versions"' EXIT
printf 'KINGPOST_%s {\n    global: kp_*;\n    local: *;\n};\n' "$interface" >"$versions"
"${CC:-cc}" -shared -o "$root/lib/libkingpost.so.$version" \
	-Wl,-soname,"libkingpost.so.$interface" -Wl,--version-script="$versions" -Wl,-z,defs -Wl,--strip-debug \
	-Wl,--gc-sections -Wl,--whole-archive "$library" -Wl,--no-whole-archive $system
ln -sf "libkingpost.so.$version" "$root/lib/libkingpost.so.$interface"
ln -sf "libkingpost.so.$interface" "$root/lib/libkingpost.so"

cat >"$root/lib/pkgconfig/kingpost.pc" <<END
prefix=$(printf %s "$prefix" | sed "s/ /\\\\ /g")
includedir=\${prefix}/include
libdir=\${prefix}/lib

Name: kingpost
Description: A compiler back end: functions in SSA form become x86-64 and AArch64 machine code.
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -lkingpost
Libs.private: $system
END
