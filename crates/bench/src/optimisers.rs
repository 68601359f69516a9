//! The optimizers alone: upstream's pass on e-graphs and our passes, each with the analysis that it needs.

use crate::measure::{self, Compiler, Row};
use crate::ours::Kingpost;
use crate::read;
use crate::upstream::Cranelift;
use anyhow::Result;
use kingpost_ir::Function;
use kingpost_ir::analyses::Analyses;
use kingpost_opt::Optimizer;
use kingpost_regalloc::RegClass;
use std::path::{Path, PathBuf};

/// Results of both optimizers for one file.
pub(crate) struct Outcome {
    /// Number of instructions of the functions that both optimize.
    pub(crate) insts: usize,
    /// The row of upstream, then ours. The rows have no code bytes.
    pub(crate) rows: Vec<Row>,
}

impl Outcome {
    /// Returns the CPU nanoseconds per instruction of the input, for upstream and for us.
    pub(crate) fn nanoseconds(&self) -> [f64; 2] {
        [0, 1].map(|i| 1e9 * self.rows[i].seconds / self.insts as f64)
    }
}

/// Measures both optimizers on a file's functions.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn compare(file: &Path, target: &str, rounds: usize) -> Result<Outcome> {
    let text = read(file)?;
    let insts = kingpost_reader::parse_functions(&text)?.iter().map(count).sum();
    let mut optimisers: [Box<dyn Compiler>; 2] =
        [Box::new(Egraphs(Cranelift::new("backtracking", "speed", target)?)), Box::new(Rules::new(target)?)];
    Ok(Outcome { insts, rows: measure::measure(&mut optimisers, &text, rounds)? })
}

/// Prints a table.
///
/// # Errors
/// If a file cannot be read.
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

/// Returns the number of instructions in the layout of a function.
fn count(func: &Function) -> usize {
    func.layout.blocks().map(|block| func.layout.block_insts(block).count()).sum()
}

/// Upstream's pass.
struct Egraphs(Cranelift);

impl Compiler for Egraphs {
    fn name(&self) -> &str {
        "cranelift e-graphs"
    }

    fn load(&mut self, text: &str) -> Result<()> {
        self.0.load(text)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    /// Runs the steps of upstream's pipeline that it runs at every level, which are not timed: the graph, dominators,
    /// unreachable blocks, constant parameters, aliases.
    fn prepare(&mut self, index: usize) {
        self.0.prepare(index);
        let Cranelift { isa, context, .. } = &mut self.0;
        context.compute_cfg();
        context.compute_domtree();
        let isa = &**isa;
        let _refused = context.eliminate_unreachable_code(isa).and_then(|()| context.remove_constant_phis(isa));
        context.func.dfg.resolve_all_aliases();
    }

    fn compile(&mut self, _: usize) -> Option<usize> {
        let Cranelift { isa, context, control_plane, .. } = &mut self.0;
        context.egraph_pass(&**isa, control_plane).ok().map(|()| 0)
    }
}

/// All our passes, on a function without any prior analysis.
struct Rules {
    kingpost: Kingpost,
    optimizer: Optimizer,
    analyses: Analyses,
}

impl Rules {
    fn new(target: &str) -> Result<Rules> {
        let kingpost = Kingpost::new("ssa", "speed", target)?;
        let registers = kingpost.compiler.isa().env().class(RegClass::Int).allocatable().len();
        let optimizer = Optimizer::default().for_registers(registers);
        Ok(Rules { kingpost, optimizer, analyses: Analyses::default() })
    }
}

impl Compiler for Rules {
    fn name(&self) -> &str {
        "kingpost opt"
    }

    fn load(&mut self, text: &str) -> Result<()> {
        self.kingpost.load(text)
    }

    fn len(&self) -> usize {
        self.kingpost.len()
    }

    fn prepare(&mut self, index: usize) {
        self.kingpost.prepare(index);
    }

    fn compile(&mut self, _: usize) -> Option<usize> {
        self.optimizer.run_all(&mut self.kingpost.next, &mut self.analyses);
        Some(0)
    }
}
