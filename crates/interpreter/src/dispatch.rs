//! Dispatch: maps each opcode to the function that implements it.

use kingpost_ir::types::{I8, I16, I16X8, I32, I32X4, I64X2};
use kingpost_ir::{InstView, Opcode};

use crate::control;
use crate::error::{Fault, Stop};
use crate::interpreter::{Cx, Flow, Interpreter};
use crate::{convert, float, int, vector};

/// Executes one instruction: defines its results and returns the control flow after it.
pub(crate) fn execute<'a>(m: &mut Interpreter<'a>, cx: Cx<'a>) -> Result<Flow, Stop> {
    match cx.opcode {
        // Control flow and calls.
        Opcode::Jump => match cx.view() {
            InstView::Jump { dest } => Ok(Flow::Branch(dest)),
            _ => Err(cx.malformed()),
        },
        Opcode::Brif => m.brif(cx),
        Opcode::BrTable => m.br_table(cx),
        Opcode::Return => Ok(m.return_(cx)),
        Opcode::Trap => Err(control::trap(cx)),
        Opcode::Trapz => m.cond_trap(cx, true),
        Opcode::Trapnz => m.cond_trap(cx, false),
        Opcode::Call | Opcode::TryCall => m.call_direct(cx, false),
        Opcode::CallIndirect | Opcode::TryCallIndirect => m.call_indirect(cx, false),
        Opcode::ReturnCall => m.call_direct(cx, true),
        Opcode::ReturnCallIndirect => m.call_indirect(cx, true),
        Opcode::FuncAddr => m.func_addr(cx),
        Opcode::GetExceptionHandlerAddress => m.handler_address(cx),
        Opcode::GetFramePointer | Opcode::GetStackPointer => Ok(m.frame_address(cx)),
        // These have no effect, because there is one thread and no debugger.
        Opcode::Debugtrap | Opcode::SequencePoint | Opcode::Nop | Opcode::Fence => Ok(Flow::Next),

        // Memory.
        Opcode::Load => m.load(cx, cx.ctrl, false),
        Opcode::Store => m.store(cx, cx.ctrl),
        Opcode::Uload8 => m.load(cx, I8, false),
        Opcode::Sload8 => m.load(cx, I8, true),
        Opcode::Istore8 => m.store(cx, I8),
        Opcode::Uload16 => m.load(cx, I16, false),
        Opcode::Sload16 => m.load(cx, I16, true),
        Opcode::Istore16 => m.store(cx, I16),
        Opcode::Uload32 => m.load(cx, I32, false),
        Opcode::Sload32 => m.load(cx, I32, true),
        Opcode::Istore32 => m.store(cx, I32),
        Opcode::StackAddr => m.stack_addr(cx),
        Opcode::DynamicStackAddr => m.dynamic_stack_addr(cx),
        Opcode::SymbolValue | Opcode::TlsValue => m.symbol_value(cx),
        Opcode::AtomicRmw => m.atomic_rmw(cx),
        Opcode::AtomicCas => m.atomic_cas(cx),
        Opcode::AtomicLoad => m.atomic_load(cx),
        Opcode::AtomicStore => m.atomic_store(cx),
        Opcode::GetPinnedReg => {
            let pinned = m.pinned;
            Ok(m.finish(cx, pinned.into()))
        }
        Opcode::SetPinnedReg => {
            m.pinned = cx.args().first().map_or(0, |&value| m.get(cx, value)) as u64;
            Ok(Flow::Next)
        }

        // Constants and selection.
        Opcode::Iconst
        | Opcode::F16const
        | Opcode::F32const
        | Opcode::F64const
        | Opcode::F128const
        | Opcode::Vconst => m.constant(cx),
        Opcode::Select | Opcode::SelectSpectreGuard => Ok(m.select(cx)),
        Opcode::Bitselect => m.lanes3(cx, |_, c, x, y| Ok(c & x | !c & y)),
        Opcode::Bmask => Ok(m.bmask(cx)),

        // Integers.
        Opcode::Icmp => m.icmp(cx),
        Opcode::Iadd => m.int2(cx, int::add),
        Opcode::Isub => m.int2(cx, int::sub),
        Opcode::Ineg => m.int1(cx, int::neg),
        Opcode::Iabs => m.int1(cx, int::abs),
        Opcode::Imul => m.int2(cx, int::mul),
        Opcode::Umulhi => m.int2(cx, int::umulhi),
        Opcode::Smulhi => m.int2(cx, int::smulhi),
        Opcode::Smin => m.int2(cx, int::smin),
        Opcode::Smax => m.int2(cx, int::smax),
        Opcode::Umin => m.int2(cx, int::umin),
        Opcode::Umax => m.int2(cx, int::umax),
        Opcode::Udiv => m.lanes2(cx, |bits, x, y| int::udiv(bits, x, y).map_err(Fault::Trap)),
        Opcode::Sdiv => m.lanes2(cx, |bits, x, y| int::sdiv(bits, x, y).map_err(Fault::Trap)),
        Opcode::Urem => m.lanes2(cx, |bits, x, y| int::urem(bits, x, y).map_err(Fault::Trap)),
        Opcode::Srem => m.lanes2(cx, |bits, x, y| int::srem(bits, x, y).map_err(Fault::Trap)),
        Opcode::UaddOverflow => Ok(m.overflow(cx, int::uadd_overflow)),
        Opcode::SaddOverflow => Ok(m.overflow(cx, int::sadd_overflow)),
        Opcode::UsubOverflow => Ok(m.overflow(cx, int::usub_overflow)),
        Opcode::SsubOverflow => Ok(m.overflow(cx, int::ssub_overflow)),
        Opcode::UmulOverflow => Ok(m.overflow(cx, int::umul_overflow)),
        Opcode::SmulOverflow => Ok(m.overflow(cx, int::smul_overflow)),
        Opcode::UaddOverflowCin => Ok(m.overflow_with_carry(cx, int::uadd_overflow)),
        Opcode::SaddOverflowCin => Ok(m.overflow_with_carry(cx, int::sadd_overflow)),
        Opcode::UsubOverflowBin => Ok(m.overflow_with_carry(cx, int::usub_overflow)),
        Opcode::SsubOverflowBin => Ok(m.overflow_with_carry(cx, int::ssub_overflow)),
        Opcode::UaddOverflowTrap => m.uadd_overflow_trap(cx),
        Opcode::Band => m.int2(cx, |_, x, y| x & y),
        Opcode::Bor => m.int2(cx, |_, x, y| x | y),
        Opcode::Bxor => m.int2(cx, |_, x, y| x ^ y),
        Opcode::Bnot => m.int1(cx, |_, x| !x),
        Opcode::Rotl => m.shift(cx, int::rotl),
        Opcode::Rotr => m.shift(cx, int::rotr),
        Opcode::Ishl => m.shift(cx, int::ishl),
        Opcode::Ushr => m.shift(cx, int::ushr),
        Opcode::Sshr => m.shift(cx, int::sshr),
        Opcode::Bitrev => m.int1(cx, int::bitrev),
        Opcode::Clz => m.int1(cx, int::clz),
        Opcode::Cls => m.int1(cx, int::cls),
        Opcode::Ctz => m.int1(cx, int::ctz),
        Opcode::Bswap => m.int1(cx, int::bswap),
        Opcode::Popcnt => m.int1(cx, int::popcnt),
        Opcode::Ireduce | Opcode::Uextend => m.converted(cx, |_, _, x| Ok(x)),
        Opcode::Sextend => m.converted(cx, |from, _, x| Ok(int::signed(from, x) as u128)),
        Opcode::Isplit => Ok(m.isplit(cx)),
        Opcode::Iconcat => Ok(m.iconcat(cx)),
        Opcode::Bitcast => m.bitcast(cx),

        // Floats.
        Opcode::Fcmp => m.fcmp(cx),
        Opcode::Fadd => m.float2(cx, float::add),
        Opcode::Fsub => m.float2(cx, float::sub),
        Opcode::Fmul => m.float2(cx, float::mul),
        Opcode::Fdiv => m.float2(cx, float::div),
        Opcode::Sqrt => m.float1(cx, float::sqrt),
        Opcode::Fma => m.float3(cx, float::fma),
        Opcode::Fneg => m.int1(cx, float::neg),
        Opcode::Fabs => m.int1(cx, float::abs),
        Opcode::Fcopysign => m.int2(cx, float::copysign),
        Opcode::Fmin => m.float2(cx, float::min),
        Opcode::Fmax => m.float2(cx, float::max),
        Opcode::Ceil => m.float1(cx, float::ceil),
        Opcode::Floor => m.float1(cx, float::floor),
        Opcode::Trunc => m.float1(cx, float::trunc),
        Opcode::Nearest => m.float1(cx, float::nearest),
        Opcode::Fpromote | Opcode::Fdemote => m.float_convert(cx),
        Opcode::FcvtToUint => m.converted(cx, |from, to, x| convert::to_int(from, to, false, x)),
        Opcode::FcvtToSint => m.converted(cx, |from, to, x| convert::to_int(from, to, true, x)),
        Opcode::FcvtToUintSat => m.converted(cx, |from, to, x| convert::to_int_sat(from, to, false, x)),
        Opcode::FcvtToSintSat => m.converted(cx, |from, to, x| convert::to_int_sat(from, to, true, x)),
        Opcode::FcvtFromUint => m.converted(cx, |from, to, x| Ok(convert::from_int(from, to, false, x))),
        Opcode::FcvtFromSint => m.converted(cx, |from, to, x| Ok(convert::from_int(from, to, true, x))),
        Opcode::X86Cvtt2dq => m.converted(cx, convert::to_int_or_minimum),

        // Vectors: lanes and shuffles.
        Opcode::Splat => m.splat(cx),
        Opcode::ExtractVector => m.extract_vector(cx),
        Opcode::ScalarToVector => m.scalar_to_vector(cx),
        Opcode::Insertlane => m.insertlane(cx),
        Opcode::Extractlane => m.extractlane(cx),
        Opcode::Shuffle => m.shuffle(cx),
        Opcode::Swizzle => m.permuted(cx, vector::swizzle),
        Opcode::X86Pshufb => m.permuted(cx, vector::pshufb),
        Opcode::Blendv => m.lanes3(cx, |bits, c, x, y| Ok(vector::blend(bits, c, x, y))),
        Opcode::VanyTrue => m.vany_true(cx),
        Opcode::VallTrue => m.vall_true(cx),
        Opcode::VhighBits => m.vhigh_bits(cx),

        // Vectors: arithmetic and width.
        Opcode::UaddSat => m.int2(cx, int::uadd_sat),
        Opcode::SaddSat => m.int2(cx, int::sadd_sat),
        Opcode::UsubSat => m.int2(cx, int::usub_sat),
        Opcode::SsubSat => m.int2(cx, int::ssub_sat),
        Opcode::AvgRound => m.int2(cx, int::avg_round),
        Opcode::SqmulRoundSat => m.int2(cx, int::sqmul_round_sat),
        Opcode::X86Pmulhrsw => m.int2(cx, int::pmulhrsw),
        Opcode::X86Pmaddubsw => m.x86_pmaddubsw(cx),
        Opcode::IaddPairwise => m.iadd_pairwise(cx),
        Opcode::Snarrow => m.narrowed(cx, vector::narrow_signed),
        Opcode::Unarrow => m.narrowed(cx, vector::narrow_to_unsigned),
        Opcode::Uunarrow => m.narrowed(cx, vector::narrow_unsigned),
        Opcode::SwidenLow => m.widened(cx, false, true),
        Opcode::SwidenHigh => m.widened(cx, true, true),
        Opcode::UwidenLow => m.widened(cx, false, false),
        Opcode::UwidenHigh => m.widened(cx, true, false),
        Opcode::FvpromoteLow => m.fvpromote_low(cx),
        Opcode::Fvdemote => m.fvdemote(cx),
        Opcode::Uload8x8 => m.load_widened(cx, I16X8, false),
        Opcode::Sload8x8 => m.load_widened(cx, I16X8, true),
        Opcode::Uload16x4 => m.load_widened(cx, I32X4, false),
        Opcode::Sload16x4 => m.load_widened(cx, I32X4, true),
        Opcode::Uload32x2 => m.load_widened(cx, I64X2, false),
        Opcode::Sload32x2 => m.load_widened(cx, I64X2, true),

        // Opcodes without a meaning yet.
        Opcode::StackSwitch | Opcode::GetReturnAddress => Err(cx.not_supported()),
    }
}
