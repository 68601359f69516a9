//! Messages about the allocator in use, each printed once.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Whether messages are requested. The environment is read once, because clients compile many functions.
static IS_ON: LazyLock<bool> = LazyLock::new(|| std::env::var("KINGPOST_LOG").is_ok_and(|value| value == "1"));

/// The printed messages.
static PRINTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Prints a message with `KINGPOST_LOG=1`.
pub(crate) fn print(message: impl FnOnce() -> String) {
    if *IS_ON {
        warn(message());
    }
}

/// Prints a message.
pub(crate) fn warn(message: String) {
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    if !printed.contains(&message) {
        eprintln!("{message}");
        printed.insert(message);
    }
}
