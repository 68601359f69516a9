//! A store in a folder, which processes share.
//!
//! An entry is a file, `ab/abcd…` for a key that begins with `ab`. It is written under the name `new`, and renamed once
//! it is complete, so readers never see a part of it. Writers exclude one another by a lock on the file `lock`, which
//! the system releases if a process ends. So a file `new` that a killed process left is overwritten, and `lock` can hold
//! the bytes of all entries. They count before the entry is written: after a kill, and after an entry was replaced, the
//! number is too large until the next eviction counts again.

use super::store::{Key, Store};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// A store in a folder, whose entries have a limited size in total. Processes and threads share the folder. The entries
/// that were not used for the longest time are evicted.
#[derive(Debug)]
pub struct Directory {
    folder: PathBuf,
    /// Limit of the bytes of all entries.
    limit: u64,
    /// The file `lock`. The mutex excludes threads, because they share the lock of the process.
    lock: Mutex<File>,
}

/// Bytes that file systems allocate at once.
const BLOCK: u64 = 4096;

/// Returns the bytes that a file of this length takes.
fn allocated(len: u64) -> u64 {
    len.next_multiple_of(BLOCK)
}

/// An entry among the files of the folder.
struct Item {
    used: SystemTime,
    path: PathBuf,
    bytes: u64,
}

impl Item {
    /// Returns the entry that `file` is. Other files are ignored, and so never removed.
    fn of(file: &fs::DirEntry) -> Option<Item> {
        let name = file.file_name();
        let digits = name.to_str().filter(|name| name.len() == 32)?;
        u128::from_str_radix(digits, 16).ok()?;
        let data = file.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(Item { used: data.modified().ok()?, path: file.path(), bytes: allocated(data.len()) })
    }
}

impl Directory {
    /// Opens the store in `folder`, and creates the folder if it does not exist. The entries have up to `limit` bytes
    /// in total, each rounded up to blocks of 4 KiB.
    ///
    /// # Errors
    /// If the folder cannot be created or written to.
    pub fn open(folder: impl Into<PathBuf>, limit: u64) -> io::Result<Directory> {
        let folder = folder.into();
        fs::create_dir_all(&folder)?;
        let lock = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(folder.join("lock"))?;
        let store = Directory { folder, limit, lock: Mutex::new(lock) };
        // Another process may have had a larger limit.
        store.locked(|lock| store.reserve(lock, 0))?;
        Ok(store)
    }

    /// Runs `body` with the file `lock`, locked.
    fn locked<T>(&self, body: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
        let mut file = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        file.lock()?;
        let result = body(&mut file);
        file.unlock()?;
        result
    }

    /// Adds `bytes` to the size of all entries, after evicting entries if it would exceed the limit.
    fn reserve(&self, lock: &mut File, bytes: u64) -> io::Result<()> {
        let mut text = String::new();
        lock.rewind()?;
        // A number that is missing or no number makes the entries count again.
        let known = lock.take(32).read_to_string(&mut text).ok().and_then(|_| text.trim().parse::<u64>().ok());
        let used = match known {
            Some(used) if used.saturating_add(bytes) <= self.limit => used,
            _ => self.evict(self.limit - bytes)?,
        };
        lock.rewind()?;
        // Of a fixed width, so that no digits of a longer number remain.
        writeln!(lock, "{:020}", used + bytes)
    }

    /// Removes the entries that were not used for the longest time until a fourth of `most` bytes is free, if there are
    /// more than `most`. Returns the bytes that remain.
    fn evict(&self, most: u64) -> io::Result<u64> {
        let mut items = self.items();
        let mut used: u64 = items.iter().map(|item| item.bytes).sum();
        if used <= most {
            return Ok(used);
        }
        items.sort_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
        for item in items {
            if used <= most - most / 4 {
                break;
            }
            match fs::remove_file(&item.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => used -= item.bytes,
            }
        }
        Ok(used)
    }

    /// Returns all entries.
    fn items(&self) -> Vec<Item> {
        let mut items = Vec::new();
        for prefix in 0..=u8::MAX {
            let Ok(files) = fs::read_dir(self.folder.join(format!("{prefix:02x}"))) else { continue };
            // A file that vanishes is no entry, because somebody may empty the folder at this time.
            items.extend(files.filter_map(|file| Item::of(&file.ok()?)));
        }
        items
    }

    fn path(&self, key: Key) -> PathBuf {
        let name = key.to_string();
        self.folder.join(&name[..2]).join(&name)
    }

    /// Writes an entry under a temporary name and renames it to `path`.
    fn write(&self, path: &Path, entry: &[u8]) -> io::Result<()> {
        let new = self.folder.join("new");
        fs::write(&new, entry)?;
        match fs::rename(&new, path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                path.parent().map_or(Ok(()), fs::create_dir_all)?;
                fs::rename(&new, path)
            }
            done => done,
        }
    }
}

impl Store for Directory {
    fn get(&self, key: Key) -> Option<Vec<u8>> {
        let mut file = File::open(self.path(key)).ok()?;
        let mut entry = Vec::new();
        // More is no entry of this store.
        (&mut file).take(self.limit).read_to_end(&mut entry).ok()?;
        // The time of the last use. A folder of another user's refuses, and evicts in order of writing.
        let _ = file.set_modified(SystemTime::now());
        Some(entry)
    }

    fn put(&self, key: Key, entry: &[u8]) {
        let bytes = allocated(entry.len() as u64);
        if bytes > self.limit {
            return;
        }
        // A full or read-only disk makes the cache smaller, and no compilation fail.
        let _ = self.locked(|lock| {
            let path = self.path(key);
            self.reserve(lock, bytes)?;
            self.write(&path, entry)
        });
    }
}
