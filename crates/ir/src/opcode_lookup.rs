//! Finding opcodes by name: a hash table that is filled at compile time.

use crate::opcodes::{NAMES, Opcode};

/// Slots of the lookup table; a power of two, about six times the number of opcodes.
const LOOKUP_SIZE: usize = 1024;
const EMPTY: u8 = u8::MAX;

/// Where the search for a name starts. Five samples tell nearly all opcodes apart.
const fn lookup_slot(name: &[u8]) -> usize {
    let len = name.len();
    let mut hash = len;
    hash = hash.wrapping_mul(0x9e37_79b1) ^ name[0] as usize;
    hash = hash.wrapping_mul(0x9e37_79b1) ^ name[len / 4] as usize;
    hash = hash.wrapping_mul(0x9e37_79b1) ^ name[len / 2] as usize;
    hash = hash.wrapping_mul(0x9e37_79b1) ^ name[len * 3 / 4] as usize;
    hash = hash.wrapping_mul(0x9e37_79b1) ^ name[len - 1] as usize;
    (hash ^ hash >> 15) % LOOKUP_SIZE
}

/// Open addressing with linear probing, filled at compile time.
static LOOKUP: [u8; LOOKUP_SIZE] = {
    let mut table = [EMPTY; LOOKUP_SIZE];
    let mut index = 0;
    while index < NAMES.len() {
        let mut slot = lookup_slot(NAMES[index]);
        while table[slot] != EMPTY {
            slot = (slot + 1) % LOOKUP_SIZE;
        }
        table[slot] = index as u8;
        index += 1;
    }
    table
};

impl Opcode {
    /// The opcode with this name.
    pub fn from_name(name: &[u8]) -> Option<Opcode> {
        if name.is_empty() {
            return None;
        }
        let mut slot = lookup_slot(name);
        while LOOKUP[slot] != EMPTY {
            let index = usize::from(LOOKUP[slot]);
            if NAMES[index] == name {
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
        assert_eq!(Opcode::ALL.len(), 163);
        for &opcode in Opcode::ALL {
            assert_eq!(Opcode::from_name(opcode.name().as_bytes()), Some(opcode));
        }
        for name in ["", "iad", "iaddx", "iadd_imm", "v0", "brif "] {
            assert_eq!(Opcode::from_name(name.as_bytes()), None, "{name}");
        }
    }
}
