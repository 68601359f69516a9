//! Trap codes: the reasons for which an instruction may trap.

use std::fmt;
use std::num::NonZeroU8;

/// The reason for a trap, stored as a byte.
///
/// ```
/// use kingpost_ir::TrapCode;
///
/// let null_pointer = TrapCode::user(7).unwrap();
/// assert_eq!(null_pointer.to_string(), "user7");
/// assert_eq!(TrapCode::from_byte(null_pointer.byte()), Some(null_pointer));
/// assert_eq!(TrapCode::user(251), None, "the code of `stk_ovf`");
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrapCode(NonZeroU8);

const NAMES: [(&str, TrapCode); 5] = [
    ("stk_ovf", TrapCode::STACK_OVERFLOW),
    ("int_ovf", TrapCode::INTEGER_OVERFLOW),
    ("heap_oob", TrapCode::HEAP_OUT_OF_BOUNDS),
    ("int_divz", TrapCode::INTEGER_DIVISION_BY_ZERO),
    ("bad_toint", TrapCode::BAD_CONVERSION_TO_INTEGER),
];

impl TrapCode {
    /// `stk_ovf`: the stack is exhausted.
    pub const STACK_OVERFLOW: TrapCode = TrapCode::reserved(251);
    /// `int_ovf`: an integer result does not fit.
    pub const INTEGER_OVERFLOW: TrapCode = TrapCode::reserved(252);
    /// `heap_oob`: a memory access is out of bounds.
    pub const HEAP_OUT_OF_BOUNDS: TrapCode = TrapCode::reserved(253);
    /// `int_divz`: integer division by zero.
    pub const INTEGER_DIVISION_BY_ZERO: TrapCode = TrapCode::reserved(254);
    /// `bad_toint`: a NaN converted to an integer.
    pub const BAD_CONVERSION_TO_INTEGER: TrapCode = TrapCode::reserved(255);
    /// The largest number of a `userN` code; the smallest is 1.
    pub const MAX_USER: u8 = 250;

    const fn reserved(byte: u8) -> TrapCode {
        match NonZeroU8::new(byte) {
            Some(byte) => TrapCode(byte),
            None => panic!("trap code 0 does not exist"),
        }
    }

    /// Returns the code `userN`, for N from 1 to 250.
    pub const fn user(number: u8) -> Option<TrapCode> {
        match NonZeroU8::new(number) {
            Some(byte) if number <= TrapCode::MAX_USER => Some(TrapCode(byte)),
            _ => None,
        }
    }

    /// Returns the code that this byte stores; 0 stores none.
    pub const fn from_byte(byte: u8) -> Option<TrapCode> {
        match NonZeroU8::new(byte) {
            Some(byte) => Some(TrapCode(byte)),
            None => None,
        }
    }

    /// Returns the byte that stores the code.
    pub const fn byte(self) -> u8 {
        self.0.get()
    }

    /// Returns the code with this name.
    pub fn from_name(name: &[u8]) -> Option<TrapCode> {
        if let Some((_, code)) = NAMES.iter().find(|(text, _)| text.as_bytes() == name) {
            return Some(*code);
        }
        let digits = name.strip_prefix(b"user")?;
        if digits.is_empty() || digits.len() > 3 || digits[0] == b'0' {
            return None;
        }
        let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
        TrapCode::user(number)
    }
}

impl fmt::Display for TrapCode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match NAMES.iter().find(|(_, code)| code == self) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "user{}", self.0),
        }
    }
}

impl fmt::Debug for TrapCode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_round_trips() {
        assert_eq!(TrapCode::from_byte(0), None);
        for byte in 1..=255 {
            let code = TrapCode::from_byte(byte).unwrap();
            assert_eq!(TrapCode::from_name(code.to_string().as_bytes()), Some(code));
        }
        for name in ["user0", "user251", "user01", "user", "heap"] {
            assert_eq!(TrapCode::from_name(name.as_bytes()), None, "{name}");
        }
    }
}
