//! Kingpost with one of its allocators.

use crate::measure;
use anyhow::{Result, anyhow};
use kingpost_codegen::{Compiler, Context, Options, Settings};
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;

/// The CPU flags of both sides for x86-64.
pub const FLAGS: &[&str] = &["sse42"];

/// Returns the CPU flags of both sides for a target.
pub fn flags(target: &str) -> &'static [&'static str] {
    if target == crate::X86_64 { FLAGS } else { &[] }
}

/// Returns the triple of an architecture.
pub fn triple(target: &str) -> String {
    format!("{target}-unknown-linux-gnu")
}

/// See the module documentation.
pub struct Kingpost {
    name: String,
    pub(crate) compiler: Compiler,
    context: Context,
    functions: Vec<Function>,
    pub(crate) next: Function,
    module: ModuleBuffer,
}

/// Returns a compiler without a verifier.
pub(crate) fn compiler(triple: &str, flags: &[&str], keys: &[(&str, &str)]) -> Result<Compiler> {
    let mut settings = Settings::default();
    for (key, value) in [("enable_verifier", "false"), ("is_pic", "false")].iter().chain(keys) {
        settings.set(key, value)?;
    }
    let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
    let triple = triple.parse().map_err(|error| anyhow!("{error}"))?;
    Ok(Compiler::new(&triple, settings, &flags)?)
}

impl Kingpost {
    /// Returns our compiler with the allocator `allocator` and the optimization level `opt_level`, for an
    /// architecture.
    pub fn new(allocator: &str, opt_level: &str, target: &str) -> Result<Kingpost> {
        let settings = [
            ("opt_level", opt_level),
            ("regalloc_algorithm", allocator),
            ("preserve_frame_pointers", "true"),
            ("enable_multi_ret_implicit_sret", "true"),
        ];
        let options = Options::default().with(|options| options.free_functions = true);
        let compiler = compiler(&triple(target), flags(target), &settings)?.with_options(options);
        let context = compiler.context();
        Ok(Kingpost {
            name: format!("kingpost {allocator}"),
            compiler,
            context,
            functions: Vec::new(),
            next: Function::default(),
            module: ModuleBuffer::default(),
        })
    }
}

impl measure::Compiler for Kingpost {
    fn name(&self) -> &str {
        &self.name
    }

    fn load(&mut self, text: &str) -> Result<()> {
        self.functions = kingpost_reader::parse_functions(text).map_err(|error| anyhow!("{error}"))?;
        Ok(())
    }

    fn len(&self) -> usize {
        self.functions.len()
    }

    fn prepare(&mut self, index: usize) {
        self.next = self.functions[index].clone();
        self.module.clear();
    }

    fn take(&mut self, index: usize) {
        self.next = std::mem::take(&mut self.functions[index]);
        self.module.clear();
    }

    fn compile(&mut self, _: usize) -> Option<usize> {
        self.compiler.compile(&mut self.context, &mut self.next, &mut self.module).ok()?;
        Some(self.module.code_bytes())
    }
}
