//! Standard streams, and files that appear whole or not at all.

use crate::exit_status::Stop;
use crate::input::is_stream;
use std::fmt::Display;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};

/// Format of a list of results on standard output.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListFormat {
    /// Text for readers.
    Text,
    /// An array of JSON objects.
    Json,
}

/// Format of a table of results.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TableFormat {
    /// Text for readers.
    Text,
    /// Comma-separated values, with a head line.
    Csv,
    /// An array of JSON objects.
    Json,
}

/// Writes rows as a JSON array, one row per line.
pub(crate) fn json_rows(out: &mut impl Write, rows: impl IntoIterator<Item = impl Display>) -> io::Result<()> {
    let mut separator = "[\n";
    for row in rows {
        write!(out, "{separator}{row}")?;
        separator = ",\n";
    }
    out.write_all(if separator == "[\n" { b"[]\n" } else { b"\n]\n" })?;
    out.flush()
}

/// Returns buffered standard output. The caller must flush it.
pub(crate) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::new(std::io::stdout().lock())
}

/// Writes a file whole or not at all, and follows symbolic links. `-` is standard output. A path that is no regular
/// file, such as `/dev/null`, is written to directly.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Stop> {
    if is_stream(path) {
        let mut out = std::io::stdout().lock();
        out.write_all(bytes)?;
        return Ok(out.flush()?);
    }
    let failed = |error: io::Error| Stop::Failure(format!("{}: {error}", path.display()));
    let target = &resolve_links(path);
    if std::fs::metadata(target).is_ok_and(|metadata| !metadata.is_file()) {
        return std::fs::write(target, bytes).map_err(failed);
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Some file systems do not support unnamed files.
    let Err(first) = write_unnamed(folder, target, bytes) else { return Ok(()) };
    let Err(second) = write_temporary(folder, target, bytes) else { return Ok(()) };
    // The second error names the temporary file, which a user does not know.
    Err(failed(if second.kind() == first.kind() { first } else { second }))
}

/// Returns the path at the end of the symbolic links that `path` refers to. The file need not exist.
fn resolve_links(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    // The limit of Linux (path_resolution(7)).
    for _ in 0..40 {
        let Ok(target) = std::fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// Writes a file that has no name until it is complete, so that no part of it remains if the process ends early. If
/// the file replaces another one, it has a temporary name between two system calls.
#[cfg(target_os = "linux")]
fn write_unnamed(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
    use std::os::fd::AsRawFd;
    let mode = Mode::from_raw_mode(ORDINARY);
    let mut file = std::fs::File::from(open(folder, OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, mode)?);
    file.write_all(bytes)?;
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    let name = |path: &Path| linkat(CWD, &unnamed, CWD, path, AtFlags::SYMLINK_FOLLOW);
    match name(path) {
        Err(error) if error == rustix::io::Errno::EXIST => {}
        done => return Ok(done?),
    }
    let other = folder.join(format!(".kingpost-{}", std::process::id()));
    name(&other)?;
    std::fs::rename(&other, path).inspect_err(|_| drop(std::fs::remove_file(&other)))
}

#[cfg(not(target_os = "linux"))]
fn write_unnamed(_: &Path, _: &Path, _: &[u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Writes a file with a temporary name in the folder of `path` first.
fn write_temporary(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".kingpost-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(ORDINARY));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

/// Permissions of an ordinary new file. The process's mask is removed from them.
#[cfg(unix)]
const ORDINARY: u32 = 0o666;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        assert!(write_whole(&path, b"one").is_ok() && write_whole(&path, b"two").is_ok());
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert!(write_whole(&folder.path().join("no/such/folder"), b"x").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write_whole(Path::new("/dev/null"), b"x").is_ok());
    }

    #[test]
    fn both_ways_replace_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        for write in [write_temporary, write_unnamed] {
            for text in [b"one", b"two"] {
                write(folder.path(), &path, text).unwrap();
                assert_eq!(std::fs::read(&path).unwrap(), text);
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn links_are_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("second", at("first")).unwrap();
        std::os::unix::fs::symlink(at("file"), at("second")).unwrap();
        for text in [b"new", b"old"] {
            assert!(write_whole(&at("first"), text).is_ok());
            assert_eq!(std::fs::read(at("file")).unwrap(), text);
        }
        assert!(at("first").is_symlink() && at("second").is_symlink());
        std::os::unix::fs::symlink("around", at("around")).unwrap();
        assert!(write_whole(&at("around/out"), b"x").is_err());
    }
}
