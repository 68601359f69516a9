//! Emission of instructions whose bytes depend on the positions of blocks or on the frame, and of the allocator's edits.

use crate::branches::{A64Branches, ADR, form};
use crate::encode::{at_base, at_index, encode, single_word};
use crate::encoding::{MemField, Special};
use crate::immediates::least_constant;
use crate::plain::{put, word};
use crate::regs::{CC_EQ, CC_LO, CC_LS, X16};
use crate::rows::{self, ENCODINGS};
use crate::{atomic_loop, atomic_pair_loop, frame, pairs, stack_switch, tls};
use kingpost_ir::TrapCode;
use kingpost_mach::{
    AddrKind, Args, Branching, Buffer, EmitContext, FrameLayout, Label, MInst, MachineEdit, Mem, MemBase, Regs, RowId,
};
use kingpost_regalloc::{PReg, RegClass};

/// The immediate of the instruction that traps.
const TRAP_IMM: i64 = 0xc11f;

/// Emits an instruction that is one word and refers to no symbol, or has no bytes. Returns `false` for any other
/// instruction, and if a listing is made. Without this fast path, compilation takes 6.0 % more instructions (`make
/// gate`, `aarch64 fused none`).
#[inline(always)]
pub(crate) fn emit_direct(inst: &MInst, regs: Regs, frame: &FrameLayout, buffer: &mut Buffer) -> bool {
    let encoding = &ENCODINGS[usize::from(inst.row.0)];
    if buffer.is_listed() {
        return false;
    }
    if !encoding.is_single() {
        return match encoding.special {
            Special::Nothing => true,
            Special::Constant(bits) => least_constant_direct(encoding.imm_of(inst) as u64, bits.into(), regs, buffer),
            _ => false,
        };
    }
    let word = word(encoding, regs, encoding.imm_of(inst));
    let disp = i64::from(inst.aux as i32);
    let word = match (encoding.mem, inst.mode.kind()) {
        (MemField::None, AddrKind::None) => Some(word),
        (MemField::Single, AddrKind::Base) => {
            let Some(word) = at_base(word, encoding.bytes, regs.from_end(0), disp) else { return false };
            put(word, inst.trap(), buffer);
            pairs::join_alike(buffer);
            return true;
        }
        (MemField::Single, AddrKind::Index) if disp == 0 => {
            let index = (regs.from_end(0), inst.mode.shift(), inst.mode.extend());
            at_index(word, encoding.bytes, regs.from_end(1), index)
        }
        _ => return in_frame_direct(inst, word, frame, buffer),
    };
    let Some(word) = word else { return false };
    put(word, inst.trap(), buffer);
    true
}

/// Emits a constant that one `movz` makes. Returns `false` if it needs another instruction. Without this fast path,
/// compilation takes 1.0 % more instructions (`make gate`, `aarch64 fused none`).
fn least_constant_direct(value: u64, bits: u32, regs: Regs, buffer: &mut Buffer) -> bool {
    let Some(field) = least_constant(value, bits) else { return false };
    let encoding = &ENCODINGS[usize::from(rows::MOVZ_RI.of(bits).0)];
    put(word(encoding, regs, field.into()), None, buffer);
    true
}

/// Emits a load from the frame or a store to it. `word` is its form with a scaled offset. Returns `false` for other
/// addresses, and if the offset needs more instructions.
fn in_frame_direct(inst: &MInst, word: u32, frame: &FrameLayout, buffer: &mut Buffer) -> bool {
    let encoding = &ENCODINGS[usize::from(inst.row.0)];
    let mem = match (encoding.mem, inst.mode.kind()) {
        (MemField::Single, AddrKind::Slot) => frame.user_slot(inst.aux),
        (MemField::Single, AddrKind::Incoming) => frame.incoming(inst.aux as i32),
        (MemField::Single, AddrKind::Outgoing) => frame.outgoing(inst.aux),
        _ => return false,
    };
    let Some(word) = single_word(word, encoding.bytes, &mem) else { return false };
    put(word, inst.trap(), buffer);
    pairs::join(buffer);
    true
}

/// Emits one instruction.
pub(crate) fn emit(inst: &MInst, cx: &EmitContext<'_>, buffer: &mut Buffer) {
    let encoding = &ENCODINGS[usize::from(inst.row.0)];
    let imm = encoding.imm_of(inst);
    let args = Args { regs: cx.regs, mem: cx.mem, imm, symbols: cx.symbols, trap: inst.trap() };
    match encoding.special {
        Special::No | Special::Constant(_) | Special::Got | Special::Absolute => {
            encode(inst.row, &args, buffer);
            match cx.mem {
                Some(Mem { base: MemBase::StackPointer | MemBase::FramePointer, .. }) => pairs::join(buffer),
                Some(Mem { base: MemBase::Reg(_), index: None, .. }) => pairs::join_alike(buffer),
                _ => {}
            }
        }
        Special::Jump => branching(cx, buffer).jump(inst.aux),
        Special::JumpIf => branching(cx, buffer).branch(inst, form(inst.imm)),
        Special::JumpIfOr => branching(cx, buffer).branch_if_either(inst, forms(inst)),
        Special::JumpIfAnd => branching(cx, buffer).branch_if_both(inst, forms(inst)),
        Special::JumpChain(count) => jump_chain(inst, count, cx, buffer),
        Special::JumpTest => branching(cx, buffer).branch(inst, word(encoding, Regs::of(cx.regs), imm)),
        Special::BlockAddress => {
            let block = Label::new(cx.targets[inst.imm as usize] as usize);
            buffer.branch(block, ADR | u32::from(cx.regs[0].enc()), &A64Branches);
        }
        Special::TrapIf => branching(cx, buffer).trap_if(inst, form(inst.imm)),
        Special::TrapIfOr => branching(cx, buffer).trap_if_either(inst, forms(inst)),
        Special::TrapIfAnd => branching(cx, buffer).trap_if_both(inst, forms(inst)),
        Special::TrapTest => branching(cx, buffer).trap_if(inst, word(encoding, Regs::of(cx.regs), imm)),
        Special::Nothing => {}
        Special::TlsAddress => tls::address(inst.row, &args, buffer),
        Special::TlsOfIndex => tls::address_by_index(inst.row, &args, buffer),
        Special::TlsOfVariable => tls::address_of_variable(inst.row, &args, buffer),
        Special::StackSwitch => stack_switch::emit(inst.row, &args, buffer),
        Special::Leave => leave(inst, cx, buffer, |buffer| encode(inst.row, &args, buffer)),
        Special::LeaveX16 => leave(inst, cx, buffer, |buffer| {
            encode(rows::MOV_RR.of(64), &Args::regs(&[X16, cx.regs[0]]), buffer);
            encode(rows::BR_R, &Args::regs(&[X16]), buffer);
        }),
        Special::AtomicLoop(operation) => atomic_loop::emit(operation, encoding.bytes, &args, buffer),
        Special::AtomicPairLoop(operation, is_big) => atomic_pair_loop::emit(operation, is_big, &args, buffer),
    }
}

/// Emits the epilogue, with `exit` as the instruction that leaves the function.
fn leave(inst: &MInst, cx: &EmitContext<'_>, buffer: &mut Buffer, exit: impl FnOnce(&mut Buffer)) {
    let popped = if inst.row == rows::RET { cx.frame.popped_bytes } else { cx.frame.rise(inst.imm as u64) };
    frame::epilogue(cx.frame, popped, buffer, exit);
}

/// Number of `bti j` among the hints.
const JUMP_PAD: i64 = 36;

/// Emits the landing pad of indirect jumps: `bti j`.
pub(crate) fn landing_pad(buffer: &mut Buffer) {
    encode(rows::HINT_I, &Args::imm(&[], JUMP_PAD), buffer);
}

/// Emits `udf` and records its trap site.
pub(crate) fn emit_trap(code: TrapCode, buffer: &mut Buffer) {
    let args = Args { imm: TRAP_IMM, trap: Some(code), ..Args::default() };
    encode(rows::UDF, &args, buffer);
}

fn branching<'a>(cx: &EmitContext<'_>, buffer: &'a mut Buffer) -> Branching<'a, A64Branches> {
    Branching::new(&A64Branches, cx.next, buffer)
}

/// Returns the branch forms of the two conditions in an instruction's immediate.
fn forms(inst: &MInst) -> [u32; 2] {
    [form(inst.imm & 0xffff), form(inst.imm >> 16)]
}

/// Emits the jump of a row with [`Special::JumpChain`]: compares the register with one number after another.
fn jump_chain(inst: &MInst, count: usize, cx: &EmitContext<'_>, buffer: &mut Buffer) {
    let start = inst.imm as usize;
    let (targets, default) = (&cx.targets[start..start + count], cx.targets[start + count]);
    branching(cx, buffer).chain(targets, default, [CC_LO, CC_EQ, CC_LS].map(form), |number, buffer| {
        encode(rows::CMP_RI.of(32), &Args::imm(cx.regs, number), buffer);
    });
}

/// Emits one edit. None of these instructions changes the flags. Inlined because little remains of it in a caller
/// that knows the kind of the edit.
#[inline(always)]
pub(crate) fn emit_edit(edit: &MachineEdit, buffer: &mut Buffer) {
    // Only the first register of a load or store counts.
    let (row, regs, mem) = match *edit {
        MachineEdit::Move(from, to, width) => (move_row(from, width), [to, from], None),
        MachineEdit::Exchange(..) => unreachable!("this target has no exchange, so no allocation holds one"),
        MachineEdit::Spill(from, to, width) => (spill_row(from.class(), width), [from; 2], Some(to)),
        MachineEdit::Fill(from, to, width) => (fill_row(to.class(), width), [to; 2], Some(from)),
    };
    encode(row, &Args { mem, ..Args::regs(&regs) }, buffer);
    if mem.is_some() {
        pairs::join(buffer);
    }
}

fn move_row(reg: PReg, width: u8) -> RowId {
    match (reg.class(), width) {
        (RegClass::Int, ..=4) => rows::MOV_RR.of(32),
        (RegClass::Int, _) => rows::MOV_RR.of(64),
        (RegClass::Float, ..=8) => rows::FMOV_FF.of(64),
        (RegClass::Float, _) => rows::MOV128_FF,
    }
}

/// Returns the row that stores `width` bytes of a register.
pub(crate) fn spill_row(class: RegClass, width: u8) -> RowId {
    match (class, width) {
        (RegClass::Int, ..=1) => rows::STR_MR.of(8),
        (RegClass::Int, 2) => rows::STR_MR.of(16),
        (RegClass::Int, 3..=4) => rows::STR_MR.of(32),
        (RegClass::Int, _) => rows::STR_MR.of(64),
        (RegClass::Float, ..=2) => rows::STR_MF.of(16),
        (RegClass::Float, 3..=4) => rows::STR_MF.of(32),
        (RegClass::Float, 5..=8) => rows::STR_MF.of(64),
        (RegClass::Float, _) => rows::STR_MF.of(128),
    }
}

/// Returns the row that loads `width` bytes into a register and clears the bytes above.
pub(crate) fn fill_row(class: RegClass, width: u8) -> RowId {
    match (class, width) {
        (RegClass::Int, ..=1) => rows::LDR_RM.of(8),
        (RegClass::Int, 2) => rows::LDR_RM.of(16),
        (RegClass::Int, 3..=4) => rows::LDR_RM.of(32),
        (RegClass::Int, _) => rows::LDR_RM.of(64),
        (RegClass::Float, ..=2) => rows::LDR_FM.of(16),
        (RegClass::Float, 3..=4) => rows::LDR_FM.of(32),
        (RegClass::Float, 5..=8) => rows::LDR_FM.of(64),
        (RegClass::Float, _) => rows::LDR_FM.of(128),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regs::{CC_HI, CC_VC, FP, LR, v, x};
    use kingpost_mach::{FunctionHead, JumpTables, Label, ModuleBuffer, NO_BLOCK, SymbolName, UnwindOp, UnwindSite};
    use kingpost_regalloc::Block;

    /// Returns the words that `fill` emits into a buffer with three labels: 0 at the start, 1 and 2 at the end.
    fn code(fill: impl FnOnce(&mut Buffer)) -> (Vec<u32>, ModuleBuffer) {
        let mut buffer = Buffer::default();
        buffer.start(3);
        buffer.bind(Label::new(0));
        fill(&mut buffer);
        buffer.bind(Label::new(1));
        buffer.bind(Label::new(2));
        buffer.place_deferred_traps(&[], emit_trap);
        let mut module = ModuleBuffer::default();
        let head = FunctionHead::of_bytes(SymbolName::User(0, 0), 4);
        buffer.finish(head, &JumpTables::default(), &[], &A64Branches, &mut module).unwrap();
        let words = module.function(0).code.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap()));
        (words.collect(), module)
    }

    fn emitted(inst: &MInst, regs: &[PReg], mem: Option<Mem>, next: Option<u32>) -> (Vec<u32>, ModuleBuffer) {
        let frame = FrameLayout::default();
        let next = next.map(Block::from_u32);
        code(|buffer| emit(inst, &EmitContext { regs, mem, frame: &frame, symbols: &[], targets: &[], next }, buffer))
    }

    fn inst(inst: &MInst, regs: &[PReg], mem: Option<Mem>, next: Option<u32>) -> Vec<u32> {
        emitted(inst, regs, mem, next).0
    }

    /// Returns the words of a branch to block 0, or else to block 1.
    fn to_0_else_1(row: RowId, imm: i32, regs: &[PReg], next: Option<u32>) -> Vec<u32> {
        let mut branch = MInst::new(row);
        (branch.imm, branch.aux, branch.extra) = (imm, 0, 1);
        inst(&branch, regs, None, next)
    }

    fn at(base: PReg, disp: i64) -> Option<Mem> {
        Some(Mem::base(MemBase::Reg(base), disp))
    }

    #[test]
    fn branches_fall_through_where_they_can() {
        // b.lo 0
        assert_eq!(to_0_else_1(rows::B_IF, CC_LO, &[], Some(1)), [0x5400_0003]);
        // b.hs 1
        assert_eq!(to_0_else_1(rows::B_IF, CC_LO, &[], Some(0)), [0x5400_0022]);
        // b.lo 0; b 1
        assert_eq!(to_0_else_1(rows::B_IF, CC_LO, &[], None), [0x5400_0003, 0x1400_0001]);
        // cbz x3, 0
        assert_eq!(to_0_else_1(rows::CBZ_R.of(64), 0, &[x(3)], Some(1)), [0xb400_0003]);
        // cbnz x3, 1
        assert_eq!(to_0_else_1(rows::CBZ_R.of(64), 0, &[x(3)], Some(0)), [0xb500_0023]);
        // tbz x3, #40, 0; b 1
        assert_eq!(to_0_else_1(rows::TBZ_RI, 40, &[x(3)], None), [0xb640_0003, 0x1400_0001]);
        let mut jump = MInst::new(rows::B);
        (jump.aux, jump.extra) = (0, NO_BLOCK);
        assert_eq!(inst(&jump, &[], None, Some(0)), []);
        assert_eq!(inst(&jump, &[], None, Some(1)), [0x1400_0000]);
    }

    #[test]
    fn two_conditions_make_two_branches() {
        let both = CC_EQ | CC_VC << 16;
        let branch = |row, next| to_0_else_1(row, both, &[], next);
        // b.eq 0; b.vc 0
        assert_eq!(branch(rows::B_IF_OR, Some(1)), [0x5400_0000, 0x54ff_ffe7]);
        // b.eq 0; b.vs 1
        assert_eq!(branch(rows::B_IF_OR, Some(0)), [0x5400_0000, 0x5400_0026]);
        // b.eq 0; b.vc 0; b 1
        assert_eq!(branch(rows::B_IF_OR, None), [0x5400_0000, 0x54ff_ffe7, 0x1400_0001]);
        // b.ne 1; b.vc 0
        assert_eq!(branch(rows::B_IF_AND, Some(1)), [0x5400_0041, 0x54ff_ffe7]);
        // b.ne 1; b.vs 1
        assert_eq!(branch(rows::B_IF_AND, Some(0)), [0x5400_0041, 0x5400_0026]);
    }

    #[test]
    fn conditional_traps_lie_behind_the_code() {
        let code_1 = TrapCode::user(1).unwrap();
        let trap = |row, imm, regs: &[PReg]| {
            let mut trap = MInst::new(row);
            trap.imm = imm;
            trap.set_trap(Some(code_1));
            let (words, module) = emitted(&trap, regs, None, None);
            let sites: Vec<_> = module.function(0).traps.iter().map(|t| (t.offset, t.code)).collect();
            assert_eq!(sites, [(4 * (words.len() as u32 - 1), code_1)]);
            words
        };
        // b.hi 1f; b.eq 1f; 1: udf
        let either = CC_HI | CC_EQ << 16;
        assert_eq!(trap(rows::TRAP_IF_OR, either, &[]), [0x5400_0048, 0x5400_0020, 0xc11f]);
        // b.ls 2f; b.eq 1f; 2: 1: udf
        assert_eq!(trap(rows::TRAP_IF_AND, either, &[]), [0x5400_0049, 0x5400_0020, 0xc11f]);
        // cbz w7, 1f; 1: udf
        assert_eq!(trap(rows::TRAP_CBZ_R.of(32), 0, &[x(7)]), [0x3400_0027, 0xc11f]);
    }

    #[test]
    fn only_the_access_of_a_far_load_faults() {
        let mut load = MInst::new(rows::LDR_RM.of(64));
        load.set_trap(Some(TrapCode::HEAP_OUT_OF_BOUNDS));
        let (words, module) = emitted(&load, &[x(0)], at(x(1), 0x1000_0000), None);
        assert_eq!(words.len(), 2);
        let sites: Vec<u32> = module.function(0).traps.iter().map(|t| t.offset).collect();
        assert_eq!(sites, [4]);
    }

    #[test]
    fn a_return_takes_down_the_frame_and_says_so() {
        let frame = FrameLayout { has_frame: true, link_bytes: 16, size: 16, ..FrameLayout::default() };
        let cx = EmitContext { regs: &[], mem: None, frame: &frame, symbols: &[], targets: &[], next: None };
        let (words, module) = code(|buffer| emit(&MInst::new(rows::RET), &cx, buffer));
        // mov sp, x29; ldp x29, x30, [sp], #16; ret
        assert_eq!(words, [0x9100_03bf, 0xa8c1_7bfd, 0xd65f_03c0]);
        let ops = module.function(0).unwind;
        assert_eq!(ops.first(), Some(&UnwindSite { offset: 0, op: UnwindOp::EpilogueBegin }));
        for reg in [FP, LR] {
            assert!(ops.contains(&UnwindSite { offset: 8, op: UnwindOp::Restored(reg) }), "{ops:?}");
        }
        assert_eq!(ops.last(), Some(&UnwindSite { offset: 12, op: UnwindOp::EpilogueEnd }));
    }

    #[test]
    fn loops_load_and_store_exclusively() {
        let loop_of = |row, regs: &[PReg], mem| inst(&MInst::new(row), regs, mem, None);
        let three = [x(0), x(2), x(3)];
        // 1: ldaxr w0, [x1]; and w2, w0, w3; mvn w2, w2; stlxr w17, w2, [x1]; cbnz w17, 1b
        let nand = [0x885f_fc20, 0x0a03_0002, 0x2a22_03e2, 0x8811_fc22, 0x35ff_ff91];
        assert_eq!(loop_of(rows::ATOMIC_NAND_MR.of(32), &three, at(x(1), 0)), nand);
        // 1: ldaxrb w0, [x1]; sxtb w2, w0; cmp w2, w3, sxtb; csel w2, w2, w3, lt; stlxrb w17, w2, [x1]; cbnz w17, 1b
        let smin = [0x085f_fc20, 0x1300_1c02, 0x6b23_805f, 0x1a83_b042, 0x0811_fc22, 0x35ff_ff71];
        assert_eq!(loop_of(rows::ATOMIC_SMIN_MR.of(8), &three, at(x(1), 0)), smin);
        // 1: ldaxr x0, [x1]; stlxr w17, x3, [x1]; cbnz w17, 1b
        let swap = [0xc85f_fc20, 0xc811_fc23, 0x35ff_ffd1];
        assert_eq!(loop_of(rows::ATOMIC_SWAP_MR.of(64), &[x(0), x(3)], at(x(1), 0)), swap);
        // add x16, x1, #8; 1: ldaxrh w0, [x16]; cmp w0, w3, uxth; b.ne 2f; stlxrh w17, w4, [x16]; cbnz w17, 1b; 2:
        let cas = [0x9100_2030, 0x485f_fe00, 0x6b23_201f, 0x5400_0061, 0x4811_fe04, 0x35ff_ff91];
        assert_eq!(loop_of(rows::ATOMIC_CAS_MR.of(16), &[x(0), x(3), x(4)], at(x(1), 8)), cas);
    }

    #[test]
    fn edits_follow_class_and_width() {
        let slot = Mem::base(MemBase::FramePointer, -8);
        let cases: [(MachineEdit, &[u32]); 10] = [
            (MachineEdit::Move(x(0), x(3), 4), &[0x2a00_03e3]),
            (MachineEdit::Move(x(0), x(3), 8), &[0xaa00_03e3]),
            (MachineEdit::Move(v(1), v(2), 4), &[0x1e60_4022]),
            (MachineEdit::Move(v(1), v(2), 16), &[0x4ea1_1c22]),
            (MachineEdit::Spill(x(19), slot, 4), &[0xb81f_83b3]),
            (MachineEdit::Spill(v(3), slot, 16), &[0x3c9f_83a3]),
            (MachineEdit::Fill(slot, x(19), 8), &[0xf85f_83b3]),
            (MachineEdit::Fill(slot, v(3), 4), &[0xbc5f_83a3]),
            (MachineEdit::Fill(slot, x(3), 1), &[0x385f_83a3]),
            // sub x16, x29, #0x12000; str x3, [x16, #4088]
            (MachineEdit::Spill(x(3), Mem::base(MemBase::FramePointer, -0x11008), 8), &[0xd140_4bb0, 0xf907_fe03]),
        ];
        for (edit, expected) in cases {
            assert_eq!(code(|buffer| emit_edit(&edit, buffer)).0, expected, "{edit:?}");
        }
    }

    #[test]
    fn edits_use_one_scratch_register_at_any_offset() {
        for disp in [-0x100, -0x8001, 0x7ff8, -0x7_1234, 0x123_4567, -0x7654_3210, i64::from(i32::MIN)] {
            for base in [MemBase::FramePointer, MemBase::StackPointer] {
                let words = code(|b| emit_edit(&MachineEdit::Fill(Mem::base(base, disp), v(3), 16), b)).0;
                // x17, the other scratch register, is never written: the destination is in the low bits of all words
                // except the load.
                let (load, address) = words.split_last().unwrap();
                assert_eq!(load & 31, 3);
                assert!(address.iter().all(|word| word & 31 == 16), "{disp}: {words:x?}");
            }
        }
    }
}
