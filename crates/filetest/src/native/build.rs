//! Compiles the functions of a file with their trampolines and links them with the driver.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use kingpost_codegen::Compiler;
use kingpost_emit_object::ObjectOptions;
use kingpost_ir::extfunc::{ExternalName, FuncName};
use kingpost_ir::{Function, TrapCode};
use kingpost_mach::{DataObject, DataPointer, ModuleBuffer, SymbolName};
use kingpost_reader::TestFile;
use tempfile::TempDir;

use crate::data::data_objects;
use crate::native::rename::Renames;
use crate::native::trampoline;

const DRIVER: &str = include_str!("driver.c");
const TABLE: &str = "__kingpost_table";

/// The object of a file, and what is known about the code in it.
#[derive(Debug)]
pub(crate) struct Program {
    object: Vec<u8>,
    /// By function of the file: the trampoline's place in the table, if it has one.
    pub(crate) trampolines: Vec<Option<u32>>,
    /// By function of the file: why it or its trampoline was left out.
    pub(crate) left_out: Vec<Option<String>>,
    /// By place in the table: what is there.
    pub(crate) entries: Vec<Entry>,
}

/// A function in the table.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Bytes.
    pub(crate) code_size: u64,
    /// Offsets of instructions that may trap, ascending.
    pub(crate) traps: Vec<(u32, TrapCode)>,
}

/// Compiles the functions of a file; `wanted` are those that directives call. Functions that
/// cannot be compiled, or that call such functions, are left out with their reason.
///
/// # Errors
/// What is wrong with our code: a function that is supported was not compiled, or there is no object.
pub(crate) fn build(file: &TestFile, compiler: &Compiler, wanted: &[bool]) -> Result<Program, String> {
    let mut cx = compiler.context();
    // The name is the one in the file, for errors.
    let mut compile = |function: &Function, name: &FuncName| {
        let mut module = ModuleBuffer::default();
        match compiler.compile(&mut cx, &mut function.clone(), &mut module) {
            Ok(()) => Ok(Ok(module)),
            Err(error) if error.is_unsupported() => Ok(Err(error.to_string())),
            Err(error) => Err(format!("{}: {error}", name)),
        }
    };
    let renames = Renames::new(file);
    let functions: Vec<Function> = file.functions.iter().map(|test| renames.function(&test.function)).collect();
    let mut parts: Vec<Result<ModuleBuffer, String>> = Vec::with_capacity(functions.len());
    for (function, test) in functions.iter().zip(&file.functions) {
        parts.push(match missing_host_function(function) {
            Some(reason) => Err(reason),
            None => compile(function, &test.function.name)?,
        });
    }
    leave_out_callers(&functions, &mut parts);

    let mut module = ModuleBuffer::default();
    let mut trampolines = vec![None; functions.len()];
    let mut left_out: Vec<Option<String>> = parts.iter().map(|part| part.as_ref().err().cloned()).collect();
    for index in (0..functions.len()).filter(|&index| wanted[index]) {
        if left_out[index].is_some() {
            continue;
        }
        let function = trampoline::trampoline(index, &functions[index]).map_err(|error| error.to_string())?;
        match compile(&function, &function.name)? {
            Ok(part) => {
                trampolines[index] = Some(module.len() as u32);
                module.append(&part);
            }
            Err(reason) => left_out[index] = Some(reason),
        }
    }
    parts.iter().flatten().for_each(|part| module.append(part));

    let mut data = data_objects(&file.data)?;
    renames.data(&mut data);
    data.push(table(&module));
    let entries = module.functions().map(|view| Entry {
        code_size: view.code.len() as u64,
        traps: view.traps.iter().map(|trap| (trap.offset, trap.code)).collect(),
    });
    let entries = entries.collect();
    let options = ObjectOptions { unwind_info: compiler.settings().unwind_info, ..ObjectOptions::default() };
    let object = kingpost_emit_object::write(compiler.triple(), &module, &data, options);
    let object = object.map_err(|error| error.to_string())?;
    Ok(Program { object, trampolines, left_out, entries })
}

/// A program that can be run.
#[derive(Debug)]
pub(crate) struct Executable {
    /// Holds the executable; removed with it.
    pub(crate) folder: TempDir,
    pub(crate) path: PathBuf,
}

impl Program {
    /// Links the object with the driver.
    ///
    /// # Errors
    /// If the linker fails or warns.
    pub(crate) fn link(&self) -> Result<Executable, String> {
        static DRIVER_OBJECT: OnceLock<Result<Vec<u8>, String>> = OnceLock::new();
        let driver = DRIVER_OBJECT.get_or_init(compile_driver).as_ref()?;
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let at = |name: &str| folder.path().join(name);
        let write = |name: &str, bytes: &[u8]| fs::write(at(name), bytes).map_err(|error| error.to_string());
        write("driver.o", driver)?;
        write("test.o", &self.object)?;
        let mut cc = Command::new("cc");
        cc.args(["-nostartfiles", "-no-pie", "-o"]).arg(at("test")).args([at("driver.o"), at("test.o")]);
        succeed(cc.args(["-Wl,--as-needed", "-lm"]))?;
        let path = at("test");
        Ok(Executable { folder, path })
    }
}

/// The one function that the host of upstream's tests provides is not here yet.
fn missing_host_function(function: &Function) -> Option<String> {
    let throws = function
        .dfg
        .ext_funcs
        .values()
        .any(|callee| matches!(&callee.name, ExternalName::Named(name) if &**name == "__cranelift_throw"));
    throws.then(|| "throwing exceptions is not supported".into())
}

/// Functions that call one that is left out are left out too, and so on.
fn leave_out_callers(functions: &[Function], parts: &mut [Result<ModuleBuffer, String>]) {
    let mut callers: HashMap<FuncName, Vec<usize>> = HashMap::new();
    for (index, function) in functions.iter().enumerate() {
        for callee in function.dfg.ext_funcs.values() {
            let name = match &callee.name {
                ExternalName::Named(word) => FuncName::Named(word.to_string()),
                ExternalName::User(user) => match function.user_names.get(*user) {
                    Some(&(namespace, index)) => FuncName::User(namespace, index),
                    None => continue,
                },
                ExternalName::LibCall(_) | ExternalName::KnownSymbol(_) => continue,
            };
            callers.entry(name).or_default().push(index);
        }
    }
    let mut left_out: Vec<usize> = (0..parts.len()).filter(|&index| parts[index].is_err()).collect();
    let mut seen: HashSet<usize> = left_out.iter().copied().collect();
    while let Some(index) = left_out.pop() {
        let Err(reason) = parts[index].clone() else { continue };
        for &caller in callers.get(&functions[index].name).into_iter().flatten() {
            if seen.insert(caller) {
                parts[caller] = Err(reason.clone());
                left_out.push(caller);
            }
        }
    }
}

/// The driver's table: how many functions there are, and their addresses.
fn table(module: &ModuleBuffer) -> DataObject {
    let count = module.len() as u64;
    let mut bytes = count.to_le_bytes().to_vec();
    bytes.resize(8 * (module.len() + 1), 0);
    let pointers = module.functions().enumerate().map(|(index, view)| DataPointer {
        offset: 8 * (index as u64 + 1),
        symbol: view.function.head.name.clone(),
        addend: 0,
    });
    DataObject {
        name: SymbolName::named(TABLE),
        align: 8,
        writable: true,
        size: bytes.len() as u64,
        bytes,
        pointers: pointers.collect(),
    }
}

fn compile_driver() -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (source, object) = (folder.path().join("driver.c"), folder.path().join("driver.o"));
    fs::write(&source, DRIVER).map_err(|error| error.to_string())?;
    let mut cc = Command::new("cc");
    succeed(cc.args(["-c", "-O1", "-fno-stack-protector", "-fno-pie", "-o"]).args([&object, &source]))?;
    fs::read(object).map_err(|error| error.to_string())
}

/// Runs a tool that must say nothing.
fn succeed(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("cannot run `cc`: {error}"))?;
    if output.status.success() && output.stderr.is_empty() {
        return Ok(());
    }
    Err(format!("`cc` failed or warned:\n{}", String::from_utf8_lossy(&output.stderr)))
}
