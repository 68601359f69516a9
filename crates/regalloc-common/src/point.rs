//! Program points.
//!
//! Every block head and every instruction has a [`Position`] in the linear order. Every position has four points,
//! in the order of their events:
//!
//! ```text
//! before   edits run; at a block head, edges bring values and parameters begin
//! early    early operands: uses are read
//! late     late operands: defs are written
//! after    results that are copied away begin; at a terminator, edges read their arguments
//! ```
//!
//! A block head is a position of its own, so that the values a block receives differ from the values moved before
//! its first instruction. Ranges of points are half-open.

use std::fmt;

/// The position of a block head or an instruction in the linear order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position(u32);

impl Position {
    /// Bound on positions, so that points fit into 32 bits.
    pub const LIMIT: u32 = 1 << 30;
    /// A position after every other one.
    pub const END: Position = Position(Position::LIMIT - 1);

    /// Returns the position with an index below [`Position::LIMIT`].
    #[inline]
    pub const fn new(index: u32) -> Position {
        Position(index)
    }

    /// Returns the index of the position.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the index of the position.
    pub const fn as_u32(self) -> u32 {
        self.0
    }

    /// Returns the next position.
    #[must_use]
    pub const fn next(self) -> Position {
        Position(self.0 + 1)
    }

    /// Returns the previous position.
    ///
    /// # Panics
    /// At the first position, if overflow is checked.
    #[must_use]
    pub const fn prev(self) -> Position {
        Position(self.0 - 1)
    }

    /// Returns all positions from this one up to and excluding `end`.
    pub fn up_to(self, end: Position) -> impl DoubleEndedIterator<Item = Position> + ExactSizeIterator {
        (self.0..end.0).map(Position)
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.0)
    }
}

/// The events of a point; see the [module documentation](self).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// Edits.
    Before,
    /// Early operands.
    Early,
    /// Late operands.
    Late,
    /// Copies of results, and reads by edges.
    After,
}

/// A point of the linear order: a position and a phase.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProgPoint(u32);

impl ProgPoint {
    /// The first of all points.
    pub const FIRST: ProgPoint = ProgPoint(0);
    /// A point after all others: the end of a range that is still open.
    pub const OPEN: ProgPoint = ProgPoint(u32::MAX);

    /// Returns the point at which edits before the instruction run, or at which the block begins.
    pub const fn before(position: Position) -> ProgPoint {
        ProgPoint(position.0 * 4)
    }

    /// Returns the point at which early operands are read and written.
    pub const fn early(position: Position) -> ProgPoint {
        ProgPoint(position.0 * 4 + 1)
    }

    /// Returns the point at which late operands are read and written.
    pub const fn late(position: Position) -> ProgPoint {
        ProgPoint(position.0 * 4 + 2)
    }

    /// Returns the point after the instruction.
    pub const fn after(position: Position) -> ProgPoint {
        ProgPoint(position.0 * 4 + 3)
    }

    /// Returns the position.
    pub const fn position(self) -> Position {
        Position(self.0 / 4)
    }

    /// Returns the phase.
    pub const fn phase(self) -> Phase {
        match self.0 % 4 {
            0 => Phase::Before,
            1 => Phase::Early,
            2 => Phase::Late,
            _ => Phase::After,
        }
    }

    /// Returns the next point, which is the end of a range whose last point is this one.
    #[must_use]
    pub const fn next(self) -> ProgPoint {
        ProgPoint(self.0 + 1)
    }

    /// Returns the previous point, or the first point itself.
    #[must_use]
    pub const fn prev(self) -> ProgPoint {
        ProgPoint(self.0.saturating_sub(1))
    }

    /// Returns the first point of the next position.
    #[must_use]
    pub const fn next_position(self) -> ProgPoint {
        ProgPoint::before(self.position().next())
    }

    /// Returns the end of the live range of a value last used here. An early use ends before late operands are
    /// written. A late use, or a use by an edge, ends with the position.
    #[must_use]
    pub const fn end_of_use(self) -> ProgPoint {
        ProgPoint((self.0 & !1) + 2)
    }

    /// Returns the first point of the position.
    #[must_use]
    pub const fn floor(self) -> ProgPoint {
        ProgPoint(self.0 & !3)
    }

    /// Returns the first point, from this one on, at which a position begins.
    #[must_use]
    pub const fn ceil(self) -> ProgPoint {
        ProgPoint((self.0 + 3) & !3)
    }

    /// Returns `true` if a position begins here.
    pub const fn is_before(self) -> bool {
        self.0.is_multiple_of(4)
    }

    /// Returns the number of points from `earlier` to this one, or 0 if `earlier` is later.
    pub const fn since(self, earlier: ProgPoint) -> u32 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the dense index of the point, four per position.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the point with the given index.
    pub const fn from_index(index: usize) -> ProgPoint {
        ProgPoint(index as u32)
    }
}

/// Text form: `12`, `12e`, `12l` and `12a` for the points of position 12.
impl fmt::Display for ProgPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == ProgPoint::OPEN {
            return f.write_str("open");
        }
        let phase = match self.phase() {
            Phase::Before => "",
            Phase::Early => "e",
            Phase::Late => "l",
            Phase::After => "a",
        };
        write!(f, "{}{phase}", self.position().0)
    }
}

impl fmt::Debug for ProgPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The points from `from` up to and excluding `to`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PointRange {
    /// First point.
    pub from: ProgPoint,
    /// First point after the range.
    pub to: ProgPoint,
}

impl PointRange {
    /// The range without points at the start of the order.
    pub const EMPTY: PointRange = PointRange { from: ProgPoint::FIRST, to: ProgPoint::FIRST };

    /// Returns the range `from..to`.
    #[inline]
    pub const fn new(from: ProgPoint, to: ProgPoint) -> PointRange {
        PointRange { from, to }
    }

    /// Returns `true` if the range has no points.
    pub fn is_empty(&self) -> bool {
        self.from >= self.to
    }

    /// Returns `true` if `point` is in the range.
    pub fn contains(&self, point: ProgPoint) -> bool {
        self.from <= point && point < self.to
    }

    /// Returns `true` if the two ranges have a point in common.
    pub fn overlaps(&self, other: PointRange) -> bool {
        self.from < other.to && other.from < self.to
    }

    /// Returns the points in both ranges.
    #[inline]
    #[must_use]
    pub fn intersection(self, other: PointRange) -> PointRange {
        PointRange { from: self.from.max(other.from), to: self.to.min(other.to) }
    }
}

/// Text form: `1l..3`.
impl fmt::Display for PointRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.from, self.to)
    }
}

impl fmt::Debug for PointRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_a_position_follow_each_other() {
        let at = Position::new(7);
        let points = [ProgPoint::before(at), ProgPoint::early(at), ProgPoint::late(at), ProgPoint::after(at)];
        assert_eq!(points.map(|point| point.to_string()), ["7", "7e", "7l", "7a"]);
        for pair in points.windows(2) {
            assert_eq!(pair[0].next(), pair[1]);
            assert_eq!(pair[1].prev(), pair[0]);
        }
        for point in points {
            assert_eq!(point.position(), at);
            assert_eq!(point.next_position(), ProgPoint::before(at.next()));
            assert_eq!(point.floor(), points[0]);
            assert_eq!(point.ceil(), if point.is_before() { point } else { point.next_position() });
        }
        assert_eq!(points[3].next(), ProgPoint::before(at.next()));
        let ends = [points[2], points[2], points[3].next(), points[3].next()];
        assert_eq!(points.map(ProgPoint::end_of_use), ends);
        assert_eq!(points.map(ProgPoint::phase), [Phase::Before, Phase::Early, Phase::Late, Phase::After]);
    }

    #[test]
    fn the_last_position_has_points_below_open() {
        assert!(ProgPoint::after(Position::END) <= ProgPoint::OPEN);
        assert!(ProgPoint::late(Position::END) < ProgPoint::OPEN);
        assert_eq!(ProgPoint::FIRST.prev(), ProgPoint::FIRST);
        assert_eq!(ProgPoint::FIRST.since(ProgPoint::OPEN), 0);
    }

    #[test]
    fn ranges_are_half_open() {
        let point = |i| ProgPoint::before(Position::new(i));
        let range = |from, to| PointRange::new(point(from), point(to));
        assert!(range(1, 3).contains(point(1)) && !range(1, 3).contains(point(3)));
        assert!(!range(1, 3).overlaps(range(3, 4)) && range(1, 3).overlaps(range(2, 4)));
        assert_eq!(range(1, 3).intersection(range(2, 4)), range(2, 3));
        assert!(range(1, 2).intersection(range(2, 4)).is_empty());
        assert_eq!(PointRange::new(point(1).prev(), point(2).next()).to_string(), "0a..2e");
    }
}
