//! The compiler's stages, with their names in the profile.

/// Each stage with the suffixes of its functions' names. `fused` allocates registers during lowering.
pub(crate) const STAGES: [(&str, &[&str]); 5] = [
    ("expand", &["kingpost_codegen::expand::run"]),
    ("optimise", &["Optimizer::run", "Optimizer>::cleanup"]),
    ("lower", &["kingpost_mach::lower::LowerState>::run", "kingpost_mach::lower::LowerState>::run_into"]),
    ("regalloc", &["Allocator>::allocate"]),
    ("emit", &["kingpost_mach::emit::Emitter::emit"]),
];
