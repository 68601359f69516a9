#!/bin/sh
# Installs the C interface: header, static and shared library, and the file for pkg-config. With CC=x86_64-w64-mingw32-gcc,
# the library is for Windows, and the shared one is a DLL with its import library.
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

versions=$root/lib/kingpost.map
trap 'rm -f "$versions"' EXIT
case $("${CC:-cc}" -dumpmachine) in
*mingw*)
	# The name of the library has the interface, as symbols of Windows have no versions.
	system="-lkernel32 -lntdll -luserenv -lws2_32 -ldbghelp"
	mkdir -p "$root/bin"
	printf 'EXPORTS\n' >"$versions"
	grep -o '\bkp_[a-z0-9_]*(' "$source/include/kingpost.h" | tr -d '(' | sort -u >>"$versions"
	mv "$versions" "$versions.def"
	trap 'rm -f "$versions.def"' EXIT
	"${CC:-cc}" -shared -o "$root/bin/libkingpost-$interface.dll" "$versions.def" "$library" \
		-Wl,--out-implib,"$root/lib/libkingpost.dll.a" -Wl,--gc-sections -Wl,--strip-debug -static-libgcc $system
	;;
*)
	# Programs that are linked with one interface do not find their symbols in a library with another one.
	printf 'KINGPOST_%s {\n    global: kp_*;\n    local: *;\n};\n' "$interface" >"$versions"
	"${CC:-cc}" -shared -o "$root/lib/libkingpost.so.$version" \
		-Wl,-soname,"libkingpost.so.$interface" -Wl,--version-script="$versions" -Wl,-z,defs -Wl,--strip-debug \
		-Wl,--gc-sections -Wl,--whole-archive "$library" -Wl,--no-whole-archive $system
	ln -sf "libkingpost.so.$version" "$root/lib/libkingpost.so.$interface"
	ln -sf "libkingpost.so.$interface" "$root/lib/libkingpost.so"
	;;
esac

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
