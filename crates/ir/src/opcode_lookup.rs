//! Lookup of opcodes by name: a hash table that is filled at compile time.

use crate::opcodes::{NAMES, Opcode};

/// Size of the lookup table; a power of two, about six times the number of opcodes.
const LOOKUP_SIZE: usize = 1024;
const EMPTY: u8 = u8::MAX;

/// Returns the first and the last eight bytes of a name, which may overlap. A shorter name gives four bytes each, or
/// all its bytes. Together with the length, the result identifies every name of at most sixteen bytes.
#[inline(always)]
const fn ends(name: &[u8]) -> [u64; 2] {
    if let (Some(first), Some(last)) = (name.first_chunk(), name.last_chunk()) {
        return [u64::from_le_bytes(*first), u64::from_le_bytes(*last)];
    }
    if let (Some(first), Some(last)) = (name.first_chunk(), name.last_chunk()) {
        return [u32::from_le_bytes(*first) as u64, u32::from_le_bytes(*last) as u64];
    }
    match *name {
        [a, b, c] => [a as u64 | (b as u64) << 8, c as u64],
        [a, b] => [a as u64, b as u64],
        [a] => [a as u64, 0],
        _ => [0; 2],
    }
}

/// Returns the slot in which the search for a name starts.
#[inline(always)]
const fn lookup_slot([first, last]: [u64; 2]) -> usize {
    let hash = (first ^ last.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> 48) as usize % LOOKUP_SIZE
}

/// The names in the form in which they are compared.
static ENDS: [([u64; 2], usize); NAMES.len()] = {
    let mut ends_of_names = [([0; 2], 0); NAMES.len()];
    let mut index = 0;
    while index < NAMES.len() {
        ends_of_names[index] = (ends(NAMES[index]), NAMES[index].len());
        index += 1;
    }
    ends_of_names
};

/// Open addressing with linear probing, filled at compile time.
static LOOKUP: [u8; LOOKUP_SIZE] = {
    let mut table = [EMPTY; LOOKUP_SIZE];
    let mut index = 0;
    while index < NAMES.len() {
        let mut slot = lookup_slot(ends(NAMES[index]));
        while table[slot] != EMPTY {
            slot = (slot + 1) % LOOKUP_SIZE;
        }
        table[slot] = index as u8;
        index += 1;
    }
    table
};

impl Opcode {
    /// Returns the opcode with this name.
    #[inline(always)]
    pub fn from_name(name: &[u8]) -> Option<Opcode> {
        let key = (ends(name), name.len());
        let mut slot = lookup_slot(key.0);
        while let index = usize::from(LOOKUP[slot])
            && index < NAMES.len()
        {
            if ENDS[index] == key && (name.len() <= 16 || NAMES[index] == name) {
                return Some(Opcode::ALL[index]);
            }
            slot = (slot + 1) % LOOKUP_SIZE;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again() {
        for &opcode in Opcode::ALL {
            assert_eq!(Opcode::from_name(opcode.name().as_bytes()), Some(opcode));
        }
        for name in ["", "iad", "iaddx", "iadd_imm", "v0", "brif "] {
            assert_eq!(Opcode::from_name(name.as_bytes()), None, "{name}");
        }
    }
}
