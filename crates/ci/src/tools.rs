//! System tools that tests need.

use std::path::Path;

/// The command that installs the tools.
pub(crate) const INSTALL: &str = "make deps";

/// Every tool that some test needs.
const TOOLS: &[&str] = &[
    "as",
    "ld",
    "cc",
    "g++",
    "size",
    "readelf",
    "cmp",
    "sort",
    "sha256sum",
    "base64",
    "factor",
    "awk",
    "xz",
    "aarch64-linux-gnu-as",
    "aarch64-linux-gnu-ld",
    "aarch64-linux-gnu-gcc",
    "aarch64-linux-gnu-g++",
    "aarch64-linux-gnu-size",
    "qemu-aarch64",
    "z3",
    "cvc5",
    "chromium",
    "gdb",
    "lldb",
    "valgrind",
    "pkg-config",
    "python3",
    "redis-server",
    "x86_64-w64-mingw32-gcc",
    "x86_64-w64-mingw32-g++",
    "wine",
    "lld-link",
    "clang",
    "llvm-objdump",
    "llvm-dwarfdump",
];

/// Returns `true` if a folder of `PATH` has a file of this name.
pub(crate) fn is_here(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| Path::new(&folder).join(tool).is_file())
}

/// Returns the tools that are missing.
pub(crate) fn missing() -> Vec<&'static str> {
    TOOLS.iter().copied().filter(|tool| !is_here(tool)).collect()
}

/// Prints the tools that are missing, and returns `true` if there is none.
pub(crate) fn report_missing() -> bool {
    let missing = missing();
    if !missing.is_empty() {
        println!("missing tools: {}; `{INSTALL}` installs them, as root", missing.join(" "));
    }
    missing.is_empty()
}
