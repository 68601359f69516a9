//! The compilers of the matrix.

use kingpost_codegen::compiled::ModuleBuffer;
use kingpost_codegen::settings::{OptLevel, ValidateCode};
use kingpost_codegen::{Compiler, Context, CpuFlags, Options, Settings, Stage};
use kingpost_ir::Function;
use kingpost_validate::Code;
use std::str::FromStr;
use target_lexicon::Triple;

/// The machines by the names of their targets.
pub(crate) const MACHINES: [&str; 2] = ["aarch64", "x86_64"];

/// A compiler of a machine, and its memory.
pub(crate) struct Variant {
    /// Features of the processor and the level of optimization.
    pub(crate) name: String,
    compiler: Compiler,
    context: Context,
}

impl Variant {
    /// Compiles a function, and calls `use_code` with the function that was lowered and its code.
    ///
    /// # Errors
    /// The compiler's error.
    pub(crate) fn compile<T>(
        &mut self,
        func: &Function,
        use_code: impl FnOnce(&Function, &Code<'_>) -> T,
    ) -> Result<T, String> {
        let (mut func, mut module) = (func.clone(), ModuleBuffer::default());
        self.compiler.compile(&mut self.context, &mut func, &mut module).map_err(|error| error.to_string())?;
        let view = module.function(0);
        Ok(use_code(&func, &self.compiler.code_to_prove(&self.context, &func, &view)))
    }
}

/// The compilers of a machine.
pub(crate) struct Compilers {
    /// Without and with the features that its processors may have, each without and with the optimizer.
    pub(crate) usual: Vec<Variant>,
    /// With each of the settings.
    pub(crate) by_settings: Vec<Variant>,
}

/// Changes of settings by which code differs.
const SETTINGS: [(&str, &[(&str, &str)]); 8] = [
    ("probes by a routine", &[("enable_probestack", "true"), ("probestack_strategy", "outline")]),
    ("probes by a near routine", &[("enable_probestack", "true"), ("use_colocated_libcalls", "true")]),
    ("inline probes", &[("enable_probestack", "true"), ("probestack_strategy", "inline")]),
    ("canonical NaNs", &[("enable_nan_canonicalization", "true")]),
    ("frame pointers", &[("preserve_frame_pointers", "true")]),
    ("fixed position", &[("is_pic", "false")]),
    ("spill_all", &[("regalloc_algorithm", "spill_all")]),
    ("fused", &[("regalloc_algorithm", "fused")]),
];

/// Returns the compilers of a machine.
pub(crate) fn compilers(machine: &str) -> Compilers {
    let triple = Triple::from_str(&format!("{machine}-unknown-linux-gnu")).unwrap();
    let flags = CpuFlags::of(triple.architecture, &[]).unwrap();
    let features = flags.known().iter().map(|(name, _)| name.to_string()).filter(|name| name.starts_with("has_"));
    let mut usual = Vec::new();
    for (processor, features) in [("base", Vec::new()), ("features", features.collect())] {
        for level in [OptLevel::None, OptLevel::Speed] {
            let settings = settings().with(|settings| settings.opt_level = level);
            usual.push(variant(format!("{machine} {processor} {level}"), &triple, settings, &features));
        }
    }
    // AArch64 has no probes by a routine.
    let is_there = |(name, _): &&(&str, _)| machine == "x86_64" || !name.ends_with("routine");
    let by_settings = SETTINGS.iter().filter(is_there).map(|(name, changes)| {
        let mut settings = settings();
        changes.iter().for_each(|(key, value)| settings.set(key, value).unwrap());
        variant(format!("{machine} {name}"), &triple, settings, &[])
    });
    Compilers { usual, by_settings: by_settings.collect() }
}

/// Returns the settings of all compilers.
fn settings() -> Settings {
    Settings::default().with(|settings| {
        // Records the offsets of blocks. The proof itself comes after the last stage that runs.
        settings.validate_code = ValidateCode::Terms;
        settings.enable_llvm_abi_extensions = true;
        settings.enable_multi_ret_implicit_sret = true;
    })
}

fn variant(name: String, triple: &Triple, settings: Settings, features: &[String]) -> Variant {
    let options = Options::default().with(|options| options.stop_after = Some(Stage::Emit));
    let compiler = Compiler::new(triple, settings, features).unwrap().with_options(options);
    let context = compiler.context();
    Variant { name, compiler, context }
}
