//! The settings and flags of a file.

use std::str::FromStr;

use kingpost_codegen::{ALLOCATORS, Compiler, CpuFlags, SettingError, Settings, TargetError, allocator_name};
use kingpost_ir::types::{I32, I64};
use kingpost_ir::verifier::TargetInfo;
use kingpost_reader::{Header, Setting, Target};
use target_lexicon::{PointerWidth, Triple};

use crate::program;
use crate::unit::Unit;

/// Reason for which a unit has no compiler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NoCompiler {
    /// A requirement is missing here.
    Skip(String),
    /// The file is wrong.
    Fail {
        /// The wrong setting or flag; empty for the target.
        key: String,
        /// The error.
        text: String,
    },
}

impl From<SettingError> for NoCompiler {
    fn from(error: SettingError) -> NoCompiler {
        // Words that are no shared settings are whole flags.
        NoCompiler::Fail { key: error.key().split('=').next().unwrap_or_default().into(), text: error.to_string() }
    }
}

/// Returns the settings of every filetest before its own `set` lines.
fn default_settings() -> Settings {
    Settings::default().with(|settings| {
        settings.is_pic = false;
        settings.unwind_info = false;
        settings.machine_code_cfg_info = true;
        // Tests trust no stage and no allocation.
        settings.verify_each = true;
    })
}

fn set(settings: &mut Settings, setting: &Setting) -> Result<(), SettingError> {
    settings.set(&setting.name, setting.value.as_deref().unwrap_or("true"))
}

/// Returns the settings of the first `count` words of a file's `set` lines.
fn settings(header: &Header, count: usize) -> Result<Settings, NoCompiler> {
    let mut settings = default_settings();
    for setting in header.settings.iter().take(count) {
        set(&mut settings, setting)?;
    }
    Ok(settings)
}

/// Returns the allocator that the `set` lines of a file name for a target, if there is one.
pub(crate) fn named_allocator<'a>(header: &'a Header, target: &'a Target) -> Option<&'a str> {
    let settings = header.settings.iter().take(target.settings).chain(&target.flags);
    settings.rev().find(|setting| setting.name == "regalloc_algorithm")?.value.as_deref().map(allocator_name)
}

/// Returns the triple of a `target` line. An architecture alone means Linux.
pub(crate) fn triple(text: &str) -> Result<Triple, NoCompiler> {
    let full = if text.contains('-') { text.to_string() } else { format!("{text}-unknown-linux-gnu") };
    let triple = Triple::from_str(&full).or_else(|_| Triple::from_str(text));
    triple.map_err(|error| NoCompiler::Fail { key: String::new(), text: format!("target `{text}`: {error}") })
}

/// Returns the triple, settings and instruction set flags of a `target` line.
fn words(header: &Header, target: &Target) -> Result<(Triple, Settings, Vec<String>), NoCompiler> {
    let mut settings = settings(header, target.settings)?;
    let mut flags = Vec::new();
    for flag in &target.flags {
        // Shared settings may also be flags here.
        match set(&mut settings, flag) {
            Ok(()) => {}
            Err(SettingError::Unknown(_)) => flags.push(word(flag)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok((triple(&target.triple)?, settings, flags))
}

/// Returns the compiler of a `target` line, with the unit's allocator and optimization level, or the ones in the
/// settings.
pub(crate) fn compiler(header: &Header, target: &Target, unit: &Unit) -> Result<Compiler, NoCompiler> {
    let (triple, mut settings, flags) = words(header, target)?;
    if let Some(name) = &unit.allocator {
        settings.regalloc_algorithm = name.clone();
    }
    if let Some(level) = &unit.opt_level {
        settings.set("opt_level", level)?;
    }
    for (key, value) in unit.settings {
        settings.set(key, value)?;
    }
    let compiler = Compiler::new(&triple, settings, &flags).map(|compiler| match &unit.program {
        Some(program) => compiler.with_allocator(program::factory(program)),
        None => compiler,
    });
    compiler.map_err(|error| match error {
        TargetError::Unavailable(_) => NoCompiler::Skip(format!("target {} is not supported", triple.architecture)),
        TargetError::Allocator(name) => NoCompiler::Skip(format!("allocator {name} does not exist")),
        TargetError::Setting(SettingError::Unsupported { .. } | SettingError::OutOfRange { .. }) => {
            NoCompiler::Skip(error.to_string())
        }
        TargetError::Setting(error) => error.into(),
        error => NoCompiler::Skip(error.to_string()),
    })
}

fn word(setting: &Setting) -> String {
    match &setting.value {
        Some(value) => format!("{}={value}", setting.name),
        None => setting.name.clone(),
    }
}

/// Returns the shared settings of the last target, for tests that need no target.
///
/// # Errors
/// If a setting is rejected.
pub(crate) fn last_settings(header: &Header) -> Result<Settings, NoCompiler> {
    match header.targets.last() {
        Some(target) => Ok(words(header, target)?.1),
        None => settings(header, header.settings.len()),
    }
}

/// Returns the facts about a unit's target for the verifier. For tests without a target, these are the facts common
/// to all targets.
pub(crate) fn verifier_info(header: &Header, target: Option<&Target>) -> Result<Option<TargetInfo>, NoCompiler> {
    if let Some(target) = target {
        let (triple, settings, _) = words(header, target)?;
        return Ok(Some(target_info(&triple, &settings)));
    }
    let mut infos = Vec::new();
    for target in &header.targets {
        infos.extend(verifier_info(header, Some(target))?);
    }
    // Code for several targets may mix their pointers.
    let several = infos.len() > 1;
    infos.iter_mut().for_each(|info| info.pointer_type = info.pointer_type.filter(|_| !several));
    let first = infos.first().copied();
    Ok(first.filter(|first| infos.iter().all(|info| info == first)))
}

fn target_info(triple: &Triple, settings: &Settings) -> TargetInfo {
    let pointer_type = if triple.pointer_width() == Ok(PointerWidth::U32) { I32 } else { I64 };
    TargetInfo::new(Some(pointer_type)).with(|target| {
        target.enable_pinned_reg = settings.enable_pinned_reg;
        target.preserve_frame_pointers = settings.preserve_frame_pointers;
    })
}

/// Returns a flag of a `target` line that a processor lacks.
pub(crate) fn missing_flag(target: &Target, processor: &CpuFlags) -> Option<&'static str> {
    let words: Vec<String> = target.flags.iter().map(word).collect();
    // Words that are no flags have been rejected or are shared settings.
    CpuFlags::of(triple(&target.triple).ok()?.architecture, &words)?.missing_from(processor)
}

/// Returns the names of all allocators.
pub(crate) fn all_allocators() -> Vec<String> {
    ALLOCATORS.iter().map(|(name, _)| (*name).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triples() {
        assert_eq!(triple("x86_64").unwrap().to_string(), "x86_64-unknown-linux-gnu");
        assert_eq!(triple("aarch64-apple-darwin").unwrap().to_string(), "aarch64-apple-darwin");
        for text in ["riscv64", "s390x", "pulley32", "pulley64be"] {
            assert!(triple(text).is_ok(), "{text}");
        }
        assert!(matches!(triple("x86-65"), Err(NoCompiler::Fail { .. })));
    }
}
