//! Compiles the functions of a file with their trampolines.

use std::collections::{HashMap, HashSet};

use kingpost_codegen::Compiler;
use kingpost_codegen::module::Inliner;
use kingpost_ir::Function;
use kingpost_ir::extfunc::{ExternalName, FuncName};
use kingpost_mach::{DataObject, ModuleBuffer};
use kingpost_reader::TestFile;
use target_lexicon::Triple;

use crate::data::data_objects;
use crate::native::rename::Renames;
use crate::native::trampoline;

/// Compiled code and its data.
#[derive(Debug)]
pub struct Program {
    /// Target it is compiled for.
    pub triple: Triple,
    /// Whether an object of it gets unwind information.
    pub unwind_info: bool,
    /// Functions, including trampolines.
    pub module: ModuleBuffer,
    /// Data objects that the functions refer to.
    pub data: Vec<DataObject>,
}

/// The code and data of a file.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) program: Program,
    /// By function of the file: the index of its trampoline in the module, if it has one.
    pub(crate) trampolines: Vec<Option<u32>>,
    /// By function of the file: the reason if it or its trampoline was left out.
    pub(crate) left_out: Vec<Option<String>>,
}

/// Compiles the functions of a file; `wanted` are those that directives call. Functions that
/// cannot be compiled, or that call such functions, are left out with their reason.
///
/// # Errors
/// If a supported function does not compile, which is a bug of the compiler.
pub(crate) fn build(file: &TestFile, compiler: &Compiler, wanted: &[bool]) -> Result<Built, String> {
    let mut cx = compiler.context();
    // Errors use the name in the file.
    let mut compile = |function: &Function, name: &FuncName| {
        let mut module = ModuleBuffer::default();
        match compiler.compile(&mut cx, &mut function.clone(), &mut module) {
            Ok(()) => Ok(Ok(module)),
            Err(error) if error.is_unsupported() => Ok(Err(error.to_string())),
            Err(error) => Err(format!("{}: {error}", name)),
        }
    };
    let renames = Renames::new(file);
    let mut functions: Vec<Function> = file.functions.iter().map(|test| renames.function(&test.function)).collect();
    Inliner::default().run(compiler, &mut functions);
    let mut parts: Vec<Result<ModuleBuffer, String>> = Vec::with_capacity(functions.len());
    for (function, test) in functions.iter().zip(&file.functions) {
        parts.push(compile(function, &test.function.name)?);
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

    let mut data = data_objects(&file.data).map_err(|fault| fault.to_string())?;
    renames.data(&mut data);
    let (triple, unwind_info) = (compiler.triple().clone(), compiler.settings().unwind_info);
    let program = Program { triple, unwind_info, module, data };
    Ok(Built { program, trampolines, left_out })
}

/// Leaves out the functions that call one that is left out, transitively.
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
