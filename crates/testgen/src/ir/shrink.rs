//! Shrinks a failing program: one input, fewer functions, branches in one direction, constants for instructions.
//!
//! Each step changes a copy and keeps it if it is still valid and still fails. Steps are tried in large pieces
//! first, and repeated until none succeeds or the budget of trials is exhausted.

use super::{Program, TARGET};
use kingpost_ir::builder::InstBuilder;
use kingpost_ir::constants::ConstantData;
use kingpost_ir::cursor::Cursor;
use kingpost_ir::extfunc::{ExternalName, FuncName};
use kingpost_ir::immediates::{Ieee16, Ieee128};
use kingpost_ir::types::{F16, F32, F64, F128, I64, I128, INVALID};
use kingpost_ir::verifier::verify;
use kingpost_ir::{Block, BlockCall, Function, Inst, InstData, InstView, Type, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of candidates that are tried.
const TRIALS: usize = 4000;

/// Returns a smaller program for which `fails` returns `true`, as it must for `program`.
pub fn shrink(program: &Program, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut shrinker = Shrinker { best: program.clone(), fails: &mut fails, trials: TRIALS };
    shrinker.inputs();
    shrinker.bodies();
    loop {
        let before = shrinker.size();
        shrinker.functions();
        shrinker.branches();
        for chunk in [64, 16, 4, 1] {
            shrinker.instructions(chunk);
        }
        shrinker.operands();
        shrinker.params();
        shrinker.results();
        if shrinker.trials == 0 || shrinker.size() == before {
            return shrinker.best;
        }
    }
}

struct Shrinker<'a> {
    best: Program,
    fails: &'a mut dyn FnMut(&Program) -> bool,
    trials: usize,
}

impl Shrinker<'_> {
    fn size(&self) -> (usize, usize, usize) {
        let params = |f: &Function| f.layout.blocks().map(|block| f.dfg.block_params(block).len()).sum::<usize>();
        let values = self.best.functions.iter().map(|f| params(f) + f.signature.returns.len()).sum();
        (self.best.functions.len(), self.best.num_insts(), values)
    }

    /// Takes a changed program if it is valid and fails. Returns `true` if it is taken.
    fn offer(&mut self, mut candidate: Program) -> bool {
        if self.trials == 0 {
            return false;
        }
        candidate.functions.iter_mut().for_each(sweep);
        if candidate.functions.iter().any(|function| verify(function, Some(TARGET)).is_err()) {
            return false;
        }
        self.trials -= 1;
        let taken = (self.fails)(&candidate);
        if taken {
            self.best = candidate;
        }
        taken
    }

    fn inputs(&mut self) {
        for index in 0..self.best.inputs.len() {
            let candidate = Program { inputs: vec![self.best.inputs[index].clone()], ..self.best.clone() };
            if self.offer(candidate) {
                return;
            }
        }
    }

    /// Replaces the bodies of called functions by returns of zeros.
    fn bodies(&mut self) {
        for index in 1..self.best.functions.len() {
            let mut candidate = self.best.clone();
            let function = &mut candidate.functions[index];
            let entry = function.layout.entry_block().expect("functions have a body");
            let insts: Vec<Inst> = function.layout.block_insts(entry).collect();
            let (&last, others) = insts.split_last().expect("blocks have a terminator");
            others.iter().for_each(|&inst| function.layout.remove_inst(inst));
            return_zeros(function, entry, last);
            self.offer(candidate);
        }
    }

    /// Drops functions that are not called.
    fn functions(&mut self) {
        for index in (1..self.best.functions.len()).rev() {
            if !self.best.functions.iter().any(|user| mentions(user, &self.best.functions[index].name)) {
                let mut candidate = self.best.clone();
                candidate.functions.remove(index);
                candidate.pinned.remove(index);
                self.offer(candidate);
            }
        }
    }

    /// Replaces branches by jumps to one of their targets.
    fn branches(&mut self) {
        for index in 0..self.best.functions.len() {
            let blocks: Vec<Block> = self.best.functions[index].layout.blocks().collect();
            for block in blocks {
                self.branch(index, block);
            }
        }
    }

    fn branch(&mut self, index: usize, block: Block) {
        let function = &self.best.functions[index];
        if !function.layout.is_block_inserted(block) {
            return;
        }
        let Some(last) = function.layout.last_inst(block) else { return };
        let edges = function.dfg.branch_destinations(last).to_vec();
        let ways = if matches!(function.dfg.view(last), InstView::Jump { .. }) { &[] } else { &edges[..] };
        for way in ways.iter().map(Some).chain([None]) {
            let mut candidate = self.best.clone();
            let function = &mut candidate.functions[index];
            match way {
                Some(&edge) => go_to(function, block, edge),
                None if function.dfg.opcode(last).is_return() => continue,
                None => return_zeros(function, block, last),
            }
            if self.offer(candidate) {
                return;
            }
        }
    }

    /// Replaces the results of up to `chunk` consecutive instructions by zeros.
    fn instructions(&mut self, chunk: usize) {
        for index in 0..self.best.functions.len() {
            let mut end = usize::MAX;
            loop {
                let all = self.removable(index);
                end = end.min(all.len());
                if end == 0 || self.trials == 0 {
                    break;
                }
                let start = end.saturating_sub(chunk);
                let mut candidate = self.best.clone();
                all[start..end].iter().for_each(|&inst| replace_by_zeros(&mut candidate.functions[index], inst));
                self.offer(candidate);
                end = start;
            }
        }
    }

    /// Replaces the result of an instruction by an operand of its type: `isub v1, v2` by `v1`.
    fn operands(&mut self) {
        for index in 0..self.best.functions.len() {
            for inst in self.removable(index).into_iter().rev() {
                let function = &self.best.functions[index];
                let &[result] = function.dfg.inst_results(inst) else { continue };
                let ty = function.dfg.value_type(result);
                let operands = function.dfg.inst_args(inst).iter().map(|&value| function.dfg.resolve_aliases(value));
                let operand = operands.into_iter().find(|&value| function.dfg.value_type(value) == ty);
                let Some(operand) = operand.filter(|_| function.layout.inst_block(inst).is_some()) else { continue };
                let mut candidate = self.best.clone();
                let function = &mut candidate.functions[index];
                function.layout.remove_inst(inst);
                rename(function, &BTreeMap::from([(result, operand)]));
                self.offer(candidate);
            }
        }
    }

    /// Returns the instructions of a function that may be replaced by constants.
    fn removable(&self, index: usize) -> Vec<Inst> {
        let function = &self.best.functions[index];
        let insts = function.layout.blocks().flat_map(|block| function.layout.block_insts(block));
        // Stores that fill the slots matter only to accesses.
        let accesses = |inst| {
            let opcode = function.dfg.opcode(inst);
            let touches = opcode.can_load() || opcode.can_store() || opcode.is_call();
            touches && !self.best.pinned[index].contains(inst)
        };
        let idle = !insts.clone().any(accesses);
        let constant = |inst| {
            matches!(function.dfg.view(inst), InstView::UnaryImm { imm: 0 })
                || function.dfg.opcode(inst).name().ends_with("const") && is_zero_float(function, inst)
        };
        insts
            .filter(|&inst| !function.dfg.opcode(inst).is_terminator())
            .filter(|&inst| idle || !self.best.pinned[index].contains(inst))
            .filter(|&inst| !constant(inst))
            .collect()
    }

    /// Replaces block parameters by zeros.
    fn params(&mut self) {
        for index in 0..self.best.functions.len() {
            let blocks: Vec<Block> = self.best.functions[index].layout.blocks().skip(1).collect();
            for block in blocks {
                let mut number = self.best.functions[index].dfg.block_params(block).len();
                while number > 0 {
                    number -= 1;
                    let mut candidate = self.best.clone();
                    remove_param(&mut candidate.functions[index], block, number);
                    self.offer(candidate);
                }
            }
        }
    }

    /// Removes results of the first function.
    fn results(&mut self) {
        for number in (0..self.best.functions[0].signature.returns.len()).rev() {
            let mut candidate = self.best.clone();
            let function = &mut candidate.functions[0];
            function.signature.returns.remove(number);
            let blocks: Vec<Block> = function.layout.blocks().collect();
            for block in blocks {
                let last = function.layout.last_inst(block).filter(|&last| function.dfg.opcode(last).is_return());
                let Some(last) = last else { continue };
                let mut values = function.dfg.inst_args(last).to_vec();
                values.remove(number);
                let data = function.dfg.return_data(&values);
                replace_last(function, block, data);
            }
            self.offer(candidate);
        }
    }
}

/// Ends a block with a jump. Values that only a call would define on the edge are zero.
fn go_to(function: &mut Function, block: Block, edge: BlockCall) {
    let Some(last) = function.layout.last_inst(block) else { return };
    let args = function.dfg.block_args(edge).to_vec();
    let types: Vec<Type> =
        function.dfg.block_params(edge.block).iter().map(|&param| function.dfg.value_type(param)).collect();
    let values = args.iter().zip(types).map(|(arg, ty)| arg.value().unwrap_or_else(|| zero(function, ty, last)));
    let values: Vec<Value> = values.collect();
    let call = function.dfg.block_call_with_values(edge.block, &values);
    let data = function.dfg.jump_data(call);
    replace_last(function, block, data);
}

/// Ends a block, whose last instruction is `last`, with a return of zeros.
fn return_zeros(function: &mut Function, block: Block, last: Inst) {
    let types: Vec<Type> = function.signature.returns.iter().map(|param| param.value_type).collect();
    let zeros: Vec<Value> = types.iter().map(|&ty| zero(function, ty, last)).collect();
    let data = function.dfg.return_data(&zeros);
    replace_last(function, block, data);
}

fn replace_last(function: &mut Function, block: Block, data: InstData) {
    if let Some(last) = function.layout.last_inst(block) {
        function.layout.remove_inst(last);
    }
    Cursor::new(function).end(block).ins().insert(data, INVALID);
}

fn is_zero_float(function: &Function, inst: Inst) -> bool {
    match function.dfg.view(inst) {
        InstView::UnaryIeee32 { imm } => imm.bits() == 0,
        InstView::UnaryIeee64 { imm } => imm.bits() == 0,
        _ => false,
    }
}

fn mentions(user: &Function, name: &FuncName) -> bool {
    let insts = user.layout.blocks().flat_map(|block| user.layout.block_insts(block));
    let callees = insts.filter_map(|inst| match user.dfg.view(inst) {
        InstView::Call { func, .. } | InstView::TryCall { func, .. } => Some(func),
        InstView::FuncAddr { func } => Some(func),
        _ => None,
    });
    callees.into_iter().any(|callee| match (&user.dfg.ext_funcs[callee].name, name) {
        (ExternalName::Named(word), FuncName::Named(name)) => **word == **name,
        (ExternalName::User(user_name), &FuncName::User(a, b)) => user.user_names[*user_name] == (a, b),
        _ => false,
    })
}

fn zero(function: &mut Function, ty: Type, before: Inst) -> Value {
    let zeros = ConstantData::new(&[0; 16][..ty.bytes().min(16) as usize]);
    let zeros = ty.is_vector().then(|| function.dfg.constants.insert(zeros));
    let mut cursor = Cursor::new(function);
    cursor.before(before);
    if let Some(zeros) = zeros {
        return cursor.ins().vconst(ty, zeros);
    }
    match ty {
        F32 => cursor.ins().f32const(0.0),
        F64 => cursor.ins().f64const(0.0),
        F16 => cursor.ins().f16const(Ieee16::from_bits(0)),
        F128 => cursor.ins().f128const(Ieee128::from_bits(0)),
        I128 => {
            let zero = cursor.ins().iconst(I64, 0);
            cursor.ins().uextend(I128, zero)
        }
        _ => cursor.ins().iconst(ty, 0),
    }
}

fn replace_by_zeros(function: &mut Function, inst: Inst) {
    let results = function.dfg.inst_results(inst).to_vec();
    let used: BTreeSet<Value> = uses(function).into_iter().filter(|value| results.contains(value)).collect();
    let mut map = BTreeMap::new();
    for &result in &used {
        let ty = function.dfg.value_type(result);
        map.insert(result, zero(function, ty, inst));
    }
    function.layout.remove_inst(inst);
    rename(function, &map);
}

fn remove_param(function: &mut Function, block: Block, number: usize) {
    let param = function.dfg.block_params(block)[number];
    let ty = function.dfg.value_type(param);
    if let Some(first) = function.layout.first_inst(block) {
        let value = zero(function, ty, first);
        rename(function, &BTreeMap::from([(param, value)]));
    }
    function.dfg.remove_block_param(block, number);
    let blocks: Vec<Block> = function.layout.blocks().collect();
    for from in blocks {
        let Some(last) = function.layout.last_inst(from) else { continue };
        for edge in 0..function.dfg.branch_destinations(last).len() {
            if function.dfg.branch_destinations(last)[edge].block == block {
                function.dfg.remove_block_arg(last, edge, number);
            }
        }
    }
}

/// Returns all values that instructions of the layout use, aliases resolved.
fn uses(function: &Function) -> BTreeSet<Value> {
    let mut uses = BTreeSet::new();
    for inst in function.layout.blocks().flat_map(|block| function.layout.block_insts(block)) {
        function.dfg.for_each_use(inst, |value| {
            uses.insert(function.dfg.resolve_aliases(value));
        });
    }
    uses
}

fn rename(function: &mut Function, map: &BTreeMap<Value, Value>) {
    let insts: Vec<Inst> = function.layout.blocks().flat_map(|block| function.layout.block_insts(block)).collect();
    let resolved: BTreeMap<Value, Value> =
        function.dfg.values().map(|value| (value, function.dfg.resolve_aliases(value))).collect();
    for inst in insts {
        function.dfg.map_values(inst, |value| {
            let target = resolved.get(&value).copied().unwrap_or(value);
            map.get(&target).copied().unwrap_or(value)
        });
    }
}

/// Drops unreachable blocks and unused pure instructions.
fn sweep(function: &mut Function) {
    function.dfg.resolve_all_aliases();
    let Some(entry) = function.layout.entry_block() else { return };
    let (mut reached, mut open) = (BTreeSet::from([entry]), vec![entry]);
    while let Some(block) = open.pop() {
        let Some(last) = function.layout.last_inst(block) else { continue };
        let edges = function.dfg.branch_destinations(last).iter();
        open.extend(edges.map(|edge| edge.block).filter(|&block| reached.insert(block)));
    }
    let blocks: Vec<Block> = function.layout.blocks().collect();
    for &block in blocks.iter().filter(|block| !reached.contains(block)) {
        let insts: Vec<Inst> = function.layout.block_insts(block).collect();
        insts.into_iter().for_each(|inst| function.layout.remove_inst(inst));
        function.layout.remove_block(block);
    }
    join_blocks(function);
    let mut used = uses(function);
    loop {
        let insts = function.layout.blocks().flat_map(|block| function.layout.block_insts(block));
        let unused: Vec<Inst> = insts
            .filter(|&inst| {
                let opcode = function.dfg.opcode(inst);
                let acts = opcode.is_terminator() || opcode.has_side_effects() || opcode.can_trap() || opcode.is_call();
                !acts && !opcode.can_store() && function.dfg.inst_results(inst).iter().all(|r| !used.contains(r))
            })
            .collect();
        if unused.is_empty() {
            return;
        }
        unused.into_iter().for_each(|inst| function.layout.remove_inst(inst));
        used = uses(function);
    }
}

/// Appends blocks to their only predecessor.
fn join_blocks(function: &mut Function) {
    let mut edges: BTreeMap<Block, usize> = BTreeMap::new();
    let blocks: Vec<Block> = function.layout.blocks().collect();
    edges.insert(blocks[0], 2);
    for last in blocks.iter().filter_map(|&block| function.layout.last_inst(block)) {
        for edge in function.dfg.branch_destinations(last) {
            *edges.entry(edge.block).or_default() += 1;
        }
    }
    for block in blocks {
        while let Some(last) = function.layout.last_inst(block) {
            let InstView::Jump { dest } = function.dfg.view(last) else { break };
            if edges[&dest.block] > 1 || dest.block == block || !function.layout.is_block_inserted(block) {
                break;
            }
            let args = function.dfg.block_args(dest).iter().filter_map(|arg| arg.value());
            let map = function.dfg.block_params(dest.block).iter().copied().zip(args).collect();
            function.layout.remove_inst(last);
            let insts: Vec<Inst> = function.layout.block_insts(dest.block).collect();
            for inst in insts {
                function.layout.remove_inst(inst);
                function.layout.append_inst(inst, block);
            }
            function.layout.remove_block(dest.block);
            rename(function, &map);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate;
    use super::*;
    use kingpost_ir::{Opcode, ValueDef};

    #[test]
    fn keeps_what_matters() {
        let divides = |program: &Program| {
            let f = &program.functions[0];
            let mut insts = f.layout.blocks().flat_map(|block| f.layout.block_insts(block));
            insts.any(|inst| f.dfg.opcode(inst) == Opcode::Sdiv)
        };
        let reached = |mut program: Program| {
            program.functions.iter_mut().for_each(sweep);
            program
        };
        let mut programs = (0..).map(generate).map(reached);
        let program = programs.find(|program| divides(program) && program.num_insts() > 150).unwrap();
        let small = shrink(&program, divides);
        assert!(divides(&small) && small.functions.len() == 1);
        assert!(small.functions[0].layout.blocks().count() == 1, "{}", small.functions[0]);
    }
    /// Shrinks with a failure that a division by a constant does not show, so that zeros cannot replace the operands.
    #[test]
    fn instructions_become_their_operands() {
        let text = "function %f(i32, i32) -> i32 {\nblock0(v0: i32, v1: i32):\n  v2 = isub v0, v1\n  v3 = bxor v2, v0\n  \
                    v4 = sdiv v3, v2\n  return v4\n}\n";
        let functions = kingpost_reader::parse_functions(text.as_bytes()).unwrap();
        let program = Program { functions, inputs: Vec::new(), pinned: vec![Default::default()] };
        let divides = |program: &Program| {
            let f = &program.functions[0];
            let is_constant = |&value: &Value| matches!(f.dfg.value_def(value), ValueDef::Result(inst, _) if f.dfg.inst_args(inst).is_empty());
            let mut insts = f.layout.blocks().flat_map(|block| f.layout.block_insts(block));
            insts.any(|inst| f.dfg.opcode(inst) == Opcode::Sdiv && !f.dfg.inst_args(inst).iter().any(is_constant))
        };
        let small = shrink(&program, divides);
        assert_eq!(small.num_insts(), 2, "a division and the return: {}", small.functions[0]);
    }
}
