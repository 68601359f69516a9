//! Multiplication and division.

use crate::encoding::{rrr, rrrr};
use crate::rows::rows;
use kingpost_mach::operands::{D4, D8, U4, U8};

rows! {
    crate::rows::mov::END;

    // Operand 1 times operand 2, added to or taken from operand 3 or zero.
    MADD32_RRRR = None "madd {0}, {1}, {2}, {3}" [D4, U4, U4, U4] rrrr(0x1b00_0000);
    MSUB32_RRRR = None "msub {0}, {1}, {2}, {3}" [D4, U4, U4, U4] rrrr(0x1b00_8000);
    MUL32_RRR = None "mul {0}, {1}, {2}" [D4, U4, U4] rrr(0x1b00_7c00);
    MNEG32_RRR = None "mneg {0}, {1}, {2}" [D4, U4, U4] rrr(0x1b00_fc00);
    MADD64_RRRR = None "madd {0}, {1}, {2}, {3}" [D8, U8, U8, U8] rrrr(0x9b00_0000);
    MSUB64_RRRR = None "msub {0}, {1}, {2}, {3}" [D8, U8, U8, U8] rrrr(0x9b00_8000);
    MUL64_RRR = None "mul {0}, {1}, {2}" [D8, U8, U8] rrr(0x9b00_7c00);
    MNEG64_RRR = None "mneg {0}, {1}, {2}" [D8, U8, U8] rrr(0x9b00_fc00);
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
    // Quotients. Division by zero gives 0, the least number by -1 gives itself.
    UDIV32_RRR = None "udiv {0}, {1}, {2}" [D4, U4, U4] rrr(0x1ac0_0800);
    SDIV32_RRR = None "sdiv {0}, {1}, {2}" [D4, U4, U4] rrr(0x1ac0_0c00);
    UDIV64_RRR = None "udiv {0}, {1}, {2}" [D8, U8, U8] rrr(0x9ac0_0800);
    SDIV64_RRR = None "sdiv {0}, {1}, {2}" [D8, U8, U8] rrr(0x9ac0_0c00);
}
