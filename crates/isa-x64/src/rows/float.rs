//! Floating-point arithmetic, comparison and bitwise operations.

use crate::encoding::{of, of3a66, of66, vex38};
use kingpost_mach::RowKind;
use kingpost_mach::operands::{FD16, FT16, FU16};
use kingpost_mach::rows;

rows! {
    crate::rows::convert::END;

    // Arithmetic.
    ADDS_RR[ss sd] = None "adds* {0}, {2}" [FT, FU, FM] of(0x58).reg(0).rm(2).scalar(W), .twin(2, ADDS_RM);
    ADDS_RM[ss sd] = None "adds* {0}, {m}" [FT, FU] of(0x58).reg(0).mem(W).scalar(W);
    MULS_RR[ss sd] = None "muls* {0}, {2}" [FT, FU, FM] of(0x59).reg(0).rm(2).scalar(W), .twin(2, MULS_RM);
    MULS_RM[ss sd] = None "muls* {0}, {m}" [FT, FU] of(0x59).reg(0).mem(W).scalar(W);
    SUBS_RR[ss sd] = None "subs* {0}, {2}" [FT, FU, FM] of(0x5c).reg(0).rm(2).scalar(W), .twin(2, SUBS_RM);
    SUBS_RM[ss sd] = None "subs* {0}, {m}" [FT, FU] of(0x5c).reg(0).mem(W).scalar(W);
    MINS_RR[ss sd] = None "mins* {0}, {2}" [FT, FU, FM] of(0x5d).reg(0).rm(2).scalar(W), .twin(2, MINS_RM);
    MINS_RM[ss sd] = None "mins* {0}, {m}" [FT, FU] of(0x5d).reg(0).mem(W).scalar(W);
    DIVS_RR[ss sd] = None "divs* {0}, {2}" [FT, FU, FM] of(0x5e).reg(0).rm(2).scalar(W), .twin(2, DIVS_RM);
    DIVS_RM[ss sd] = None "divs* {0}, {m}" [FT, FU] of(0x5e).reg(0).mem(W).scalar(W);
    MAXS_RR[ss sd] = None "maxs* {0}, {2}" [FT, FU, FM] of(0x5f).reg(0).rm(2).scalar(W), .twin(2, MAXS_RM);
    MAXS_RM[ss sd] = None "maxs* {0}, {m}" [FT, FU] of(0x5f).reg(0).mem(W).scalar(W);
    SQRTS_RR[ss sd] = None "sqrts* {0}, {1}" [FD, FM] of(0x51).reg(0).rm(1).scalar(W), .twin(1, SQRTS_RM);
    SQRTS_RM[ss sd] = None "sqrts* {0}, {m}" [FD] of(0x51).reg(0).mem(W).scalar(W);
    // Comparison: into the flags, or as a mask with predicate {i}.
    UCOMIS_RR[ss sd] = Def "ucomis* {0}, {1}" [FU, FM] of(0x2e).reg(0).rm(1).packed(W), .twin(1, UCOMIS_RM);
    UCOMIS_RM[ss sd] = Def "ucomis* {0}, {m}" [FU] of(0x2e).reg(0).mem(W).packed(W);
    CMPS_RRI[ss sd] = None "cmps* {0}, {2}, {i}" [FT, FU, FM] of(0xc2).reg(0).rm(2).ib().scalar(W), .twin(2, CMPS_RMI);
    CMPS_RMI[ss sd] = None "cmps* {0}, {m}, {i}" [FT, FU] of(0xc2).reg(0).mem(W).ib().scalar(W);
    // SSE4.1 rounding: {i} is 8 + mode; 0 nearest, 1 down, 2 up, 3 towards zero.
    ROUNDS_RRI[ss sd] = None "rounds* {0}, {1}, {i}" [FD, FM] of3a66(0x0a + W / 8).reg(0).rm(1).ib(), .twin(1, ROUNDS_RMI);
    ROUNDS_RMI[ss sd] = None "rounds* {0}, {m}, {i}" [FD] of3a66(0x0a + W / 8).reg(0).mem(W).ib();
    // FMA: operand 1 times operand 2, plus or minus operand 3.
    VFMADD213S_RRR[ss sd] = None "vfmadd213s* {0}, {2}, {3}" [FT, FU, FU, FM] vex38(0x66, 0xa9).reg(0).v(2).rm(3).size(W), .twin(3, VFMADD213S_RRM);
    VFMADD213S_RRM[ss sd] = None "vfmadd213s* {0}, {2}, {m}" [FT, FU, FU] vex38(0x66, 0xa9).reg(0).v(2).mem(W).size(W);
    VFMSUB213S_RRR[ss sd] = None "vfmsub213s* {0}, {2}, {3}" [FT, FU, FU, FM] vex38(0x66, 0xab).reg(0).v(2).rm(3).size(W), .twin(3, VFMSUB213S_RRM);
    VFMSUB213S_RRM[ss sd] = None "vfmsub213s* {0}, {2}, {m}" [FT, FU, FU] vex38(0x66, 0xab).reg(0).v(2).mem(W).size(W);
    VFNMADD213S_RRR[ss sd] = None "vfnmadd213s* {0}, {2}, {3}" [FT, FU, FU, FM] vex38(0x66, 0xad).reg(0).v(2).rm(3).size(W), .twin(3, VFNMADD213S_RRM);
    VFNMADD213S_RRM[ss sd] = None "vfnmadd213s* {0}, {2}, {m}" [FT, FU, FU] vex38(0x66, 0xad).reg(0).v(2).mem(W).size(W);
    VFNMSUB213S_RRR[ss sd] = None "vfnmsub213s* {0}, {2}, {3}" [FT, FU, FU, FM] vex38(0x66, 0xaf).reg(0).v(2).rm(3).size(W), .twin(3, VFNMSUB213S_RRM);
    VFNMSUB213S_RRM[ss sd] = None "vfnmsub213s* {0}, {2}, {m}" [FT, FU, FU] vex38(0x66, 0xaf).reg(0).v(2).mem(W).size(W);
    // Bitwise: 16 bytes, and memory must be aligned, hence no twins.
    ANDPS_RR = None "andps {0}, {2}" [FT16, FU16, FU16] of(0x54).reg(0).rm(2);
    ANDPS_RM = None "andps {0}, {m}" [FT16, FU16] of(0x54).reg(0).mem(16);
    ANDPD_RR = None "andpd {0}, {2}" [FT16, FU16, FU16] of66(0x54).reg(0).rm(2);
    ANDPD_RM = None "andpd {0}, {m}" [FT16, FU16] of66(0x54).reg(0).mem(16);
    ANDNPS_RR = None "andnps {0}, {2}" [FT16, FU16, FU16] of(0x55).reg(0).rm(2);
    ANDNPS_RM = None "andnps {0}, {m}" [FT16, FU16] of(0x55).reg(0).mem(16);
    ANDNPD_RR = None "andnpd {0}, {2}" [FT16, FU16, FU16] of66(0x55).reg(0).rm(2);
    ANDNPD_RM = None "andnpd {0}, {m}" [FT16, FU16] of66(0x55).reg(0).mem(16);
    ORPS_RR = None "orps {0}, {2}" [FT16, FU16, FU16] of(0x56).reg(0).rm(2);
    ORPS_RM = None "orps {0}, {m}" [FT16, FU16] of(0x56).reg(0).mem(16);
    ORPD_RR = None "orpd {0}, {2}" [FT16, FU16, FU16] of66(0x56).reg(0).rm(2);
    ORPD_RM = None "orpd {0}, {m}" [FT16, FU16] of66(0x56).reg(0).mem(16);
    XORPS_RR = None "xorps {0}, {2}" [FT16, FU16, FU16] of(0x57).reg(0).rm(2);
    XORPS_RM = None "xorps {0}, {m}" [FT16, FU16] of(0x57).reg(0).mem(16);
    XORPD_RR = None "xorpd {0}, {2}" [FT16, FU16, FU16] of66(0x57).reg(0).rm(2);
    XORPD_RM = None "xorpd {0}, {m}" [FT16, FU16] of66(0x57).reg(0).mem(16);
    XORPS_ZERO = None "xorps {0}, {0}" [FD16] of(0x57).reg(0).rm(0), .kind(RowKind::Remat);
    PCMPEQD_ONES = None "pcmpeqd {0}, {0}" [FD16] of66(0x76).reg(0).rm(0), .kind(RowKind::Remat);
    PSRL_RI[d q] = None "psrl* {0}, {i}" [FT16, FU16] of66(0x70 + LOG).digit(2).rm(0).ib();
    PSLL_RI[d q] = None "psll* {0}, {i}" [FT16, FU16] of66(0x70 + LOG).digit(6).rm(0).ib();
    // Parts of registers.
    UNPCKLPS_RR = None "unpcklps {0}, {2}" [FT16, FU16, FU16] of(0x14).reg(0).rm(2);
    UNPCKLPD_RR = None "unpcklpd {0}, {2}" [FT16, FU16, FU16] of66(0x14).reg(0).rm(2);
    UNPCKHPD_RR = None "unpckhpd {0}, {2}" [FT16, FU16, FU16] of66(0x15).reg(0).rm(2);
    SHUFPS_RRI = None "shufps {0}, {2}, {i}" [FT16, FU16, FU16] of(0xc6).reg(0).rm(2).ib();
    PSHUFD_RRI = None "pshufd {0}, {1}, {i}" [FD16, FU16] of66(0x70).reg(0).rm(1).ib();
}
