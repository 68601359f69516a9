//! `completions`, `man`: files about the interface for shells and `man`.

use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::exit_status::{Outcome, Stop, Verdict};
use crate::{help, output};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::io::Write;
use std::path::Path;

/// Prints a shell's completions.
pub(crate) fn completions(args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::interface(), "kingpost", &mut script);
    let mut out = output::stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(Verdict::Good)
}

/// Writes manual pages.
pub(crate) fn man(args: &ManArgs) -> Outcome {
    let failed = |error: std::io::Error| Stop::Failure(format!("{}: {error}", args.folder.display()));
    std::fs::create_dir_all(&args.folder).map_err(failed)?;
    let mut tool = Args::command().disable_help_subcommand(true);
    tool.build();
    page(&tool, "", &args.folder).map_err(failed)?;
    Ok(Verdict::Good)
}

/// Writes the pages of a command and of its subcommands. `words` are the words of the command after the tool's name.
fn page(command: &Command, words: &str, folder: &Path) -> std::io::Result<()> {
    for subcommand in command.get_subcommands() {
        let words = format!("{words} {}", subcommand.get_name());
        page(subcommand, words.trim_start(), folder)?;
    }
    let mut command = command.clone();
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_string();
    // The usage names the values of options, which the generated synopsis does not.
    let page = Man::new(command.override_usage(usage));
    let mut text = Vec::new();
    page.render(&mut text)?;
    text.extend_from_slice(help::manual_sections(words).as_bytes());
    std::fs::write(folder.join(page.get_filename()), text)
}
