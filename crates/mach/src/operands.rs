//! Operands of rows by letter and width in bytes, as tables are written in: `U` a use, `D` a def, `T` a def tied to
//! operand 1, `M` a use in a register or memory. With an `F` in front: in a float register.

use crate::row::{OperandSpec, Place};
use kingpost_regalloc::RegClass;

macro_rules! letters {
    ($class:ident: $($width:literal $use_:ident $mem:ident $def:ident $tied:ident;)+) => {$(
        #[doc = concat!("A use of ", $width, " bytes.")]
        pub const $use_: OperandSpec = OperandSpec::uses(RegClass::$class, $width);
        #[doc = concat!("A use of ", $width, " bytes in a register or memory.")]
        pub const $mem: OperandSpec = $use_.at(Place::MemOk);
        #[doc = concat!("A def of ", $width, " bytes.")]
        pub const $def: OperandSpec = OperandSpec::defs(RegClass::$class, $width);
        #[doc = concat!("A def of ", $width, " bytes in the place of operand 1.")]
        pub const $tied: OperandSpec = $def.reuse(1);
    )+};
}

letters! { Int:
    1 U1 M1 D1 T1;
    2 U2 M2 D2 T2;
    4 U4 M4 D4 T4;
    8 U8 M8 D8 T8;
}

letters! { Float:
    1 FU1 FM1 FD1 FT1;
    2 FU2 FM2 FD2 FT2;
    4 FU4 FM4 FD4 FT4;
    8 FU8 FM8 FD8 FT8;
    16 FU16 FM16 FD16 FT16;
}
