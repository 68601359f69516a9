//! The table of instruction sets by architecture: the one place that names them.

use kingpost_isa_x64::{X64, X64Flags};
use kingpost_mach::Isa;
use kingpost_mach::settings::{SettingError, Settings};
use std::fmt;
use target_lexicon::{Architecture, BinaryFormat, Triple};

/// Why there is no compiler for a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TargetError {
    /// No instruction set for the triple.
    Unavailable(Unavailable),
    /// A setting or flag was not taken.
    Setting(SettingError),
    /// No register allocator has this name.
    Allocator(String),
}

/// A triple without instruction set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unavailable(pub String);

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetError::Unavailable(Unavailable(triple)) => write!(f, "target `{triple}` is not supported"),
            TargetError::Setting(error) => write!(f, "{error}"),
            TargetError::Allocator(name) => {
                let known: Vec<&str> = crate::ALLOCATORS.iter().map(|(name, _)| *name).collect();
                write!(f, "no register allocator is called `{name}`: there are {}", known.join(", "))
            }
        }
    }
}

impl std::error::Error for TargetError {}

impl From<SettingError> for TargetError {
    fn from(error: SettingError) -> TargetError {
        TargetError::Setting(error)
    }
}

/// The instruction set for `triple`. Words that are no shared settings are flags of the instruction set.
pub(crate) fn isa(triple: &Triple, settings: &Settings, flags: &[String]) -> Result<Box<dyn Isa>, TargetError> {
    match (triple.architecture, triple.binary_format) {
        (Architecture::X86_64, BinaryFormat::Elf | BinaryFormat::Unknown) => {
            let mut cpu = X64Flags::default();
            for word in flags {
                cpu.set(word).map_err(|error| SettingError::Unknown(error.word))?;
            }
            Ok(Box::new(X64::new(settings.clone(), cpu)?))
        }
        _ => Err(TargetError::Unavailable(Unavailable(triple.to_string()))),
    }
}

/// What a processor can do beyond the base of its architecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CpuFlags {
    /// An x86-64 processor.
    X64(X64Flags),
}

impl CpuFlags {
    /// The flags that words of a `target` line set, if there is an instruction set for the architecture. Words that are
    /// no flags are left out.
    pub fn of(architecture: Architecture, words: &[String]) -> Option<CpuFlags> {
        match architecture {
            Architecture::X86_64 => {
                let mut flags = X64Flags::default();
                words.iter().for_each(|word| drop(flags.set(word)));
                Some(CpuFlags::X64(flags))
            }
            _ => None,
        }
    }

    /// The flags of this machine's processor, if there is an instruction set for it.
    pub fn host() -> Option<CpuFlags> {
        match Triple::host().architecture {
            Architecture::X86_64 => Some(CpuFlags::X64(X64Flags::host())),
            _ => None,
        }
    }

    /// The first flag set here that another processor of the same architecture lacks.
    pub fn missing_from(&self, other: &CpuFlags) -> Option<&'static str> {
        match (self, other) {
            (CpuFlags::X64(flags), CpuFlags::X64(other)) => flags.missing_from(other),
        }
    }

    /// The words of a `target` line that set these flags.
    pub fn words(&self) -> Vec<String> {
        let names: Vec<&str> = match self {
            CpuFlags::X64(flags) => {
                X64Flags::FLAGS.iter().map(|&(name, _)| name).filter(|name| flags.get(name) == Some(true)).collect()
            }
        };
        names.into_iter().map(str::to_string).collect()
    }
}
