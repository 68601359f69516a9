//! Shifts and rotations. A count in `cl` may be 0, which leaves the flags as they were, so they count as destroyed.

use crate::encoding::{of, of64, op, op16, op64, vex3a, vex38};
use crate::regs::RCX;
use crate::rows::rows;
use kingpost_mach::operands::{D4, D8, M1, M2, M4, M8, T1, T2, T4, T8, U1, U2, U4, U8};

rows! {
    crate::rows::muldiv::END;

    // `rol`.
    ROL8_RC = Clobber "rol {0}, cl" [T1, U1, U1.fixed(RCX)] op(0xd2).digit(0).rm(0);
    ROL8_MC = Clobber "rol {m}, cl" [U1.fixed(RCX)] op(0xd2).digit(0).mem(1);
    ROL8_RI = Clobber "rol {0}, {i}" [T1, M1] op(0xc0).digit(0).rm(0).ib().one(0xd0), .twin(1, ROL8_MI);
    ROL8_MI = Clobber "rol {m}, {i}" [] op(0xc0).digit(0).mem(1).ib().one(0xd0);
    ROL16_RC = Clobber "rol {0}, cl" [T2, U2, U1.fixed(RCX)] op16(0xd3).digit(0).rm(0);
    ROL16_MC = Clobber "rol {m}, cl" [U1.fixed(RCX)] op16(0xd3).digit(0).mem(2);
    ROL16_RI = Clobber "rol {0}, {i}" [T2, M2] op16(0xc1).digit(0).rm(0).ib().one(0xd1), .twin(1, ROL16_MI);
    ROL16_MI = Clobber "rol {m}, {i}" [] op16(0xc1).digit(0).mem(2).ib().one(0xd1);
    ROL32_RC = Clobber "rol {0}, cl" [T4, U4, U1.fixed(RCX)] op(0xd3).digit(0).rm(0);
    ROL32_MC = Clobber "rol {m}, cl" [U1.fixed(RCX)] op(0xd3).digit(0).mem(4);
    ROL32_RI = Clobber "rol {0}, {i}" [T4, M4] op(0xc1).digit(0).rm(0).ib().one(0xd1), .twin(1, ROL32_MI);
    ROL32_MI = Clobber "rol {m}, {i}" [] op(0xc1).digit(0).mem(4).ib().one(0xd1);
    ROL64_RC = Clobber "rol {0}, cl" [T8, U8, U1.fixed(RCX)] op64(0xd3).digit(0).rm(0);
    ROL64_MC = Clobber "rol {m}, cl" [U1.fixed(RCX)] op64(0xd3).digit(0).mem(8);
    ROL64_RI = Clobber "rol {0}, {i}" [T8, M8] op64(0xc1).digit(0).rm(0).ib().one(0xd1), .twin(1, ROL64_MI);
    ROL64_MI = Clobber "rol {m}, {i}" [] op64(0xc1).digit(0).mem(8).ib().one(0xd1);
    // `ror`.
    ROR8_RC = Clobber "ror {0}, cl" [T1, U1, U1.fixed(RCX)] op(0xd2).digit(1).rm(0);
    ROR8_MC = Clobber "ror {m}, cl" [U1.fixed(RCX)] op(0xd2).digit(1).mem(1);
    ROR8_RI = Clobber "ror {0}, {i}" [T1, M1] op(0xc0).digit(1).rm(0).ib().one(0xd0), .twin(1, ROR8_MI);
    ROR8_MI = Clobber "ror {m}, {i}" [] op(0xc0).digit(1).mem(1).ib().one(0xd0);
    ROR16_RC = Clobber "ror {0}, cl" [T2, U2, U1.fixed(RCX)] op16(0xd3).digit(1).rm(0);
    ROR16_MC = Clobber "ror {m}, cl" [U1.fixed(RCX)] op16(0xd3).digit(1).mem(2);
    ROR16_RI = Clobber "ror {0}, {i}" [T2, M2] op16(0xc1).digit(1).rm(0).ib().one(0xd1), .twin(1, ROR16_MI);
    ROR16_MI = Clobber "ror {m}, {i}" [] op16(0xc1).digit(1).mem(2).ib().one(0xd1);
    ROR32_RC = Clobber "ror {0}, cl" [T4, U4, U1.fixed(RCX)] op(0xd3).digit(1).rm(0);
    ROR32_MC = Clobber "ror {m}, cl" [U1.fixed(RCX)] op(0xd3).digit(1).mem(4);
    ROR32_RI = Clobber "ror {0}, {i}" [T4, M4] op(0xc1).digit(1).rm(0).ib().one(0xd1), .twin(1, ROR32_MI);
    ROR32_MI = Clobber "ror {m}, {i}" [] op(0xc1).digit(1).mem(4).ib().one(0xd1);
    ROR64_RC = Clobber "ror {0}, cl" [T8, U8, U1.fixed(RCX)] op64(0xd3).digit(1).rm(0);
    ROR64_MC = Clobber "ror {m}, cl" [U1.fixed(RCX)] op64(0xd3).digit(1).mem(8);
    ROR64_RI = Clobber "ror {0}, {i}" [T8, M8] op64(0xc1).digit(1).rm(0).ib().one(0xd1), .twin(1, ROR64_MI);
    ROR64_MI = Clobber "ror {m}, {i}" [] op64(0xc1).digit(1).mem(8).ib().one(0xd1);
    // `shl`.
    SHL8_RC = Clobber "shl {0}, cl" [T1, U1, U1.fixed(RCX)] op(0xd2).digit(4).rm(0);
    SHL8_MC = Clobber "shl {m}, cl" [U1.fixed(RCX)] op(0xd2).digit(4).mem(1);
    SHL8_RI = Def "shl {0}, {i}" [T1, M1] op(0xc0).digit(4).rm(0).ib().one(0xd0), .twin(1, SHL8_MI);
    SHL8_MI = Def "shl {m}, {i}" [] op(0xc0).digit(4).mem(1).ib().one(0xd0);
    SHL16_RC = Clobber "shl {0}, cl" [T2, U2, U1.fixed(RCX)] op16(0xd3).digit(4).rm(0);
    SHL16_MC = Clobber "shl {m}, cl" [U1.fixed(RCX)] op16(0xd3).digit(4).mem(2);
    SHL16_RI = Def "shl {0}, {i}" [T2, M2] op16(0xc1).digit(4).rm(0).ib().one(0xd1), .twin(1, SHL16_MI);
    SHL16_MI = Def "shl {m}, {i}" [] op16(0xc1).digit(4).mem(2).ib().one(0xd1);
    SHL32_RC = Clobber "shl {0}, cl" [T4, U4, U1.fixed(RCX)] op(0xd3).digit(4).rm(0);
    SHL32_MC = Clobber "shl {m}, cl" [U1.fixed(RCX)] op(0xd3).digit(4).mem(4);
    SHL32_RI = Def "shl {0}, {i}" [T4, M4] op(0xc1).digit(4).rm(0).ib().one(0xd1), .twin(1, SHL32_MI);
    SHL32_MI = Def "shl {m}, {i}" [] op(0xc1).digit(4).mem(4).ib().one(0xd1);
    SHL64_RC = Clobber "shl {0}, cl" [T8, U8, U1.fixed(RCX)] op64(0xd3).digit(4).rm(0);
    SHL64_MC = Clobber "shl {m}, cl" [U1.fixed(RCX)] op64(0xd3).digit(4).mem(8);
    SHL64_RI = Def "shl {0}, {i}" [T8, M8] op64(0xc1).digit(4).rm(0).ib().one(0xd1), .twin(1, SHL64_MI);
    SHL64_MI = Def "shl {m}, {i}" [] op64(0xc1).digit(4).mem(8).ib().one(0xd1);
    // `shr`.
    SHR8_RC = Clobber "shr {0}, cl" [T1, U1, U1.fixed(RCX)] op(0xd2).digit(5).rm(0);
    SHR8_MC = Clobber "shr {m}, cl" [U1.fixed(RCX)] op(0xd2).digit(5).mem(1);
    SHR8_RI = Def "shr {0}, {i}" [T1, M1] op(0xc0).digit(5).rm(0).ib().one(0xd0), .twin(1, SHR8_MI);
    SHR8_MI = Def "shr {m}, {i}" [] op(0xc0).digit(5).mem(1).ib().one(0xd0);
    SHR16_RC = Clobber "shr {0}, cl" [T2, U2, U1.fixed(RCX)] op16(0xd3).digit(5).rm(0);
    SHR16_MC = Clobber "shr {m}, cl" [U1.fixed(RCX)] op16(0xd3).digit(5).mem(2);
    SHR16_RI = Def "shr {0}, {i}" [T2, M2] op16(0xc1).digit(5).rm(0).ib().one(0xd1), .twin(1, SHR16_MI);
    SHR16_MI = Def "shr {m}, {i}" [] op16(0xc1).digit(5).mem(2).ib().one(0xd1);
    SHR32_RC = Clobber "shr {0}, cl" [T4, U4, U1.fixed(RCX)] op(0xd3).digit(5).rm(0);
    SHR32_MC = Clobber "shr {m}, cl" [U1.fixed(RCX)] op(0xd3).digit(5).mem(4);
    SHR32_RI = Def "shr {0}, {i}" [T4, M4] op(0xc1).digit(5).rm(0).ib().one(0xd1), .twin(1, SHR32_MI);
    SHR32_MI = Def "shr {m}, {i}" [] op(0xc1).digit(5).mem(4).ib().one(0xd1);
    SHR64_RC = Clobber "shr {0}, cl" [T8, U8, U1.fixed(RCX)] op64(0xd3).digit(5).rm(0);
    SHR64_MC = Clobber "shr {m}, cl" [U1.fixed(RCX)] op64(0xd3).digit(5).mem(8);
    SHR64_RI = Def "shr {0}, {i}" [T8, M8] op64(0xc1).digit(5).rm(0).ib().one(0xd1), .twin(1, SHR64_MI);
    SHR64_MI = Def "shr {m}, {i}" [] op64(0xc1).digit(5).mem(8).ib().one(0xd1);
    // `sar`.
    SAR8_RC = Clobber "sar {0}, cl" [T1, U1, U1.fixed(RCX)] op(0xd2).digit(7).rm(0);
    SAR8_MC = Clobber "sar {m}, cl" [U1.fixed(RCX)] op(0xd2).digit(7).mem(1);
    SAR8_RI = Def "sar {0}, {i}" [T1, M1] op(0xc0).digit(7).rm(0).ib().one(0xd0), .twin(1, SAR8_MI);
    SAR8_MI = Def "sar {m}, {i}" [] op(0xc0).digit(7).mem(1).ib().one(0xd0);
    SAR16_RC = Clobber "sar {0}, cl" [T2, U2, U1.fixed(RCX)] op16(0xd3).digit(7).rm(0);
    SAR16_MC = Clobber "sar {m}, cl" [U1.fixed(RCX)] op16(0xd3).digit(7).mem(2);
    SAR16_RI = Def "sar {0}, {i}" [T2, M2] op16(0xc1).digit(7).rm(0).ib().one(0xd1), .twin(1, SAR16_MI);
    SAR16_MI = Def "sar {m}, {i}" [] op16(0xc1).digit(7).mem(2).ib().one(0xd1);
    SAR32_RC = Clobber "sar {0}, cl" [T4, U4, U1.fixed(RCX)] op(0xd3).digit(7).rm(0);
    SAR32_MC = Clobber "sar {m}, cl" [U1.fixed(RCX)] op(0xd3).digit(7).mem(4);
    SAR32_RI = Def "sar {0}, {i}" [T4, M4] op(0xc1).digit(7).rm(0).ib().one(0xd1), .twin(1, SAR32_MI);
    SAR32_MI = Def "sar {m}, {i}" [] op(0xc1).digit(7).mem(4).ib().one(0xd1);
    SAR64_RC = Clobber "sar {0}, cl" [T8, U8, U1.fixed(RCX)] op64(0xd3).digit(7).rm(0);
    SAR64_MC = Clobber "sar {m}, cl" [U1.fixed(RCX)] op64(0xd3).digit(7).mem(8);
    SAR64_RI = Def "sar {0}, {i}" [T8, M8] op64(0xc1).digit(7).rm(0).ib().one(0xd1), .twin(1, SAR64_MI);
    SAR64_MI = Def "sar {m}, {i}" [] op64(0xc1).digit(7).mem(8).ib().one(0xd1);
    // Double-width shifts: operand 2 supplies the bits that come in.
    SHLD32_RRI = Def "shld {0}, {2}, {i}" [T4, U4, U4] of(0xa4).reg(2).rm(0).ib();
    SHLD32_RRC = Clobber "shld {0}, {2}, cl" [T4, U4, U4, U1.fixed(RCX)] of(0xa5).reg(2).rm(0);
    SHLD64_RRI = Def "shld {0}, {2}, {i}" [T8, U8, U8] of64(0xa4).reg(2).rm(0).ib();
    SHLD64_RRC = Clobber "shld {0}, {2}, cl" [T8, U8, U8, U1.fixed(RCX)] of64(0xa5).reg(2).rm(0);
    SHRD32_RRI = Def "shrd {0}, {2}, {i}" [T4, U4, U4] of(0xac).reg(2).rm(0).ib();
    SHRD32_RRC = Clobber "shrd {0}, {2}, cl" [T4, U4, U4, U1.fixed(RCX)] of(0xad).reg(2).rm(0);
    SHRD64_RRI = Def "shrd {0}, {2}, {i}" [T8, U8, U8] of64(0xac).reg(2).rm(0).ib();
    SHRD64_RRC = Clobber "shrd {0}, {2}, cl" [T8, U8, U8, U1.fixed(RCX)] of64(0xad).reg(2).rm(0);
    // BMI2: three operands, no flags.
    SHLX32_RR = None "shlx {0}, {1}, {2}" [D4, M4, U4] vex38(0x66, 0xf7).reg(0).rm(1).v(2), .twin(1, SHLX32_RM);
    SHLX32_RM = None "shlx {0}, {m}, {1}" [D4, U4] vex38(0x66, 0xf7).reg(0).mem(4).v(1);
    SHLX64_RR = None "shlx {0}, {1}, {2}" [D8, M8, U8] vex38(0x66, 0xf7).w().reg(0).rm(1).v(2), .twin(1, SHLX64_RM);
    SHLX64_RM = None "shlx {0}, {m}, {1}" [D8, U8] vex38(0x66, 0xf7).w().reg(0).mem(8).v(1);
    SHRX32_RR = None "shrx {0}, {1}, {2}" [D4, M4, U4] vex38(0xf2, 0xf7).reg(0).rm(1).v(2), .twin(1, SHRX32_RM);
    SHRX32_RM = None "shrx {0}, {m}, {1}" [D4, U4] vex38(0xf2, 0xf7).reg(0).mem(4).v(1);
    SHRX64_RR = None "shrx {0}, {1}, {2}" [D8, M8, U8] vex38(0xf2, 0xf7).w().reg(0).rm(1).v(2), .twin(1, SHRX64_RM);
    SHRX64_RM = None "shrx {0}, {m}, {1}" [D8, U8] vex38(0xf2, 0xf7).w().reg(0).mem(8).v(1);
    SARX32_RR = None "sarx {0}, {1}, {2}" [D4, M4, U4] vex38(0xf3, 0xf7).reg(0).rm(1).v(2), .twin(1, SARX32_RM);
    SARX32_RM = None "sarx {0}, {m}, {1}" [D4, U4] vex38(0xf3, 0xf7).reg(0).mem(4).v(1);
    SARX64_RR = None "sarx {0}, {1}, {2}" [D8, M8, U8] vex38(0xf3, 0xf7).w().reg(0).rm(1).v(2), .twin(1, SARX64_RM);
    SARX64_RM = None "sarx {0}, {m}, {1}" [D8, U8] vex38(0xf3, 0xf7).w().reg(0).mem(8).v(1);
    RORX32_RRI = None "rorx {0}, {1}, {i}" [D4, M4] vex3a(0xf2, 0xf0).reg(0).rm(1).ib(), .twin(1, RORX32_RMI);
    RORX32_RMI = None "rorx {0}, {m}, {i}" [D4] vex3a(0xf2, 0xf0).reg(0).mem(4).ib();
    RORX64_RRI = None "rorx {0}, {1}, {i}" [D8, M8] vex3a(0xf2, 0xf0).w().reg(0).rm(1).ib(), .twin(1, RORX64_RMI);
    RORX64_RMI = None "rorx {0}, {m}, {i}" [D8] vex3a(0xf2, 0xf0).w().reg(0).mem(8).ib();
}
