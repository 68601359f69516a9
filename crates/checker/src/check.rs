//! The checker itself: rules without states first, then the fixpoint over block entries, then one reporting walk.

use crate::entry::{Entry, Meet};
use crate::error::{CheckError, Place, Rule};
use crate::flow::Flow;
use crate::labels::Labels;
use crate::operands::OperandRules;
use crate::report::Report;
use crate::shape::{self, Input};
use crate::state::{Class, Mark, State};
use crate::walk::Walk;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, Block, Edge, Inst, InstFlags, MachineEnv, Problem, VReg};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Checks one allocation after another, reusing its memory.
#[derive(Default)]
pub struct Checker {
    flow: Flow,
    operands: OperandRules,
    labels: Labels,
    state: State,
    entries: Vec<Entry>,
    meet: Meet,
    params: Vec<(VReg, Class)>,
    queue: BinaryHeap<Reverse<usize>>,
    queued: Vec<bool>,
    walked: Vec<bool>,
    steps: Vec<Step>,
}

enum Step {
    Enter(Block, Edge),
    Undo(Mark),
}

impl Checker {
    /// A checker without memory of anything.
    pub fn new() -> Checker {
        Checker::default()
    }

    /// Accepts `answer` if on every path every use reads the value that it reads in `problem`, and all other rules hold.
    ///
    /// `problem` must keep the rules of its own verifier.
    ///
    /// # Errors
    /// The broken rules, in the order of the code, the first few dozen of them. Rules about contents are looked at only
    /// if all others hold.
    pub fn check(&mut self, problem: &Problem, env: &MachineEnv, answer: &Allocation) -> Result<(), Vec<CheckError>> {
        let input = Input::new(problem, env, answer);
        let mut report = Report::default();
        if shape::counts(input, &mut report) {
            self.rules_without_states(input, &mut report);
        }
        if report.is_empty() && problem.num_blocks() > 0 {
            self.flow.compute(problem);
            match self.solve(input) {
                true => self.report(input, &mut report),
                false => report.add(CheckError::new(Rule::TooLarge, Place::Whole)),
            }
        }
        report.finish()
    }

    fn rules_without_states(&mut self, input: Input, report: &mut Report) {
        shape::emergency_slots(input, report);
        shape::edits(input, report);
        shape::callee_saved(input, report);
        shape::stack_maps(input, report);
        shape::label_ranges(input, report);
        self.operands.check(input, report);
    }

    /// Lowers the entry states until every way into a root knows at least what is stored there. `false`: too large.
    fn solve(&mut self, input: Input) -> bool {
        let roots = self.flow.roots.len();
        let problem = input.problem;
        let insts = (0..problem.num_insts()).map(Inst::new).filter(|&inst| problem.flags(inst).has(InstFlags::REMAT));
        let constants = insts.flat_map(|inst| problem.operands(inst)).map(|operand| operand.vreg());
        self.state.reset(problem, input.answer.slots.len(), constants);
        self.meet.next_class = problem.vregs.len();
        self.entries.iter_mut().for_each(Entry::clear);
        if self.entries.len() < roots {
            self.entries.resize_with(roots, Entry::default);
        }
        self.entries[0].reached = true;
        self.queued.clear();
        self.queued.resize(roots, false);
        self.queue.clear();
        self.queue.push(Reverse(0));
        while let Some(Reverse(root)) = self.queue.pop() {
            self.queued[root] = false;
            self.walk_from(input, root, None);
            if self.meet.is_full() {
                return false;
            }
        }
        true
    }

    fn report(&mut self, input: Input, report: &mut Report) {
        self.state.watched = self.labels.prepare(input.problem, input.answer);
        self.walked.clear();
        self.walked.resize(input.problem.num_blocks(), false);
        for root in 0..self.flow.roots.len() {
            if self.entries[root].reached && !report.is_full() {
                self.walk_from(input, root, Some(report));
            }
        }
        let missed = |block: &Block| self.flow.reaches(*block) && !self.walked[block.index()];
        if !report.is_full()
            && let Some(block) = input.problem.blocks().find(missed)
        {
            report.add(CheckError::new(Rule::Reached, Place::Block(block)));
        }
    }

    /// Walks a root and the blocks that are entered only through it. With a report, checks; else joins what is known on
    /// the edges into other roots to their entries.
    fn walk_from(&mut self, input: Input, root: usize, mut report: Option<&mut Report>) {
        let start = self.state.mark();
        let block = self.flow.roots[root];
        self.state.begin(self.entries[root].version, (root != 0).then_some(block));
        self.visit(input, block, None, &mut report);
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Enter(block, edge) => {
                    self.steps.push(Step::Undo(self.state.mark()));
                    self.visit(input, block, Some(edge), &mut report);
                }
                Step::Undo(mark) => self.state.undo(mark),
            }
        }
        self.state.undo(start);
    }

    fn visit(&mut self, input: Input, block: Block, via: Option<Edge>, report: &mut Option<&mut Report>) {
        let checking = report.is_some();
        let mut walk = Walk {
            input,
            state: &mut self.state,
            terminator_defs: &self.operands.terminator_defs,
            params: &mut self.params,
            report: report.as_deref_mut().map(|report| (report, &mut self.labels)),
        };
        if let Some(edge) = via {
            walk.edge(edge);
        }
        walk.block(block);
        if checking {
            self.walked[block.index()] = true;
        }
        for &edge in input.problem.succs(block).iter().rev() {
            let to = input.problem.edge(edge).to;
            match self.flow.root(to) {
                None => self.steps.push(Step::Enter(to, edge)),
                Some(_) if checking => {}
                Some(root) => self.arrive(input, edge, root),
            }
        }
    }

    fn arrive(&mut self, input: Input, edge: Edge, root: usize) {
        let mark = self.state.mark();
        let mut walk = Walk {
            input,
            state: &mut self.state,
            terminator_defs: &self.operands.terminator_defs,
            params: &mut self.params,
            report: None,
        };
        walk.edge(edge);
        let changed = self.entries[root].join(&mut self.state, &mut self.meet, root);
        self.state.undo(mark);
        if changed && !self.queued[root] {
            self.queued[root] = true;
            self.queue.push(Reverse(root));
        }
    }
}
