//! Operations on eight bytes of text at once, in one word whose lowest byte is the first.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x80 * ONES;
const LOW: u64 = 0x7f * ONES;

/// Returns the high bit of each byte that is at least `limit`. All bytes and the limit must be below 128.
#[inline(always)]
const fn at_least(bytes: u64, limit: u8) -> u64 {
    (bytes + (0x80 - limit as u64) * ONES) & HIGH
}

/// Returns the high bit of each byte that equals `byte`. All bytes must be below 128.
#[inline(always)]
const fn equal(bytes: u64, byte: u8) -> u64 {
    at_least(bytes ^ (byte as u64 * ONES), 1) ^ HIGH
}

/// Returns the high bit of each byte that is a letter, a digit or an underscore.
#[inline(always)]
const fn word_bytes(bytes: u64) -> u64 {
    let ascii = bytes & LOW;
    let lower = ascii | (0x20 * ONES);
    let letters = at_least(lower, b'a') & !at_least(lower, b'z' + 1);
    let digits = at_least(ascii, b'0') & !at_least(ascii, b'9' + 1);
    (letters | digits | equal(ascii, b'_')) & !bytes
}

/// Returns the number of leading bytes that continue a word: letters, digits and underscores.
#[inline(always)]
pub(crate) const fn word_len(bytes: u64) -> usize {
    ((word_bytes(bytes) ^ HIGH).trailing_zeros() / 8) as usize
}

/// Returns the number of leading bytes that are at least `0`.
#[inline(always)]
pub(crate) const fn until_below_digits(bytes: u64) -> usize {
    let others = (at_least(bytes & LOW, b'0') | bytes & HIGH) ^ HIGH;
    (others.trailing_zeros() / 8) as usize
}

/// Returns the number of leading bytes that continue a number: the bytes of words, `-` and `.`.
#[inline(always)]
pub(crate) const fn number_len(bytes: u64) -> usize {
    let ascii = bytes & LOW;
    let signs = (equal(ascii, b'-') | equal(ascii, b'.')) & !bytes;
    (((word_bytes(bytes) | signs) ^ HIGH).trailing_zeros() / 8) as usize
}

/// Returns the number of leading bytes that are decimal digits.
#[inline(always)]
pub(crate) const fn digit_count(bytes: u64) -> usize {
    let digits = bytes ^ (0x30 * ONES);
    // A carry reaches only bytes after the first byte that is no digit.
    let others = (digits.wrapping_add((0x80 - 10) * ONES) | digits) & HIGH;
    (others.trailing_zeros() / 8) as usize
}

/// Returns the decimal number of the first `count` bytes, which must be one to eight digits.
#[inline(always)]
pub(crate) const fn decimal(bytes: u64, count: usize) -> u32 {
    // Leading zeros extend it to eight digits. Then neighbors are joined three times.
    let digits = (bytes ^ (0x30 * ONES)) << (64 - 8 * count);
    let pairs = (digits.wrapping_mul(10).wrapping_add(digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100).wrapping_add(pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000).wrapping_add(fours >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_classified() {
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                let mut bytes = *b"a0_Zz9A5";
                bytes[place] = byte;
                let chunk = u64::from_le_bytes(bytes);
                let word = byte.is_ascii_alphanumeric() || byte == b'_';
                let number = word || byte == b'-' || byte == b'.';
                assert_eq!(word_len(chunk), if word { 8 } else { place }, "{byte} at {place}");
                assert_eq!(number_len(chunk), if number { 8 } else { place }, "{byte} at {place}");
                assert_eq!(until_below_digits(chunk), if byte >= b'0' { 8 } else { place }, "{byte} at {place}");
                let mut bytes = *b"09182736";
                bytes[place] = byte;
                let chunk = u64::from_le_bytes(bytes);
                assert_eq!(digit_count(chunk), if byte.is_ascii_digit() { 8 } else { place }, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn decimals() {
        for (text, count, number) in
            [(b"0v000000", 1, 0), (b"7,\xff\xff 999", 1, 7), (b"12345678", 8, 12_345_678), (b"9999999)", 7, 9_999_999)]
        {
            let chunk = u64::from_le_bytes(*text);
            assert_eq!((digit_count(chunk), decimal(chunk, count)), (count, number));
        }
    }
}
