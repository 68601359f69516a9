//! Memory of the frame, byte exact. Offsets are bytes from the stack pointer at the function's entry.

use kingpost_smt::{Term, Terms};

/// A range of bytes that were stored together, at least in part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    /// Offset of the lowest byte.
    pub(crate) offset: i64,
    /// The bytes: a term of eight bits a byte.
    pub(crate) bytes: Term,
}

/// Known contents of the frame. Pieces ascend and do not overlap.
#[derive(Clone, Default, Debug)]
pub(crate) struct Frame {
    pieces: Vec<Piece>,
}

fn len(terms: &Terms, piece: &Piece) -> i64 {
    i64::from(terms.width(piece.bytes) / 8)
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
    fn before(&self, terms: &Terms, offset: i64) -> usize {
        self.pieces.partition_point(|piece| piece.offset + len(terms, piece) <= offset)
    }

    /// Returns `bytes` bytes from `offset` on, or `None` if one of them is not known.
    pub(crate) fn load(&self, terms: &mut Terms, offset: i64, bytes: i64) -> Option<Term> {
        let (mut at, end) = (offset, offset + bytes);
        let mut loaded = None;
        for piece in &self.pieces[self.before(terms, offset)..] {
            if at == end {
                break;
            }
            if piece.offset > at {
                return None;
            }
            let last = end.min(piece.offset + len(terms, piece));
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
        let first = self.before(terms, start);
        let mut kept = Vec::new();
        let mut last = first;
        while let Some(&piece) = self.pieces.get(last).filter(|piece| piece.offset < end) {
            let after = piece.offset + len(terms, &piece);
            if piece.offset < start {
                let bytes = terms.extract(piece.bytes, 0, 8 * (start - piece.offset) as u32);
                kept.push(Piece { offset: piece.offset, bytes });
            }
            if after > end {
                let bytes = terms.extract(piece.bytes, 8 * (end - piece.offset) as u32, 8 * (after - end) as u32);
                kept.push(Piece { offset: end, bytes });
            }
            last += 1;
        }
        self.pieces.splice(first..last, kept);
    }

    /// Stores bytes at `offset`.
    pub(crate) fn store(&mut self, terms: &mut Terms, offset: i64, bytes: Term) {
        let end = offset + i64::from(terms.width(bytes) / 8);
        self.forget(terms, offset, end);
        let at = self.before(terms, offset);
        self.pieces.insert(at, Piece { offset, bytes });
    }
}
