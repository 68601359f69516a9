//! Files and standard input.

use crate::exit_status::Stop;
use kingpost_reader::{Lines, Position};
use std::cell::{OnceCell, RefCell};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Maximum size in bytes of a text that stays in memory while functions from it are compiled.
const MAX_KEPT: usize = 1 << 22;

/// A text and its name in messages.
#[derive(Default)]
pub(crate) struct Input {
    pub(crate) name: String,
    path: PathBuf,
    /// The text. Empty until it is read again, if it was freed.
    text: OnceCell<Vec<u8>>,
    /// Position of the last error, so that the lines of the text are counted only once for all errors.
    lines: RefCell<Lines>,
}

impl Input {
    /// Returns the text, or an empty text if it must be read again and that fails.
    pub(crate) fn text(&self) -> &[u8] {
        let is_text = |text: &Vec<u8>| std::str::from_utf8(text).is_ok();
        self.text.get_or_init(|| std::fs::read(&self.path).ok().filter(is_text).unwrap_or_default())
    }

    /// Returns `true` if the input is a large file that can be read again.
    pub(crate) fn is_large_file(&self) -> bool {
        self.text().len() > MAX_KEPT && std::fs::metadata(&self.path).is_ok_and(|file| file.is_file())
    }

    /// Returns a copy of the input without its text.
    pub(crate) fn unread(&self) -> Input {
        Input { name: self.name.clone(), path: self.path.clone(), ..Input::default() }
    }

    /// Returns the line and the column of an offset.
    pub(crate) fn position(&self, offset: usize) -> Position {
        self.lines.borrow_mut().position(self.text(), offset)
    }
}

/// Returns `true` if a path names a standard stream.
pub(crate) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Reads a file, or standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<Input, Stop> {
    let name = if is_stream(path) { "<stdin>".to_string() } else { path.display().to_string() };
    let text = if is_stream(path) { read_stdin() } else { std::fs::read(path) };
    let text = text.map_err(|error| Stop::Failure(format!("{name}: {error}")))?;
    Ok(Input { name, path: path.to_path_buf(), text: text.into(), lines: RefCell::default() })
}

fn read_stdin() -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    // Reading one byte more than the limit detects input that is too large.
    let limit = kingpost_reader::MAX_TEXT_BYTES as u64 + 1;
    std::io::stdin().lock().take(limit).read_to_end(&mut text)?;
    Ok(text)
}

/// Returns the text of a file of rules, which must be UTF-8.
pub(crate) fn utf8(input: &Input) -> Result<&str, Stop> {
    std::str::from_utf8(input.text()).map_err(|error| {
        let position = input.position(error.valid_up_to());
        Stop::Failure(format!("{}:{position}: the text is not valid UTF-8", input.name))
    })
}
