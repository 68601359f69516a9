//! The command line, as types.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Measures Kingpost against published peers: the same input, the same CPU flags, verifiers and checkers off, in one
/// run.
///
/// Without a command: `report`.
#[derive(Parser)]
#[command(name = "kingpost-bench", version)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Compare everything, and write one page with plots and tables.
    Report(ReportArgs),
    /// Compare compile time and code size with Cranelift, per file and in total.
    Compile {
        /// Optimization level of both sides: `none`, `speed` or `speed_and_size`.
        #[arg(long, value_name = "LEVEL", default_value = "none")]
        opt_level: String,
        /// Target of both sides: `x86_64` or `aarch64`.
        #[arg(long, value_name = "ARCH", default_value = "x86_64")]
        target: String,
        /// Functions in CLIF; `.xz` is unpacked by `xz`.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Compare only the optimizers: time per instruction of the input.
    Optimise {
        /// Target of both sides: `x86_64` or `aarch64`.
        #[arg(long, value_name = "ARCH", default_value = "x86_64")]
        target: String,
        /// Functions in CLIF; `.xz` is unpacked by `xz`.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Measure compile time and code size of generated functions of growing size, and fit the growth.
    Shapes {
        /// Instructions of the largest function.
        #[arg(default_value_t = 100_000)]
        max: usize,
    },
    /// Compare only the parsing with cranelift-reader.
    Parse {
        /// Functions in CLIF; `.xz` is unpacked by `xz`.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Compare `define_function` of Cranelift's modules and of ours as clients of Cranelift call it, and measure the
    /// cost of translation.
    Module {
        /// Functions in CLIF; `.xz` is unpacked by `xz`.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Compare run time and size of well-known kernels with Cranelift and C compilers, with all versions in one process,
    /// in turns, at four places of the code.
    Kernels {
        /// Only these kernels; by default all of crates/bench/kernels.
        #[arg(long, value_name = "NAME", value_delimiter = ',')]
        only: Vec<String>,
        /// Number of rounds; the best round counts.
        #[arg(long, value_name = "N", default_value_t = 21)]
        rounds: usize,
        /// Folder for objects and the programs.
        #[arg(long, value_name = "DIR", default_value = "target/kernels")]
        folder: PathBuf,
        /// Write the CLIF files of the kernels next to their C files instead.
        #[arg(long)]
        translate: bool,
        /// Compare compile time with LLVM's code generator instead, on copies of the kernels' functions.
        #[arg(long, conflicts_with = "translate")]
        llvm: bool,
        /// Measure functions of real WebAssembly modules instead, on a made-up memory.
        #[arg(long, conflicts_with_all = ["translate", "llvm"])]
        modules: bool,
    },
    /// Compare how many instructions the code of the kernels executes, counted by an emulator (`qemu-x86_64`,
    /// `qemu-aarch64`). C compilers and Cranelift at `speed` are the baselines.
    Instructions {
        /// Only these kernels; by default all of crates/bench/kernels.
        #[arg(long, value_name = "NAME", value_delimiter = ',')]
        only: Vec<String>,
        /// Target of all compilers: `x86_64` or `aarch64`.
        #[arg(long, value_name = "ARCH", default_value = "x86_64")]
        target: String,
        /// Folder for objects and the programs.
        #[arg(long, value_name = "DIR", default_value = "target/kernels")]
        folder: PathBuf,
        /// Count instructions of functions of real WebAssembly modules instead, on a made-up memory.
        #[arg(long)]
        modules: bool,
    },
    /// Compare bytes and run time of vector kernels with Cranelift's. `cc` links every version, and it runs here. For
    /// AArch64, only bytes.
    Vectors {
        /// CPU features that the code may use: `sse2`, `sse41`, `avx2`.
        #[arg(long, value_name = "CPU", value_delimiter = ',', default_value = "sse2,sse41,avx2")]
        cpu: Vec<String>,
        /// Optimization levels of both sides: `none`, `speed` or `speed_and_size`.
        #[arg(long, value_name = "LEVEL", value_delimiter = ',', default_value = "none,speed")]
        opt_level: Vec<String>,
        /// Folder for the programs that were run; by default they are deleted.
        #[arg(long, value_name = "FOLDER")]
        keep: Option<PathBuf>,
    },
    /// Print the peak memory of one compiler without an optimizer; `compile` calls this.
    #[command(hide = true)]
    Memory { name: String, file: PathBuf },
    /// Compare register allocators with both algorithms of regalloc2, on equal problems.
    Regalloc(RegallocArgs),
}

#[derive(Args)]
pub(crate) struct ReportArgs {
    /// Measure few modules, few rounds, and no sizes above 100,000, to save minutes.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Folder for the page, its plots and its tables.
    #[arg(long, value_name = "DIR", default_value = REPORT_FOLDER)]
    pub(crate) folder: PathBuf,
    /// Functions in CLIF; by default the modules of crates/bench/modules/clif, or of ../shared/corpus/wasm-clif, that exist.
    pub(crate) files: Vec<PathBuf>,
}

const REPORT_FOLDER: &str = "target/report";

impl Default for ReportArgs {
    fn default() -> ReportArgs {
        ReportArgs { quick: false, folder: REPORT_FOLDER.into(), files: Vec::new() }
    }
}

/// Formats of tables.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    Text,
    Csv,
    Json,
}

#[derive(Args)]
pub(crate) struct RegallocArgs {
    /// Only these of our allocators, against both rivals; `none` measures only the rivals.
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "ssa,linear,backtracking")]
    pub(crate) only: Vec<String>,
    /// External allocator that takes part: a command that reads an allocation problem as `.ra` text on standard input and
    /// writes an allocation. Its time is not measured.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) regalloc_command: Option<String>,
    /// Measure only our allocators.
    #[arg(long)]
    pub(crate) no_rivals: bool,
    /// Format of the results: `text` for tables, or `csv` or `json` for one row for each function and allocator.
    #[arg(long, value_name = "FORMAT", default_value = "text", conflicts_with = "growth")]
    pub(crate) format: TableFormat,
    /// Folder for plots: for each pair of allocators, the costs of all functions and the distribution of their ratios.
    #[arg(long, value_name = "FOLDER", conflicts_with = "growth")]
    pub(crate) plots: Option<PathBuf>,
    /// Generated shapes, or `none`; by default all, or none if files are given.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) shapes: Option<Vec<String>>,
    /// Instructions of a shape; 100,000 unless `--quick`.
    #[arg(long, value_name = "N")]
    pub(crate) size: Option<usize>,
    /// Number of rounds (the best one counts); 5 unless `--quick`.
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<usize>,
    /// Measure shapes of 10,000 instructions in two rounds, without bytes.
    #[arg(long)]
    pub(crate) quick: bool,
    /// For each case and each of our allocators, list the N functions whose cost exceeds the cost of regalloc2's
    /// backtracking most.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) worst: usize,
    /// Measure instead the exponents of steps, bytes and CPU time of our allocators, from 10^4 to MAX instructions.
    #[arg(long, value_name = "MAX", num_args = 0..=1, default_missing_value = "1000000")]
    pub(crate) growth: Option<usize>,
    /// Functions in CLIF, lowered for x86-64; by default, without `--shapes`, the modules of `compile`.
    pub(crate) files: Vec<PathBuf>,
}
