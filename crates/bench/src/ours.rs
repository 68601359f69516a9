//! Kingpost with one of its allocators.

use crate::measure;
use anyhow::{Result, anyhow};
use kingpost_codegen::{Compiler, Context, Settings};
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;

/// The flags both sides compile with.
pub const FLAGS: &[&str] = &["sse42"];

/// See the module documentation.
pub struct Kingpost {
    name: String,
    compiler: Compiler,
    context: Context,
    functions: Vec<Function>,
    next: Function,
    module: ModuleBuffer,
}

impl Kingpost {
    /// With the allocator called `allocator`, and the optimiser as `opt_level` says.
    pub fn new(allocator: &str, opt_level: &str) -> Result<Kingpost> {
        let mut settings = Settings::default();
        for (key, value) in [
            ("opt_level", opt_level),
            ("regalloc_algorithm", allocator),
            ("enable_verifier", "false"),
            ("preserve_frame_pointers", "true"),
            ("enable_multi_ret_implicit_sret", "true"),
        ] {
            settings.set(key, value)?;
        }
        let flags: Vec<String> = FLAGS.iter().map(ToString::to_string).collect();
        let triple = "x86_64-unknown-linux-gnu".parse().map_err(|error| anyhow!("{error}"))?;
        let compiler = Compiler::new(&triple, settings, &flags)?;
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

    fn compile(&mut self, _: usize) -> Option<usize> {
        self.compiler.compile(&mut self.context, &mut self.next, &mut self.module).ok()?;
        Some(self.module.code_bytes())
    }
}
