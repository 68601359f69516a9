//! CPU flags, one line per flag and per preset. Setting, listing and host detection are derived from it.

/// Expands to whether this machine's CPU has the feature of the given name.
#[cfg(target_arch = "x86_64")]
macro_rules! detect {
    ($feature:tt) => {
        std::is_x86_feature_detected!($feature)
    };
}
#[cfg(not(target_arch = "x86_64"))]
macro_rules! detect {
    ($feature:tt) => {
        false
    };
}

kingpost_mach::cpu_flags! {
    /// CPU features beyond SSE2, which every CPU has. No flag implies another. Rows require SSE3 to SSE4.2, AVX,
    /// AVX2, FMA3, `popcnt`, `lzcnt`, BMI1, BMI2 and `cmpxchg16b`. Further flags do not change code yet: they are
    /// there because target lines and hosts name them.
    X64Flags of "x86_64", presets PRESETS;
    has_sse3: "SSE3.", detect!("sse3");
    has_ssse3: "SSSE3.", detect!("ssse3");
    has_cmpxchg16b: "`cmpxchg16b`.", detect!("cmpxchg16b");
    has_sse41: "SSE4.1.", detect!("sse4.1");
    has_sse42: "SSE4.2.", detect!("sse4.2");
    has_avx: "AVX.", detect!("avx");
    has_avx2: "AVX2.", detect!("avx2");
    has_fma: "FMA3.", detect!("fma");
    has_avx_vnni: "AVX-VNNI.", detect!("avxvnni");
    has_avx512bitalg: "AVX-512 BITALG.", detect!("avx512bitalg");
    has_avx512dq: "AVX-512 DQ.", detect!("avx512dq");
    has_avx512vl: "AVX-512 VL.", detect!("avx512vl");
    has_avx512vbmi: "AVX-512 VBMI.", detect!("avx512vbmi");
    has_avx512f: "AVX-512 F.", detect!("avx512f");
    has_avx512vnni: "AVX-512 VNNI.", detect!("avx512vnni");
    has_popcnt: "`popcnt`.", detect!("popcnt");
    has_bmi1: "BMI1.", detect!("bmi1");
    has_bmi2: "BMI2.", detect!("bmi2");
    has_lzcnt: "`lzcnt`.", detect!("lzcnt");
}

/// Presets: names that set the same flags, and these flags, given as a preset of an earlier row and further flags.
/// The names are levels of SSE, levels of the System V ABI, and processors as compilers call them.
#[rustfmt::skip]
const PRESETS: &[(&[&str], &[&str])] = &[
    (&["athlon-fx", "athlon64", "baseline", "k8", "opteron", "x86-64"], &[]),
    (&["sse3"], &["has_sse3"]),
    (&["ssse3"], &["sse3", "has_ssse3"]),
    (&["athlon64-sse3", "core2", "k8-sse3", "nocona", "opteron-sse3"], &["sse3", "has_cmpxchg16b"]),
    (&["atom", "bonnell"], &["ssse3", "has_cmpxchg16b"]),
    (&["sse41"], &["ssse3", "has_sse41"]),
    (&["amdfam10", "barcelona"], &["has_cmpxchg16b", "has_popcnt", "has_lzcnt"]),
    (&["penryn"], &["atom", "has_sse41"]),
    (&["sse42"], &["sse41", "has_sse42"]),
    (&["bdver1", "btver1"], &["atom", "has_popcnt", "has_lzcnt"]),
    (&["corei7", "goldmont", "goldmont-plus", "nehalem", "silvermont", "slm", "tremont", "westmere", "x86-64-v2"], &["penryn", "has_sse42", "has_popcnt"]),
    (&["bdver2", "bdver3"], &["bdver1", "has_bmi1"]),
    (&["core-avx-i", "corei7-avx", "ivybridge", "sandybridge"], &["corei7", "has_avx"]),
    (&["btver2"], &["bdver2", "has_avx"]),
    (&["knl", "knm"], &["amdfam10", "has_fma", "has_avx512f", "has_bmi1", "has_bmi2"]),
    (&["bdver4"], &["bdver2", "has_avx2", "has_bmi2"]),
    (&["znver1", "znver2", "znver3"], &["corei7", "has_fma", "has_bmi1", "has_bmi2", "has_lzcnt"]),
    (&["x86-64-v3"], &["znver1", "has_avx2"]),
    (&["alderlake", "grandridge", "meteorlake", "raptorlake", "sierraforest"], &["znver1", "has_avx_vnni"]),
    (&["broadwell", "core-avx2", "haswell", "skylake"], &["x86-64-v3", "has_avx"]),
    (&["x86-64-v4"], &["x86-64-v3", "has_avx512dq", "has_avx512vl"]),
    (&["skx", "skylake-avx512"], &["x86-64-v4", "has_avx", "has_avx512f"]),
    (&["znver4"], &["znver1", "has_avx512bitalg", "has_avx512dq", "has_avx512vl", "has_avx512vbmi", "has_avx512f"]),
    (&["cannonlake"], &["skx", "has_avx512vbmi"]),
    (&["cascadelake", "cooperlake"], &["skx", "has_avx512vnni"]),
    (&["graniterapids", "icelake", "icelake-client", "icelake-server", "sapphirerapids", "tigerlake"], &["cannonlake", "has_avx512bitalg", "has_avx512vnni"]),
];

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
            assert!(flags.set(word).is_err(), "{word}");
        }
    }

    /// Compares the detected features with the system's own list.
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
    fn presets_set_flags_and_earlier_presets() {
        let mut known: Vec<&str> = X64Flags::FLAGS.iter().map(|&(name, _)| name).collect();
        for (names, words) in PRESETS {
            assert!(words.iter().all(|word| known.contains(word)), "{names:?}");
            assert!(names.iter().all(|name| !known.contains(name)), "{names:?}");
            known.extend(*names);
        }
        assert_eq!(known.len() - X64Flags::FLAGS.len(), 67);
    }

    #[test]
    fn presets_have_the_flags_of_the_processor() {
        let flags = |word: &str| {
            let mut flags = X64Flags::default();
            flags.set(word).unwrap();
            flags
        };
        assert_eq!(flags("x86-64"), X64Flags::default());
        assert_eq!(flags("core-avx2"), flags("haswell"));
        assert!(flags("haswell").has_avx2 && flags("haswell").has_sse3 && !flags("haswell").has_avx512f);
        assert!(flags("skylake-avx512").has_avx512vl && !flags("skylake").has_avx512vl);
        assert!(flags("btver2").has_bmi1 && !flags("btver2").has_bmi2 && !flags("btver2").has_sse41);
    }
}
