//! Shifts and rotations. A count of 0 in `cl` leaves the flags unchanged, so the flags count as clobbered.

use super::line::BMI2;
use crate::encoding::{of, op, vex3a, vex38};
use crate::regs::RCX;
use kingpost_mach::Family;
use kingpost_mach::operands::U1;
use kingpost_mach::rows;

/// Rows of a shift or rotation, by the place of the count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shift {
    /// In `cl`.
    pub rc: Family,
    /// An immediate.
    pub ri: Family,
}

/// Shifts by their number in the opcode, with their effect on the flags if the count is an immediate.
macro_rules! shifts {
    ({ $($op:ident = $flags:ident $asm:literal /$n:literal $rc:ident $mc:ident $ri:ident $mi:ident;)* } $($rest:tt)*) => {
        impl Shift {$(
            #[doc = concat!("`", $asm, "`.")]
            pub const $op: Shift = Shift { rc: $rc, ri: $ri };
        )*}

        rows! {
            crate::rows::muldiv::END;

            $(
                $rc[8 16 32 64] = Clobber ($asm " {0}, cl") [T, U, U1.fixed(RCX)] op(0xd3).digit($n).rm(0).size(W);
                $mc[8 16 32 64] = Clobber ($asm " {m}, cl") [U1.fixed(RCX)] op(0xd3).digit($n).mem(W).size(W), .updates();
                $ri[8 16 32 64] = $flags ($asm " {0}, {i}") [T, M] op(0xc1).digit($n).rm(0).ib().one(0xd1).size(W), .twin(1, $mi);
                $mi[8 16 32 64] = $flags ($asm " {m}, {i}") [] op(0xc1).digit($n).mem(W).ib().one(0xd1).size(W), .updates();
            )*

            $($rest)*
        }
    };
}

shifts! {
    {
        ROL = Clobber "rol" /0 ROL_RC ROL_MC ROL_RI ROL_MI;
        ROR = Clobber "ror" /1 ROR_RC ROR_MC ROR_RI ROR_MI;
        SHL = Def "shl" /4 SHL_RC SHL_MC SHL_RI SHL_MI;
        SHR = Def "shr" /5 SHR_RC SHR_MC SHR_RI SHR_MI;
        SAR = Def "sar" /7 SAR_RC SAR_MC SAR_RI SAR_MI;
    }

    // Double-width shifts: operand 2 supplies the bits that are shifted in.
    SHLD_RRI[32 64] = Def "shld {0}, {2}, {i}" [T, U, U] of(0xa4).reg(2).rm(0).ib().size(W);
    SHLD_RRC[32 64] = Clobber "shld {0}, {2}, cl" [T, U, U, U1.fixed(RCX)] of(0xa5).reg(2).rm(0).size(W);
    SHRD_RRI[32 64] = Def "shrd {0}, {2}, {i}" [T, U, U] of(0xac).reg(2).rm(0).ib().size(W);
    SHRD_RRC[32 64] = Clobber "shrd {0}, {2}, cl" [T, U, U, U1.fixed(RCX)] of(0xad).reg(2).rm(0).size(W);
    // BMI2: three operands, no flags.
    SHLX_RR[32 64] = None "shlx {0}, {1}, {2}" [D, M, U] vex38(0x66, 0xf7).reg(0).rm(1).v(2).size(W), .twin(1, SHLX_RM), .needs(BMI2);
    SHLX_RM[32 64] = None "shlx {0}, {m}, {1}" [D, U] vex38(0x66, 0xf7).reg(0).mem(W).v(1).size(W), .needs(BMI2);
    SHRX_RR[32 64] = None "shrx {0}, {1}, {2}" [D, M, U] vex38(0xf2, 0xf7).reg(0).rm(1).v(2).size(W), .twin(1, SHRX_RM), .needs(BMI2);
    SHRX_RM[32 64] = None "shrx {0}, {m}, {1}" [D, U] vex38(0xf2, 0xf7).reg(0).mem(W).v(1).size(W), .needs(BMI2);
    SARX_RR[32 64] = None "sarx {0}, {1}, {2}" [D, M, U] vex38(0xf3, 0xf7).reg(0).rm(1).v(2).size(W), .twin(1, SARX_RM), .needs(BMI2);
    SARX_RM[32 64] = None "sarx {0}, {m}, {1}" [D, U] vex38(0xf3, 0xf7).reg(0).mem(W).v(1).size(W), .needs(BMI2);
    RORX_RRI[32 64] = None "rorx {0}, {1}, {i}" [D, M] vex3a(0xf2, 0xf0).reg(0).rm(1).ib().size(W), .twin(1, RORX_RMI), .needs(BMI2);
    RORX_RMI[32 64] = None "rorx {0}, {m}, {i}" [D] vex3a(0xf2, 0xf0).reg(0).mem(W).ib().size(W), .needs(BMI2);
}
