//! The flags of a memory access, packed into 24 bits of a `u32`.
//!
//! Bits 0–7: the byte of the trap code. Here 0 means `heap_oob` (the default), and the byte of `heap_oob` means
//! `notrap`. Bits 8–12: the five one-bit flags. Bits 13–23: the number of the alias region plus one, or 0. A store
//! spreads these 24 bits over its opcode-specific byte and its type field, because its three words hold value,
//! address and offset.

use std::fmt;

use crate::entities::AliasRegion;
use crate::trapcode::TrapCode;

/// Flags of a memory access.
///
/// ```
/// use kingpost_ir::{MemFlags, TrapCode};
///
/// // By default an access may be unaligned, and traps with `heap_oob` where it faults.
/// assert_eq!(MemFlags::new().trap_code(), Some(TrapCode::HEAP_OUT_OF_BOUNDS));
/// // Accesses to memory that is known to be valid, such as fields of an object:
/// assert!(MemFlags::trusted().notrap() && MemFlags::trusted().aligned());
/// // A field that never changes after the object exists:
/// assert!(MemFlags::trusted().with_readonly().readonly());
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Hash, Default)]
pub struct MemFlags(u32);

/// Byte order of a memory access.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Endianness {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

const ALIGNED: u32 = 1 << 8;
const READONLY: u32 = 1 << 9;
const CAN_MOVE: u32 = 1 << 10;
const BIG: u32 = 1 << 11;
const LITTLE: u32 = 1 << 12;
const REGION_SHIFT: u32 = 13;
const NOTRAP: u32 = TrapCode::HEAP_OUT_OF_BOUNDS.byte() as u32;

impl MemFlags {
    /// Upper limit of the numbers of alias regions, exclusive.
    pub const MAX_REGIONS: u32 = (1 << 11) - 1;

    /// Returns no flags: the access may trap with `heap_oob`.
    pub const fn new() -> MemFlags {
        MemFlags(0)
    }

    /// Returns the flags of an access that cannot trap and is aligned.
    pub const fn trusted() -> MemFlags {
        MemFlags(NOTRAP | ALIGNED)
    }

    /// Returns the packed form (see the module documentation), which is below 2^24.
    pub const fn bits(self) -> u32 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u32) -> MemFlags {
        MemFlags(bits)
    }

    /// Returns the trap code of the access, or `None` if it cannot trap.
    pub fn trap_code(self) -> Option<TrapCode> {
        match self.0 & 0xff {
            NOTRAP => None,
            0 => Some(TrapCode::HEAP_OUT_OF_BOUNDS),
            byte => TrapCode::from_byte(byte as u8),
        }
    }

    /// Returns `true` if the access cannot trap.
    pub const fn notrap(self) -> bool {
        self.0 & 0xff == NOTRAP
    }

    /// Returns these flags with another trap code; `None` means that the access cannot trap.
    #[must_use]
    pub fn with_trap_code(self, code: Option<TrapCode>) -> MemFlags {
        let byte = match code {
            None => NOTRAP,
            Some(TrapCode::HEAP_OUT_OF_BOUNDS) => 0,
            Some(code) => u32::from(code.byte()),
        };
        MemFlags((self.0 & !0xff) | byte)
    }

    /// Returns these flags with `notrap`: the access cannot trap.
    #[must_use]
    pub fn with_notrap(self) -> MemFlags {
        self.with_trap_code(None)
    }

    /// Returns `true` if the address is promised to be aligned. A misaligned access may trap or have a wrong result
    /// then.
    pub const fn aligned(self) -> bool {
        self.0 & ALIGNED != 0
    }

    /// Returns these flags with `aligned`.
    #[must_use]
    pub const fn with_aligned(self) -> MemFlags {
        MemFlags(self.0 | ALIGNED)
    }

    /// Returns `true` if the memory does not change during the function.
    pub const fn readonly(self) -> bool {
        self.0 & READONLY != 0
    }

    /// Returns these flags with `readonly`.
    #[must_use]
    pub const fn with_readonly(self) -> MemFlags {
        MemFlags(self.0 | READONLY)
    }

    /// Returns `true` if the access may be moved as far as its data dependencies allow.
    pub const fn can_move(self) -> bool {
        self.0 & CAN_MOVE != 0
    }

    /// Returns these flags with `can_move`.
    #[must_use]
    pub const fn with_can_move(self) -> MemFlags {
        MemFlags(self.0 | CAN_MOVE)
    }

    /// Returns the byte order that the flags request; `None` means the byte order of the target.
    pub const fn endianness(self) -> Option<Endianness> {
        if self.0 & BIG != 0 {
            Some(Endianness::Big)
        } else if self.0 & LITTLE != 0 {
            Some(Endianness::Little)
        } else {
            None
        }
    }

    /// Returns these flags with a byte order.
    #[must_use]
    pub const fn with_endianness(self, endianness: Endianness) -> MemFlags {
        let order = match endianness {
            Endianness::Little => LITTLE,
            Endianness::Big => BIG,
        };
        MemFlags((self.0 & !(LITTLE | BIG)) | order)
    }

    /// Returns the alias region, if the flags name one.
    pub fn alias_region(self) -> Option<AliasRegion> {
        (self.0 >> REGION_SHIFT).checked_sub(1).map(AliasRegion::from_u32)
    }

    /// Returns these flags with an alias region, or `None` if its number is not below [`MemFlags::MAX_REGIONS`].
    pub fn with_alias_region(self, region: Option<AliasRegion>) -> Option<MemFlags> {
        let field = match region {
            None => 0,
            Some(region) if region.as_u32() < MemFlags::MAX_REGIONS => region.as_u32() + 1,
            Some(_) => return None,
        };
        Some(MemFlags((self.0 & ((1 << REGION_SHIFT) - 1)) | field << REGION_SHIFT))
    }

    /// Returns `true` if the flags name at most a byte order.
    pub const fn only_endianness(self) -> bool {
        self.0 & !(BIG | LITTLE) == 0
    }
}

impl fmt::Display for MemFlags {
    /// Writes each word of the flags after a space.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.trap_code() {
            None => f.write_str(" notrap")?,
            Some(TrapCode::HEAP_OUT_OF_BOUNDS) => {}
            Some(code) => write!(f, " {code}")?,
        }
        for (bit, word) in [
            (ALIGNED, " aligned"),
            (READONLY, " readonly"),
            (CAN_MOVE, " can_move"),
            (BIG, " big"),
            (LITTLE, " little"),
        ] {
            if self.0 & bit != 0 {
                f.write_str(word)?;
            }
        }
        match self.alias_region() {
            Some(region) => write!(f, " {region}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for MemFlags {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "MemFlags({self} )")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_independent() {
        let region = AliasRegion::from_u32(2046);
        let flags = MemFlags::new()
            .with_aligned()
            .with_readonly()
            .with_can_move()
            .with_endianness(Endianness::Big)
            .with_trap_code(TrapCode::user(7))
            .with_alias_region(Some(region))
            .unwrap();
        assert_eq!(flags.to_string(), " user7 aligned readonly can_move big region2046");
        assert_eq!(flags.with_notrap().alias_region(), Some(region));
        assert!(flags.bits() < 1 << 24);
        assert_eq!(flags.with_alias_region(Some(AliasRegion::from_u32(2047))), None);
    }

    #[test]
    fn default_traps() {
        assert_eq!(MemFlags::new().trap_code(), Some(TrapCode::HEAP_OUT_OF_BOUNDS));
        assert_eq!(MemFlags::new().to_string(), "");
        assert_eq!(MemFlags::trusted().to_string(), " notrap aligned");
        let back = MemFlags::trusted().with_trap_code(Some(TrapCode::HEAP_OUT_OF_BOUNDS));
        assert_eq!(back.to_string(), " aligned");
        assert!(MemFlags::new().with_endianness(Endianness::Little).only_endianness());
    }
}
