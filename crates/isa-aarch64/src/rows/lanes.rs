//! Operations on the lanes of vectors.
//!
//! A line is `NAME = lanes "mnemonic" form(word).more();`. It makes a row for each arrangement of `lanes`, named
//! after mnemonic, arrangement and form: `add8b_vvv`. The constant `NAME` is their family, with the set of
//! arrangements that have a row. Letters of `lanes` are lane widths, each in 8 and in 16 bytes, `D` in 16 only;
//! `HALF` and `FULL` are such lanes in 8 or 16 bytes only. In the letters of a form `V` is a vector in these lanes,
//! `L` a vector of twice as wide lanes in 16 bytes, `P` a vector of twice as wide lanes in as many bytes, `E` one
//! lane, `R` an integer register, `Z` zero, `I` an immediate, `M` memory, `S` a lane as a scalar; `T` is an operand
//! that is changed, in place of operand 1. Lanes of 16 bits that are floats need half-precision arithmetic.

use super::line::{DOTPROD, FP16, I8MM, Line};
use crate::encoding::{ARRANGEMENTS, Arrangement, Encoding, ImmField, MemField, op, rr, rrr, tied, tied2};
use crate::regs::v;
use kingpost_mach::operands::{D4, D8, FD4, FD8, FD16, FT8, FT16, FU8, FU16, U4, U8};
use kingpost_mach::{CpuFeatures, FlagsEffect, OperandSpec, RowId, RowKind, row_table};

/// The rows of one operation, by the arrangement of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lanes {
    /// Row of the first arrangement that has one. The rows of further arrangements follow in order.
    first: RowId,
    /// Set of the arrangements that have a row, one bit each.
    has: u8,
}

impl Lanes {
    const fn new(first: u16, set: &[&str]) -> Lanes {
        let (mut has, mut i) = (0, 0);
        while i < set.len() {
            let bit = 1 << named(set[i]).index();
            assert!(has < bit, "arrangements stand in order");
            has |= bit;
            i += 1;
        }
        Lanes { first: RowId(first), has }
    }

    /// Returns the row for these lanes, if there is one.
    pub const fn find(self, lanes: Arrangement) -> Option<RowId> {
        let bit = 1 << lanes.index();
        let before = (self.has & (bit - 1)).count_ones() as u16;
        if self.has & bit == 0 { None } else { Some(RowId(self.first.0 + before)) }
    }

    /// Returns the row for these lanes.
    ///
    /// # Panics
    /// If there is none.
    pub const fn of(self, lanes: Arrangement) -> RowId {
        self.find(lanes).expect("the operation has a row for these lanes")
    }
}

const B: &[&str] = &["8b", "16b"];
const S: &[&str] = &["2s", "4s"];
const BH: &[&str] = &["8b", "16b", "4h", "8h"];
const HS: &[&str] = &["4h", "8h", "2s", "4s"];
const BHS: &[&str] = &["8b", "16b", "4h", "8h", "2s", "4s"];
const BHSD: &[&str] = &["8b", "16b", "4h", "8h", "2s", "4s", "2d"];
const HSD: &[&str] = &["4h", "8h", "2s", "4s", "2d"];
const ACROSS: &[&str] = &["8b", "16b", "4h", "8h", "4s"];
const HALF_BHS: &[&str] = &["8b", "4h", "2s"];
const HALF_HS: &[&str] = &["4h", "2s"];
const FULL_B: &[&str] = &["16b"];
const FULL_BH: &[&str] = &["16b", "8h"];
const FULL_BHS: &[&str] = &["16b", "8h", "4s"];
const FULL_BHSD: &[&str] = &["16b", "8h", "4s", "2d"];
const FULL_HS: &[&str] = &["8h", "4s"];
const FULL_H: &[&str] = &["8h"];
const FULL_S: &[&str] = &["4s"];
const FULL_D: &[&str] = &["2d"];

/// Returns the arrangement of this name.
const fn named(name: &str) -> Arrangement {
    let mut i = 0;
    while i < ARRANGEMENTS {
        let known = Arrangement::at(i).name().as_bytes();
        let name = name.as_bytes();
        // The letter and the first digit distinguish arrangements.
        if known[0] == name[0] && known[known.len() - 1] == name[name.len() - 1] {
            return Arrangement::at(i);
        }
        i += 1;
    }
    panic!("no arrangement has this name")
}

/// Encoding of the lanes in the word, besides bit 30 (`Q`) for 16 bytes.
#[derive(Clone, Copy)]
enum Width {
    /// No encoding: the word is fixed.
    None,
    /// The binary logarithm of the lane's bytes at this position.
    At(u8),
    /// Floats: bit 22 is set for 64 bits. Half-precision rows of three operands and of two operands have words of
    /// their own.
    Float,
    /// Floats to narrow: bit 22 is set for lanes of 32 bits and clear for lanes of 16 bits.
    NarrowFloat,
    /// The immediate is the amount of a shift to the right.
    Right,
    /// The immediate is the amount of a shift to the left.
    Left,
    /// The lowest set bit of bits 16 to 20. The lane's number, if there is one, is above it.
    Index(bool),
    /// Like `Index`, with the numbers of two lanes.
    Indexes,
}

/// Properties that all rows of a line share.
#[derive(Clone, Copy)]
struct Form {
    /// Text of the instruction, with `*` for the mnemonic.
    text: &'static str,
    /// Operands where lanes have 8 bytes, 16 bytes, and 64 bits each.
    operands: [&'static [OperandSpec]; 3],
    encoding: Encoding,
    width: Width,
    /// Whether bit 30 encodes 16 bytes of lanes. If not, the word has it.
    says_full: bool,
    kind: RowKind,
    needs: CpuFeatures,
}

impl Form {
    /// Returns the form of an instruction with the width of its lanes in bits 22 and 23.
    const fn new(text: &'static str, operands: [&'static [OperandSpec]; 2], encoding: Encoding) -> Form {
        let operands = [operands[0], operands[1], operands[1]];
        let (kind, needs) = (RowKind::Plain, CpuFeatures::NONE);
        Form { text, operands, encoding, width: Width::At(22), says_full: true, kind, needs }
    }

    const fn width(self, width: Width) -> Form {
        Form { width, ..self }
    }

    /// Sets the encoding of lanes to floats.
    const fn float(self) -> Form {
        self.width(Width::Float)
    }

    /// Sets one word for all lanes.
    const fn same(self) -> Form {
        self.width(Width::None)
    }

    const fn needs(self, needs: CpuFeatures) -> Form {
        Form { needs, ..self }
    }

    const fn imm(self, imm: ImmField) -> Form {
        Form { encoding: self.encoding.imm(imm), ..self }
    }

    /// Sets the operands for lanes of 64 bits.
    const fn wide(self, operands: &'static [OperandSpec]) -> Form {
        Form { operands: [self.operands[0], self.operands[1], operands], ..self }
    }

    /// Leaves bit 30 out of the encoding of lanes.
    const fn scalar(self) -> Form {
        Form { says_full: false, ..self }
    }

    const fn operands(self, lanes: Arrangement) -> &'static [OperandSpec] {
        match (lanes.lane_bits(), lanes.is_full()) {
            (64, _) => self.operands[2],
            (_, full) => self.operands[full as usize],
        }
    }

    /// Returns the encoding for `lanes`.
    const fn encoding(self, lanes: Arrangement) -> Encoding {
        let (log, bits) = (lanes.log(), lanes.lane_bits() as u8);
        let mut e = self.encoding;
        e.lanes = Some(lanes);
        if lanes.is_full() && self.says_full {
            e = e.or(1 << 30);
        }
        match self.width {
            Width::None => e,
            Width::At(at) => {
                let bytes = 1 << log;
                let e = e.or((log as u32) << at);
                if matches!(e.mem, MemField::None) { e } else { e.mem(e.mem, bytes) }
            }
            Width::Float if bits == 16 => half_precision(e),
            Width::Float => e.or(((bits == 64) as u32) << 22),
            Width::NarrowFloat => e.or(((bits == 32) as u32) << 22),
            Width::Right => e.imm(ImmField::VectorRight(bits)),
            Width::Left => e.imm(ImmField::VectorLeft(bits)),
            Width::Index(numbered) => {
                let e = e.or(1 << (16 + log));
                if numbered { e.at(17 + log) } else { e }
            }
            Width::Indexes => e.or(1 << (16 + log)).imm(ImmField::Lanes(log)),
        }
    }
}

/// Returns the half-precision encoding that corresponds to a single-precision one (Arm ARM, C4.1.96, "Advanced SIMD
/// three same (FP16)" and "two-register miscellaneous (FP16)").
const fn half_precision(mut e: Encoding) -> Encoding {
    e.is_half = true;
    e.word = match e.word >> 10 & 3 {
        2 => e.word | 0x0058_0000,
        _ => e.word & !0x0020_c000 | 0x0040_0000,
    };
    e
}

const fn vvv(word: u32) -> Form {
    Form::new("* {0.}, {1.}, {2.}", [&[FD8, FU8, FU8], &[FD16, FU16, FU16]], rrr(word))
}

const fn tvv(word: u32) -> Form {
    Form::new("* {0.}, {2.}, {3.}", [&[FT8, FU8, FU8, FU8], &[FT16, FU16, FU16, FU16]], tied2(word))
}

const fn vv(word: u32) -> Form {
    Form::new("* {0.}, {1.}", [&[FD8, FU8], &[FD16, FU16]], rr(word))
}

const fn vvz(word: u32) -> Form {
    Form { text: "* {0.}, {1.}, #0", ..vv(word) }
}

const fn pv(word: u32) -> Form {
    Form { text: "* {0p}, {1.}", ..vv(word) }
}

const fn tpv(word: u32) -> Form {
    Form::new("* {0p}, {2.}", [&[FT8, FU8, FU8], &[FT16, FU16, FU16]], tied(word))
}

/// Returns the form of a shift or a similar operation by an immediate.
const fn vvi(word: u32) -> Form {
    Form { text: "* {0.}, {1.}, {i}", ..vv(word) }
}

const fn vvvi(word: u32) -> Form {
    Form { text: "* {0.}, {1.}, {2.}, {i}", ..vvv(word) }.same().imm(ImmField::At(11))
}

const fn tvi(word: u32) -> Form {
    Form::new("* {0.}, {2.}, {i}", [&[FT8, FU8, FU8], &[FT16, FU16, FU16]], tied(word))
}

/// Returns the form from lanes to twice as wide ones. The source lanes are a vector of 8 bytes, or the upper half of
/// 16 bytes.
const fn lvi(word: u32) -> Form {
    Form::new("*{q} {0l}, {1.}, {i}", [&[FD16, FU8], &[FD16, FU16]], rr(word)).width(Width::Left)
}

const fn lv(word: u32) -> Form {
    Form::new("*{q} {0l}, {1.}", [&[FD16, FU8], &[FD16, FU16]], rr(word))
}

const fn lvv(word: u32) -> Form {
    Form::new("*{q} {0l}, {1.}, {2.}", [&[FD16, FU8, FU8], &[FD16, FU16, FU16]], rrr(word))
}

const fn llv(word: u32) -> Form {
    Form::new("*{q} {0l}, {1l}, {2.}", [&[FD16, FU16, FU8], &[FD16, FU16, FU16]], rrr(word))
}

const fn tlvv(word: u32) -> Form {
    Form::new("*{q} {0l}, {2.}, {3.}", [&[FT16, FU16, FU8, FU8], &[FT16, FU16, FU16, FU16]], tied2(word))
}

/// Returns the form from lanes to half as wide ones, in 8 bytes.
const fn vl(word: u32) -> Form {
    Form::new("* {0.}, {1l}", [&[FD8, FU16], &[]], rr(word))
}

const fn vli(word: u32) -> Form {
    Form { text: "* {0.}, {1l}, {i}", ..vl(word) }.width(Width::Right)
}

/// Returns the form from lanes to half as wide ones, in the upper half of 16 bytes.
const fn tl(word: u32) -> Form {
    Form::new("*2 {0.}, {2l}", [&[], &[FT16, FU16, FU16]], tied(word))
}

const fn tli(word: u32) -> Form {
    Form { text: "*2 {0.}, {2l}, {i}", ..tl(word) }.width(Width::Right)
}

/// Returns the form from all lanes to one scalar.
const fn sv(word: u32) -> Form {
    Form::new("* {0s}, {1.}", [&[FD4, FU8], &[FD4, FU16]], rr(word))
}

const fn ve(word: u32) -> Form {
    Form::new("* {0.}, {1e}", [&[FD8, FU16], &[FD16, FU16]], rr(word)).width(Width::Index(true))
}

const fn se(word: u32) -> Form {
    Form::new("* {0s}, {1e}", [&[FD8, FU16], &[FD8, FU16]], rr(word)).width(Width::Index(true)).scalar()
}

const fn vr(word: u32) -> Form {
    Form::new("* {0.}, {1r}", [&[FD8, U4], &[FD16, U4]], rr(word)).wide(&[FD16, U8]).width(Width::Index(false))
}

const fn te(word: u32) -> Form {
    Form::new("* {0e}, {2E}", [&[], &[FT16, FU16, FU16]], tied(word)).width(Width::Indexes)
}

const fn tr(word: u32) -> Form {
    Form::new("* {0e}, {2r}", [&[], &[FT16, FU16, U4]], tied(word)).wide(&[FT16, FU16, U8]).width(Width::Index(true))
}

const fn re(word: u32) -> Form {
    Form::new("* {0}, {1e}", [&[], &[D4, FU16]], rr(word)).width(Width::Index(true)).scalar()
}

const fn xe(word: u32) -> Form {
    Form { operands: [&[], &[D8, FU16], &[D8, FU16]], ..re(word) }
}

/// Returns the form of a load of one lane into all lanes.
const fn vm(word: u32) -> Form {
    let encoding = op(word).rd(0).mem(MemField::Base, 1);
    Form::new("* {0t}, {m}", [&[FD8], &[FD16]], encoding).width(Width::At(10))
}

/// Returns the form of constants.
const fn va(text: &'static str, word: u32, at: u8) -> Form {
    let form = Form::new(text, [&[], &[FD16]], op(word).rd(0)).same().imm(ImmField::Modified(at));
    Form { kind: RowKind::Remat, ..form }
}

const fn vai(word: u32) -> Form {
    va("* {0.}, {a}", word, 13)
}

const fn vmi(word: u32) -> Form {
    va("* {0.}, {msl}", word, 12)
}

const fn vbi(word: u32) -> Form {
    va("* {0.}, {mask}", word, 12)
}

const fn vfi(word: u32) -> Form {
    va("* {0.}, {f}", word, 12)
}

/// Returns the form of a table lookup, by the numbers in the last operand.
const fn tbl(word: u32) -> Form {
    Form::new("* {0.}, {1T}, {2.}", [&[FD8, FU16, FU8], &[FD16, FU16, FU16]], rrr(word)).same()
}

/// First register of a table of two. The registers are neighbors, and neither is the scratch register of edits.
const TABLE: u8 = 29;

const TABLE_OPERANDS: &[OperandSpec] = &[FD16, FU16.fixed(v(TABLE)), FU16.fixed(v(TABLE + 1)), FU16];

const fn tbl2(word: u32) -> Form {
    Form::new("* {0.}, {1U}, {3.}", [&[], TABLE_OPERANDS], op(word).rd(0).rn(1).rm(3)).same()
}

/// Returns the form of sums of products of four bytes.
const fn tdd(word: u32) -> Form {
    Form { text: "* {0.}, {2d}, {3d}", ..tvv(word) }.same()
}

/// Bytes of a row's name, padded with zeros.
type Name = [u8; 24];

/// Returns the names of a line's rows.
const fn names<const N: usize>(mnemonic: &str, form: &str, set: &[&str]) -> [Name; N] {
    let mut names = [[0; 24]; N];
    let mut i = 0;
    while i < N {
        let parts = [mnemonic, set[i], "_", form];
        let (mut n, mut part) = (0, 0);
        while part < parts.len() {
            let mut k = 0;
            while k < parts[part].len() {
                names[i][n] = parts[part].as_bytes()[k];
                n += 1;
                k += 1;
            }
            part += 1;
        }
        i += 1;
    }
    names
}

const fn text(name: &'static Name) -> &'static str {
    let mut len = 0;
    while name[len] != 0 {
        len += 1;
    }
    row_table::utf8(name.split_at(len).0)
}

/// Returns the rows of a line.
const fn lines<const N: usize>(form: Form, asm: &'static str, names: &'static [Name; N], set: &[&str]) -> [Line; N] {
    let mut lines = [line(form, asm, &names[0], named(set[0])); N];
    let mut i = 1;
    while i < N {
        lines[i] = line(form, asm, &names[i], named(set[i]));
        i += 1;
    }
    lines
}

const fn line(form: Form, asm: &'static str, name: &'static Name, lanes: Arrangement) -> Line {
    let encoding = form.encoding(lanes);
    let needs = if encoding.is_half { form.needs.union(FP16) } else { form.needs };
    super::line::line(text(name), asm, FlagsEffect::None, form.operands(lanes), encoding).kind(form.kind).needs(needs)
}

macro_rules! lane_rows {
    ($base:expr; $($name:ident = $set:ident $mnemonic:literal $form:ident($word:literal) $(.$more:ident($($arg:expr)?))*;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "the variants are the names of rows")]
        enum Index { $($name,)* COUNT }

        const SETS: [&[&str]; Index::COUNT as usize] = [$($set),*];

        $(
            #[doc = concat!("`", $mnemonic, "`, as the form `", stringify!($form), "`.")]
            pub const $name: Lanes = Lanes::new(row_table::start($base, &SETS, Index::$name as usize), $set);
        )*

        /// Number of the first row after the rows of this file.
        pub(super) const END: u16 = row_table::start($base, &SETS, Index::COUNT as usize);

        /// The rows of each of this file's lines.
        pub(super) const LINES: [&[Line]; Index::COUNT as usize] = [$({
            const FORM: Form = $form($word)$(.$more($($arg)?))*;
            const TEXT: [u8; row_table::row_text_len(FORM.text, $mnemonic)] = row_table::row_text(FORM.text, $mnemonic);
            const NAMES: [Name; $set.len()] = names($mnemonic, stringify!($form), $set);
            const ROWS: [Line; $set.len()] = lines(FORM, row_table::utf8(&TEXT), &NAMES, $set);
            &ROWS
        }),*];
    };
}

lane_rows! {
    super::shift::END;

    // Sums, differences, products.
    ADD      = BHSD "add"      vvv(0x0e20_8400);
    SUB      = BHSD "sub"      vvv(0x2e20_8400);
    MUL      = BHS  "mul"      vvv(0x0e20_9c00);
    MLA      = BHS  "mla"      tvv(0x0e20_9400);
    MLS      = BHS  "mls"      tvv(0x2e20_9400);
    NEG      = BHSD "neg"      vv(0x2e20_b800);
    ABS      = BHSD "abs"      vv(0x0e20_b800);
    ADDP     = BHSD "addp"     vvv(0x0e20_bc00);
    SQADD    = BHSD "sqadd"    vvv(0x0e20_0c00);
    UQADD    = BHSD "uqadd"    vvv(0x2e20_0c00);
    SQSUB    = BHSD "sqsub"    vvv(0x0e20_2c00);
    UQSUB    = BHSD "uqsub"    vvv(0x2e20_2c00);
    URHADD   = BHS  "urhadd"   vvv(0x2e20_1400);
    SQRDMULH = HS   "sqrdmulh" vvv(0x2e20_b400);
    SMAX     = BHS  "smax"     vvv(0x0e20_6400);
    UMAX     = BHS  "umax"     vvv(0x2e20_6400);
    SMIN     = BHS  "smin"     vvv(0x0e20_6c00);
    UMIN     = BHS  "umin"     vvv(0x2e20_6c00);
    UMAXP    = BHS  "umaxp"    vvv(0x2e20_a400);
    // Bits.
    CNT      = B    "cnt"      vv(0x0e20_5800);
    REV16    = B    "rev16"    vv(0x0e20_1800);
    REV32    = BH   "rev32"    vv(0x2e20_0800);
    REV64    = BHS  "rev64"    vv(0x0e20_0800);
    // Shifts: each lane by its own amount, to the right if that is negative; all lanes by an immediate. `sli` and
    // `sri` keep the bits of the destination that no bit is shifted to; `usra` and `ssra` add.
    USHL     = BHSD "ushl"     vvv(0x2e20_4400);
    SSHL     = BHSD "sshl"     vvv(0x0e20_4400);
    SHL      = BHSD "shl"      vvi(0x0f00_5400).width(Width::Left);
    USHR     = BHSD "ushr"     vvi(0x2f00_0400).width(Width::Right);
    SSHR     = BHSD "sshr"     vvi(0x0f00_0400).width(Width::Right);
    SLI      = BHSD "sli"      tvi(0x2f00_5400).width(Width::Left);
    SRI      = BHSD "sri"      tvi(0x2f00_4400).width(Width::Right);
    USRA     = BHSD "usra"     tvi(0x2f00_1400).width(Width::Right);
    SSRA     = BHSD "ssra"     tvi(0x0f00_1400).width(Width::Right);
    // Comparisons: ones or zeros.
    CMEQ     = BHSD "cmeq"     vvv(0x2e20_8c00);
    CMGT     = BHSD "cmgt"     vvv(0x0e20_3400);
    CMGE     = BHSD "cmge"     vvv(0x0e20_3c00);
    CMHI     = BHSD "cmhi"     vvv(0x2e20_3400);
    CMHS     = BHSD "cmhs"     vvv(0x2e20_3c00);
    CMTST    = BHSD "cmtst"    vvv(0x0e20_8c00);
    CMEQ_Z   = BHSD "cmeq"     vvz(0x0e20_9800);
    CMGT_Z   = BHSD "cmgt"     vvz(0x0e20_8800);
    CMGE_Z   = BHSD "cmge"     vvz(0x2e20_8800);
    CMLE_Z   = BHSD "cmle"     vvz(0x2e20_9800);
    CMLT_Z   = BHSD "cmlt"     vvz(0x0e20_a800);
    // To lanes of twice the width.
    SSHLL    = BHS  "sshll"    lvi(0x0f00_a400);
    USHLL    = BHS  "ushll"    lvi(0x2f00_a400);
    SMULL    = BHS  "smull"    lvv(0x0e20_c000);
    UMULL    = BHS  "umull"    lvv(0x2e20_c000);
    SMLAL    = BHS  "smlal"    tlvv(0x0e20_8000);
    UMLAL    = BHS  "umlal"    tlvv(0x2e20_8000);
    SMLSL    = BHS  "smlsl"    tlvv(0x0e20_a000);
    UMLSL    = BHS  "umlsl"    tlvv(0x2e20_a000);
    SADDL    = BHS  "saddl"    lvv(0x0e20_0000);
    UADDL    = BHS  "uaddl"    lvv(0x2e20_0000);
    SSUBL    = BHS  "ssubl"    lvv(0x0e20_2000);
    USUBL    = BHS  "usubl"    lvv(0x2e20_2000);
    SADDW    = BHS  "saddw"    llv(0x0e20_1000);
    UADDW    = BHS  "uaddw"    llv(0x2e20_1000);
    SSUBW    = BHS  "ssubw"    llv(0x0e20_3000);
    USUBW    = BHS  "usubw"    llv(0x2e20_3000);
    SADDLP   = BHS  "saddlp"   pv(0x0e20_2800);
    UADDLP   = BHS  "uaddlp"   pv(0x2e20_2800);
    SADALP   = BHS  "sadalp"   tpv(0x0e20_6800);
    UADALP   = BHS  "uadalp"   tpv(0x2e20_6800);
    // To lanes of half the width, in the lower half of the register; then in the upper half.
    XTN      = HALF_BHS "xtn"    vl(0x0e21_2800);
    SQXTN    = HALF_BHS "sqxtn"  vl(0x0e21_4800);
    SQXTUN   = HALF_BHS "sqxtun" vl(0x2e21_2800);
    UQXTN    = HALF_BHS "uqxtn"  vl(0x2e21_4800);
    SHRN     = HALF_BHS "shrn"   vli(0x0f00_8400);
    RSHRN    = HALF_BHS "rshrn"  vli(0x0f00_8c00);
    XTN2     = FULL_BHS "xtn"    tl(0x0e21_2800);
    SQXTN2   = FULL_BHS "sqxtn"  tl(0x0e21_4800);
    SQXTUN2  = FULL_BHS "sqxtun" tl(0x2e21_2800);
    UQXTN2   = FULL_BHS "uqxtn"  tl(0x2e21_4800);
    RSHRN2   = FULL_BHS "rshrn"  tli(0x0f00_8c00);
    // All lanes to one scalar.
    ADDV     = ACROSS   "addv"   sv(0x0e31_b800);
    UMINV    = ACROSS   "uminv"  sv(0x2e31_a800);
    UMAXV    = ACROSS   "umaxv"  sv(0x2e30_a800);
    // Moves of lanes. `MOV` is named by its destination and source.
    ZIP1     = BHSD "zip1"     vvv(0x0e00_3800);
    ZIP2     = BHSD "zip2"     vvv(0x0e00_7800);
    UZP1     = BHSD "uzp1"     vvv(0x0e00_1800);
    UZP2     = BHSD "uzp2"     vvv(0x0e00_5800);
    TRN1     = BHSD "trn1"     vvv(0x0e00_2800);
    TRN2     = BHSD "trn2"     vvv(0x0e00_6800);
    DUP_VE   = BHSD "dup"      ve(0x0e00_0400);
    DUP_VR   = BHSD "dup"      vr(0x0e00_0c00);
    MOV_SE   = FULL_BHSD "mov" se(0x5e00_0400);
    MOV_EE   = FULL_BHSD "mov" te(0x2e00_0400);
    MOV_ER   = FULL_BHSD "mov" tr(0x0e00_1c00);
    UMOV_RE  = FULL_BHS  "umov" re(0x0e00_3c00);
    UMOV_XE  = FULL_D    "umov" xe(0x4e00_3c00);
    SMOV_RE  = FULL_BH   "smov" re(0x0e00_2c00);
    SMOV_XE  = FULL_BHS  "smov" xe(0x4e00_2c00);
    LD1R     = BHSD "ld1r"     vm(0x0d40_c000);
    EXT      = B    "ext"      vvvi(0x2e00_0000);
    TBL      = B    "tbl"      tbl(0x0e00_0000);
    TBL2     = FULL_B "tbl"    tbl2(0x0e00_2000);
    // Constants: 8 bits with zeros or ones around them, bytes of zeros and ones, floats of 8 bits.
    MOVI_B    = FULL_B "movi"  vai(0x0f00_e400);
    MOVI_H    = FULL_H "movi"  vai(0x0f00_8400);
    MVNI_H    = FULL_H "mvni"  vai(0x2f00_8400);
    MOVI_S    = FULL_S "movi"  vai(0x0f00_0400);
    MVNI_S    = FULL_S "mvni"  vai(0x2f00_0400);
    MOVI_ONES = FULL_S "movi"  vmi(0x0f00_c400);
    MVNI_ONES = FULL_S "mvni"  vmi(0x2f00_c400);
    MOVI_MASK = FULL_D "movi"  vbi(0x2f00_e400);
    FMOV_H    = FULL_H "fmov"  vfi(0x0f00_fc00).needs(FP16);
    FMOV_S    = FULL_S "fmov"  vfi(0x0f00_f400);
    FMOV_D    = FULL_D "fmov"  vfi(0x2f00_f400);
    // Floats.
    FADD     = HSD "fadd"      vvv(0x0e20_d400).float();
    FSUB     = HSD "fsub"      vvv(0x0ea0_d400).float();
    FMUL     = HSD "fmul"      vvv(0x2e20_dc00).float();
    FDIV     = HSD "fdiv"      vvv(0x2e20_fc00).float();
    FMAX     = HSD "fmax"      vvv(0x0e20_f400).float();
    FMIN     = HSD "fmin"      vvv(0x0ea0_f400).float();
    FMLA     = HSD "fmla"      tvv(0x0e20_cc00).float();
    FMLS     = HSD "fmls"      tvv(0x0ea0_cc00).float();
    FABS     = HSD "fabs"      vv(0x0ea0_f800).float();
    FNEG     = HSD "fneg"      vv(0x2ea0_f800).float();
    FSQRT    = HSD "fsqrt"     vv(0x2ea1_f800).float();
    FRINTN   = HSD "frintn"    vv(0x0e21_8800).float();
    FRINTM   = HSD "frintm"    vv(0x0e21_9800).float();
    FRINTP   = HSD "frintp"    vv(0x0ea1_8800).float();
    FRINTZ   = HSD "frintz"    vv(0x0ea1_9800).float();
    FCMEQ    = HSD "fcmeq"     vvv(0x0e20_e400).float();
    FCMGE    = HSD "fcmge"     vvv(0x2e20_e400).float();
    FCMGT    = HSD "fcmgt"     vvv(0x2ea0_e400).float();
    // Conversions: between floats and integers of a width, towards zero and saturating; between float widths.
    FCVTZS   = HSD "fcvtzs"    vv(0x0ea1_b800).float();
    FCVTZU   = HSD "fcvtzu"    vv(0x2ea1_b800).float();
    SCVTF    = HSD "scvtf"     vv(0x0e21_d800).float();
    UCVTF    = HSD "ucvtf"     vv(0x2e21_d800).float();
    FCVTL    = HS  "fcvtl"     lv(0x0e21_7800).width(Width::NarrowFloat);
    FCVTN    = HALF_HS "fcvtn" vl(0x0e21_6800).width(Width::NarrowFloat);
    FCVTN2   = FULL_HS "fcvtn" tl(0x0e21_6800).width(Width::NarrowFloat);
    // Sums of products of four bytes, added to each lane: signed, unsigned, unsigned by signed.
    SDOT     = S   "sdot"      tdd(0x0e80_9400).needs(DOTPROD);
    UDOT     = S   "udot"      tdd(0x2e80_9400).needs(DOTPROD);
    USDOT    = S   "usdot"     tdd(0x0e80_9c00).needs(I8MM);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ROWS;

    #[test]
    fn families_know_which_lanes_they_have() {
        let name = |family: Lanes, bits, full| {
            family.find(Arrangement::new(bits, full)).map(|row| ROWS[usize::from(row.0)].name)
        };
        assert_eq!(name(ADD, 8, false), Some("add8b_vvv"));
        assert_eq!(name(ADD, 64, true), Some("add2d_vvv"));
        assert_eq!((name(ADD, 64, false), name(MUL, 64, true)), (None, None));
        assert_eq!((name(XTN, 16, false), name(XTN, 16, true)), (Some("xtn4h_vl"), None));
    }
}
