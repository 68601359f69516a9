//! Standard streams, and files that appear whole or not at all.

use crate::input::is_stream;
use crate::outcome::Stop;
use std::fs::Permissions;
use std::io::{BufWriter, StdoutLock, Write};
use std::path::Path;

/// Standard output, with a buffer. To be flushed at the end.
pub(crate) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::new(std::io::stdout().lock())
}

/// A line on standard error. That it may be closed is nobody's concern.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", text.trim_end());
}

/// Writes a file whole or not at all: under another name in the same folder first. Standard output for `-`, and what is
/// no regular file, as `/dev/null`, is written to directly.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Stop> {
    if is_stream(path) {
        let mut out = std::io::stdout().lock();
        out.write_all(bytes)?;
        return Ok(out.flush()?);
    }
    let failed = |error: std::io::Error| Stop::Failure(format!("{}: {error}", path.display()));
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return std::fs::write(path, bytes).map_err(failed);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".kingpost-").permissions(permissions());
    let mut file = builder.tempfile_in(folder).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Those of an ordinary new file; the process's mask is taken from them.
fn permissions() -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    Permissions::from_mode(0o666)
}

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
}
