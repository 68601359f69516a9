//! Tests of faults in the code of small functions.

use super::reasons::reason;
use super::*;
use kingpost_codegen::Settings;
use kingpost_testgen::opcode_cases::{self, Case, Operand};

fn is_scalar(case: &Case) -> bool {
    let types = case.operand_types().into_iter().chain(case.result_types()).chain([case.ty]);
    types.into_iter().all(|ty| ty.is_invalid() || !ty.is_vector())
}

/// Returns a function of each scalar opcode at each type.
fn functions() -> Vec<Function> {
    let cases = opcode_cases::all().into_iter().filter(is_scalar);
    let text = |case: Case| case.with(&vec![Operand::Parameter; case.operand_types().len()], None);
    cases.flat_map(|case| kingpost_reader::parse_functions(text(case)).expect("the text of a case")).collect()
}

/// Changes a bit in the code of each opcode: in what lowering chose, or in the frame around it.
#[test]
fn mutants_of_lowered_opcodes_are_refused() {
    let functions = functions();
    let counts = run(&functions, 2 * functions.len() as u64, 1);
    println!("{} functions, {counts}", functions.len());
    assert!(counts.faults >= 500, "{counts}");
    assert!(counts.accepted.is_empty(), "{counts}");
}

const SMALL: &str = include_str!("../../../validate/tests/functions.clif");
/// Number of executions of each accepted fault of a small function.
const SMALL_ROUNDS: u64 = 40;

/// Returns a compiler for a machine that compiles the small functions as the tests of `validate` do.
fn compiler(machine: &str) -> Compiler {
    let settings = settings("ssa").with(|settings| {
        settings.opt_level = OptLevel::None;
        settings.is_pic = Settings::default().is_pic;
        settings.validate_code = ValidateCode::Terms;
        settings.enable_multi_ret_implicit_sret = true;
    });
    Compiler::new(&format!("{machine}-unknown-linux-gnu").parse().unwrap(), settings, &[]).unwrap()
}

/// Calls `see` with each small function whose code is proved.
fn each_small_function(machine: &str, mut see: impl FnMut(&Function, &Code<'_>)) {
    let compiler = compiler(machine);
    let mut cx = compiler.context();
    for mut func in kingpost_reader::parse_functions(SMALL).unwrap() {
        let mut module = ModuleBuffer::default();
        // Functions that terms do not prove have no code.
        if compiler.compile(&mut cx, &mut func, &mut module).is_ok() {
            let view = module.function(0);
            see(&func, &compiler.code_to_prove(&cx, &func, &view));
        }
    }
}

/// Changes each bit of each instruction. An accepted fault has a reason, and shows nothing else where it is executed.
#[test]
fn each_bit_of_small_functions_is_judged() {
    for machine in ["aarch64", "x86_64"] {
        let (mut counts, mut without_reason) = (Counts::default(), Vec::new());
        each_small_function(machine, |func, code| {
            for bit in 0..8 * code.end {
                let Some(judgement) = judge(func, code, bit, SMALL_ROUNDS) else { continue };
                let place = || format!("{machine} {} byte {:#x} bit {}", func.name, bit / 8, bit % 8);
                if judgement != Judgement::Refused && reason(code, bit).is_none() {
                    without_reason.push(place());
                }
                counts.count(judgement, place);
            }
        });
        println!("{machine}: {counts}");
        assert!(counts.refused > 2000, "{machine}: {counts}");
        assert!(counts.accepted.is_empty(), "{machine}: {counts}");
        assert!(without_reason.is_empty(), "accepted without a reason:\n{}", without_reason.join("\n"));
    }
}

/// Executes a changed instruction that means the same only because of what came before, in many states.
#[test]
fn instructions_may_read_other_registers_with_equal_values() {
    let mut seen = Vec::new();
    for machine in ["aarch64", "x86_64"] {
        each_small_function(machine, |func, code| {
            let name = func.name.to_string();
            // A carry that is clear, two copies of a parameter, and a register that is zero.
            let changes: &[(&[u8], u32)] = match (machine, name.as_str()) {
                ("aarch64", "%nested") => &[(&[0xe5, 0x03, 0x04, 0x2a], 28)], // mov w5, w4
                ("aarch64", "%gcd") => &[(&[0x22, 0x08, 0xc0, 0x9a], 9), (&[0x41, 0x84, 0x00, 0x9b], 14)], // udiv; msub
                ("x86_64", "%gcd") => &[(&[0x48, 0x89, 0xfe], 15)],           // mov rsi, rdi
                _ => return,
            };
            for &(instruction, bit) in changes {
                let at = code.bytes.windows(instruction.len()).position(|bytes| bytes == instruction);
                seen.push(judge(func, code, 8 * at.unwrap() as u32 + bit, 2000));
            }
        });
    }
    assert_eq!(seen, vec![Some(Judgement::SameEffects); 4]);
}
