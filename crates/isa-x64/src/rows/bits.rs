//! Counting and searching bits, byte order, and what reads the flags: `setcc`, `cmovcc`.

use crate::encoding::{of, of64, off3, op, vex38};
use crate::rows::rows;
use kingpost_mach::operands::{D1, D4, D8, M4, M8, T4, T8, U4, U8};

rows! {
    crate::rows::atomic::END;

    // Byte order.
    BSWAP32_R = None "bswap {0}" [T4, U4] of(0xc8).plus(0);
    BSWAP64_R = None "bswap {0}" [T8, U8] of64(0xc8).plus(0);
    // `bsf` and `bsr` leave their register as it was if the source is 0.
    BSF32_RR = Def "bsf {0}, {1}" [D4, M4] of(0xbc).reg(0).rm(1), .twin(1, BSF32_RM), .keeps_upper();
    BSF32_RM = Def "bsf {0}, {m}" [D4] of(0xbc).reg(0).mem(4), .keeps_upper();
    BSF64_RR = Def "bsf {0}, {1}" [D8, M8] of64(0xbc).reg(0).rm(1), .twin(1, BSF64_RM), .keeps_upper();
    BSF64_RM = Def "bsf {0}, {m}" [D8] of64(0xbc).reg(0).mem(8), .keeps_upper();
    BSR32_RR = Def "bsr {0}, {1}" [D4, M4] of(0xbd).reg(0).rm(1), .twin(1, BSR32_RM), .keeps_upper();
    BSR32_RM = Def "bsr {0}, {m}" [D4] of(0xbd).reg(0).mem(4), .keeps_upper();
    BSR64_RR = Def "bsr {0}, {1}" [D8, M8] of64(0xbd).reg(0).rm(1), .twin(1, BSR64_RM), .keeps_upper();
    BSR64_RM = Def "bsr {0}, {m}" [D8] of64(0xbd).reg(0).mem(8), .keeps_upper();
    // Counts of bits, with CPU flags of their own.
    POPCNT32_RR = Def "popcnt {0}, {1}" [D4, M4] off3(0xb8).reg(0).rm(1), .twin(1, POPCNT32_RM);
    POPCNT32_RM = Def "popcnt {0}, {m}" [D4] off3(0xb8).reg(0).mem(4);
    POPCNT64_RR = Def "popcnt {0}, {1}" [D8, M8] off3(0xb8).w().reg(0).rm(1), .twin(1, POPCNT64_RM);
    POPCNT64_RM = Def "popcnt {0}, {m}" [D8] off3(0xb8).w().reg(0).mem(8);
    LZCNT32_RR = Def "lzcnt {0}, {1}" [D4, M4] off3(0xbd).reg(0).rm(1), .twin(1, LZCNT32_RM);
    LZCNT32_RM = Def "lzcnt {0}, {m}" [D4] off3(0xbd).reg(0).mem(4);
    LZCNT64_RR = Def "lzcnt {0}, {1}" [D8, M8] off3(0xbd).w().reg(0).rm(1), .twin(1, LZCNT64_RM);
    LZCNT64_RM = Def "lzcnt {0}, {m}" [D8] off3(0xbd).w().reg(0).mem(8);
    TZCNT32_RR = Def "tzcnt {0}, {1}" [D4, M4] off3(0xbc).reg(0).rm(1), .twin(1, TZCNT32_RM);
    TZCNT32_RM = Def "tzcnt {0}, {m}" [D4] off3(0xbc).reg(0).mem(4);
    TZCNT64_RR = Def "tzcnt {0}, {1}" [D8, M8] off3(0xbc).w().reg(0).rm(1), .twin(1, TZCNT64_RM);
    TZCNT64_RM = Def "tzcnt {0}, {m}" [D8] off3(0xbc).w().reg(0).mem(8);
    // One bit into the carry flag.
    BT32_RR = Def "bt {0}, {1}" [U4, U4] of(0xa3).reg(1).rm(0);
    BT32_RI = Def "bt {0}, {i}" [M4] of(0xba).digit(4).rm(0).ib(), .twin(0, BT32_MI);
    BT32_MI = Def "bt {m}, {i}" [] of(0xba).digit(4).mem(4).ib();
    BT64_RR = Def "bt {0}, {1}" [U8, U8] of64(0xa3).reg(1).rm(0);
    BT64_RI = Def "bt {0}, {i}" [M8] of64(0xba).digit(4).rm(0).ib(), .twin(0, BT64_MI);
    BT64_MI = Def "bt {m}, {i}" [] of64(0xba).digit(4).mem(8).ib();
    // BMI1.
    ANDN32_RR = Def "andn {0}, {1}, {2}" [D4, U4, M4] vex38(0, 0xf2).reg(0).v(1).rm(2), .twin(2, ANDN32_RM);
    ANDN32_RM = Def "andn {0}, {1}, {m}" [D4, U4] vex38(0, 0xf2).reg(0).v(1).mem(4);
    ANDN64_RR = Def "andn {0}, {1}, {2}" [D8, U8, M8] vex38(0, 0xf2).w().reg(0).v(1).rm(2), .twin(2, ANDN64_RM);
    ANDN64_RM = Def "andn {0}, {1}, {m}" [D8, U8] vex38(0, 0xf2).w().reg(0).v(1).mem(8);
    BLSI32_RR = Def "blsi {0}, {1}" [D4, M4] vex38(0, 0xf3).digit(3).v(0).rm(1), .twin(1, BLSI32_RM);
    BLSI32_RM = Def "blsi {0}, {m}" [D4] vex38(0, 0xf3).digit(3).v(0).mem(4);
    BLSI64_RR = Def "blsi {0}, {1}" [D8, M8] vex38(0, 0xf3).w().digit(3).v(0).rm(1), .twin(1, BLSI64_RM);
    BLSI64_RM = Def "blsi {0}, {m}" [D8] vex38(0, 0xf3).w().digit(3).v(0).mem(8);
    BLSR32_RR = Def "blsr {0}, {1}" [D4, M4] vex38(0, 0xf3).digit(1).v(0).rm(1), .twin(1, BLSR32_RM);
    BLSR32_RM = Def "blsr {0}, {m}" [D4] vex38(0, 0xf3).digit(1).v(0).mem(4);
    BLSR64_RR = Def "blsr {0}, {1}" [D8, M8] vex38(0, 0xf3).w().digit(1).v(0).rm(1), .twin(1, BLSR64_RM);
    BLSR64_RM = Def "blsr {0}, {m}" [D8] vex38(0, 0xf3).w().digit(1).v(0).mem(8);
    BLSMSK32_RR = Def "blsmsk {0}, {1}" [D4, M4] vex38(0, 0xf3).digit(2).v(0).rm(1), .twin(1, BLSMSK32_RM);
    BLSMSK32_RM = Def "blsmsk {0}, {m}" [D4] vex38(0, 0xf3).digit(2).v(0).mem(4);
    BLSMSK64_RR = Def "blsmsk {0}, {1}" [D8, M8] vex38(0, 0xf3).w().digit(2).v(0).rm(1), .twin(1, BLSMSK64_RM);
    BLSMSK64_RM = Def "blsmsk {0}, {m}" [D8] vex38(0, 0xf3).w().digit(2).v(0).mem(8);
    // Conditions.
    SETCC_R = Use "set{c} {0}" [D1] of(0x90).rm(0).cc();
    SETCC_M = Use "set{c} {m}" [] of(0x90).mem(1).cc();
    CMOV32_RR = Use "cmov{c} {0}, {2}" [T4, U4, M4] of(0x40).reg(0).rm(2).cc(), .twin(2, CMOV32_RM);
    CMOV32_RM = Use "cmov{c} {0}, {m}" [T4, U4] of(0x40).reg(0).mem(4).cc();
    CMOV64_RR = Use "cmov{c} {0}, {2}" [T8, U8, M8] of64(0x40).reg(0).rm(2).cc(), .twin(2, CMOV64_RM);
    CMOV64_RM = Use "cmov{c} {0}, {m}" [T8, U8] of64(0x40).reg(0).mem(8).cc();
    // The flags themselves.
    STC = Def "stc" [] op(0xf9);
    CLC = Def "clc" [] op(0xf8);
}
