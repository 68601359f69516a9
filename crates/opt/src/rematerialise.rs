//! Rematerialization: a loop may use more values from outside than registers can hold. Values that are cheap to
//! compute and that only some of its blocks use are then computed again in each of these blocks.
//!
//! ```text
//! block0(v0: i64, v1: i32):                block0(v0: i64, v1: i32):
//!   v2 = load.i32 notrap readonly v0+40      jump block1
//!   jump block1                            ...
//! ...                                      block7:
//! block7:                                    v2 = load.i32 notrap readonly v0+40
//!   v3 = icmp eq v1, v2                      v3 = icmp eq v1, v2
//! ```
//!
//! Part of [`crate::code_motion`], which determines the values that loops use. Value numbering has merged equal
//! values, and an allocator would now keep the one value in a spill slot throughout the loop. A load of memory that
//! never changes costs no more than a load from the slot, and needs no store. A rematerialized value has one
//! operand that is no constant. The loop uses this operand elsewhere at least as often, so that it is in a register
//! anyway.
//!
//! In an inner loop that has registers enough, nothing is rematerialized; the value is computed before that loop.
//! Cost: two sweeps over the blocks of loops that are short of registers.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use kingpost_ir::loops::Loop;
use kingpost_ir::{Block, Function, Inst, Value};

use crate::purity::{constant, is_cheap, is_pure_load};
use kingpost_ir::analyses::Analyses;
use kingpost_meter::heap_bytes;

/// Maximum number of loops visited for one instruction, from the innermost outward.
pub(crate) const MAX_LOOPS: usize = 8;

/// Uses of a value in loops that are short of registers.
#[derive(Copy, Clone, Default, Debug)]
struct Uses {
    /// Number of blocks that use it.
    blocks: u32,
    /// Number of uses that the rematerialization of other values would add, one for each such value in each block.
    again: u32,
    /// Last block that was counted.
    last: PackedOption<Block>,
    /// Number of blocks of the largest loop that is around a use and not around the definition; 0 if the value
    /// cannot be rematerialized.
    range: u32,
}

/// Maximum number of dominators that are climbed to find an existing copy of a value.
const STEPS: usize = 2;

/// Copy of a value that is rematerialized.
#[derive(Copy, Clone, Default, Debug)]
struct Copied {
    /// Block of the latest copy; none if there is no copy yet.
    block: PackedOption<Block>,
    /// The latest copy, or the value itself before the first; none if it is not rematerialized.
    value: PackedOption<Value>,
    /// The latest instruction that uses the copy.
    user: PackedOption<Inst>,
}

/// Place of the copies for the blocks of a loop.
#[derive(Copy, Clone, Default, Debug)]
struct Site {
    /// Innermost loop around the blocks that is short of registers.
    around: PackedOption<Loop>,
    /// Block of that loop in which copies are made, before an inner loop with registers enough; none if each block
    /// makes its own.
    target: PackedOption<Block>,
}

/// Memory of the pass.
#[derive(Default, Debug)]
pub(crate) struct Rematerialise {
    /// By loop.
    sites: SecondaryMap<Loop, Site>,
    /// By value.
    uses: SecondaryMap<Value, Uses>,
    /// By value, for rematerialized values only.
    copied: SecondaryMap<Value, Copied>,
    /// Values that can be rematerialized.
    candidates: Vec<Value>,
    /// Values of the current instruction that are replaced by copies.
    replaced: Vec<Value>,
}

heap_bytes!(Rematerialise { sites, uses, copied, candidates, replaced });

impl Rematerialise {
    /// Runs the pass. `is_short` returns `true` for loops that are short of registers.
    pub(crate) fn run(&mut self, func: &mut Function, analyses: &Analyses, is_short: impl Fn(Loop) -> bool) {
        self.uses.clear();
        self.uses.resize(func.dfg.num_values());
        self.candidates.clear();
        self.find_sites(analyses, is_short);
        for &block in analyses.dominators.preorder() {
            let Site { around, .. } = self.site(analyses, block);
            if let Some(around) = around.expand() {
                for inst in func.layout.block_insts(block) {
                    func.dfg.for_each_use(inst, |value| self.count(func, analyses, value, block, around));
                }
            }
        }
        if !self.choose(func) {
            return;
        }
        for &block in analyses.dominators.preorder() {
            let Site { around, target } = self.site(analyses, block);
            if let Some(around) = around.expand() {
                self.visit_block(func, analyses, block, (around, target.expand().unwrap_or(block)));
            }
        }
    }

    /// Finds the sites of all loops, from the outermost loops inward.
    fn find_sites(&mut self, analyses: &Analyses, is_short: impl Fn(Loop) -> bool) {
        self.sites.clear();
        for each in analyses.loops.loops().rev() {
            let outside = analyses.loops.parent(each).map_or(Site::default(), |parent| self.sites[parent]);
            self.sites[each] = match outside.around.expand() {
                _ if is_short(each) => Site { around: each.into(), target: None.into() },
                Some(_) if outside.target.is_none() => {
                    Site { target: analyses.dominators.idom(analyses.loops.header(each)).into(), ..outside }
                }
                _ => outside,
            };
        }
    }

    fn site(&self, analyses: &Analyses, block: Block) -> Site {
        analyses.loops.innermost_loop(block).map_or(Site::default(), |each| self.sites[each])
    }

    /// Counts a use in a block. `around` is the innermost loop around it that is short of registers.
    fn count(&mut self, func: &Function, analyses: &Analyses, value: Value, block: Block, around: Loop) {
        let uses = &mut self.uses[value];
        if uses.last.expand() == Some(block) {
            return;
        }
        uses.last = block.into();
        uses.blocks += 1;
        if !can_be_made_again(func, value) || !comes_from_outside(func, analyses, value, around) {
            return;
        }
        let mut outermost = around;
        for _ in 0..MAX_LOOPS {
            match analyses.loops.parent(outermost) {
                Some(parent) if comes_from_outside(func, analyses, value, parent) => outermost = parent,
                _ => break,
            }
        }
        if uses.range == 0 {
            self.candidates.push(value);
        }
        uses.range = uses.range.max(analyses.loops.num_blocks(outermost));
    }

    /// Chooses the candidates to rematerialize, and returns `true` if there are any. At most half of the blocks of
    /// the range use such a value. Its operand is used as often besides, and it is not the operand of another
    /// candidate.
    fn choose(&mut self, func: &Function) -> bool {
        self.candidates.retain(|&value| self.uses[value].blocks * 2 <= self.uses[value].range);
        for &value in &self.candidates {
            let blocks = self.uses[value].blocks;
            if let Some(operand) = operand(func, value) {
                self.uses[operand].again += blocks;
            }
        }
        self.copied.clear();
        let uses = &self.uses;
        self.candidates.retain(|&value| {
            let is_kept = |operand: Value| uses[operand].blocks + uses[operand].again >= 2 * uses[value].blocks;
            uses[value].again == 0 && operand(func, value).is_some_and(is_kept)
        });
        for &value in &self.candidates {
            self.copied[value].value = value.into();
        }
        !self.candidates.is_empty()
    }

    /// Returns `true` if a value has a copy in `block`, or in one of its nearest dominators in the loop.
    fn is_near(&self, analyses: &Analyses, value: Value, block: Block, around: Loop) -> bool {
        let Some(made) = self.copied[value].block.expand() else { return false };
        let header = analyses.loops.header(around);
        let above = |&block: &Block| if block == header { None } else { analyses.dominators.idom(block) };
        std::iter::successors(Some(block), above).take(STEPS + 1).any(|block| block == made)
    }

    /// Replaces chosen values in the instructions of a block by copies that are made in `target`, a block of the
    /// loop `around`.
    fn visit_block(&mut self, func: &mut Function, analyses: &Analyses, block: Block, (around, target): (Loop, Block)) {
        let mut next = func.layout.first_inst(block);
        while let Some(inst) = next {
            next = func.layout.next_inst(inst);
            let (copied, replaced) = (&self.copied, &mut self.replaced);
            replaced.clear();
            func.dfg.for_each_use(inst, |value| {
                let is_chosen = copied.get(value).is_some_and(|copied| copied.value.is_some());
                if is_chosen && comes_from_outside(func, analyses, value, around) {
                    replaced.push(value);
                }
            });
            if self.replaced.is_empty() {
                continue;
            }
            let before = if target == block { Some(inst) } else { func.layout.last_inst(target) };
            for index in 0..self.replaced.len() {
                let value = self.replaced[index];
                if !self.is_near(analyses, value, target, around)
                    && let Some(before) = before
                {
                    let made = make_again(func, value, before);
                    self.copied[value] = Copied { block: target.into(), value: made.into(), user: None.into() };
                }
                self.copied[value].user = inst.into();
            }
            let copied = &self.copied;
            func.dfg.map_values(inst, |value| match copied.get(value) {
                Some(made) if made.user.expand() == Some(inst) => made.value.expand().unwrap_or(value),
                _ => value,
            });
        }
    }
}

/// Returns `true` if computing a value costs no more than loading it from a spill slot, provided that its operand
/// is in a register.
fn can_be_made_again(func: &Function, value: Value) -> bool {
    let Some(def) = func.dfg.first_result_of(value) else { return false };
    let data = func.dfg.inst(def);
    let has_one_operand = match *data.args() {
        [_] => true,
        [_, y] => constant(func, y).is_some(),
        _ => false,
    };
    has_one_operand && (is_pure_load(data) || is_cheap(data.opcode())) && func.dfg.value_type(value).is_int()
}

/// Returns the operand of a value that can be rematerialized.
fn operand(func: &Function, value: Value) -> Option<Value> {
    func.dfg.inst_args(func.dfg.first_result_of(value)?).first().copied()
}

/// Returns `true` if a value that is used in a loop is defined outside of it.
fn comes_from_outside(func: &Function, analyses: &Analyses, value: Value, each: Loop) -> bool {
    let block = func.defining_block(value);
    let number = |block| analyses.dominators.preorder_number(block);
    block.is_some_and(|block| number(block) < number(analyses.loops.header(each)))
}

/// Inserts a copy of the definition of `value` before an instruction, and returns its result.
fn make_again(func: &mut Function, value: Value, before: Inst) -> Value {
    let Some(def) = func.dfg.first_result_of(value) else { return value };
    let data = *func.dfg.inst(def);
    let inst = func.dfg.make_inst(data);
    func.dfg.make_results(inst, data.controlling_type());
    func.layout.insert_inst(inst, before);
    let location = func.srcloc(before);
    if !location.is_none() {
        func.srclocs[inst] = location;
    }
    func.dfg.inst_results(inst)[0]
}
