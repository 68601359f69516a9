//! The version of everything that a proof trusts: a hash of its sources.

use siphasher::sip::SipHasher13;
use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

/// Crates whose sources decide what is proved: the validator, the meanings of functions and of instructions, and terms.
const CRATES: [&str; 4] = ["validate", "machine-semantics", "semantics", "smt"];

/// Returns the hash of the lines of the sources that are not empty and not comments.
pub(crate) fn of_validator() -> u64 {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut hash = SipHasher13::new();
    for name in CRATES {
        let mut files = Vec::new();
        collect(&crates.join(name).join("src"), &mut files);
        files.sort();
        for file in files {
            let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
            for line in lines {
                hash.write(line.as_bytes());
                hash.write_u8(b'\n');
            }
        }
    }
    hash.finish()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}
