//! Errors as values of the interface.

use std::any::Any;
use std::ffi::c_char;

/// Result of a function that can fail.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// No error.
    Ok = 0,
    /// An argument is a null pointer, is not UTF-8, or is out of its range.
    Argument = 1,
    /// A handle is null, is of another kind, or its object was freed.
    Handle = 2,
    /// The object is in use by another call: in another thread, or around a callback.
    Busy = 3,
    /// No setting, target, allocator, function or symbol has this name, or it does not accept this value.
    Name = 4,
    /// A text does not follow its grammar. The error has line and column.
    Text = 5,
    /// A function breaks a rule of the intermediate representation, or is built in a wrong way.
    Invalid = 6,
    /// The target or this version does not support something in the function.
    Unsupported = 7,
    /// A declaration or definition contradicts an earlier one.
    Module = 8,
    /// A module cannot be loaded or become an object; for instance, a symbol is undefined.
    Link = 9,
    /// The register allocator gave up, or the checker rejected its allocation.
    Allocation = 10,
    /// A limit is exceeded.
    Limit = 11,
    /// The system refused a file or memory.
    System = 12,
    /// A bug of this library. The object of the call is unusable.
    Bug = 13,
    /// The setting `validate_code` is on, and the emitted code of a function is refuted or not proved.
    Unproved = 14,
}

/// Number of bytes of a message with its final zero.
const MESSAGE: usize = 1000;

/// An error with its message. Memory of the caller; there is nothing to free.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Error {
    /// Kind of the error.
    pub status: Status,
    /// Line in the text, from 1; 0 if the error has no place in a text.
    pub line: u32,
    /// Column in characters, from 1; 0 if the error has no place in a text.
    pub column: u32,
    /// Bytes of the whole message. If they are 1000 or more, `message` is its beginning.
    pub length: u32,
    /// The message in UTF-8. It ends in a zero byte.
    pub message: [c_char; MESSAGE],
}

impl Error {
    /// The absence of an error.
    pub const NONE: Error = Error { status: Status::Ok, line: 0, column: 0, length: 0, message: [0; MESSAGE] };

    /// Returns the message.
    pub fn text(&self) -> String {
        let bytes: Vec<u8> = self.message.iter().take_while(|&&byte| byte != 0).map(|&byte| byte as u8).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Reason for which a function fails.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Failure {
        Failure { status, line: 0, column: 0, message: message.into() }
    }

    pub(crate) fn argument(message: impl Into<String>) -> Failure {
        Failure::new(Status::Argument, message)
    }

    /// Returns the failure at a place of a text.
    pub(crate) fn at(self, line: u32, column: u32) -> Failure {
        Failure { line, column, ..self }
    }

    /// Returns the failure for a caught panic.
    pub(crate) fn bug(panic: &(dyn Any + Send)) -> Failure {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Failure::new(Status::Bug, format!("a bug of the library: {}", text.unwrap_or("panic")))
    }

    /// Returns the error in the form of the interface.
    pub(crate) fn error(&self) -> Error {
        let mut error = Error { status: self.status, line: self.line, column: self.column, ..Error::NONE };
        error.length = self.message.len().try_into().unwrap_or(u32::MAX);
        let end = self.message.floor_char_boundary(MESSAGE - 1);
        for (to, &from) in error.message.iter_mut().zip(&self.message.as_bytes()[..end]) {
            // A zero byte would end the message early.
            *to = if from == 0 { b'?' as c_char } else { from as c_char };
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut_between_characters() {
        let error = Failure::argument("ä".repeat(600)).error();
        assert_eq!((error.length, error.text()), (1200, "ä".repeat(499)));
        let error = Failure::argument("a\0b").at(3, 4).error();
        assert_eq!((error.text().as_str(), error.line, error.column), ("a?b", 3, 4));
    }
}
