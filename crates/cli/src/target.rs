//! The compiler that options describe.

use crate::diagnostics::{Refused, note_renamed};
use crate::exit_status::Stop;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use kingpost_codegen::{ALLOCATORS, Compiler, SettingError, Settings, TARGETS, TargetError, allocator_name};
use kingpost_ir::near::near_suffix;
use kingpost_reader::Header;
use std::str::FromStr;
use target_lexicon::Triple;

/// The target of a compilation, and its settings.
#[derive(clap::Args, Default, Debug)]
pub(crate) struct TargetArgs {
    /// A triple, or an architecture for Linux; by default this machine; `help` lists them.
    #[arg(long, value_name = "TRIPLE")]
    pub(crate) target: Option<String>,
    /// A shared setting, or a flag of the target's instruction set; may be repeated; `help` lists them.
    #[arg(long, value_name = "KEY[=VALUE]")]
    pub(crate) set: Vec<String>,
    /// Optimization level, also `0`, `2` or `s`; short for `--set opt_level=LEVEL`.
    #[arg(short = 'O', value_name = "LEVEL", value_parser = levels(&[]))]
    pub(crate) level: Option<String>,
}

/// Levels of optimization as compilers of C call them, and the values of `opt_level`.
const LEVELS: &[(&str, &str)] =
    &[("0", "none"), ("1", "speed"), ("2", "speed"), ("3", "speed"), ("s", "speed_and_size"), ("z", "speed_and_size")];

/// Returns a parser of optimization levels, which accepts their names in other compilers, and of other words.
pub(crate) fn levels(others: &[&'static str]) -> impl TypedValueParser<Value = String> + use<> {
    let value = |name: &'static str| {
        PossibleValue::new(name).aliases(LEVELS.iter().filter(|(_, level)| *level == name).map(|(alias, _)| *alias))
    };
    let names = Settings::words("opt_level").iter().chain(others).map(|&name| value(name));
    PossibleValuesParser::from(names.collect::<Vec<_>>()).map(|word| {
        let level = LEVELS.iter().find(|(alias, _)| *alias == word).map(|(_, level)| (*level).to_string());
        level.unwrap_or(word)
    })
}

impl TargetArgs {
    /// Returns the words of `-O` and `--set`: keys with their values.
    pub(crate) fn words(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let level = self.level.as_deref().map(|level| ("opt_level", Some(level)));
        let set = self.set.iter().map(|word| match word.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (word.as_str(), None),
        });
        level.into_iter().chain(set)
    }
}

/// A register allocator that options name.
#[derive(Clone, Debug)]
pub(crate) enum Choice {
    /// Name or alias.
    Name(String),
    /// Command of an external allocator.
    Command(String),
}

impl Choice {
    /// Returns the allocator with this name or command.
    pub(crate) fn of(name: Option<&str>, command: Option<&str>) -> Option<Choice> {
        let command = command.map(|command| Choice::Command(command.into()));
        command.or_else(|| name.map(|name| Choice::Name(name.into())))
    }

    /// Returns the name in tables.
    pub(crate) fn text(&self) -> &str {
        let (Choice::Name(text) | Choice::Command(text)) = self;
        text
    }
}

/// Parses the triple of an option. An architecture alone means Linux.
pub(crate) fn triple(text: Option<&str>) -> Result<Triple, String> {
    let Some(text) = text else { return Ok(Triple::host()) };
    let full = if text.contains('-') { text.to_string() } else { format!("{text}-unknown-linux-gnu") };
    Triple::from_str(&full).map_err(|error| {
        let architecture = text.split('-').next().unwrap_or(text);
        let near = near_suffix(architecture, TARGETS.iter().map(|(name, _)| *name));
        format!("target `{text}`: {error}{near}")
    })
}

/// Returns the default settings of commands that generate code, with the name of the default allocator.
pub(crate) fn defaults() -> Settings {
    Settings::default().with(|settings| settings.regalloc_algorithm = ALLOCATORS[0].0.into())
}

/// Checks options before a file is read.
pub(crate) fn check(args: &TargetArgs) -> Result<(), Stop> {
    compiler(args, None, false).map(drop)
}

/// Returns a compiler for these options. Keys that are not shared settings are flags of the instruction set.
pub(crate) fn compiler(args: &TargetArgs, regalloc: Option<&Choice>, verify_each: bool) -> Result<Compiler, Stop> {
    let defaults = defaults().with(|settings| settings.verify_each = verify_each);
    with_header(defaults, args, regalloc, &Header::default()).map_err(|refused| Stop::Usage(refused.text))
}

/// Returns a compiler for a file. The words of its `set` lines override `defaults`, and the options override these.
/// If the options name no target, the `target` line of a file is used if there is only one.
///
/// If a word or name in the options or the file does not exist.
pub(crate) fn with_header(
    defaults: Settings,
    args: &TargetArgs,
    regalloc: Option<&Choice>,
    header: &Header,
) -> Result<Compiler, Refused> {
    let (mut settings, mut flags) = (defaults, Vec::new());
    let mut set = |key: &str, value: Option<&str>| match settings.set(key, value.unwrap_or("true")) {
        Ok(()) => Ok(()),
        Err(SettingError::Unknown(_)) => {
            flags.push(value.map_or(key.to_string(), |value| format!("{key}={value}")));
            Ok(())
        }
        Err(error) => Err(Refused::from(TargetError::from(error))),
    };
    let line = match (&args.target, &header.targets[..]) {
        (None, [line]) => Some(line),
        _ => None,
    };
    let words = header.settings.iter().chain(line.into_iter().flat_map(|line| &line.flags));
    for word in words {
        set(&word.name, word.value.as_deref())?;
    }
    for (key, value) in args.words() {
        set(key, value)?;
    }
    match regalloc {
        Some(Choice::Name(name)) => settings.regalloc_algorithm.clone_from(name),
        // The answers of another program are not trusted.
        Some(Choice::Command(_)) => settings.regalloc_checker = true,
        None => {}
    }
    note_renamed("allocator", &settings.regalloc_algorithm, allocator_name(&settings.regalloc_algorithm));
    let triple = triple(args.target.as_deref().or(line.map(|line| line.triple.as_str())))
        .map_err(|text| Refused { key: String::new(), text })?;
    let compiler = Compiler::new(&triple, settings, &flags)?;
    Ok(match regalloc {
        Some(Choice::Command(command)) => compiler.with_allocator(kingpost_filetest::external_allocator(command)),
        _ => compiler,
    })
}

impl From<TargetError> for Refused {
    fn from(error: TargetError) -> Refused {
        let key = match &error {
            TargetError::Setting(error) => error.key(),
            TargetError::Allocator(_) => "regalloc_algorithm",
            _ => "",
        };
        // A word that is not a shared setting is a whole flag.
        let key = key.split('=').next().unwrap_or_default();
        let near = match error {
            TargetError::Setting(SettingError::Unknown(_)) => {
                near_suffix(key, Settings::KEYS.iter().map(|(key, _)| *key))
            }
            _ => String::new(),
        };
        Refused { key: key.into(), text: format!("{error}{near}") }
    }
}

/// Returns the key and the value of a word that sets a shared setting.
pub(crate) fn shared_setting(word: &str) -> Result<(String, String), String> {
    let (key, value) = word.split_once('=').unwrap_or((word, "true"));
    Settings::default().set(key, value).map_err(|error| Refused::from(TargetError::from(error)).text)?;
    Ok((key.into(), value.into()))
}

/// Returns the name of the allocator for `word`, which may be an alias.
///
/// # Errors
/// If no allocator has this name.
pub(crate) fn allocator(word: &str) -> Result<String, Stop> {
    let name = allocator_name(word);
    note_renamed("allocator", word, name);
    match kingpost_codegen::allocator(name) {
        Some(_) => Ok(name.into()),
        None => Err(Stop::Usage(TargetError::Allocator(name.into()).to_string())),
    }
}
