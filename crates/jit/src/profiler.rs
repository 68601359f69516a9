//! Functions in memory made known to the profiler `perf`, by the file in which it looks for names of code that no file has.

use crate::debugger::NamedCode;
use std::fs::OpenOptions;
use std::io::Write;

/// Adds functions to the map of this process. Without such a file a profile has addresses in place of names, which is no reason
/// to fail.
pub fn add_to_perf_map<'a>(functions: impl IntoIterator<Item = NamedCode<'a>>) {
    let path = format!("/tmp/perf-{}.map", std::process::id());
    let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path) else { return };
    let mut lines = String::new();
    for (address, bytes, name) in functions {
        lines += &format!("{address:x} {bytes:x} {name}\n");
    }
    // One write, so that threads do not mix their lines.
    let _ = file.write_all(lines.as_bytes());
}
