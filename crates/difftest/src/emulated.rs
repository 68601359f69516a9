//! Compiled code of another machine, run by an emulator: many programs in one object and one process.

use crate::native::{Lane, NotLoaded, Outcome};
use kingpost_filetest::native::{self, Request, Via};
use kingpost_filetest::{Ending, native::can_run};
use kingpost_interpreter::DataValue;
use kingpost_ir::Function;
use kingpost_ir::extfunc::{ExternalName, FuncName};
use kingpost_mach::ModuleBuffer;
use std::collections::HashSet;
use std::str::FromStr;
use target_lexicon::Triple;

/// Returns the machine.
pub(crate) fn triple() -> Triple {
    Triple::from_str("aarch64-unknown-linux-gnu").expect("a known triple")
}

/// Checks that its code can be run.
///
/// # Errors
/// The missing tool.
pub(crate) fn is_here() -> Result<(), String> {
    can_run(&triple())
}

/// Returns a compiler for each allocator and optimization level: for any processor of the machine, or for one with
/// all features.
pub(crate) fn lanes(everything: bool) -> Vec<Lane> {
    let flags: Vec<String> = everything.then(|| "has_lse".to_string()).into_iter().collect();
    Lane::at_all_levels(&triple(), &flags)
}

/// Programs compiled into one object, and their calls.
pub(crate) struct Batch {
    module: ModuleBuffer,
    requests: Vec<Request>,
    /// Number of the next program.
    next: usize,
}

impl Batch {
    pub(crate) fn new() -> Batch {
        Batch { module: ModuleBuffer::default(), requests: Vec::new(), next: 0 }
    }

    /// Compiles the functions and records a call of the first one for each input.
    ///
    /// # Errors
    /// The function that cannot be compiled.
    pub(crate) fn add(
        &mut self,
        lane: &mut Lane,
        functions: &[Function],
        inputs: &[Vec<u64>],
    ) -> Result<(), NotLoaded> {
        let number = self.next;
        self.next += 1;
        let mut functions = renamed(functions, number);
        let trampoline = native::trampoline(number, &functions[0]).expect("the text of a trampoline reads");
        functions.push(trampoline);
        self.module.append(&lane.compile(&functions)?);
        let trampoline = self.module.len() as u32 - 1;
        let signature = &functions[0].signature;
        for input in inputs {
            let arguments = signature.params.iter().zip(input);
            let arguments = arguments.map(|(param, &bits)| DataValue::new(param.value_type, bits.into())).collect();
            let results = signature.returns.iter().map(|result| result.value_type).collect();
            self.requests.push(Request { trampoline, arguments, results });
        }
        Ok(())
    }

    /// Makes all calls, in the order in which they were added.
    ///
    /// # Errors
    /// If the object cannot be linked or the emulator not started.
    pub(crate) fn run(self) -> Result<Vec<Outcome>, String> {
        let program = native::Program { triple: triple(), unwind_info: false, module: self.module, data: Vec::new() };
        let endings = native::run(&program, &self.requests, Via::Object)?;
        Ok(endings.into_iter().map(outcome).collect())
    }
}

fn outcome(ending: Ending) -> Outcome {
    match ending {
        Ending::Returned(values) => Outcome::Returned(values),
        Ending::Trapped(Some(code)) => Outcome::Trapped(code),
        other => Outcome::Wrong(other.to_string()),
    }
}

/// Returns the functions under names that no other program has.
fn renamed(functions: &[Function], number: usize) -> Vec<Function> {
    let defined: HashSet<FuncName> = functions.iter().map(|function| function.name.clone()).collect();
    let new_name = |name: &FuncName| match name {
        FuncName::Named(word) => format!("p{number}_{word}"),
        FuncName::User(namespace, index) => format!("p{number}_u{namespace}_{index}"),
    };
    let mut functions = functions.to_vec();
    for function in &mut functions {
        function.name = FuncName::Named(new_name(&function.name));
        for callee in function.dfg.ext_funcs.values_mut() {
            let old = match &callee.name {
                ExternalName::Named(word) => FuncName::Named(word.to_string()),
                ExternalName::User(user) => {
                    let (namespace, index) = function.user_names[*user];
                    FuncName::User(namespace, index)
                }
                ExternalName::LibCall(_) | ExternalName::KnownSymbol(_) => continue,
            };
            if defined.contains(&old) {
                callee.name = ExternalName::Named(new_name(&old).into());
            }
        }
    }
    functions
}
