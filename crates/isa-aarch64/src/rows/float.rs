//! Floating-point arithmetic, comparison and bitwise operations. Half precision is an extension.

use crate::encoding::{cmp, op, rr, rrr, rrrr, tied2};
use kingpost_mach::rows;

rows! {
    crate::rows::convert::END;

    // Arithmetic.
    FADD_FFF[16 32 64] = None "fadd {0}, {1}, {2}" [FD, FU, FU] rrr(0x1e20_2800).ftype(W);
    FSUB_FFF[16 32 64] = None "fsub {0}, {1}, {2}" [FD, FU, FU] rrr(0x1e20_3800).ftype(W);
    FMUL_FFF[16 32 64] = None "fmul {0}, {1}, {2}" [FD, FU, FU] rrr(0x1e20_0800).ftype(W);
    FNMUL_FFF[32 64] = None "fnmul {0}, {1}, {2}" [FD, FU, FU] rrr(0x1e20_8800).ftype(W);
    FDIV_FFF[16 32 64] = None "fdiv {0}, {1}, {2}" [FD, FU, FU] rrr(0x1e20_1800).ftype(W);
    FMAX_FFF[16 32 64] = None "fmax {0}, {1}, {2}" [FD, FU, FU] rrr(0x1e20_4800).ftype(W);
    FMIN_FFF[16 32 64] = None "fmin {0}, {1}, {2}" [FD, FU, FU] rrr(0x1e20_5800).ftype(W);
    FMAXNM_FFF[32 64] = None "fmaxnm {0}, {1}, {2}" [FD, FU, FU] rrr(0x1e20_6800).ftype(W);
    FMINNM_FFF[32 64] = None "fminnm {0}, {1}, {2}" [FD, FU, FU] rrr(0x1e20_7800).ftype(W);
    FABS_FF[16 32 64] = None "fabs {0}, {1}" [FD, FU] rr(0x1e20_c000).ftype(W);
    FNEG_FF[16 32 64] = None "fneg {0}, {1}" [FD, FU] rr(0x1e21_4000).ftype(W);
    FSQRT_FF[16 32 64] = None "fsqrt {0}, {1}" [FD, FU] rr(0x1e21_c000).ftype(W);
    // Operand 1 times operand 2, negated or not, plus or minus operand 3.
    FMADD_FFFF[16 32 64] = None "fmadd {0}, {1}, {2}, {3}" [FD, FU, FU, FU] rrrr(0x1f00_0000).ftype(W);
    FMSUB_FFFF[16 32 64] = None "fmsub {0}, {1}, {2}, {3}" [FD, FU, FU, FU] rrrr(0x1f00_8000).ftype(W);
    FNMADD_FFFF[16 32 64] = None "fnmadd {0}, {1}, {2}, {3}" [FD, FU, FU, FU] rrrr(0x1f20_0000).ftype(W);
    FNMSUB_FFFF[16 32 64] = None "fnmsub {0}, {1}, {2}, {3}" [FD, FU, FU, FU] rrrr(0x1f20_8000).ftype(W);
    // Rounding: to nearest even, up, down, towards zero, to nearest away from zero, and in the current mode.
    FRINTN_FF[16 32 64] = None "frintn {0}, {1}" [FD, FU] rr(0x1e24_4000).ftype(W);
    FRINTP_FF[16 32 64] = None "frintp {0}, {1}" [FD, FU] rr(0x1e24_c000).ftype(W);
    FRINTM_FF[16 32 64] = None "frintm {0}, {1}" [FD, FU] rr(0x1e25_4000).ftype(W);
    FRINTZ_FF[16 32 64] = None "frintz {0}, {1}" [FD, FU] rr(0x1e25_c000).ftype(W);
    FRINTA_FF[32 64] = None "frinta {0}, {1}" [FD, FU] rr(0x1e26_4000).ftype(W);
    FRINTX_FF[32 64] = None "frintx {0}, {1}" [FD, FU] rr(0x1e27_4000).ftype(W);
    // Comparison and selection.
    FCMP_FF[16 32 64] = Def "fcmp {0}, {1}" [FU, FU] cmp(0x1e20_2000).ftype(W);
    FCMP_FZ[16 32 64] = Def "fcmp {0}, #0.0" [FU] op(0x1e20_2008).rn(0).ftype(W);
    FCCMP_FF[32 64] = UseDef "fccmp {0}, {1}, {n}, {cc}" [FU, FU] cmp(0x1e20_0400).at(0).ftype(W);
    FCSEL_FFF[16 32 64] = Use "fcsel {0}, {1}, {2}, {c}" [FD, FU, FU] rrr(0x1e20_0c00).at(12).ftype(W);
    // Bitwise, on 8 or 16 bytes.
    AND_FFF[8b 16b] = None "and {0v}.*, {1v}.*, {2v}.*" [FD, FU, FU] rrr(0x0e20_1c00).q(W);
    BIC_FFF[8b 16b] = None "bic {0v}.*, {1v}.*, {2v}.*" [FD, FU, FU] rrr(0x0e60_1c00).q(W);
    ORR_FFF[8b 16b] = None "orr {0v}.*, {1v}.*, {2v}.*" [FD, FU, FU] rrr(0x0ea0_1c00).q(W);
    ORN_FFF[8b 16b] = None "orn {0v}.*, {1v}.*, {2v}.*" [FD, FU, FU] rrr(0x0ee0_1c00).q(W);
    EOR_FFF[8b 16b] = None "eor {0v}.*, {1v}.*, {2v}.*" [FD, FU, FU] rrr(0x2e20_1c00).q(W);
    NOT_FF[8b 16b] = None "not {0v}.*, {1v}.*" [FD, FU] rr(0x2e20_5800).q(W);
    // `bsl`: operand 2 where operand 1 has ones, else operand 3; `bit`: operand 2 where operand 3 has ones, else
    // operand 1; `bif`: operand 2 where operand 3 has zeros, else operand 1.
    BSL_FFF[8b 16b] = None "bsl {0v}.*, {2v}.*, {3v}.*" [FT, FU, FU, FU] tied2(0x2e60_1c00).q(W);
    BIT_FFF[8b 16b] = None "bit {0v}.*, {2v}.*, {3v}.*" [FT, FU, FU, FU] tied2(0x2ea0_1c00).q(W);
    BIF_FFF[8b 16b] = None "bif {0v}.*, {2v}.*, {3v}.*" [FT, FU, FU, FU] tied2(0x2ee0_1c00).q(W);
}
