//! Reasons for which a changed bit may leave the meaning of an instruction as it was, in the small functions of the tests.
//! An accepted fault needs one, beside executions that show nothing else: these try few of the states.

use kingpost_validate::{Code, Machine};

/// Returns the reason for which flipping a bit of an instruction of AArch64 does not change its meaning here, if there
/// can be one. Classes of the encoding index: "Data Processing -- Immediate" has 100 in bits 28 to 26, "Data Processing
/// -- Register" has 101 in bits 27 to 25.
fn reason_a64(word: u32, bit: u32) -> Option<&'static str> {
    let field = |low: u32, count: u32| word >> low & ((1 << count) - 1);
    let is_register = field(25, 3) == 0b101;
    let is_memory = field(27, 1) == 1 && field(25, 1) == 0;
    match bit {
        22 | 23 if is_register && field(10, 6) == 0 => Some("a shift by zero of another kind"),
        22 if field(23, 6) == 0b10_0010 && field(10, 12) == 0 => Some("zero, shifted"),
        21 | 22 if field(23, 6) == 0b10_0101 && field(5, 16) == 0 => Some("zero, shifted"),
        10..=14 if is_register && field(5, 5) == 31 => Some("a shift of zero"),
        29 | 30 if field(23, 6) == 0b10_0010 && field(10, 12) == 0 => {
            Some("a sum with zero, or flags that are not read")
        }
        24 | 29 | 30 if is_register => Some("flags that are not read, or a sum or difference with zero"),
        29 if field(23, 6) == 0b10_0010 => Some("flags that are not read"),
        31 if !is_memory => Some("upper bits that are not read"),
        21 if is_register => Some("bits that are not read"),
        0 | 4 if field(29, 1) == 1 && field(0, 5) == 31 => Some("a result in a register that is not read"),
        6 if is_memory || field(23, 6) == 0b10_0010 || field(21, 8) == 0b0101_1001 => Some("x29, which is equal to sp"),
        23 | 24 if is_memory => Some("another form of an offset of zero"),
        23 if field(24, 6) == 0b00_1000 => Some("an exclusive load without a store"),
        13 if field(21, 8) == 0b0101_1001 && field(31, 1) == 0 => Some("an extension of 32 bits from as many or more"),
        15 if is_memory || field(21, 8) == 0b0101_1001 => Some("an extension from 64 bits"),
        5 | 10 | 11 if field(12, 20) == 0xd_5033 => Some("a barrier that orders more"),
        0..=15 if word >> 16 == 0 => Some("the number of a trap"),
        16..=31 if word >> 16 == 0 => Some("a trap that is never executed"),
        0..=3 | 13 if field(21, 8) == 0b1101_0010 => Some("flags that are not read, or an equal condition"),
        0..=4 if field(29, 1) == 1 && field(21, 8) == 0b1101_0000 => Some("a result in a register that is not read"),
        5..=7 if field(25, 6) == 0b01_1010 => Some("a branch that is never taken"),
        29 if field(23, 6) == 0b10_0101 && field(5, 16) == 0 => Some("zero in the only bits that are set"),
        8 if field(24, 8) == 0x54 && field(0, 4) == 3 => Some("a jump to a jump on the same condition"),
        10..=14 if word == 0x9100_03f1 => Some("a check that leaves out words of the link"),
        9 if word == 0xd282_2e10 => Some("a check that leaves out words of the link"),
        28 if field(21, 8) == 0b0101_0000 && field(5, 5) == 31 => Some("a sum with zero and a carry that is clear"),
        9 if field(21, 8) == 0b1101_0110 => Some("another register with an equal value"),
        14 if field(24, 5) == 0b1_1011 => Some("another register with an equal value"),
        10 | 14 if word == 0xa8c1_7bfd => Some("a return address that is still in its register"),
        _ => None,
    }
}

/// Returns the reason for which flipping a bit of an instruction of x86-64 does not change its meaning here, if there
/// can be one.
fn reason_x64(code: &[u8], at: usize, bit: u32) -> Option<&'static str> {
    let (old, new) = (code[at], code[at] ^ 1 << bit);
    let before = |distance: usize| at.checked_sub(distance).map_or(0, |at| code[at]);
    match (old, new) {
        (0x42, 0x46) if before(1) == 0x0f => Some("the smaller of two equal values"),
        (0x40..=0x4f, 0x40..=0x4f) if before(1) != 0x0f => match (bit, code.get(at + 1), code.get(at + 2)) {
            (0, _, Some(address)) if address & 0xc7 == 0x05 => Some("REX.B, which an address without a base ignores"),
            (1, ..) => Some("REX.X, which has no field without an index"),
            (2, Some(0x0f), Some(0xc8..=0xcf)) => Some("REX.R, which an opcode with a register ignores"),
            (2, Some(0x81 | 0x83 | 0xc1 | 0xc7 | 0xf7 | 0xff), _) => {
                Some("REX.R, which an extension of the opcode ignores")
            }
            (3, ..) => Some("REX.W, where upper bits are not read"),
            _ => None,
        },
        (0x31, 0x33) | (0x33, 0x31) | (0x29, 0x28) | (0x01, 0x00) => {
            Some("another encoding, or bits that are not read")
        }
        (0x24, 0x64 | 0xa4) => Some("a scale without an index"),
        (0x24, 0x25) if before(2) == 0x8d => Some("rbp, which is equal to rsp"),
        (0xe3, 0xeb) if before(1) == 0x89 => Some("rbp, which is equal to rsp"),
        (0xf8, 0xf0) if before(3) == 0x8d => Some("a check that includes the word of the link"),
        (0x68, 0x69 | 0x6a | 0x6c) if before(2) == 0x81 => Some("a check that includes bytes of the link"),
        (0x3b, 0x2b) => Some("a comparison by a difference that is not read"),
        (0xfb, 0xeb) if before(1) == 0x81 => Some("a comparison by a difference that is not read"),
        (0x39, 0x29 | 0x31 | 0x3b) => Some("a comparison of equality by another operation"),
        (0x01, 0x11) => Some("a carry that is clear"),
        (0x89, 0x09) => Some("a register that is zero, and takes the bits of another"),
        (0x74 | 0x75, 0x76 | 0x77) => Some("a carry that is clear"),
        (0x72, 0x76) => Some("a sum that is zero only with a carry"),
        _ if before(2) == 0x0f && matches!(before(1), 0x90..=0x9f) && matches!(bit, 3..=5) => {
            Some("a field that an opcode of one operand ignores")
        }
        (0x50, 0x51 | 0x52 | 0x54) => Some("a register that fills the frame"),
        _ if before(2) == 0xc1 => Some("an amount modulo the width"),
        _ if before(1) == 0xc1 => Some("a rotation without set bits"),
        _ if before(2) == 0x83 && before(1) == 0xec && new > old => Some("a larger frame"),
        _ => None,
    }
}

pub(super) fn reason(code: &Code<'_>, bit: u32) -> Option<&'static str> {
    let at = bit as usize / 8;
    match code.machine {
        Machine::X64 => reason_x64(code.bytes, at, bit % 8),
        Machine::Aarch64 => {
            let start = at & !3;
            let word = u32::from_le_bytes(code.bytes[start..start + 4].try_into().unwrap());
            reason_a64(word, bit - 8 * start as u32)
        }
    }
}
