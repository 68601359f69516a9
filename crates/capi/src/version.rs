//! The version of the library.

use crate::entry::entries;

/// The version as a number: major times 10000, minor times 100, and patch.
pub const KINGPOST_VERSION: u32 = 100 * 100 * number(env!("CARGO_PKG_VERSION_MAJOR"))
    + 100 * number(env!("CARGO_PKG_VERSION_MINOR"))
    + number(env!("CARGO_PKG_VERSION_PATCH"));

/// Returns the number that these digits spell.
const fn number(digits: &str) -> u32 {
    let (bytes, mut index, mut value) = (digits.as_bytes(), 0, 0);
    while index < bytes.len() {
        value = value * 10 + (bytes[index] - b'0') as u32;
        index += 1;
    }
    value
}

entries! {
    /// Returns the version of the library, in the form of `KINGPOST_VERSION`, which is the version of the header.
    /// Before version 1, a program works with a library of the same minor version.
    fn kp_version() -> u32 {
        KINGPOST_VERSION
    }
}
