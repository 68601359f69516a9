//! The constants of a function: bytes for `vconst` and `f128const`.

use cranelift_entity::PrimaryMap;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::entities::Constant;
use kingpost_meter::heap_bytes;

/// Bytes of a constant, in memory order: the byte of the lowest address first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ConstantData(SmallVec<[u8; 16]>);

impl ConstantData {
    /// Returns a constant of these bytes.
    pub fn new(bytes: &[u8]) -> ConstantData {
        ConstantData(SmallVec::from_slice(bytes))
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for ConstantData {
    /// Writes the constant as one hexadecimal number, most significant byte first.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().rev().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// All constants of a function.
#[derive(Clone, Default, Debug)]
pub struct ConstantPool {
    constants: PrimaryMap<Constant, ConstantData>,
    /// Index by content. Only looked up, never iterated, because the order of a hash map is arbitrary.
    by_data: HashMap<ConstantData, Constant>,
}

heap_bytes!(ConstantPool { constants, by_data });

/// Hashes the constants in order.
impl Hash for ConstantPool {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.constants.hash(hasher);
    }
}

impl ConstantPool {
    /// Returns the constant with these bytes. Creates it if there is none.
    pub fn insert(&mut self, data: ConstantData) -> Constant {
        if let Some(&constant) = self.by_data.get(&data) {
            return constant;
        }
        self.declare(data)
    }

    /// Returns a new constant, even if one with these bytes exists.
    pub fn declare(&mut self, data: ConstantData) -> Constant {
        let constant = self.constants.push(data.clone());
        self.by_data.entry(data).or_insert(constant);
        constant
    }

    /// Returns the bytes of a constant, or an empty slice if it does not exist.
    pub fn bytes(&self, constant: Constant) -> &[u8] {
        self.constants.get(constant).map_or(&[], ConstantData::bytes)
    }

    /// Returns the data of a constant.
    pub fn get(&self, constant: Constant) -> Option<&ConstantData> {
        self.constants.get(constant)
    }

    /// Returns all constants in order.
    pub fn iter(&self) -> impl Iterator<Item = (Constant, &ConstantData)> {
        self.constants.iter()
    }

    /// Returns the number of constants.
    pub fn len(&self) -> usize {
        self.constants.len()
    }

    /// Returns `true` if there are no constants.
    pub fn is_empty(&self) -> bool {
        self.constants.is_empty()
    }

    /// Clears all constants and keeps the memory.
    pub fn clear(&mut self) {
        self.constants.clear();
        self.by_data.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_are_one_constant() {
        let mut pool = ConstantPool::default();
        let declared = pool.declare(ConstantData::new(&[1, 2]));
        let again = pool.declare(ConstantData::new(&[1, 2]));
        assert_ne!(declared, again);
        assert_eq!(pool.insert(ConstantData::new(&[1, 2])), declared);
        assert_ne!(pool.insert(ConstantData::new(&[1, 2, 0])), declared);
        assert_eq!(pool.get(again).unwrap().to_string(), "0x0201");
        assert_eq!(pool.bytes(Constant::from_u32(77)), &[] as &[u8]);
    }
}
