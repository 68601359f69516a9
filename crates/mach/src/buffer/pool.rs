//! Constants and jump tables of one function.

/// Something placed behind the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PoolEntry {
    /// Constant bytes: `len` bytes at `start` of [`Pool::bytes`], aligned to `len` rounded up to a power of two.
    Bytes {
        /// First byte.
        start: u32,
        /// Number of bytes.
        len: u32,
    },
    /// A jump table of 4-byte entries, each the distance from the table's start to a label in [`Pool::targets`].
    Table {
        /// First target.
        start: u32,
        /// Number of targets.
        len: u32,
    },
}

impl PoolEntry {
    pub(super) fn align_and_bytes(self) -> (usize, usize) {
        match self {
            PoolEntry::Bytes { len, .. } => (len.next_power_of_two() as usize, len as usize),
            PoolEntry::Table { len, .. } => (4, 4 * len as usize),
        }
    }
}

/// Constants and jump tables of one function.
#[derive(Clone, Default, Debug)]
pub struct Pool {
    /// What there is, in order of placement.
    pub entries: Vec<PoolEntry>,
    /// Contents of the constants.
    pub bytes: Vec<u8>,
    /// Targets of jump tables, and of branches with more than two: label numbers.
    pub targets: Vec<u32>,
}

impl Pool {
    /// Empties the pool, keeping its memory.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
        self.targets.clear();
    }

    /// Adds a constant, or finds it if one of the last few is equal, and gives its index.
    pub fn constant(&mut self, bytes: &[u8]) -> u32 {
        const LOOK_BACK: usize = 16;
        let from = self.entries.len().saturating_sub(LOOK_BACK);
        for (i, entry) in self.entries.iter().enumerate().skip(from) {
            if let PoolEntry::Bytes { start, len } = *entry
                && &self.bytes[start as usize..(start + len) as usize] == bytes
            {
                return i as u32;
            }
        }
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        self.entries.push(PoolEntry::Bytes { start, len: bytes.len() as u32 });
        (self.entries.len() - 1) as u32
    }

    /// Adds targets that no table has, and gives the index of the first.
    pub fn targets(&mut self, targets: impl Iterator<Item = u32>) -> u32 {
        let start = self.targets.len() as u32;
        self.targets.extend(targets);
        start
    }

    /// Adds a jump table and gives its index.
    pub fn table(&mut self, targets: impl Iterator<Item = u32>) -> u32 {
        let start = self.targets.len() as u32;
        self.targets.extend(targets);
        self.entries.push(PoolEntry::Table { start, len: self.targets.len() as u32 - start });
        (self.entries.len() - 1) as u32
    }

    /// The contents of a constant, nothing for a table.
    pub(super) fn constant_bytes(&self, entry: u32) -> &[u8] {
        match self.entries[entry as usize] {
            PoolEntry::Bytes { start, len } => &self.bytes[start as usize..(start + len) as usize],
            PoolEntry::Table { .. } => &[],
        }
    }

    /// No less than all of it takes.
    pub(super) fn max_bytes(&self) -> usize {
        const PADDING: usize = 16;
        self.entries.len() * PADDING + self.bytes.len() + 4 * self.targets.len()
    }
}
