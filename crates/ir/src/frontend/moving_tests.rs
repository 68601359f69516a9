//! Random programs whose references a collector moves at each call. An evaluator follows a path and checks that each
//! use reads the place to which the last call moved the object.

use super::*;
use crate::builder::{ControlBuilder, InstBuilder};
use crate::exception_table::ExceptionItem;
use crate::extfunc::ExternalName;
use crate::inst_view::InstView;
use crate::instruction::{BlockArg, BlockArgKind};
use crate::signature::{AbiParam, CallConv};
use crate::testing::{Random, random_edges};
use crate::types::{I8, I64};
use crate::verifier::verify;
use std::collections::HashMap;

const VARIABLES: usize = 5;
/// A reference is the number of the object times this, plus the number of moves so far.
const MOVES: i64 = 10_000;

#[derive(Copy, Clone)]
enum Statement {
    /// A new object.
    Create(usize),
    /// Assign the second variable to the first.
    Copy(usize, usize),
    /// Use the object in its variable.
    Use(usize),
    /// A call, which moves all objects, with the variable as its argument.
    Call(usize),
}

struct Program {
    edges: Vec<Vec<usize>>,
    steps: Vec<Vec<Statement>>,
    /// Whether a block with two successors ends in a `try_call`.
    throws: Vec<bool>,
}

impl Program {
    fn new(random: &mut Random) -> Program {
        let mut edges = random_edges(random, 9);
        edges.iter_mut().for_each(|succs| succs.truncate(2));
        let mut step = |_| {
            let [a, b] = [(); 2].map(|()| random.below(VARIABLES));
            match random.below(5) {
                0 => Statement::Create(a),
                1 => Statement::Copy(a, b),
                2 | 3 => Statement::Use(a),
                _ => Statement::Call(a),
            }
        };
        let steps = edges.iter().map(|_| (0..6).map(&mut step).collect()).collect();
        let throws = edges.iter().map(|_| random.below(2) == 0).collect();
        Program { edges, steps, throws }
    }

    /// Builds the program. A use is an `ineg`, and a new object an `iconst`.
    fn build(&self, func: &mut Function, seal_early: bool) {
        let mut cx = FrontendContext::default();
        let mut b = FunctionBuilder::new(func, &mut cx);
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.push(AbiParam::new(I64));
        let signature = b.import_signature(signature);
        let name = ExternalName::Named("collect".into());
        let collect = b.import_function(ExtFuncData { name, signature, colocated: false, patchable: false });
        let blocks: Vec<Block> = self.edges.iter().map(|_| b.create_block()).collect();
        let variables = [(); VARIABLES].map(|()| b.declare_var(I64));
        variables.iter().for_each(|&variable| b.declare_var_needs_stack_map(variable));
        let mut missing = vec![0; blocks.len()];
        self.edges.iter().flatten().for_each(|&succ| missing[succ] += 1);
        let mut object = 0;
        for (index, &block) in blocks.iter().enumerate() {
            b.switch_to_block(block);
            if seal_early && missing[index] == 0 {
                b.seal_block(block);
            }
            for &step in &self.steps[index] {
                match step {
                    Statement::Create(to) => {
                        object += 1;
                        let value = b.ins().iconst(I64, object * MOVES);
                        b.def_var(variables[to], value);
                    }
                    Statement::Copy(to, from) => {
                        let value = b.use_var(variables[from]);
                        b.def_var(variables[to], value);
                    }
                    Statement::Use(of) => {
                        let value = b.use_var(variables[of]);
                        b.ins().ineg(value);
                    }
                    Statement::Call(with) => {
                        let value = b.use_var(variables[with]);
                        b.ins().call(collect, &[value]);
                    }
                }
            }
            let dests: Vec<Block> = self.edges[index].iter().map(|&succ| blocks[succ]).collect();
            match dests[..] {
                [] => b.ins().return_(&[]),
                [dest] => b.ins().jump(dest, &[]),
                [normal, handler, ..] if self.throws[index] => {
                    let value = b.use_var(variables[0]);
                    let dfg = &mut b.func.dfg;
                    let [normal, handler] = [normal, handler].map(|block| dfg.block_call(block, &[]));
                    let table = dfg.make_exception_table(signature, normal, &[ExceptionItem::Default], &[handler]);
                    b.ins().try_call(collect, &[value], table)
                }
                [first, second, ..] => {
                    let cond = b.ins().iconst(I8, 0);
                    b.ins().brif(cond, first, &[], second, &[])
                }
            };
            self.edges[index].iter().for_each(|&succ| missing[succ] -= 1);
        }
        b.seal_all_blocks();
        b.finalize().unwrap();
    }
}

/// State of the evaluator.
#[derive(Default)]
struct Run {
    values: HashMap<Value, i64>,
    slots: HashMap<StackSlot, i64>,
    /// Slots by the values that are their addresses.
    addresses: HashMap<Value, StackSlot>,
    moves: i64,
    used: Vec<i64>,
}

impl Run {
    fn inst(&mut self, func: &Function, inst: Inst) {
        let result = func.dfg.first_result(inst);
        match func.dfg.view(inst) {
            InstView::UnaryImm { imm } => {
                self.values.insert(result.unwrap(), imm + self.moves);
            }
            InstView::StackAddr { slot, .. } => {
                self.addresses.insert(result.unwrap(), slot);
            }
            InstView::Load { addr, .. } => {
                self.values.insert(result.unwrap(), self.slots[&self.addresses[&addr]]);
            }
            InstView::Store { value, addr, .. } => {
                self.slots.insert(self.addresses[&addr], self.values[&value]);
            }
            InstView::Unary { arg } => {
                let used = self.values[&arg];
                self.used.push(used / MOVES);
                assert_eq!(used % MOVES, self.moves, "{} of\n{func}", func.describe(inst));
            }
            InstView::Call { args, .. } | InstView::TryCall { args, .. } => {
                let passed = self.values[&args[0]];
                assert_eq!(passed % MOVES, self.moves, "{} of\n{func}", func.describe(inst));
                self.moves += 1;
                for entry in func.stack_maps.get(&inst).into_iter().flatten() {
                    let place = self.slots.get_mut(&entry.slot).expect("a slot in a stack map was written");
                    assert_eq!(*place % MOVES + 1, self.moves, "{} of {}", entry.slot, func.describe(inst));
                    *place += 1;
                }
            }
            _ => {}
        }
    }
}

/// Follows a random path. Returns the objects that were used, and the edges that were taken.
fn follow(func: &Function, mut edge: impl FnMut(usize) -> usize) -> Vec<i64> {
    let mut run = Run::default();
    let mut block = func.layout.entry_block().unwrap();
    for _ in 0..40 {
        func.layout.block_insts(block).for_each(|inst| run.inst(func, inst));
        let calls = func.dfg.branch_destinations(func.layout.last_inst(block).unwrap());
        // Blocks on edges of calls have one successor.
        let call = match calls.len() {
            0 => break,
            1 => calls[0],
            len => calls[edge(len)],
        };
        let value = |arg: &BlockArg| match arg.kind() {
            BlockArgKind::Value(value) => run.values[&value],
            BlockArgKind::TryCallRet(_) | BlockArgKind::TryCallExn(_) => 0,
        };
        let args: Vec<i64> = func.dfg.block_args(call).iter().map(value).collect();
        run.values.extend(func.dfg.block_params(call.block).iter().copied().zip(args));
        block = call.block;
    }
    run.used
}

#[test]
fn objects_are_found_wherever_they_move() {
    let mut random = Random::new(9);
    let (mut maps, mut uses) = (0, 0);
    for round in 0..600 {
        let program = Program::new(&mut random);
        let mut func = Function::default();
        program.build(&mut func, round % 2 == 0);
        assert_eq!(verify(&func, None), Ok(()), "{func}");
        maps += func.stack_maps.values().flatten().count();
        for _ in 0..10 {
            uses += follow(&func, |count| random.below(count)).len();
        }
    }
    assert!(maps > 3000 && uses > 20_000, "{maps} entries of maps and {uses} uses");
}
