//! The command line, as types.

use clap::{Args, Parser, Subcommand};
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
    /// Everything that is compared, as one page with plots and tables.
    Report(ReportArgs),
    /// Compile time and code size against Cranelift, per file and in all.
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
    /// Optimizers alone: time for each instruction of the input.
    Optimise {
        /// Target of both sides: `x86_64` or `aarch64`.
        #[arg(long, value_name = "ARCH", default_value = "x86_64")]
        target: String,
        /// Functions in CLIF; `.xz` is unpacked by `xz`.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Compile time and code size on generated functions of growing size, with the fitted growth.
    Shapes {
        /// Instructions of the largest.
        #[arg(default_value_t = 100_000)]
        max: usize,
    },
    /// Reading alone, against cranelift-reader.
    Parse {
        /// Functions in CLIF; `.xz` is unpacked by `xz`.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// `define_function` of Cranelift's modules and of ours, as clients of Cranelift call it, and what translation
    /// costs.
    Module {
        /// Functions in CLIF; `.xz` is unpacked by `xz`.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Run time and size of well-known kernels against Cranelift and `cc -O1`: all versions in one process, in turns.
    Kernels {
        /// Only these; by default all of crates/bench/kernels.
        #[arg(long, value_name = "NAME", value_delimiter = ',')]
        only: Vec<String>,
        /// Rounds of which the best counts.
        #[arg(long, value_name = "N", default_value_t = 21)]
        rounds: usize,
        /// Folder for objects and the program.
        #[arg(long, value_name = "DIR", default_value = "target/kernels")]
        folder: PathBuf,
        /// Instead: write the CLIF files beside the C files that they are made from.
        #[arg(long)]
        translate: bool,
    },
    /// Bytes and run time of kernels on vectors against Cranelift's; every version is run here, by `cc`. AArch64: bytes
    /// alone.
    Vectors {
        /// CPU features that the code may use: `sse2`, `sse41`, `avx2`.
        #[arg(long, value_name = "CPU", value_delimiter = ',', default_value = "sse2,sse41,avx2")]
        cpu: Vec<String>,
        /// Optimization levels of both sides: `none`, `speed` or `speed_and_size`.
        #[arg(long, value_name = "LEVEL", value_delimiter = ',', default_value = "none,speed")]
        opt_level: Vec<String>,
        /// Folder that keeps the programs that were run.
        #[arg(long, value_name = "FOLDER")]
        keep: Option<PathBuf>,
    },
    /// Peak memory of one compiler without an optimizer, for `compile` to call.
    #[command(hide = true)]
    Memory { name: String, file: PathBuf },
    /// Register allocators against both algorithms of regalloc2, on the same problems.
    Regalloc(RegallocArgs),
}

#[derive(Args)]
pub(crate) struct ReportArgs {
    /// Few modules, few rounds, no sizes above 100,000: minutes fewer.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Folder for the page, its plots and its tables.
    #[arg(long, value_name = "DIR", default_value = REPORT_FOLDER)]
    pub(crate) folder: PathBuf,
    /// Functions in CLIF; by default the modules of ../shared/corpus/wasm-clif, if they are there.
    pub(crate) files: Vec<PathBuf>,
}

const REPORT_FOLDER: &str = "target/report";

impl Default for ReportArgs {
    fn default() -> ReportArgs {
        ReportArgs { quick: false, folder: REPORT_FOLDER.into(), files: Vec::new() }
    }
}

#[derive(Args)]
pub(crate) struct RegallocArgs {
    /// Only these allocators of ours, against both rivals; `none` measures the rivals.
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "ssa,linear,backtracking")]
    pub(crate) only: Vec<String>,
    /// Ours alone.
    #[arg(long)]
    pub(crate) no_rivals: bool,
    /// Generated shapes, or `none`; by default all, but none if files are given.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) shapes: Option<Vec<String>>,
    /// Instructions of a shape; 100,000 unless `--quick`.
    #[arg(long, value_name = "N")]
    pub(crate) size: Option<usize>,
    /// Rounds of which the best counts; 5 unless `--quick`.
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<usize>,
    /// Shapes of 10,000, two rounds, no bytes.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Of each case, the N functions in which each of ours costs most more than regalloc2's backtracking.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) worst: usize,
    /// Instead: exponents of steps, bytes and CPU time of ours from 10^4 to MAX.
    #[arg(long, value_name = "MAX", num_args = 0..=1, default_missing_value = "1000000")]
    pub(crate) growth: Option<usize>,
    /// Functions in CLIF, lowered for x86-64; without files and `--shapes`, the modules of ../shared/corpus/wasm-clif.
    pub(crate) files: Vec<PathBuf>,
}
