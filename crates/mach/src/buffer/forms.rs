//! Encodings of references to labels and jump tables, as an instruction set defines them.

/// One encoding of a reference: its size, and the distances that it reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reach {
    /// Size in bytes.
    pub bytes: u8,
    /// Least distance in bytes from its first byte to the target.
    pub low: i64,
    /// Greatest distance in bytes from its first byte to the target.
    pub high: i64,
}

/// Encodings of references to labels and jump tables in an instruction set. The meaning of `form` is up to the
/// instruction set: a condition code or an instruction word.
pub trait BranchForms {
    /// Returns the encodings of a form, the shortest first. The last one reaches every target.
    fn encodings(&self, form: u32) -> &'static [Reach];
    /// Appends encoding number `encoding` for a target at `distance` bytes from its first byte.
    fn encode(&self, form: u32, encoding: usize, distance: i64, out: &mut Vec<u8>);
    /// Returns a distance that every encoding reaches in both directions.
    fn always_reached(&self) -> usize;
    /// Returns the form of an unconditional jump.
    fn jump(&self) -> u32;
    /// Returns the form that branches under the inverse of the condition of `form`.
    fn opposite(&self, form: u32) -> u32;
    /// Returns the text of a branch, with `{}` for its target.
    fn text(&self, form: u32) -> String;
    /// Returns the number of bytes that divides the length of every instruction.
    fn grid(&self) -> usize {
        1
    }
    /// Appends `bytes` bytes of no-ops, rounded down to a multiple of the grid.
    fn nops(&self, bytes: usize, out: &mut Vec<u8>);
}

/// Branch forms of code without references, such as stubs.
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

    /// Appends zeros: padding that is never executed.
    fn nops(&self, bytes: usize, out: &mut Vec<u8>) {
        out.resize(out.len() + bytes, 0);
    }
}
