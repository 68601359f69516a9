//! Places in the code of a function.

/// A place in the code that branches go to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Label(pub(super) u32);

impl Label {
    /// Label number `index`; the emitter numbers labels as the blocks they stand for.
    pub fn new(index: usize) -> Label {
        Label(index as u32)
    }

    /// Its number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Target of a reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A label.
    Label(Label),
    /// A jump table.
    Table(u32),
}
