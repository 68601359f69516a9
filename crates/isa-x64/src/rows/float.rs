//! Floating-point arithmetic, comparison and bitwise operations.

use super::line::{AVX, FMA, SSE41};
use crate::encoding::{of, of3a66, of66, vex0f, vex38};
use kingpost_mach::RowKind;
use kingpost_mach::operands::FD16;
use kingpost_mach::rows;

/// Operations on two scalars with their opcode. Each has a form of SSE and SSE2, which changes its first source, and
/// a form of AVX, with a result of its own.
macro_rules! with_avx {
    (
        { $($asm:literal $opcode:literal $rr:ident $rm:ident $vrr:ident $vrm:ident $(, .$more:ident())?;)* }
        $($rest:tt)*
    ) => {
        rows! {
            crate::rows::convert::END;

            $(
                $rr[ss sd] = None ($asm " {0}, {2}") [FT, FU, FM] of($opcode).reg(0).rm(2).scalar(W), .twin(2, $rm), .upgrade($vrr) $(, .$more())?;
                $rm[ss sd] = None ($asm " {0}, {m}") [FT, FU] of($opcode).reg(0).mem(W).scalar(W), .upgrade($vrm);
                $vrr[ss sd] = None ("v" $asm " {0}, {1}, {2}") [FD, FU, FM] vex0f($opcode).reg(0).v(1).rm(2).scalar(W), .twin(2, $vrm), .needs(AVX) $(, .$more())?;
                $vrm[ss sd] = None ("v" $asm " {0}, {1}, {m}") [FD, FU] vex0f($opcode).reg(0).v(1).mem(W).scalar(W), .needs(AVX);
            )*

            $($rest)*
        }
    };
}

with_avx! {
    {
        "adds*" 0x58 ADDS_RR ADDS_RM VADDS_RR VADDS_RM, .commutes();
        "muls*" 0x59 MULS_RR MULS_RM VMULS_RR VMULS_RM, .commutes();
        "subs*" 0x5c SUBS_RR SUBS_RM VSUBS_RR VSUBS_RM;
        "mins*" 0x5d MINS_RR MINS_RM VMINS_RR VMINS_RM;
        "divs*" 0x5e DIVS_RR DIVS_RM VDIVS_RR VDIVS_RM;
        "maxs*" 0x5f MAXS_RR MAXS_RM VMAXS_RR VMAXS_RM;
    }

    // Square root.
    SQRTS_RR[ss sd] = None "sqrts* {0}, {1}" [FD, FM] of(0x51).reg(0).rm(1).scalar(W), .twin(1, SQRTS_RM);
    SQRTS_RM[ss sd] = None "sqrts* {0}, {m}" [FD] of(0x51).reg(0).mem(W).scalar(W);
    // Comparison: into the flags, or as a mask with predicate {i}.
    UCOMIS_RR[ss sd] = Def "ucomis* {0}, {1}" [FU, FM] of(0x2e).reg(0).rm(1).packed(W), .twin(1, UCOMIS_RM);
    UCOMIS_RM[ss sd] = Def "ucomis* {0}, {m}" [FU] of(0x2e).reg(0).mem(W).packed(W);
    CMPS_RRI[ss sd] = None "cmps* {0}, {2}, {i}" [FT, FU, FM] of(0xc2).reg(0).rm(2).ib().scalar(W), .twin(2, CMPS_RMI), .upgrade(VCMPS_RRI);
    CMPS_RMI[ss sd] = None "cmps* {0}, {m}, {i}" [FT, FU] of(0xc2).reg(0).mem(W).ib().scalar(W), .upgrade(VCMPS_RMI);
    VCMPS_RRI[ss sd] = None "vcmps* {0}, {1}, {2}, {i}" [FD, FU, FM] vex0f(0xc2).reg(0).v(1).rm(2).ib().scalar(W), .twin(2, VCMPS_RMI), .needs(AVX);
    VCMPS_RMI[ss sd] = None "vcmps* {0}, {1}, {m}, {i}" [FD, FU] vex0f(0xc2).reg(0).v(1).mem(W).ib().scalar(W), .needs(AVX);
    // SSE4.1 rounding: {i} is 8 + mode; 0 nearest, 1 down, 2 up, 3 towards zero.
    ROUNDS_RRI[ss sd] = None "rounds* {0}, {1}, {i}" [FD, FM] of3a66(0x0a + W / 8).reg(0).rm(1).ib(), .twin(1, ROUNDS_RMI), .needs(SSE41);
    ROUNDS_RMI[ss sd] = None "rounds* {0}, {m}, {i}" [FD] of3a66(0x0a + W / 8).reg(0).mem(W).ib(), .needs(SSE41);
    // FMA: operand 1 times operand 2, plus or minus operand 3.
    VFMADD213S_RRR[ss sd] = None "vfmadd213s* {0}, {2}, {3}" [FT, FU, FU, FM] vex38(0x66, 0xa9).reg(0).v(2).rm(3).size(W), .twin(3, VFMADD213S_RRM), .needs(FMA);
    VFMADD213S_RRM[ss sd] = None "vfmadd213s* {0}, {2}, {m}" [FT, FU, FU] vex38(0x66, 0xa9).reg(0).v(2).mem(W).size(W), .needs(FMA);
    VFMSUB213S_RRR[ss sd] = None "vfmsub213s* {0}, {2}, {3}" [FT, FU, FU, FM] vex38(0x66, 0xab).reg(0).v(2).rm(3).size(W), .twin(3, VFMSUB213S_RRM), .needs(FMA);
    VFMSUB213S_RRM[ss sd] = None "vfmsub213s* {0}, {2}, {m}" [FT, FU, FU] vex38(0x66, 0xab).reg(0).v(2).mem(W).size(W), .needs(FMA);
    VFNMADD213S_RRR[ss sd] = None "vfnmadd213s* {0}, {2}, {3}" [FT, FU, FU, FM] vex38(0x66, 0xad).reg(0).v(2).rm(3).size(W), .twin(3, VFNMADD213S_RRM), .needs(FMA);
    VFNMADD213S_RRM[ss sd] = None "vfnmadd213s* {0}, {2}, {m}" [FT, FU, FU] vex38(0x66, 0xad).reg(0).v(2).mem(W).size(W), .needs(FMA);
    VFNMSUB213S_RRR[ss sd] = None "vfnmsub213s* {0}, {2}, {3}" [FT, FU, FU, FM] vex38(0x66, 0xaf).reg(0).v(2).rm(3).size(W), .twin(3, VFNMSUB213S_RRM), .needs(FMA);
    VFNMSUB213S_RRM[ss sd] = None "vfnmsub213s* {0}, {2}, {m}" [FT, FU, FU] vex38(0x66, 0xaf).reg(0).v(2).mem(W).size(W), .needs(FMA);
    // Constants.
    XORPS_ZERO = None "xorps {0}, {0}" [FD16] of(0x57).reg(0).rm(0), .kind(RowKind::Remat);
    PCMPEQD_ONES = None "pcmpeqd {0}, {0}" [FD16] of66(0x76).reg(0).rm(0), .kind(RowKind::Remat);
}
