//! Names of the source file and its folder.

use std::fmt;

/// The file that source locations refer to, and the folder that its name is relative to.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    file: &'a str,
    folder: &'a str,
}

impl<'a> Source<'a> {
    /// Returns the names for debug information.
    ///
    /// # Errors
    /// If a name is empty or contains a zero byte.
    pub fn new(file: &'a str, folder: &'a str) -> Result<Source<'a>, InvalidName> {
        match [file, folder].into_iter().find(|name| name.is_empty() || name.contains('\0')) {
            Some(name) => Err(InvalidName(name.into())),
            None => Ok(Source { file, folder }),
        }
    }

    /// Returns the name of the file.
    pub fn file(&self) -> &'a str {
        self.file
    }

    /// Returns the name of the folder.
    pub fn folder(&self) -> &'a str {
        self.folder
    }
}

/// A name that debug information cannot have: it is empty or contains a zero byte.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InvalidName(pub String);

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid name of a source file or folder {:?}", self.0)
    }
}

impl std::error::Error for InvalidName {}
