//! Enumerations that have equal variants on both sides.

use cranelift_codegen::ir::condcodes::{FloatCC as UpFloatCC, IntCC as UpIntCC};
use cranelift_codegen::ir::{AtomicRmwOp as UpRmwOp, LibCall as UpLibCall, Opcode as UpOpcode};
use cranelift_codegen::isa::CallConv as UpCallConv;
use kingpost_ir::Opcode;
use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::libcall::LibCall;
use kingpost_ir::signature::CallConv;

/// Defines a function from one enumeration to another with equal variants. A missing variant is a compile error.
macro_rules! same_variants {
    ($($vis:vis $function:ident: $from:ident => $to:ident { $($variant:ident)* })*) => {
        $(/// Returns the counterpart.
        #[inline]
        $vis fn $function(from: $from) -> $to {
            match from { $($from::$variant => $to::$variant,)* }
        })*
    };
}

same_variants! {
    pub(super) int_cc: UpIntCC => IntCC {
        Equal NotEqual SignedLessThan SignedGreaterThanOrEqual SignedGreaterThan SignedLessThanOrEqual UnsignedLessThan
        UnsignedGreaterThanOrEqual UnsignedGreaterThan UnsignedLessThanOrEqual
    }
    pub(super) float_cc: UpFloatCC => FloatCC {
        Ordered Unordered Equal NotEqual OrderedNotEqual UnorderedOrEqual LessThan LessThanOrEqual GreaterThan
        GreaterThanOrEqual UnorderedOrLessThan UnorderedOrLessThanOrEqual UnorderedOrGreaterThan
        UnorderedOrGreaterThanOrEqual
    }
    pub(super) atomic_rmw_op: UpRmwOp => AtomicRmwOp { Add Sub And Nand Or Xor Xchg Umin Umax Smin Smax }
    pub(super) call_conv: UpCallConv => CallConv {
        Fast Tail SystemV WindowsFastcall AppleAarch64 Probestack Winch PreserveAll
    }
    pub lib_call: UpLibCall => LibCall {
        Probestack CeilF32 CeilF64 FloorF32 FloorF64 TruncF32 TruncF64 NearestF32 NearestF64 FmaF32 FmaF64 Memcpy Memset
        Memmove Memcmp ElfTlsGetAddr ElfTlsGetOffset X86Pshufb
    }
    pub(super) opcode: UpOpcode => Opcode {
        Jump Brif BrTable Debugtrap Trap Trapz Trapnz Return Call CallIndirect ReturnCall ReturnCallIndirect
        FuncAddr TryCall TryCallIndirect Splat Swizzle X86Pshufb Insertlane Extractlane Smin Umin Smax Umax
        AvgRound UaddSat SaddSat UsubSat SsubSat Load Store Uload8 Sload8 Istore8 Uload16 Sload16 Istore16
        Uload32 Sload32 Istore32 StackSwitch Uload8x8 Sload8x8 Uload16x4 Sload16x4 Uload32x2 Sload32x2 StackAddr
        DynamicStackAddr SymbolValue TlsValue GetPinnedReg SetPinnedReg GetFramePointer GetStackPointer
        GetReturnAddress GetExceptionHandlerAddress Iconst F16const F32const F64const F128const Vconst Shuffle
        Nop Select SelectSpectreGuard Bitselect Blendv VanyTrue VallTrue VhighBits Icmp Iadd Isub Ineg Iabs Imul
        Umulhi Smulhi SqmulRoundSat X86Pmulhrsw Udiv Sdiv Urem Srem SaddOverflowCin UaddOverflowCin UaddOverflow
        SaddOverflow UsubOverflow SsubOverflow UmulOverflow SmulOverflow UaddOverflowTrap SsubOverflowBin
        UsubOverflowBin Band Bor Bxor Bnot Rotl Rotr Ishl Ushr Sshr Bitrev Clz Cls Ctz Bswap Popcnt Fcmp Fadd
        Fsub Fmul Fdiv Sqrt Fma Fneg Fabs Fcopysign Fmin Fmax Ceil Floor Trunc Nearest Bitcast ScalarToVector
        Bmask Ireduce Snarrow Unarrow Uunarrow SwidenLow SwidenHigh UwidenLow UwidenHigh IaddPairwise
        X86Pmaddubsw Uextend Sextend Fpromote Fdemote Fvdemote FvpromoteLow FcvtToUint FcvtToSint FcvtToUintSat
        FcvtToSintSat X86Cvtt2dq FcvtFromUint FcvtFromSint Isplit Iconcat AtomicRmw AtomicCas AtomicLoad
        AtomicStore Fence ExtractVector SequencePoint
    }
}

/// Returns Cranelift's library routine for ours, if there is one. We have more.
pub(crate) fn lib_call_back(from: LibCall) -> Option<UpLibCall> {
    UpLibCall::all_libcalls().iter().copied().find(|&libcall| lib_call(libcall) == from)
}
