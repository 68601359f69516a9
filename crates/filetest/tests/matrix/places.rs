//! The compilers and the interpreter, and the functions that they reject.

use kingpost_codegen::{CompileError, Compiler, Settings};
use kingpost_interpreter::{DataValue, Environment, Interpreter, Stop};
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;
use kingpost_mach::settings::{StackSwitchModel, TlsModel};
use kingpost_testgen::opcode_cases::Case;
use std::str::FromStr;
use target_lexicon::Triple;

/// Places that may reject a case: the compiler for a target with any CPU, or only at the target's baseline, and the
/// interpreter. A set of them is a mask of their indices here.
pub(crate) const NAMES: [&str; 5] = ["x86_64", "x86_64-baseline", "aarch64", "aarch64-baseline", "interpreter"];

/// Triples, and CPU flags beyond the baseline.
const TARGETS: [(&str, &[&str]); 2] = [
    ("x86_64-unknown-linux-gnu", &["icelake-server"]),
    ("aarch64-unknown-linux-gnu", &["has_lse", "has_fp16", "has_dotprod", "has_i8mm"]),
];

/// Returns for each case the set of places that reject it.
pub(crate) fn refusals(cases: &[Case]) -> Vec<usize> {
    let functions: Vec<Function> = cases.iter().map(parse).collect();
    let interpreter = 1 << (NAMES.len() - 1);
    let interpreted = functions.iter().map(|function| if is_interpreted(function) { 0 } else { interpreter });
    let mut refused: Vec<usize> = interpreted.collect();
    for (target, (triple, flags)) in TARGETS.into_iter().enumerate() {
        let baseline = refused_by(&compiler(triple, &[]), cases, &functions);
        let with_flags = refused_by(&compiler(triple, flags), cases, &functions);
        for (k, places) in refused.iter_mut().enumerate() {
            assert!(baseline[k] || !with_flags[k], "refused for the CPU flags:\n{}", cases[k].text);
            *places |= usize::from(with_flags[k]) << (2 * target);
            *places |= usize::from(baseline[k] && !with_flags[k]) << (2 * target + 1);
        }
    }
    refused
}

/// Returns for each case whether a compiler rejects it.
fn refused_by(compiler: &Compiler, cases: &[Case], functions: &[Function]) -> Vec<bool> {
    let mut context = compiler.context();
    let mut compile = |(case, function): (&Case, &Function)| {
        let mut module = ModuleBuffer::default();
        match compiler.compile(&mut context, &mut function.clone(), &mut module) {
            Ok(()) => false,
            Err(CompileError::Lower(_)) => true,
            Err(error) => panic!("{}: {error}\n{}", compiler.triple(), case.text),
        }
    };
    cases.iter().zip(functions).map(&mut compile).collect()
}

fn parse(case: &Case) -> Function {
    match kingpost_reader::parse_functions(&case.text) {
        Ok(mut functions) => functions.remove(0),
        Err(error) => panic!("{error}\n{}", case.text),
    }
}

fn compiler(triple: &str, flags: &[&str]) -> Compiler {
    let settings = Settings::default().with(|settings| {
        settings.is_pic = false;
        settings.enable_pinned_reg = true;
        settings.preserve_frame_pointers = true;
        settings.enable_llvm_abi_extensions = true;
        settings.enable_multi_ret_implicit_sret = true;
        settings.tls_model = TlsModel::ElfGd;
        settings.stack_switch_model = StackSwitchModel::Basic;
    });
    let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
    Compiler::new(&Triple::from_str(triple).expect("a triple"), settings, &flags).expect("a target")
}

/// Returns `true` if the interpreter supports the function.
fn is_interpreted(function: &Function) -> bool {
    let environment = Environment::new([function]);
    let arguments: Vec<DataValue> =
        function.signature.params.iter().map(|param| DataValue::new(param.value_type, 0)).collect();
    !matches!(Interpreter::new(&environment).call("f", &arguments), Err(Stop::NotSupported { .. }))
}
