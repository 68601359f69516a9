//! Operands of rows by letter and width in bytes, for the tables of rows: `U` a use, `D` a def, `T` a def tied to
//! operand 1, `M` a use in a register or memory. A preceding `F` means a float register.
//!
//! Lines of families use letters without a width. The module of a width defines them for that width.

use crate::row::{OperandSpec, RowConstraint};
use kingpost_regalloc::RegClass;

macro_rules! letters {
    ($class:ident: $($width:literal $use_:ident $mem:ident $def:ident $tied:ident;)+) => {$(
        #[doc = concat!("A use of ", $width, " bytes.")]
        pub const $use_: OperandSpec = OperandSpec::uses(RegClass::$class, $width);
        #[doc = concat!("A use of ", $width, " bytes in a register or memory.")]
        pub const $mem: OperandSpec = $use_.at(RowConstraint::MemOk);
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

macro_rules! scopes {
    ($($(#[$doc:meta])* $scope:ident $infix:literal $bytes:literal $int:literal;)+) => {$(
        $(#[$doc])*
        pub mod $scope {
            use crate::row::{OperandSpec, RowConstraint};
            use kingpost_regalloc::RegClass::{Float, Int};

            /// Width in names and texts of rows.
            pub const INFIX: &str = $infix;
            /// Width in bytes.
            pub const W: u8 = $bytes;
            /// Binary logarithm of the bytes.
            pub const LOG: u8 = W.trailing_zeros() as u8;
            /// Index of the width in a list that begins with 8 bits.
            pub const LANE: usize = LOG as usize;
            /// Width in bits.
            pub const BITS: u32 = 8 * W as u32;
            /// A use.
            pub const U: OperandSpec = OperandSpec::uses(Int, $int);
            /// A use in a register or memory.
            pub const M: OperandSpec = U.at(RowConstraint::MemOk);
            /// A def.
            pub const D: OperandSpec = OperandSpec::defs(Int, $int);
            /// A def in the location of operand 1.
            pub const T: OperandSpec = D.reuse(1);
            /// A use of a float.
            pub const FU: OperandSpec = OperandSpec::uses(Float, W);
            /// A use of a float in a register or memory.
            pub const FM: OperandSpec = FU.at(RowConstraint::MemOk);
            /// A def of a float.
            pub const FD: OperandSpec = OperandSpec::defs(Float, W);
            /// A def of a float in the location of operand 1.
            pub const FT: OperandSpec = FD.reuse(1);
        }
    )+};
}

scopes! {
    /// 8 bits.
    w8 "8" 1 1;
    /// 16 bits.
    w16 "16" 2 2;
    /// 32 bits.
    w32 "32" 4 4;
    /// 64 bits.
    w64 "64" 8 8;
    /// 128 bits, of float registers.
    w128 "128" 16 8;
    /// 8 bits, in integer registers of at least 32.
    w8r32 "8" 1 4;
    /// 16 bits, in integer registers of at least 32.
    w16r32 "16" 2 4;
    /// Single precision, named `s`.
    ss "s" 4 4;
    /// Double precision, named `d`.
    sd "d" 8 8;
    /// 8 bits, named `b`.
    b "b" 1 4;
    /// 16 bits, named `w`.
    w "w" 2 4;
    /// From 8 to 16 bits, with the widths of the narrower lanes.
    bw "bw" 1 4;
    /// From 16 to 32 bits, with the widths of the narrower lanes.
    wd "wd" 2 4;
    /// From 32 to 64 bits, with the widths of the narrower lanes.
    dq "dq" 4 4;
    /// From 64 to 128 bits, with the widths of the narrower lanes.
    qdq "qdq" 8 8;
    /// 32 bits, named `d`.
    d "d" 4 4;
    /// 64 bits, named `q`.
    q "q" 8 8;
    /// Vectors of 8 bytes, named `8b`.
    v8b "8b" 8 8;
    /// Vectors of 16 bytes, named `16b`.
    v16b "16b" 16 8;
}
