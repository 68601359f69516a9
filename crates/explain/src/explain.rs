//! A function compiled by several compilers, and all facts about the results.

use crate::code::{block_names, inst_text};
use crate::decisions::{Decision, Recorder};
use crate::live_ranges::{LiveRange, live_ranges};
use crate::names::{Names, VRegName};
use crate::proof;
use crate::rows::{Row, RowKind, rows};
use crate::source::Graph;
use cranelift_entity::EntityRef;
use kingpost_codegen::{CompileError, Compiler, Context};
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;
use kingpost_regalloc::{Allocation, Cost, Diagnostics, Inst, Loc, Stats, VReg};
use std::collections::BTreeSet;

/// All facts about a function and its compilation.
pub struct Explanation {
    /// Name of the function, such as `%f`.
    pub name: String,
    /// The target's triple.
    pub target: String,
    /// Language of the text: `CLIF`, or `problem`.
    pub language: &'static str,
    /// Text and control-flow graph.
    pub graph: Graph,
    /// Names of virtual registers.
    pub vregs: Vec<VRegName>,
    /// Names of machine blocks: the names of the function's blocks, or `block1→block2`.
    pub machine_blocks: Vec<String>,
    /// The machine instructions before allocation.
    pub code: Vec<String>,
    /// One solution for each compiler.
    pub solutions: Vec<Solution>,
}

/// Result of one compiler for the function.
pub struct Solution {
    /// The allocator.
    pub allocator: String,
    /// Cost of the allocation.
    pub cost: Cost,
    /// Counters of the compiler.
    pub stats: Stats,
    /// Bytes of code.
    pub code_bytes: usize,
    /// All locations that the code uses, with their names, registers first.
    pub locs: Vec<(Loc, String)>,
    /// The code.
    pub rows: Vec<Row>,
    /// Live ranges of values.
    pub ranges: Vec<LiveRange>,
    /// Decisions of the allocator.
    pub decisions: Vec<Decision>,
}

/// Compiles `func` with each of `compilers`, and explains the results. The compilers differ only in their allocators,
/// and have the option [`Options::list`](kingpost_codegen::Options::list).
///
/// # Errors
/// The error of the first compiler that fails.
///
/// # Panics
/// If there is no compiler, or if one does not record listings.
pub fn explain(func: &Function, compilers: &[Compiler]) -> Result<Explanation, CompileError> {
    let graph = Graph::new(func);
    let mut explanation = None;
    for compiler in compilers {
        assert!(compiler.options().list, "an explanation shows listings: `Options::list`");
        let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
        let mut compiled = func.clone();
        graph.number(&mut compiled);
        compiler.compile(&mut cx, &mut compiled, &mut module)?;
        let names = names(compiler, &cx, &compiled);
        let solution = solution(compiler, &cx, &names, &graph, &module, &compiled);
        let explanation = explanation.get_or_insert_with(|| {
            let insts = (0..cx.code().problem.num_insts()).map(Inst::new);
            Explanation {
                name: func.name.to_string(),
                target: compiler.triple().to_string(),
                language: "CLIF",
                graph: graph.clone(),
                code: insts.map(|inst| inst_text(compiler.isa(), cx.code(), &names, inst)).collect(),
                vregs: names.vregs,
                machine_blocks: names.blocks,
                solutions: Vec::new(),
            }
        });
        explanation.solutions.push(solution);
    }
    Ok(explanation.expect("there is a compiler"))
}

fn names<'a>(compiler: &'a Compiler, cx: &Context, func: &Function) -> Names<'a> {
    let problem = &cx.code().problem;
    let named = |(vreg, data): (VReg, &kingpost_regalloc::VRegData)| VRegName {
        name: format!("t{}", vreg.index()),
        kind: format!("{} {}", data.class, data.width),
    };
    let mut vregs: Vec<VRegName> = problem.vregs.iter().map(named).collect();
    for value in func.dfg.values() {
        let registers: Vec<VReg> = cx.lowering().registers(value).collect();
        for (vreg, half) in registers.iter().zip([".lo", ".hi"]) {
            let half = if registers.len() == 1 { "" } else { half };
            vregs[vreg.index()].name = format!("{}{half}", func.names.value(value));
        }
    }
    Names { vregs, blocks: block_names(func, cx.lowering().machine_blocks()), isa: Some(compiler.isa()) }
}

fn solution(
    compiler: &Compiler,
    cx: &Context,
    names: &Names,
    graph: &Graph,
    module: &ModuleBuffer,
    func: &Function,
) -> Solution {
    let (code, allocation) = (cx.code(), cx.allocation());
    let problem = &code.problem;
    let mut rows = rows(cx, names, graph, module);
    proof::annotate(cx, func, &mut rows);
    let ranges = live_ranges(problem, allocation, &mut rows);
    let mut recorder = Recorder { names, decisions: Vec::new() };
    let mut allocator = compiler.new_allocator();
    let is_fused = compiler.is_fused();
    if !is_fused {
        let mut diagnostics = Diagnostics::default();
        diagnostics.observer = Some(&mut recorder);
        // Solves the problem again with an observer. The answer is the same, because equal problems have equal
        // answers.
        let mut again = Allocation::default();
        let _solved_before = allocator.allocate_with(problem, compiler.isa().env(), &mut again, &mut diagnostics);
    }
    if recorder.decisions.is_empty() {
        recorder.read_back(&rows, &ranges);
    }
    Solution {
        allocator: if is_fused { "fused" } else { allocator.name() }.into(),
        cost: Cost::of(problem, compiler.isa().env(), allocation),
        stats: allocation.stats,
        code_bytes: module.function(module.len() - 1).code.len(),
        locs: locs(&rows, &ranges).into_iter().map(|loc| (loc, names.loc(loc))).collect(),
        rows,
        ranges,
        decisions: recorder.decisions,
    }
}

/// Returns all locations that the rows and ranges use. Registers precede slots.
pub(crate) fn locs(rows: &[Row], ranges: &[LiveRange]) -> BTreeSet<Loc> {
    let places = rows.iter().filter(|row| matches!(row.kind, RowKind::Inst { .. })).flat_map(|row| &row.places);
    let used = places.map(|&(_, loc)| loc).chain(ranges.iter().map(|range| range.loc));
    let moved = rows.iter().flat_map(|row| &row.moves).flat_map(|step| step.from.into_iter().chain([step.to]));
    used.chain(moved).filter(|loc| !loc.is_none()).collect()
}
