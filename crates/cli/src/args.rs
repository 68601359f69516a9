//! The command line interface. Scripts depend on it.

use crate::cat_verify::{FilesArgs, Selection, VerifyArgs};
use crate::diagnostics::MessageFormat;
use crate::list_commands::{OpcodesArgs, Print};
use crate::output::{ListFormat, TableFormat};
use crate::target::{self, Choice, TargetArgs};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Parser, Subcommand, ValueEnum};
use kingpost_codegen::{Pass, Rule, Stage};
use kingpost_testgen::Shard;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

/// A compiler back end: compiles, runs, tests and shows functions of CLIF text.
#[derive(Parser, Debug)]
#[command(name = "kingpost", version, arg_required_else_help = true)]
pub(crate) struct Args {
    /// Format of errors on standard error.
    #[arg(long, global = true, value_enum, value_name = "FORMAT", default_value = "human")]
    pub(crate) message_format: MessageFormat,
    /// Print a list instead of running a command.
    #[arg(long, value_enum, value_name = "LIST")]
    pub(crate) print: Option<Print>,
    /// Target of the list.
    #[arg(long, value_name = "TRIPLE", requires = "print")]
    pub(crate) target: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run test files, and all test files in folders. For each failure, print the command that repeats it.
    Test(TestArgs),
    /// Compile for this machine and check the run directives, regardless of the file's `test` lines.
    Run(RunArgs),
    /// Interpret the run directives, regardless of the file's `test` lines.
    Interpret(RunArgs),
    /// Read functions and print them.
    Cat(FilesArgs),
    /// Check functions against the rules of the language.
    Verify(VerifyArgs),
    /// Print control-flow graphs in the language of Graphviz, with instructions, frequencies and loops.
    PrintCfg(FilesArgs),
    /// Write a page about the compilation of functions: graph, machine code, live ranges, the allocator's decisions.
    Explain(ExplainArgs),
    /// Optimize functions and print them.
    Opt(OptArgs),
    /// Compile functions and data into one relocatable object.
    Compile(CompileArgs),
    /// List the opcodes of the language, or explain some of them.
    Opcodes(OpcodesArgs),
    /// List the local patterns that lowering looks for on a target; `compile --stats` counts them.
    Tiles(TilesArgs),
    /// Print the allocation of each function, line by line, for several allocators side by side.
    Alloc(AllocArgs),
    /// Prove that the machine code of each function means what the function means.
    Prove(ProveArgs),
    /// Check register allocations given as `.ra` text, as `alloc` prints it, and print their costs.
    Check(CheckArgs),
    /// Reduce a file on which a command fails, as long as the command fails in the same way.
    Reduce(ReduceArgs),
    /// Prove, list and generate rewrite rules.
    Rules(crate::rules::RulesArgs),
    /// Print completions of commands and options for a shell: `source <(kingpost completions bash)`.
    Completions(CompletionsArgs),
    /// Write manual pages, one for each command: `man -l man1/kingpost-compile.1`.
    Man(ManArgs),
}

#[derive(clap::Args, Debug)]
pub(crate) struct TestArgs {
    /// Only the `target` lines of this architecture or triple; may be repeated.
    #[arg(long = "target", value_name = "T")]
    pub(crate) targets: Vec<String>,
    /// Register allocator, or `all`; `help` lists them.
    #[arg(long, value_name = "A", default_value = "all")]
    pub(crate) regalloc: String,
    /// Optimization level of run tests, or `all`; by default the level of each file.
    #[arg(short = 'O', long = "opt", value_name = "LEVEL", value_parser = target::levels(&["all"]))]
    pub(crate) level: Option<String>,
    /// A shared setting of run tests, applied after the settings of each file; may be repeated.
    #[arg(long, value_name = "KEY[=VALUE]", value_parser = crate::target::shared_setting)]
    pub(crate) set: Vec<(String, String)>,
    /// External allocator: a command that reads an allocation problem as `.ra` text on standard input and writes an
    /// allocation to standard output, which the checker verifies.
    #[arg(long, value_name = "COMMAND", conflicts_with = "regalloc")]
    pub(crate) regalloc_command: Option<String>,
    /// Method of running compiled code.
    #[arg(long, value_enum, default_value = "jit")]
    pub(crate) via: Via,
    /// List of directives that must not hold: lines `FILE:LINE REASON`.
    #[arg(long, value_name = "FILE")]
    pub(crate) known_wrong: Option<PathBuf>,
    /// Test only the functions with this name, such as `%f` or `u0:1`; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) function: Vec<String>,
    /// Test only the files with this text in their paths; may be repeated.
    #[arg(long, value_name = "TEXT")]
    pub(crate) file: Vec<String>,
    /// Test only part I of N of the files; the parts of a list add up to the whole.
    #[arg(long, value_name = "I/N", default_value_t, hide_default_value = true)]
    pub(crate) shard: Shard,
    /// List what would be tested, and test nothing.
    #[arg(long)]
    pub(crate) list: bool,
    /// Format of the report.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: ReportFormat,
    /// File for the report; standard output then has it as text.
    #[arg(short, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Number of threads; by default the number of processors.
    #[arg(short, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) jobs: usize,
    /// Files and folders; `-` is standard input.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}

/// Format of the report of a test run.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReportFormat {
    /// Text for readers.
    Text,
    /// One JSON object with the counts, and all units with their outcomes.
    Json,
    /// XML as JUnit writes it, one suite for each file.
    Junit,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Via {
    /// Executable memory, called in a copy of this process.
    Jit,
    /// Object, linked by the system linker and called in a separate process.
    Object,
}

#[derive(clap::Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Register allocator, by default `ssa`; `help` lists them. The interpreter uses none.
    #[arg(long, value_name = "A")]
    pub(crate) regalloc: Option<String>,
    /// External allocator: a command that reads an allocation problem as `.ra` text on standard input and writes an
    /// allocation to standard output, which the checker verifies.
    #[arg(long, value_name = "COMMAND", conflicts_with = "regalloc")]
    pub(crate) regalloc_command: Option<String>,
    /// Limit of a file: seconds of CPU time of compiled code, by default 10, or millions of interpreted instructions,
    /// by default 100.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) limit: Option<u32>,
    /// Files, and calls such as `%fib(50)` to run instead of the files' directives. Each call prints its results on a
    /// line. `-` is standard input.
    #[arg(required = true, value_name = "FILE|CALL")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct OptArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Run only this pass; may be repeated.
    #[arg(long = "pass", alias = "only", value_name = "PASS", value_parser = named(Pass::ALL.map(Stage::of_pass), &[]))]
    pub(crate) passes: Vec<String>,
    /// Apply only this rewrite rule.
    #[arg(long, value_name = "NAME", value_parser = rule)]
    pub(crate) only_rule: Option<Rule>,
    /// Maximum number of rules to apply, in all functions together.
    #[arg(long, value_name = "N")]
    pub(crate) rule_limit: Option<u64>,
    /// Files; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// Returns the rule of the optimizer with this name.
fn rule(name: &str) -> Result<Rule, String> {
    Rule::named(name).ok_or_else(|| format!("no rule '{name}': `kingpost rules list rules/*.rules` lists them"))
}

#[derive(clap::Args, Debug)]
#[command(group = clap::ArgGroup::new("written").args(["output", "assembly"]).multiple(true))]
pub(crate) struct CompileArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Register allocator, by default `ssa`; `help` lists them.
    #[arg(long, value_name = "A")]
    pub(crate) regalloc: Option<String>,
    /// External allocator: a command that reads an allocation problem as `.ra` text on standard input and writes an
    /// allocation to standard output, which the checker verifies.
    #[arg(long, value_name = "COMMAND", conflicts_with = "regalloc")]
    pub(crate) regalloc_command: Option<String>,
    /// Verify the result of every stage before the next stage reads it; short for `--set verify_each`.
    #[arg(long)]
    pub(crate) verify_each: bool,
    /// Output file; `-` for stdout. If omitted, compile without writing an object.
    #[arg(short, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Add the section `kingpost_traps`, a table of functions, of their instructions that trap, and of the reasons.
    #[arg(long, requires = "written")]
    pub(crate) trap_table: bool,
    /// Place each function in a section of its own, so that linkers can remove functions.
    #[arg(long, requires = "output", conflicts_with = "assembly")]
    pub(crate) function_sections: bool,
    /// Write the object as text for the system's assembler, to the file of `-o` or to standard output.
    #[arg(short = 'S', conflicts_with = "stop_after")]
    pub(crate) assembly: bool,
    /// Add debug information: every instruction has its own line of the file, and values are variables.
    #[arg(short = 'g')]
    pub(crate) debug: bool,
    /// Replace the beginning of a path that `-g` writes, so that objects do not depend on the folder; may be
    /// repeated, and the last match applies.
    #[arg(long, value_name = "FROM=TO")]
    pub(crate) remap_path_prefix: Vec<PathRemap>,
    /// Print the result of a stage for each function; may be repeated.
    #[arg(long, value_name = "STAGE", value_parser = named(Stage::ALL.to_vec(), &["all"]))]
    pub(crate) dump: Vec<String>,
    /// Write dumps to numbered files in this folder, one for each stage.
    #[arg(long, value_name = "FOLDER", requires = "dump")]
    pub(crate) dump_dir: Option<PathBuf>,
    /// Print the machine code of each function: offsets, bytes, text, relocations and traps; short for `--dump emit`.
    #[arg(long)]
    pub(crate) disasm: bool,
    /// Stop after this stage and write no object.
    #[arg(long, value_name = "STAGE", value_parser = named(Stage::ALL.to_vec(), &[]), conflicts_with = "output")]
    pub(crate) stop_after: Option<String>,
    /// Only the function with this name, such as `%f` or `u0:1`; may be repeated.
    #[arg(long, alias = "only", value_name = "NAME")]
    pub(crate) function: Vec<String>,
    /// Print the CPU time of each stage to standard error.
    #[arg(long)]
    pub(crate) time: bool,
    /// Print counters, CPU time of the stages, and wall-clock time of reading and of all work after it.
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub(crate) stats: Option<StatsFormat>,
    /// Cache of compiled functions, which runs and processes share: a folder, which is created if it does not exist, or
    /// a Redis server as `redis://HOST`. Options that print stages or counters compile all functions.
    #[arg(long, value_name = "FOLDER|URL", conflicts_with = "regalloc_command")]
    pub(crate) cache: Option<PathBuf>,
    /// Limit of the size of a folder's cache in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024, requires = "cache")]
    pub(crate) cache_limit: u32,
    /// Compile one of N functions from the cache again, 16 if N is omitted, and fail if the results differ.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "16", requires = "cache")]
    pub(crate) cache_verify: Option<NonZeroU32>,
    /// Skip functions that cannot be compiled, report the reasons, and still write the object.
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Number of threads; by default the number of processors.
    #[arg(short, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) jobs: usize,
    /// Files: functions, or machine code (`.mach`) as `--dump` writes it; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// A replacement for the beginning of paths.
#[derive(Clone, Debug)]
pub(crate) struct PathRemap {
    /// Beginning of a path, in whole components.
    pub(crate) from: PathBuf,
    pub(crate) to: PathBuf,
}

impl FromStr for PathRemap {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<PathRemap, &'static str> {
        let (from, to) = text.rsplit_once('=').ok_or("expected FROM=TO")?;
        Ok(PathRemap { from: from.into(), to: to.into() })
    }
}

impl CompileArgs {
    /// Returns the allocator that the options name.
    pub(crate) fn allocator(&self) -> Option<Choice> {
        Choice::of(self.regalloc.as_deref(), self.regalloc_command.as_deref())
    }

    /// Returns the arguments with the setting `debug_values` added if `-g` is given.
    pub(crate) fn with_debug_values(mut self) -> CompileArgs {
        if self.debug {
            self.target.set.push("debug_values".into());
        }
        self
    }
}

/// Returns a parser for the current and former names of `stages`, and for other words.
fn named(stages: impl IntoIterator<Item = Stage>, others: &[&'static str]) -> PossibleValuesParser {
    let value = |stage: Stage| PossibleValue::new(stage.name()).help(stage.doc()).aliases(stage.former_name());
    stages.into_iter().map(value).chain(others.iter().map(|&name| PossibleValue::new(name))).collect::<Vec<_>>().into()
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StatsFormat {
    /// One line per counter.
    Text,
    /// One JSON object.
    Json,
}

#[derive(clap::Args, Debug)]
pub(crate) struct AllocArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Register allocator, by default `ssa`, or `all`; `help` lists them.
    #[arg(long, value_name = "A")]
    pub(crate) regalloc: Option<String>,
    /// External allocator: a command that reads an allocation problem as `.ra` text on standard input and writes an
    /// allocation to standard output, which the checker verifies.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) regalloc_command: Option<String>,
    /// Print problems and solutions as `.ra` text, which programs can read; the default for problems and machine
    /// code.
    #[arg(long)]
    pub(crate) ra: bool,
    /// Format of the output. The formats for programs have one row for each function and allocator.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text", conflicts_with = "ra")]
    pub(crate) format: TableFormat,
    /// Allocate N times for the columns of nanoseconds of CPU time: median, lowest and highest.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) rounds: u32,
    /// Folder for plots: for each pair of allocators, the costs of all functions and the distribution of their ratios.
    #[arg(long, value_name = "FOLDER", conflicts_with = "ra")]
    pub(crate) plots: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Functions (`.clif`), problems (`.ra`) or machine code (`.mach`); `-` is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(clap::Args, Debug)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Register allocator, by default `ssa`, or `all`; `help` lists them.
    #[arg(long, value_name = "A")]
    pub(crate) regalloc: Option<String>,
    /// External allocator: a command that reads an allocation problem as `.ra` text on standard input and writes an
    /// allocation to standard output, which the checker verifies.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) regalloc_command: Option<String>,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Write a page about all functions of a large file, too. Without this, such a file is an error that lists its largest
    /// functions.
    #[arg(long, conflicts_with = "names")]
    pub(crate) whole_file: bool,
    /// Output file; `-` for stdout.
    #[arg(short, value_name = "PAGE.html", required = true)]
    pub(crate) output: PathBuf,
    /// Functions (`.clif`) or allocation problems (`.ra`); `-` is standard input with functions.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(clap::Args, Debug)]
pub(crate) struct TilesArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Format of the output.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: ListFormat,
}

#[derive(clap::Args, Debug)]
pub(crate) struct ProveArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Register allocator, by default `ssa`; `help` lists them.
    #[arg(long, value_name = "A")]
    pub(crate) regalloc: Option<String>,
    /// Only the function with this name, such as `%f` or `u0:1`; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) function: Vec<String>,
    /// Format of the output.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: ListFormat,
    /// Files of functions; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Format of the results.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: ListFormat,
    /// Files with problems and their allocations; `-` is standard input. Problems without a machine use the target.
    #[arg(required = true, value_name = "FILE.ra")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct ReduceArgs {
    /// Text that the output of the failing command must contain, so that the command does not start to fail for
    /// another reason; by default its first message at a line of a file, or else the first line that names a function
    /// of the file, or else its first line, without the numbers of values, instructions and registers.
    #[arg(long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Output file; `-` for stdout.
    #[arg(short, value_name = "OUT", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Functions (`.clif`), or allocation problems (`.ra`) with or without allocations.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The command and its arguments; `{}` is replaced by the candidate, which otherwise comes last.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

#[derive(clap::Args, Debug)]
pub(crate) struct ManArgs {
    /// Folder for the pages; created if it does not exist.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_interface_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn stats_with_and_without_format() {
        let stats = |args: &[&str]| match Args::try_parse_from([&["kingpost", "compile", "-o", "x.o"], args].concat()) {
            Ok(Args { command: Some(Command::Compile(args)), .. }) => (args.stats, args.files.len()),
            other => panic!("{other:?}"),
        };
        assert_eq!(stats(&["--stats", "a.clif"]), (Some(StatsFormat::Text), 1));
        assert_eq!(stats(&["--stats=json", "a.clif", "-"]), (Some(StatsFormat::Json), 2));
        assert_eq!(stats(&["-j", "3", "a.clif"]), (None, 1));
        assert!(Args::try_parse_from(["kingpost", "cat"]).is_err());
    }
}
