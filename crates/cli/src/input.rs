//! Files and standard input.

use crate::outcome::Stop;
use kingpost_reader::{Lines, Position};
use std::cell::RefCell;
use std::io::Read;
use std::path::Path;

/// A text and the name by which errors call it.
#[derive(Default)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) text: Vec<u8>,
    /// Where the last error was, so that many cost no more than the text.
    lines: RefCell<Lines>,
}

impl Input {
    /// Line and column of a byte.
    pub(crate) fn position(&self, offset: usize) -> Position {
        self.lines.borrow_mut().position(&self.text, offset)
    }
}

/// Whether a path stands for a standard stream.
pub(crate) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Reads a file, or standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<Input, Stop> {
    if !is_stream(path) {
        let name = path.display().to_string();
        let text = std::fs::read(path).map_err(|error| Stop::Failure(format!("{name}: {error}")))?;
        return Ok(Input { name, text, ..Input::default() });
    }
    let name = "<stdin>".to_string();
    let mut text = Vec::new();
    // One byte more than can be read shows that there is too much.
    let limit = kingpost_reader::MAX_TEXT_BYTES as u64 + 1;
    let read = std::io::stdin().lock().take(limit).read_to_end(&mut text);
    read.map_err(|error| Stop::Failure(format!("{name}: {error}")))?;
    Ok(Input { name, text, ..Input::default() })
}
