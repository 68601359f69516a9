//! The compiler's stages, as the profile names them.

/// Each stage with the suffixes of the names of its functions. `fused` allocates registers while it lowers.
pub(crate) const STAGES: [(&str, &[&str]); 5] = [
    ("expand", &["kingpost_codegen::expand::run"]),
    ("optimise", &["Optimizer::run", "Optimizer>::cleanup"]),
    ("lower", &["kingpost_mach::lower::Lowering>::run", "kingpost_mach::lower::Lowering>::run_into"]),
    ("regalloc", &["Allocator>::allocate"]),
    ("emit", &["kingpost_mach::emit::Emitter::emit"]),
];
