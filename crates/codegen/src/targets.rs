//! The table of instruction sets by architecture. No other file names them. Each is a feature of this crate.
#![cfg_attr(
    not(any(feature = "x64", feature = "aarch64")),
    allow(
        unused_variables,
        unreachable_code,
        reason = "without an instruction set there are no flags to do anything with"
    )
)]

#[cfg(feature = "aarch64")]
use kingpost_isa_aarch64::{A64, A64Flags};
#[cfg(feature = "x64")]
use kingpost_isa_x64::{X64, X64Flags};
use kingpost_mach::settings::{LibcallCallConv, ProbestackStrategy, SettingError, Settings, TlsModel};
use kingpost_mach::{EmitIsa, LowerIsa};
use std::fmt;
#[cfg(feature = "aarch64")]
use target_lexicon::Aarch64Architecture;
use target_lexicon::{Architecture, BinaryFormat, OperatingSystem, PointerWidth, Triple};

/// Errors of the selection of a target.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TargetError {
    /// No instruction set for the triple.
    Unavailable(Unavailable),
    /// A setting or flag was refused.
    Setting(SettingError),
    /// No register allocator has this name.
    Allocator(String),
    /// The flags belong to another architecture than the triple.
    Cpu(String),
}

/// A triple without an instruction set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unavailable(pub String);

/// The targets by the architecture of their triples, with a description.
pub const TARGETS: &[(&str, &str)] = &[
    #[cfg(feature = "x64")]
    ("x86_64", "x86-64 from SSE2 on; ELF, COFF (Windows), Mach-O (macOS)"),
    #[cfg(feature = "aarch64")]
    ("aarch64", "AArch64 from Armv8.0 on, little-endian; ELF, COFF (Windows), Mach-O (macOS)"),
];

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetError::Unavailable(Unavailable(triple)) => {
                let known = built(TARGETS.iter().map(|(name, _)| *name));
                write!(f, "target `{triple}` is not supported: {known}")
            }
            TargetError::Setting(error) => write!(f, "{error}"),
            TargetError::Allocator(name) => {
                let known = built(crate::CHOICES.iter().map(|(name, _)| *name));
                write!(f, "no register allocator is called `{name}`: {known}")
            }
            TargetError::Cpu(triple) => write!(f, "the CPU flags are not for the architecture of target `{triple}`"),
        }
    }
}

impl std::error::Error for TargetError {}

/// Returns a list of the available names, for messages.
fn built<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none is built".into() } else { format!("there are {}", names.join(", ")) }
}

impl From<SettingError> for TargetError {
    fn from(error: SettingError) -> TargetError {
        TargetError::Setting(error)
    }
}

/// An instruction set that a compiler can use: it is described, lowers functions and emits code.
pub trait TargetIsa: LowerIsa + EmitIsa {}

impl<I: LowerIsa + EmitIsa> TargetIsa for I {}

fn is_mac(triple: &Triple) -> bool {
    matches!(triple.operating_system, OperatingSystem::Darwin(_) | OperatingSystem::MacOSX(_))
}

/// Log2 of the size of the pages of a Windows stack, in bytes.
const WINDOWS_PAGE_LOG2: u8 = 12;

/// Changes settings to what the system of `triple` requires. On Windows, library routines are `windows_fastcall`, and
/// large frames are probed by `__chkstk`, because the system adds the pages of a stack in order. Code is
/// position-independent except on Linux.
///
/// # Errors
/// If a setting contradicts the system.
pub(crate) fn adapt(settings: &mut Settings, triple: &Triple) -> Result<(), SettingError> {
    let refuse = |key, value: String| Err(SettingError::Unsupported { key, value });
    let is_windows = triple.operating_system == OperatingSystem::Windows;
    let is_apple_aarch64 = is_mac(triple) && matches!(triple.architecture, Architecture::Aarch64(_));
    match settings.libcall_call_conv {
        LibcallCallConv::IsaDefault if is_apple_aarch64 => settings.libcall_call_conv = LibcallCallConv::AppleAarch64,
        LibcallCallConv::IsaDefault if is_windows => settings.libcall_call_conv = LibcallCallConv::WindowsFastcall,
        LibcallCallConv::WindowsFastcall if !is_windows => {
            return refuse("libcall_call_conv", "windows_fastcall".into());
        }
        _ => {}
    }
    let has_tls = match settings.tls_model {
        TlsModel::None => true,
        TlsModel::Coff => triple.binary_format == BinaryFormat::Coff,
        TlsModel::ElfGd => !matches!(triple.binary_format, BinaryFormat::Coff | BinaryFormat::Macho),
        TlsModel::Macho => triple.binary_format == BinaryFormat::Macho,
    };
    if !has_tls {
        return refuse("tls_model", settings.tls_model.to_string());
    }
    // Addresses of images exceed 4 GiB on these systems.
    if !settings.is_pic && (is_windows || is_mac(triple)) {
        return refuse("is_pic", "false".into());
    }
    if is_windows {
        if settings.probestack_strategy == ProbestackStrategy::Inline {
            return refuse("probestack_strategy", "inline".into());
        }
        settings.enable_probestack = true;
        settings.probestack_size_log2 = settings.probestack_size_log2.min(WINDOWS_PAGE_LOG2);
    }
    Ok(())
}

/// Returns the flags of a processor of `triple` that the words set.
pub(crate) fn flags(triple: &Triple, words: &[String]) -> Result<CpuFlags, TargetError> {
    let mut flags = base(triple)?;
    for word in words {
        flags.set(word).map_err(SettingError::Unknown)?;
    }
    Ok(flags)
}

/// Returns the instruction set for `triple` and a processor with these flags.
pub(crate) fn isa(triple: &Triple, settings: &Settings, flags: CpuFlags) -> Result<Box<dyn TargetIsa>, TargetError> {
    if std::mem::discriminant(&base(triple)?) != std::mem::discriminant(&flags) {
        return Err(TargetError::Cpu(triple.to_string()));
    }
    Ok(match flags {
        #[cfg(feature = "x64")]
        CpuFlags::X64(flags) => Box::new(X64::new(settings.clone(), flags)?),
        #[cfg(feature = "aarch64")]
        CpuFlags::Aarch64(flags) if triple.binary_format == BinaryFormat::Coff => {
            Box::new(A64::of_windows(settings.clone(), flags)?)
        }
        #[cfg(feature = "aarch64")]
        CpuFlags::Aarch64(flags) => Box::new(A64::new(settings.clone(), flags)?),
    })
}

/// Returns the flags of the oldest processor of `triple`, which must be a supported target.
fn base(triple: &Triple) -> Result<CpuFlags, TargetError> {
    // The x32 and ILP32 environments have pointers of 32 bits on 64-bit processors.
    let has_wide_pointers = triple.pointer_width() == Ok(PointerWidth::U64);
    let has_format = match triple.binary_format {
        BinaryFormat::Elf | BinaryFormat::Coff | BinaryFormat::Unknown => true,
        BinaryFormat::Macho => is_mac(triple),
        _ => false,
    };
    let flags = if has_format && has_wide_pointers { CpuFlags::base(triple.architecture) } else { None };
    flags.ok_or_else(|| TargetError::Unavailable(Unavailable(triple.to_string())))
}

/// Features of a processor beyond the base of its architecture, by instruction set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CpuFlags {
    /// An x86-64 processor.
    #[cfg(feature = "x64")]
    X64(X64Flags),
    /// An AArch64 processor, little-endian.
    #[cfg(feature = "aarch64")]
    Aarch64(A64Flags),
}

/// Applies one expression to the flags of every kind.
macro_rules! each {
    ($value:expr, $flags:ident => $body:expr) => {
        match $value {
            #[cfg(feature = "x64")]
            CpuFlags::X64($flags) => $body,
            #[cfg(feature = "aarch64")]
            CpuFlags::Aarch64($flags) => $body,
            #[cfg(not(any(feature = "x64", feature = "aarch64")))]
            _ => unreachable!("there are no flags without an instruction set"),
        }
    };
}

impl CpuFlags {
    /// Returns empty flags, if there is an instruction set for the architecture.
    fn base(architecture: Architecture) -> Option<CpuFlags> {
        match architecture {
            #[cfg(feature = "x64")]
            Architecture::X86_64 => Some(CpuFlags::X64(X64Flags::default())),
            #[cfg(feature = "aarch64")]
            Architecture::Aarch64(Aarch64Architecture::Aarch64) => Some(CpuFlags::Aarch64(A64Flags::default())),
            _ => None,
        }
    }

    /// Applies one word of a `target` line. Returns the word as an error if it is no flag.
    fn set(&mut self, word: &str) -> Result<(), String> {
        each!(self, flags => flags.set(word).map_err(|error| error.word))
    }

    /// Returns the flags that the words of a `target` line set, if there is an instruction set for the architecture.
    /// Ignores words that are no flags.
    pub fn of(architecture: Architecture, words: &[String]) -> Option<CpuFlags> {
        let mut flags = CpuFlags::base(architecture)?;
        words.iter().for_each(|word| drop(flags.set(word)));
        Some(flags)
    }

    /// Returns the flags of this machine's processor, if there is an instruction set for it.
    pub fn host() -> Option<CpuFlags> {
        Some(match CpuFlags::base(Triple::host().architecture)? {
            #[cfg(feature = "x64")]
            CpuFlags::X64(_) => CpuFlags::X64(X64Flags::host()),
            #[cfg(feature = "aarch64")]
            CpuFlags::Aarch64(_) => CpuFlags::Aarch64(A64Flags::host()),
        })
    }

    /// Returns the first flag set here that another processor of this architecture lacks.
    pub fn missing_from(&self, other: &CpuFlags) -> Option<&'static str> {
        match (self, other) {
            #[cfg(feature = "x64")]
            (CpuFlags::X64(flags), CpuFlags::X64(other)) => flags.missing_from(other),
            #[cfg(feature = "aarch64")]
            (CpuFlags::Aarch64(flags), CpuFlags::Aarch64(other)) => flags.missing_from(other),
            // Either there are two kinds of flags, or none.
            #[cfg(any(all(feature = "x64", feature = "aarch64"), not(any(feature = "x64", feature = "aarch64"))))]
            _ => None,
        }
    }

    /// Returns every flag of the architecture with its meaning.
    pub fn known(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            #[cfg(feature = "x64")]
            CpuFlags::X64(_) => X64Flags::FLAGS,
            #[cfg(feature = "aarch64")]
            CpuFlags::Aarch64(_) => A64Flags::FLAGS,
            #[cfg(not(any(feature = "x64", feature = "aarch64")))]
            _ => unreachable!("there are no flags without an instruction set"),
        }
    }

    /// Returns the names of processors and levels of the architecture. Each name sets several flags.
    pub fn presets(&self) -> impl Iterator<Item = &'static str> {
        let rows: &'static [(&'static [&'static str], &'static [&'static str])] = match self {
            #[cfg(feature = "x64")]
            CpuFlags::X64(_) => X64Flags::PRESETS,
            #[cfg(feature = "aarch64")]
            CpuFlags::Aarch64(_) => A64Flags::PRESETS,
            #[cfg(not(any(feature = "x64", feature = "aarch64")))]
            _ => unreachable!("there are no flags without an instruction set"),
        };
        rows.iter().flat_map(|(names, _)| names.iter().copied())
    }

    /// Returns the words of a `target` line that set these flags.
    pub fn words(&self) -> Vec<String> {
        let is_set = |name: &str| each!(self, flags => flags.get(name) == Some(true));
        self.known().iter().map(|&(name, _)| name).filter(|name| is_set(name)).map(str::to_string).collect()
    }
}
