//! Library routines and symbols with names of their own.

use std::fmt;

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The name in the text.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => stringify!($variant),)* }
            }

            /// The one with this name.
            pub fn from_name(name: &[u8]) -> Option<$name> {
                $name::ALL.iter().copied().find(|each| each.name().as_bytes() == name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

named! {
    /// A library routine that generated code may call.
    LibCall {
        /// Stack probe.
        Probestack,
        /// `ceilf`
        CeilF32,
        /// `ceil`
        CeilF64,
        /// `floorf`
        FloorF32,
        /// `floor`
        FloorF64,
        /// `truncf`
        TruncF32,
        /// `trunc`
        TruncF64,
        /// `nearbyintf`
        NearestF32,
        /// `nearbyint`
        NearestF64,
        /// `fmaf`
        FmaF32,
        /// `fma`
        FmaF64,
        /// `memcpy`
        Memcpy,
        /// `memset`
        Memset,
        /// `memmove`
        Memmove,
        /// `memcmp`
        Memcmp,
        /// `__tls_get_addr`
        ElfTlsGetAddr,
        /// `__tls_get_offset`
        ElfTlsGetOffset,
        /// The `pshufb` instruction in software.
        X86Pshufb,
    }
}

named! {
    /// A symbol that linkers know.
    KnownSymbol {
        /// `_GLOBAL_OFFSET_TABLE_`
        ElfGlobalOffsetTable,
        /// `_tls_index`
        CoffTlsIndex,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(LibCall::from_name(b"CeilF32"), Some(LibCall::CeilF32));
        assert_eq!(LibCall::from_name(b"ceil"), None);
        assert_eq!(KnownSymbol::CoffTlsIndex.to_string(), "CoffTlsIndex");
    }
}
