//! The packages of this folder for other versions of Cranelift.
//!
//! A package depends on one version of Cranelift exactly, and its own version is that version. For another one, manifests with
//! that version are made in `.upstream/VERSION`, in the same folders. They have the same sources.

use crate::{read, write};
use std::path::{Path, PathBuf};

/// The packages, by their folders, beginning with the workspace. The last four are for programs on Wasmtime.
const PACKAGES: [&str; 9] = [
    "",
    "core",
    "drop-in/cranelift-codegen",
    "drop-in/cranelift-jit",
    "drop-in/cranelift-object",
    "kingpost-wasm",
    "clients/stock",
    "clients/suite",
    "clients/wasmtime",
];

/// The minor versions of Cranelift that are supported, with the major version of Wasmtime that belongs to each, and features of
/// `core`. Patch versions of both are equal.
const MINORS: [(&str, &str, &[&str]); 3] =
    [("0.135.", "48.0.", &[]), ("0.136.", "49.0.", &[]), ("0.137.", "50.0.", &["since-0-137"])];

/// Makes the packages for `version` in `folder`, from the ones for the version `usual` in `root`. Returns their folder.
///
/// # Errors
/// If the version is not supported, or files cannot be read or written.
pub(crate) fn make(root: &Path, folder: &Path, usual: &str, version: &str) -> Result<PathBuf, String> {
    let (wasmtime, features) = minor(version)?;
    let versions = [(usual, version), (&*minor(usual)?.0, &*wasmtime)];
    let made = folder.join(version);
    for package in PACKAGES {
        let manifest = read(&root.join(package).join("Cargo.toml"))?;
        let features = if package == "core" { features } else { &[] };
        let text = of_version(&manifest, &root.join(package), &versions, features);
        write(&made.join(package).join("Cargo.toml"), &text)?;
    }
    Ok(made)
}

/// Returns the version of Wasmtime that belongs to a version of Cranelift, and the features of `core` for it.
///
/// # Errors
/// If the version is not supported.
fn minor(version: &str) -> Result<(String, &'static [&'static str]), String> {
    let of_minor = |(minor, wasmtime, features): &(&str, &str, &'static [&'static str])| {
        Some((format!("{wasmtime}{}", version.strip_prefix(minor)?), *features))
    };
    MINORS.iter().find_map(of_minor).ok_or_else(|| {
        let known: Vec<&str> = MINORS.iter().map(|(minor, ..)| minor.trim_end_matches('.')).collect();
        format!("cranelift-codegen {version} is not supported: the minor versions are {}", known.join(", "))
    })
}

/// Returns the manifest of the package in `folder` with other versions. Its sources and our crates are where they were, and the
/// features are on.
fn of_version(manifest: &str, folder: &Path, versions: &[(&str, &str)], features: &[&str]) -> String {
    let mut text = String::new();
    let library = folder.join("src/lib.rs");
    let mut needs_library = library.exists();
    for line in manifest.lines().filter(|line| !line.starts_with("rust-version = ")) {
        let line = with_whole_path(line, folder).replace(", \"regalloc2\"]", "]");
        text.push_str(&versions.iter().fold(line.clone(), |line, (from, to)| line.replace(from, to)));
        text.push('\n');
        if line == "[lib]" {
            text.push_str(&format!("path = {library:?}\n"));
            needs_library = false;
        }
        if line == "[features]" && !features.is_empty() {
            text.push_str(&format!("default = {features:?}\n"));
        }
    }
    if needs_library {
        text.push_str(&format!("\n[lib]\npath = {library:?}\n"));
    }
    text
}

/// Returns a line with the whole path of a source or of one of our crates, if it has a path to one.
fn with_whole_path(line: &str, folder: &Path) -> String {
    let found = line.split_once("path = \"").and_then(|(before, rest)| Some((before, rest.split_once('"')?)));
    match found {
        Some((before, (path, after))) if path.ends_with(".rs") || path.contains("crates/") => {
            format!("{before}path = {:?}{after}", folder.join(path))
        }
        _ => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_for_another_version_has_the_same_sources() {
        let manifest = "[package]\nversion = \"1.2.3\"\nrust-version = \"1.95\"\n\n[features]\nnew = []\n\n[dependencies]\n\
            mine = { path = \"../crates/mine\" }\nnext = { path = \"../next\" }\ntheirs = \"=1.2.3\"\n\n[[bin]]\n\
            path = \"src/main.rs\"\n";
        let expected = "[package]\nversion = \"1.3.0\"\n\n[features]\ndefault = [\"new\"]\nnew = []\n\n[dependencies]\n\
            mine = { path = \"/here/../crates/mine\" }\nnext = { path = \"../next\" }\ntheirs = \"=1.3.0\"\n\n[[bin]]\n\
            path = \"/here/src/main.rs\"\n";
        assert_eq!(of_version(manifest, Path::new("/here"), &[("1.2.3", "1.3.0")], &["new"]), expected);
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core");
        let library = format!("[lib]\npath = {:?}\n", here.join("src/lib.rs"));
        for manifest in ["[package]\n", "[lib]\n"] {
            assert!(of_version(manifest, &here, &[], &[]).ends_with(&library), "{manifest}");
        }
    }

    #[test]
    fn other_versions_are_refused_by_name() {
        assert_eq!(minor("0.137.1").unwrap(), ("50.0.1".into(), &["since-0-137"][..]));
        let error = minor("0.12.1").unwrap_err();
        assert_eq!(error, "cranelift-codegen 0.12.1 is not supported: the minor versions are 0.135, 0.136, 0.137");
    }
}
