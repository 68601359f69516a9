//! The interface: scripts depend on it.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};
use kingpost_codegen::{Pass, Rule, Stage};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::str::FromStr;

/// A compiler back end: compiles, runs, tests and shows functions of CLIF text.
#[derive(Parser, Debug)]
#[command(name = "kingpost", version)]
pub(crate) struct Args {
    /// How errors are written to standard error.
    #[arg(long, global = true, value_enum, value_name = "FORMAT", default_value = "human")]
    pub(crate) message_format: MessageFormat,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MessageFormat {
    /// With the line of the text and a mark below it; colors on a terminal, unless `NO_COLOR` is set.
    Human,
    /// One line each: `file:line:column: message`.
    Short,
    /// One object of JSON a line.
    Json,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run test files, and all in folders; report per failure the command that repeats it.
    Test(TestArgs),
    /// Compile for this machine and check the run directives, whatever the file's `test` lines say.
    Run(RunArgs),
    /// Interpret the run directives, whatever the file's `test` lines say.
    Interpret(RunArgs),
    /// Read functions and print them.
    Cat(FilesArgs),
    /// Check functions against the rules of the language.
    Verify(VerifyArgs),
    /// Print control-flow graphs in the language of Graphviz, with instructions, frequencies and loops.
    PrintCfg(FilesArgs),
    /// Write a page that shows what becomes of functions: graph, machine code, live ranges, the allocator's decisions.
    Explain(ExplainArgs),
    /// Optimize functions and print them.
    Opt(OptArgs),
    /// Compile functions and data into one relocatable object.
    Compile(CompileArgs),
    /// List the opcodes of the language, or explain some of them.
    Opcodes(OpcodesArgs),
    /// List the local patterns that lowering looks for on a target; `compile --stats` counts them.
    Tiles(TargetArgs),
    /// Print what a register allocator makes of each function, line by line; several allocators side by side.
    Alloc(AllocArgs),
    /// Judge register allocations given as `.ra` text, as `alloc` prints it: 0 if all are accepted, 1 if one is
    /// rejected, 2 if there is something that cannot be read.
    Check(CheckArgs),
    /// Make a file on which a command fails small, as long as the command fails in the same way.
    Reduce(ReduceArgs),
    /// Judge rewrite rules.
    Rules(crate::rules::RulesArgs),
    /// Print what a shell needs to complete commands and options: `source <(kingpost completions bash)`.
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
    #[arg(long, value_name = "A", default_value = "all", value_parser = AllocatorParser)]
    pub(crate) regalloc: String,
    /// The optimization level of run tests, or `all`; by default what each file says.
    #[arg(long, value_name = "LEVEL", value_parser = ["none", "speed", "speed_and_size", "all"])]
    pub(crate) opt: Option<String>,
    /// A shared setting of run tests, after those of each file; may be repeated.
    #[arg(long, value_name = "KEY[=VALUE]", value_parser = crate::target::shared_setting)]
    pub(crate) set: Vec<(String, String)>,
    /// An allocator outside: a command that reads an allocation problem as `.ra` text on standard input and writes an
    /// allocation to standard output, which the checker judges.
    #[arg(long, value_name = "COMMAND", conflicts_with = "regalloc")]
    pub(crate) regalloc_command: Option<String>,
    /// How compiled code is run.
    #[arg(long, value_enum, default_value = "jit")]
    pub(crate) via: Via,
    /// A list of directives that must not hold: lines `FILE:LINE REASON`.
    #[arg(long, value_name = "FILE")]
    pub(crate) known_wrong: Option<PathBuf>,
    /// Threads; by default as many as there are processors.
    #[arg(short, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) jobs: usize,
    /// Files and folders; `-` is standard input.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Via {
    /// In executable memory, in a copy of this process.
    Jit,
    /// As an object, linked by the system linker, in a process of its own.
    Object,
}

#[derive(clap::Args, Debug)]
pub(crate) struct FilesArgs {
    /// Files; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct RunArgs {
    /// Files, and calls as `%fib(50)` to run and print in place of the files' directives; `-` is standard input.
    #[arg(required = true, value_name = "FILE|CALL")]
    pub(crate) files: Vec<PathBuf>,
}

/// What to compile for.
#[derive(clap::Args, Default, Debug)]
pub(crate) struct TargetArgs {
    /// A triple, or an architecture alone for Linux; by default this machine; `help` lists them.
    #[arg(long, value_name = "TRIPLE")]
    pub(crate) target: Option<String>,
    /// A shared setting, or a flag of the target's instruction set; may be repeated; `help` lists them.
    #[arg(long, value_name = "KEY[=VALUE]")]
    pub(crate) set: Vec<String>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct OpcodesArgs {
    /// Opcodes; all in a line each if there is none.
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Files; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct OptArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Run this pass only; may be repeated.
    #[arg(long, value_name = "PASS", value_parser = named(Pass::ALL.map(Stage::of_pass), &[]))]
    pub(crate) only: Vec<String>,
    /// Apply this rewrite rule only.
    #[arg(long, value_name = "NAME", value_parser = rule)]
    pub(crate) only_rule: Option<Rule>,
    /// Apply so many rules, in all functions together.
    #[arg(long, value_name = "N")]
    pub(crate) rule_limit: Option<u64>,
    /// Files; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// Parser of allocator names; `help` ends the command with their list.
#[derive(Clone)]
struct AllocatorParser;

impl TypedValueParser for AllocatorParser {
    type Value = String;

    fn parse_ref(&self, _: &clap::Command, _: Option<&clap::Arg>, word: &OsStr) -> Result<String, clap::Error> {
        match word.to_string_lossy() {
            word if word == "help" => {
                // A reader that is gone needs no list.
                let _ = std::io::Write::write_all(&mut std::io::stdout(), crate::lists::allocators().as_bytes());
                std::process::exit(0)
            }
            word => Ok(word.into_owned()),
        }
    }
}

/// Returns a rule of the optimizer.
fn rule(name: &str) -> Result<Rule, String> {
    Rule::named(name).ok_or_else(|| format!("no rule '{name}': `kingpost rules list rules/*.rules` lists them"))
}

#[derive(clap::Args, Debug)]
#[command(group = clap::ArgGroup::new("written").args(["output", "assembly"]).multiple(true))]
pub(crate) struct CompileArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Register allocator; `help` lists them.
    #[arg(long, value_name = "A", value_parser = AllocatorParser)]
    pub(crate) regalloc: Option<String>,
    /// Verify what every stage made before the next one reads it; the same as `--set verify_each`.
    #[arg(long)]
    pub(crate) verify_each: bool,
    /// Output file; `-` for stdout. If omitted, compile without writing an object.
    #[arg(short, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Add the section `kingpost_traps`: where functions are, and which of their instructions trap, and why.
    #[arg(long, requires = "written")]
    pub(crate) trap_table: bool,
    /// Write the object as text for the system's assembler: to the file of `-o`, or to standard output.
    #[arg(short = 'S', conflicts_with = "stop_after")]
    pub(crate) assembly: bool,
    /// For debuggers: every instruction is its own line of the file, and values are variables.
    #[arg(short = 'g')]
    pub(crate) debug: bool,
    /// Replace the beginning of a path that `-g` writes, so that objects do not depend on the folder; may be repeated,
    /// and the last that fits counts.
    #[arg(long, value_name = "FROM=TO")]
    pub(crate) remap_path_prefix: Vec<PathRemap>,
    /// Print what a stage makes of each function; may be repeated.
    #[arg(long, value_name = "STAGE", value_parser = named(Stage::ALL.to_vec(), &["all"]))]
    pub(crate) dump: Vec<String>,
    /// Write dumps to numbered files of this folder, one for each stage.
    #[arg(long, value_name = "FOLDER", requires = "dump")]
    pub(crate) dump_dir: Option<PathBuf>,
    /// Print the machine code of each function: offsets, bytes, text, relocations and traps; the same as `--dump emit`.
    #[arg(long)]
    pub(crate) disasm: bool,
    /// The last stage that runs; there is no object then.
    #[arg(long, value_name = "STAGE", value_parser = named(Stage::ALL.to_vec(), &[]), conflicts_with = "output")]
    pub(crate) stop_after: Option<String>,
    /// Compile the function of this name only, as `%f` or `u0:1`; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Print the CPU time of each stage to standard error.
    #[arg(long)]
    pub(crate) time: bool,
    /// Print counters and times.
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub(crate) stats: Option<StatsFormat>,
    /// Leave out what cannot be compiled, name it by reason, and still write the object.
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Threads; by default as many as there are processors.
    #[arg(short, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) jobs: usize,
    /// Files: functions, or machine code (`.mach`) as `--dump` writes it; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// A replacement of the beginning of paths.
#[derive(Clone, Debug)]
pub(crate) struct PathRemap {
    /// Whole components of a path.
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
    /// With the setting that `-g` stands for.
    pub(crate) fn with_debug_values(mut self) -> CompileArgs {
        if self.debug {
            self.target.set.push("debug_values".into());
        }
        self
    }
}

/// Parses names of `stages`, present or former, and other words.
fn named(stages: impl IntoIterator<Item = Stage>, others: &[&'static str]) -> PossibleValuesParser {
    let value = |stage: Stage| PossibleValue::new(stage.name()).help(stage.doc()).aliases(stage.former_name());
    stages.into_iter().map(value).chain(others.iter().map(|&name| PossibleValue::new(name))).collect::<Vec<_>>().into()
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StatsFormat {
    /// One line for each.
    Text,
    /// One object.
    Json,
}

#[derive(clap::Args, Debug)]
pub(crate) struct AllocArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Register allocator, or `all`; `help` lists them.
    #[arg(long, value_name = "A", value_parser = AllocatorParser)]
    pub(crate) regalloc: Option<String>,
    /// Print problems and solutions in the text form that programs read, as is done for problems and machine code.
    #[arg(long)]
    pub(crate) ra: bool,
    /// Functions (`.clif`), problems (`.ra`) or machine code (`.mach`); `-` is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(clap::Args, Debug)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Register allocator, or `all`; `help` lists them.
    #[arg(long, value_name = "A", value_parser = AllocatorParser)]
    pub(crate) regalloc: Option<String>,
    /// Explain the function of this name only, as `%f` or `u0:1`; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) function: Vec<String>,
    /// The page; `-` is standard output.
    #[arg(short, value_name = "PAGE.html", required = true)]
    pub(crate) output: PathBuf,
    /// Functions; `-` is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(clap::Args, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Files with problems and their allocations; `-` is standard input. The target is the machine of those that
    /// describe none.
    #[arg(required = true, value_name = "FILE.ra")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct ReduceArgs {
    /// What the output of the failing command must contain, so that it does not begin to fail for another reason; by
    /// default the first message with a place, `file:line:column: message`, if there is one.
    #[arg(long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// The small file; `-` is standard output.
    #[arg(short, value_name = "OUT", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Functions (`.clif`) or allocation problems (`.ra`).
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The command and its words; `{}` stands for a candidate, which otherwise comes last.
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
    /// Where the pages go; made if there is none.
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
            Ok(Args { command: Command::Compile(args), .. }) => (args.stats, args.files.len()),
            other => panic!("{other:?}"),
        };
        assert_eq!(stats(&["--stats", "a.clif"]), (Some(StatsFormat::Text), 1));
        assert_eq!(stats(&["--stats=json", "a.clif", "-"]), (Some(StatsFormat::Json), 2));
        assert_eq!(stats(&["-j", "3", "a.clif"]), (None, 1));
        assert!(Args::try_parse_from(["kingpost", "cat"]).is_err());
    }
}
