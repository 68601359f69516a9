//! Artificial addresses: the two highest bits of a 32- or 64-bit address name a region, and the low bits are an
//! offset into it.

use crate::value::mask;

/// Region that an address points into.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Region {
    Stack,
    Functions,
    Data,
    /// A region without objects.
    Nowhere,
}

const REGIONS: [Region; 4] = [Region::Stack, Region::Functions, Region::Data, Region::Nowhere];

/// A decoded address.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct DecodedAddress {
    pub(crate) region: Region,
    /// Offset in bytes; for functions, their number.
    pub(crate) offset: u64,
}

impl DecodedAddress {
    /// Returns the place that an address of `bits` bits refers to. Bits above the width are dropped.
    pub(crate) fn decode(bits: u32, address: u64) -> DecodedAddress {
        let address = address & mask(bits) as u64;
        let region = REGIONS[(address >> (bits - 2)) as usize];
        DecodedAddress { region, offset: address & mask(bits - 2) as u64 }
    }

    /// Returns the address of a place, of `bits` bits.
    pub(crate) fn encode(self, bits: u32) -> u64 {
        (self.region as u64) << (bits - 2) | self.offset & mask(bits - 2) as u64
    }
}

/// Bit that is set in the offsets of library routines.
const LIBRARY_BIT: u64 = 1 << 29;

/// Number of the function that throws, among the library routines.
const THROW: u64 = LIBRARY_BIT - 1;

/// Function that an address refers to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum CodeAddress {
    Function(u64),
    Library(u64),
    Throw,
}

impl CodeAddress {
    pub(crate) fn encode(self, bits: u32) -> u64 {
        let offset = match self {
            CodeAddress::Function(index) => index,
            CodeAddress::Library(index) => index | LIBRARY_BIT,
            CodeAddress::Throw => THROW | LIBRARY_BIT,
        };
        DecodedAddress { region: Region::Functions, offset }.encode(bits)
    }

    /// Returns the function at an address, if the address is in the region of functions.
    pub(crate) fn decode(bits: u32, address: u64) -> Option<CodeAddress> {
        match DecodedAddress::decode(bits, address) {
            DecodedAddress { region: Region::Functions, offset } if offset & LIBRARY_BIT != 0 => {
                match offset & !LIBRARY_BIT {
                    THROW => Some(CodeAddress::Throw),
                    index => Some(CodeAddress::Library(index)),
                }
            }
            DecodedAddress { region: Region::Functions, offset } => Some(CodeAddress::Function(offset)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_round_trip() {
        for bits in [32, 64] {
            for code in [CodeAddress::Function(3), CodeAddress::Library(2), CodeAddress::Throw] {
                assert_eq!(CodeAddress::decode(bits, code.encode(bits)), Some(code));
            }
            for region in REGIONS {
                let place = DecodedAddress { region, offset: 0x1234 };
                assert_eq!(DecodedAddress::decode(bits, place.encode(bits)), place);
            }
            assert_eq!(CodeAddress::decode(bits, 0), None);
        }
        assert_eq!(DecodedAddress::decode(32, 1 << 40), DecodedAddress { region: Region::Stack, offset: 0 });
    }
}
