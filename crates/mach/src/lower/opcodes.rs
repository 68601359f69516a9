//! The opcodes: those that all machines lower alike, those that each lowers its own way, and those that none lowers yet.
//!
//! The match has no catch-all, so that a new opcode must be put into one of the three. A machine's own match ends in a
//! refusal instead: what it leaves out is an error that names opcode, type and machine.

use super::machine::Machine;
use super::{Lowered, branch, call, constant, endian, entry, memory, symbol, width};
use kingpost_ir::{Inst, Opcode};
use kingpost_regalloc::Block;

/// What the walk asks for.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// An instruction that is not a terminator and that somebody wants a result or an effect of.
    Inst(Inst),
    /// A terminator with its successors, in the order of the text; equal edges may share a target.
    Terminator(Inst, &'a [Block]),
    /// The function's entry: parameters from where the convention passes them.
    Entry,
    /// The jump that ends an edge block.
    Jump(Block),
}

/// Lowers one piece of a function.
///
/// # Errors
/// Opcodes, types or settings that there is no code for.
#[inline]
pub fn piece<'f>(cx: &mut impl Machine<'f>, piece: Piece<'_>) -> Lowered {
    match piece {
        Piece::Inst(instruction) => inst(cx, instruction),
        Piece::Terminator(last, targets) => terminator(cx, last, targets),
        Piece::Entry => entry::entry(cx),
        Piece::Jump(target) => {
            branch::jump(cx, target);
            Ok(())
        }
    }
}

/// Lowers an instruction that is not a terminator.
fn inst<'f>(cx: &mut impl Machine<'f>, inst: Inst) -> Lowered {
    match cx.func.dfg.opcode(inst) {
        Opcode::Iconst => constant::iconst(cx, inst),
        Opcode::F16const | Opcode::F32const | Opcode::F64const => constant::fconst(cx, inst),
        Opcode::F128const | Opcode::Vconst => constant::wide(cx, inst),

        Opcode::Uextend => width::uextend(cx, inst),
        Opcode::Ireduce => width::ireduce(cx, inst),
        Opcode::Isplit => width::isplit(cx, inst),
        Opcode::Iconcat => width::iconcat(cx, inst),
        Opcode::Bitcast => width::bitcast(cx, inst),
        Opcode::Bswap => endian::bswap(cx, inst),

        Opcode::Load
        | Opcode::Uload8
        | Opcode::Sload8
        | Opcode::Uload16
        | Opcode::Sload16
        | Opcode::Uload32
        | Opcode::Sload32 => memory::load(cx, inst),
        Opcode::Store | Opcode::Istore8 | Opcode::Istore16 | Opcode::Istore32 => memory::store(cx, inst),
        Opcode::StackAddr => memory::stack_addr(cx, inst),
        Opcode::SymbolValue => symbol::symbol_value(cx, inst),
        Opcode::FuncAddr => symbol::func_addr(cx, inst),

        Opcode::Call => call::call(cx, inst),
        Opcode::CallIndirect => call::call_indirect(cx, inst),
        Opcode::GetFramePointer => entry::get_frame_pointer(cx, inst),
        Opcode::GetStackPointer => entry::get_stack_pointer(cx, inst),
        Opcode::GetReturnAddress => entry::get_return_address(cx, inst),
        Opcode::GetPinnedReg => entry::get_pinned_reg(cx, inst),
        Opcode::SetPinnedReg => entry::set_pinned_reg(cx, inst),

        Opcode::Debugtrap => branch::debugtrap(cx),
        Opcode::Nop | Opcode::SequencePoint => Ok(()),

        // Each machine in its own way.
        Opcode::Iadd
        | Opcode::Isub
        | Opcode::Ineg
        | Opcode::Iabs
        | Opcode::Band
        | Opcode::Bor
        | Opcode::Bxor
        | Opcode::Bnot
        | Opcode::Smin
        | Opcode::Smax
        | Opcode::Umin
        | Opcode::Umax
        | Opcode::Imul
        | Opcode::Umulhi
        | Opcode::Smulhi
        | Opcode::Udiv
        | Opcode::Urem
        | Opcode::Sdiv
        | Opcode::Srem
        | Opcode::Ishl
        | Opcode::Ushr
        | Opcode::Sshr
        | Opcode::Rotl
        | Opcode::Rotr
        | Opcode::UaddOverflow
        | Opcode::SaddOverflow
        | Opcode::UsubOverflow
        | Opcode::SsubOverflow
        | Opcode::UmulOverflow
        | Opcode::SmulOverflow
        | Opcode::UaddOverflowTrap
        | Opcode::UaddOverflowCin
        | Opcode::SaddOverflowCin
        | Opcode::UsubOverflowBin
        | Opcode::SsubOverflowBin
        | Opcode::Icmp
        | Opcode::Fcmp
        | Opcode::Select
        | Opcode::SelectSpectreGuard
        | Opcode::Bmask
        | Opcode::Bitselect
        | Opcode::Bitrev
        | Opcode::Clz
        | Opcode::Cls
        | Opcode::Ctz
        | Opcode::Popcnt
        | Opcode::Sextend
        | Opcode::Fpromote
        | Opcode::Fdemote
        | Opcode::FcvtFromSint
        | Opcode::FcvtFromUint
        | Opcode::FcvtToSint
        | Opcode::FcvtToUint
        | Opcode::FcvtToSintSat
        | Opcode::FcvtToUintSat
        | Opcode::X86Cvtt2dq
        | Opcode::Fadd
        | Opcode::Fsub
        | Opcode::Fmul
        | Opcode::Fdiv
        | Opcode::Sqrt
        | Opcode::Fma
        | Opcode::Fneg
        | Opcode::Fabs
        | Opcode::Fcopysign
        | Opcode::Fmin
        | Opcode::Fmax
        | Opcode::Ceil
        | Opcode::Floor
        | Opcode::Trunc
        | Opcode::Nearest
        | Opcode::AtomicLoad
        | Opcode::AtomicStore
        | Opcode::AtomicRmw
        | Opcode::AtomicCas
        | Opcode::Fence
        | Opcode::Trapz
        | Opcode::Trapnz => cx.lower_own(inst),

        // Terminators, which do not come here, and what nobody lowers yet.
        Opcode::Jump
        | Opcode::Brif
        | Opcode::BrTable
        | Opcode::Return
        | Opcode::ReturnCall
        | Opcode::ReturnCallIndirect
        | Opcode::TryCall
        | Opcode::TryCallIndirect
        | Opcode::Trap
        | Opcode::GetExceptionHandlerAddress
        | Opcode::StackSwitch
        | Opcode::TlsValue
        | Opcode::DynamicStackAddr
        | Opcode::Blendv
        | Opcode::VanyTrue
        | Opcode::VallTrue
        | Opcode::VhighBits
        | Opcode::Uload8x8
        | Opcode::Sload8x8
        | Opcode::Uload16x4
        | Opcode::Sload16x4
        | Opcode::Uload32x2
        | Opcode::Sload32x2
        | Opcode::FvpromoteLow
        | Opcode::Fvdemote
        | Opcode::Splat
        | Opcode::ScalarToVector
        | Opcode::Insertlane
        | Opcode::Extractlane
        | Opcode::ExtractVector
        | Opcode::Shuffle
        | Opcode::Swizzle
        | Opcode::X86Pshufb
        | Opcode::UaddSat
        | Opcode::SaddSat
        | Opcode::UsubSat
        | Opcode::SsubSat
        | Opcode::AvgRound
        | Opcode::IaddPairwise
        | Opcode::SqmulRoundSat
        | Opcode::X86Pmulhrsw
        | Opcode::X86Pmaddubsw
        | Opcode::Snarrow
        | Opcode::Unarrow
        | Opcode::Uunarrow
        | Opcode::SwidenLow
        | Opcode::SwidenHigh
        | Opcode::UwidenLow
        | Opcode::UwidenHigh => Err(cx.unsupported(inst)),
    }
}

/// Lowers a block's last instruction, whose successors are `targets`.
fn terminator<'f>(cx: &mut impl Machine<'f>, inst: Inst, targets: &[Block]) -> Lowered {
    match cx.func.dfg.opcode(inst) {
        Opcode::Jump => {
            branch::jump(cx, targets[0]);
            Ok(())
        }
        Opcode::Brif => branch::brif(cx, inst, targets),
        Opcode::BrTable => branch::br_table(cx, inst, targets),
        Opcode::Return => entry::ret(cx, inst),
        Opcode::Trap => branch::trap(cx, inst),
        // Tail calls and exceptions are not supported yet; nothing else ends a block.
        _ => Err(cx.unsupported(inst)),
    }
}
