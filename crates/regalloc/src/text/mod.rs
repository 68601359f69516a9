//! The `.ra` text form of machines, problems and allocations: what is printed parses again and prints the same.
//!
//! ```text
//! ; A file is an optional machine, then problems, each optionally followed by its allocation.
//! env {
//!   int r0-r3, r8 saved {r8} scratch r9 exchange
//!   float f0, f1 slot_move
//!   costs move 1, exchange 2, spill 2, fill 2, remat 1, slot_move 4, callee_saved 4, edge_block 2
//! }
//! problem %example {
//!   v0, v1: int 8                 ; class and bytes; `ref` follows if it is a reference
//!   v2: int 8 ref
//!   v3: float 16
//!   b0 freq 1:                    ; b1(v4, v5) has parameters; `freq 1` may be left out
//!     i0: def v0 = r0, late use v1, early def v2, use v1 mem    ; `i0:` may be left out
//!     i1: remat def v3 in {f0, f1}
//!     i2: safepoint use v0 any, use v0 stack, def v1 reuse 0 rmw, clobbers {r0} kept 8 {f1}
//!     i3: move use v0, def v1
//!     i4: nop
//!     i5: branch use v1 -> b1 freq 0.5, b2 freq 0.5 defines (v9)   ; b2(v1) passes an argument
//!   order b0, b2, b1              ; if it is not the order above
//!   label 7 = v1 over i2..i4      ; a debug label; the end is exclusive
//! }
//! allocation {
//!   slots s0: 8, s1: 16 align 8
//!   emergency int s0
//!   saved {r8}
//!   i0: r0, r1, r2, s0            ; one location per operand
//!   before i2: spill r0 -> s0 8   ; move, exchange r0, r1 8, fill s0 -> r0 8, slot_move, remat i1 -> f0
//!   i3 dropped: r0, r0
//!   map i2: s0                    ; references at a safepoint
//!   label 7 = r0 over i2..i4
//!   stats steps 9 splits 0 evictions 0
//! }
//! ```
//!
//! A statement ends with its line, except after a comma. Numbers of values, blocks, instructions and slots may have
//! gaps; they are renumbered densely in the order of their declarations. Printed numbers have none. Edges are numbered
//! as they are written, unless each is given its number: `-> e1 b1, e0 b2`.
//!
//! A problem allows only a bare jump to lead to a join (rule 9), since edits of the edge stand before it. A text need not
//! care: the edge of another branch with one successor, unless it passes or defines values, is read as two with an empty
//! block of their own between them, numbered after all that stand in the text.

mod error;
mod lex;
mod parse;
mod parse_allocation;
mod parse_env;
mod parse_problem;
mod print;

#[cfg(test)]
mod tests;

use crate::allocation::Allocation;
use crate::entities::Inst;
use crate::env::MachineEnv;
use crate::problem::Problem;
use crate::verify::Entity;
use cranelift_entity::EntityRef;

pub use error::{ParseError, ParseErrorKind};
pub use print::display_allocation;

/// A `.ra` file.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// The machine, if the file describes one.
    pub env: Option<MachineEnv>,
    /// The problems, in order.
    pub cases: Vec<Case>,
}

/// A problem and, if there is one, its solution.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// What is to be allocated.
    pub problem: Problem,
    /// A solution.
    pub allocation: Option<Allocation>,
    /// Where both stand in the text.
    pub positions: Positions,
}

/// Where the parts of a case begin, as byte offsets into the text.
#[derive(Clone, Debug, Default)]
pub struct Positions {
    /// The `problem` section.
    pub problem: usize,
    /// The `allocation` section.
    pub allocation: usize,
    /// By instruction of the text: its line in the allocation, else in the problem.
    pub insts: Vec<usize>,
    /// By index in [`Allocation::edits`].
    pub edits: Vec<usize>,
    /// By index in [`Allocation::stack_maps`].
    pub stack_maps: Vec<usize>,
    /// By index in [`Allocation::labels`].
    pub labels: Vec<usize>,
}

impl Positions {
    /// Where an instruction stands, unless the reader added it.
    pub fn inst(&self, inst: Inst) -> Option<usize> {
        self.insts.get(inst.index()).copied()
    }

    /// Where the part of a problem stands that breaks a rule: the instruction, or else the problem.
    pub fn of(&self, at: Entity) -> usize {
        match at {
            Entity::Inst(inst) | Entity::Operand(inst, _) => self.inst(inst),
            _ => None,
        }
        .unwrap_or(self.problem)
    }
}

/// Line and column, both from 1 and the latter in characters, of a byte offset into `text`.
pub fn line_and_column(text: &str, offset: usize) -> (u32, u32) {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    let line = 1 + before.bytes().filter(|&b| b == b'\n').count();
    (line as u32, 1 + before[line_start..].chars().count() as u32)
}

/// Reads a file.
///
/// # Errors
/// The first [`ParseError`], with its line and column. What is read is not verified; see [`Problem::verify`].
pub fn parse(text: &str) -> Result<File, ParseError> {
    parse::file(text)
}
