//! Checks the setting `verify_each`, and compilation that stops early.

use kingpost_codegen::{CompileError, Compiler, Options, Settings, Stage, allocator};
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;
use kingpost_regalloc::{AllocError, Allocation, Allocator, Diagnostics, MachineEnv, Problem};
use std::fmt::Write;
use std::sync::Arc;
use target_lexicon::triple;

/// An allocator that solves problems and whose phases break a rule.
struct BadPhase(Box<dyn Allocator>);

impl Allocator for BadPhase {
    fn name(&self) -> &'static str {
        "bad-phase"
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        self.0.allocate(problem, env, out)
    }

    fn allocate_with(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        out: &mut Allocation,
        diagnostics: &mut Diagnostics<'_>,
    ) -> Result<(), AllocError> {
        self.0.allocate(problem, env, out)?;
        let verify = || Err("too many values in registers at i1".into());
        diagnostics.end("spilling", verify, |text| text.write_str("spilled"))
    }
}

fn function() -> Function {
    let text = "function %f(i64) -> i64 { block0(v0: i64): v1 = iadd v0, v0 return v1 }";
    kingpost_reader::parse_functions(text).unwrap().remove(0)
}

fn compiler(verify_each: bool) -> Compiler {
    let settings = Settings::default().with(|settings| settings.verify_each = verify_each);
    Compiler::new(&triple!("x86_64-unknown-linux-gnu"), settings, &[]).unwrap()
}

fn compile(compiler: &Compiler) -> (Result<(), CompileError>, usize) {
    let mut module = ModuleBuffer::default();
    let result = compiler.compile(&mut compiler.context(), &mut function(), &mut module);
    (result, module.len())
}

#[test]
fn phases_of_allocators_are_verified() {
    let bad = |verify_each| {
        let ssa = allocator("ssa").expect("it exists");
        compiler(verify_each).with_allocator(Arc::new(move || Box::new(BadPhase(ssa()))))
    };
    assert_eq!(compile(&bad(false)), (Ok(()), 1));
    let (result, functions) = compile(&bad(true));
    let error = result.unwrap_err().to_string();
    let expected = "phase `spilling` produced an invalid result: too many values in registers at i1";
    assert!(error.ends_with(expected) && functions == 0, "{error}");
}

#[test]
fn every_verifier_runs() {
    let settings = compiler(true).settings().clone();
    assert!(settings.enable_verifier && settings.regalloc_checker);
    assert_eq!(compile(&compiler(true)), (Ok(()), 1));
}

#[test]
fn compilation_ends_after_a_stage() {
    for &stage in Stage::ALL {
        let options = Options::default().with(|options| options.stop_after = Some(stage));
        let (result, functions) = compile(&compiler(true).with_options(options));
        match stage {
            Stage::Emit | Stage::Validate => assert_eq!((result, functions), (Ok(()), 1)),
            _ => assert_eq!((result, functions), (Err(CompileError::Stopped), 0), "{stage}"),
        }
        assert_eq!(Stage::named(stage.name()), Some(stage));
    }
}
