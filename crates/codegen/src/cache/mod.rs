//! A cache of compiled functions, which outlives the process and which machines can share.
//!
//! The key of a function is a hash of everything that compilation reads: the function as it is in memory, the version of
//! the compiler, target, processor, settings, allocator, limits and passes. An entry is the compiled function with all
//! its tables. Entries that are incomplete, changed or of another key are misses.
//!
//! | file | holds |
//! |---|---|
//! | `mod.rs` | [`Cache`] |
//! | `store.rs` | the interface of stores: [`Store`] and [`Key`] |
//! | `entry.rs` | the form of an entry |
//! | `directory.rs` | a store in a folder: [`Directory`] |
//! | `redis.rs` | a store on a server, with the feature `redis` |

mod directory;
mod entry;
#[cfg(feature = "redis")]
mod redis;
mod store;

#[cfg(feature = "redis")]
pub use self::redis::Redis;
pub use directory::Directory;
pub use store::{Key, Store};

use crate::options::Options;
use kingpost_ir::Function;
use kingpost_mach::{FunctionView, ModuleBuffer};
use std::fmt::Debug;
use std::sync::Arc;
use store::hash;

/// A cache of compiled functions, for [`Compiler::with_cache`](crate::Compiler::with_cache).
///
/// ```
/// use kingpost_codegen::cache::{Cache, Key, Store};
/// use kingpost_codegen::compiled::ModuleBuffer;
/// use kingpost_codegen::{Compiler, Settings};
/// use std::collections::HashMap;
/// use std::sync::Mutex;
///
/// /// A store in memory.
/// #[derive(Default)]
/// struct Memory(Mutex<HashMap<Key, Vec<u8>>>);
///
/// impl Store for Memory {
///     fn get(&self, key: Key) -> Option<Vec<u8>> {
///         self.0.lock().unwrap().get(&key).cloned()
///     }
///
///     fn put(&self, key: Key, entry: &[u8]) {
///         self.0.lock().unwrap().insert(key, entry.into());
///     }
/// }
///
/// let compiler = Compiler::host(Settings::default()).unwrap().with_cache(Cache::new(Memory::default()));
/// let funcs = kingpost_reader::parse_functions("function %f(i32) -> i32 { block0(v0: i32): return v0 }").unwrap();
/// let (mut context, mut module) = (compiler.context(), ModuleBuffer::default());
/// for _ in 0..2 {
///     compiler.compile(&mut context, &mut funcs[0].clone(), &mut module).unwrap();
/// }
/// assert_eq!(module.function(0).code, module.function(1).code);
/// assert_eq!((context.stats().functions, context.stats().cache_hits), (2, 1));
/// ```
#[derive(Clone)]
pub struct Cache {
    store: Arc<dyn Store>,
    /// Hash of what keys depend on besides functions and options.
    base: u128,
    /// One of this many hits is compiled again; 0 for none.
    verified: u64,
}

impl Cache {
    /// Returns a cache in `store`.
    pub fn new(store: impl Store + 'static) -> Cache {
        Cache { store: Arc::new(store), base: hash(crate::VERSION), verified: 0 }
    }

    /// Returns a cache whose keys also depend on `salt`. Programs that change the compiler without changing its version
    /// need one, for instance the hash of their file.
    #[must_use]
    pub fn salted(mut self, salt: &[u8]) -> Cache {
        self.base = hash((self.base, salt));
        self
    }

    /// Returns a cache that compiles one of `every` hits again, chosen by their keys, and compares the results. The
    /// compilation fails with [`CompileError::Cached`](crate::CompileError::Cached) if they differ. 1 chooses all hits.
    #[must_use]
    pub fn verified(mut self, every: u64) -> Cache {
        self.verified = every;
        self
    }

    /// Returns the cache for a compiler that `facts` describe.
    pub(crate) fn of(self, facts: impl Debug) -> Cache {
        self.salted(format!("{facts:?}").as_bytes())
    }

    /// Returns the key of `func`. Options that only observe are not part of it.
    pub(crate) fn key(&self, func: &Function, options: &Options) -> Key {
        Key(hash((self.base, options.passes, options.no_compiler_routines, options.limits, func)))
    }

    /// Returns the entry under `key`, after adding its compiled function to `module`. Returns `None`, and leaves
    /// `module` unchanged, if there is no entry or it is not valid.
    pub(crate) fn get(&self, key: Key, module: &mut ModuleBuffer) -> Option<Vec<u8>> {
        self.store.get(key).filter(|entry| entry::read(key, entry, module).is_some())
    }

    /// Returns the entry of a compiled function.
    pub(crate) fn entry(key: Key, function: &FunctionView<'_>) -> Vec<u8> {
        entry::write(key, function)
    }

    /// Adds an entry.
    pub(crate) fn put(&self, key: Key, entry: &[u8]) {
        self.store.put(key, entry);
    }

    /// Returns `true` if hits of `key` are compiled again.
    pub(crate) fn verifies(&self, key: Key) -> bool {
        self.verified != 0 && key.0.is_multiple_of(self.verified.into())
    }
}
