//! Multiplication and division.

use super::line::BMI2;
use crate::encoding::{of, op, op16, op64, vex38};
use crate::regs::{RAX, RDX};
use kingpost_mach::operands::{D2, D4, D8, M1, U1, U2, U4, U8};
use kingpost_mach::rows;

rows! {
    crate::rows::mov::END;

    // The low half of a product.
    IMUL_RR[16 32 64] = Def "imul {0}, {2}" [T, U, M] of(0xaf).reg(0).rm(2).size(W), .twin(2, IMUL_RM), .commutes();
    IMUL_RM[16 32 64] = Def "imul {0}, {m}" [T, U] of(0xaf).reg(0).mem(W).size(W);
    IMUL_RRI[16 32 64] = Def "imul {0}, {1}, {i}" [D, M] op(0x69).reg(0).rm(1).iz(W).short(0x6b).size(W), .twin(1, IMUL_RMI);
    IMUL_RMI[16 32 64] = Def "imul {0}, {m}, {i}" [D] op(0x69).reg(0).mem(W).iz(W).short(0x6b).size(W);
    // Both halves: low in rax, high in rdx; for 8 bits all in ax.
    MULWIDE8_R = Def "mul {2}" [D2.fixed(RAX), U1.fixed(RAX), M1] op(0xf6).digit(4).rm(2), .twin(2, MULWIDE8_M);
    MULWIDE8_M = Def "mul {m}" [D2.fixed(RAX), U1.fixed(RAX)] op(0xf6).digit(4).mem(1);
    MULWIDE_R[16 32 64] = Def "mul {3}" [D.fixed(RAX), D.fixed(RDX), U.fixed(RAX), M] op(0xf7).digit(4).rm(3).size(W), .twin(3, MULWIDE_M);
    MULWIDE_M[16 32 64] = Def "mul {m}" [D.fixed(RAX), D.fixed(RDX), U.fixed(RAX)] op(0xf7).digit(4).mem(W).size(W);
    IMULWIDE8_R = Def "imul {2}" [D2.fixed(RAX), U1.fixed(RAX), M1] op(0xf6).digit(5).rm(2), .twin(2, IMULWIDE8_M);
    IMULWIDE8_M = Def "imul {m}" [D2.fixed(RAX), U1.fixed(RAX)] op(0xf6).digit(5).mem(1);
    IMULWIDE_R[16 32 64] = Def "imul {3}" [D.fixed(RAX), D.fixed(RDX), U.fixed(RAX), M] op(0xf7).digit(5).rm(3).size(W), .twin(3, IMULWIDE_M);
    IMULWIDE_M[16 32 64] = Def "imul {m}" [D.fixed(RAX), D.fixed(RDX), U.fixed(RAX)] op(0xf7).digit(5).mem(W).size(W);
    // BMI2: high half, low half; no flags.
    MULX_RR[32 64] = None "mulx {0}, {1}, {3}" [D, D, U.fixed(RDX), M] vex38(0xf2, 0xf6).reg(0).v(1).rm(3).size(W), .twin(3, MULX_RM), .needs(BMI2);
    MULX_RM[32 64] = None "mulx {0}, {1}, {m}" [D, D, U.fixed(RDX)] vex38(0xf2, 0xf6).reg(0).v(1).mem(W).size(W), .needs(BMI2);
    // Quotient in rax, remainder in rdx, dividend in rdx:rax; for 8 bits al, ah, ax.
    DIV8_R = Clobber "div {2}" [D2.fixed(RAX), U2.fixed(RAX), M1] op(0xf6).digit(6).rm(2), .twin(2, DIV8_M), .traps();
    DIV8_M = Clobber "div {m}" [D2.fixed(RAX), U2.fixed(RAX)] op(0xf6).digit(6).mem(1), .traps();
    DIV_R[16 32 64] = Clobber "div {4}" [D.fixed(RAX), D.fixed(RDX), U.fixed(RAX), U.fixed(RDX), M] op(0xf7).digit(6).rm(4).size(W), .twin(4, DIV_M), .traps();
    DIV_M[16 32 64] = Clobber "div {m}" [D.fixed(RAX), D.fixed(RDX), U.fixed(RAX), U.fixed(RDX)] op(0xf7).digit(6).mem(W).size(W), .traps();
    IDIV8_R = Clobber "idiv {2}" [D2.fixed(RAX), U2.fixed(RAX), M1] op(0xf6).digit(7).rm(2), .twin(2, IDIV8_M), .traps();
    IDIV8_M = Clobber "idiv {m}" [D2.fixed(RAX), U2.fixed(RAX)] op(0xf6).digit(7).mem(1), .traps();
    IDIV_R[16 32 64] = Clobber "idiv {4}" [D.fixed(RAX), D.fixed(RDX), U.fixed(RAX), U.fixed(RDX), M] op(0xf7).digit(7).rm(4).size(W), .twin(4, IDIV_M), .traps();
    IDIV_M[16 32 64] = Clobber "idiv {m}" [D.fixed(RAX), D.fixed(RDX), U.fixed(RAX), U.fixed(RDX)] op(0xf7).digit(7).mem(W).size(W), .traps();
    // Sign of rax into rdx; of al into ah.
    CBW = None "cbw" [D2.fixed(RAX), U1.fixed(RAX)] op16(0x98);
    CWD = None "cwd" [D2.fixed(RDX), U2.fixed(RAX)] op16(0x99);
    CDQ = None "cdq" [D4.fixed(RDX), U4.fixed(RAX)] op(0x99);
    CQO = None "cqo" [D8.fixed(RDX), U8.fixed(RAX)] op64(0x99);
}
