//! Generated programs, compiled and checked only by the checker of allocations: no code is called, so that ten
//! times as many programs are tested in a given time, under every allocator, with all registers and with few.

use crate::failure::{Failure, Report};
use crate::native::{Lane, NotLoaded, compile_test, settings};
use kingpost_codegen::{ALLOCATORS, OptLevel, Settings};
use kingpost_ir::Function;
use kingpost_mach::settings::AllocatedRegisters;
use kingpost_testgen::ir::{Program, generate, shrink};
use std::ops::Range;

/// Machines for which a seed is compiled, alternating; so do optimization levels.
const MACHINES: [&str; 2] = ["x86_64", "aarch64"];
const LEVELS: [OptLevel; 2] = [OptLevel::None, OptLevel::Speed];

/// Compiles the programs of `seeds`, each for one machine at one optimization level in turns, with every allocator.
///
/// # Errors
/// The first program that an allocator answers wrongly, or that does not compile although it is supported;
/// shrunken.
pub fn run(seeds: Range<u64>) -> Result<Report, Box<Failure>> {
    let mut report = Report::default();
    let mut lanes: Vec<Vec<Lane>> =
        LEVELS.iter().flat_map(|&level| MACHINES.map(|machine| all(machine, level))).collect();
    for seed in seeds {
        let program = generate(seed);
        let turn = seed as usize % lanes.len();
        for lane in &mut lanes[turn] {
            if let Some(what) = error(lane, &program.functions, &mut report) {
                return Err(failure(seed, &program, lane, &what));
            }
        }
        report.cases += 1;
    }
    Ok(report)
}

/// Returns every allocator with all registers and with few.
fn all(machine: &str, opt_level: OptLevel) -> Vec<Lane> {
    let triple = format!("{machine}-unknown-linux-gnu").parse().expect("a known triple");
    let both = [AllocatedRegisters::All, AllocatedRegisters::Few];
    let lanes = ALLOCATORS.iter().flat_map(|&(allocator, _)| both.map(|registers| (allocator, registers)));
    let lanes = lanes.map(|(allocator, regalloc_registers)| {
        // No verifier of stages: only the checker decides, on more programs.
        let settings = settings(allocator).with(|settings| {
            settings.opt_level = opt_level;
            settings.regalloc_registers = regalloc_registers;
            settings.verify_each = false;
        });
        Lane::with_settings(&triple, allocator, settings.with(|settings| settings.regalloc_checker = true), Vec::new())
    });
    lanes.collect()
}

/// Reports a failure to compile these functions.
fn error(lane: &mut Lane, functions: &[Function], report: &mut Report) -> Option<String> {
    match lane.compile(functions) {
        Ok(_) => report.functions += functions.len() as u64,
        Err(NotLoaded::Compile(_, error)) if error.is_unsupported() => report.skip(error),
        Err(error) => return Some(error.to_string()),
    }
    None
}

/// Returns the program, shrunken as far as an error remains.
fn failure(seed: u64, program: &Program, lane: &mut Lane, what: &str) -> Box<Failure> {
    let small = shrink(program, |candidate| error(lane, &candidate.functions, &mut Report::default()).is_some());
    let what = error(lane, &small.functions, &mut Report::default()).unwrap_or_else(|| what.into());
    let what = format!("{what}\nrepeat with: make fuzz TARGET=checked N=1 SEED={seed}");
    let Settings { regalloc_algorithm, opt_level, regalloc_registers, .. } = lane.compiler().settings();
    let settings = format!(
        "set regalloc_algorithm={regalloc_algorithm}\nset opt_level={opt_level}\nset regalloc_registers={regalloc_registers}\n"
    );
    let text = compile_test(&small.functions, &settings, lane.architecture);
    Box::new(Failure { seed, what, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::{InstData, Opcode};

    #[test]
    fn smoke() {
        let report = run(0..80).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(report.cases == 80 && report.functions > 1000, "{report}");
    }

    /// Checks that a rejection by a compiler is reported with a small program: here one with an invalid function.
    #[test]
    fn failures_are_shrunken() {
        let mut program = generate(1);
        let f = &mut program.functions[0];
        let entry = f.layout.entry_block().unwrap();
        let last = f.layout.last_inst(entry).unwrap();
        let param = f.dfg.append_block_param(entry, kingpost_ir::types::F32);
        let inst = f.dfg.make_inst(InstData::binary(Opcode::Iadd, kingpost_ir::types::I32, [param, param]));
        f.dfg.make_results(inst, kingpost_ir::types::I32);
        f.layout.insert_inst(inst, last);
        let mut lanes = all("aarch64", OptLevel::None);
        let what = error(&mut lanes[0], &program.functions, &mut Report::default()).expect("an invalid function");
        let failure = failure(1, &program, &mut lanes[0], &what);
        assert!(failure.what.contains("repeat with: make fuzz TARGET=checked N=1 SEED=1"), "{failure}");
        assert!(failure.text.contains("target aarch64\n\nfunction "), "{failure}");
    }
}
