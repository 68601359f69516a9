//! The `.ra` text form of machines, problems and allocations. Printed text parses again and prints identically.
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
//! gaps; the parser renumbers them densely in the order of their declarations. Printed numbers have no gaps. Edges
//! are numbered in the order of the text, unless each has its own number: `-> e1 b1, e0 b2`.
//!
//! In a problem, only a bare jump leads to a join (rule 9), because edits of the edge are placed before it. A text
//! may use another branch with one successor, unless the edge passes or defines values. The parser splits such an
//! edge by an empty block, numbered after all blocks of the text.

mod error;
mod file;
mod lex;
mod parse;
mod parse_allocation;
mod parse_env;
mod parse_file;
mod parse_problem;
mod print;

#[cfg(test)]
mod tests;

use crate::{AllocError, Allocation, MachineEnv, Problem};

pub use error::{ParseError, ParseErrorKind};
pub use file::{Case, File, Positions, line_and_column};
pub use print::{display_allocation, display_inst};

/// Reads a file.
///
/// # Errors
/// The first [`ParseError`], with its line and column. What is read is not verified; see
/// [`Problem::verify`](crate::Problem::verify).
pub fn parse(text: &str) -> Result<File, ParseError> {
    parse_file::file(text)
}

/// Returns the text of a problem for an allocator that is another program, with its machine.
pub fn question(problem: &Problem, env: &MachineEnv) -> String {
    let mut problem = problem.clone();
    name(&mut problem);
    format!("{env}\n{problem}")
}

/// Reads the answer of another program to a [`question`]: an allocation, before which the machine and the problem may
/// be repeated, or `impossible i2 int` or `impossible i2 r1` if the operands of an instruction need more registers of a
/// class than there are, or one register twice. The allocation is not checked.
///
/// # Errors
/// [`AllocError::TooFewRegisters`] or [`AllocError::FixedConflict`] if the answer says so, and [`AllocError::Program`] if
/// the answer cannot be read, has no allocation, or repeats another problem.
pub fn parse_answer(problem: &Problem, env: &MachineEnv, answer: &str) -> Result<Allocation, AllocError> {
    if answer.trim_start().starts_with("impossible") {
        let refusal = parse_allocation::refusal(problem, answer);
        return Err(refusal.unwrap_or_else(|error| AllocError::Program { what: unreadable(&error) }));
    }
    read_answer(problem, env, answer).map_err(|what| AllocError::Program { what })
}

fn unreadable(error: &ParseError) -> String {
    format!("its answer cannot be read: {error}")
}

fn read_answer(problem: &Problem, env: &MachineEnv, answer: &str) -> Result<Allocation, String> {
    let mut problem = problem.clone();
    name(&mut problem);
    let is_whole = answer.lines().any(|line| line.trim_start().starts_with("problem"));
    let file = match is_whole {
        true => parse(answer),
        false => parse(&format!("{env}\n{problem}\n{answer}")),
    };
    let mut file = file.map_err(|error| unreadable(&error))?;
    let [case] = &mut file.cases[..] else { return Err(format!("it answered {} problems, not one", file.cases.len())) };
    if case.problem.to_string() != problem.to_string() {
        return Err("it answered another problem".into());
    }
    case.allocation.take().ok_or_else(|| "it gave no allocation".into())
}

/// Names a problem that has no name, because the text form requires one.
fn name(problem: &mut Problem) {
    if problem.name.is_empty() {
        problem.name = "f".into();
    }
}
