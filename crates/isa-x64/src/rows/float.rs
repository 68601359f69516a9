//! Floating-point arithmetic, comparison and bitwise operations.

use crate::encoding::{of, of3a66, of66, off2, off3, vex38};
use crate::rows::rows;
use kingpost_mach::RowKind;
use kingpost_mach::operands::{FD4, FD8, FD16, FM4, FM8, FT4, FT8, FT16, FU4, FU8, FU16};

rows! {
    crate::rows::convert::END;

    // Arithmetic.
    ADDSS_RR = None "addss {0}, {2}" [FT4, FU4, FM4] off3(0x58).reg(0).rm(2), .twin(2, ADDSS_RM);
    ADDSS_RM = None "addss {0}, {m}" [FT4, FU4] off3(0x58).reg(0).mem(4);
    ADDSD_RR = None "addsd {0}, {2}" [FT8, FU8, FM8] off2(0x58).reg(0).rm(2), .twin(2, ADDSD_RM);
    ADDSD_RM = None "addsd {0}, {m}" [FT8, FU8] off2(0x58).reg(0).mem(8);
    MULSS_RR = None "mulss {0}, {2}" [FT4, FU4, FM4] off3(0x59).reg(0).rm(2), .twin(2, MULSS_RM);
    MULSS_RM = None "mulss {0}, {m}" [FT4, FU4] off3(0x59).reg(0).mem(4);
    MULSD_RR = None "mulsd {0}, {2}" [FT8, FU8, FM8] off2(0x59).reg(0).rm(2), .twin(2, MULSD_RM);
    MULSD_RM = None "mulsd {0}, {m}" [FT8, FU8] off2(0x59).reg(0).mem(8);
    SUBSS_RR = None "subss {0}, {2}" [FT4, FU4, FM4] off3(0x5c).reg(0).rm(2), .twin(2, SUBSS_RM);
    SUBSS_RM = None "subss {0}, {m}" [FT4, FU4] off3(0x5c).reg(0).mem(4);
    SUBSD_RR = None "subsd {0}, {2}" [FT8, FU8, FM8] off2(0x5c).reg(0).rm(2), .twin(2, SUBSD_RM);
    SUBSD_RM = None "subsd {0}, {m}" [FT8, FU8] off2(0x5c).reg(0).mem(8);
    MINSS_RR = None "minss {0}, {2}" [FT4, FU4, FM4] off3(0x5d).reg(0).rm(2), .twin(2, MINSS_RM);
    MINSS_RM = None "minss {0}, {m}" [FT4, FU4] off3(0x5d).reg(0).mem(4);
    MINSD_RR = None "minsd {0}, {2}" [FT8, FU8, FM8] off2(0x5d).reg(0).rm(2), .twin(2, MINSD_RM);
    MINSD_RM = None "minsd {0}, {m}" [FT8, FU8] off2(0x5d).reg(0).mem(8);
    DIVSS_RR = None "divss {0}, {2}" [FT4, FU4, FM4] off3(0x5e).reg(0).rm(2), .twin(2, DIVSS_RM);
    DIVSS_RM = None "divss {0}, {m}" [FT4, FU4] off3(0x5e).reg(0).mem(4);
    DIVSD_RR = None "divsd {0}, {2}" [FT8, FU8, FM8] off2(0x5e).reg(0).rm(2), .twin(2, DIVSD_RM);
    DIVSD_RM = None "divsd {0}, {m}" [FT8, FU8] off2(0x5e).reg(0).mem(8);
    MAXSS_RR = None "maxss {0}, {2}" [FT4, FU4, FM4] off3(0x5f).reg(0).rm(2), .twin(2, MAXSS_RM);
    MAXSS_RM = None "maxss {0}, {m}" [FT4, FU4] off3(0x5f).reg(0).mem(4);
    MAXSD_RR = None "maxsd {0}, {2}" [FT8, FU8, FM8] off2(0x5f).reg(0).rm(2), .twin(2, MAXSD_RM);
    MAXSD_RM = None "maxsd {0}, {m}" [FT8, FU8] off2(0x5f).reg(0).mem(8);
    SQRTSS_RR = None "sqrtss {0}, {1}" [FD4, FM4] off3(0x51).reg(0).rm(1), .twin(1, SQRTSS_RM);
    SQRTSS_RM = None "sqrtss {0}, {m}" [FD4] off3(0x51).reg(0).mem(4);
    SQRTSD_RR = None "sqrtsd {0}, {1}" [FD8, FM8] off2(0x51).reg(0).rm(1), .twin(1, SQRTSD_RM);
    SQRTSD_RM = None "sqrtsd {0}, {m}" [FD8] off2(0x51).reg(0).mem(8);
    // Comparison: into the flags, or as a mask with predicate {i}.
    UCOMISS_RR = Def "ucomiss {0}, {1}" [FU4, FM4] of(0x2e).reg(0).rm(1), .twin(1, UCOMISS_RM);
    UCOMISS_RM = Def "ucomiss {0}, {m}" [FU4] of(0x2e).reg(0).mem(4);
    UCOMISD_RR = Def "ucomisd {0}, {1}" [FU8, FM8] of66(0x2e).reg(0).rm(1), .twin(1, UCOMISD_RM);
    UCOMISD_RM = Def "ucomisd {0}, {m}" [FU8] of66(0x2e).reg(0).mem(8);
    CMPSS_RRI = None "cmpss {0}, {2}, {i}" [FT4, FU4, FM4] off3(0xc2).reg(0).rm(2).ib(), .twin(2, CMPSS_RMI);
    CMPSS_RMI = None "cmpss {0}, {m}, {i}" [FT4, FU4] off3(0xc2).reg(0).mem(4).ib();
    CMPSD_RRI = None "cmpsd {0}, {2}, {i}" [FT8, FU8, FM8] off2(0xc2).reg(0).rm(2).ib(), .twin(2, CMPSD_RMI);
    CMPSD_RMI = None "cmpsd {0}, {m}, {i}" [FT8, FU8] off2(0xc2).reg(0).mem(8).ib();
    // SSE4.1 rounding: {i} is 8 + mode; 0 nearest, 1 down, 2 up, 3 towards zero.
    ROUNDSS_RRI = None "roundss {0}, {1}, {i}" [FD4, FM4] of3a66(0x0a).reg(0).rm(1).ib(), .twin(1, ROUNDSS_RMI);
    ROUNDSS_RMI = None "roundss {0}, {m}, {i}" [FD4] of3a66(0x0a).reg(0).mem(4).ib();
    ROUNDSD_RRI = None "roundsd {0}, {1}, {i}" [FD8, FM8] of3a66(0x0b).reg(0).rm(1).ib(), .twin(1, ROUNDSD_RMI);
    ROUNDSD_RMI = None "roundsd {0}, {m}, {i}" [FD8] of3a66(0x0b).reg(0).mem(8).ib();
    // FMA: operand 1 times operand 2, plus or minus operand 3.
    VFMADD213SS_RRR = None "vfmadd213ss {0}, {2}, {3}" [FT4, FU4, FU4, FM4] vex38(0x66, 0xa9).reg(0).v(2).rm(3), .twin(3, VFMADD213SS_RRM);
    VFMADD213SS_RRM = None "vfmadd213ss {0}, {2}, {m}" [FT4, FU4, FU4] vex38(0x66, 0xa9).reg(0).v(2).mem(4);
    VFMADD213SD_RRR = None "vfmadd213sd {0}, {2}, {3}" [FT8, FU8, FU8, FM8] vex38(0x66, 0xa9).w().reg(0).v(2).rm(3), .twin(3, VFMADD213SD_RRM);
    VFMADD213SD_RRM = None "vfmadd213sd {0}, {2}, {m}" [FT8, FU8, FU8] vex38(0x66, 0xa9).w().reg(0).v(2).mem(8);
    VFMSUB213SS_RRR = None "vfmsub213ss {0}, {2}, {3}" [FT4, FU4, FU4, FM4] vex38(0x66, 0xab).reg(0).v(2).rm(3), .twin(3, VFMSUB213SS_RRM);
    VFMSUB213SS_RRM = None "vfmsub213ss {0}, {2}, {m}" [FT4, FU4, FU4] vex38(0x66, 0xab).reg(0).v(2).mem(4);
    VFMSUB213SD_RRR = None "vfmsub213sd {0}, {2}, {3}" [FT8, FU8, FU8, FM8] vex38(0x66, 0xab).w().reg(0).v(2).rm(3), .twin(3, VFMSUB213SD_RRM);
    VFMSUB213SD_RRM = None "vfmsub213sd {0}, {2}, {m}" [FT8, FU8, FU8] vex38(0x66, 0xab).w().reg(0).v(2).mem(8);
    VFNMADD213SS_RRR = None "vfnmadd213ss {0}, {2}, {3}" [FT4, FU4, FU4, FM4] vex38(0x66, 0xad).reg(0).v(2).rm(3), .twin(3, VFNMADD213SS_RRM);
    VFNMADD213SS_RRM = None "vfnmadd213ss {0}, {2}, {m}" [FT4, FU4, FU4] vex38(0x66, 0xad).reg(0).v(2).mem(4);
    VFNMADD213SD_RRR = None "vfnmadd213sd {0}, {2}, {3}" [FT8, FU8, FU8, FM8] vex38(0x66, 0xad).w().reg(0).v(2).rm(3), .twin(3, VFNMADD213SD_RRM);
    VFNMADD213SD_RRM = None "vfnmadd213sd {0}, {2}, {m}" [FT8, FU8, FU8] vex38(0x66, 0xad).w().reg(0).v(2).mem(8);
    VFNMSUB213SS_RRR = None "vfnmsub213ss {0}, {2}, {3}" [FT4, FU4, FU4, FM4] vex38(0x66, 0xaf).reg(0).v(2).rm(3), .twin(3, VFNMSUB213SS_RRM);
    VFNMSUB213SS_RRM = None "vfnmsub213ss {0}, {2}, {m}" [FT4, FU4, FU4] vex38(0x66, 0xaf).reg(0).v(2).mem(4);
    VFNMSUB213SD_RRR = None "vfnmsub213sd {0}, {2}, {3}" [FT8, FU8, FU8, FM8] vex38(0x66, 0xaf).w().reg(0).v(2).rm(3), .twin(3, VFNMSUB213SD_RRM);
    VFNMSUB213SD_RRM = None "vfnmsub213sd {0}, {2}, {m}" [FT8, FU8, FU8] vex38(0x66, 0xaf).w().reg(0).v(2).mem(8);
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
    PSRLD_RI = None "psrld {0}, {i}" [FT16, FU16] of66(0x72).digit(2).rm(0).ib();
    PSLLD_RI = None "pslld {0}, {i}" [FT16, FU16] of66(0x72).digit(6).rm(0).ib();
    PSRLQ_RI = None "psrlq {0}, {i}" [FT16, FU16] of66(0x73).digit(2).rm(0).ib();
    PSLLQ_RI = None "psllq {0}, {i}" [FT16, FU16] of66(0x73).digit(6).rm(0).ib();
    // Parts of registers.
    UNPCKLPS_RR = None "unpcklps {0}, {2}" [FT16, FU16, FU16] of(0x14).reg(0).rm(2);
    UNPCKLPD_RR = None "unpcklpd {0}, {2}" [FT16, FU16, FU16] of66(0x14).reg(0).rm(2);
    UNPCKHPD_RR = None "unpckhpd {0}, {2}" [FT16, FU16, FU16] of66(0x15).reg(0).rm(2);
    SHUFPS_RRI = None "shufps {0}, {2}, {i}" [FT16, FU16, FU16] of(0xc6).reg(0).rm(2).ib();
    PSHUFD_RRI = None "pshufd {0}, {1}, {i}" [FD16, FU16] of66(0x70).reg(0).rm(1).ib();
}
