//! The checker itself: rules without states first, then the fixpoint over block entries, then, if an error was
//! found, one reporting walk.

use crate::entry::{Arrival, Entries};
use crate::error::{CheckError, Entity, Rule};
use crate::flow::Flow;
use crate::labels::Labels;
use crate::operands::OperandRules;
use crate::report::Report;
use crate::state::State;
use crate::structural_rules::{self, CheckInput};
use crate::value_numbering::ValueNumbering;
use crate::walk::Walk;
use cranelift_entity::EntityRef;
use kingpost_meter::Meter;
use kingpost_meter::heap_bytes;
use kingpost_regalloc::{Allocation, Block, Edge, MachineEnv, Problem, RegClass};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Checks one allocation at a time, and reuses its memory.
#[derive(Default)]
pub struct Checker {
    flow: Flow,
    operands: OperandRules,
    labels: Labels,
    names: ValueNumbering,
    state: State,
    entries: Entries,
    /// Roots to be walked: ones ahead in the order, and ones to return to.
    ahead: BinaryHeap<Reverse<usize>>,
    back: BinaryHeap<usize>,
    queued: Vec<bool>,
    walked: Vec<bool>,
    pending: Vec<Pending>,
    failed: bool,
    meter: Arc<Meter>,
}

heap_bytes!(Checker { flow, operands, labels, names, state, entries, ahead, back, queued, walked, pending } without { failed, meter });

/// A block to be walked from the last saved state.
struct Pending {
    block: Block,
    via: Edge,
    /// Whether the saved state is not needed after that.
    last: bool,
}

impl Checker {
    /// Creates a checker.
    pub fn new() -> Checker {
        Checker::default()
    }

    /// Returns this checker, set to charge its work to `meter`. It rejects every allocation that it has not checked to the
    /// end when the meter refuses.
    #[must_use]
    pub fn metered_by(mut self, meter: Arc<Meter>) -> Checker {
        self.meter = meter;
        self
    }

    /// Accepts `answer` if on every path every use reads the value that it reads in `problem`, and all other rules
    /// hold.
    ///
    /// `problem` must keep the rules of its own verifier.
    ///
    /// # Errors
    /// The first few dozen broken rules, in the order of the code. Rules about contents are checked only if all
    /// other rules hold.
    pub fn check(&mut self, problem: &Problem, env: &MachineEnv, answer: &Allocation) -> Result<(), Vec<CheckError>> {
        let input = CheckInput::new(problem, env, answer);
        let mut report = Report::default();
        self.names.reset(problem);
        if self.meter.reserve(3 * problem.size() + answer.edits.len() as u64).is_err() {
            report.add(CheckError::new(Rule::TooLarge, Entity::Allocation));
            return report.finish();
        }
        if structural_rules::counts(input, &mut report) {
            self.rules_without_states(input, &mut report);
        }
        if report.is_empty() && problem.num_blocks() > 0 {
            self.flow.compute(problem);
            self.names.number_classes(problem, &self.flow);
            match self.solve(input) {
                // Every root was walked again after its entry last changed, so that the errors found on the way are
                // complete.
                true if !self.failed && answer.labels.is_empty() => self.reached(input, &mut report),
                true => self.report(input, &mut report),
                false => report.add(CheckError::new(Rule::TooLarge, Entity::Allocation)),
            }
        }
        report.finish()
    }

    fn rules_without_states(&mut self, input: CheckInput, report: &mut Report) {
        structural_rules::emergency_slots(input, report);
        structural_rules::edits(input, report);
        structural_rules::stack_maps(input, report);
        structural_rules::label_ranges(input, report);
        self.operands.check(input, &mut self.names, report);
        structural_rules::callee_saved(input, self.operands.written, report);
    }

    /// Lowers the entry states until every edge into a root guarantees at least the state stored there. Returns
    /// `false` if there are too many classes. Terminates because a root is queued again only if its entry state was
    /// lowered.
    fn solve(&mut self, input: CheckInput) -> bool {
        let roots = self.flow.roots.len();
        self.state.reset(input.problem, input.env, input.answer.slots.len());
        self.entries.reset(roots, self.state.regs.len());
        self.failed = false;
        self.walked.clear();
        self.walked.resize(input.problem.num_blocks(), false);
        self.queued.clear();
        self.queued.resize(roots, false);
        self.ahead.clear();
        self.back.clear();
        self.ahead.push(Reverse(0));
        while let Some(root) = self.next_root() {
            self.queued[root] = false;
            self.walk_from(input, root, None);
            if self.names.is_full() || self.meter.status().is_err() {
                return false;
            }
        }
        true
    }

    /// Returns the root to walk next. A loop is walked as a whole until it is stable, before the code after it.
    fn next_root(&mut self) -> Option<usize> {
        let ahead = self.ahead.peek().map(|&Reverse(root)| root);
        let back = self.back.peek().copied();
        match (back, ahead) {
            (Some(back), Some(ahead)) if self.flow.last_latch[back] as usize >= ahead => {
                self.ahead.pop().map(|of| of.0)
            }
            (None, _) => self.ahead.pop().map(|of| of.0),
            (Some(_), _) => self.back.pop(),
        }
    }

    fn report(&mut self, input: CheckInput, report: &mut Report) {
        self.state.watched = self.labels.prepare(input.problem, input.answer);
        for root in 0..self.flow.roots.len() {
            if self.entries.is_reached(root) && !report.is_full() {
                self.walk_from(input, root, Some(report));
            }
        }
        self.reached(input, report);
    }

    /// Checks rule 25.
    fn reached(&self, input: CheckInput, report: &mut Report) {
        let missed = |block: &Block| self.flow.reaches(*block) && !self.walked[block.index()];
        if let Some(block) = input.problem.blocks().find(missed) {
            report.add(CheckError::new(Rule::Reached, Entity::Block(block)));
        }
    }

    /// Walks a root and the blocks that are entered only through it. Without a report, joins the states on the
    /// edges into other roots to their entries.
    fn walk_from(&mut self, input: CheckInput, root: usize, mut report: Option<&mut Report>) {
        let (regs, version) = self.entries.get(root, self.state.regs.len());
        let block = self.flow.roots[root];
        self.state.begin(regs, version, (root != 0).then_some(block));
        let nodes = self.state.slots.len();
        let mut next = Some((block, None));
        while let Some((block, via)) = next {
            self.visit(input, block, via, &mut report);
            next = self.successors(input, block, root, report.is_some()).or_else(|| {
                let Pending { block, via, last } = self.pending.pop()?;
                self.state.restore(last);
                Some((block, Some(via)))
            });
        }
        self.state.slots.give_back(nodes);
    }

    fn visit(&mut self, input: CheckInput, block: Block, via: Option<Edge>, report: &mut Option<&mut Report>) {
        self.walked[block.index()] = true;
        // A refusal is found after the walk from the root.
        let _ = self.meter.spend(input.problem.insts(block).len() as u64);
        let has_private = input.answer.emergency.iter().any(Option::is_some)
            || RegClass::ALL.iter().any(|&class| input.env.class(class).scratch.is_some());
        let mut walk = Walk {
            input,
            names: &mut self.names,
            state: &mut self.state,
            terminator_defs: &self.operands.terminator_defs,
            has_private,
            failed: &mut self.failed,
            report: report.as_deref_mut().map(|report| (report, &mut self.labels)),
        };
        if let Some(edge) = via {
            walk.edge(edge);
        }
        walk.block(block);
    }

    /// Processes the edges out of `block`, which is walked for root number `root`: joins states at roots. Returns a
    /// block that is entered only from here, to be walked next, and leaves other such blocks for later.
    fn successors(
        &mut self,
        input: CheckInput,
        block: Block,
        root: usize,
        checking: bool,
    ) -> Option<(Block, Option<Edge>)> {
        let problem = input.problem;
        let first = self.pending.len();
        for &edge in problem.succs(block) {
            let to = problem.edge(edge).to;
            match self.flow.root(to) {
                Some(to) if !checking => self.arrive(problem, edge, root, to),
                Some(_) => {}
                None => self.pending.push(Pending { block: to, via: edge, last: false }),
            }
        }
        if self.pending.len() > first + 1 {
            self.state.save();
            // A block from which no further block is entered is walked first, so that a long chain is not kept
            // completely.
            let leads_on = |p: &Pending| {
                problem.succs(p.block).iter().any(|&edge| self.flow.root(problem.edge(edge).to).is_none())
            };
            if let Some(longest) = (first..self.pending.len()).find(|&i| leads_on(&self.pending[i])) {
                self.pending.swap(first, longest);
            }
            self.pending[first].last = true;
        }
        match self.pending.len() > first {
            true => self.pending.pop().map(|next| (next.block, Some(next.via))),
            false => None,
        }
    }

    /// Joins the state at the end of an edge from root number `from` to root number `root`.
    fn arrive(&mut self, problem: &Problem, edge: Edge, from: usize, root: usize) {
        let changed = self.entries.join(&mut self.state, &mut self.names, Arrival { problem, edge, root });
        if !changed || self.queued[root] {
            return;
        }
        self.queued[root] = true;
        match root > from {
            true => self.ahead.push(Reverse(root)),
            false => self.back.push(root),
        }
    }
}
