//! The command line tool `kingpost`.
//!
//! | file | holds |
//! |---|---|
//! | `args.rs` | the interface: commands and their options |
//! | `compile.rs` | `compile`: functions to an object |
//! | `diagnostics.rs` | errors in a text, shown at their positions |
//! | `opt.rs` | `opt`: functions after the optimizer, as text |
//! | `dump.rs` | results of stages, as text |
//! | `test.rs` | `test`, `run`, `interpret`: filetests and run directives |
//! | `cat_verify.rs` | `cat`, `verify` |
//! | `explain.rs` | `explain`, `print-cfg` |
//! | `tiles.rs` | `tiles`: the local patterns of a target |
//! | `alloc.rs` | `alloc`: an allocation problem and its solution |
//! | `check.rs` | `check`: verifies allocations given as text |
//! | `reduce.rs` | `reduce`: small files on which a command fails |
//! | `rules.rs`, `judging.rs` | `rules check`: proofs of rewrite rules |
//! | `rules_prove.rs` | `rules prove`, `list`, `explain`, `generate` |
//! | `list_commands.rs` | lists of settings, targets and opcodes |
//! | `manual.rs` | `completions`, `man`: files for shells and `man` |
//! | `target.rs` | the compiler that options describe |
//! | `stats.rs` | counters and times as text or JSON |
//! | `input.rs`, `output.rs` | files and standard streams |
//! | `exit_status.rs` | results of a command, and exit codes |

mod alloc;
mod args;
mod cat_verify;
mod check;
mod compile;
mod diagnostics;
mod dump;
mod exit_status;
mod explain;
mod input;
mod judging;
mod list_commands;
mod manual;
mod opt;
mod output;
mod reduce;
mod rules;
mod rules_prove;
mod stats;
mod target;
mod test;
mod tiles;

use args::{Args, Command};
use clap::Parser;
use exit_status::{Stop, Verdict};
use kingpost_jit::ToolHeap;
use std::io::Write;
use std::process::ExitCode;

/// Out of memory, the tool prints that and ends with code 3.
#[global_allocator]
static HEAP: ToolHeap = ToolHeap::new("kingpost", 3);

fn main() -> ExitCode {
    env_logger::init();
    // Invalid options exit here with code 2.
    let args = Args::parse();
    diagnostics::set_format(args.message_format);
    let outcome = match args.command {
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
        Command::Check(args) => check::check(&args),
        Command::Reduce(args) => reduce::reduce(&args),
        Command::Rules(args) => rules::rules(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
    };
    match outcome {
        Ok(Verdict::Good) | Err(Stop::BrokenPipe) => ExitCode::SUCCESS,
        Ok(Verdict::Bad) => ExitCode::FAILURE,
        Err(Stop::Help(text)) => {
            // An error is ignored, because it means that the reader has closed the pipe.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
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
