//! Checks that the crate shares no code with the crates that select and encode instructions.

use std::fs;
use std::path::{Path, PathBuf};

const FORBIDDEN: [&str; 5] = ["kingpost-isa", "kingpost_isa", "kingpost-mach\"", "kingpost_mach::", "codegen"];

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, into) } else { into.push(path) }
    }
}

#[test]
fn the_crate_names_no_encoder() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = vec![root.join("Cargo.toml")];
    files(&root.join("src"), &mut all);
    assert!(all.len() > 5, "the sources are found");
    for path in all {
        let text = fs::read_to_string(&path).unwrap();
        let manifest = path.ends_with("Cargo.toml");
        for word in FORBIDDEN {
            assert!(!text.contains(word), "{} names {word}", path.display());
        }
        let is_arrow = |line: &&str| line.starts_with("kingpost-") && !line.starts_with("kingpost-smt");
        assert!(!manifest || !text.lines().any(|line| is_arrow(&line)), "the only dependency is kingpost-smt");
    }
}
