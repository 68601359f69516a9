//! Arguments of an instruction besides its row, and the text of a row with its arguments.

use crate::code::SymbolRef;
use crate::mem::Mem;
use kingpost_ir::TrapCode;
use kingpost_regalloc::PReg;

/// Arguments of an instruction besides its row.
#[derive(Clone, Copy, Default, Debug)]
pub struct Args<'a> {
    /// Registers of the row's operands.
    pub regs: &'a [PReg],
    /// Memory operand, or the symbol that is called or whose address is the immediate.
    pub mem: Option<Mem>,
    /// Immediate or condition code.
    pub imm: i64,
    /// Symbols by index.
    pub symbols: &'a [SymbolRef],
    /// Trap code, for rows that become several instructions with a memory access among them.
    pub trap: Option<TrapCode>,
}

impl<'a> Args<'a> {
    /// Returns arguments that are only registers.
    pub fn regs(regs: &'a [PReg]) -> Args<'a> {
        Args { regs, ..Args::default() }
    }

    /// Returns arguments that are registers and memory.
    pub fn mem(regs: &'a [PReg], mem: Mem) -> Args<'a> {
        Args { regs, mem: Some(mem), ..Args::default() }
    }

    /// Returns arguments that are registers and an immediate.
    pub fn imm(regs: &'a [PReg], imm: i64) -> Args<'a> {
        Args { regs, imm, ..Args::default() }
    }
}

/// Returns a row's text, in which `place` appends the replacement of each `{field}`.
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
