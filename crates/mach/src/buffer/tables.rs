//! Jump tables of one function.

use kingpost_meter::heap_bytes;

/// Range of targets in [`JumpTables::targets`]. A table has an entry for each of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JumpTable {
    /// Index of the first target.
    pub start: u32,
    /// Number of targets.
    pub len: u32,
}

/// Jump tables of one function, and the targets of branches with more than two.
///
/// A table has 4-byte entries, each the distance from the table's start to a label. So it is placed after the code,
/// in one section with it, and needs no linking.
#[derive(Clone, Default, Debug)]
pub struct JumpTables {
    /// Jump tables in order of placement.
    pub tables: Vec<JumpTable>,
    /// Numbers of labels.
    pub targets: Vec<u32>,
}

heap_bytes!(JumpTables { tables, targets });

impl JumpTables {
    /// Clears the tables, keeping the memory.
    pub fn clear(&mut self) {
        self.tables.clear();
        self.targets.clear();
    }

    /// Adds targets that belong to no table, and returns the index of the first.
    pub fn targets(&mut self, targets: impl Iterator<Item = u32>) -> u32 {
        let start = self.targets.len() as u32;
        self.targets.extend(targets);
        start
    }

    /// Adds a table and returns its index.
    pub fn table(&mut self, targets: impl Iterator<Item = u32>) -> u32 {
        let start = self.targets(targets);
        self.tables.push(JumpTable { start, len: self.targets.len() as u32 - start });
        (self.tables.len() - 1) as u32
    }

    /// Returns the targets of a table.
    pub(super) fn of(&self, table: JumpTable) -> &[u32] {
        &self.targets[table.start as usize..(table.start + table.len) as usize]
    }

    /// Returns an upper bound of the bytes of all tables and of the padding that aligns them.
    pub(super) fn max_bytes(&self) -> usize {
        ENTRY_BYTES + ENTRY_BYTES * self.targets.len()
    }
}

/// Size of an entry in bytes, and its alignment.
pub(super) const ENTRY_BYTES: usize = 4;
