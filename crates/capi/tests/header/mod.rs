//! Checks that `include/kingpost.h` is what the sources say, and that C and C++ compilers accept it.
//!
//! `KINGPOST_BLESS=1` rewrites the header.

mod constants;
mod generate;
mod rust;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn header() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include/kingpost.h")
}

#[test]
fn the_header_is_what_the_sources_say() {
    let text = generate::header();
    if std::env::var_os("KINGPOST_BLESS").is_some() {
        fs::write(header(), &text).expect("written");
    }
    let committed = fs::read_to_string(header()).unwrap_or_default();
    assert!(
        committed == text,
        "include/kingpost.h is stale: KINGPOST_BLESS=1 cargo test -p kingpost-capi --test all header::"
    );
}

#[test]
fn all_functions_have_the_frame_that_catches_panics() {
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).expect("the sources") {
        let path = file.expect("a file").path();
        let text = fs::read_to_string(&path).expect("a source");
        // The macro `entries` is in this file.
        let is_frame = path.ends_with("entry.rs");
        for word in ["no_mangle", "export_name", "extern \"C\" fn"] {
            assert!(is_frame || !text.contains(word), "{} has `{word}`", path.display());
        }
    }
}

#[test]
fn compilers_of_c_and_cpp_accept_the_header() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("use.c");
    fs::write(&source, "#include <kingpost.h>\n#include <kingpost.h>\n").expect("written");
    for (compiler, standards) in [("cc", &["c89", "c99", "c11", "c17"][..]), ("c++", &["c++11", "c++17"][..])] {
        if Command::new(compiler).arg("--version").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "CI has {compiler}");
            eprintln!("SKIPPED: compilers_of_c_and_cpp_accept_the_header: no {compiler}");
            continue;
        }
        for standard in standards {
            let mut command = Command::new(compiler);
            command.args(["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", &format!("-std={standard}")]);
            command.args(["-x", if compiler == "cc" { "c" } else { "c++" }]);
            command.arg("-I").arg(header().parent().expect("a folder")).arg(&source);
            let output = command.output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success() && said.is_empty(), "{compiler} -std={standard}: {said}");
        }
    }
}
