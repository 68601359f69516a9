//! The interface of stores.

use siphasher::sip128::{Hasher128, SipHasher13};
use std::fmt;
use std::hash::Hash;

/// Key of an entry: a hash of 128 bits. Displayed as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key(pub u128);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A store of entries by key. Threads share it.
///
/// A store may lose entries, and may return wrong ones: the cache checks each. It must not block for long, because a
/// compilation waits for it. Every writer of the store can choose the code, because the check is no signature.
pub trait Store: Send + Sync {
    /// Returns the entry that was put last under `key`, or `None` if there is none or it cannot be read.
    fn get(&self, key: Key) -> Option<Vec<u8>>;

    /// Adds an entry. A store that cannot keep it drops it.
    fn put(&self, key: Key, entry: &[u8]);
}

/// Returns the hash of a value. It is equal in all processes of one build of the compiler. Its key is public, so it
/// excludes accidental collisions only.
pub(super) fn hash(value: impl Hash) -> u128 {
    let mut hasher = SipHasher13::new();
    value.hash(&mut hasher);
    hasher.finish128().as_u128()
}
