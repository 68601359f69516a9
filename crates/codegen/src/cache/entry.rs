//! The form of an entry: magic number, key, compiled function, and the hash of all of it.

use super::store::{Key, hash};
use kingpost_mach::{FunctionView, ModuleBuffer};

/// First bytes of an entry. The digit is the version of the form.
const MAGIC: &[u8] = b"kpcache1";

/// Returns the entry of a compiled function.
pub(super) fn write(key: Key, function: &FunctionView<'_>) -> Vec<u8> {
    let mut entry = Vec::with_capacity(512 + 2 * function.code.len());
    entry.extend_from_slice(MAGIC);
    entry.extend_from_slice(&key.0.to_le_bytes());
    function.write(&mut entry);
    entry.extend_from_slice(&hash(&entry[..]).to_le_bytes());
    entry
}

/// Adds the compiled function of an entry to `module`. Returns `None`, and leaves `module` unchanged, if the entry does
/// not belong to `key`, or was changed.
pub(super) fn read(key: Key, entry: &[u8], module: &mut ModuleBuffer) -> Option<()> {
    let (content, sum) = entry.split_last_chunk()?;
    if hash(content) != u128::from_le_bytes(*sum) {
        return None;
    }
    let content = content.strip_prefix(MAGIC)?.strip_prefix(&key.0.to_le_bytes())?;
    module.read_function(content)
}
