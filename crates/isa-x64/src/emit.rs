//! Emission of instructions whose bytes depend on the positions of blocks or on the frame.

use crate::branches::{X64Branches, address_form, form, jump_if};
use crate::encode::{RmBytes, assemble, encode};
use crate::encoding::Special;
use crate::recipe::{RECIPES, Rm};
use crate::regs::{CC_B, CC_BE, CC_E};
use crate::rows::{self, ENCODINGS};
use crate::{atomic_loop, atomic_pair_loop, frame, stack_switch, tls};
use kingpost_ir::TrapCode;
use kingpost_mach::lower::invert;
use kingpost_mach::{
    AddrKind, AddrMode, Args, Branching, Buffer, EmitContext, FrameLayout, IndexExtend, Label, MInst, Mem, Regs,
};
use kingpost_regalloc::PReg;

/// Emits a single instruction that refers to no symbol, or one without bytes. Returns `false` for any other
/// instruction, and if a listing is made. Without this fast path, compilation takes 7.3 % more instructions (`make
/// gate`, `x86_64 fused none`).
#[inline(always)]
pub(crate) fn emit_direct(inst: &MInst, regs: Regs, frame: &FrameLayout, buffer: &mut Buffer) -> bool {
    let recipe = &RECIPES[usize::from(inst.row.0)];
    if !recipe.is_single || buffer.is_listed() {
        return inst.row == rows::ENTRY;
    }
    let has_memory = inst.mode != AddrMode::NONE;
    if has_memory != (recipe.rm_is == Rm::Mem) {
        return false;
    }
    let place = match inst.mode.kind() {
        _ if !has_memory => RmBytes::default(),
        AddrKind::Base => RmBytes::base(regs.from_end(0).enc(), inst.aux as i32),
        AddrKind::Index => {
            RmBytes::index(regs.from_end(1).enc(), regs.from_end(0).enc(), inst.mode.shift(), inst.aux as i32)
        }
        AddrKind::Slot => RmBytes::in_frame(frame.user_slot(inst.aux)),
        AddrKind::SlotIndex => {
            let index = Some((regs.from_end(0), inst.mode.shift(), IndexExtend::None));
            RmBytes::in_frame(Mem { index, ..frame.user_slot(inst.aux) })
        }
        AddrKind::Incoming => RmBytes::in_frame(frame.incoming(inst.aux as i32)),
        AddrKind::Outgoing => RmBytes::in_frame(frame.outgoing(inst.aux)),
        AddrKind::None | AddrKind::Symbol | AddrKind::Table => return false,
    };
    if let Some(code) = inst.trap() {
        buffer.trap(code);
    }
    assemble(inst.row, recipe, regs, place, recipe.imm_of(inst), buffer);
    true
}

/// Emits one instruction.
pub(crate) fn emit(inst: &MInst, cx: &EmitContext<'_>, buffer: &mut Buffer) {
    let encoding = &ENCODINGS[usize::from(inst.row.0)];
    let imm = RECIPES[usize::from(inst.row.0)].imm_of(inst);
    let args = Args { regs: cx.regs, mem: cx.mem, imm, symbols: cx.symbols, trap: inst.trap() };
    match encoding.special {
        Special::No => single(inst, &args, buffer),
        Special::Jump => branching(cx, buffer).jump(inst.aux),
        Special::JumpIf => branching(cx, buffer).branch(inst, form(inst.imm)),
        Special::JumpIfOr => branching(cx, buffer).branch_if_either(inst, forms(inst)),
        Special::JumpIfAnd => branching(cx, buffer).branch_if_both(inst, forms(inst)),
        Special::JumpChain(count) => jump_chain(inst, count, cx, buffer),
        Special::BlockAddress => {
            let block = Label::new(cx.targets[inst.imm as usize] as usize);
            buffer.branch(block, address_form(cx.regs[0]), &X64Branches);
        }
        Special::TrapIf => branching(cx, buffer).trap_if(inst, form(inst.imm)),
        Special::TrapIfOr => branching(cx, buffer).trap_if_either(inst, forms(inst)),
        Special::TrapIfAnd => branching(cx, buffer).trap_if_both(inst, forms(inst)),
        Special::StackCheck => {
            if cx.frame.uses_stack() {
                encode(rows::CMPRSP_R, &args, buffer);
                let trap = buffer.defer_trap(TrapCode::STACK_OVERFLOW);
                jump_if(CC_B, trap, buffer);
            }
        }
        Special::Nothing => {}
        Special::TlsAddress => tls::address(inst.row, &args, buffer),
        Special::TlsOfIndex => tls::address_by_index(inst.row, &args, buffer),
        Special::TlsOfVariable => tls::address_of_variable(inst.row, &args, buffer),
        Special::StackSwitch => stack_switch::emit(inst.row, &args, buffer),
        Special::Select => select(inst, cx.regs, buffer),
        Special::Leave if inst.row == rows::RET => {
            frame::epilogue(cx.frame, 0, buffer, |buffer| frame::ret(cx.frame, buffer));
        }
        Special::Leave => {
            let rise = cx.frame.rise(inst.imm as u64);
            frame::epilogue(cx.frame, rise, buffer, |buffer| single(inst, &args, buffer));
        }
        Special::AtomicLoop(operation) => atomic_loop::emit(operation, encoding.mem, &args, buffer),
        Special::AtomicPairLoop(operation, is_big) => atomic_pair_loop::emit(operation, is_big, &args, buffer),
    }
}

/// Emits `ud2` and records its trap site.
pub(crate) fn emit_trap(code: TrapCode, buffer: &mut Buffer) {
    buffer.trap(code);
    encode(rows::UD2, &Args::default(), buffer);
}

fn single(inst: &MInst, args: &Args<'_>, buffer: &mut Buffer) {
    if let Some(code) = inst.trap() {
        buffer.trap(code);
    }
    encode(inst.row, args, buffer);
}

fn branching<'a>(cx: &EmitContext<'_>, buffer: &'a mut Buffer) -> Branching<'a, X64Branches> {
    Branching::new(&X64Branches, cx.next, buffer)
}

/// Returns the branch forms of the two conditions in an instruction's immediate.
fn forms(inst: &MInst) -> [u32; 2] {
    [form(inst.imm & 0xffff), form(inst.imm >> 16)]
}

/// Emits the jump of a row with [`Special::JumpChain`]: compares the register with one number after another.
fn jump_chain(inst: &MInst, count: usize, cx: &EmitContext<'_>, buffer: &mut Buffer) {
    let start = inst.imm as usize;
    let (targets, default) = (&cx.targets[start..start + count], cx.targets[start + count]);
    branching(cx, buffer).chain(targets, default, [CC_B, CC_E, CC_BE].map(form), |number, buffer| {
        encode(rows::CMP_RI.of(32), &Args::imm(cx.regs, number), buffer);
    });
}

/// Copies operand 2 to operand 0 if the condition holds.
fn select(inst: &MInst, regs: &[PReg], buffer: &mut Buffer) {
    let skip = buffer.new_label();
    jump_if(invert(inst.imm), skip, buffer);
    encode(rows::MOVAPS_RR, &Args::regs(&[regs[0], regs[2]]), buffer);
    buffer.bind(skip);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regs::{CC_A, CC_NP, R9, RAX, RBX, RCX, RDI};
    use kingpost_mach::{
        FunctionHead, JumpTables, Label, Mem, MemBase, ModuleBuffer, NO_BLOCK, RowId, SymbolName, UnwindOp, UnwindSite,
    };
    use kingpost_regalloc::Block;

    fn label(block: u32) -> Label {
        Label::new(block as usize)
    }

    /// Returns the bytes that `fill` emits into a buffer with three labels: 0 at the start, 1 and 2 at the end.
    fn code(fill: impl FnOnce(&mut Buffer)) -> (String, ModuleBuffer) {
        let mut buffer = Buffer::default();
        buffer.start(3);
        buffer.bind(label(0));
        fill(&mut buffer);
        buffer.bind(label(1));
        buffer.bind(label(2));
        buffer.place_deferred_traps(&[], emit_trap);
        let mut module = ModuleBuffer::default();
        let head = FunctionHead::of_bytes(SymbolName::User(0, 0), 1);
        buffer.finish(head, &JumpTables::default(), &[], &X64Branches, &mut module).unwrap();
        (module.function(0).code.iter().map(|b| format!("{b:02x}")).collect(), module)
    }

    fn inst(inst: &MInst, regs: &[PReg], mem: Option<Mem>, next: Option<u32>) -> String {
        let frame = FrameLayout::default();
        let next = next.map(Block::from_u32);
        code(|buffer| emit(inst, &EmitContext { regs, mem, frame: &frame, symbols: &[], targets: &[], next }, buffer)).0
    }

    /// Returns the bytes of a branch to block 0, or else to block 1.
    fn to_0_else_1(row: RowId, imm: i32, next: Option<u32>) -> String {
        let mut branch = MInst::new(row);
        (branch.imm, branch.aux, branch.extra) = (imm, 0, 1);
        inst(&branch, &[], None, next)
    }

    #[test]
    fn branches_fall_through_where_they_can() {
        // jb 0
        assert_eq!(to_0_else_1(rows::JCC, CC_B, Some(1)), "72fe");
        // jae 1
        assert_eq!(to_0_else_1(rows::JCC, CC_B, Some(0)), "7300");
        // jb 0; jmp 1
        assert_eq!(to_0_else_1(rows::JCC, CC_B, None), "72feeb00");
        let mut jump = MInst::new(rows::JMP);
        (jump.aux, jump.extra) = (0, NO_BLOCK);
        assert_eq!(inst(&jump, &[], None, Some(0)), "");
        assert_eq!(inst(&jump, &[], None, Some(1)), "ebfe");
    }

    #[test]
    fn two_conditions_make_two_branches() {
        let both = CC_E | CC_NP << 16;
        // je 0; jnp 0
        assert_eq!(to_0_else_1(rows::JCC_OR, both, Some(1)), "74fe7bfc");
        // je 0; jp 1
        assert_eq!(to_0_else_1(rows::JCC_OR, both, Some(0)), "74fe7a00");
        // je 0; jnp 0; jmp 1
        assert_eq!(to_0_else_1(rows::JCC_OR, both, None), "74fe7bfceb00");
        // jne 1; jnp 0
        assert_eq!(to_0_else_1(rows::JCC_AND, both, Some(1)), "75027bfc");
        // jne 1; jp 1
        assert_eq!(to_0_else_1(rows::JCC_AND, both, Some(0)), "75027a00");
        // jne 1; jnp 0; jmp 1: block 0 precedes the branch, as in a loop
        assert_eq!(to_0_else_1(rows::JCC_AND, both, None), "75047bfceb00");
    }

    #[test]
    fn short_tables_are_compared() {
        let chain = |row, targets: &[u32], next: Option<u32>| {
            let (inst, frame) = (MInst::new(row), FrameLayout::default());
            let next = next.map(Block::from_u32);
            let cx = EmitContext { regs: &[RDI], mem: None, frame: &frame, symbols: &[], targets, next };
            code(|buffer| emit(&inst, &cx, buffer)).0
        };
        // cmp edi, 1; jb 0; je 1; jmp 2
        assert_eq!(chain(rows::JCHAIN2_R, &[0, 1, 2], None), "83ff0172fb7402eb00");
        // cmp edi, 1; jb 0; je 1; cmp edi, 2; je 0; fall through to 1
        assert_eq!(chain(rows::JCHAIN3_R, &[0, 1, 0, 1], Some(1)), "83ff0172fb740583ff0274f4");
        // cmp edi, 1; jbe 0; cmp edi, 2; je 1; jmp 0
        assert_eq!(chain(rows::JCHAIN3_R, &[0, 0, 1, 0], None), "83ff0176fb83ff027402ebf4");
    }

    #[test]
    fn conditional_traps_lie_behind_the_code() {
        let code_1 = TrapCode::user(1).unwrap();
        let mut trap = MInst::new(rows::TRAP_IF_OR);
        trap.imm = CC_A | CC_E << 16;
        trap.set_trap(Some(code_1));
        let frame = FrameLayout::default();
        let cx = EmitContext { regs: &[], mem: None, frame: &frame, symbols: &[], targets: &[], next: None };
        let (text, module) = code(|buffer| {
            emit(&trap, &cx, buffer);
            buffer.put1(0x90);
        });
        // ja 1f; je 1f; nop; 1: ud2
        assert_eq!(text, "77037401900f0b");
        let sites: Vec<_> = module.function(0).traps.iter().map(|t| (t.offset, t.code)).collect();
        assert_eq!(sites, [(5, code_1)]);
    }

    #[test]
    fn faulting_instructions_are_noted_at_their_start() {
        let mut load = MInst::new(rows::MOV_RM.of(64));
        load.set_trap(Some(TrapCode::HEAP_OUT_OF_BOUNDS));
        let frame = FrameLayout::default();
        let mem = Some(Mem::base(MemBase::Reg(RDI), 0));
        let cx = EmitContext { regs: &[RAX], mem, frame: &frame, symbols: &[], targets: &[], next: None };
        let (_, module) = code(|buffer| {
            buffer.put1(0x90);
            emit(&load, &cx, buffer);
        });
        assert_eq!(module.function(0).traps[0].offset, 1);
    }

    #[test]
    fn a_return_takes_down_the_frame_and_says_so() {
        let frame = FrameLayout { has_frame: true, link_bytes: 16, size: 16, ..FrameLayout::default() };
        let cx = EmitContext { regs: &[], mem: None, frame: &frame, symbols: &[], targets: &[], next: None };
        let (text, module) = code(|buffer| emit(&MInst::new(rows::RET), &cx, buffer));
        assert_eq!(text, "c9c3");
        let ops: Vec<_> = module.function(0).unwind.to_vec();
        let rbp = crate::regs::RBP;
        let expected = [
            UnwindSite { offset: 0, op: UnwindOp::EpilogueBegin },
            UnwindSite { offset: 1, op: UnwindOp::CfaStackPointer(8) },
            UnwindSite { offset: 1, op: UnwindOp::Restored(rbp) },
            UnwindSite { offset: 2, op: UnwindOp::EpilogueEnd },
        ];
        assert_eq!(ops, expected);
    }

    #[test]
    fn loops_compare_and_exchange() {
        let mem = Some(Mem::base(MemBase::Reg(RDI), 0));
        // mov eax, [rdi]; 1: mov ecx, eax; and ecx, ebx; not ecx; lock cmpxchg [rdi], ecx; jne 1b
        let nand = MInst::new(rows::ATOMIC_NAND_MR.of(32));
        assert_eq!(inst(&nand, &[RAX, RCX, RBX], mem, None), "8b0789c121d9f7d1f00fb10f75f4");
        // movzx eax, byte ptr [rdi]; 1: mov r9d, ebx; cmp al, bl; cmovle r9d, eax; lock cmpxchg [rdi], r9b; jne 1b
        let smin = MInst::new(rows::ATOMIC_SMIN_MR.of(8));
        assert_eq!(inst(&smin, &[RAX, R9, RBX], mem, None), "0fb6074189d938d8440f4ec8f0440fb00f75f0");
    }
}
