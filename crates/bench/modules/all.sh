#!/bin/sh
# Downloads the WebAssembly modules of the tables from npm, and writes their CLIF to the folder `clif` beside this file:
# of all modules, or of the modules that are named. Usage: all.sh [NAME...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Name of the table, package with version, file in it, and N to take every Nth function.
modules() {
    cat <<END
argon2 argon2-browser@1.18.0 dist/argon2-simd.wasm 1
source-map source-map@0.8.0 lib/mappings.wasm 1
zstd @bokuweb/zstd-wasm@0.0.27 dist/web/zstd.wasm 1
tree-sitter web-tree-sitter@0.27.1 web-tree-sitter.wasm 1
lua wasmoon@1.16.0 dist/glue.wasm 1
sqlite @sqlite.org/sqlite-wasm@3.41.2 sqlite-wasm/jswasm/sqlite3.wasm 1
brotli brotli-wasm@3.0.1 pkg.web/brotli_wasm_bg.wasm 1
draco-decoder draco3d@1.5.9 draco_decoder.wasm 1
rapier3d @dimforge/rapier3d@0.21.0 rapier_wasm3d_bg.wasm 4
tfjs-simd @tensorflow/tfjs-backend-wasm@4.22.0 dist/tfjs-backend-wasm-simd.wasm 1
END
}

names=${*:-$(modules | cut -d ' ' -f 1)}
for name in $names; do
    row=$(modules | grep "^$name ") || {
        echo "there is no module $name; there are" $(modules | cut -d ' ' -f 1) >&2
        exit 2
    }
    set -- $row
    mkdir -p "$work/$name" "$here/clif"
    archive=$(cd "$work" && npm pack --silent "$2")
    tar -xzf "$work/$archive" -C "$work/$name"
    cargo run --quiet --manifest-path "$here/Cargo.toml" -- "$work/$name/package/$3" "$here/clif/$name.clif" "$4"
done
