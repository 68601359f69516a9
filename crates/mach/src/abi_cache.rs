//! Cache of places by signature, kept from function to function, because a module has far fewer signatures than calls.

use crate::abi::AbiSignature;
use crate::error::LowerError;
use crate::isa::Isa;
use kingpost_ir::signature::Signature;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Largest number of signatures in the cache.
const MAX_KEPT: usize = 1024;

/// Places of arguments and results under one instruction set and one set of settings.
#[derive(Default, Debug)]
pub(crate) struct AbiCache {
    kept: HashMap<Arc<Signature>, Arc<AbiSignature>, BuildHasherDefault<SignatureHasher>>,
    /// Signature of the last lookup, which is often the next one too.
    last: Option<(Arc<Signature>, Arc<AbiSignature>)>,
}

impl AbiCache {
    /// Returns the places of the arguments and results of `signature`.
    ///
    /// # Errors
    /// If the convention cannot pass the signature.
    pub(crate) fn assign(&mut self, isa: &dyn Isa, signature: &Signature) -> Result<Arc<AbiSignature>, LowerError> {
        if let Some((last, abi)) = &self.last
            && **last == *signature
        {
            return Ok(Arc::clone(abi));
        }
        let (signature, abi) = match self.kept.get_key_value(signature) {
            Some((signature, abi)) => (Arc::clone(signature), Arc::clone(abi)),
            None => self.add(isa, signature)?,
        };
        self.last = Some((signature, Arc::clone(&abi)));
        Ok(abi)
    }

    #[cold]
    fn add(&mut self, isa: &dyn Isa, signature: &Signature) -> Result<(Arc<Signature>, Arc<AbiSignature>), LowerError> {
        let abi = Arc::new(isa.abi(signature)?);
        if self.kept.len() == MAX_KEPT {
            self.kept.clear();
        }
        let signature = Arc::new(signature.clone());
        self.kept.insert(Arc::clone(&signature), Arc::clone(&abi));
        Ok((signature, abi))
    }
}

/// Multiplicative hasher. Signatures constructed to collide cost no more than a large function does.
#[derive(Default)]
struct SignatureHasher(u64);

impl Hasher for SignatureHasher {
    fn finish(&self) -> u64 {
        // The hash table takes tags from the upper bits and positions from the lower ones.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    fn write_u16(&mut self, value: u16) {
        self.write_u64(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
}
