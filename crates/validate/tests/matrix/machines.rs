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

/// Returns the compilers of a machine: without and with the features that its processors may have, each without and
/// with the optimizer.
pub(crate) fn variants(machine: &str) -> Vec<Variant> {
    let triple = Triple::from_str(&format!("{machine}-unknown-linux-gnu")).unwrap();
    let flags = CpuFlags::of(triple.architecture, &[]).unwrap();
    let features = flags.known().iter().map(|(name, _)| name.to_string()).filter(|name| name.starts_with("has_"));
    let mut variants = Vec::new();
    for (processor, features) in [("base", Vec::new()), ("features", features.collect())] {
        for level in [OptLevel::None, OptLevel::Speed] {
            let settings = Settings::default().with(|settings| {
                // Records the offsets of blocks. The proof itself comes after the last stage that runs.
                settings.validate_code = ValidateCode::Terms;
                settings.opt_level = level;
                settings.enable_llvm_abi_extensions = true;
                settings.enable_multi_ret_implicit_sret = true;
            });
            let options = Options::default().with(|options| options.stop_after = Some(Stage::Emit));
            let compiler = Compiler::new(&triple, settings, &features).unwrap().with_options(options);
            let context = compiler.context();
            variants.push(Variant { name: format!("{machine} {processor} {level}"), compiler, context });
        }
    }
    variants
}
