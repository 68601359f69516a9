//! Machine instructions before allocation, with the names of the text: `v6 = lea64_rm [v4 + v5]`.
//!
//! A register that the instruction requires follows a colon: `v1:rdi`.

use crate::names::Names;
use kingpost_ir::Function;
use kingpost_mach::block_order::MachineBlock;
use kingpost_mach::{AddrKind, Code, IndexExtend, Isa, MInst, NO_BLOCK, Row, RowKind};
use kingpost_regalloc::{Inst, Operand};
use std::fmt::Write;

/// Returns the names of machine blocks: the name of the block, or the names of the two blocks that an edge connects.
pub(crate) fn block_names(func: &Function, blocks: &[MachineBlock]) -> Vec<String> {
    let name = |block: &MachineBlock| match *block {
        MachineBlock::Ir(block) => func.names.block(block).to_string(),
        MachineBlock::Edge { from, edge } => {
            let branch = func.layout.last_inst(from);
            let calls = branch.map(|branch| func.dfg.branch_destinations(branch)).unwrap_or_default();
            let to = calls.get(edge as usize).map(|call| func.names.block(call.block).to_string());
            format!("{}→{}", func.names.block(from), to.unwrap_or_default())
        }
    };
    blocks.iter().map(name).collect()
}

/// Returns the text of one instruction.
pub(crate) fn inst_text(isa: &dyn Isa, code: &Code, names: &Names, inst: Inst) -> String {
    let minst = &code.insts[inst];
    let row = &isa.rows()[usize::from(minst.row.0)];
    let operands = code.problem.operands(inst);
    let own = row.operands.len().min(operands.len());
    let address = own..(own + minst.mode.regs()).min(operands.len());
    let text = |operand: &Operand| match operand.fixed_reg() {
        Some(reg) => format!("{}:{}", names.vreg(operand.vreg()), isa.reg_name(reg, 8)),
        None => names.vreg(operand.vreg()).to_string(),
    };
    let defs: Vec<String> = operands.iter().filter(|operand| operand.is_def()).map(text).collect();
    let uses = operands.iter().enumerate().filter(|(k, operand)| operand.is_use() && !address.contains(k));
    let mut words: Vec<String> = uses.map(|(_, operand)| text(operand)).collect();
    if minst.mode.kind() != AddrKind::None {
        words.push(address_text(code, names, minst, &operands[address]));
    }
    words.extend(immediate(row, minst));
    words.extend(targets(row, minst, names));
    let mut out = if defs.is_empty() { String::new() } else { format!("{} = ", defs.join(", ")) };
    out.push_str(row.name);
    if !words.is_empty() {
        let _ = write!(out, " {}", words.join(", "));
    }
    out
}

fn address_text(code: &Code, names: &Names, inst: &MInst, regs: &[Operand]) -> String {
    let symbol = |index: u32| {
        let Some(symbol) = code.symbols.get(index as usize) else { return String::new() };
        let name = code.names.get(symbol.name as usize).map(ToString::to_string).unwrap_or_default();
        if symbol.offset == 0 { name } else { format!("{name}{:+}", symbol.offset) }
    };
    let mut parts: Vec<String> = regs.iter().map(|operand| names.vreg(operand.vreg()).to_string()).collect();
    if let (Some(index), true) = (parts.get_mut(1), inst.mode.kind() == AddrKind::Index) {
        match inst.mode.extend() {
            IndexExtend::None => {}
            IndexExtend::Zero32 => index.push_str(" zero32"),
            IndexExtend::Sign32 => index.push_str(" sign32"),
        }
        if inst.mode.shift() != 0 {
            let _ = write!(index, " << {}", inst.mode.shift());
        }
    }
    if inst.mode.kind() == AddrKind::SlotIndex && inst.mode.shift() != 0 {
        parts.iter_mut().for_each(|index| *index = format!("{index} << {}", inst.mode.shift()));
    }
    let offset = inst.aux as i32;
    match inst.mode.kind() {
        AddrKind::None => {}
        AddrKind::Base | AddrKind::Index => parts.extend((offset != 0).then(|| offset.to_string())),
        AddrKind::Symbol => parts.push(symbol(inst.aux)),
        AddrKind::Slot | AddrKind::SlotIndex => parts.extend(["stack slots".into(), inst.aux.to_string()]),
        AddrKind::Incoming => parts.extend(["incoming".into(), offset.to_string()]),
        AddrKind::Outgoing => parts.extend(["outgoing".into(), inst.aux.to_string()]),
        AddrKind::Table => parts.push(format!("table{}", inst.aux)),
    }
    format!("[{}]", parts.join(" + "))
}

fn immediate(row: &Row, inst: &MInst) -> Option<String> {
    let used = row.asm.contains("{i}") || row.asm.contains("{c}");
    (row.kind != RowKind::Branch && (used || inst.imm64() != 0) && inst.annotation().is_none_or(|_| used))
        .then(|| format!("{}", inst.imm64() as i64))
}

/// Returns the blocks that a branch refers to.
fn targets(row: &Row, inst: &MInst, names: &Names) -> Vec<String> {
    if row.kind != RowKind::Branch || inst.mode.kind() != AddrKind::None {
        return Vec::new();
    }
    let blocks = [inst.aux, inst.extra].into_iter().filter(|&block| block != NO_BLOCK);
    blocks.filter_map(|block| names.blocks.get(block as usize).cloned()).collect()
}
