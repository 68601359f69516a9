//! Constants that code loads from read-only memory.

use std::fmt;

/// Constant of 4, 8 or 16 bytes, aligned to its size. Its name consists of its contents, so equal constants can be
/// merged in an object or image.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Literal {
    /// Bytes in little-endian order, zeros after `len`.
    bytes: [u8; 16],
    len: u8,
}

impl Literal {
    /// Returns the literal with these bytes, or `None` if there are not 4, 8 or 16.
    pub fn new(bytes: &[u8]) -> Option<Literal> {
        if !matches!(bytes.len(), 4 | 8 | 16) {
            return None;
        }
        let mut literal = Literal { bytes: [0; 16], len: bytes.len() as u8 };
        literal.bytes[..bytes.len()].copy_from_slice(bytes);
        Some(literal)
    }

    /// Returns the literal that is displayed as these digits.
    pub fn parse(digits: &str) -> Option<Literal> {
        let value = u128::from_str_radix(digits, 16).ok()?;
        Literal::new(value.to_le_bytes().get(..digits.len() / 2)?).filter(|literal| literal.to_string() == digits)
    }

    /// Returns the contents of the literal, whose number is also its alignment.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// Writes the literal as a number, in hexadecimal with all digits.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:01$x}", u128::from_le_bytes(self.bytes), 2 * usize::from(self.len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_length_and_contents() {
        for digits in ["00000001", "3ff8000000000000", "80000000000000008000000000000000"] {
            let literal = Literal::parse(digits).unwrap();
            assert_eq!((literal.to_string(), 2 * literal.bytes().len()), (digits.into(), digits.len()));
        }
        assert_eq!(Literal::parse("3ff8000000000000").unwrap().bytes()[6..], [0xf8, 0x3f]);
        for odd in ["", "1", "0001", "0x000001", "+0000001", "ABCDEF01", "000000000000000000"] {
            assert_eq!(Literal::parse(odd), None, "{odd}");
        }
    }
}
