//! Shifts and rotations.

use crate::encoding::{rr, rrr};
use crate::rows::rows;
use kingpost_mach::operands::{D4, D8, U4, U8};

rows! {
    crate::rows::muldiv::END;

    // By a register, modulo the width.
    LSL32_RRR = None "lsl {0}, {1}, {2}" [D4, U4, U4] rrr(0x1ac0_2000);
    LSR32_RRR = None "lsr {0}, {1}, {2}" [D4, U4, U4] rrr(0x1ac0_2400);
    ASR32_RRR = None "asr {0}, {1}, {2}" [D4, U4, U4] rrr(0x1ac0_2800);
    ROR32_RRR = None "ror {0}, {1}, {2}" [D4, U4, U4] rrr(0x1ac0_2c00);
    LSL64_RRR = None "lsl {0}, {1}, {2}" [D8, U8, U8] rrr(0x9ac0_2000);
    LSR64_RRR = None "lsr {0}, {1}, {2}" [D8, U8, U8] rrr(0x9ac0_2400);
    ASR64_RRR = None "asr {0}, {1}, {2}" [D8, U8, U8] rrr(0x9ac0_2800);
    ROR64_RRR = None "ror {0}, {1}, {2}" [D8, U8, U8] rrr(0x9ac0_2c00);
    // By a number from 0 to the width less one.
    LSL32_RRI = None "lsl {0}, {1}, {i}" [D4, U4] rr(0x5300_0000).left_shift(32);
    LSR32_RRI = None "lsr {0}, {1}, {i}" [D4, U4] rr(0x5300_7c00).at(16);
    ASR32_RRI = None "asr {0}, {1}, {i}" [D4, U4] rr(0x1300_7c00).at(16);
    ROR32_RRI = None "ror {0}, {1}, {i}" [D4, U4] rr(0x1380_0000).rm(1).at(10);
    LSL64_RRI = None "lsl {0}, {1}, {i}" [D8, U8] rr(0xd340_0000).left_shift(64);
    LSR64_RRI = None "lsr {0}, {1}, {i}" [D8, U8] rr(0xd340_fc00).at(16);
    ASR64_RRI = None "asr {0}, {1}, {i}" [D8, U8] rr(0x9340_fc00).at(16);
    ROR64_RRI = None "ror {0}, {1}, {i}" [D8, U8] rr(0x93c0_0000).rm(1).at(10);
}
