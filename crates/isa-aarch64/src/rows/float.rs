//! Floating-point arithmetic, comparison and bitwise operations.

use crate::encoding::{cmp, op, rr, rrr, rrrr, tied, tied2};
use crate::rows::rows;
use kingpost_mach::operands::{FD1, FD2, FD4, FD8, FD16, FT8, FT16, FU4, FU8, FU16};

rows! {
    crate::rows::convert::END;

    // Arithmetic.
    FADD32_FFF = None "fadd {0}, {1}, {2}" [FD4, FU4, FU4] rrr(0x1e20_2800);
    FADD64_FFF = None "fadd {0}, {1}, {2}" [FD8, FU8, FU8] rrr(0x1e60_2800);
    FSUB32_FFF = None "fsub {0}, {1}, {2}" [FD4, FU4, FU4] rrr(0x1e20_3800);
    FSUB64_FFF = None "fsub {0}, {1}, {2}" [FD8, FU8, FU8] rrr(0x1e60_3800);
    FMUL32_FFF = None "fmul {0}, {1}, {2}" [FD4, FU4, FU4] rrr(0x1e20_0800);
    FMUL64_FFF = None "fmul {0}, {1}, {2}" [FD8, FU8, FU8] rrr(0x1e60_0800);
    FNMUL32_FFF = None "fnmul {0}, {1}, {2}" [FD4, FU4, FU4] rrr(0x1e20_8800);
    FNMUL64_FFF = None "fnmul {0}, {1}, {2}" [FD8, FU8, FU8] rrr(0x1e60_8800);
    FDIV32_FFF = None "fdiv {0}, {1}, {2}" [FD4, FU4, FU4] rrr(0x1e20_1800);
    FDIV64_FFF = None "fdiv {0}, {1}, {2}" [FD8, FU8, FU8] rrr(0x1e60_1800);
    FMAX32_FFF = None "fmax {0}, {1}, {2}" [FD4, FU4, FU4] rrr(0x1e20_4800);
    FMAX64_FFF = None "fmax {0}, {1}, {2}" [FD8, FU8, FU8] rrr(0x1e60_4800);
    FMIN32_FFF = None "fmin {0}, {1}, {2}" [FD4, FU4, FU4] rrr(0x1e20_5800);
    FMIN64_FFF = None "fmin {0}, {1}, {2}" [FD8, FU8, FU8] rrr(0x1e60_5800);
    FMAXNM32_FFF = None "fmaxnm {0}, {1}, {2}" [FD4, FU4, FU4] rrr(0x1e20_6800);
    FMAXNM64_FFF = None "fmaxnm {0}, {1}, {2}" [FD8, FU8, FU8] rrr(0x1e60_6800);
    FMINNM32_FFF = None "fminnm {0}, {1}, {2}" [FD4, FU4, FU4] rrr(0x1e20_7800);
    FMINNM64_FFF = None "fminnm {0}, {1}, {2}" [FD8, FU8, FU8] rrr(0x1e60_7800);
    FABS32_FF = None "fabs {0}, {1}" [FD4, FU4] rr(0x1e20_c000);
    FABS64_FF = None "fabs {0}, {1}" [FD8, FU8] rr(0x1e60_c000);
    FNEG32_FF = None "fneg {0}, {1}" [FD4, FU4] rr(0x1e21_4000);
    FNEG64_FF = None "fneg {0}, {1}" [FD8, FU8] rr(0x1e61_4000);
    FSQRT32_FF = None "fsqrt {0}, {1}" [FD4, FU4] rr(0x1e21_c000);
    FSQRT64_FF = None "fsqrt {0}, {1}" [FD8, FU8] rr(0x1e61_c000);
    // Operand 1 times operand 2, negated or not, plus or minus operand 3.
    FMADD32_FFFF = None "fmadd {0}, {1}, {2}, {3}" [FD4, FU4, FU4, FU4] rrrr(0x1f00_0000);
    FMADD64_FFFF = None "fmadd {0}, {1}, {2}, {3}" [FD8, FU8, FU8, FU8] rrrr(0x1f40_0000);
    FMSUB32_FFFF = None "fmsub {0}, {1}, {2}, {3}" [FD4, FU4, FU4, FU4] rrrr(0x1f00_8000);
    FMSUB64_FFFF = None "fmsub {0}, {1}, {2}, {3}" [FD8, FU8, FU8, FU8] rrrr(0x1f40_8000);
    FNMADD32_FFFF = None "fnmadd {0}, {1}, {2}, {3}" [FD4, FU4, FU4, FU4] rrrr(0x1f20_0000);
    FNMADD64_FFFF = None "fnmadd {0}, {1}, {2}, {3}" [FD8, FU8, FU8, FU8] rrrr(0x1f60_0000);
    FNMSUB32_FFFF = None "fnmsub {0}, {1}, {2}, {3}" [FD4, FU4, FU4, FU4] rrrr(0x1f20_8000);
    FNMSUB64_FFFF = None "fnmsub {0}, {1}, {2}, {3}" [FD8, FU8, FU8, FU8] rrrr(0x1f60_8000);
    // Rounding: to nearest even, up, down, towards zero, to nearest away from zero, as the mode says.
    FRINTN32_FF = None "frintn {0}, {1}" [FD4, FU4] rr(0x1e24_4000);
    FRINTN64_FF = None "frintn {0}, {1}" [FD8, FU8] rr(0x1e64_4000);
    FRINTP32_FF = None "frintp {0}, {1}" [FD4, FU4] rr(0x1e24_c000);
    FRINTP64_FF = None "frintp {0}, {1}" [FD8, FU8] rr(0x1e64_c000);
    FRINTM32_FF = None "frintm {0}, {1}" [FD4, FU4] rr(0x1e25_4000);
    FRINTM64_FF = None "frintm {0}, {1}" [FD8, FU8] rr(0x1e65_4000);
    FRINTZ32_FF = None "frintz {0}, {1}" [FD4, FU4] rr(0x1e25_c000);
    FRINTZ64_FF = None "frintz {0}, {1}" [FD8, FU8] rr(0x1e65_c000);
    FRINTA32_FF = None "frinta {0}, {1}" [FD4, FU4] rr(0x1e26_4000);
    FRINTA64_FF = None "frinta {0}, {1}" [FD8, FU8] rr(0x1e66_4000);
    FRINTX32_FF = None "frintx {0}, {1}" [FD4, FU4] rr(0x1e27_4000);
    FRINTX64_FF = None "frintx {0}, {1}" [FD8, FU8] rr(0x1e67_4000);
    // Comparison and selection.
    FCMP32_FF = Def "fcmp {0}, {1}" [FU4, FU4] cmp(0x1e20_2000);
    FCMP32_FZ = Def "fcmp {0}, #0.0" [FU4] op(0x1e20_2008).rn(0);
    FCCMP32_FF = UseDef "fccmp {0}, {1}, {n}, {cc}" [FU4, FU4] cmp(0x1e20_0400).at(0);
    FCSEL32_FFF = Use "fcsel {0}, {1}, {2}, {c}" [FD4, FU4, FU4] rrr(0x1e20_0c00).at(12);
    FCMP64_FF = Def "fcmp {0}, {1}" [FU8, FU8] cmp(0x1e60_2000);
    FCMP64_FZ = Def "fcmp {0}, #0.0" [FU8] op(0x1e60_2008).rn(0);
    FCCMP64_FF = UseDef "fccmp {0}, {1}, {n}, {cc}" [FU8, FU8] cmp(0x1e60_0400).at(0);
    FCSEL64_FFF = Use "fcsel {0}, {1}, {2}, {c}" [FD8, FU8, FU8] rrr(0x1e60_0c00).at(12);
    // Bitwise, on 8 or 16 bytes.
    AND8B_FFF = None "and {0v}.8b, {1v}.8b, {2v}.8b" [FD8, FU8, FU8] rrr(0x0e20_1c00);
    AND16B_FFF = None "and {0v}.16b, {1v}.16b, {2v}.16b" [FD16, FU16, FU16] rrr(0x4e20_1c00);
    BIC8B_FFF = None "bic {0v}.8b, {1v}.8b, {2v}.8b" [FD8, FU8, FU8] rrr(0x0e60_1c00);
    BIC16B_FFF = None "bic {0v}.16b, {1v}.16b, {2v}.16b" [FD16, FU16, FU16] rrr(0x4e60_1c00);
    ORR8B_FFF = None "orr {0v}.8b, {1v}.8b, {2v}.8b" [FD8, FU8, FU8] rrr(0x0ea0_1c00);
    ORR16B_FFF = None "orr {0v}.16b, {1v}.16b, {2v}.16b" [FD16, FU16, FU16] rrr(0x4ea0_1c00);
    ORN8B_FFF = None "orn {0v}.8b, {1v}.8b, {2v}.8b" [FD8, FU8, FU8] rrr(0x0ee0_1c00);
    ORN16B_FFF = None "orn {0v}.16b, {1v}.16b, {2v}.16b" [FD16, FU16, FU16] rrr(0x4ee0_1c00);
    EOR8B_FFF = None "eor {0v}.8b, {1v}.8b, {2v}.8b" [FD8, FU8, FU8] rrr(0x2e20_1c00);
    EOR16B_FFF = None "eor {0v}.16b, {1v}.16b, {2v}.16b" [FD16, FU16, FU16] rrr(0x6e20_1c00);
    NOT8B_FF = None "not {0v}.8b, {1v}.8b" [FD8, FU8] rr(0x2e20_5800);
    NOT16B_FF = None "not {0v}.16b, {1v}.16b" [FD16, FU16] rr(0x6e20_5800);
    // `bsl`: operand 2 where operand 1 has ones, else operand 3; `bit`: operand 2 where operand 3 has ones, else operand 1;
    // `bif`: the other way round.
    BSL8B_FFF = None "bsl {0v}.8b, {2v}.8b, {3v}.8b" [FT8, FU8, FU8, FU8] tied2(0x2e60_1c00);
    BSL16B_FFF = None "bsl {0v}.16b, {2v}.16b, {3v}.16b" [FT16, FU16, FU16, FU16] tied2(0x6e60_1c00);
    BIT8B_FFF = None "bit {0v}.8b, {2v}.8b, {3v}.8b" [FT8, FU8, FU8, FU8] tied2(0x2ea0_1c00);
    BIT16B_FFF = None "bit {0v}.16b, {2v}.16b, {3v}.16b" [FT16, FU16, FU16, FU16] tied2(0x6ea0_1c00);
    BIF8B_FFF = None "bif {0v}.8b, {2v}.8b, {3v}.8b" [FT8, FU8, FU8, FU8] tied2(0x2ee0_1c00);
    BIF16B_FFF = None "bif {0v}.16b, {2v}.16b, {3v}.16b" [FT16, FU16, FU16, FU16] tied2(0x6ee0_1c00);
    // Shifts of the lowest element; `sli` keeps the bits of operand 1 below the amount.
    USHR64_FFI = None "ushr {0}, {1}, {i}" [FD8, FU8] rr(0x7f00_0400).vector_right(64);
    USHR32_FFI = None "ushr {0v}.2s, {1v}.2s, {i}" [FD8, FU8] rr(0x2f00_0400).vector_right(32);
    SHL64_FFI = None "shl {0}, {1}, {i}" [FD8, FU8] rr(0x5f00_5400).vector_left(64);
    SHL32_FFI = None "shl {0v}.2s, {1v}.2s, {i}" [FD8, FU8] rr(0x0f00_5400).vector_left(32);
    SLI64_FFI = None "sli {0}, {2}, {i}" [FT8, FU8, FU8] tied(0x7f00_5400).vector_left(64);
    SLI32_FFI = None "sli {0v}.2s, {2v}.2s, {i}" [FT8, FU8, FU8] tied(0x2f00_5400).vector_left(32);
    // Bits of each byte; sums of all bytes.
    CNT8B_FF = None "cnt {0v}.8b, {1v}.8b" [FD8, FU8] rr(0x0e20_5800);
    CNT16B_FF = None "cnt {0v}.16b, {1v}.16b" [FD16, FU16] rr(0x4e20_5800);
    ADDV8B_FF = None "addv {0}, {1v}.8b" [FD1, FU8] rr(0x0e31_b800);
    ADDV16B_FF = None "addv {0}, {1v}.16b" [FD1, FU16] rr(0x4e31_b800);
    UADDLV16B_FF = None "uaddlv {0}, {1v}.16b" [FD2, FU16] rr(0x6e30_3800);
}
