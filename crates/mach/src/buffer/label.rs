//! Labels: positions in the code of a function.

/// Position in the code that branches refer to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Label(pub(super) u32);

impl Label {
    /// Returns label number `index`. The emitter gives labels the numbers of their blocks.
    pub fn new(index: usize) -> Label {
        Label(index as u32)
    }

    /// Returns the number of the label.
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
