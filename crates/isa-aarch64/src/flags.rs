//! CPU flags, one line per flag. Setting, listing and host detection are derived from it.

/// Expands to whether this machine's CPU has the feature of the given name.
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

kingpost_mach::cpu_flags! {
    /// CPU features beyond Armv8.0, and guards of control flow. No flag implies another. Lowering uses LSE,
    /// arithmetic in half precision, and products of bytes. Pointer authentication does not change code yet: it is
    /// there because target lines and hosts name it. Guards run on every CPU, because CPUs without these instructions
    /// execute them as no-ops.
    A64Flags of "aarch64", presets &[], guards {
        sign_return_address: "Sign return addresses that are put into memory.";
        sign_return_address_all: "Sign all return addresses.";
        sign_return_address_with_bkey: "Sign with key B instead of A.";
        use_bti: "Put landing pads where indirect branches go.";
        use_csdb: "Put barriers against speculation behind bounds checks.";
    };
    has_lse: "Atomic operations in one instruction (LSE).", detect!("lse");
    has_pauth: "Pointer authentication.", detect!("paca");
    has_fp16: "Arithmetic in half precision.", detect!("fp16");
    has_dotprod: "Dot products.", detect!("dotprod");
    has_i8mm: "Products of matrices of bytes.", detect!("i8mm");
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
            assert!(flags.set(word).is_err(), "{word}");
        }
    }

    /// Checks that code with guards runs everywhere, and that a compiler for the host does not set them.
    #[test]
    fn guards_are_no_features_of_a_processor() {
        let mut flags = A64Flags::default();
        let guards = ["sign_return_address", "sign_return_address_all", "sign_return_address_with_bkey", "use_bti"];
        for guard in guards.into_iter().chain(["use_csdb"]) {
            flags.set(guard).unwrap();
            assert_eq!(A64Flags::host().get(guard), Some(false), "{guard}");
        }
        assert_eq!(flags.missing_from(&A64Flags::default()), None);
    }
}
