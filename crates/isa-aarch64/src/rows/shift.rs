//! Shifts and rotations.

use crate::encoding::{rr, rrr};
use kingpost_mach::rows;

rows! {
    crate::rows::muldiv::END;

    // By a register, modulo the width.
    LSL_RRR[32 64] = None "lsl {0}, {1}, {2}" [D, U, U] rrr(0x1ac0_2000).sf(W);
    LSR_RRR[32 64] = None "lsr {0}, {1}, {2}" [D, U, U] rrr(0x1ac0_2400).sf(W);
    ASR_RRR[32 64] = None "asr {0}, {1}, {2}" [D, U, U] rrr(0x1ac0_2800).sf(W);
    ROR_RRR[32 64] = None "ror {0}, {1}, {2}" [D, U, U] rrr(0x1ac0_2c00).sf(W);
    // By a number from 0 to the width less one.
    LSL_RRI[32 64] = None "lsl {0}, {1}, {i}" [D, U] rr(0x5300_0000).left_shift(8 * W).sf_n(W);
    LSR_RRI[32 64] = None "lsr {0}, {1}, {i}" [D, U] rr(0x5300_0000).imms(8 * W - 1).at(16).sf_n(W);
    ASR_RRI[32 64] = None "asr {0}, {1}, {i}" [D, U] rr(0x1300_0000).imms(8 * W - 1).at(16).sf_n(W);
    ROR_RRI[32 64] = None "ror {0}, {1}, {i}" [D, U] rr(0x1380_0000).rm(1).at(10).sf_n(W);
}
