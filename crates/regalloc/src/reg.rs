//! Register classes, physical registers, and sets of physical registers.

use std::fmt;

/// A register class. Values of different classes never share a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum RegClass {
    /// General-purpose registers.
    Int = 0,
    /// Floating-point and vector registers, of any width.
    Float = 1,
}

impl RegClass {
    /// Both classes, in index order.
    pub const ALL: [RegClass; 2] = [RegClass::Int, RegClass::Float];

    /// Returns the position in per-class arrays.
    #[inline]
    pub fn index(self) -> usize {
        self as usize
    }

    /// Returns `true` if one instruction can move, store and load values of `width` bytes. The widths are powers of
    /// two: up to 8 in general-purpose registers, and from 4 to 64 in floating-point registers, because not all
    /// machines can store two bytes from a floating-point register.
    #[inline]
    pub fn has_width(self, width: u8) -> bool {
        let widths = match self {
            RegClass::Int => 1..=8,
            RegClass::Float => 4..=64,
        };
        width.is_power_of_two() && widths.contains(&width)
    }
}

impl fmt::Display for RegClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RegClass::Int => "int",
            RegClass::Float => "float",
        })
    }
}

/// A physical register: a class and its number in the hardware, 0 to 63.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PReg(u8);

impl PReg {
    /// Number of registers per class that a [`PReg`] can name.
    pub const PER_CLASS: usize = 64;
    /// Length of an array indexed by [`PReg::index`].
    pub const COUNT: usize = 2 * Self::PER_CLASS;

    /// Returns the register of `class` with hardware number `enc`.
    ///
    /// # Panics
    /// If `enc` is 64 or more.
    #[inline]
    pub const fn new(class: RegClass, enc: u8) -> PReg {
        assert!(enc < 64);
        PReg(class as u8 * 64 + enc)
    }

    /// Returns the general-purpose register `enc`.
    #[inline]
    pub const fn int(enc: u8) -> PReg {
        Self::new(RegClass::Int, enc)
    }

    /// Returns the floating-point register `enc`.
    #[inline]
    pub const fn float(enc: u8) -> PReg {
        Self::new(RegClass::Float, enc)
    }

    /// Returns the dense index, which is below [`PReg::COUNT`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the register of an [index](PReg::index).
    ///
    /// # Panics
    /// If `index` is [`PReg::COUNT`] or more.
    #[inline]
    pub const fn from_index(index: usize) -> PReg {
        assert!(index < Self::COUNT);
        PReg(index as u8)
    }

    /// Returns the hardware's number of the register.
    pub const fn enc(self) -> u8 {
        self.0 & 63
    }

    /// Returns the class of the register.
    #[inline]
    pub const fn class(self) -> RegClass {
        if self.0 < 64 { RegClass::Int } else { RegClass::Float }
    }
}

/// Text form: `r3` for an integer, `f3` for a floating-point register. Machines have their own register names.
impl fmt::Display for PReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.class() {
            RegClass::Int => 'r',
            RegClass::Float => 'f',
        };
        write!(f, "{letter}{}", self.enc())
    }
}

impl fmt::Debug for PReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A set of physical registers of both classes.
///
/// One word per class instead of an array: a comparison selects the word, so that both stay in registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PRegSet {
    int: u64,
    float: u64,
}

impl PRegSet {
    /// The set without members.
    pub const EMPTY: PRegSet = PRegSet { int: 0, float: 0 };

    /// Returns the set of the registers of one class whose hardware numbers are in `mask`.
    pub const fn from_mask(class: RegClass, mask: u64) -> PRegSet {
        match class {
            RegClass::Int => PRegSet { int: mask, float: 0 },
            RegClass::Float => PRegSet { int: 0, float: mask },
        }
    }

    /// Returns the hardware numbers of the members of one class, as a bit mask.
    pub const fn mask(self, class: RegClass) -> u64 {
        match class {
            RegClass::Int => self.int,
            RegClass::Float => self.float,
        }
    }

    const fn only(reg: PReg) -> PRegSet {
        Self::from_mask(reg.class(), 1 << reg.enc())
    }

    /// Returns the set with `reg` added.
    #[must_use]
    pub const fn with(self, reg: PReg) -> PRegSet {
        self.union(Self::only(reg))
    }

    /// Returns `true` if `reg` is a member.
    pub const fn contains(self, reg: PReg) -> bool {
        self.mask(reg.class()) >> reg.enc() & 1 != 0
    }

    /// Adds `reg`.
    pub fn insert(&mut self, reg: PReg) {
        *self = self.with(reg);
    }

    /// Removes `reg`.
    #[inline]
    pub fn remove(&mut self, reg: PReg) {
        *self = self.difference(Self::only(reg));
    }

    /// Returns the members of either set.
    #[must_use]
    pub const fn union(self, other: PRegSet) -> PRegSet {
        PRegSet { int: self.int | other.int, float: self.float | other.float }
    }

    /// Returns the members of both sets.
    #[inline]
    #[must_use]
    pub const fn intersection(self, other: PRegSet) -> PRegSet {
        PRegSet { int: self.int & other.int, float: self.float & other.float }
    }

    /// Returns the members of `self` that are not in `other`.
    #[must_use]
    pub const fn difference(self, other: PRegSet) -> PRegSet {
        PRegSet { int: self.int & !other.int, float: self.float & !other.float }
    }

    /// Returns the members of one class.
    #[must_use]
    pub const fn of_class(self, class: RegClass) -> PRegSet {
        Self::from_mask(class, self.mask(class))
    }

    /// Returns `true` if the set has no member.
    pub const fn is_empty(self) -> bool {
        self.int | self.float == 0
    }

    /// Returns the number of members.
    pub const fn len(self) -> usize {
        (self.int.count_ones() + self.float.count_ones()) as usize
    }

    /// Returns the members in index order.
    pub fn iter(self) -> impl Iterator<Item = PReg> {
        let PRegSet { mut int, mut float } = self;
        std::iter::from_fn(move || {
            let (class, word) = match int {
                0 => (RegClass::Float, &mut float),
                _ => (RegClass::Int, &mut int),
            };
            if *word == 0 {
                return None;
            }
            let enc = word.trailing_zeros() as u8;
            *word &= *word - 1;
            Some(PReg::new(class, enc))
        })
    }
}

impl FromIterator<PReg> for PRegSet {
    fn from_iter<I: IntoIterator<Item = PReg>>(regs: I) -> PRegSet {
        regs.into_iter().fold(PRegSet::EMPTY, PRegSet::with)
    }
}

/// Text form: `{r0, r3, f1}`.
impl fmt::Display for PRegSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (i, reg) in self.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{reg}")?;
        }
        f.write_str("}")
    }
}

impl fmt::Debug for PRegSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_both_classes() {
        let set: PRegSet = [PReg::float(1), PReg::int(3), PReg::int(0)].into_iter().collect();
        assert_eq!(set.to_string(), "{r0, r3, f1}");
        assert_eq!(set.len(), 3);
        assert_eq!(set.mask(RegClass::Int), 0b1001);
        assert!(set.contains(PReg::float(1)) && !set.contains(PReg::int(1)));
        let mut other = set;
        other.remove(PReg::int(3));
        assert_eq!(set.difference(other).to_string(), "{r3}");
        assert_eq!(other.of_class(RegClass::Float).to_string(), "{f1}");
    }
}
