//! Conversions between floats and integers.

use crate::encoding::rr;
use kingpost_mach::operands::{D4, D8, FD2, FD4, FD8, FU2, FU4, FU8};
use kingpost_mach::rows;

rows! {
    crate::rows::control::END;

    // Between float widths.
    FCVT64_32_FF = None "fcvt {0}, {1}" [FD8, FU4] rr(0x1e22_c000);
    FCVT32_64_FF = None "fcvt {0}, {1}" [FD4, FU8] rr(0x1e62_4000);
    FCVT32_16_FF = None "fcvt {0}, {1}" [FD4, FU2] rr(0x1ee2_4000);
    FCVT64_16_FF = None "fcvt {0}, {1}" [FD8, FU2] rr(0x1ee2_c000);
    FCVT16_32_FF = None "fcvt {0}, {1}" [FD2, FU4] rr(0x1e23_c000);
    FCVT16_64_FF = None "fcvt {0}, {1}" [FD2, FU8] rr(0x1e63_c000);
    // From integers: width of the float, widths of the integer.
    SCVTF32_FR[32 64] = None "scvtf {0}, {1}" [FD4, U] rr(0x1e22_0000).sf(W);
    SCVTF64_FR[32 64] = None "scvtf {0}, {1}" [FD8, U] rr(0x1e62_0000).sf(W);
    UCVTF32_FR[32 64] = None "ucvtf {0}, {1}" [FD4, U] rr(0x1e23_0000).sf(W);
    UCVTF64_FR[32 64] = None "ucvtf {0}, {1}" [FD8, U] rr(0x1e63_0000).sf(W);
    // To integers, towards zero, saturating; NaN becomes 0. Width of the integer, widths of the float.
    FCVTZS32_RF[32 64] = None "fcvtzs {0}, {1}" [D4, FU] rr(0x1e38_0000).ftype(W);
    FCVTZS64_RF[32 64] = None "fcvtzs {0}, {1}" [D8, FU] rr(0x9e38_0000).ftype(W);
    FCVTZU32_RF[32 64] = None "fcvtzu {0}, {1}" [D4, FU] rr(0x1e39_0000).ftype(W);
    FCVTZU64_RF[32 64] = None "fcvtzu {0}, {1}" [D8, FU] rr(0x9e39_0000).ftype(W);
}
