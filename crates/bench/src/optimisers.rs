//! Optimisers alone: upstream's pass on e-graphs, with the analyses that it makes, and all passes of ours with theirs.

use crate::measure::{self, Compiler, Row};
use crate::{ours, read, upstream};
use anyhow::{Result, anyhow};
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::OwnedTargetIsa;
use kingpost_ir::Function;
use kingpost_ir::analyses::Analyses;
use kingpost_opt::Optimizer;
use std::path::{Path, PathBuf};

/// What both do with one file.
pub(crate) struct Outcome {
    /// Instructions of the functions that both optimise.
    pub(crate) insts: usize,
    /// Upstream's, then ours. They have no code bytes.
    pub(crate) rows: Vec<Row>,
}

impl Outcome {
    /// CPU nanoseconds for each instruction of the input, of upstream's and of ours.
    pub(crate) fn nanoseconds(&self) -> [f64; 2] {
        [0, 1].map(|i| 1e9 * self.rows[i].seconds / self.insts as f64)
    }
}

/// Measures both on a file's functions.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn compare(file: &Path, target: &str, rounds: usize) -> Result<Outcome> {
    let text = read(file)?;
    let insts = kingpost_reader::parse_functions(&text)?.iter().map(count).sum();
    let mut optimisers: [Box<dyn Compiler>; 2] = [Box::new(Egraphs::new(target)?), Box::new(Rules::new(target)?)];
    Ok(Outcome { insts, rows: measure::measure(&mut optimisers, &text, rounds)? })
}

/// Prints a table.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn report(files: &[PathBuf], target: &str) -> Result<()> {
    println!("{:28} {:>12} {:>12} {:>8}", "nanoseconds", "cranelift", "kingpost", "ratio");
    let mut all = Vec::new();
    for file in files {
        let each = compare(file, target, 5)?.nanoseconds();
        let name = file.file_name().unwrap_or_default().display().to_string();
        print_line(&name, each);
        all.push(each);
    }
    print_line("geometric mean", [0, 1].map(|i| measure::geometric_mean(all.iter().map(|each| each[i]))));
    Ok(())
}

fn print_line(name: &str, [theirs, ours]: [f64; 2]) {
    println!("{name:28} {theirs:>12.1} {ours:>12.1} {:>7.2}x", theirs / ours);
}

/// Instructions in the layout of a function.
fn count(func: &Function) -> usize {
    func.layout.blocks().map(|block| func.layout.block_insts(block).count()).sum()
}

/// Upstream's pass.
struct Egraphs {
    isa: OwnedTargetIsa,
    context: Context,
    functions: Vec<cranelift_codegen::ir::Function>,
    control_plane: ControlPlane,
}

impl Egraphs {
    fn new(target: &str) -> Result<Egraphs> {
        let settings = [("opt_level", "speed"), ("enable_multi_ret_implicit_sret", "true")];
        let isa = upstream::isa(&ours::triple(target), ours::flags(target), &settings)?;
        Ok(Egraphs { isa, context: Context::new(), functions: Vec::new(), control_plane: ControlPlane::default() })
    }
}

impl Compiler for Egraphs {
    fn name(&self) -> &str {
        "cranelift e-graphs"
    }

    fn load(&mut self, text: &str) -> Result<()> {
        self.functions = cranelift_reader::parse_functions(text).map_err(|error| anyhow!("{error}"))?;
        Ok(())
    }

    fn len(&self) -> usize {
        self.functions.len()
    }

    /// What its pipeline does at every level is not timed: the graph, dominators, unreachable blocks, constant parameters, aliases.
    fn prepare(&mut self, index: usize) {
        let context = &mut self.context;
        context.clear();
        context.func = self.functions[index].clone();
        context.compute_cfg();
        context.compute_domtree();
        let isa = &*self.isa;
        let _refused = context.eliminate_unreachable_code(isa).and_then(|()| context.remove_constant_phis(isa));
        context.func.dfg.resolve_all_aliases();
    }

    fn compile(&mut self, _: usize) -> Option<usize> {
        self.context.egraph_pass(&*self.isa, &mut self.control_plane).ok().map(|()| 0)
    }
}

/// All passes of ours, on a function of which nothing is known.
struct Rules {
    optimizer: Optimizer,
    analyses: Analyses,
    functions: Vec<Function>,
    next: Function,
}

impl Rules {
    fn new(target: &str) -> Result<Rules> {
        let compiler = ours::compiler(&ours::triple(target), ours::flags(target), &[])?;
        let registers = compiler.isa().env().class(kingpost_regalloc::RegClass::Int).allocatable().len();
        Ok(Rules {
            optimizer: Optimizer::default().for_registers(registers),
            analyses: Analyses::default(),
            functions: Vec::new(),
            next: Function::default(),
        })
    }
}

impl Compiler for Rules {
    fn name(&self) -> &str {
        "kingpost opt"
    }

    fn load(&mut self, text: &str) -> Result<()> {
        self.functions = kingpost_reader::parse_functions(text)?;
        Ok(())
    }

    fn len(&self) -> usize {
        self.functions.len()
    }

    fn prepare(&mut self, index: usize) {
        self.next = self.functions[index].clone();
    }

    fn compile(&mut self, _: usize) -> Option<usize> {
        self.optimizer.run_all(&mut self.next, &mut self.analyses);
        Some(0)
    }
}
