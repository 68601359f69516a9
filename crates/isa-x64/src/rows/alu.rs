//! Add, subtract, bitwise operations, compare and test.

use crate::encoding::op;
use kingpost_mach::Family;
use kingpost_mach::rows;

/// Rows of an operation on two integers, by the places of its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alu {
    /// Two registers.
    pub rr: Family,
    /// A register and memory.
    pub rm: Family,
    /// Memory and a register.
    pub mr: Family,
    /// A register and an immediate.
    pub ri: Family,
    /// Memory and an immediate.
    pub mi: Family,
}

/// Operations by their number `n`: their opcodes are `8 * n` and the five after it, and `/n` with an immediate.
macro_rules! alu {
    ({ $($op:ident = $flags:ident $asm:literal /$n:literal $rr:ident $rm:ident $mr:ident $ri:ident $mi:ident $(, .$more:ident())?;)* } $($rest:tt)*) => {
        impl Alu {$(
            #[doc = concat!("`", $asm, "`.")]
            pub const $op: Alu = Alu { rr: $rr, rm: $rm, mr: $mr, ri: $ri, mi: $mi };
        )*}

        rows! {
            0;

            $(
                $rr[8 16 32 64] = $flags ($asm " {0}, {2}") [T, U, M] op(8 * $n + 1).reg(2).rm(0).size(W), .twin(2, $rm) $(, .$more())?;
                $rm[8 16 32 64] = $flags ($asm " {0}, {m}") [T, U] op(8 * $n + 3).reg(0).mem(W).size(W);
                $mr[8 16 32 64] = $flags ($asm " {m}, {0}") [U] op(8 * $n + 1).reg(0).mem(W).size(W), .updates();
                $ri[8 16 32 64] = $flags ($asm " {0}, {i}") [T, M] op(0x81).digit($n).rm(0).iz(W).short(0x83).acc(8 * $n + 5).size(W), .twin(1, $mi);
                $mi[8 16 32 64] = $flags ($asm " {m}, {i}") [] op(0x81).digit($n).mem(W).iz(W).short(0x83).size(W), .updates();
            )*

            $($rest)*
        }
    };
}

alu! {
    {
        ADD = Def "add" /0 ADD_RR ADD_RM ADD_MR ADD_RI ADD_MI, .commutes();
        OR = Def "or" /1 OR_RR OR_RM OR_MR OR_RI OR_MI, .commutes();
        ADC = UseDef "adc" /2 ADC_RR ADC_RM ADC_MR ADC_RI ADC_MI, .commutes();
        SBB = UseDef "sbb" /3 SBB_RR SBB_RM SBB_MR SBB_RI SBB_MI;
        AND = Def "and" /4 AND_RR AND_RM AND_MR AND_RI AND_MI, .commutes();
        SUB = Def "sub" /5 SUB_RR SUB_RM SUB_MR SUB_RI SUB_MI;
        XOR = Def "xor" /6 XOR_RR XOR_RM XOR_MR XOR_RI XOR_MI, .commutes();
    }

    // Compare and test: operations without a result.
    CMP_RR[8 16 32 64] = Def "cmp {0}, {1}" [U, M] op(0x39).reg(1).rm(0).size(W), .twin(1, CMP_RM);
    CMP_RM[8 16 32 64] = Def "cmp {0}, {m}" [U] op(0x3b).reg(0).mem(W).size(W);
    CMP_MR[8 16 32 64] = Def "cmp {m}, {0}" [U] op(0x39).reg(0).mem(W).size(W);
    CMP_RI[8 16 32 64] = Def "cmp {0}, {i}" [M] op(0x81).digit(7).rm(0).iz(W).short(0x83).acc(0x3d).size(W), .twin(0, CMP_MI);
    CMP_MI[8 16 32 64] = Def "cmp {m}, {i}" [] op(0x81).digit(7).mem(W).iz(W).short(0x83).size(W);
    TEST_RR[8 16 32 64] = Def "test {0}, {1}" [M, U] op(0x85).reg(1).rm(0).size(W), .twin(0, TEST_MR), .commutes();
    TEST_MR[8 16 32 64] = Def "test {m}, {0}" [U] op(0x85).reg(0).mem(W).size(W);
    TEST_RI[8 16 32 64] = Def "test {0}, {i}" [M] op(0xf7).digit(0).rm(0).iz(W).acc(0xa9).size(W), .twin(0, TEST_MI);
    TEST_MI[8 16 32 64] = Def "test {m}, {i}" [] op(0xf7).digit(0).mem(W).iz(W).size(W);
    // Negation and complement.
    NEG_R[8 16 32 64] = Def "neg {0}" [T, M] op(0xf7).digit(3).rm(0).size(W), .twin(1, NEG_M);
    NEG_M[8 16 32 64] = Def "neg {m}" [] op(0xf7).digit(3).mem(W).size(W), .updates();
    NOT_R[8 16 32 64] = None "not {0}" [T, M] op(0xf7).digit(2).rm(0).size(W), .twin(1, NOT_M);
    NOT_M[8 16 32 64] = None "not {m}" [] op(0xf7).digit(2).mem(W).size(W), .updates();
}

impl Alu {
    /// `cmp`, which has no result.
    pub const CMP: Alu = Alu { rr: CMP_RR, rm: CMP_RM, mr: CMP_MR, ri: CMP_RI, mi: CMP_MI };
}
