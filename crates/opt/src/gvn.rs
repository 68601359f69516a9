//! Value numbering: replaces equal pure instructions by one. Each instruction is simplified by the rewrite rules
//! before it is looked up.
//!
//! ```text
//! v2 = iadd v0, v1                         v2 = iadd v0, v1
//! brif v0, block1, block2                  v5 = imul v2, v2
//! block1: v3 = iadd v1, v0                 brif v0, block1, block2
//!         v4 = imul v3, v3                 block1: return v5
//!         return v4                        block2: return v5
//! block2: v5 = imul v2, v2
//!         return v5
//! ```
//!
//! Needs the [`Analyses`]; the function may use aliases. Leaves no aliases in use, and `Analyses` valid unless edges
//! have changed. Blocks are visited in preorder of the dominator tree, so that every operand is final before it is
//! used. An instruction stays in its block. If its block does not dominate the block of an equal instruction, it
//! moves to the end of their common dominator, provided that the common dominator does not run more often than both
//! blocks together.
//!
//! In a large loop and in the loops inside it, a cheap instruction of one operand stays in every block that has it,
//! because a shared result would take a register or a spill slot between the blocks. A cheap instruction of a
//! register and a constant stays in a loop of medium size already. If registers are few, both kinds stay in loops
//! of medium size.
//!
//! The scheme is hash-consing with rules on insertion, as in LuaJIT's FOLD and V8's reducers. Cost: linear in
//! instructions, with rules tried on at most [`FUEL`] requests for each.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_ir::loops::LoopForest;
use kingpost_ir::type_class::Allowed;
use kingpost_ir::{Block, Function, Inst, InstData, Opcode, Type, Value};

use crate::facts::Facts;
use crate::fold::{self, Constant};
use crate::memory::Memory;
use crate::observer::{Observer, Subject};
use crate::purity::{Purity, constant, never_traps, purity};
use crate::rewrite::{self, Applications, Effect, Graph, Rule};
use crate::value_table::ValueTable;
use kingpost_ir::analyses::Analyses;
use kingpost_meter::Meter;
use kingpost_meter::heap_bytes;

/// Maximum number of requests on which rules are tried for each instruction of the input, including the instruction
/// itself.
const FUEL: u32 = 16;

/// Change to the edges of the control-flow graph. Of several changes, the greatest in this order counts.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Edges {
    Kept,
    /// The destinations of some branches were exchanged.
    Reordered,
    /// Some edges were removed.
    Died,
}

/// A loop of this many blocks is large: values compete for registers all around it.
const LARGE_LOOP: u32 = 200;
/// A loop of this many blocks is large for machines with few registers, and of medium size for other machines.
pub(crate) const MEDIUM_LOOP: u32 = 30;

/// Memory of the pass.
#[derive(Default, Debug)]
pub(crate) struct Gvn {
    table: ValueTable,
    memory: Memory,
    /// Representative of each value; the value itself if there is no entry. The representative of an alias may
    /// itself have a representative, which is the final one.
    representatives: SecondaryMap<Value, PackedOption<Value>>,
    pub(crate) applications: Applications,
    /// Whether accesses to memory are kept unchanged.
    pub(crate) keeps_accesses: bool,
    /// Whether short code is better than fast code.
    pub(crate) prefers_size: bool,
    /// Whether the machine has few registers.
    pub(crate) has_few_registers: bool,
    pub(crate) observer: Option<Box<dyn Observer>>,
    /// By value: number of uses when a rule first required it, including the uses of the values that it represents.
    uses: SecondaryMap<Value, u8>,
    /// Blocks with one destination that have lost loads.
    pub(crate) shortened: Vec<Block>,
    facts: Facts,
}

heap_bytes!(Gvn { table, memory, representatives, applications, uses, shortened, facts } without { keeps_accesses, prefers_size, has_few_registers, observer });

impl Gvn {
    /// Runs the pass. Returns the change to the edges of the control-flow graph.
    pub(crate) fn run(&mut self, func: &mut Function, analyses: &Analyses, meter: &Meter) -> Edges {
        // Few functions number more values than they have instructions.
        self.table.reset(func.dfg.num_insts());
        self.representatives.clear();
        self.representatives.resize(func.dfg.num_values());
        func.dfg.compress_aliases();
        for (alias, value) in func.dfg.aliases() {
            self.representatives[alias] = value.into();
        }
        self.memory.reset(func, analyses);
        self.shortened.clear();
        self.facts.reset(func.dfg.num_values());
        let Some(entry) = func.layout.entry_block() else { return Edges::Kept };
        let large_loop = if self.has_few_registers { MEDIUM_LOOP } else { LARGE_LOOP };
        let Gvn { table, memory, representatives, applications, observer, uses, shortened, facts, .. } = self;
        let mut walk = Walk {
            func,
            analyses,
            table,
            memory,
            representatives,
            applications,
            keeps_accesses: self.keeps_accesses,
            prefers_size: self.prefers_size,
            observer: observer.as_deref_mut(),
            uses,
            are_uses_counted: false,
            shortened,
            facts,
            has_lost_load: false,
            block: entry,
            large_loop,
            loop_size: 0,
            before: Inst::new(0),
            fuel: 0,
            traps: Vec::new(),
            edges: Edges::Kept,
            meter,
            requests: 0,
            paid: 0,
        };
        for &block in analyses.dominators.preorder() {
            if meter.status().is_err() {
                return walk.edges;
            }
            walk.visit_block(block);
        }
        // A refusal is found at the end of the stage.
        let _ = meter.spend_rest(walk.requests, &mut walk.paid);
        walk.end_at_traps();
        walk.edges
    }
}

/// The walk over the instructions.
pub(crate) struct Walk<'a> {
    pub(crate) func: &'a mut Function,
    pub(crate) analyses: &'a Analyses,
    pub(crate) table: &'a mut ValueTable,
    pub(crate) memory: &'a mut Memory,
    pub(crate) representatives: &'a mut SecondaryMap<Value, PackedOption<Value>>,
    applications: &'a mut Applications,
    pub(crate) keeps_accesses: bool,
    prefers_size: bool,
    observer: Option<&'a mut (dyn Observer + 'static)>,
    pub(crate) uses: &'a mut SecondaryMap<Value, u8>,
    pub(crate) are_uses_counted: bool,
    shortened: &'a mut Vec<Block>,
    pub(crate) facts: &'a mut Facts,
    /// Whether the block that is visited has lost a load.
    has_lost_load: bool,
    /// The block that is visited.
    pub(crate) block: Block,
    /// Minimum number of blocks of a large loop.
    pub(crate) large_loop: u32,
    /// Number of blocks of the largest loop around the block, as far as `loop_size` counts.
    pub(crate) loop_size: u32,
    /// The instruction that is visited; new instructions are inserted before it.
    pub(crate) before: Inst,
    fuel: u32,
    /// Conditional traps that always occur.
    pub(crate) traps: Vec<Inst>,
    pub(crate) edges: Edges,
    meter: &'a Meter,
    /// Requests on which rules were tried.
    requests: u64,
    /// Requests that the meter has counted.
    paid: u64,
}

impl Walk<'_> {
    fn visit_block(&mut self, block: Block) {
        self.block = block;
        self.loop_size = if self.prefers_size { 0 } else { loop_size(&self.analyses.loops, block) };
        self.memory.enter(block, self.analyses);
        self.enter_facts();
        let mut next = self.func.layout.first_inst(block);
        while let Some(inst) = next {
            next = self.func.layout.next_inst(inst);
            self.before = inst;
            self.visit(inst);
        }
        self.memory.leave(block);
        if std::mem::take(&mut self.has_lost_load) && self.func.dfg.opcode(self.before) == Opcode::Jump {
            self.shortened.push(block);
        }
    }

    fn visit(&mut self, inst: Inst) {
        self.fuel = FUEL;
        let opcode = self.func.dfg.opcode(inst);
        match purity(opcode) {
            Purity::Constant => self.number_only(inst),
            Purity::Pure if matches!(opcode, Opcode::Icmp | Opcode::Select) && self.replace_implied(inst) => {}
            Purity::Pure => self.visit_pure(inst),
            purity => self.visit_other(inst, purity),
        }
    }

    /// Visits an instruction that is neither a constant nor pure with one result.
    fn visit_other(&mut self, inst: Inst, purity: Purity) {
        self.resolve_operands(inst);
        match purity {
            Purity::Constant | Purity::Pure => {}
            Purity::PureMany => self.visit_pure_many(inst),
            Purity::Trap => self.visit_trap(inst),
            Purity::Load => {
                self.visit_load(inst);
                self.has_lost_load |= self.func.layout.inst_block(inst).is_none();
            }
            Purity::Store => self.visit_store(inst),
            Purity::Local => {}
            Purity::Effect => self.visit_effect(inst),
        }
    }

    /// Replaces operands by their representatives.
    pub(crate) fn resolve_operands(&mut self, inst: Inst) {
        let representatives = &*self.representatives;
        self.func.dfg.map_values(inst, |value| representative(representatives, value));
    }

    /// Numbers a pure instruction whose opcode is the root of no rule.
    pub(crate) fn number_only(&mut self, inst: Inst) {
        let data = *self.func.dfg.inst(inst);
        if let Some(result) = self.func.dfg.first_result(inst) {
            self.number_existing(data.key(), &data, inst, result);
        }
    }

    fn visit_pure(&mut self, inst: Inst) {
        // No operand of a pure instruction is the argument of a branch.
        for value in self.func.dfg.inst_args_mut(inst) {
            *value = representative(self.representatives, *value);
        }
        let mut data = *self.func.dfg.inst(inst);
        let Some(result) = self.func.dfg.first_result(inst) else { return };
        if self.may_be_simplified(&data) {
            if self.order_operands(&mut data) {
                self.func.dfg.replace_inst(inst, data);
            }
            if let Some(value) = self.simplified(&data) {
                return self.replace(inst, result, value);
            }
        }
        self.number_existing(data.unordered_key(), &data, inst, result);
    }

    /// Returns `true` if constant folding or rules may simplify an instruction.
    #[inline]
    pub(crate) fn may_be_simplified(&self, data: &InstData) -> bool {
        let dfg = &self.func.dfg;
        rewrite::may_match(data, |value| Some(dfg.inst(dfg.first_result_of(value)?)), |value| dfg.value_type(value))
    }

    fn visit_pure_many(&mut self, inst: Inst) {
        let data = *self.func.dfg.inst(inst);
        if let Some(first) = self.func.dfg.first_result(inst) {
            let value = self.number(&data, Some(first));
            if value != first {
                self.replace_all(inst, value);
            }
        }
    }

    /// Visits an instruction that may trap, and that is superfluous if an equal one before it has not trapped.
    fn visit_trap(&mut self, inst: Inst) {
        if matches!(self.func.dfg.opcode(inst), Opcode::Trapz | Opcode::Trapnz) {
            if self.visit_condition(inst) {
                self.number_trap(inst);
            }
            return;
        }
        let data = *self.func.dfg.inst(inst);
        if never_traps(self.func, &data) {
            return self.visit_pure(inst);
        }
        if let Some(result) = self.func.dfg.first_result(inst)
            && let Some(value) = self.simplified(&data)
        {
            return self.replace(inst, result, value);
        }
        self.number_trap(inst);
    }

    /// Returns the effect by which rules replace an instruction that is executed for its effect, if a rule matches.
    pub(crate) fn effect_of_rules(&mut self, data: &InstData) -> Option<Effect> {
        if self.fuel == 0 {
            self.applications.exhaust();
            return None;
        }
        self.fuel -= 1;
        let effect = rewrite::replace_effect(self, data)?;
        if let Some(observer) = &mut self.observer {
            observer.replaced(self.func, data, effect);
        }
        Some(effect)
    }

    /// Removes a trap if an equal one dominates it, and records it otherwise.
    fn number_trap(&mut self, inst: Inst) {
        let key = self.func.dfg.inst(inst).key();
        let (place, entry) = self.table.find(key);
        if let Some(earlier) = entry.map(Inst::from_u32)
            && let Some(block) = self.func.layout.inst_block(earlier)
            && self.analyses.dominators.dominates(block, self.block)
        {
            match self.func.dfg.first_result(earlier) {
                Some(value) => self.replace_all(inst, value),
                None => self.func.layout.remove_inst(inst),
            }
            return;
        }
        self.table.set(place, key, inst.as_u32());
        if matches!(self.func.dfg.opcode(inst), Opcode::Trapz | Opcode::Trapnz) {
            self.learn_from_trap(inst);
        }
        self.memory.observe();
    }

    fn visit_effect(&mut self, inst: Inst) {
        self.memory.visit(self.func.dfg.inst(inst));
        if self.func.dfg.opcode(inst).is_branch() {
            self.visit_branch(inst);
        }
    }

    /// Moves a constant operand to the right. Returns `true` if the operands were exchanged.
    #[inline]
    fn order_operands(&self, data: &mut InstData) -> bool {
        let cond = data.int_cond();
        let may_swap = data.opcode().is_commutative() || cond.is_some();
        let is_swapped = may_swap
            && matches!(*data.args(), [x, y] if constant(self.func, x).is_some() && constant(self.func, y).is_none());
        if is_swapped {
            data.args_mut().swap(0, 1);
            if let Some(cond) = cond {
                *data = data.with_small(cond.swap_args() as u8);
            }
        }
        is_swapped
    }

    /// Returns the value to which constant folding or rules simplify an instruction.
    fn simplified(&mut self, data: &InstData) -> Option<Value> {
        let value = match self.folded(data) {
            Some((ty, bits)) => self.iconst(ty, bits),
            None => self.rewritten(data)?,
        };
        self.tell(Subject::Request(*data), value);
        Some(value)
    }

    pub(crate) fn tell(&mut self, subject: Subject, value: Value) {
        if let Some(observer) = &mut self.observer {
            observer.simplified(self.func, subject, value);
        }
    }

    fn rewritten(&mut self, data: &InstData) -> Option<Value> {
        if self.fuel == 0 {
            self.applications.exhaust();
            return None;
        }
        self.fuel -= 1;
        self.requests += 1;
        // After a refusal, the rest of the block is numbered without rules.
        self.meter.spend_batch(self.requests, &mut self.paid).ok()?;
        rewrite::rewrite(self, data)
    }

    /// Returns the type and the bits of the result of an instruction whose operands are constants.
    fn folded(&self, data: &InstData) -> Option<(Type, u64)> {
        let constant = |value| {
            let bits = constant(self.func, value)?;
            Some(Constant { bits, width: self.func.dfg.value_type(value).bits() })
        };
        // Few operands are constants, so these are tested first.
        match *data.args() {
            [x] => {
                let (x, ty) = (constant(x)?, result_type(data)?);
                Some((ty, fold::unary(data.opcode(), ty, x)?))
            }
            [x, y] => {
                let (y, x) = (constant(y)?, constant(x)?);
                Some((result_type(data)?, fold::binary(data, x, y)?))
            }
            _ => None,
        }
    }

    /// Counts uses once in a function, and only if a rule requires it.
    fn count_uses(&mut self) {
        self.are_uses_counted = true;
        self.uses.clear();
        self.uses.resize(self.func.dfg.num_values());
        self.func.dfg.count_uses(&self.func.layout, self.uses.values_mut().into_slice());
        for (result, value) in self.representatives.iter() {
            if let Some(value) = value.expand() {
                self.uses[value] = self.uses[value].saturating_add(self.uses[result]);
            }
        }
    }
}

impl Graph for Walk<'_> {
    fn definition(&self, value: Value) -> Option<&InstData> {
        let data = self.func.dfg.inst(self.func.dfg.first_result_of(value)?);
        matches!(purity(data.opcode()), Purity::Pure | Purity::Constant | Purity::Load).then_some(data)
    }

    fn ty(&self, value: Value) -> Type {
        self.func.dfg.value_type(value)
    }

    #[inline]
    fn constant(&self, value: Value) -> Option<u64> {
        constant(self.func, value)
    }

    fn make(&mut self, mut request: InstData) -> Value {
        self.order_operands(&mut request);
        self.simplified(&request).unwrap_or_else(|| self.number(&request, None))
    }

    fn iconst(&mut self, ty: Type, bits: u64) -> Value {
        self.number(&InstData::iconst(ty, bits as i64), None)
    }

    fn is_sole(&mut self, value: Value) -> bool {
        if !self.are_uses_counted {
            self.count_uses();
        }
        self.uses[value] <= 1
    }

    fn prefers_size(&self) -> bool {
        self.prefers_size
    }

    fn has_one_destination(&self, _: &InstData) -> bool {
        let [a, b] = *self.func.dfg.branch_destinations(self.before) else { return false };
        a.block == b.block && self.func.dfg.block_args(a) == self.func.dfg.block_args(b)
    }

    fn may_apply(&mut self, rule: Rule) -> bool {
        self.applications.may_apply(rule)
    }
}

/// Returns the number of blocks of the largest loop around a block, or of the first loop found to be large. Each
/// loop has more blocks than the loops inside it, so few loops are visited.
fn loop_size(loops: &LoopForest, block: Block) -> u32 {
    let mut size = 0;
    let mut around = loops.innermost_loop(block);
    while let Some(each) = around.filter(|_| size < LARGE_LOOP) {
        size = loops.num_blocks(each);
        around = loops.parent(each);
    }
    size
}

/// Returns the type of the only result of a pure instruction if it is an integer of at most 64 bits.
fn result_type(data: &InstData) -> Option<Type> {
    let [result] = data.opcode().info().results else { return None };
    match result.resolve(data.controlling_type()) {
        Allowed::Exactly(ty) if ty.is_int() && ty.bits() <= 64 => Some(ty),
        _ => None,
    }
}

/// Returns the representative of a value.
pub(crate) fn representative(representatives: &SecondaryMap<Value, PackedOption<Value>>, value: Value) -> Value {
    match representatives[value].expand() {
        None => value,
        Some(first) => representatives[first].expand().unwrap_or(first),
    }
}
