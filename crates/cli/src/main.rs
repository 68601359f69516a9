//! The command line tool `kingpost`.
//!
//! | file | holds |
//! |---|---|
//! | `args.rs` | the interface: commands and their options |
//! | `cache.rs` | the cache that options describe |
//! | `compile.rs` | `compile`: functions to an object |
//! | `diagnostics.rs` | errors in a text, shown at their positions |
//! | `opt.rs` | `opt`: functions after the optimizer, as text |
//! | `dump.rs` | results of stages, as text |
//! | `test.rs` | `test`, `run`, `interpret`: filetests and run directives |
//! | `test_report.rs` | reports of test runs as JSON and XML |
//! | `cat_verify.rs` | `cat`, `verify` |
//! | `explain.rs` | `explain`, `print-cfg` |
//! | `tiles.rs` | `tiles`: the local patterns of a target |
//! | `alloc.rs` | `alloc`: an allocation problem and its solution |
//! | `prove.rs` | `prove`: proofs of emitted code |
//! | `check.rs` | `check`: verifies allocations given as text |
//! | `reduce.rs` | `reduce`: small files on which a command fails |
//! | `rules.rs`, `judging.rs` | `rules check`: proofs of rewrite rules |
//! | `rules_prove.rs` | `rules prove`, `list`, `explain`, `generate` |
//! | `list_commands.rs` | lists of settings, targets, processors and opcodes |
//! | `help.rs` | exit statuses and examples of the commands |
//! | `manual.rs` | `completions`, `man`: files for shells and `man` |
//! | `target.rs` | the compiler that options describe |
//! | `stats.rs` | counters and times as text or JSON |
//! | `progress.rs` | the progress of commands that take long |
//! | `input.rs`, `output.rs` | files and standard streams |
//! | `exit_status.rs` | results of a command, and exit codes |

mod alloc;
mod args;
mod cache;
mod cat_verify;
mod check;
mod compile;
mod diagnostics;
mod dump;
mod exit_status;
mod explain;
mod help;
mod input;
mod judging;
mod list_commands;
mod manual;
mod opt;
mod output;
mod progress;
mod prove;
mod reduce;
mod rules;
mod rules_prove;
mod stats;
mod target;
mod test;
mod test_report;
mod tiles;

use args::{Args, Command};
use clap::FromArgMatches;
use clap::error::ErrorKind;
use exit_status::{Outcome, Stop, Verdict};
use kingpost_jit::ToolHeap;
use std::io::Write;
use std::process::ExitCode;

/// Out of memory, the tool prints that and ends with code 3.
#[global_allocator]
static HEAP: ToolHeap = ToolHeap::new("kingpost", 3);

fn main() -> ExitCode {
    env_logger::init();
    // Invalid options exit here with code 2.
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let outcome = match list_commands::requested(&words) {
        Some(list) => list.and_then(print),
        None => run(Args::from_arg_matches(&help::interface().get_matches()).unwrap_or_else(|error| error.exit())),
    };
    match outcome {
        Ok(Verdict::Good) | Err(Stop::BrokenPipe) => ExitCode::SUCCESS,
        Ok(Verdict::Bad) => ExitCode::FAILURE,
        Err(Stop::Failure(text)) => {
            diagnostics::report(&text);
            ExitCode::FAILURE
        }
        Err(Stop::Usage(text) | Stop::Malformed(text)) => {
            diagnostics::report(&text);
            ExitCode::from(2)
        }
    }
}

/// Writes a list to standard output.
fn print(list: String) -> Outcome {
    let mut out = std::io::stdout().lock();
    out.write_all(list.as_bytes())?;
    Ok(Verdict::Good)
}

fn run(args: Args) -> Outcome {
    diagnostics::set_format(args.message_format);
    if let Some(list) = args.print {
        return list_commands::list(list, args.target.as_deref()).and_then(print);
    }
    let Some(command) = args.command else {
        let missing = "a command is missing: `kingpost --help` lists them";
        help::interface().error(ErrorKind::MissingSubcommand, missing).exit();
    };
    match command {
        Command::Test(args) => test::test(&args),
        Command::Run(args) => test::directives("run", &args),
        Command::Interpret(args) => test::directives("interpret", &args),
        Command::Cat(args) => cat_verify::cat(&args),
        Command::Verify(args) => cat_verify::verify(&args),
        Command::PrintCfg(args) => explain::print_cfg(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Opt(args) => opt::opt(&args),
        Command::Compile(args) => compile::compile(&args.with_debug_values()),
        Command::Opcodes(args) => list_commands::opcodes(&args),
        Command::Tiles(args) => tiles::tiles(&args),
        Command::Alloc(args) => alloc::alloc(&args),
        Command::Prove(args) => prove::prove(&args),
        Command::Check(args) => check::check(&args),
        Command::Reduce(args) => reduce::reduce(&args),
        Command::Rules(args) => rules::rules(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
    }
}
