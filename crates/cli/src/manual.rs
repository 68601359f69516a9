//! `completions`, `man`: files about the interface for shells and `man`.

use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::exit_status::{Outcome, Stop, Verdict};
use crate::output;
use clap::CommandFactory;
use std::io::Write;

/// Prints a shell's completions.
pub(crate) fn completions(args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "kingpost", &mut script);
    let mut out = output::stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(Verdict::Good)
}

/// Writes manual pages.
pub(crate) fn man(args: &ManArgs) -> Outcome {
    let failed = |error: std::io::Error| Stop::Failure(format!("{}: {error}", args.folder.display()));
    std::fs::create_dir_all(&args.folder).map_err(failed)?;
    clap_mangen::generate_to(Args::command(), &args.folder).map_err(failed)?;
    Ok(Verdict::Good)
}
