//! The compiler that options ask for.

use crate::Stop;
use crate::args::TargetArgs;
use kingpost_codegen::{ALLOCATORS, Compiler, SettingError, Settings};
use std::str::FromStr;
use target_lexicon::Triple;

/// The triple of an option; an architecture alone stands for Linux.
fn triple(text: Option<&str>) -> Result<Triple, Stop> {
    let Some(text) = text else { return Ok(Triple::host()) };
    let full = if text.contains('-') { text.to_string() } else { format!("{text}-unknown-linux-gnu") };
    Triple::from_str(&full).map_err(|error| Stop::Usage(format!("target `{text}`: {error}")))
}

/// A compiler for these options. Keys that are no shared settings are flags of the instruction set.
pub(crate) fn compiler(args: &TargetArgs, regalloc: Option<&str>, checked: bool) -> Result<Compiler, Stop> {
    let mut settings = Settings { regalloc_checker: checked, ..Settings::default() };
    let mut flags = Vec::new();
    for word in &args.set {
        let (key, value) = word.split_once('=').unwrap_or((word, "true"));
        match settings.set(key, value) {
            Ok(()) => {}
            Err(SettingError::Unknown(_)) => flags.push(word.clone()),
            Err(error) => return Err(Stop::Usage(error.to_string())),
        }
    }
    if let Some(name) = regalloc {
        settings.regalloc_algorithm = known_allocator(name)?.to_string();
    }
    let triple = triple(args.target.as_deref())?;
    Compiler::new(&triple, settings, &flags).map_err(|error| Stop::Usage(error.to_string()))
}

/// The name, if an allocator has it.
pub(crate) fn known_allocator(name: &str) -> Result<&str, Stop> {
    if kingpost_codegen::allocator(name).is_some() {
        return Ok(name);
    }
    let known: Vec<&str> = ALLOCATORS.iter().map(|&(name, _)| name).collect();
    Err(Stop::Usage(format!("no register allocator is called `{name}`: there are {}", known.join(", "))))
}
