//! Parts of dropped compilers, kept for the next compiler with equal settings. Creating them takes longer than
//! compiling a small function, and clients create a module for each function.

use crate::compiler::Routines;
use cranelift_codegen::isa::TargetIsa;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};

/// Everything that determines the parts of a compiler.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Key {
    /// Target, settings and CPU flags, in the form in which they are hashed.
    target: Vec<u8>,
    regalloc: Option<String>,
    routines: Routines,
}

/// Size in bytes that most keys fit.
const KEY_BYTES: usize = 128;

/// A hasher that collects bytes, so that equal bytes mean equal values.
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

/// A hasher that compares bytes with expected ones.
struct Comparison<'a> {
    /// Bytes that are still expected; `None` after a difference.
    expected: Option<&'a [u8]>,
}

impl Hasher for Comparison<'_> {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.expected = self.expected.and_then(|expected| expected.strip_prefix(bytes));
    }
}

fn hash(isa: &dyn TargetIsa, hasher: &mut impl Hasher) {
    (isa.triple(), isa.flags(), isa.isa_flags_hash_key()).hash(hasher);
}

impl Key {
    /// Returns the key of compilers for `isa` with an allocator by name, if it is given, and with library routines.
    pub(crate) fn new(isa: &dyn TargetIsa, regalloc: Option<&str>, routines: Routines) -> Key {
        let mut target = Bytes(Vec::with_capacity(KEY_BYTES));
        hash(isa, &mut target);
        Key { target: target.0, regalloc: regalloc.map(str::to_string), routines }
    }

    /// Returns `true` if the key has the target, settings and CPU flags of `isa`.
    pub(crate) fn is_for(&self, isa: &dyn TargetIsa) -> bool {
        let mut comparison = Comparison { expected: Some(&self.target) };
        hash(isa, &mut comparison);
        comparison.expected.is_some_and(<[u8]>::is_empty)
    }

    pub(crate) fn routines(&self) -> Routines {
        self.routines
    }
}

/// Parts that are available for a compiler, in the order in which they were dropped.
pub(crate) struct Pool<T>(Mutex<Vec<(Key, T)>>);

/// Maximum number of parts in a pool.
const MOST: usize = 16;

impl<T> Pool<T> {
    pub(crate) const fn new() -> Pool<T> {
        Pool(Mutex::new(Vec::new()))
    }

    /// Takes the most recently kept parts with this key.
    pub(crate) fn take(&self, key: &Key) -> Option<T> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = kept.iter().rposition(|(of, _)| of == key)?;
        Some(kept.remove(index).1)
    }

    /// Keeps parts, and removes the oldest parts if there are too many.
    pub(crate) fn keep(&self, key: Key, parts: T) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = if kept.len() == MOST { Some(kept.remove(0)) } else { None };
        kept.push((key, parts));
        // Dropped without the lock, because large parts take a while to free.
        drop((kept, oldest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_codegen::isa::{self, OwnedTargetIsa};
    use cranelift_codegen::settings::{self, Configurable};

    fn isa(level: &str) -> OwnedTargetIsa {
        let mut flags = settings::builder();
        flags.set("opt_level", level).unwrap();
        isa::lookup(target_lexicon::Triple::host()).unwrap().finish(settings::Flags::new(flags)).unwrap()
    }

    fn key(level: &str, regalloc: Option<&str>) -> Key {
        Key::new(&*isa(level), regalloc, Routines::All)
    }

    #[test]
    fn keys_differ_where_compilers_do() {
        let plain = key("none", None);
        assert_eq!(plain, key("none", None));
        assert_ne!(plain, key("speed", None));
        assert_ne!(plain, key("none", Some("ssa")));
        assert!(plain.is_for(&*isa("none")) && !plain.is_for(&*isa("speed")));
    }

    #[test]
    fn the_last_parts_of_a_key_come_first() {
        let (pool, a, b) = (Pool::new(), key("none", None), key("speed", None));
        (0..20).for_each(|n| pool.keep(if n % 2 == 0 { a.clone() } else { b.clone() }, n));
        assert_eq!((pool.take(&a), pool.take(&a), pool.take(&b)), (Some(18), Some(16), Some(19)));
        let left = std::iter::from_fn(|| pool.take(&a).or_else(|| pool.take(&b)));
        assert_eq!(left.count(), MOST - 3);
    }
}
