//! Lists of settings, targets, processors, allocators and opcodes.

use crate::diagnostics::report;
use crate::exit_status::{Outcome, Stop, Verdict};
use crate::output::{self, ListFormat};
use crate::target;
use clap::ValueEnum;
use kingpost_codegen::{CHOICES, Compiler, CpuFlags, SettingError, Settings, TARGETS, TargetError};
use kingpost_ir::Opcode;
use kingpost_ir::docs::{opcode_doc, opcode_row};
use kingpost_ir::near::near_suffix;
use std::fmt::Write as _;
use std::io::Write;
use target_lexicon::Triple;

#[derive(clap::Args, Debug)]
pub(crate) struct OpcodesArgs {
    /// Opcodes; if omitted, list all, one per line.
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Format of the output.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: ListFormat,
}

/// A list of `--print`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Print {
    /// Architectures.
    Targets,
    /// Settings, and flags of the target's instruction set.
    Settings,
    /// Names of processors and levels of the target, with the flags that they set.
    Cpus,
    /// Register allocators.
    Allocators,
}

/// Returns a list for a target, by default this machine.
///
/// # Errors
/// If there is no such target.
pub(crate) fn list(print: Print, triple: Option<&str>) -> Result<String, Stop> {
    let triple = || target::triple(triple).map_err(Stop::Usage);
    Ok(match print {
        Print::Targets => targets(),
        Print::Settings => settings(&triple()?, &target::defaults()),
        Print::Cpus => cpus(&triple()?),
        Print::Allocators => allocators(),
    })
}

/// Returns the list that words of a command line request by the value `help` of `--target`, `--set` or `--regalloc`.
/// The other arguments of the command need not be complete. Ignores the words after `--`, which belong to another
/// command.
pub(crate) fn requested(words: &[String]) -> Option<Result<String, Stop>> {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let words = &words[..end];
    let value = |index: usize, option: &str| match words[index].strip_prefix(option)? {
        "" => words.get(index + 1).map(String::as_str),
        rest => rest.strip_prefix('='),
    };
    let is_help = |option: &str| (0..words.len()).any(|index| value(index, option) == Some("help"));
    let options = [("--target", Print::Targets), ("--set", Print::Settings), ("--regalloc", Print::Allocators)];
    let (_, print) = options.into_iter().find(|(option, _)| is_help(option))?;
    let triple = (0..words.len()).find_map(|index| value(index, "--target"));
    Some(list(print, triple))
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
    if flags.presets().next().is_none() {
        return text;
    }
    text + "\nNames of processors and levels, as `--print cpus` lists them, set several flags.\n"
}

/// Returns the names of processors and levels of a target, one per line, with the flags that they set.
fn cpus(triple: &Triple) -> String {
    let architecture = triple.architecture;
    let mut text =
        format!("Processors and levels of {architecture}, as in `--set NAME`, with the flags that they set:\n");
    let mut row = |name: &str, flags: &CpuFlags| {
        let words = flags.words();
        let _ = writeln!(text, "  {name:<20} {}", if words.is_empty() { "-".to_string() } else { words.join(" ") });
    };
    let of = |words: &[String]| CpuFlags::of(architecture, words);
    for name in of(&[]).iter().flat_map(CpuFlags::presets) {
        of(&[name.to_string()]).iter().for_each(|flags| row(name, flags));
    }
    CpuFlags::host()
        .iter()
        .filter(|_| Triple::host().architecture == architecture)
        .for_each(|host| row("(this machine)", host));
    text
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
    if args.format == ListFormat::Json {
        let mut rows = Vec::new();
        for name in &args.names {
            match Opcode::from_name(name.as_bytes()) {
                Some(opcode) => rows.push(opcode_json(opcode)),
                None => verdict = unknown_opcode(name),
            }
        }
        if args.names.is_empty() {
            rows.extend(Opcode::ALL.iter().map(|&opcode| opcode_json(opcode)));
        }
        output::json_rows(&mut out, rows)?;
        return Ok(verdict);
    }
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
            None => verdict = unknown_opcode(name),
        }
    }
    out.flush()?;
    Ok(verdict)
}

/// Reports that no opcode has this name.
fn unknown_opcode(name: &str) -> Verdict {
    let near = near_suffix(name, Opcode::ALL.iter().map(|opcode| opcode.name()));
    report(&format!("there is no opcode `{name}`{near}"));
    Verdict::Bad
}

/// Returns the facts about an opcode as a JSON object.
fn opcode_json(opcode: Opcode) -> serde_json::Value {
    let mut object = serde_json::json!({ "name": opcode.name(), "doc": opcode.info().doc });
    for (name, text) in opcode_row(opcode) {
        object[name] = (text != "-").then_some(text).into();
    }
    object
}
