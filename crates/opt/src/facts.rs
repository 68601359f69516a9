//! Facts: comparisons that are true at a point of the walk of [`crate::gvn`], for [`crate::implied`].
//!
//! ```text
//! v2 = icmp ult v0, v1         in block1 and the blocks that it dominates, v0 is less than v1
//! brif v2, block1, block2
//! ```
//!
//! The facts are a stack, because the walk is in preorder of the dominator tree. Facts of one value are a list.

use cranelift_entity::SecondaryMap;
use kingpost_ir::condcodes::IntCC;
use kingpost_ir::{Block, Inst, Value};
use kingpost_meter::heap_bytes;

use crate::ranges::{Range, Sign, satisfying};

/// Maximum number of facts of a value that are looked at, from the last one back.
pub(crate) const MAX_FACTS: usize = 8;

/// Right operand of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operand {
    Value(Value),
    Constant(u64),
}

/// A comparison that is true in all blocks that `block` dominates.
#[derive(Clone, Copy, Debug)]
struct Fact {
    value: Value,
    cc: IntCC,
    other: Operand,
    block: Block,
    /// Number plus one of the fact of this value before this one.
    previous: u32,
}

/// The facts that hold at a point of the walk.
#[derive(Default, Debug)]
pub(crate) struct Facts {
    list: Vec<Fact>,
    /// By value: number plus one of its last fact.
    latest: SecondaryMap<Value, u32>,
    /// Blocks, and the branches to them, whose facts are not in the list yet, because no comparison has required them. Blocks
    /// of facts in the list dominate these blocks.
    pub(crate) pending: Vec<(Block, Inst)>,
}

heap_bytes!(Facts { list, latest, pending });

impl Facts {
    /// Prepares for a function with so many values.
    pub(crate) fn reset(&mut self, num_values: usize) {
        self.list.clear();
        self.pending.clear();
        self.latest.clear();
        self.latest.resize(num_values);
    }

    pub(crate) fn learn(&mut self, value: Value, cc: IntCC, other: Operand, block: Block) {
        let previous = self.latest[value];
        self.list.push(Fact { value, cc, other, block, previous });
        self.latest[value] = self.list.len() as u32;
    }

    /// Removes the last facts, of blocks for which `is_over` returns `true`.
    pub(crate) fn forget(&mut self, is_over: impl Fn(Block) -> bool) {
        while self.pending.pop_if(|&mut (block, _)| is_over(block)).is_some() {}
        while let Some(fact) = self.list.pop_if(|fact| is_over(fact.block)) {
            self.latest[fact.value] = fact.previous;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the last facts of a value.
    fn of(&self, value: Value) -> impl Iterator<Item = &Fact> {
        let mut next = self.latest[value];
        let facts = std::iter::from_fn(move || {
            let fact = &self.list[next.checked_sub(1)? as usize];
            next = fact.previous;
            Some(fact)
        });
        facts.take(MAX_FACTS)
    }

    /// Returns the ways in which `x` and `y` may compare.
    pub(crate) fn outcomes(&self, x: Value, y: Value) -> u8 {
        let facts = self.of(x).filter(|fact| fact.other == Operand::Value(y));
        facts.fold(ALL_OUTCOMES, |left, fact| left & outcomes(fact.cc))
    }

    /// Returns the numbers that a value of a width may be, as far as comparisons with constants show.
    pub(crate) fn range(&self, value: Value, width: u32, sign: Sign) -> Range {
        self.of(value).fold(Range::all(sign, width), |range, fact| match fact.other {
            Operand::Constant(bits) => range.meet(satisfying(fact.cc, Some(bits), width, sign)),
            Operand::Value(_) => range,
        })
    }
}

/// All ways in which two integers may compare.
const ALL_OUTCOMES: u8 = 0b11111;

/// Returns the ways in which two integers may compare if a comparison is true. There is a bit for each: equal (1), less
/// with and without a sign (2), less with and greater without (4), greater with and less without (8), greater (16).
pub(crate) fn outcomes(cc: IntCC) -> u8 {
    match cc {
        IntCC::Equal => 1,
        IntCC::NotEqual => 2 | 4 | 8 | 16,
        IntCC::SignedLessThan => 2 | 4,
        IntCC::SignedLessThanOrEqual => 1 | 2 | 4,
        IntCC::SignedGreaterThan => 8 | 16,
        IntCC::SignedGreaterThanOrEqual => 1 | 8 | 16,
        IntCC::UnsignedLessThan => 2 | 8,
        IntCC::UnsignedLessThanOrEqual => 1 | 2 | 8,
        IntCC::UnsignedGreaterThan => 4 | 16,
        IntCC::UnsignedGreaterThanOrEqual => 1 | 4 | 16,
    }
}
