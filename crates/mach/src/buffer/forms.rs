//! How an instruction set encodes references to labels and jump tables.

/// One encoding of a reference: its size, and the distances it reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reach {
    /// Size in bytes.
    pub bytes: u8,
    /// Least distance from its first byte to the target.
    pub low: i64,
    /// Greatest distance.
    pub high: i64,
}

/// Encodings of references to labels and jump tables in an instruction set. `form` is its own: a condition code, a
/// word.
pub trait BranchForms {
    /// Returns the encodings of a form, the shortest first. The last one reaches everything.
    fn encodings(&self, form: u32) -> &'static [Reach];
    /// Appends encoding number `encoding` for a target at `distance` bytes from its first byte.
    fn encode(&self, form: u32, encoding: usize, distance: i64, out: &mut Vec<u8>);
    /// Returns a distance that every encoding reaches in both directions.
    fn always_reached(&self) -> usize;
    /// Returns the form of an unconditional jump.
    fn jump(&self) -> u32;
    /// Returns the form that branches where this one, a conditional branch, does not.
    fn opposite(&self, form: u32) -> u32;
    /// Returns the text of a branch, with `{}` for its target.
    fn text(&self, form: u32) -> String;
    /// Returns the bytes of which every instruction's length is a multiple.
    fn grid(&self) -> usize {
        1
    }
    /// Appends `bytes` bytes that do nothing when executed, as far as they are a multiple of the grid.
    fn nops(&self, bytes: usize, out: &mut Vec<u8>);
}

/// The forms of code that has no references, such as stubs.
#[derive(Clone, Copy, Debug)]
pub struct NoBranches;

impl BranchForms for NoBranches {
    fn encodings(&self, _: u32) -> &'static [Reach] {
        &[Reach { bytes: 0, low: i64::MIN, high: i64::MAX }]
    }

    fn encode(&self, _: u32, _: usize, _: i64, _: &mut Vec<u8>) {}

    fn always_reached(&self) -> usize {
        usize::MAX
    }

    fn jump(&self) -> u32 {
        0
    }

    fn opposite(&self, form: u32) -> u32 {
        form
    }

    fn text(&self, _: u32) -> String {
        String::new()
    }

    /// Zeros: padding that is never executed.
    fn nops(&self, bytes: usize, out: &mut Vec<u8>) {
        out.resize(out.len() + bytes, 0);
    }
}
