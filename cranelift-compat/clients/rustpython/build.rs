//! Finds the tests in the source of `rustpython-jit` that Cargo unpacked.

use std::env;
use std::path::Path;
use std::process::Command;

const MANIFEST: &str = "rustpython-jit-0.6.0/Cargo.toml";

fn main() {
    let of_cargo = |name| env::var(name).expect("Cargo sets it");
    // Packages for other platforms need not be there.
    let platform = of_cargo("TARGET");
    let words = ["metadata", "--format-version=1", "--offline", "--filter-platform", &platform];
    let metadata = Command::new(of_cargo("CARGO")).args(words).output();
    let metadata = String::from_utf8(metadata.expect("Cargo runs").stdout).expect("Cargo writes UTF-8");
    // Paths are between quotation marks.
    let manifest = metadata.split('"').find(|path| path.ends_with(MANIFEST)).expect("it is a dependency");
    let tests = Path::new(manifest).with_file_name("tests").join("lib.rs");
    println!("cargo::rustc-env=RUSTPYTHON_JIT_TESTS={}", tests.display());
    println!("cargo::rerun-if-changed=Cargo.lock");
}
