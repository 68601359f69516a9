//! Operations on vector registers.

use super::kinds::Shift;

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
    /// `roundss` and its relatives. The immediate is the mode.
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
    /// Conversions of all lanes.
    ConvertLanes(LaneConversion),
    /// An operation on each lane of two vectors.
    Lanes {
        /// The operation.
        op: LaneOp,
        /// Width of a lane of the result in bits.
        width: u8,
    },
    /// `pabsb` and its relatives. The field is the width of a lane in bits.
    Abs(u8),
    /// `psllw` and its relatives: all lanes are shifted by an immediate, or by the low half of a register.
    ShiftLanes {
        /// The kind of shift.
        shift: Shift,
        /// Width of a lane in bits.
        width: u8,
    },
    /// `pslldq` and `psrldq`: a shift by bytes.
    ShiftBytes {
        /// Whether the shift is to the left.
        left: bool,
    },
    /// `punpcklbw` and its relatives: lanes of the low or high halves of two vectors, in turns.
    Unpack {
        /// Width of a lane in bits.
        width: u8,
        /// Whether the lanes are from the high halves.
        high: bool,
    },
    /// `pshufd`: an immediate selects lanes of 32 bits.
    Shuffle32,
    /// `pshuflw` and `pshufhw`: an immediate selects lanes of 16 bits in one half.
    Shuffle16 {
        /// Whether the lanes are in the high half.
        high: bool,
    },
    /// `shufps` and `shufpd`: an immediate selects lanes of both operands. The field is their width in bits.
    ShuffleFloats(u8),
    /// `pshufb`: a vector selects bytes.
    ShuffleBytes,
    /// `palignr`: 16 consecutive bytes of two vectors.
    Align,
    /// `pblendw`: an immediate selects between lanes of 16 bits.
    Blend16,
    /// `packsswb` and its relatives: lanes are narrowed with saturation.
    Pack {
        /// Width of a lane of the operands in bits.
        width: u8,
        /// Whether the results are signed.
        signed: bool,
    },
    /// `pmovsxbw`, `pmovzxbw` and their relatives: lanes of the low half are widened.
    Extend {
        /// Width of a lane of the operand in bits.
        width: u8,
        /// Whether lanes are sign-extended.
        signed: bool,
    },
    /// `vpbroadcastb`, `movddup` and their relatives: the lowest lane in all lanes. The field is its width in bits.
    Broadcast(u8),
    /// `pinsrb` and its relatives: a lane from a general register or memory. The field is its width in bits.
    Insert(u8),
    /// `pextrb` and its relatives: a lane to a general register or memory. The field is its width in bits.
    Extract(u8),
    /// `insertps`.
    InsertFloat,
    /// `pmovmskb`, `movmskps` and `movmskpd`: the top bits of all lanes. The field is their width in bits.
    Mask(u8),
    /// `ptest`.
    Test,
    /// `movlhps` and `movhps`: the low half of the last operand as the high half.
    MoveToHigh,
    /// `movhlps`: the high half of the last operand as the low half.
    MoveHighToLow,
    /// `movlps` from memory to the low half.
    MoveToLow,
    /// `movhps` to memory.
    StoreHigh,
    /// `movlps` to memory.
    StoreLow,
}

/// Operations on lanes of two vectors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LaneOp {
    /// `paddb` and its relatives.
    Add,
    /// `psubb` and its relatives.
    Sub,
    /// `paddsb` and its relatives.
    AddSigned,
    /// `paddusb` and its relatives.
    AddUnsigned,
    /// `psubsb` and its relatives.
    SubSigned,
    /// `psubusb` and its relatives.
    SubUnsigned,
    /// `pavgb` and its relatives.
    Average,
    /// `pminsb` and its relatives.
    MinSigned,
    /// `pmaxsb` and its relatives.
    MaxSigned,
    /// `pminub` and its relatives.
    MinUnsigned,
    /// `pmaxub` and its relatives.
    MaxUnsigned,
    /// `pmullw` and `pmulld`.
    MulLow,
    /// `pmulhw`.
    MulHighSigned,
    /// `pmulhuw`.
    MulHighUnsigned,
    /// `pmulhrsw`.
    MulRounded,
    /// `pmuldq`.
    MulWideSigned,
    /// `pmuludq`.
    MulWideUnsigned,
    /// `pmaddwd`.
    MulAdd,
    /// `pmaddubsw`.
    MulAddBytes,
    /// `psadbw`.
    SumDifferences,
    /// `pcmpeqb` and its relatives.
    Equal,
    /// `pcmpgtb` and its relatives.
    Greater,
}

/// Conversions of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LaneConversion {
    /// `cvtdq2ps`.
    IntegersToSingles,
    /// `cvtdq2pd`.
    IntegersToDoubles,
    /// `cvttps2dq`.
    SinglesToIntegers,
    /// `cvttpd2dq`.
    DoublesToIntegers,
    /// `cvtps2pd`.
    SinglesToDoubles,
    /// `cvtpd2ps`.
    DoublesToSingles,
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
    pub(super) fn feature(self, vex: bool) -> Option<&'static str> {
        let (feature, is_before_avx) = match self {
            Vector::Fma { .. } => ("fma", false),
            Vector::Broadcast(8 | 16) => ("avx2", false),
            Vector::Broadcast(64) => ("sse3", true),
            Vector::Abs(_) | Vector::ShuffleBytes | Vector::Align => ("ssse3", true),
            Vector::Lanes { op: LaneOp::MulRounded | LaneOp::MulAddBytes, .. } => ("ssse3", true),
            Vector::Lanes { op: LaneOp::Greater, width: 64 } => ("sse4.2", true),
            Vector::Round(_)
            | Vector::Blend16
            | Vector::Extend { .. }
            | Vector::InsertFloat
            | Vector::Test
            | Vector::Insert(8 | 32 | 64)
            | Vector::Extract(8 | 32 | 64)
            | Vector::Pack { width: 32, signed: false } => ("sse4.1", true),
            Vector::Lanes { op, width } if op.is_new(width) => ("sse4.1", true),
            _ => ("avx", false),
        };
        match (vex, is_before_avx) {
            (true, true) => Some("avx"),
            (false, false) if feature == "avx" => None,
            _ => Some(feature),
        }
    }
}

impl LaneOp {
    /// Returns `true` if SSE4.1 added the operation for a width.
    fn is_new(self, width: u8) -> bool {
        match self {
            LaneOp::MinSigned | LaneOp::MaxSigned => width != 16,
            LaneOp::MinUnsigned | LaneOp::MaxUnsigned => width != 8,
            LaneOp::MulLow => width == 32,
            LaneOp::Equal => width == 64,
            LaneOp::MulWideSigned => true,
            _ => false,
        }
    }
}
