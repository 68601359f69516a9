//! Conversions between floats and integers.

use crate::encoding::rr;
use crate::rows::rows;
use kingpost_mach::operands::{D4, D8, FD2, FD4, FD8, FU2, FU4, FU8, U4, U8};

rows! {
    crate::rows::control::END;

    // Between float widths.
    FCVT64_32_FF = None "fcvt {0}, {1}" [FD8, FU4] rr(0x1e22_c000);
    FCVT32_64_FF = None "fcvt {0}, {1}" [FD4, FU8] rr(0x1e62_4000);
    FCVT32_16_FF = None "fcvt {0}, {1}" [FD4, FU2] rr(0x1ee2_4000);
    FCVT64_16_FF = None "fcvt {0}, {1}" [FD8, FU2] rr(0x1ee2_c000);
    FCVT16_32_FF = None "fcvt {0}, {1}" [FD2, FU4] rr(0x1e23_c000);
    FCVT16_64_FF = None "fcvt {0}, {1}" [FD2, FU8] rr(0x1e63_c000);
    // From integers: width of the float, width of the integer.
    SCVTF32_32_FR = None "scvtf {0}, {1}" [FD4, U4] rr(0x1e22_0000);
    SCVTF32_64_FR = None "scvtf {0}, {1}" [FD4, U8] rr(0x9e22_0000);
    SCVTF64_32_FR = None "scvtf {0}, {1}" [FD8, U4] rr(0x1e62_0000);
    SCVTF64_64_FR = None "scvtf {0}, {1}" [FD8, U8] rr(0x9e62_0000);
    UCVTF32_32_FR = None "ucvtf {0}, {1}" [FD4, U4] rr(0x1e23_0000);
    UCVTF32_64_FR = None "ucvtf {0}, {1}" [FD4, U8] rr(0x9e23_0000);
    UCVTF64_32_FR = None "ucvtf {0}, {1}" [FD8, U4] rr(0x1e63_0000);
    UCVTF64_64_FR = None "ucvtf {0}, {1}" [FD8, U8] rr(0x9e63_0000);
    // To integers, towards zero, saturating; NaN gives 0. Width of the integer, width of the float.
    FCVTZS32_32_RF = None "fcvtzs {0}, {1}" [D4, FU4] rr(0x1e38_0000);
    FCVTZS32_64_RF = None "fcvtzs {0}, {1}" [D4, FU8] rr(0x1e78_0000);
    FCVTZS64_32_RF = None "fcvtzs {0}, {1}" [D8, FU4] rr(0x9e38_0000);
    FCVTZS64_64_RF = None "fcvtzs {0}, {1}" [D8, FU8] rr(0x9e78_0000);
    FCVTZU32_32_RF = None "fcvtzu {0}, {1}" [D4, FU4] rr(0x1e39_0000);
    FCVTZU32_64_RF = None "fcvtzu {0}, {1}" [D4, FU8] rr(0x1e79_0000);
    FCVTZU64_32_RF = None "fcvtzu {0}, {1}" [D8, FU4] rr(0x9e39_0000);
    FCVTZU64_64_RF = None "fcvtzu {0}, {1}" [D8, FU8] rr(0x9e79_0000);
}
