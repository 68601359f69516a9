//! Settings that all targets share: one table row per key. The typed struct, parsing and listing are derived from it.
//!
//! A key is honored or rejected. [`Settings::check`] rejects values that are not implemented yet, by name.

use kingpost_ir::signature::CallConv;
use kingpost_regalloc::{PReg, PRegSet};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Defines a choice among words; the first is the default.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs, reason = "the variants are the words of the setting")]
        pub enum $name { $($variant),+ }

        impl $name {
            const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl FromStr for $name {
            type Err = String;
            fn from_str(word: &str) -> Result<$name, String> {
                match word {
                    $($word => Ok($name::$variant),)+
                    _ => Err($name::WORDS.join(", ")),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $($name::$variant => $word),+ })
            }
        }
    };
}

choice! {
    /// Amount of optimization.
    OptLevel { None = "none", Speed = "speed", SpeedAndSize = "speed_and_size" }
}
choice! {
    /// Model of access to thread-local symbols.
    TlsModel { None = "none", ElfGd = "elf_gd", Macho = "macho", Coff = "coff" }
}
choice! {
    /// Model of `stack_switch`.
    StackSwitchModel { None = "none", Basic = "basic", UpdateWindowsTib = "update_windows_tib" }
}
choice! {
    /// Calling convention of library routines.
    LibcallCallConv {
        IsaDefault = "isa_default", Fast = "fast", SystemV = "system_v", WindowsFastcall = "windows_fastcall",
        AppleAarch64 = "apple_aarch64", Probestack = "probestack", PreserveAll = "preserve_all",
    }
}
choice! {
    /// Proof that the emitted code means what the function means.
    ValidateCode { Off = "off", Terms = "terms", Solver = "solver" }
}
choice! {
    /// Treatment of code without a proof.
    ValidateFailure { Refuse = "refuse", Recompile = "recompile", Report = "report" }
}
choice! {
    /// Strategy for probing large frames.
    ProbestackStrategy { Outline = "outline", Inline = "inline" }
}

/// Registers that are allocated, in each register class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AllocatedRegisters {
    /// All that can hold values.
    All,
    /// Only those that instructions and calling conventions require.
    Few,
    /// This many, but no fewer than [`AllocatedRegisters::Few`] and no more than there are.
    Count(u8),
}

impl AllocatedRegisters {
    /// Returns the registers of a class that are allocated, from all of the class in order of preference. `required` are
    /// registers, of any class, that instructions and calling conventions require.
    pub fn choose(self, order: impl Iterator<Item = PReg> + Clone, required: PRegSet) -> Vec<PReg> {
        let is_required = |&reg: &PReg| required.contains(reg);
        let mut others = match self {
            AllocatedRegisters::All => usize::MAX,
            AllocatedRegisters::Few => 0,
            AllocatedRegisters::Count(count) => {
                usize::from(count).saturating_sub(order.clone().filter(is_required).count())
            }
        };
        let mut take_other = || {
            let has_more = others > 0;
            others = others.saturating_sub(1);
            has_more
        };
        order.filter(|reg| is_required(reg) || take_other()).collect()
    }
}

impl fmt::Display for AllocatedRegisters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllocatedRegisters::All => f.write_str("all"),
            AllocatedRegisters::Few => f.write_str("few"),
            AllocatedRegisters::Count(count) => write!(f, "{count}"),
        }
    }
}

impl SettingValue for AllocatedRegisters {
    const WORDS: &'static [&'static str] = &["all", "few"];

    fn parse(value: &str) -> Result<AllocatedRegisters, String> {
        match value {
            "all" => Ok(AllocatedRegisters::All),
            "few" => Ok(AllocatedRegisters::Few),
            _ => value.parse().map(AllocatedRegisters::Count).map_err(|_| "all, few, or a number from 0 to 255".into()),
        }
    }
}

/// Reason for rejecting a setting.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SettingError {
    /// There is no such key.
    Unknown(String),
    /// The key does not accept the value.
    Value {
        /// Key of the setting.
        key: String,
        /// Value that was given.
        value: String,
        /// Values that the key accepts.
        expected: String,
    },
    /// The key exists, but this value is not implemented yet.
    Unsupported {
        /// Key of the setting.
        key: &'static str,
        /// Rejected value.
        value: String,
    },
    /// A number outside of the accepted range.
    OutOfRange {
        /// Key of the setting.
        key: &'static str,
        /// Rejected value.
        value: u8,
        /// Accepted values.
        allowed: RangeInclusive<u8>,
    },
}

impl SettingError {
    /// Returns the key of the rejected setting.
    pub fn key(&self) -> &str {
        match self {
            SettingError::Unknown(key) | SettingError::Value { key, .. } => key,
            SettingError::Unsupported { key, .. } | SettingError::OutOfRange { key, .. } => key,
        }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingError::Unknown(key) => write!(f, "unknown setting `{key}`"),
            SettingError::Value { key, value, expected } => {
                write!(f, "bad value `{value}` for setting `{key}`: expected {expected}")
            }
            SettingError::Unsupported { key, value } => write!(f, "setting `{key}={value}` is not supported"),
            SettingError::OutOfRange { key, value, allowed } => {
                let (first, last) = (allowed.start(), allowed.end());
                write!(f, "setting `{key}={value}` is not supported: expected a number from {first} to {last}")
            }
        }
    }
}

impl std::error::Error for SettingError {}

/// Type of setting values.
trait SettingValue: Sized {
    /// Accepted words, if the values are words.
    const WORDS: &'static [&'static str];

    fn parse(value: &str) -> Result<Self, String>;
}

impl SettingValue for bool {
    const WORDS: &'static [&'static str] = &["false", "true"];

    fn parse(value: &str) -> Result<bool, String> {
        parse_bool(value).ok_or_else(|| "true, on, yes, 1, false, off, no or 0".into())
    }
}

impl SettingValue for u8 {
    const WORDS: &'static [&'static str] = &[];

    fn parse(value: &str) -> Result<u8, String> {
        value.parse().map_err(|_| "a number from 0 to 255".into())
    }
}

impl SettingValue for String {
    const WORDS: &'static [&'static str] = &[];

    fn parse(value: &str) -> Result<String, String> {
        Ok(value.into())
    }
}

macro_rules! parsed {
    ($($name:ident),+) => {
        $(impl SettingValue for $name {
            const WORDS: &'static [&'static str] = $name::WORDS;

            fn parse(value: &str) -> Result<$name, String> {
                value.parse().map_err(|words| format!("one of {words}"))
            }
        })+
    };
}
parsed!(OptLevel, TlsModel, StackSwitchModel, LibcallCallConv, ProbestackStrategy, ValidateCode, ValidateFailure);

/// Returns the boolean that the text of a setting spells.
pub fn parse_bool(value: &str) -> Option<bool> {
    match value {
        "true" | "on" | "yes" | "1" => Some(true),
        "false" | "off" | "no" | "0" => Some(false),
        _ => None,
    }
}

macro_rules! settings {
    ($($key:ident: $ty:ty = $default:expr, $doc:literal;)+) => {
        /// Values of all shared settings.
        ///
        /// ```
        /// use kingpost_mach::Settings;
        /// use kingpost_mach::settings::OptLevel;
        ///
        /// let mut settings = Settings::default().with(|settings| settings.opt_level = OptLevel::Speed);
        /// settings.set("regalloc_checker", "true").unwrap();
        /// assert!(settings.regalloc_checker);
        /// assert!(settings.set("regalloc_chequer", "true").is_err());
        /// ```
        #[derive(Clone, PartialEq, Eq, Debug)]
        #[non_exhaustive]
        pub struct Settings { $(#[doc = $doc] pub $key: $ty,)+ }

        impl Default for Settings {
            fn default() -> Settings {
                Settings { $($key: $default,)+ }
            }
        }

        impl Settings {
            /// Keys with their documentation, in order.
            pub const KEYS: &'static [(&'static str, &'static str)] = &[$((stringify!($key), $doc)),+];

            /// Returns the settings after `change`.
            #[must_use]
            pub fn with(mut self, change: impl FnOnce(&mut Settings)) -> Settings {
                change(&mut self);
                self
            }

            /// Returns the values of a key, if they are words: `true` and `false`, or the names of choices.
            pub fn words(key: &str) -> &'static [&'static str] {
                match key {
                    $(stringify!($key) => <$ty as SettingValue>::WORDS,)+
                    _ => &[],
                }
            }

            /// Returns the value of every key as text, in order.
            pub fn values(&self) -> Vec<String> {
                vec![$(self.$key.to_string()),+]
            }

            /// Sets one key.
            ///
            /// # Errors
            /// If there is no such key, or it does not accept the value.
            pub fn set(&mut self, key: &str, value: &str) -> Result<(), SettingError> {
                match key {
                    $(stringify!($key) => {
                        self.$key = <$ty as SettingValue>::parse(value).map_err(|expected| SettingError::Value {
                            key: key.into(), value: value.into(), expected,
                        })?;
                    })+
                    _ => return Err(SettingError::Unknown(key.into())),
                }
                Ok(())
            }
        }
    };
}

settings! {
    opt_level: OptLevel = OptLevel::None, "Optimize the intermediate representation before lowering.";
    regalloc_algorithm: String = "default".into(), "Register allocator, or `default`; `kingpost compile --regalloc help` lists them.";
    regalloc_registers: AllocatedRegisters = AllocatedRegisters::All, "`few` allocates only registers that instructions and calling conventions require, to test allocators under pressure; a number allocates that many of each class, if they include those.";
    regalloc_checker: bool = false, "Check each allocation before code is emitted; an incorrect one is an error.";
    verify_each: bool = false, "Verify the output of every stage before the next one reads it; the checker verifies allocations.";
    validate_code: ValidateCode = ValidateCode::Off, "Prove that the emitted code means what the function means; `solver` asks z3 where `terms` do not decide.";
    validate_failure: ValidateFailure = ValidateFailure::Refuse, "Code without a proof is an error, or is replaced by proved code of the baseline allocator, or is kept and logged.";
    regalloc_verbose_logs: bool = false, "Log the allocation problem and its solution.";
    enable_alias_analysis: bool = true, "Remove redundant loads; with `opt_level=none` only loads of constant memory.";
    enable_inlining: bool = true, "With `opt_level=speed`, replace calls of a module's small functions by their bodies.";
    enable_verifier: bool = true, "Verify the function before it is compiled.";
    is_pic: bool = true, "Position-independent code, which systems can load anywhere.";
    use_colocated_libcalls: bool = false, "Library routines are near: call them directly.";
    enable_nan_canonicalization: bool = false, "Replace NaN results by the canonical NaN.";
    enable_pinned_reg: bool = false, "Keep the pinned register out of allocation.";
    tls_model: TlsModel = TlsModel::None, "Model of access to thread-local symbols.";
    stack_switch_model: StackSwitchModel = StackSwitchModel::None, "Model of `stack_switch`.";
    libcall_call_conv: LibcallCallConv = LibcallCallConv::IsaDefault, "Calling convention of library routines.";
    enable_llvm_abi_extensions: bool = false, "Allow i128 in signatures and LLVM's additional return registers.";
    enable_multi_ret_implicit_sret: bool = false, "Return results without a register through a hidden pointer.";
    unwind_info: bool = true, "Emit unwind information.";
    preserve_frame_pointers: bool = false, "Set up a frame pointer in leaf functions too.";
    debug_values: bool = false, "Record the places of values, for debuggers.";
    machine_code_cfg_info: bool = false, "Report offsets of blocks, and the edges between them.";
    enable_probestack: bool = false, "Probe frames larger than the guard.";
    probestack_size_log2: u8 = 12, "Guard size in bytes, as a power of two from 4 to 32.";
    probestack_strategy: ProbestackStrategy = ProbestackStrategy::Outline, "Call a probe routine, or probe inline.";
    enable_heap_access_spectre_mitigation: bool = true, "Read by front ends only: has no effect on compilation.";
    enable_table_access_spectre_mitigation: bool = true, "Read by front ends only: the index into a jump table is always clamped without a branch.";
    enable_incremental_compilation_cache_checks: bool = false, "Check that compiling twice yields equal code.";
    bb_padding_log2_minus_one: u8 = 0, "If N is not 0, pad each block with 2^(N-1) bytes; at most 24.";
    log2_min_function_alignment: u8 = 0, "Alignment of functions in bytes, as a power of two; at most 16.";
    enable_compact_unwind_abi: bool = false, "Restrict frames to forms that Mach-O compact unwind can describe, unless vector registers are saved.";
}

impl Settings {
    /// Returns the number of bytes of padding after each block.
    pub fn block_padding(&self) -> usize {
        match self.bb_padding_log2_minus_one {
            0 => 0,
            n => 1 << (n - 1),
        }
    }

    /// Returns the calling convention of library routines.
    pub fn libcall_convention(&self) -> CallConv {
        match self.libcall_call_conv {
            LibcallCallConv::IsaDefault | LibcallCallConv::SystemV => CallConv::SystemV,
            LibcallCallConv::Fast => CallConv::Fast,
            LibcallCallConv::WindowsFastcall => CallConv::WindowsFastcall,
            LibcallCallConv::AppleAarch64 => CallConv::AppleAarch64,
            LibcallCallConv::Probestack => CallConv::Probestack,
            LibcallCallConv::PreserveAll => CallConv::PreserveAll,
        }
    }

    /// Rejects conventions of library routines that are not among `conventions`.
    ///
    /// # Errors
    /// The rejected setting.
    pub fn require_libcalls(&self, conventions: &[CallConv]) -> Result<(), SettingError> {
        if conventions.contains(&self.libcall_convention()) {
            return Ok(());
        }
        let value = self.libcall_call_conv.to_string();
        Err(SettingError::Unsupported { key: "libcall_call_conv", value })
    }

    /// Rejects values that no part of the compiler honors yet.
    ///
    /// # Errors
    /// The first rejected key.
    pub fn check(&self) -> Result<(), SettingError> {
        let refuse = |key, value: String| Err(SettingError::Unsupported { key, value });
        if self.enable_incremental_compilation_cache_checks {
            return refuse("enable_incremental_compilation_cache_checks", "true".into());
        }
        if self.stack_switch_model == StackSwitchModel::UpdateWindowsTib {
            return refuse("stack_switch_model", self.stack_switch_model.to_string());
        }
        let numbers = [
            // The stack pointer moves by multiples of 16 bytes, and frames are smaller than 4 GiB.
            ("probestack_size_log2", self.probestack_size_log2, 4..=32),
            ("bb_padding_log2_minus_one", self.bb_padding_log2_minus_one, 0..=24),
            ("log2_min_function_alignment", self.log2_min_function_alignment, 0..=16),
        ];
        for (key, value, allowed) in numbers {
            if !allowed.contains(&value) {
                return Err(SettingError::OutOfRange { key, value, allowed });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_routines_have_a_convention_of_the_target() {
        let mut settings = Settings::default();
        assert!(settings.require_libcalls(&[CallConv::SystemV]).is_ok());
        settings.set("libcall_call_conv", "apple_aarch64").unwrap();
        assert_eq!(settings.libcall_convention(), CallConv::AppleAarch64);
        assert!(settings.require_libcalls(&[CallConv::SystemV, CallConv::Fast]).is_err());
    }

    #[test]
    fn keys_are_set_and_refused() {
        let mut s = Settings::default();
        s.set("is_pic", "no").unwrap();
        s.set("opt_level", "speed").unwrap();
        s.set("probestack_size_log2", "14").unwrap();
        assert!(!s.is_pic && s.opt_level == OptLevel::Speed && s.probestack_size_log2 == 14);
        assert_eq!(s.set("no_such", "1"), Err(SettingError::Unknown("no_such".into())));
        assert!(s.set("is_pic", "maybe").unwrap_err().to_string().contains("is_pic"));
        assert!(s.set("opt_level", "max").unwrap_err().to_string().contains("speed_and_size"));
        assert!(s.check().is_ok());
        s.set("tls_model", "elf_gd").unwrap();
        assert_eq!(s.check(), Ok(()));
        s.set("stack_switch_model", "update_windows_tib").unwrap();
        assert!(s.check().unwrap_err().to_string().contains("stack_switch_model=update_windows_tib"));
    }

    #[test]
    fn numbers_without_a_meaning_are_refused() {
        let error = |key: &str, value: &str| {
            let mut settings = Settings::default();
            settings.set(key, value).unwrap();
            settings.check().map_err(|error| error.to_string())
        };
        for (key, first, last) in [
            ("probestack_size_log2", 4, 32),
            ("bb_padding_log2_minus_one", 0, 24),
            ("log2_min_function_alignment", 0, 16),
        ] {
            for value in 0..=u8::MAX {
                let expected =
                    format!("setting `{key}={value}` is not supported: expected a number from {first} to {last}");
                let taken = (first..=last).contains(&value);
                assert_eq!(error(key, &value.to_string()), if taken { Ok(()) } else { Err(expected) });
            }
        }
    }
}
