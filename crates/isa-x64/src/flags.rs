//! CPU flags: one line per flag and per preset, from which setting, listing and host detection follow.

use std::fmt;

/// A flag or preset that does not exist, or a value that is no boolean.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlagError {
    /// The word as it was given.
    pub word: String,
}

impl fmt::Display for FlagError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no CPU flag or preset of x86_64", self.word)
    }
}

impl std::error::Error for FlagError {}

macro_rules! flags {
    ($($flag:ident: $doc:literal, $detect:tt;)+) => {
        /// What the CPU can do beyond SSE2, which every one can. No flag implies another.
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        pub struct X64Flags { $(#[doc = $doc] pub $flag: bool,)+ }

        impl X64Flags {
            /// Every flag with its meaning.
            pub const FLAGS: &'static [(&'static str, &'static str)] = &[$((stringify!($flag), $doc)),+];

            /// The value of a flag, if there is one of this name.
            pub fn get(&self, name: &str) -> Option<bool> {
                match name {
                    $(stringify!($flag) => Some(self.$flag),)+
                    _ => None,
                }
            }

            fn set_flag(&mut self, name: &str, value: bool) -> bool {
                match name {
                    $(stringify!($flag) => self.$flag = value,)+
                    _ => return false,
                }
                true
            }

            /// The flags of the CPU this runs on; none on other machines.
            pub fn host() -> X64Flags {
                #[cfg(target_arch = "x86_64")]
                let flags = X64Flags { $($flag: std::is_x86_feature_detected!($detect),)+ };
                #[cfg(not(target_arch = "x86_64"))]
                let flags = X64Flags::default();
                flags
            }
        }
    };
}

flags! {
    has_sse3: "SSE3.", "sse3";
    has_ssse3: "SSSE3.", "ssse3";
    has_cmpxchg16b: "`cmpxchg16b`.", "cmpxchg16b";
    has_sse41: "SSE4.1.", "sse4.1";
    has_sse42: "SSE4.2.", "sse4.2";
    has_avx: "AVX.", "avx";
    has_avx2: "AVX2.", "avx2";
    has_fma: "FMA3.", "fma";
    has_avx_vnni: "AVX-VNNI.", "avxvnni";
    has_avx512bitalg: "AVX-512 BITALG.", "avx512bitalg";
    has_avx512dq: "AVX-512 DQ.", "avx512dq";
    has_avx512vl: "AVX-512 VL.", "avx512vl";
    has_avx512vbmi: "AVX-512 VBMI.", "avx512vbmi";
    has_avx512f: "AVX-512 F.", "avx512f";
    has_avx512vnni: "AVX-512 VNNI.", "avx512vnni";
    has_popcnt: "`popcnt`.", "popcnt";
    has_bmi1: "BMI1.", "bmi1";
    has_bmi2: "BMI2.", "bmi2";
    has_lzcnt: "`lzcnt`.", "lzcnt";
}

/// Presets and the flags they set.
const PRESETS: &[(&str, &[&str])] = &[
    ("sse3", &["has_sse3"]),
    ("ssse3", &["has_sse3", "has_ssse3"]),
    ("sse41", &["has_sse3", "has_ssse3", "has_sse41"]),
    ("sse42", &["has_sse3", "has_ssse3", "has_sse41", "has_sse42"]),
    (
        "skylake",
        &[
            "has_sse3",
            "has_ssse3",
            "has_sse41",
            "has_sse42",
            "has_popcnt",
            "has_cmpxchg16b",
            "has_avx",
            "has_avx2",
            "has_bmi1",
            "has_bmi2",
            "has_fma",
            "has_lzcnt",
        ],
    ),
];

impl X64Flags {
    /// Applies one word of a target line: a flag, `flag=value`, or a preset. Later words override earlier ones.
    ///
    /// # Errors
    /// If there is no such flag or preset, or the value is no boolean.
    pub fn set(&mut self, word: &str) -> Result<(), FlagError> {
        let unknown = || FlagError { word: word.into() };
        if let Some((_, flags)) = PRESETS.iter().find(|(name, _)| *name == word) {
            for flag in *flags {
                self.set_flag(flag, true);
            }
            return Ok(());
        }
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, kingpost_mach::settings::parse_bool(value).ok_or_else(unknown)?),
            None => (word, true),
        };
        if self.set_flag(name, value) { Ok(()) } else { Err(unknown()) }
    }

    /// The first flag set here that `other` lacks.
    pub fn missing_from(&self, other: &X64Flags) -> Option<&'static str> {
        let names = X64Flags::FLAGS.iter().map(|&(name, _)| name);
        names.into_iter().find(|name| self.get(name) == Some(true) && other.get(name) == Some(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_words_override_earlier_ones() {
        let mut flags = X64Flags::default();
        for word in ["skylake", "has_avx=false", "has_lzcnt=off", "has_lzcnt"] {
            flags.set(word).unwrap();
        }
        assert!(flags.has_bmi2 && !flags.has_avx && flags.has_lzcnt && !flags.has_avx512f);
        assert_eq!(flags.missing_from(&X64Flags::default()), Some("has_sse3"));
        for word in ["has_mmx", "haswell!", "has_avx=maybe", "sse3=true", ""] {
            assert_eq!(flags.set(word), Err(FlagError { word: word.into() }));
        }
    }

    /// The system's own list of what the processor has.
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[test]
    fn the_host_has_what_the_system_says() {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let line = text.lines().find(|line| line.starts_with("flags")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let names = [
            ("has_sse3", "pni"),
            ("has_ssse3", "ssse3"),
            ("has_cmpxchg16b", "cx16"),
            ("has_sse41", "sse4_1"),
            ("has_sse42", "sse4_2"),
            ("has_avx", "avx"),
            ("has_avx2", "avx2"),
            ("has_fma", "fma"),
            ("has_popcnt", "popcnt"),
            ("has_bmi1", "bmi1"),
            ("has_bmi2", "bmi2"),
            ("has_lzcnt", "abm"),
        ];
        for (flag, word) in names {
            assert_eq!(X64Flags::host().get(flag), Some(words.contains(&word)), "{flag}");
        }
    }

    #[test]
    fn presets_name_flags() {
        for (preset, flags) in PRESETS {
            for flag in *flags {
                assert!(X64Flags::default().get(flag).is_some(), "{preset} names {flag}");
            }
        }
    }
}
