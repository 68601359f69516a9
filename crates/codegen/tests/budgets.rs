//! Checks that budgets are honored: the work of a function is the same everywhere, a limit of that work is enough and
//! one unit less is not, and a stage ends soon after the limit.

use kingpost_codegen::{ALLOCATORS, CompileError, Compiler, Context, Limits, OptLevel, Options, Settings, allocator};
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;
use kingpost_regalloc::{AllocError, Allocation, Allocator, Diagnostics, MachineEnv, Problem};
use kingpost_testgen::worst_cases::CASES;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use target_lexicon::triple;

const LEVELS: [OptLevel; 2] = [OptLevel::None, OptLevel::Speed];

/// Number of instructions of a shape.
const SIZE: usize = 2000;

fn settings(allocator: &str, opt_level: OptLevel) -> Settings {
    Settings::default().with(|settings| {
        settings.regalloc_algorithm = allocator.into();
        settings.opt_level = opt_level;
        settings.regalloc_checker = true;
    })
}

fn compiler(settings: &Settings, change: impl FnOnce(&mut Limits)) -> Compiler {
    let options = Options::default().with(|options| change(&mut options.limits));
    Compiler::new(&triple!("x86_64-unknown-linux-gnu"), settings.clone(), &[]).unwrap().with_options(options)
}

fn parse(text: &str) -> Function {
    kingpost_reader::parse_functions(text).unwrap().remove(0)
}

fn small() -> Function {
    parse("function %small(i64) -> i64 { block0(v0: i64): v1 = iadd v0, v0 return v1 }")
}

/// Compiles `func` alone, and returns the code and the work.
fn compile(compiler: &Compiler, cx: &mut Context, func: &Function) -> (Result<Vec<u8>, CompileError>, u64) {
    let (mut module, before) = (ModuleBuffer::default(), cx.stats().work);
    let result = compiler.compile(cx, &mut func.clone(), &mut module);
    let code = result.map(|()| module.function(0).code.to_vec());
    (code, cx.stats().work - before)
}

/// Checks the work of one function under one compiler. `what` describes both.
fn check_work(what: &str, settings: &Settings, func: &Function) {
    let unlimited = compiler(settings, |_| {});
    let mut cx = unlimited.context();
    let (code, work) = compile(&unlimited, &mut cx, func);
    let code = code.unwrap_or_else(|error| panic!("{what}: {error}"));
    let (small_code, small_work) = compile(&unlimited, &mut cx, &small());
    assert_eq!(compile(&unlimited, &mut cx, func), (Ok(code.clone()), work), "{what}: in a used context");

    let enough = compiler(settings, |limits| limits.work = work);
    assert_eq!(compile(&enough, &mut enough.context(), func), (Ok(code), work), "{what}: {work} units");
    for percent in [100, 80, 50, 25, 10] {
        let limit = if percent == 100 { work - 1 } else { work * percent / 100 };
        let limited = compiler(settings, |limits| limits.work = limit);
        let mut cx = limited.context();
        let (result, spent) = compile(&limited, &mut cx, func);
        let expected = CompileError::Limit { what: "work units", limit };
        assert_eq!(result, Err(expected), "{what}: {work} units, limit {limit}");
        // One value's uses are not interrupted.
        let most = limit + limit / 10 + work / 100;
        assert!(spent <= most, "{what}: {spent} units were spent of {work}, limit {limit}");
        let after = compile(&limited, &mut cx, &small());
        assert_eq!(after, (small_code.clone(), small_work), "{what}: after a failure");
    }
}

#[test]
fn work_is_exact_for_every_shape_and_allocator() {
    for (name, make) in CASES {
        let func = parse(&make(SIZE));
        for (allocator, opt_level) in ALLOCATORS.iter().flat_map(|&(name, _)| LEVELS.map(|level| (name, level))) {
            check_work(&format!("{name} {allocator} {opt_level}"), &settings(allocator, opt_level), &func);
        }
    }
}

#[test]
fn verifiers_between_stages_are_counted() {
    let func = parse(&CASES[0].1(SIZE));
    let plain = settings("ssa", OptLevel::Speed);
    let verifies = plain.clone().with(|settings| settings.verify_each = true);
    let work = |settings| {
        let compiler = compiler(settings, |_| {});
        compile(&compiler, &mut compiler.context(), &func).1
    };
    let (without, with) = (work(&plain), work(&verifies));
    assert!(with > without + 10 * SIZE as u64, "{without} units without, {with} with the verifiers");
    check_work("verify_each", &verifies, &func);
}

/// Checks that the peak of the bytes is the same in a used context, that a limit of that peak is enough, and that one byte
/// less is not.
#[test]
fn bytes_are_exact_for_every_shape_and_allocator() {
    for (name, make) in CASES {
        let func = parse(&make(SIZE));
        for (allocator, opt_level) in ALLOCATORS.iter().flat_map(|&(name, _)| LEVELS.map(|level| (name, level))) {
            let what = format!("{name} {allocator} {opt_level}");
            let settings = settings(allocator, opt_level);
            let limited = |limit| compiler(&settings, |limits| limits.bytes = limit);
            let counting = limited(u64::MAX - 1);
            let mut cx = counting.context();
            let (code, _) = compile(&counting, &mut cx, &func);
            let peak = cx.stats().peak_bytes;
            assert!(peak > 10 * SIZE as u64, "{what}: {peak}");
            assert_eq!(compile(&counting, &mut cx, &func), compile(&counting, &mut cx, &func));
            assert_eq!(cx.stats().peak_bytes, peak, "{what}: in a used context");
            let enough = limited(peak);
            assert_eq!(compile(&enough, &mut enough.context(), &func).0, code, "{what}");
            let less = limited(peak - 1);
            let mut cx = less.context();
            let expected = CompileError::Limit { what: "bytes of memory", limit: peak - 1 };
            assert_eq!(compile(&less, &mut cx, &func).0, Err(expected), "{what}");
            assert!(compile(&less, &mut cx, &small()).0.is_ok(), "{what}: after a failure");
        }
    }
}

#[test]
fn work_does_not_depend_on_threads() {
    for &(allocator, _) in ALLOCATORS {
        let compiler = compiler(&settings(allocator, OptLevel::Speed), |_| {});
        let funcs: Vec<Function> = CASES.iter().map(|(_, make)| parse(&make(300))).collect();
        let [one, many] = [1, 4].map(|jobs| compiler.compile_batch(&mut funcs.clone(), jobs).stats.work);
        assert_eq!(one, many, "{allocator}");
        assert!(one > 300 * CASES.len() as u64);
    }
}

/// Sets a flag when allocation begins.
struct Cancels(Box<dyn Allocator>, Arc<AtomicBool>);

impl Allocator for Cancels {
    fn name(&self) -> &'static str {
        "cancels"
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
        self.1.store(true, Ordering::Relaxed);
        let result = self.0.allocate_with(problem, env, out, diagnostics);
        assert!(matches!(result, Err(AllocError::Exceeded(_))), "{result:?}");
        result
    }
}

#[test]
fn cancellation_is_noticed_within_allocation() {
    let func = parse(&CASES[0].1(SIZE));
    for &(name, make) in ALLOCATORS {
        let flag = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&flag);
        let compiler = compiler(&settings(name, OptLevel::None), |_| {});
        let options = Options::default().with(|options| options.cancel = Some(flag));
        let compiler = compiler
            .with_options(options)
            .with_allocator(Arc::new(move || Box::new(Cancels(make(), Arc::clone(&own)))));
        let (result, _) = compile(&compiler, &mut compiler.context(), &func);
        assert_eq!(result, Err(CompileError::Cancelled), "{name}");
    }
}

/// An allocator that knows nothing of budgets.
struct Ignores(Box<dyn Allocator>);

impl Allocator for Ignores {
    fn name(&self) -> &'static str {
        "ignores"
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        self.0.allocate(problem, env, out)
    }
}

#[test]
fn allocators_that_ignore_the_meter_are_charged_their_steps() {
    let ssa = allocator("ssa").unwrap();
    let func = parse(&CASES[0].1(SIZE));
    let settings = settings("ssa", OptLevel::None);
    let compile_within = |limit| {
        let ssa = Arc::clone(&ssa);
        let compiler = compiler(&settings, |limits| limits.work = limit);
        let compiler = compiler.with_allocator(Arc::new(move || Box::new(Ignores(ssa()))));
        let mut cx = compiler.context();
        let (result, work) = compile(&compiler, &mut cx, &func);
        (result.map(|_| ()), work, cx.allocation().stats.steps)
    };
    let (result, work, steps) = compile_within(u64::MAX);
    assert_eq!(result, Ok(()));
    assert!(steps > SIZE as u64 && work > steps);
    assert_eq!(compile_within(work), (Ok(()), work, steps));
    let (result, ..) = compile_within(work - 1);
    assert_eq!(result, Err(CompileError::Limit { what: "work units", limit: work - 1 }));
}
