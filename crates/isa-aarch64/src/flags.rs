//! CPU flags: one line per flag, from which setting, listing and host detection follow.

use std::fmt;

/// A flag that does not exist, or a value that is no boolean.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlagError {
    /// The word as it was given.
    pub word: String,
}

impl fmt::Display for FlagError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no CPU flag of aarch64", self.word)
    }
}

impl std::error::Error for FlagError {}

/// Has this machine's CPU the feature of this name?
#[cfg(target_arch = "aarch64")]
macro_rules! detect {
    ($feature:tt) => {
        std::arch::is_aarch64_feature_detected!($feature)
    };
}
#[cfg(not(target_arch = "aarch64"))]
macro_rules! detect {
    ($feature:tt) => {
        false
    };
}

macro_rules! flags {
    ($($flag:ident: $doc:literal, $on_host:expr;)+) => {
        /// What the CPU can do beyond Armv8.0, and how control flow is guarded. No flag implies another.
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        pub struct A64Flags { $(#[doc = $doc] pub $flag: bool,)+ }

        impl A64Flags {
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

            /// The flags of the CPU this runs on; none on other machines. Guards run on every CPU: those that do not know
            /// their instructions take them for no-ops.
            pub fn host() -> A64Flags {
                A64Flags { $($flag: $on_host,)+ }
            }
        }
    };
}

flags! {
    has_lse: "Atomic operations in one instruction (LSE).", detect!("lse");
    has_pauth: "Pointer authentication.", detect!("paca");
    has_fp16: "Arithmetic in half precision.", detect!("fp16");
    has_dotprod: "Dot products.", detect!("dotprod");
    has_i8mm: "Products of matrices of bytes.", detect!("i8mm");
    sign_return_address: "Sign return addresses that are put into memory.", cfg!(target_arch = "aarch64");
    sign_return_address_all: "Sign all return addresses.", cfg!(target_arch = "aarch64");
    sign_return_address_with_bkey: "Sign with key B instead of A.", cfg!(target_arch = "aarch64");
    use_bti: "Put landing pads where indirect branches go.", cfg!(target_arch = "aarch64");
    use_csdb: "Put barriers against speculation behind bounds checks.", cfg!(target_arch = "aarch64");
}

impl A64Flags {
    /// Applies one word of a target line: a flag or `flag=value`. Later words override earlier ones.
    ///
    /// # Errors
    /// If there is no such flag, or the value is no boolean.
    pub fn set(&mut self, word: &str) -> Result<(), FlagError> {
        let unknown = || FlagError { word: word.into() };
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, kingpost_mach::settings::parse_bool(value).ok_or_else(unknown)?),
            None => (word, true),
        };
        if self.set_flag(name, value) { Ok(()) } else { Err(unknown()) }
    }

    /// The first flag set here that `other` lacks.
    pub fn missing_from(&self, other: &A64Flags) -> Option<&'static str> {
        let names = A64Flags::FLAGS.iter().map(|&(name, _)| name);
        names.into_iter().find(|name| self.get(name) == Some(true) && other.get(name) == Some(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_words_override_earlier_ones() {
        let mut flags = A64Flags::default();
        for word in ["has_lse", "has_fp16=on", "has_lse=false", "use_bti=1"] {
            flags.set(word).unwrap();
        }
        assert!(flags.has_fp16 && !flags.has_lse && flags.use_bti && !flags.has_pauth);
        assert_eq!(flags.missing_from(&A64Flags::default()), Some("has_fp16"));
        for word in ["has_sve", "lse", "has_lse=maybe", "skylake", ""] {
            assert_eq!(flags.set(word), Err(FlagError { word: word.into() }));
        }
    }
}
