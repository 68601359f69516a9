//! What goes into an instruction besides its row, and the row's text with that filled in.

use crate::code::SymbolRef;
use crate::mem::Mem;
use kingpost_ir::TrapCode;
use kingpost_regalloc::PReg;

/// Arguments of an instruction besides its row.
#[derive(Clone, Copy, Default, Debug)]
pub struct Args<'a> {
    /// Registers of the row's operands.
    pub regs: &'a [PReg],
    /// Memory operand, or the symbol that is called or that the immediate stands for.
    pub mem: Option<Mem>,
    /// Immediate or condition code.
    pub imm: i64,
    /// Symbols by index.
    pub symbols: &'a [SymbolRef],
    /// Trap code, for rows that become several instructions, some of which access memory.
    pub trap: Option<TrapCode>,
}

impl<'a> Args<'a> {
    /// Only registers.
    pub fn regs(regs: &'a [PReg]) -> Args<'a> {
        Args { regs, ..Args::default() }
    }

    /// Returns registers and memory.
    pub fn mem(regs: &'a [PReg], mem: Mem) -> Args<'a> {
        Args { regs, mem: Some(mem), ..Args::default() }
    }

    /// Returns registers and an immediate.
    pub fn imm(regs: &'a [PReg], imm: i64) -> Args<'a> {
        Args { regs, imm, ..Args::default() }
    }
}

/// Returns a row's text, in which `place` appends what stands for each `{field}`.
pub fn fill_template(template: &str, mut place: impl FnMut(&str, &mut String)) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let Some((field, behind)) = after.split_once('}') else { break };
        place(field, &mut out);
        rest = behind;
    }
    out.push_str(rest);
    out
}
