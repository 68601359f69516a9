//! Memory of the frame, byte exact. Offsets are bytes from the stack pointer at the function's entry.

use kingpost_smt::{Term, Terms};

/// A range of bytes that were stored together, at least in part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    /// Offset of the lowest byte.
    pub(crate) offset: i64,
    /// The bytes: a term of eight bits a byte.
    pub(crate) bytes: Term,
    /// Offset of the byte after the highest one.
    end: i64,
}

impl Piece {
    fn new(terms: &Terms, offset: i64, bytes: Term) -> Piece {
        Piece { offset, bytes, end: offset + i64::from(terms.width(bytes) / 8) }
    }
}

/// Known contents of the frame. Pieces ascend and do not overlap.
#[derive(Clone, Default, Debug)]
pub(crate) struct Frame {
    pieces: Vec<Piece>,
}

impl Frame {
    /// Returns the known pieces.
    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Returns the offset of the lowest known byte.
    pub(crate) fn lowest(&self) -> Option<i64> {
        self.pieces.first().map(|piece| piece.offset)
    }

    /// Returns the number of pieces that end at or before `offset`.
    fn before(&self, offset: i64) -> usize {
        self.pieces.partition_point(|piece| piece.end <= offset)
    }

    /// Returns `bytes` bytes from `offset` on, or `None` if one of them is not known.
    pub(crate) fn load(&self, terms: &mut Terms, offset: i64, bytes: i64) -> Option<Term> {
        let (mut at, end) = (offset, offset + bytes);
        let mut loaded = None;
        for piece in &self.pieces[self.before(offset)..] {
            if at == end {
                break;
            }
            if piece.offset > at {
                return None;
            }
            let last = end.min(piece.end);
            let part = terms.extract(piece.bytes, 8 * (at - piece.offset) as u32, 8 * (last - at) as u32);
            loaded = Some(match loaded {
                None => part,
                Some(low) => terms.concat(part, low),
            });
            at = last;
        }
        loaded.filter(|_| at == end)
    }

    /// Removes the bytes from `start` to `end`.
    pub(crate) fn forget(&mut self, terms: &mut Terms, start: i64, end: i64) {
        let first = self.before(start);
        let mut kept = Vec::new();
        let mut last = first;
        while let Some(&piece) = self.pieces.get(last).filter(|piece| piece.offset < end) {
            let after = piece.end;
            if piece.offset < start {
                let bytes = terms.extract(piece.bytes, 0, 8 * (start - piece.offset) as u32);
                kept.push(Piece::new(terms, piece.offset, bytes));
            }
            if after > end {
                let bytes = terms.extract(piece.bytes, 8 * (end - piece.offset) as u32, 8 * (after - end) as u32);
                kept.push(Piece::new(terms, end, bytes));
            }
            last += 1;
        }
        self.pieces.splice(first..last, kept);
    }

    /// Stores bytes at `offset`.
    pub(crate) fn store(&mut self, terms: &mut Terms, offset: i64, bytes: Term) {
        let piece = Piece::new(terms, offset, bytes);
        if self.pieces.last().is_none_or(|last| last.end <= offset) {
            self.pieces.push(piece);
            return;
        }
        let at = self.before(offset);
        match self.pieces.get_mut(at) {
            Some(old) if (old.offset, old.end) == (offset, piece.end) => *old = piece,
            _ => {
                self.forget(terms, offset, piece.end);
                let at = self.before(offset);
                self.pieces.insert(at, piece);
            }
        }
    }
}
