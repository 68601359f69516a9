//! Names of variables: one text with all of them, and an index by their hashes. A proof of code has thousands of names.

use crate::hash::{BuildTermHasher, TermHasher};
use std::collections::HashMap;
use std::hash::Hasher;

/// Names, with a number for each in order of their addition.
#[derive(Default, Debug)]
pub(crate) struct Names {
    text: String,
    /// End of each name in the text, in bytes.
    ends: Vec<usize>,
    /// The number of each name, by its hash or, if another name has that key, the next free one.
    numbers: HashMap<u64, u32, BuildTermHasher>,
}

impl Names {
    /// Returns the name of a number.
    pub(crate) fn text(&self, number: u32) -> &str {
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[number]]
    }

    /// Returns the number of a name, if it was added.
    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        self.number_or_key(name).ok()
    }

    /// Returns the number of a name. `true` means that the name is new.
    pub(crate) fn add(&mut self, name: &str) -> (u32, bool) {
        match self.number_or_key(name) {
            Ok(number) => (number, false),
            Err(key) => {
                let number = u32::try_from(self.ends.len()).expect("fewer than 2^32 names");
                self.numbers.insert(key, number);
                self.text.push_str(name);
                self.ends.push(self.text.len());
                (number, true)
            }
        }
    }

    /// Returns the number of names.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the number of a name, or the key under which to add it.
    fn number_or_key(&self, name: &str) -> Result<u32, u64> {
        let mut key = hash(name);
        while let Some(&number) = self.numbers.get(&key) {
            if self.text(number) == name {
                return Ok(number);
            }
            key = key.wrapping_add(1);
        }
        Err(key)
    }
}

/// Returns the hash of a name, eight bytes at a time.
fn hash(name: &str) -> u64 {
    let mut hasher = TermHasher::default();
    for bytes in name.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        hasher.write_u64(u64::from_le_bytes(word));
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a name of 16 bytes that has the hash of another one, if its last eight bytes are ASCII.
    fn same_hash(name: &str, first: &str) -> Option<String> {
        let last = u64::from_le_bytes(name.as_bytes()[8..].try_into().unwrap());
        let other = last ^ hash(&name[..8]) ^ hash(first);
        let other = String::from_utf8(other.to_le_bytes().to_vec()).ok()?;
        Some(format!("{first}{other}"))
    }

    #[test]
    fn names_with_one_hash_are_two() {
        let name = "0123456789abcdef";
        let other = (0..1 << 12).find_map(|number| same_hash(name, &format!("{number:08}"))).unwrap();
        assert_eq!(hash(name), hash(&other));
        let mut names = Names::default();
        assert_eq!((names.add(name), names.add(&other), names.add(name)), ((0, true), (1, true), (0, false)));
        assert_eq!((names.find(&other), names.find("x")), (Some(1), None));
        assert_eq!((names.text(0), names.text(1), names.len()), (name, other.as_str(), 2));
    }
}
