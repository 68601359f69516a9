//! A program of WASI: its instance, output and exit code.

use std::path::Path;
use wasmtime::{Instance, InstancePre, Linker, Module, Result, Store};
use wasmtime_wasi::p1::{WasiP1Ctx, add_to_linker_sync};
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{FsPerms, I32Exit, WasiCtxBuilder};

/// The limit of what a program may print, in bytes.
const OUTPUT: usize = 1 << 20;

pub const ARGUMENTS: [&str; 2] = ["first", "the second"];
pub const VARIABLE: (&str, &str) = ("PROGRAM_SETTING", "value");

/// Output and exit code of a program.
#[derive(Debug, PartialEq, Eq)]
pub struct Output {
    pub code: i32,
    pub output: Vec<u8>,
    pub errors: Vec<u8>,
}

/// An instance of a program that has not run.
pub struct Program {
    store: Store<WasiP1Ctx>,
    instance: Instance,
    output: MemoryOutputPipe,
    errors: MemoryOutputPipe,
}

/// Returns the module with its imports.
pub fn link(module: &Module) -> Result<InstancePre<WasiP1Ctx>> {
    let mut linker = Linker::new(module.engine());
    add_to_linker_sync(&mut linker, |context| context)?;
    linker.instantiate_pre(module)
}

impl Program {
    /// Makes an instance, which sees `folder`.
    pub fn new(linked: &InstancePre<WasiP1Ctx>, folder: &Path) -> Result<Self> {
        let (output, errors) = (MemoryOutputPipe::new(OUTPUT), MemoryOutputPipe::new(OUTPUT));
        let mut context = WasiCtxBuilder::new();
        context.arg("program").args(&ARGUMENTS).env(VARIABLE.0, VARIABLE.1);
        context.stdout(output.clone()).stderr(errors.clone());
        context.preopened_dir(folder, ".", FsPerms::ReadWrite)?;
        let mut store = Store::new(linked.module().engine(), context.build_p1());
        let instance = linked.instantiate(&mut store)?;
        Ok(Self { store, instance, output, errors })
    }

    /// Runs the program to its end.
    pub fn run(mut self) -> Result<Output> {
        let start = self.instance.get_typed_func::<(), ()>(&mut self.store, "_start")?;
        let code = match start.call(&mut self.store, ()) {
            Ok(()) => 0,
            Err(error) => error.downcast::<I32Exit>()?.0,
        };
        Ok(Output { code, output: self.output.contents().to_vec(), errors: self.errors.contents().to_vec() })
    }
}
