//! Parts of a list of work that several machines share.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// A part of a list of work: `I/N` is part `I` of `N`, where `I` counts from 1. Each item is in exactly one part.
///
/// ```
/// use kingpost_testgen::Shard;
///
/// let shard: Shard = "2/3".parse().unwrap();
/// assert_eq!((0..9).filter(|&item| shard.takes(item)).collect::<Vec<_>>(), [1, 4, 7]);
/// assert_eq!(shard.part(0..10), 3..6);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// From 1 to `of`.
    number: u32,
    of: u32,
}

/// The whole list.
impl Default for Shard {
    fn default() -> Shard {
        Shard { number: 1, of: 1 }
    }
}

impl Shard {
    /// Returns `true` if the item of this index is in the part. Neighbors are in different parts, so that costly
    /// neighbors are shared.
    pub fn takes(self, index: usize) -> bool {
        index as u64 % u64::from(self.of) == u64::from(self.number - 1)
    }

    /// Returns a part of a range. The parts of a range are neighbors, and their lengths differ by at most one.
    pub fn part(self, range: Range<u64>) -> Range<u64> {
        let count = u128::from(range.end.saturating_sub(range.start));
        let from_start = |parts: u32| range.start + (count * u128::from(parts) / u128::from(self.of)) as u64;
        from_start(self.number - 1)..from_start(self.number)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let shard = text.split_once('/').and_then(|(number, of)| {
            let shard = Shard { number: number.parse().ok()?, of: of.parse().ok()? };
            (1..=shard.of).contains(&shard.number).then_some(shard)
        });
        shard.ok_or_else(|| format!("`{text}` is no part I/N with I from 1 to N"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_whole() {
        for of in 1..20 {
            let parts = (1..=of).map(|number| Shard { number, of });
            for range in [0..0, 5..6, 7..107, u64::MAX - 3..u64::MAX, 0..u64::MAX] {
                let mut end = range.start;
                for part in parts.clone().map(|shard| shard.part(range.clone())) {
                    assert_eq!(part.start, end);
                    end = part.end;
                }
                assert_eq!(end, range.end);
            }
            for item in 0..100 {
                assert_eq!(parts.clone().filter(|shard| shard.takes(item)).count(), 1);
            }
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "1", "0/1", "2/1", "0/0", "1/0", "-1/2", "1/2/3", "a/b", "1/4294967296"] {
            assert!(text.parse::<Shard>().unwrap_err().contains(text), "{text}");
        }
        assert_eq!("4294967295/4294967295".parse::<Shard>().unwrap().to_string(), "4294967295/4294967295");
    }
}
