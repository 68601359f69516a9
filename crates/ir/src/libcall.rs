//! Library routines and symbols with fixed names.

use std::fmt;

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// All routines or symbols, in the order of declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// Returns the name in the text.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => stringify!($variant),)* }
            }

            /// Returns the routine or symbol with this name.
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
        /// `__udivti3`
        UdivI128,
        /// `__divti3`
        SdivI128,
        /// `__umodti3`
        UremI128,
        /// `__modti3`
        SremI128,
        /// `__fixsfti`
        F32ToI128,
        /// `__fixunssfti`
        F32ToU128,
        /// `__fixdfti`
        F64ToI128,
        /// `__fixunsdfti`
        F64ToU128,
        /// `__fixtfti`
        F128ToI128,
        /// `__fixunstfti`
        F128ToU128,
        /// `__fixtfdi`
        F128ToI64,
        /// `__fixunstfdi`
        F128ToU64,
        /// `__floattisf`
        I128ToF32,
        /// `__floatuntisf`
        U128ToF32,
        /// `__floattidf`
        I128ToF64,
        /// `__floatuntidf`
        U128ToF64,
        /// `__floattitf`
        I128ToF128,
        /// `__floatuntitf`
        U128ToF128,
        /// `__floatditf`
        I64ToF128,
        /// `__floatunditf`
        U64ToF128,
        /// `__extendhfsf2`
        F16ToF32,
        /// `__extendhftf2`
        F16ToF128,
        /// `__extendsftf2`
        F32ToF128,
        /// `__extenddftf2`
        F64ToF128,
        /// `__truncsfhf2`
        F32ToF16,
        /// `__truncdfhf2`
        F64ToF16,
        /// `__trunctfhf2`
        F128ToF16,
        /// `__trunctfsf2`
        F128ToF32,
        /// `__trunctfdf2`
        F128ToF64,
        /// `__addtf3`
        AddF128,
        /// `__subtf3`
        SubF128,
        /// `__multf3`
        MulF128,
        /// `__divtf3`
        DivF128,
        /// `sqrtf128`
        SqrtF128,
        /// `fmaf128`
        FmaF128,
        /// `ceilf128`
        CeilF128,
        /// `floorf128`
        FloorF128,
        /// `truncf128`
        TruncF128,
        /// `roundevenf128`
        NearestF128,
        /// `__eqtf2`: 0 just if the operands are equal.
        EqF128,
        /// `__lttf2`: below 0 just if the first operand is less.
        LtF128,
        /// `__letf2`: at most 0 just if the first operand is less or equal.
        LeF128,
        /// `__gttf2`: above 0 just if the first operand is greater.
        GtF128,
        /// `__getf2`: at least 0 just if the first operand is greater or equal.
        GeF128,
        /// `__unordtf2`: not 0 just if an operand is NaN.
        UnordF128,
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
