//! Code without a proof, replaced by code of the baseline allocator: the setting `validate_failure=recompile`.
//!
//! The function is compiled again as it was read, by `spill_all` and without the optimizer: the code in which the fewest
//! stages have a part, and the easiest to prove. Only proved code replaces other code.

use crate::compiler::{BASELINE, Compiler, Context};
use crate::error::CompileError;
use crate::validate;
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;

/// Returns the result of a compilation. If it is the error that the code has no proof, and the settings ask for it,
/// compiles the function again with the baseline. `cx` then has the results of the baseline's stages.
pub(crate) fn run(
    compiler: &Compiler,
    cx: &mut Context,
    func: &mut Function,
    module: &mut ModuleBuffer,
    result: Result<(), CompileError>,
) -> Result<(), CompileError> {
    let (Some(baseline), Err(CompileError::Unproved { report })) = (compiler.replacement(), &result) else {
        return result;
    };
    let Some(mut input) = validate::take_input(cx) else { return result };
    let mut again = baseline.context();
    let result = baseline.compile_anew(&mut again, &mut input, module);
    let (is_proved, counts) = (again.stats.proofs.proved == 1, cx.stats.proofs);
    cx.stats += &again.stats;
    // The function has a verdict already.
    cx.stats.proofs = counts;
    let second = match result {
        Err(CompileError::Cancelled) => return Err(CompileError::Cancelled),
        Ok(()) if is_proved => {
            log::warn!("{}: the emitted code is {report}; proved code of `{BASELINE}` replaces it", func.name);
            cx.stats.proofs.recompiled += 1;
            cx.baseline = Some(again.stages);
            *func = *input;
            return Ok(());
        }
        // The baseline knows the features of the code that it replaces, and may lack others.
        Ok(()) => {
            module.pop_function();
            "the code is out of scope".into()
        }
        Err(error) => error.to_string(),
    };
    Err(CompileError::Unproved { report: format!("{report}; compiled again by `{BASELINE}`: {second}") })
}
