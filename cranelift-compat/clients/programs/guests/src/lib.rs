//! Text of a fixed generator, which all programs use.

/// Generates numbers by a multiplicative congruential generator (Knuth, *The Art of Computer Programming*, volume 2, section 3.3.4).
pub struct Numbers(u64);

impl Numbers {
    /// Returns the generator of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below `limit`, at most 2^31.
    pub fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

/// Words that occur in the text.
const WORDS: [&str; 24] = [
    "the", "of", "and", "block", "value", "register", "loop", "branch", "to", "in", "a", "store", "load", "module",
    "memory", "table", "call", "return", "is", "spilled", "colour", "live", "12", "4096",
];

/// Returns text of `length` words, with sentences, names and numbers.
#[must_use]
pub fn text(length: usize) -> String {
    let mut numbers = Numbers::new(1);
    let mut text = String::new();
    for word in 0..length {
        match numbers.below(40) {
            0 => text.push_str(&format!("v{}@example-{}.org ", numbers.below(1000), numbers.below(10))),
            1 => text.push_str(&format!(
                "20{:02}-{:02}-{:02} ",
                numbers.below(100),
                numbers.below(12) + 1,
                numbers.below(28) + 1
            )),
            2 => text.push_str(&format!("{}.{} ", numbers.below(10_000), numbers.below(100))),
            _ => {
                // Two draws make the first words more frequent than the last ones.
                let index = numbers.below(WORDS.len() as u32).min(numbers.below(WORDS.len() as u32));
                text.push_str(WORDS[index as usize]);
                text.push(' ');
            }
        }
        if word % 13 == 12 {
            text.pop();
            text.push_str(".\n");
        }
    }
    text
}

/// Returns a sum of bytes that depends on their order (FNV-1a).
#[must_use]
pub fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
