use super::*;
use crate::builder::{ControlBuilder, ImmediateBuilder, InstBuilder};
use crate::inst_view::InstView;
use crate::signature::AbiParam;
use crate::testing::{Random, random_edges};
use crate::types::{self, I8, I32};
use crate::value_data::ValueDef;
use crate::verifier::verify;
use std::collections::HashMap;

fn text(func: &Function) -> Vec<String> {
    assert_eq!(verify(func, None), Ok(()), "{func}");
    let text = func.to_string();
    text.lines().skip(1).map(|line| line.trim().to_string()).collect()
}

#[test]
fn loop_with_two_variables() {
    let (mut func, mut cx) = (Function::default(), FrontendContext::default());
    func.signature.params.push(AbiParam::new(I32));
    func.signature.returns.push(AbiParam::new(I32));
    let mut builder = FunctionBuilder::new(&mut func, &mut cx);
    let (x, kept) = (builder.declare_var(I32), builder.declare_var(I32));
    let blocks: Vec<Block> = (0..4).map(|_| builder.create_block()).collect();
    builder.append_function_params(blocks[0]);
    builder.switch_to_block(blocks[0]);
    let param = builder.func.dfg.block_params(blocks[0])[0];
    builder.def_var(x, param);
    builder.def_var(kept, param);
    builder.ins().jump(blocks[1], &[]);
    builder.seal_block(blocks[0]);
    builder.switch_to_block(blocks[1]);
    let (now, limit) = (builder.use_var(x), builder.use_var(kept));
    let sum = builder.ins().iadd(now, limit);
    builder.def_var(x, sum);
    builder.ins().brif(sum, blocks[2], &[], blocks[3], &[]);
    builder.switch_to_block(blocks[2]);
    builder.ins().jump(blocks[1], &[]);
    builder.seal_block(blocks[2]);
    builder.seal_block(blocks[1]);
    builder.switch_to_block(blocks[3]);
    builder.seal_block(blocks[3]);
    let (now, limit) = (builder.use_var(x), builder.use_var(kept));
    let result = builder.ins().isub(now, limit);
    builder.ins().return_(&[result]);
    builder.finalize().unwrap();
    let lines = text(&func);
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(
        lines,
        [
            "block0(v0: i32):",
            "v2 -> v0",
            "jump block1(v0)",
            "",
            "block1(v1: i32):",
            "v3 = iadd v1, v0",
            "brif v3, block2, block3",
            "",
            "block2:",
            "jump block1(v3)",
            "",
            "block3:",
            "v4 = isub.i32 v3, v0",
            "return v4",
            "}",
        ]
    );
}

#[test]
fn undefined_variables_are_zero() {
    let (mut func, mut cx) = (Function::default(), FrontendContext::default());
    for ty in [types::I128, types::F16, types::F128, types::F64X2, I8] {
        func.clear();
        let mut builder = FunctionBuilder::new(&mut func, &mut cx);
        let block = builder.create_block();
        builder.switch_to_block(block);
        let variable = builder.declare_var(ty);
        let early = builder.use_var(variable);
        builder.ins().bnot(early);
        builder.seal_all_blocks();
        builder.ins().return_(&[]);
        builder.finalize().unwrap();
        text(&func);
    }
}

#[test]
fn misuse() {
    let (mut func, mut cx) = (Function::default(), FrontendContext::default());
    let mut builder = FunctionBuilder::new(&mut func, &mut cx);
    let block = builder.create_block();
    builder.switch_to_block(block);
    let undeclared = Variable::new(0);
    assert_eq!(builder.try_use_var(undeclared), Err(VariableError::Undeclared(undeclared)));
    let variable = builder.declare_var(I32);
    let byte = builder.ins().iconst(I8, 0);
    let error = builder.try_def_var(variable, byte).unwrap_err();
    assert_eq!(error.to_string(), "var0 has type i32 and cannot hold a value of type i8");
}

#[test]
fn incomplete_blocks_are_named() {
    let (mut func, mut cx) = (Function::default(), FrontendContext::default());
    let mut builder = FunctionBuilder::new(&mut func, &mut cx);
    let [first, second, _never_mentioned] = [(); 3].map(|()| builder.create_block());
    builder.switch_to_block(first);
    builder.ins().jump(second, &[]);
    builder.seal_all_blocks();
    let error = builder.finalize().unwrap_err();
    assert_eq!(error.to_string(), "block1 is not filled: it does not end in a terminator");
    func.clear();
    let mut builder = FunctionBuilder::new(&mut func, &mut cx);
    let block = builder.create_block();
    builder.switch_to_block(block);
    builder.ins().return_(&[]);
    assert_eq!(builder.finalize(), Err(BuildError::NotSealed(block)));
}

#[test]
fn constants_have_the_type_of_the_operand() {
    let (mut func, mut cx) = (Function::default(), FrontendContext::default());
    func.signature.params.extend([types::I8, types::I128, types::I32X4].map(AbiParam::new));
    let mut builder = FunctionBuilder::new(&mut func, &mut cx);
    let block = builder.create_block();
    builder.append_function_params(block);
    builder.switch_to_block(block);
    let params = builder.block_params(block).to_vec();
    for &param in &params {
        builder.ins().iadd_imm(param, -2);
    }
    builder.ins().ishl_imm(params[0], 3);
    builder.ins().icmp_imm(crate::condcodes::IntCC::Equal, params[0], 255);
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize().unwrap();
    let text = text(&func).join("\n");
    for line in ["iconst.i8 -2", "sextend.i128 v", "splat.i32x4 v", "iconst.i32 3", "icmp eq v0, v"] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[test]
fn long_chains_and_unreachable_cycles() {
    let (mut func, mut cx) = (Function::default(), FrontendContext::default());
    let mut builder = FunctionBuilder::new(&mut func, &mut cx);
    let variable = builder.declare_var(I32);
    let blocks: Vec<Block> = (0..20_000).map(|_| builder.create_block()).collect();
    builder.switch_to_block(blocks[0]);
    let one = builder.ins().iconst(I32, 1);
    builder.def_var(variable, one);
    for pair in blocks.windows(2) {
        builder.ins().jump(pair[1], &[]);
        builder.seal_block(pair[0]);
        builder.switch_to_block(pair[1]);
    }
    builder.seal_block(blocks[blocks.len() - 1]);
    assert_eq!(builder.use_var(variable), one);
    builder.ins().return_(&[]);
    let cycle = builder.create_block();
    builder.switch_to_block(cycle);
    builder.ins().jump(cycle, &[]);
    builder.seal_block(cycle);
    assert_ne!(builder.use_var(variable), one);
    builder.finalize().unwrap();
    text(&func);
}

/// A random program: assignments of constants and uses of variables, by block.
struct Program {
    edges: Vec<Vec<usize>>,
    steps: Vec<Vec<Statement>>,
}

#[derive(Copy, Clone)]
enum Statement {
    Assign(usize, i64),
    Use(usize),
}

const VARIABLES: usize = 4;

impl Program {
    fn new(random: &mut Random) -> Program {
        let mut edges = random_edges(random, 9);
        edges.iter_mut().for_each(|succs| succs.truncate(2));
        let mut step = |_| match random.below(2) {
            0 => Statement::Assign(random.below(VARIABLES), random.below(1000) as i64),
            _ => Statement::Use(random.below(VARIABLES)),
        };
        let steps = edges.iter().map(|_| (0..4).map(&mut step).collect()).collect();
        Program { edges, steps }
    }

    /// Builds the program. Each use becomes an `ineg`. Returns the uses by block.
    fn build(&self, func: &mut Function, cx: &mut FrontendContext, seal_early: bool) -> Vec<Vec<Inst>> {
        let mut builder = FunctionBuilder::new(func, cx);
        let blocks: Vec<Block> = self.edges.iter().map(|_| builder.create_block()).collect();
        for _ in 0..VARIABLES {
            builder.declare_var(I32);
        }
        let mut missing = vec![0; blocks.len()];
        self.edges.iter().flatten().for_each(|&succ| missing[succ] += 1);
        let mut uses = vec![Vec::new(); blocks.len()];
        for (index, &block) in blocks.iter().enumerate() {
            builder.switch_to_block(block);
            if seal_early && missing[index] == 0 {
                builder.seal_block(block);
            }
            for &step in &self.steps[index] {
                match step {
                    Statement::Assign(var, number) => {
                        let value = builder.ins().iconst(I32, number);
                        builder.def_var(Variable::new(var), value);
                    }
                    Statement::Use(var) => {
                        let value = builder.use_var(Variable::new(var));
                        let negated = builder.ins().ineg(value);
                        let ValueDef::Result(inst, _) = builder.func.dfg.value_def(negated) else { panic!("a result") };
                        uses[index].push(inst);
                    }
                }
            }
            match self.edges[index][..] {
                [] => builder.ins().return_(&[]),
                [dest] => builder.ins().jump(blocks[dest], &[]),
                [first, second, ..] => {
                    let cond = builder.ins().iconst(I8, 0);
                    builder.ins().brif(cond, blocks[first], &[], blocks[second], &[])
                }
            };
            self.edges[index].iter().for_each(|&succ| missing[succ] -= 1);
        }
        builder.seal_all_blocks();
        builder.finalize().unwrap();
        uses
    }
}

/// Follows a random path and compares the value that each use reads with the last assignment.
fn follow(program: &Program, func: &Function, uses: &[Vec<Inst>], random: &mut Random) {
    let mut variables = [0; VARIABLES];
    let mut values: HashMap<Value, i64> = HashMap::new();
    let mut index = 0;
    for _ in 0..30 {
        let block = Block::new(index);
        for inst in func.layout.block_insts(block) {
            if let InstView::UnaryImm { imm } = func.dfg.view(inst) {
                values.insert(func.dfg.inst_results(inst)[0], imm);
            }
        }
        let mut uses = uses[index].iter();
        for &step in &program.steps[index] {
            match step {
                Statement::Assign(var, number) => variables[var] = number,
                Statement::Use(var) => {
                    let value = func.dfg.inst_args(*uses.next().unwrap())[0];
                    assert_eq!(values[&value], variables[var], "{value} in {block} of\n{func}");
                }
            }
        }
        let succs = &program.edges[index];
        if succs.is_empty() {
            return;
        }
        let edge = random.below(succs.len());
        let call = func.dfg.branch_destinations(func.layout.last_inst(block).unwrap())[edge];
        let args: Vec<i64> = func.dfg.block_args(call).iter().map(|arg| values[&arg.value().unwrap()]).collect();
        values.extend(func.dfg.block_params(call.block).iter().copied().zip(args));
        index = succs[edge];
    }
}

#[test]
fn random_programs_see_the_last_assignment() {
    let mut random = Random::new(4);
    let (mut func, mut cx) = (Function::default(), FrontendContext::default());
    for round in 0..400 {
        let program = Program::new(&mut random);
        func.clear();
        let uses = program.build(&mut func, &mut cx, round % 2 == 0);
        assert_eq!(verify(&func, None), Ok(()), "{func}");
        for _ in 0..10 {
            follow(&program, &func, &uses, &mut random);
        }
    }
}

/// Checks that every use of a variable finds a value in blocks that jump to random blocks. Cycles occur that no path
/// reaches.
#[test]
fn random_jumps_end() {
    let mut random = Random::new(4);
    for _ in 0..100 {
        let mut func = Function::default();
        let mut context = FrontendContext::default();
        let mut b = FunctionBuilder::new(&mut func, &mut context);
        let variable = b.declare_var(I32);
        let blocks: Vec<Block> = (0..2 + random.below(20)).map(|_| b.create_block()).collect();
        for &block in &blocks {
            b.switch_to_block(block);
            if random.below(4) == 0 {
                let value = b.ins().iconst(I32, 7);
                b.def_var(variable, value);
            }
            let value = b.use_var(variable);
            b.ins().ineg(value);
            let next = blocks[1 + random.below(blocks.len() - 1)];
            b.ins().jump(next, &[]);
        }
        b.seal_all_blocks();
        b.finalize().unwrap();
        assert_eq!(verify(&func, None), Ok(()));
    }
}
