//! Published Cranelift with one of its allocators.

use crate::measure;
use anyhow::{Result, anyhow};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::{self, OwnedTargetIsa};
use cranelift_codegen::kingpost::CraneliftContext as Context;
use cranelift_codegen::settings::{self, Configurable};

/// See the module documentation.
pub struct Cranelift {
    name: String,
    pub(crate) isa: OwnedTargetIsa,
    pub(crate) context: Context,
    functions: Vec<Function>,
    pub(crate) control_plane: ControlPlane,
}

/// Returns a compiler without a verifier.
pub(crate) fn isa(triple: &str, flags: &[&str], keys: &[(&str, &str)]) -> Result<OwnedTargetIsa> {
    let mut settings = settings::builder();
    for (key, value) in [("enable_verifier", "false")].iter().chain(keys) {
        settings.set(key, value)?;
    }
    let mut builder = isa::lookup_by_name(triple).map_err(|error| anyhow!("{error}"))?;
    for flag in flags {
        builder.enable(flag)?;
    }
    Ok(builder.finish(settings::Flags::new(settings))?)
}

impl Cranelift {
    /// Returns Cranelift with the allocator `algorithm` and the optimization level `opt_level`, for an architecture.
    pub fn new(algorithm: &str, opt_level: &str, target: &str) -> Result<Cranelift> {
        let settings = [
            ("opt_level", opt_level),
            ("regalloc_algorithm", algorithm),
            ("preserve_frame_pointers", "true"),
            ("enable_multi_ret_implicit_sret", "true"),
        ];
        let isa = isa(&crate::ours::triple(target), crate::ours::flags(target), &settings)?;
        Ok(Cranelift {
            name: format!("cranelift {algorithm}"),
            isa,
            context: Context::new(),
            functions: Vec::new(),
            control_plane: ControlPlane::default(),
        })
    }
}

impl measure::Compiler for Cranelift {
    fn name(&self) -> &str {
        &self.name
    }

    fn load(&mut self, text: &str) -> Result<()> {
        self.functions = cranelift_reader::parse_functions(text).map_err(|error| anyhow!("{error}"))?;
        Ok(())
    }

    fn len(&self) -> usize {
        self.functions.len()
    }

    fn prepare(&mut self, index: usize) {
        self.context.clear();
        self.context.func = self.functions[index].clone();
    }

    fn take(&mut self, index: usize) {
        self.context.clear();
        self.context.func = std::mem::replace(&mut self.functions[index], Function::new());
    }

    fn compile(&mut self, _: usize) -> Option<usize> {
        let code = self.context.compile(&*self.isa, &mut self.control_plane).ok()?;
        Some(code.code_buffer().len())
    }
}
