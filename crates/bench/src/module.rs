//! Cranelift's modules and ours from the view of a client: functions built by Cranelift, passed to `define_function`.
//!
//! Two more rows show the parts of the cost: our compiler alone, on our functions, and the translation from
//! Cranelift's functions to ours alone.

use crate::measure::{self, measure};
use crate::ours::Kingpost;
use crate::print_rows;
use anyhow::{Result, anyhow};
use cranelift_codegen::ir::{ExternalName, Function, GlobalValueData, UserExternalName};
use cranelift_codegen::isa::{self, OwnedTargetIsa};
use cranelift_codegen::kingpost;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};

/// Defines all functions of a file with every module, and prints a row for each.
///
/// # Errors
/// If the file cannot be parsed.
pub(crate) fn report(name: &str, text: &str) -> Result<()> {
    let mut compilers: Vec<Box<dyn measure::Compiler>> = Vec::new();
    for algorithm in ["backtracking", "single_pass"] {
        let isa = isa(algorithm)?;
        let builder = cranelift_object::ObjectBuilder::new(isa, "bench", default_libcall_names())?;
        let module = cranelift_object::ObjectModule::new(builder);
        compilers.push(Box::new(Client { is_cranelift: true, ..Client::new("cranelift", algorithm, module) }));
    }
    for &(allocator, _) in kingpost_codegen::ALLOCATORS {
        let mut builder = cranelift_compat::ObjectBuilder::new(isa("backtracking")?, "bench", default_libcall_names())?;
        builder.regalloc(allocator)?;
        compilers.push(Box::new(Client::new("kingpost", allocator, cranelift_compat::ObjectModule::new(builder))));
    }
    compilers.push(Box::new(Kingpost::new("ssa", "none", crate::X86_64)?));
    compilers.push(Box::new(Translation {
        functions: Vec::new(),
        func: Function::new(),
        translated: kingpost_ir::Function::default(),
    }));
    println!("{name}, define_function");
    let rows = measure(&mut compilers, text, 3)?;
    print_rows(&rows, None);
    let seconds = |name: &str| rows.iter().find(|row| row.name == name).map_or(0.0, |row| row.seconds);
    let share = 100.0 * seconds(TRANSLATION) / seconds("kingpost module ssa");
    println!("  translation takes {share:.1} % of the time of define_function with ssa");
    Ok(())
}

fn isa(algorithm: &str) -> Result<OwnedTargetIsa> {
    let mut flags = settings::builder();
    for (key, value) in [
        ("opt_level", "none"),
        ("regalloc_algorithm", algorithm),
        ("enable_verifier", "false"),
        ("preserve_frame_pointers", "true"),
        ("enable_multi_ret_implicit_sret", "true"),
    ] {
        flags.set(key, value)?;
    }
    let mut builder = isa::lookup_by_name("x86_64-unknown-linux-gnu").map_err(|error| anyhow!("{error}"))?;
    for flag in crate::ours::FLAGS {
        builder.enable(flag)?;
    }
    Ok(builder.finish(settings::Flags::new(flags))?)
}

/// Returns the functions of a file, which refer to each other by the numbers that modules use.
fn functions(text: &str) -> Result<Vec<Function>> {
    let mut functions = cranelift_reader::parse_functions(text).map_err(|error| anyhow!("{error}"))?;
    for func in &mut functions {
        let any = func.declare_imported_user_function(UserExternalName::new(0, 0));
        let user = |name: &mut ExternalName| {
            if matches!(name, ExternalName::TestCase(_)) {
                *name = ExternalName::user(any);
            }
        };
        func.dfg.ext_funcs.values_mut().for_each(|callee| user(&mut callee.name));
        for data in func.global_values.values_mut() {
            if let GlobalValueData::Symbol { name, .. } = data {
                user(name);
            }
        }
    }
    Ok(functions)
}

/// A client of a module.
struct Client<M> {
    name: String,
    module: M,
    functions: Vec<Function>,
    context: cranelift_codegen::Context,
    next: Option<FuncId>,
    defined: usize,
    is_cranelift: bool,
}

impl<M: Module> Client<M> {
    fn new(compiler: &str, allocator: &str, module: M) -> Client<M> {
        let name = format!("{compiler} module {allocator}");
        let context = module.make_context();
        Client { name, module, functions: Vec::new(), context, next: None, defined: 0, is_cranelift: false }
    }
}

impl<M: Module> measure::Compiler for Client<M> {
    fn name(&self) -> &str {
        &self.name
    }

    fn load(&mut self, text: &str) -> Result<()> {
        self.functions = functions(text)?;
        Ok(())
    }

    fn len(&self) -> usize {
        self.functions.len()
    }

    fn prepare(&mut self, index: usize) {
        self.context.clear();
        self.context.func = self.functions[index].clone();
        let name = format!("f{}", self.defined);
        self.defined += 1;
        self.next = self.module.declare_function(&name, Linkage::Export, &self.context.func.signature).ok();
    }

    fn compile(&mut self, _: usize) -> Option<usize> {
        let id = self.next?;
        let mut define = || self.module.define_function(id, &mut self.context).map_err(Box::new);
        if self.is_cranelift { kingpost::with_cranelift(define) } else { define() }.ok()?;
        Some(self.context.compiled_code()?.code_buffer().len())
    }
}

const TRANSLATION: &str = "translation alone";

/// A client that only translates functions. The functions were just built, like in a real client.
struct Translation {
    functions: Vec<Function>,
    func: Function,
    translated: kingpost_ir::Function,
}

impl measure::Compiler for Translation {
    fn name(&self) -> &str {
        TRANSLATION
    }

    fn load(&mut self, text: &str) -> Result<()> {
        self.functions = functions(text)?;
        Ok(())
    }

    fn len(&self) -> usize {
        self.functions.len()
    }

    fn prepare(&mut self, index: usize) {
        self.func = self.functions[index].clone();
    }

    fn compile(&mut self, _: usize) -> Option<usize> {
        kingpost::translate(&self.func, &mut self.translated).ok().map(|()| 0)
    }
}
