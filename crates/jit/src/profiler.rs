//! Names of functions in memory for the profiler `perf`, in the file that it reads for code without a file.
//!
//! Other users may write to the folder of that file and guess its name. The file is therefore opened only if it is a
//! regular file of this user with a single name. No link is followed.

use crate::symbol_file::NamedCode;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Adds functions to the map of this process. Ignores failures, because without such a file a profile only lacks
/// names. Has no effect on Windows, which lacks the profiler.
pub fn add_to_perf_map<'a>(functions: impl IntoIterator<Item = NamedCode<'a>>) {
    let path = format!("/tmp/perf-{}.map", std::process::id());
    let Some(mut file) = open(Path::new(&path)) else { return };
    // A single write, so that threads do not mix their lines.
    let _ = file.write_all(lines(functions).as_bytes());
}

/// Opens or creates the file of a map. Returns `None` if something else has its name.
#[cfg(unix)]
fn open(path: &Path) -> Option<File> {
    use std::fs::{self, OpenOptions};
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    let mut options = OpenOptions::new();
    // A pipe without a reader must not block the process.
    options.create(true).append(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(path).ok()?;
    let found = file.metadata().ok()?;
    let user = fs::metadata("/proc/self").ok()?.uid();
    (found.is_file() && found.uid() == user && found.nlink() == 1).then_some(file)
}

#[cfg(windows)]
fn open(_path: &Path) -> Option<File> {
    None
}

/// Returns one line per function: address and size in hexadecimal, and the name with control characters escaped.
fn lines<'a>(functions: impl IntoIterator<Item = NamedCode<'a>>) -> String {
    let mut lines = String::new();
    for (address, bytes, name) in functions {
        lines += &format!("{address:x} {bytes:x} ");
        for c in name.chars() {
            if c.is_control() { lines.extend(c.escape_default()) } else { lines.push(c) }
        }
        lines.push('\n');
    }
    lines
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn each_function_has_one_line() {
        assert_eq!(lines([(0x10, 2, "a b"), (0x20, 3, "c\n10 2 d\r")]), "10 2 a b\n20 3 c\\n10 2 d\\r\n");
    }

    #[test]
    fn only_plain_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for text in ["a", "b"] {
            open(&at("map")).unwrap().write_all(text.as_bytes()).unwrap();
        }
        assert_eq!(fs::read_to_string(at("map")).unwrap(), "ab");
        fs::write(at("precious"), "x").unwrap();
        symlink(at("precious"), at("link")).unwrap();
        symlink(at("nothing"), at("dangling")).unwrap();
        fs::hard_link(at("precious"), at("second name")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(pipe.success());
        for name in ["link", "dangling", "second name", "folder", "pipe"] {
            assert!(open(&at(name)).is_none(), "{name}");
        }
        assert!(!at("nothing").exists());
        assert_eq!(fs::read_to_string(at("precious")).unwrap(), "x");
    }
}
