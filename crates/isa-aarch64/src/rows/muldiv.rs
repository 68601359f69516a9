//! Multiplication and division.

use crate::encoding::{rrr, rrrr};
use kingpost_mach::operands::{D8, U4, U8};
use kingpost_mach::rows;

rows! {
    crate::rows::mov::END;

    // Operand 1 times operand 2, added to or subtracted from operand 3 or zero.
    MADD_RRRR[32 64] = None "madd {0}, {1}, {2}, {3}" [D, U, U, U] rrrr(0x1b00_0000).sf(W);
    MSUB_RRRR[32 64] = None "msub {0}, {1}, {2}, {3}" [D, U, U, U] rrrr(0x1b00_8000).sf(W);
    MUL_RRR[32 64] = None "mul {0}, {1}, {2}" [D, U, U] rrr(0x1b00_7c00).sf(W);
    MNEG_RRR[32 64] = None "mneg {0}, {1}, {2}" [D, U, U] rrr(0x1b00_fc00).sf(W);
    // Products of 32-bit operands.
    SMADDL_RRRR = None "smaddl {0}, {1}, {2}, {3}" [D8, U4, U4, U8] rrrr(0x9b20_0000);
    SMSUBL_RRRR = None "smsubl {0}, {1}, {2}, {3}" [D8, U4, U4, U8] rrrr(0x9b20_8000);
    UMADDL_RRRR = None "umaddl {0}, {1}, {2}, {3}" [D8, U4, U4, U8] rrrr(0x9ba0_0000);
    UMSUBL_RRRR = None "umsubl {0}, {1}, {2}, {3}" [D8, U4, U4, U8] rrrr(0x9ba0_8000);
    SMULL_RRR = None "smull {0}, {1}, {2}" [D8, U4, U4] rrr(0x9b20_7c00);
    UMULL_RRR = None "umull {0}, {1}, {2}" [D8, U4, U4] rrr(0x9ba0_7c00);
    // The high half of a product.
    SMULH_RRR = None "smulh {0}, {1}, {2}" [D8, U8, U8] rrr(0x9b40_7c00);
    UMULH_RRR = None "umulh {0}, {1}, {2}" [D8, U8, U8] rrr(0x9bc0_7c00);
    // Quotients. A quotient by zero is 0, and the least number by -1 is itself.
    UDIV_RRR[32 64] = None "udiv {0}, {1}, {2}" [D, U, U] rrr(0x1ac0_0800).sf(W);
    SDIV_RRR[32 64] = None "sdiv {0}, {1}, {2}" [D, U, U] rrr(0x1ac0_0c00).sf(W);
}
