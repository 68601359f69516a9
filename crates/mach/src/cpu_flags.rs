//! CPU flags: the list of an instruction set, and their values from the words of a target line.
//!
//! One line per flag is the field, its documentation and its detection on the host. Setting by name, listing and
//! comparison are derived from it.

use crate::settings::parse_bool;
use std::fmt;

/// Error for a flag or preset that does not exist, or a value that is not a boolean.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FlagError {
    /// Word as it was given.
    pub word: String,
    /// Name of the instruction set.
    pub target: &'static str,
}

impl FlagError {
    /// Creates the error for `word` of a target line.
    pub fn new(word: impl Into<String>, target: &'static str) -> FlagError {
        FlagError { word: word.into(), target }
    }
}

impl fmt::Display for FlagError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a CPU flag or preset of {}", self.word, self.target)
    }
}

impl std::error::Error for FlagError {}

/// CPU features beyond the baseline, one bit for each flag of an instruction set in the order of its list.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CpuFeatures(u64);

impl CpuFeatures {
    /// The empty set.
    pub const NONE: CpuFeatures = CpuFeatures(0);

    /// Returns the feature of the flag `name` of the flags `all`.
    ///
    /// # Panics
    /// If there is no such flag, or it is after the 64th.
    pub const fn of(name: &str, all: &[(&str, &str)]) -> CpuFeatures {
        let mut i = 0;
        while !same(name, all[i].0) {
            i += 1;
        }
        CpuFeatures(1 << i)
    }

    /// Returns the features of both sets.
    #[must_use]
    pub const fn union(self, others: CpuFeatures) -> CpuFeatures {
        CpuFeatures(self.0 | others.0)
    }

    /// Returns `true` if all `others` are in this set.
    pub const fn contains(self, others: CpuFeatures) -> bool {
        others.0 & !self.0 == 0
    }
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// Returns the flag and value that one word sets: `flag`, or `flag=value`. Returns `None` if the value is not a
/// boolean.
pub fn parse_word(word: &str) -> Option<(&str, bool)> {
    match word.split_once('=') {
        Some((name, value)) => Some((name, parse_bool(value)?)),
        None => Some((word, true)),
    }
}

/// Defines the struct of an instruction set's flags. Each flag has its documentation and its detection on the host.
/// Presets are rows of names that set the same flags and presets. Guards are flags of code that every processor runs:
/// no processor lacks them, and none sets them.
#[macro_export]
macro_rules! cpu_flags {
    (
        $(#[$attribute:meta])*
        $name:ident of $target:literal, presets $presets:expr
            $(, guards { $($guard:ident: $guard_doc:literal;)+ })?;
        $($flag:ident: $doc:literal, $on_host:expr;)+
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        pub struct $name {
            $(#[doc = $doc] pub $flag: bool,)+
            $($(#[doc = $guard_doc] pub $guard: bool,)+)?
        }

        impl $name {
            /// Flags with their documentation.
            pub const FLAGS: &'static [(&'static str, &'static str)] = &[
                $((stringify!($flag), $doc),)+
                $($((stringify!($guard), $guard_doc),)+)?
            ];

            /// Names of processors and levels. Each row has names with equal meanings, and the words that they set.
            pub const PRESETS: &'static [(&'static [&'static str], &'static [&'static str])] = $presets;

            const GUARDS: &'static [&'static str] = &[$($(stringify!($guard),)+)?];

            /// Returns the feature of the flag of this name, which instruction rows may need.
            pub const fn feature(name: &str) -> $crate::CpuFeatures {
                $crate::CpuFeatures::of(name, $name::FLAGS)
            }

            /// Returns the features whose flags are set.
            pub fn features(&self) -> $crate::CpuFeatures {
                let mut features = $crate::CpuFeatures::NONE;
                $(if self.$flag {
                    features = features.union(const { $name::feature(stringify!($flag)) });
                })+
                $($(if self.$guard {
                    features = features.union(const { $name::feature(stringify!($guard)) });
                })+)?
                features
            }

            /// Returns the value of a flag, if there is one of this name.
            pub fn get(&self, name: &str) -> Option<bool> {
                match name {
                    $(stringify!($flag) => Some(self.$flag),)+
                    $($(stringify!($guard) => Some(self.$guard),)+)?
                    _ => None,
                }
            }

            fn set_flag(&mut self, name: &str, value: bool) -> bool {
                match name {
                    $(stringify!($flag) => self.$flag = value,)+
                    $($(stringify!($guard) => self.$guard = value,)+)?
                    _ => return false,
                }
                true
            }

            /// Applies one word of a target line: a flag, `flag=value`, or a preset. Later words override earlier ones.
            ///
            /// # Errors
            /// If there is no such flag or preset, or the value is not a boolean.
            pub fn set(&mut self, word: &str) -> Result<(), $crate::FlagError> {
                if let Some((_, words)) = $name::PRESETS.iter().find(|(names, _)| names.contains(&word)) {
                    return words.iter().try_for_each(|word| self.set(word));
                }
                match $crate::cpu_flags::parse_word(word) {
                    Some((name, value)) if self.set_flag(name, value) => Ok(()),
                    _ => Err($crate::FlagError::new(word, $target)),
                }
            }

            /// Returns the first flag set here that a processor with the flags `other` lacks.
            pub fn missing_from(&self, other: &$name) -> Option<&'static str> {
                let mut names = $name::FLAGS.iter().map(|&(name, _)| name);
                let is_missing = |name| self.get(name) == Some(true) && other.get(name) == Some(false);
                names.find(|name| is_missing(name) && !$name::GUARDS.contains(name))
            }

            /// Returns the flags of the CPU that this program runs on, without guards. All flags are off if it has
            /// another architecture.
            pub fn host() -> $name {
                $name { $($flag: $on_host,)+ $($($guard: false,)+)? }
            }
        }
    };
}
