//! Multiplication and division.

use crate::encoding::{of, of64, of66, op, op16, op64, vex38};
use crate::regs::{RAX, RDX};
use crate::rows::rows;
use kingpost_mach::operands::{D2, D4, D8, M1, M2, M4, M8, T2, T4, T8, U1, U2, U4, U8};

rows! {
    crate::rows::mov::END;

    // The low half of a product.
    IMUL16_RR = Def "imul {0}, {2}" [T2, U2, M2] of66(0xaf).reg(0).rm(2), .twin(2, IMUL16_RM);
    IMUL16_RM = Def "imul {0}, {m}" [T2, U2] of66(0xaf).reg(0).mem(2);
    IMUL16_RRI = Def "imul {0}, {1}, {i}" [D2, M2] op16(0x69).reg(0).rm(1).iw().short(0x6b), .twin(1, IMUL16_RMI);
    IMUL16_RMI = Def "imul {0}, {m}, {i}" [D2] op16(0x69).reg(0).mem(2).iw().short(0x6b);
    IMUL32_RR = Def "imul {0}, {2}" [T4, U4, M4] of(0xaf).reg(0).rm(2), .twin(2, IMUL32_RM);
    IMUL32_RM = Def "imul {0}, {m}" [T4, U4] of(0xaf).reg(0).mem(4);
    IMUL32_RRI = Def "imul {0}, {1}, {i}" [D4, M4] op(0x69).reg(0).rm(1).id().short(0x6b), .twin(1, IMUL32_RMI);
    IMUL32_RMI = Def "imul {0}, {m}, {i}" [D4] op(0x69).reg(0).mem(4).id().short(0x6b);
    IMUL64_RR = Def "imul {0}, {2}" [T8, U8, M8] of64(0xaf).reg(0).rm(2), .twin(2, IMUL64_RM);
    IMUL64_RM = Def "imul {0}, {m}" [T8, U8] of64(0xaf).reg(0).mem(8);
    IMUL64_RRI = Def "imul {0}, {1}, {i}" [D8, M8] op64(0x69).reg(0).rm(1).id().short(0x6b), .twin(1, IMUL64_RMI);
    IMUL64_RMI = Def "imul {0}, {m}, {i}" [D8] op64(0x69).reg(0).mem(8).id().short(0x6b);
    // Both halves: low in rax, high in rdx; 8 bits: all in ax.
    MUL8_WIDE = Def "mul {2}" [D2.fixed(RAX), U1.fixed(RAX), M1] op(0xf6).digit(4).rm(2), .twin(2, MUL8_WIDE_M);
    MUL8_WIDE_M = Def "mul {m}" [D2.fixed(RAX), U1.fixed(RAX)] op(0xf6).digit(4).mem(1);
    MUL16_WIDE = Def "mul {3}" [D2.fixed(RAX), D2.fixed(RDX), U2.fixed(RAX), M2] op16(0xf7).digit(4).rm(3), .twin(3, MUL16_WIDE_M);
    MUL16_WIDE_M = Def "mul {m}" [D2.fixed(RAX), D2.fixed(RDX), U2.fixed(RAX)] op16(0xf7).digit(4).mem(2);
    MUL32_WIDE = Def "mul {3}" [D4.fixed(RAX), D4.fixed(RDX), U4.fixed(RAX), M4] op(0xf7).digit(4).rm(3), .twin(3, MUL32_WIDE_M);
    MUL32_WIDE_M = Def "mul {m}" [D4.fixed(RAX), D4.fixed(RDX), U4.fixed(RAX)] op(0xf7).digit(4).mem(4);
    MUL64_WIDE = Def "mul {3}" [D8.fixed(RAX), D8.fixed(RDX), U8.fixed(RAX), M8] op64(0xf7).digit(4).rm(3), .twin(3, MUL64_WIDE_M);
    MUL64_WIDE_M = Def "mul {m}" [D8.fixed(RAX), D8.fixed(RDX), U8.fixed(RAX)] op64(0xf7).digit(4).mem(8);
    IMUL8_WIDE = Def "imul {2}" [D2.fixed(RAX), U1.fixed(RAX), M1] op(0xf6).digit(5).rm(2), .twin(2, IMUL8_WIDE_M);
    IMUL8_WIDE_M = Def "imul {m}" [D2.fixed(RAX), U1.fixed(RAX)] op(0xf6).digit(5).mem(1);
    IMUL16_WIDE = Def "imul {3}" [D2.fixed(RAX), D2.fixed(RDX), U2.fixed(RAX), M2] op16(0xf7).digit(5).rm(3), .twin(3, IMUL16_WIDE_M);
    IMUL16_WIDE_M = Def "imul {m}" [D2.fixed(RAX), D2.fixed(RDX), U2.fixed(RAX)] op16(0xf7).digit(5).mem(2);
    IMUL32_WIDE = Def "imul {3}" [D4.fixed(RAX), D4.fixed(RDX), U4.fixed(RAX), M4] op(0xf7).digit(5).rm(3), .twin(3, IMUL32_WIDE_M);
    IMUL32_WIDE_M = Def "imul {m}" [D4.fixed(RAX), D4.fixed(RDX), U4.fixed(RAX)] op(0xf7).digit(5).mem(4);
    IMUL64_WIDE = Def "imul {3}" [D8.fixed(RAX), D8.fixed(RDX), U8.fixed(RAX), M8] op64(0xf7).digit(5).rm(3), .twin(3, IMUL64_WIDE_M);
    IMUL64_WIDE_M = Def "imul {m}" [D8.fixed(RAX), D8.fixed(RDX), U8.fixed(RAX)] op64(0xf7).digit(5).mem(8);
    // BMI2: high half, low half; no flags.
    MULX32_RR = None "mulx {0}, {1}, {3}" [D4, D4, U4.fixed(RDX), M4] vex38(0xf2, 0xf6).reg(0).v(1).rm(3), .twin(3, MULX32_RM);
    MULX32_RM = None "mulx {0}, {1}, {m}" [D4, D4, U4.fixed(RDX)] vex38(0xf2, 0xf6).reg(0).v(1).mem(4);
    MULX64_RR = None "mulx {0}, {1}, {3}" [D8, D8, U8.fixed(RDX), M8] vex38(0xf2, 0xf6).w().reg(0).v(1).rm(3), .twin(3, MULX64_RM);
    MULX64_RM = None "mulx {0}, {1}, {m}" [D8, D8, U8.fixed(RDX)] vex38(0xf2, 0xf6).w().reg(0).v(1).mem(8);
    // Quotient in rax, remainder in rdx, dividend in rdx:rax; 8 bits: al, ah, ax.
    DIV8_R = Clobber "div {2}" [D2.fixed(RAX), U2.fixed(RAX), M1] op(0xf6).digit(6).rm(2), .twin(2, DIV8_M);
    DIV8_M = Clobber "div {m}" [D2.fixed(RAX), U2.fixed(RAX)] op(0xf6).digit(6).mem(1);
    DIV16_R = Clobber "div {4}" [D2.fixed(RAX), D2.fixed(RDX), U2.fixed(RAX), U2.fixed(RDX), M2] op16(0xf7).digit(6).rm(4), .twin(4, DIV16_M);
    DIV16_M = Clobber "div {m}" [D2.fixed(RAX), D2.fixed(RDX), U2.fixed(RAX), U2.fixed(RDX)] op16(0xf7).digit(6).mem(2);
    DIV32_R = Clobber "div {4}" [D4.fixed(RAX), D4.fixed(RDX), U4.fixed(RAX), U4.fixed(RDX), M4] op(0xf7).digit(6).rm(4), .twin(4, DIV32_M);
    DIV32_M = Clobber "div {m}" [D4.fixed(RAX), D4.fixed(RDX), U4.fixed(RAX), U4.fixed(RDX)] op(0xf7).digit(6).mem(4);
    DIV64_R = Clobber "div {4}" [D8.fixed(RAX), D8.fixed(RDX), U8.fixed(RAX), U8.fixed(RDX), M8] op64(0xf7).digit(6).rm(4), .twin(4, DIV64_M);
    DIV64_M = Clobber "div {m}" [D8.fixed(RAX), D8.fixed(RDX), U8.fixed(RAX), U8.fixed(RDX)] op64(0xf7).digit(6).mem(8);
    IDIV8_R = Clobber "idiv {2}" [D2.fixed(RAX), U2.fixed(RAX), M1] op(0xf6).digit(7).rm(2), .twin(2, IDIV8_M);
    IDIV8_M = Clobber "idiv {m}" [D2.fixed(RAX), U2.fixed(RAX)] op(0xf6).digit(7).mem(1);
    IDIV16_R = Clobber "idiv {4}" [D2.fixed(RAX), D2.fixed(RDX), U2.fixed(RAX), U2.fixed(RDX), M2] op16(0xf7).digit(7).rm(4), .twin(4, IDIV16_M);
    IDIV16_M = Clobber "idiv {m}" [D2.fixed(RAX), D2.fixed(RDX), U2.fixed(RAX), U2.fixed(RDX)] op16(0xf7).digit(7).mem(2);
    IDIV32_R = Clobber "idiv {4}" [D4.fixed(RAX), D4.fixed(RDX), U4.fixed(RAX), U4.fixed(RDX), M4] op(0xf7).digit(7).rm(4), .twin(4, IDIV32_M);
    IDIV32_M = Clobber "idiv {m}" [D4.fixed(RAX), D4.fixed(RDX), U4.fixed(RAX), U4.fixed(RDX)] op(0xf7).digit(7).mem(4);
    IDIV64_R = Clobber "idiv {4}" [D8.fixed(RAX), D8.fixed(RDX), U8.fixed(RAX), U8.fixed(RDX), M8] op64(0xf7).digit(7).rm(4), .twin(4, IDIV64_M);
    IDIV64_M = Clobber "idiv {m}" [D8.fixed(RAX), D8.fixed(RDX), U8.fixed(RAX), U8.fixed(RDX)] op64(0xf7).digit(7).mem(8);
    // Sign of rax into rdx; of al into ah.
    CBW = None "cbw" [D2.fixed(RAX), U1.fixed(RAX)] op16(0x98);
    CWD = None "cwd" [D2.fixed(RDX), U2.fixed(RAX)] op16(0x99);
    CDQ = None "cdq" [D4.fixed(RDX), U4.fixed(RAX)] op(0x99);
    CQO = None "cqo" [D8.fixed(RDX), U8.fixed(RAX)] op64(0x99);
}
