//! Conversions between integers and floats and between floats.

use crate::encoding::{off2, off3, vex3a, vex38};
use crate::rows::rows;
use kingpost_mach::operands::{D4, D8, FD4, FD8, FD16, FM4, FM8, FT4, FT8, FU4, FU8, FU16, M4, M8};

rows! {
    crate::rows::control::END;

    // Integer to float: operand 1 gives the untouched upper bits; pass zeros so that nothing waits for an old value.
    CVTSI2SS32_RR = None "cvtsi2ss {0}, {2}" [FT4, FU4, M4] off3(0x2a).reg(0).rm(2), .twin(2, CVTSI2SS32_RM);
    CVTSI2SS32_RM = None "cvtsi2ss {0}, {m}" [FT4, FU4] off3(0x2a).reg(0).mem(4);
    CVTSI2SS64_RR = None "cvtsi2ss {0}, {2}" [FT4, FU4, M8] off3(0x2a).w().reg(0).rm(2), .twin(2, CVTSI2SS64_RM);
    CVTSI2SS64_RM = None "cvtsi2ss {0}, {m}" [FT4, FU4] off3(0x2a).w().reg(0).mem(8);
    CVTSI2SD32_RR = None "cvtsi2sd {0}, {2}" [FT8, FU8, M4] off2(0x2a).reg(0).rm(2), .twin(2, CVTSI2SD32_RM);
    CVTSI2SD32_RM = None "cvtsi2sd {0}, {m}" [FT8, FU8] off2(0x2a).reg(0).mem(4);
    CVTSI2SD64_RR = None "cvtsi2sd {0}, {2}" [FT8, FU8, M8] off2(0x2a).w().reg(0).rm(2), .twin(2, CVTSI2SD64_RM);
    CVTSI2SD64_RM = None "cvtsi2sd {0}, {m}" [FT8, FU8] off2(0x2a).w().reg(0).mem(8);
    // Float to integer, truncating; 0x80…0 if it does not fit.
    CVTTSS2SI32_RR = None "cvttss2si {0}, {1}" [D4, FM4] off3(0x2c).reg(0).rm(1), .twin(1, CVTTSS2SI32_RM);
    CVTTSS2SI32_RM = None "cvttss2si {0}, {m}" [D4] off3(0x2c).reg(0).mem(4);
    CVTTSS2SI64_RR = None "cvttss2si {0}, {1}" [D8, FM4] off3(0x2c).w().reg(0).rm(1), .twin(1, CVTTSS2SI64_RM);
    CVTTSS2SI64_RM = None "cvttss2si {0}, {m}" [D8] off3(0x2c).w().reg(0).mem(4);
    CVTTSD2SI32_RR = None "cvttsd2si {0}, {1}" [D4, FM8] off2(0x2c).reg(0).rm(1), .twin(1, CVTTSD2SI32_RM);
    CVTTSD2SI32_RM = None "cvttsd2si {0}, {m}" [D4] off2(0x2c).reg(0).mem(8);
    CVTTSD2SI64_RR = None "cvttsd2si {0}, {1}" [D8, FM8] off2(0x2c).w().reg(0).rm(1), .twin(1, CVTTSD2SI64_RM);
    CVTTSD2SI64_RM = None "cvttsd2si {0}, {m}" [D8] off2(0x2c).w().reg(0).mem(8);
    // Between floats.
    CVTSS2SD_RR = None "cvtss2sd {0}, {1}" [FD8, FM4] off3(0x5a).reg(0).rm(1), .twin(1, CVTSS2SD_RM);
    CVTSS2SD_RM = None "cvtss2sd {0}, {m}" [FD8] off3(0x5a).reg(0).mem(4);
    CVTSD2SS_RR = None "cvtsd2ss {0}, {1}" [FD4, FM8] off2(0x5a).reg(0).rm(1), .twin(1, CVTSD2SS_RM);
    CVTSD2SS_RM = None "cvtsd2ss {0}, {m}" [FD4] off2(0x5a).reg(0).mem(8);
    // F16C.
    VCVTPH2PS_RR = None "vcvtph2ps {0}, {1}" [FD16, FU8] vex38(0x66, 0x13).reg(0).rm(1);
    VCVTPS2PH_RRI = None "vcvtps2ph {0}, {1}, {i}" [FD8, FU16] vex3a(0x66, 0x1d).reg(1).rm(0).ib(), .clears_upper();
}
