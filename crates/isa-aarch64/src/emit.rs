//! Emission of instructions whose bytes depend on where blocks lie or on the frame, and of the allocator's edits.

use crate::branches::{invert_test, jump, jump_if, jump_test};
use crate::encode::{Args, encode, word};
use crate::encoding::Special;
use crate::regs::invert;
use crate::rows::{self, ENCODINGS};
use crate::{atomic_loop, frame};
use kingpost_ir::TrapCode;
use kingpost_mach::{Buffer, EmitContext, Label, MInst, MachineEdit, NO_BLOCK, RowId};
use kingpost_regalloc::{Block, PReg, RegClass};

/// The immediate of the instruction that traps.
const TRAP_IMM: i64 = 0xc11f;

/// Emits one instruction.
pub(crate) fn emit(inst: &MInst, cx: &EmitContext<'_>, buffer: &mut Buffer) {
    let encoding = &ENCODINGS[usize::from(inst.row.0)];
    let imm = if encoding.wide { inst.imm64() as i64 } else { i64::from(inst.imm) };
    let args = Args { regs: cx.regs, mem: cx.mem, imm, symbols: cx.symbols, trap: inst.trap() };
    match encoding.special {
        Special::No | Special::Constant(_) | Special::Got | Special::Absolute => encode(inst.row, &args, buffer),
        Special::Jump => jump_unless_next(inst.aux, cx.next, buffer),
        Special::JumpIf => branch(inst, cx.next, buffer),
        Special::JumpIfOr => branch_or(Conditions::of(inst), inst.aux, inst.extra, cx.next, buffer),
        // Both hold unless one of the opposites does.
        Special::JumpIfAnd => {
            branch_or(Conditions::of(inst).inverted(), inst.extra, inst.aux, cx.next, buffer);
        }
        Special::JumpTest => branch_test(inst, word(encoding, &args), cx.next, buffer),
        Special::TrapIf | Special::TrapIfOr | Special::TrapIfAnd => trap_if(inst, encoding.special, buffer),
        Special::TrapTest => {
            if let Some(trap) = deferred_trap(inst, buffer) {
                jump_test(word(encoding, &args), trap, buffer);
            }
        }
        Special::Nothing => {}
        Special::Leave => {
            let pops = inst.row == rows::RET;
            frame::epilogue(cx.frame, pops, buffer, |buffer| encode(inst.row, &args, buffer));
        }
        Special::AtomicLoop(operation) => atomic_loop::emit(operation, encoding.bytes, &args, buffer),
    }
}

/// Emits `udf` with its site.
pub(crate) fn emit_trap(code: TrapCode, buffer: &mut Buffer) {
    let args = Args { imm: TRAP_IMM, trap: Some(code), ..Args::default() };
    encode(rows::UDF, &args, buffer);
}

fn label(block: u32) -> Label {
    Label::new(block as usize)
}

fn is_next(block: u32, next: Option<Block>) -> bool {
    next.is_some_and(|next| next.as_u32() == block)
}

fn jump_unless_next(block: u32, next: Option<Block>, buffer: &mut Buffer) {
    if !is_next(block, next) {
        jump(label(block), buffer);
    }
}

/// `b.cond taken`, and `b other` unless it comes next; the other way round if `taken` comes next.
fn branch(inst: &MInst, next: Option<Block>, buffer: &mut Buffer) {
    let (taken, other) = (inst.aux, inst.extra);
    if taken == other || other == NO_BLOCK {
        jump_unless_next(taken, next, buffer);
    } else if is_next(taken, next) {
        jump_if(invert(inst.imm), label(other), buffer);
    } else {
        jump_if(inst.imm, label(taken), buffer);
        jump_unless_next(other, next, buffer);
    }
}

/// The same for a branch that tests a register, given by its word.
fn branch_test(inst: &MInst, word: u32, next: Option<Block>, buffer: &mut Buffer) {
    let (taken, other) = (inst.aux, inst.extra);
    if taken == other || other == NO_BLOCK {
        jump_unless_next(taken, next, buffer);
    } else if is_next(taken, next) {
        jump_test(invert_test(word), label(other), buffer);
    } else {
        jump_test(word, label(taken), buffer);
        jump_unless_next(other, next, buffer);
    }
}

/// The two conditions in an instruction's immediate.
#[derive(Clone, Copy)]
struct Conditions(i32, i32);

impl Conditions {
    fn of(inst: &MInst) -> Conditions {
        Conditions(inst.imm & 0xffff, inst.imm >> 16)
    }

    fn inverted(self) -> Conditions {
        Conditions(invert(self.0), invert(self.1))
    }
}

/// To `taken` if either condition holds, else to `other`.
fn branch_or(conditions: Conditions, taken: u32, other: u32, next: Option<Block>, buffer: &mut Buffer) {
    let Conditions(first, second) = conditions;
    if taken == other {
        jump_unless_next(taken, next, buffer);
        return;
    }
    jump_if(first, label(taken), buffer);
    if is_next(taken, next) {
        jump_if(invert(second), label(other), buffer);
    } else {
        jump_if(second, label(taken), buffer);
        jump_unless_next(other, next, buffer);
    }
}

/// A trap behind the code with the instruction's code.
fn deferred_trap(inst: &MInst, buffer: &mut Buffer) -> Option<Label> {
    let code = inst.trap();
    debug_assert!(code.is_some(), "a conditional trap has a code");
    code.map(|code| buffer.defer_trap(code))
}

/// Jumps to a trap behind the code if the condition, or either of the two, holds.
fn trap_if(inst: &MInst, special: Special, buffer: &mut Buffer) {
    let Some(trap) = deferred_trap(inst, buffer) else { return };
    let Conditions(first, second) = Conditions::of(inst);
    if special == Special::TrapIfAnd {
        let skip = buffer.new_label();
        jump_if(invert(first), skip, buffer);
        jump_if(second, trap, buffer);
        buffer.bind(skip);
        return;
    }
    jump_if(first, trap, buffer);
    if special == Special::TrapIfOr {
        jump_if(second, trap, buffer);
    }
}

/// Emits one edit. None of these instructions touches the flags.
pub(crate) fn emit_edit(edit: &MachineEdit, buffer: &mut Buffer) {
    match *edit {
        MachineEdit::Move(from, to, width) => encode(move_row(from, width), &Args::regs(&[to, from]), buffer),
        MachineEdit::Exchange(..) => unreachable!("this target has no exchange, so no allocation holds one"),
        MachineEdit::Spill(from, to, width) => encode(spill_row(from, width), &Args::mem(&[from], to), buffer),
        MachineEdit::Fill(from, to, width) => encode(fill_row(to, width), &Args::mem(&[to], from), buffer),
    }
}

fn move_row(reg: PReg, width: u8) -> RowId {
    match (reg.class(), width) {
        (RegClass::Int, ..=4) => rows::MOV32_RR,
        (RegClass::Int, _) => rows::MOV64_RR,
        (RegClass::Float, ..=8) => rows::FMOV64_FF,
        (RegClass::Float, _) => rows::MOV128_FF,
    }
}

fn spill_row(reg: PReg, width: u8) -> RowId {
    match (reg.class(), width) {
        (RegClass::Int, ..=1) => rows::STRB_MR,
        (RegClass::Int, 2) => rows::STRH_MR,
        (RegClass::Int, 3..=4) => rows::STR32_MR,
        (RegClass::Int, _) => rows::STR64_MR,
        (RegClass::Float, ..=2) => rows::STR16_MF,
        (RegClass::Float, 3..=4) => rows::STR32_MF,
        (RegClass::Float, 5..=8) => rows::STR64_MF,
        (RegClass::Float, _) => rows::STR128_MF,
    }
}

fn fill_row(reg: PReg, width: u8) -> RowId {
    match (reg.class(), width) {
        (RegClass::Int, ..=1) => rows::LDRB_RM,
        (RegClass::Int, 2) => rows::LDRH_RM,
        (RegClass::Int, 3..=4) => rows::LDR32_RM,
        (RegClass::Int, _) => rows::LDR64_RM,
        (RegClass::Float, ..=2) => rows::LDR16_FM,
        (RegClass::Float, 3..=4) => rows::LDR32_FM,
        (RegClass::Float, 5..=8) => rows::LDR64_FM,
        (RegClass::Float, _) => rows::LDR128_FM,
    }
}
