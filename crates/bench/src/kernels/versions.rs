//! The compilers of kernels: from CLIF or C to objects.
//!
//! All versions of a kernel are linked into one program, so each adds a prefix to the names of its functions.

use super::kernel::Kernel;
use anyhow::{Context, Result, anyhow, ensure};
use cranelift_codegen::ir::{ExternalName, UserExternalName};
use cranelift_codegen::isa;
use cranelift_codegen::kingpost::with_cranelift;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use cranelift_object::{ObjectBuilder, ObjectModule};
use kingpost_codegen::module::Module as _;
use kingpost_codegen::{Compiler, Settings};
use object::{Object, ObjectSection};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::machine::Machine;
use super::suite::Suite;
use crate::ours::{flags, triple};

/// A way to compile a kernel.
#[derive(Debug)]
pub(super) enum Version {
    Cranelift { opt_level: &'static str },
    Kingpost { allocator: &'static str, opt_level: &'static str },
    C { compiler: &'static str, opt_level: &'static str },
}

/// Returns all ways, starting with the baseline of the comparison. A C compiler that is not installed is left out, except the first.
pub(super) fn all(machine: &Machine, suite: &Suite) -> Vec<Version> {
    let mut versions = vec![Version::Cranelift { opt_level: "speed" }, Version::Cranelift { opt_level: "none" }];
    for &compiler in machine.c_compilers.iter().filter(|_| suite.has_c()) {
        if compiler == machine.c_compilers[0] || Command::new(compiler).arg("--version").output().is_ok() {
            versions.extend(["-O1", "-O2"].map(|opt_level| Version::C { compiler, opt_level }));
        }
    }
    for &(allocator, _) in kingpost_codegen::ALLOCATORS {
        if allocator != "spill_all" {
            versions.extend(["speed", "none"].map(|opt_level| Version::Kingpost { allocator, opt_level }));
        }
    }
    versions
}

impl Version {
    pub(super) fn name(&self) -> String {
        match self {
            Version::Cranelift { opt_level } => format!("cranelift {opt_level}"),
            Version::Kingpost { allocator, opt_level } => format!("kingpost {allocator} {opt_level}"),
            Version::C { compiler, opt_level } => format!("{compiler} {opt_level}"),
        }
    }

    /// Returns `true` if the compiler optimizes.
    pub(super) fn optimizes(&self) -> bool {
        let (Version::Cranelift { opt_level } | Version::Kingpost { opt_level, .. } | Version::C { opt_level, .. }) =
            self;
        *opt_level != "none"
    }

    /// Returns the prefix of the names of a kernel's functions.
    fn prefix(&self, kernel: &Kernel) -> String {
        let name: String = self.name().chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        format!("{name}_{}_", kernel.name)
    }

    /// Returns the name of the kernel's main function.
    pub(super) fn symbol(&self, kernel: &Kernel) -> String {
        self.prefix(kernel) + &kernel.name
    }

    pub(super) fn object(&self, kernel: &Kernel, folder: &Path) -> PathBuf {
        folder.join(self.prefix(kernel) + ".o")
    }

    /// Writes the object of a kernel and returns the size of its code in bytes.
    pub(super) fn build(&self, kernel: &Kernel, machine: &Machine, folder: &Path) -> Result<usize> {
        let text = kernel.clif.replace('%', &format!("%{}", self.prefix(kernel)));
        let file = self.object(kernel, folder);
        let (bytes, object) = match self {
            Version::Cranelift { opt_level } => cranelift(&text, opt_level, machine.target)?,
            Version::Kingpost { allocator, opt_level } => kingpost(&text, allocator, opt_level, machine.target)?,
            Version::C { compiler, opt_level } => {
                let mut command = Command::new(compiler);
                command.arg(opt_level).args(machine.c_flags);
                let source = kernel.c.as_deref().context("no source in C")?;
                return c(command, kernel, source, &self.symbol(kernel), &file);
            }
        };
        std::fs::write(file, object)?;
        Ok(bytes)
    }
}

fn kingpost(text: &str, allocator: &str, opt_level: &str, target: &str) -> Result<(usize, Vec<u8>)> {
    let mut settings = Settings::default().with(|settings| settings.is_pic = true);
    settings.set("opt_level", opt_level)?;
    settings.set("regalloc_algorithm", allocator)?;
    let flags: Vec<String> = flags(target).iter().map(ToString::to_string).collect();
    let triple = triple(target).parse().map_err(|error| anyhow!("{error}"))?;
    let compiler = Compiler::new(&triple, settings, &flags)?;
    let mut module = kingpost_emit_object::ObjectModule::new(compiler, Default::default());
    let test =
        kingpost_reader::parse_test(text, kingpost_reader::Options::default()).map_err(|error| anyhow!("{error}"))?;
    // Together, so that calls between them are inlined as by `kingpost compile`.
    let mut functions = Vec::new();
    for function in test.functions.into_iter().map(|function| function.function) {
        let name = function.name.to_string();
        let linkage = kingpost_codegen::module::Linkage::Export;
        let id = module.declare_function(name.trim_start_matches('%'), linkage, &function.signature)?;
        functions.push((id, function));
    }
    let errors = module.define_functions(&mut functions, 1);
    ensure!(errors.is_empty(), "{errors:?}");
    let object = module.finish()?;
    Ok((text_bytes(&object)?, object))
}

/// Returns the bytes of the sections of code of an object.
fn text_bytes(object: &[u8]) -> Result<usize> {
    let file = object::File::parse(object)?;
    let sections = file.sections().filter(|section| section.kind() == object::SectionKind::Text);
    Ok(sections.map(|section| section.size() as usize).sum())
}

fn cranelift(text: &str, opt_level: &str, target: &str) -> Result<(usize, Vec<u8>)> {
    let mut shared = settings::builder();
    for (key, value) in [("opt_level", opt_level), ("is_pic", "true"), ("enable_verifier", "false")] {
        shared.set(key, value)?;
    }
    let mut builder = isa::lookup_by_name(&triple(target)).map_err(|error| anyhow!("{error}"))?;
    for flag in flags(target) {
        builder.enable(flag)?;
    }
    let isa = builder.finish(settings::Flags::new(shared))?;
    let mut module = ObjectModule::new(ObjectBuilder::new(isa, "kernel", default_libcall_names())?);
    let mut functions = cranelift_reader::parse_functions(text).map_err(|error| anyhow!("{error}"))?;
    let mut declared: Vec<(String, FuncId)> = Vec::new();
    for func in &functions {
        let name = func.name.to_string().trim_start_matches('%').to_string();
        let id = module.declare_function(&name, Linkage::Export, &func.signature)?;
        declared.push((name, id));
    }
    let mut context = module.make_context();
    let mut bytes = 0;
    for (func, &(_, id)) in functions.iter_mut().zip(&declared) {
        for callee in func.dfg.ext_funcs.keys().collect::<Vec<_>>() {
            let ExternalName::TestCase(name) = &func.dfg.ext_funcs[callee].name else { continue };
            let name = name.to_string();
            let (_, id) = declared
                .iter()
                .find(|(declared, _)| *declared == name.trim_start_matches('%'))
                .with_context(|| format!("no function {name}"))?;
            let name = func.declare_imported_user_function(UserExternalName::new(0, id.as_u32()));
            func.dfg.ext_funcs[callee].name = ExternalName::user(name);
        }
        context.clear();
        context.func = std::mem::replace(func, cranelift_codegen::ir::Function::new());
        with_cranelift(|| module.define_function(id, &mut context).map_err(anyhow::Error::from))?;
        bytes += context.compiled_code().map_or(0, |code| code.code_buffer().len());
    }
    Ok((bytes, module.finish().emit()?))
}

/// Compiles a kernel with a C compiler, with the semantics of CLIF: sums wrap, and products are not fused. Returns the
/// size of its code in bytes.
fn c(mut command: Command, kernel: &Kernel, source: &Path, symbol: &str, file: &Path) -> Result<usize> {
    let compiler = command.get_program().display().to_string();
    command.args(["-fwrapv", "-ffp-contract=off", "-fno-math-errno", "-fno-asynchronous-unwind-tables"]);
    command.args(["-w", "-c", &format!("-D{}={symbol}", kernel.name), "-o"]).arg(file).arg(source);
    let status = command.status().with_context(|| format!("cannot start {compiler}"))?;
    ensure!(status.success(), "{compiler} refused {}", source.display());
    text_bytes(&std::fs::read(file)?)
}
