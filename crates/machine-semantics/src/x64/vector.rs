//! Operations on vector registers.

/// An operation on vector registers. Scalar floats are in the lowest lane.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Vector {
    /// `movaps`, `movups` and their relatives: 128 bits. Aligned ones fault if memory is not a multiple of 16.
    Move {
        /// Whether memory has to be aligned.
        aligned: bool,
    },
    /// `movss` and `movsd`, by the size. A load clears the bits above; between registers, the other bits are taken from
    /// operand 1.
    MoveScalar,
    /// `movd` and `movq` to a vector register, by the size. Clears the bits above.
    FromGeneral,
    /// `movd` and `movq` to a general register, by the size.
    ToGeneral,
    /// `movq` between vector registers, or to and from memory. Clears the bits above in a register.
    MoveQuad,
    /// An operation on all bits.
    Bitwise(Bitwise),
    /// An operation on two floats.
    Float {
        /// The operation.
        op: FloatBinary,
        /// The lanes.
        lanes: Floats,
    },
    /// `sqrtss` and its relatives.
    Sqrt(Floats),
    /// `roundss` and its relatives. Operand 3 is the mode.
    Round(Floats),
    /// `cmpss` and its relatives: all ones or zero. The last operand is the predicate.
    CompareFloats(Floats),
    /// A product and a sum, rounded once.
    Fma {
        /// The number in the mnemonic: 132, 213 or 231. The first two digits are the factors, the last one is the addend.
        order: u8,
        /// Whether the product is negated.
        negates_product: bool,
        /// Whether the addend is negated.
        negates_addend: bool,
        /// The lanes.
        lanes: Floats,
    },
    /// `ucomiss` and its relatives: a comparison into the flags. The field is the width of the floats in bits.
    Ucomi(u8),
    /// `cvtsi2ss` and `cvtsi2sd`, from an integer of the size. The field is the width of the float in bits.
    FromInteger(u8),
    /// `cvttss2si` and `cvttsd2si`, to an integer of the size. The field is the width of the float in bits.
    ToInteger(u8),
    /// `cvtss2sd` and `cvtsd2ss`. The field is the width of the source in bits.
    Convert(u8),
}

/// Lanes that a floating-point operation computes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Floats {
    /// Width of a lane in bits.
    pub width: u8,
    /// Whether all lanes are computed, or the lowest one.
    pub packed: bool,
}

/// Operations on all bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Bitwise {
    /// `andps`.
    And,
    /// `andnps`: the complement of the first operand and the second.
    AndNot,
    /// `orps`.
    Or,
    /// `xorps`.
    Xor,
}

/// Operations on two floats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FloatBinary {
    /// `addss` and its relatives.
    Add,
    /// `mulss` and its relatives.
    Mul,
    /// `subss` and its relatives.
    Sub,
    /// `minss` and its relatives.
    Min,
    /// `divss` and its relatives.
    Div,
    /// `maxss` and its relatives.
    Max,
}

impl Vector {
    /// Returns the CPU feature beyond SSE2 that the operation needs, with or without VEX prefix.
    pub(super) fn feature(self) -> Option<&'static str> {
        match self {
            Vector::Fma { .. } => Some("fma"),
            Vector::Round(_) => Some("sse4.1"),
            _ => None,
        }
    }
}
