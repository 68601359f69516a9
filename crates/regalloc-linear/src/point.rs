//! Program points: every instruction, and every block head, has one slot in the linear order, and a slot two points.
//!
//! At the early point of an instruction its uses are read, at the late one its defs are written. The gap before an
//! instruction, where edits run, belongs to its early point. A block head is a slot of its own, so that what a block
//! receives can be told from what is moved before its first instruction.

use std::fmt;

/// A point of the linear order: slot × 2, plus one if late.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Point(u32);

impl Point {
    /// Before everything.
    pub(crate) const FIRST: Point = Point(0);
    /// After everything: the end of a residence that still lasts.
    pub(crate) const OPEN: Point = Point(u32::MAX);

    pub(crate) fn early(slot: u32) -> Point {
        Point(slot * 2)
    }

    pub(crate) fn late(slot: u32) -> Point {
        Point(slot * 2 + 1)
    }

    pub(crate) fn slot(self) -> u32 {
        self.0 / 2
    }

    pub(crate) fn is_early(self) -> bool {
        self.0.is_multiple_of(2)
    }

    /// The point after this one: where a range ends whose last point this is.
    pub(crate) fn next(self) -> Point {
        Point(self.0 + 1)
    }

    /// The point before this one.
    pub(crate) fn prev(self) -> Point {
        Point(self.0.saturating_sub(1))
    }

    /// Points from `earlier` to this one.
    pub(crate) fn since(self, earlier: Point) -> u32 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Text form: `12` for the early, `12+` for the late point of slot 12.
impl fmt::Debug for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.slot(), if self.is_early() { "" } else { "+" })
    }
}
