//! Requests for places of the source's variables, if the function names any, under the setting `debug_values`.
//!
//! ```text
//! v1 = call f()       n = f()         label 0 = v1 over i4..i6      up to the next definition of `n`
//! v2 = iadd v1, v0    n = n + x       label 0 = v2 over i7..i9
//! ```
//! A variable has the value that was defined last on every path. Where paths disagree, it has none, and debuggers show
//! none. A forward analysis finds the value by block: the meet of two different values is no value (Kildall, "A
//! Unified Approach to Global Program Optimization", 1973). A label is the index of a variable.
//!
//! Limits: no place is known in a block that assigns a value without a register, which is a constant or is never used,
//! or a value that was defined before. The optimizer may remove a value that is never used, and the one before it seems
//! to be current then. It may also remove the block of an assignment, and the variable has no place then. Neither has a
//! variable without a value of 8 to 64 bits.
//!
//! Cost: linear in the blocks and edges for each variable.

use super::LowerCtx;
use super::value_labels::{Liveness, TYPES};
use crate::block_order::MachineBlock;
use crate::compiled::ValueConstant;
use cranelift_entity::EntityRef;
use kingpost_ir::{Block as IrBlock, Type, Value};
use kingpost_regalloc::{Block, Inst, LabelUse, VReg};
use std::collections::{BTreeMap, BTreeSet};

/// The value that a variable has at a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    /// No path leads there, as far as is known.
    Unreached,
    /// The register of the last definition.
    In(VReg),
    /// Different values, or a value without a register.
    Nothing,
}

impl Known {
    fn meet(self, other: Known) -> Known {
        match (self, other) {
            (Known::Unreached, known) | (known, Known::Unreached) => known,
            _ if self == other => self,
            _ => Known::Nothing,
        }
    }
}

/// A value of a variable, and the block that assigns it after its definition.
type Assigned = (Value, Option<IrBlock>);

/// A value in a register.
struct ValueRanges {
    /// Block of the definition, and the instruction before which the value is defined first.
    block: Block,
    from: Inst,
    vreg: VReg,
    ranges: Vec<(Inst, Inst)>,
}

/// Definitions of one variable.
#[derive(Default)]
struct Definitions {
    /// By block, in order: the instruction before which a value is current first, and its register.
    by_block: BTreeMap<Block, Vec<(Inst, VReg)>>,
    /// Blocks with assignments at unknown points, and the values at their ends.
    hidden: BTreeMap<Block, Known>,
}

impl Definitions {
    /// Returns the value at the end of a block.
    fn at_end(&self, block: Block, at_start: Known) -> Known {
        match (self.by_block.get(&block).and_then(|list| list.last()), self.hidden.get(&block)) {
            (None, None) => at_start,
            (Some(&(_, vreg)), None) => Known::In(vreg),
            (None, Some(&known)) => known,
            // The order is unknown.
            (Some(_), Some(_)) => Known::Nothing,
        }
    }

    /// Adds an assignment at an unknown point.
    fn hide(&mut self, block: Block, known: Known) {
        self.hidden.entry(block).and_modify(|other| *other = Known::Nothing).or_insert(known);
    }
}

impl LowerCtx<'_> {
    /// Requests the values of all variables, and records the constant ones.
    pub(super) fn label_variables(&mut self, liveness: &mut Liveness) {
        let mut values: Vec<Vec<Assigned>> = vec![Vec::new(); self.func.variables.len()];
        for (&value, labels) in &self.func.value_labels {
            for label in labels {
                values[label.label.index()].push((self.func.dfg.resolve_aliases(value), label.assigned));
            }
        }
        let blocks: BTreeMap<IrBlock, Block> = (self.cx.order.blocks().iter().enumerate())
            .filter_map(|(index, origin)| match origin {
                MachineBlock::Ir(block) => Some((*block, Block::new(index))),
                MachineBlock::Edge { .. } => None,
            })
            .collect();
        for (label, values) in values.iter_mut().enumerate() {
            values.sort_unstable();
            values.dedup();
            self.label_variable(label as u32, values, &blocks, liveness);
        }
        self.code.variables.extend(self.func.variables.values().cloned());
    }

    fn label_variable(
        &mut self,
        label: u32,
        values: &[Assigned],
        blocks: &BTreeMap<IrBlock, Block>,
        liveness: &mut Liveness,
    ) {
        let Some(ty) = values.first().map(|&(value, _)| self.func.dfg.value_type(value)) else { return };
        if let (&[(value, _)], true) = (values, TYPES.contains(&ty))
            && let Some(bits) = self.constant_of_any_type(value)
        {
            return self.code.constants.push(ValueConstant { value: label, ty, bits });
        }
        let (mut definitions, mut ranges, mut seen) = (Definitions::default(), Vec::new(), BTreeSet::new());
        for &(value, assigned) in values {
            let place = self.ranges_of(value, ty, liveness);
            let known = place.as_ref().map_or(Known::Nothing, |found| Known::In(found.vreg));
            match (&place, assigned) {
                (&Some(ValueRanges { block, from, vreg, .. }), None) => {
                    definitions.by_block.entry(block).or_default().push((from, vreg));
                }
                (_, Some(block)) => match blocks.get(&block) {
                    Some(&block) => definitions.hide(block, known),
                    None => return,
                },
                (None, None) => {
                    if let Some(&block) = self.func.defining_block(value).and_then(|block| blocks.get(&block)) {
                        definitions.hide(block, Known::Nothing);
                    }
                }
            }
            if let Some(ValueRanges { vreg, ranges: of_value, .. }) = place
                && seen.insert(vreg)
            {
                ranges.extend(of_value.into_iter().map(|(from, to)| LabelUse { label, vreg, from, to }));
            }
        }
        if ranges.is_empty() {
            return;
        }
        definitions.by_block.values_mut().for_each(|list| list.sort_unstable());
        let at_start = self.known_at_starts(&definitions);
        for range in ranges {
            let block = self.code.problem.block_of(range.from);
            if !definitions.hidden.contains_key(&block) {
                self.request_current(range, at_start[block.index()], definitions.by_block.get(&block));
            }
        }
        self.code.value_types.push((label, ty));
    }

    /// Returns the register and the ranges of a value. Returns `None` if it has another type, no register, or no use.
    fn ranges_of(&self, value: Value, ty: Type, liveness: &mut Liveness) -> Option<ValueRanges> {
        let dfg = &self.func.dfg;
        let [Some(vreg), None] = self.cx.value_regs[value.index()].map(|part| part.expand()) else { return None };
        let (block, from) = liveness.definition(vreg)?;
        let ranges = liveness.ranges(&self.code.problem, vreg);
        let is_shown = dfg.value_type(value) == ty && TYPES.contains(&ty);
        let is_used = ranges.iter().any(|&(start, _)| self.code.problem.block_of(start) == block);
        (is_shown && is_used).then_some(ValueRanges { block, from, vreg, ranges })
    }

    /// Returns the value of a variable at the start of each block.
    fn known_at_starts(&self, definitions: &Definitions) -> Vec<Known> {
        let problem = &self.code.problem;
        let mut starts = vec![Known::Unreached; problem.blocks().count()];
        starts[0] = Known::Nothing;
        // Each block changes at most twice, so that a list of blocks to visit is bounded by the edges.
        let mut waiting: Vec<Block> = problem.blocks().collect();
        waiting.reverse();
        while let Some(block) = waiting.pop() {
            let before = starts[block.index()];
            let known = problem.preds(block).iter().fold(before, |known, &edge| {
                let from = problem.edge(edge).from;
                known.meet(definitions.at_end(from, starts[from.index()]))
            });
            if known != before {
                starts[block.index()] = known;
                waiting.extend(problem.succs(block).iter().map(|&edge| problem.edge(edge).to));
            }
        }
        starts
    }

    /// Requests those parts of a range in which its value is current. The range is in one block.
    fn request_current(&mut self, range: LabelUse, at_start: Known, defined: Option<&Vec<(Inst, VReg)>>) {
        let defined = defined.map_or(&[][..], |list| list);
        let problem = &self.code.problem;
        let mut known = (problem.first_inst(problem.block_of(range.from)), at_start);
        let mut parts = Vec::new();
        for &(from, vreg) in defined.iter().chain([&(range.to, range.vreg)]) {
            if known.1 == Known::In(range.vreg) {
                parts.push((known.0.max(range.from), from.min(range.to)));
            }
            known = (from, Known::In(vreg));
        }
        let requests = parts.into_iter().filter(|(from, to)| from < to);
        self.code.problem.labels.extend(requests.map(|(from, to)| LabelUse { from, to, ..range }));
    }
}
