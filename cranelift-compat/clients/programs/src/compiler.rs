//! The compilers that are compared.

use wasmtime::{Config, OptLevel, Result, Strategy, bail};

/// A compiler with its level.
pub struct Compiler {
    /// The name in tables and of the command `one`.
    pub name: &'static str,
    pub strategy: Strategy,
    pub level: OptLevel,
    /// Values of the environment variables `KINGPOST_CRANELIFT` and `KINGPOST_REGALLOC`, which select the code generator and the
    /// register allocator.
    cranelift: &'static str,
    regalloc: &'static str,
}

const fn kingpost(name: &'static str, level: OptLevel, regalloc: &'static str) -> Compiler {
    Compiler { name, strategy: Strategy::Cranelift, level, cranelift: "", regalloc }
}

const fn cranelift(name: &'static str, level: OptLevel, regalloc: &'static str) -> Compiler {
    Compiler { cranelift: "always", ..kingpost(name, level, regalloc) }
}

const fn winch(name: &'static str) -> Compiler {
    Compiler { strategy: Strategy::Winch, ..kingpost(name, OptLevel::None, "") }
}

/// All compilers. Others are compared with the first one.
pub const ALL: [Compiler; 14] = [
    cranelift("Cranelift speed", OptLevel::Speed, "regalloc2"),
    cranelift("Cranelift none", OptLevel::None, "regalloc2"),
    cranelift("Cranelift speed with ssa", OptLevel::Speed, "ssa"),
    cranelift("Cranelift speed with linear", OptLevel::Speed, "linear"),
    cranelift("Cranelift speed with backtracking", OptLevel::Speed, "backtracking"),
    kingpost("ssa speed", OptLevel::Speed, "ssa"),
    kingpost("ssa none", OptLevel::None, "ssa"),
    kingpost("linear speed", OptLevel::Speed, "linear"),
    kingpost("linear none", OptLevel::None, "linear"),
    kingpost("backtracking speed", OptLevel::Speed, "backtracking"),
    kingpost("backtracking none", OptLevel::None, "backtracking"),
    kingpost("fused speed", OptLevel::Speed, "fused"),
    kingpost("fused none", OptLevel::None, "fused"),
    winch("Winch"),
];

impl Compiler {
    /// Returns the variables of the environment that select it.
    pub fn variables(&self) -> [(&'static str, &'static str); 2] {
        [("KINGPOST_CRANELIFT", self.cranelift), ("KINGPOST_REGALLOC", self.regalloc)]
    }
}

/// Returns the compiler of this name.
pub fn named(name: &str) -> Result<&'static Compiler> {
    match ALL.iter().find(|compiler| compiler.name == name) {
        Some(compiler) => Ok(compiler),
        None => bail!("no compiler has the name {name:?}"),
    }
}

/// Returns Wasmtime's settings for one thread, which is what is measured.
pub fn config(strategy: Strategy, level: OptLevel) -> Config {
    let mut config = Config::new();
    config.strategy(strategy).cranelift_opt_level(level).parallel_compilation(false);
    config
}
