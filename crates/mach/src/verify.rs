//! What machine code must keep beyond the rules of its allocation problem.
//!
//! 1. Each instruction's operands begin with those of its row: same kinds, positions and classes, constraints as the row says.
//! 2. An instruction that reads the flags finds them as the nearest earlier instruction of its block that defines them
//!    left them: nothing in between writes them. Edits and rematerialisation leave them alone by contract.
//! 3. Block-ending rows stand at the end of blocks and nowhere else.
//! 4. Only rows that may run again anywhere, or loads of incoming arguments, are flagged rematerialisable.

use crate::code::Code;
use crate::inst::AddrKind;
use crate::row::{FlagsEffect, Place, Row, RowKind};
use kingpost_regalloc::{Constraint, Inst, InstFlags, Operand};
use std::fmt;

/// A broken rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeError {
    /// Number of the rule in the module documentation.
    pub rule: u8,
    /// The instruction that breaks it.
    pub inst: Inst,
    /// In which way.
    pub what: &'static str,
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (machine code rule {})", self.inst, self.what, self.rule)
    }
}

/// Checks `code` and gives everything that is wrong.
pub fn verify(code: &Code, rows: &[Row]) -> Vec<CodeError> {
    let mut errors = Vec::new();
    for block in code.problem.blocks() {
        let mut flags_defined = false;
        let terminator = code.problem.terminator(block);
        for inst in code.problem.insts(block) {
            let mut broken = |rule, what| errors.push(CodeError { rule, inst, what });
            let minst = &code.insts[inst];
            let Some(row) = rows.get(minst.row.0 as usize) else {
                broken(1, "no such row");
                continue;
            };
            if !operands_fit(code, row, code.problem.operands(inst)) {
                broken(1, "operands do not fit the row");
            }
            if row.flags.reads() && !flags_defined {
                broken(2, "reads flags that no instruction before it in the block defines");
            }
            flags_defined = match row.flags {
                FlagsEffect::Def | FlagsEffect::UseDef => true,
                FlagsEffect::Clobber => false,
                FlagsEffect::None | FlagsEffect::Use => flags_defined && row.kind != RowKind::Call,
            };
            if matches!(row.kind, RowKind::Branch | RowKind::Exit) && inst != terminator {
                broken(3, "ends a block in its middle");
            }
            if inst == terminator && !code.problem.flags(inst).has(InstFlags::BRANCH) {
                broken(3, "ends its block without being a branch");
            }
            let remat = row.kind == RowKind::Remat || minst.mode.kind() == AddrKind::Incoming;
            if code.problem.flags(inst).has(InstFlags::REMAT) && !(remat && row.flags == FlagsEffect::None) {
                broken(4, "may not run again");
            }
        }
    }
    errors
}

fn operands_fit(code: &Code, row: &Row, operands: &[Operand]) -> bool {
    operands.len() >= row.operands.len()
        && row.operands.iter().zip(operands).all(|(spec, operand)| {
            spec.kind == operand.kind()
                && spec.pos == operand.pos()
                && spec.class == code.problem.class(operand.vreg())
                && match (spec.place, operand.constraint()) {
                    (Place::Fixed(want), Constraint::Fixed(reg)) => want == reg,
                    (Place::Reuse(want), Constraint::Reuse(k)) => want == k,
                    (Place::Within(want), Constraint::Within(set)) => {
                        code.problem.reg_set(set).difference(want).is_empty()
                    }
                    (Place::Reg, Constraint::Reg) => true,
                    (Place::MemOk, c) => matches!(c, Constraint::Reg | Constraint::MemOk),
                    _ => false,
                }
        })
}
