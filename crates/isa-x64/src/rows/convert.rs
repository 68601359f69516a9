//! Conversions between integers and floats and between floats.

use crate::encoding::{off2, off3};
use kingpost_mach::operands::{FD4, FD8, FM4, FM8, FT4, FT8, FU4, FU8};
use kingpost_mach::rows;

rows! {
    crate::rows::control::END;

    // Integer to float. Operand 1 supplies the upper bits, which do not change; it should be zero so that the
    // instruction does not wait for an old value.
    CVTSI2SS_RR[32 64] = None "cvtsi2ss {0}, {2}" [FT4, FU4, M] off3(0x2a).reg(0).rm(2).size(W), .twin(2, CVTSI2SS_RM);
    CVTSI2SS_RM[32 64] = None "cvtsi2ss {0}, {m}" [FT4, FU4] off3(0x2a).reg(0).mem(W).size(W);
    CVTSI2SD_RR[32 64] = None "cvtsi2sd {0}, {2}" [FT8, FU8, M] off2(0x2a).reg(0).rm(2).size(W), .twin(2, CVTSI2SD_RM);
    CVTSI2SD_RM[32 64] = None "cvtsi2sd {0}, {m}" [FT8, FU8] off2(0x2a).reg(0).mem(W).size(W);
    // Float to integer, truncating; 0x80…0 if it does not fit.
    CVTTSS2SI_RR[32 64] = None "cvttss2si {0}, {1}" [D, FM4] off3(0x2c).reg(0).rm(1).size(W), .twin(1, CVTTSS2SI_RM);
    CVTTSS2SI_RM[32 64] = None "cvttss2si {0}, {m}" [D] off3(0x2c).reg(0).mem(4).size(W);
    CVTTSD2SI_RR[32 64] = None "cvttsd2si {0}, {1}" [D, FM8] off2(0x2c).reg(0).rm(1).size(W), .twin(1, CVTTSD2SI_RM);
    CVTTSD2SI_RM[32 64] = None "cvttsd2si {0}, {m}" [D] off2(0x2c).reg(0).mem(8).size(W);
    // Between floats.
    CVTSS2SD_RR = None "cvtss2sd {0}, {1}" [FD8, FM4] off3(0x5a).reg(0).rm(1), .twin(1, CVTSS2SD_RM);
    CVTSS2SD_RM = None "cvtss2sd {0}, {m}" [FD8] off3(0x5a).reg(0).mem(4);
    CVTSD2SS_RR = None "cvtsd2ss {0}, {1}" [FD4, FM8] off2(0x5a).reg(0).rm(1), .twin(1, CVTSD2SS_RM);
    CVTSD2SS_RM = None "cvtsd2ss {0}, {m}" [FD4] off2(0x5a).reg(0).mem(8);
}
