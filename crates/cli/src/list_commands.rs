//! Lists of settings, targets, allocators and opcodes.

use crate::diagnostics::report;
use crate::exit_status::{Outcome, Verdict};
use crate::output;
use kingpost_codegen::{CHOICES, Compiler, CpuFlags, SettingError, Settings, TARGETS, TargetError};
use kingpost_ir::Opcode;
use kingpost_ir::docs::opcode_doc;
use kingpost_ir::near::near_suffix;
use std::fmt::Write as _;
use std::io::Write;
use target_lexicon::Triple;

#[derive(clap::Args, Debug)]
pub(crate) struct OpcodesArgs {
    /// Opcodes; if omitted, list all, one per line.
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

/// Returns all settings and the flags of the target's instruction set, with their meanings and values unless set.
pub(crate) fn settings(triple: &Triple, defaults: &Settings) -> String {
    let mut text = "Settings, with their values unless set:\n".to_string();
    for ((key, doc), value) in Settings::KEYS.iter().zip(defaults.values()) {
        let is_refused = |word: &&&str| {
            let mut settings = defaults.clone();
            settings.set(key, word).is_ok() && is_unsupported(triple, settings, &[])
        };
        let refused: Vec<&str> = Settings::words(key).iter().filter(is_refused).copied().collect();
        let refused =
            if refused.is_empty() { String::new() } else { format!(" Not supported: {}.", refused.join(", ")) };
        let _ = writeln!(text, "  {:<45} {doc}{refused}", format!("{key}={value}"));
    }
    let Some(flags) = CpuFlags::of(triple.architecture, &[]) else { return text };
    text += "\nFlags of the instruction set, off unless set:\n";
    for (flag, doc) in flags.known() {
        let is_refused = is_unsupported(triple, defaults.clone(), &[flag.to_string()]);
        let _ = writeln!(text, "  {flag:<45} {doc}{}", if is_refused { " Not supported." } else { "" });
    }
    text + "\nNames of processors and levels, as `haswell` or `x86-64-v3`, set several flags.\n"
}

/// Returns `true` if the compiler for a target does not support one of the settings or flags.
fn is_unsupported(triple: &Triple, settings: Settings, flags: &[String]) -> bool {
    let compiler = Compiler::new(triple, settings, flags);
    matches!(compiler, Err(TargetError::Setting(SettingError::Unsupported { .. })))
}

/// Returns the list of all targets.
pub(crate) fn targets() -> String {
    let mut text = "Architectures; alone each stands for Linux, as in `--target aarch64`:\n".to_string();
    for (name, doc) in TARGETS {
        let _ = writeln!(text, "  {name:<10} {doc}");
    }
    text
}

/// Returns the register allocators for users, one per line: the name and its strength.
pub(crate) fn allocators() -> String {
    CHOICES.iter().map(|(name, doc)| format!("{name:<13} {doc}\n")).collect()
}

/// Describes opcodes, or lists all.
pub(crate) fn opcodes(args: &OpcodesArgs) -> Outcome {
    let mut out = output::stdout();
    let mut verdict = Verdict::Good;
    if args.names.is_empty() {
        for opcode in Opcode::ALL {
            let doc = opcode.info().doc;
            let sentence = doc.split_inclusive(". ").next().unwrap_or(doc).trim_end();
            writeln!(out, "{:<30} {sentence}", opcode.name())?;
        }
    }
    for name in &args.names {
        match Opcode::from_name(name.as_bytes()) {
            Some(opcode) => write!(out, "{}", opcode_doc(opcode))?,
            None => {
                let near = near_suffix(name, Opcode::ALL.iter().map(|opcode| opcode.name()));
                report(&format!("there is no opcode `{name}`{near}"));
                verdict = Verdict::Bad;
            }
        }
    }
    out.flush()?;
    Ok(verdict)
}
