//! Operations on whole vector registers, and on all their lanes.
//!
//! A line is four rows, or four for each width of lane: `paddb_rr` and `paddb_rm`, which change operand 1, and
//! `vpaddb_rr` and `vpaddb_rm` of AVX, which do not. The parentheses hold the CPU features that the first two need.
//! Memory has 16 bytes, and must be aligned in the first two: slots and literals are. The constant is the first row,
//! or the family of the first rows.

use super::line::{AVX, Line, SSE2, SSE3, SSE41, SSE42, SSSE3};
use crate::encoding::{of, of3a66, of66, of3866, off2, off3};
use kingpost_mach::operands::{FD16, FM8, FM16, FT16, FU16};
use kingpost_mach::{row_const, row_lines, row_table};

/// Rows of a line, for one width.
const FORMS: u16 = 4;

/// The four forms of a line: two operands or one, with an immediate or without. `half` reads 8 bytes only.
macro_rules! forms {
    (two $($line:tt)*) => { forms! { @ 2 16 "{2}" "" () [FT16, FU16] [FD16, FU16] FM16 " {0}, " " {0}, {1}, " (.v(1)) $($line)* } };
    (two_imm $($line:tt)*) => { forms! { @ 2 16 "{2}" ", {i}" (.ib()) [FT16, FU16] [FD16, FU16] FM16 " {0}, " " {0}, {1}, " (.v(1)) $($line)* } };
    (one $($line:tt)*) => { forms! { @ 1 16 "{1}" "" () [FD16] [FD16] FM16 " {0}, " " {0}, " () $($line)* } };
    (one_imm $($line:tt)*) => { forms! { @ 1 16 "{1}" ", {i}" (.ib()) [FD16] [FD16] FM16 " {0}, " " {0}, " () $($line)* } };
    (half $($line:tt)*) => { forms! { @ 1 8 "{1}" "" () [FD16] [FD16] FM8 " {0}, " " {0}, " () $($line)* } };
    (@ $last:literal $bytes:literal $operand:literal $tail:literal ($($imm:tt)*) [$($sse:expr),*] [$($avx:expr),*] $spec:ident
        $sse_text:literal $avx_text:literal ($($v:tt)*) $widths:tt $name:ident ($needs:expr) $asm:literal ($encoding:expr) ($($more:tt)*)) => {
        [
            row_lines!($widths (.twin($last, $name.form(1)) .upgrade($name.form(2)) .needs($needs) $($more)*)
                ("" $name "_RR") None ($asm $sse_text $operand $tail) [$($sse,)* $spec] ($encoding.reg(0).rm($last) $($imm)*)),
            row_lines!($widths (.upgrade($name.form(3)) .needs($needs))
                ("" $name "_RM") None ($asm $sse_text "{m}" $tail) [$($sse),*] ($encoding.reg(0).mem($bytes) $($imm)*)),
            row_lines!($widths (.twin($last, $name.form(3)) .needs(AVX) $($more)*)
                ("V" $name "_RR") None ("v" $asm $avx_text $operand $tail) [$($avx,)* $spec] ($encoding.vex().reg(0) $($v)* .rm($last) $($imm)*)),
            row_lines!($widths (.needs(AVX))
                ("V" $name "_RM") None ("v" $asm $avx_text "{m}" $tail) [$($avx),*] ($encoding.vex().reg(0) $($v)* .mem($bytes) $($imm)*)),
        ]
    };
}

macro_rules! vector_rows {
    ($base:expr; $( $name:ident $([$($width:tt)+])? = $form:ident($needs:expr) $asm:literal $encoding:expr $(, .$more:ident())? ; )*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "the variants are the names of rows")]
        #[derive(Clone, Copy)]
        enum Index { $( $name, )* COUNT }

        const WIDTHS: [&[&str]; Index::COUNT as usize] = [$( &[$($(stringify!($width)),+)?] ),*];

        const fn start(index: Index) -> u16 {
            $base + FORMS * row_table::start(0, &WIDTHS, index as usize)
        }

        $( row_const! { $name $asm start(Index::$name); $($($width)+)? } )*

        /// Number of the first row after the rows of this file.
        pub(super) const END: u16 = start(Index::COUNT);

        const BY_LINE: [[&[Line]; FORMS as usize]; Index::COUNT as usize] = [$(
            forms!($form [$($($width)+)?] $name ($needs) $asm ($encoding) ($(.$more())?))
        ),*];

        /// Rows of each form of this file's lines.
        pub(super) const LINES: &[&[Line]] = BY_LINE.as_flattened();
    };
}

vector_rows! {
    crate::rows::shift::END;

    // All bits.
    ANDPS = two(SSE2) "andps" of(0x54), .commutes();
    ANDNPS = two(SSE2) "andnps" of(0x55);
    ORPS = two(SSE2) "orps" of(0x56), .commutes();
    XORPS = two(SSE2) "xorps" of(0x57), .commutes();
    // Sums and differences: wrapping, clamped signed, clamped unsigned. Means, rounded up.
    PADD[b w d q] = two(SSE2) "padd*" of66([0xfc, 0xfd, 0xfe, 0xd4][LANE]), .commutes();
    PSUB[b w d q] = two(SSE2) "psub*" of66([0xf8, 0xf9, 0xfa, 0xfb][LANE]);
    PADDS[b w] = two(SSE2) "padds*" of66(0xec + LOG), .commutes();
    PADDUS[b w] = two(SSE2) "paddus*" of66(0xdc + LOG), .commutes();
    PSUBS[b w] = two(SSE2) "psubs*" of66(0xe8 + LOG);
    PSUBUS[b w] = two(SSE2) "psubus*" of66(0xd8 + LOG);
    PAVG[b w] = two(SSE2) "pavg*" of66([0xe0, 0xe3][LANE]), .commutes();
    PABS[b w d] = one(SSSE3) "pabs*" of3866(0x1c + LOG);
    // Least and greatest.
    PMINS[b w d] = two([SSE41, SSE2, SSE41][LANE]) "pmins*" [of3866(0x38), of66(0xea), of3866(0x39)][LANE], .commutes();
    PMAXS[b w d] = two([SSE41, SSE2, SSE41][LANE]) "pmaxs*" [of3866(0x3c), of66(0xee), of3866(0x3d)][LANE], .commutes();
    PMINU[b w d] = two([SSE2, SSE41, SSE41][LANE]) "pminu*" [of66(0xda), of3866(0x3a), of3866(0x3b)][LANE], .commutes();
    PMAXU[b w d] = two([SSE2, SSE41, SSE41][LANE]) "pmaxu*" [of66(0xde), of3866(0x3e), of3866(0x3f)][LANE], .commutes();
    // Products: low halves; high halves; full products of the even lanes; sums of two products, also of unsigned with
    // signed bytes; high halves of doubled products, rounded. Sums of eight differences of bytes.
    PMULL[w d] = two([SSE2, SSE41][LANE - 1]) "pmull*" [of66(0xd5), of3866(0x40)][LANE - 1], .commutes();
    PMULHW = two(SSE2) "pmulhw" of66(0xe5), .commutes();
    PMULHUW = two(SSE2) "pmulhuw" of66(0xe4), .commutes();
    PMULUDQ = two(SSE2) "pmuludq" of66(0xf4), .commutes();
    PMULDQ = two(SSE41) "pmuldq" of3866(0x28), .commutes();
    PMADDWD = two(SSE2) "pmaddwd" of66(0xf5), .commutes();
    PMADDUBSW = two(SSSE3) "pmaddubsw" of3866(0x04);
    PMULHRSW = two(SSSE3) "pmulhrsw" of3866(0x0b), .commutes();
    PSADBW = two(SSE2) "psadbw" of66(0xf6), .commutes();
    // Comparisons, whose result is all ones where they hold.
    PCMPEQ[b w d q] = two([SSE2, SSE2, SSE2, SSE41][LANE]) "pcmpeq*" [of66(0x74), of66(0x75), of66(0x76), of3866(0x29)][LANE], .commutes();
    PCMPGT[b w d q] = two([SSE2, SSE2, SSE2, SSE42][LANE]) "pcmpgt*" [of66(0x64), of66(0x65), of66(0x66), of3866(0x37)][LANE];
    // Shifts of all lanes by the low 64 bits of operand 2.
    PSLL[w d q] = two(SSE2) "psll*" of66(0xf0 + LOG);
    PSRL[w d q] = two(SSE2) "psrl*" of66(0xd0 + LOG);
    PSRA[w d] = two(SSE2) "psra*" of66(0xe0 + LOG);
    // Interleaved lanes of two registers: of their low halves, of their high halves; lanes chosen from each.
    PUNPCKL[bw wd dq qdq] = two(SSE2) "punpckl*" of66([0x60, 0x61, 0x62, 0x6c][LANE]);
    PUNPCKH[bw wd dq qdq] = two(SSE2) "punpckh*" of66([0x68, 0x69, 0x6a, 0x6d][LANE]);
    SHUFPS = two_imm(SSE2) "shufps" of(0xc6);
    SHUFPD = two_imm(SSE2) "shufpd" of66(0xc6);
    // Lanes of one register in any order: of 32 bits, of 16 bits in one half, of bytes by a register.
    PSHUFD = one_imm(SSE2) "pshufd" of66(0x70);
    PSHUFLW = one_imm(SSE2) "pshuflw" off2(0x70);
    PSHUFHW = one_imm(SSE2) "pshufhw" off3(0x70);
    PSHUFB = two(SSSE3) "pshufb" of3866(0x00);
    MOVDDUP = half(SSE3) "movddup" off2(0x12);
    // 16 consecutive bytes of operand 2 followed by operand 1; some lanes of one operand and the remaining lanes of
    // the other.
    PALIGNR = two_imm(SSSE3) "palignr" of3a66(0x0f);
    PBLENDW = two_imm(SSE41) "pblendw" of3a66(0x0e);
    // Narrowing to half the width with clamping, and widening to double the width.
    PACKSSWB = two(SSE2) "packsswb" of66(0x63);
    PACKSSDW = two(SSE2) "packssdw" of66(0x6b);
    PACKUSWB = two(SSE2) "packuswb" of66(0x67);
    PACKUSDW = two(SSE41) "packusdw" of3866(0x2b);
    PMOVSX[bw wd dq] = half(SSE41) "pmovsx*" of3866([0x20, 0x23, 0x25][LANE]);
    PMOVZX[bw wd dq] = half(SSE41) "pmovzx*" of3866([0x30, 0x33, 0x35][LANE]);
    // Floats.
    ADDP[ss sd] = two(SSE2) "addp*" of(0x58).packed(W), .commutes();
    MULP[ss sd] = two(SSE2) "mulp*" of(0x59).packed(W), .commutes();
    SUBP[ss sd] = two(SSE2) "subp*" of(0x5c).packed(W);
    MINP[ss sd] = two(SSE2) "minp*" of(0x5d).packed(W);
    DIVP[ss sd] = two(SSE2) "divp*" of(0x5e).packed(W);
    MAXP[ss sd] = two(SSE2) "maxp*" of(0x5f).packed(W);
    SQRTP[ss sd] = one(SSE2) "sqrtp*" of(0x51).packed(W);
    CMPP[ss sd] = two_imm(SSE2) "cmpp*" of(0xc2).packed(W);
    ROUNDP[ss sd] = one_imm(SSE41) "roundp*" of3a66(0x06 + LOG);
    CVTDQ2PS = one(SSE2) "cvtdq2ps" of(0x5b);
    CVTTPS2DQ = one(SSE2) "cvttps2dq" off3(0x5b);
    CVTDQ2PD = half(SSE2) "cvtdq2pd" off3(0xe6);
    CVTTPD2DQ = one(SSE2) "cvttpd2dq" of66(0xe6);
    CVTPS2PD = half(SSE2) "cvtps2pd" of(0x5a);
    CVTPD2PS = one(SSE2) "cvtpd2ps" of66(0x5a);
}
