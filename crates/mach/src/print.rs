//! The text form of machine code, before and after allocation.

use crate::code::Code;
use crate::inst::{AddrKind, IndexExtend, MInst};
use crate::row::{Row, RowKind};
use kingpost_regalloc::{Allocation, Block, EditKind, Inst};
use std::fmt;

/// Displays code; with an allocation, locations stand for virtual registers and edits are shown.
pub(crate) struct CodeText<'a> {
    pub(crate) code: &'a Code,
    pub(crate) rows: &'a [Row],
    pub(crate) allocation: Option<&'a Allocation>,
}

impl fmt::Display for CodeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = &self.code.problem;
        for block in problem.blocks() {
            write!(f, "{block}")?;
            let params = problem.params(block);
            for (i, p) in params.iter().enumerate() {
                write!(f, "{}{p}", if i == 0 { "(" } else { ", " })?;
            }
            writeln!(f, "{}:  ; frequency {}", if params.is_empty() { "" } else { ")" }, problem.freq(block))?;
            for inst in problem.insts(block) {
                self.edits(f, inst)?;
                self.inst(f, block, inst)?;
            }
        }
        Ok(())
    }
}

impl CodeText<'_> {
    fn edits(&self, f: &mut fmt::Formatter<'_>, at: Inst) -> fmt::Result {
        let Some(allocation) = self.allocation else { return Ok(()) };
        let start = allocation.edits.partition_point(|e| e.at < at);
        for edit in allocation.edits[start..].iter().take_while(|e| e.at == at) {
            match edit.kind {
                EditKind::Move { from, to, width } => writeln!(f, "          + move{width} {to} <- {from}")?,
                EditKind::Exchange { a, b, width } => writeln!(f, "          + exchange{width} {a}, {b}")?,
                EditKind::Spill { from, to, width } => writeln!(f, "          + spill{width} {to} <- {from}")?,
                EditKind::Fill { from, to, width } => writeln!(f, "          + fill{width} {to} <- {from}")?,
                EditKind::SlotMove { from, to, width } => writeln!(f, "          + slotmove{width} {to} <- {from}")?,
                EditKind::Remat { inst, to } => writeln!(f, "          + remat {to} <- {inst}")?,
            }
        }
        Ok(())
    }

    fn inst(&self, f: &mut fmt::Formatter<'_>, block: Block, inst: Inst) -> fmt::Result {
        let problem = &self.code.problem;
        let minst = &self.code.insts[inst];
        let row = &self.rows[minst.row.0 as usize];
        let dropped = self.allocation.is_some_and(|a| a.is_dropped(inst));
        write!(f, "{:>7}{} {}", inst.to_string(), if dropped { " -" } else { "  " }, row.name)?;
        let mut separator = " ";
        for (i, operand) in problem.operands(inst).iter().enumerate() {
            match self.allocation {
                Some(allocation) => {
                    let loc = allocation.operand_locs(problem, inst)[i];
                    write!(f, "{separator}{}{loc}", if operand.is_def() { "=" } else { "" })?;
                }
                None => write!(f, "{separator}{operand}")?,
            }
            separator = ", ";
        }
        self.immediates(f, minst, row, separator)?;
        self.targets(f, block, inst)?;
        writeln!(f)
    }

    fn immediates(&self, f: &mut fmt::Formatter<'_>, inst: &MInst, row: &Row, separator: &str) -> fmt::Result {
        let mut separator = separator;
        match inst.mode.kind() {
            AddrKind::None => {}
            AddrKind::Base | AddrKind::Index => {
                write!(f, "{separator}[{:?}+{}", inst.mode.kind(), inst.aux as i32)?;
                if inst.mode.shift() != 0 {
                    write!(f, " <<{}", inst.mode.shift())?;
                }
                match inst.mode.extend() {
                    IndexExtend::None => {}
                    IndexExtend::Zero32 => f.write_str(" uxtw")?,
                    IndexExtend::Sign32 => f.write_str(" sxtw")?,
                }
                f.write_str("]")?;
                separator = ", ";
            }
            kind => {
                write!(f, "{separator}[{kind:?} {}]", inst.aux)?;
                separator = ", ";
            }
        }
        // The other word of a branch is a block.
        let imm = if row.kind == RowKind::Branch { u64::from(inst.imm as u32) } else { inst.imm64() };
        if imm != 0 {
            write!(f, "{separator}#{imm:#x}")?;
        }
        match inst.trap() {
            Some(code) => write!(f, " traps {code}"),
            None => Ok(()),
        }
    }

    fn targets(&self, f: &mut fmt::Formatter<'_>, block: Block, inst: Inst) -> fmt::Result {
        let problem = &self.code.problem;
        if problem.terminator(block) != inst {
            return Ok(());
        }
        for (i, &edge) in problem.succs(block).iter().enumerate() {
            write!(f, "{} {}", if i == 0 { " ->" } else { "," }, problem.edge(edge).to)?;
            let mut open = "(";
            for arg in problem.edge_args(edge) {
                write!(f, "{open}{arg}")?;
                open = ", ";
            }
            if open == ", " {
                f.write_str(")")?;
            }
        }
        Ok(())
    }
}
