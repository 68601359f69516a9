//! Checks that limits and cancellation are errors with names, and that the context and the module stay usable.

use kingpost_codegen::{ALLOCATORS, CompileError, Compiler, DumpReceiver, Limits, OptLevel, Options, Settings, Stage};
use kingpost_ir::Function;
use kingpost_ir::preamble::GlobalValueData;
use kingpost_mach::{Body, EmitOptions, Emitter, Guard, LowerError, ModuleBuffer, SymbolName};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use target_lexicon::triple;

const LEVELS: [OptLevel; 3] = [OptLevel::None, OptLevel::Speed, OptLevel::SpeedAndSize];

fn compiler(options: Options) -> Compiler {
    let triple = triple!("x86_64-unknown-linux-gnu");
    Compiler::new(&triple, Settings::default(), &[]).unwrap().with_options(options)
}

fn parse(text: &str) -> Function {
    kingpost_reader::parse_functions(text).unwrap().remove(0)
}

/// Returns a chain of `blocks` blocks. Each adds a number and stores the sum to a stack slot of `slot` bytes.
fn chain(blocks: usize, slot: u32) -> Function {
    let mut text = format!("function %chain(i64) system_v {{\nss0 = explicit_slot {slot}\nblock0(v0: i64):\n");
    for block in 1..=blocks {
        let (address, before) = (10_000 + block, block - 1);
        let _ = writeln!(
            text,
            "v{block} = iadd v{before}, v0\nv{address} = stack_addr.i64 ss0\nstore v{block}, v{address}"
        );
        let _ = writeln!(text, "jump block{block}\nblock{block}:");
    }
    parse(&(text + "return\n}"))
}

/// Compiles within `limits`, and again without limits, in one module.
fn check(limits: Limits, func: &Function, what: Option<&'static str>) {
    let limited = compiler(Options::default().with(|options| options.limits = limits));
    let mut module = ModuleBuffer::default();
    let mut cx = limited.context();
    limited.compile(&mut cx, &mut chain(1, 8), &mut module).unwrap();
    let before = module.code_bytes();
    let result = limited.compile(&mut cx, &mut func.clone(), &mut module);
    match (result, what) {
        (Ok(()), None) => {}
        (Err(CompileError::Limit { what: named, .. }), Some(what)) => {
            assert_eq!(named, what);
            assert_eq!((module.len(), module.code_bytes()), (1, before), "an error leaves nothing behind");
            limited.compile(&mut cx, &mut chain(1, 8), &mut module).unwrap();
            assert_eq!(module.function(0).code, module.function(1).code);
        }
        (result, what) => panic!("{result:?}, but {what:?} was to be exceeded"),
    }
}

#[test]
fn each_limit_is_an_error_of_its_name() {
    let small = |set: fn(&mut Limits)| {
        let mut limits = Limits::default();
        set(&mut limits);
        limits
    };
    let func = chain(100, 8);
    check(Limits::default(), &func, None);
    check(small(|l| l.instructions = 50), &func, Some("instructions"));
    check(small(|l| l.vregs = 50), &func, Some("virtual registers"));
    check(small(|l| l.code_bytes = 300), &func, Some("bytes of code"));
    check(small(|l| l.frame_bytes = 100), &chain(1, 101), Some("bytes of stack slots"));
    // Each slot fits, but not together with the other contents of the frame.
    check(small(|l| l.frame_bytes = 104), &chain(1, 104), Some("bytes of frame"));
    check(small(|l| l.frame_bytes = 200), &chain(1, 100), None);
}

#[test]
fn limits_cannot_be_raised() {
    let limits = Limits::default().with(|limits| limits.frame_bytes = u64::MAX);
    check(limits, &chain(1, u32::MAX), Some("bytes of stack slots"));
}

#[test]
fn routines_of_compilers_are_refused_on_request() {
    let triple = triple!("x86_64-unknown-linux-gnu");
    let settings = Settings::default().with(|settings| settings.enable_llvm_abi_extensions = true);
    let calls = Compiler::new(&triple, settings.clone(), &[]).unwrap();
    let options = Options::default().with(|options| options.no_compiler_routines = true);
    let refuses = Compiler::new(&triple, settings, &[]).unwrap().with_options(options);
    let (mut context, mut module) = (refuses.context(), ModuleBuffer::default());
    let rows = [
        ("udiv", "i128, i128", "v2 = udiv v0, v1", "i128"),
        ("fadd", "f128, f128", "v2 = fadd v0, v1", "f128"),
        ("fcvt_to_sint", "f64, i64", "v2 = fcvt_to_sint.i128 v0", "i128"),
        ("fcvt_from_uint", "i128, i64", "v2 = fcvt_from_uint.f32 v0", "i128"),
    ];
    for (opcode, params, inst, ty) in rows {
        let (v0, v1) = params.split_once(", ").unwrap();
        let result = if opcode == "fcvt_from_uint" { "f32" } else { ty };
        let text = format!("function %f({params}) -> {result} {{\nblock0(v0: {v0}, v1: {v1}):\n{inst}\nreturn v2\n}}");
        let refused = refuses.compile(&mut context, &mut parse(&text), &mut module);
        let error = refused.unwrap_err().to_string();
        assert!(error.contains(&format!("`{opcode}` on {ty}")), "{error}");
        calls.compile(&mut context, &mut parse(&text), &mut module).unwrap();
    }
    // Routines of the mathematical library remain.
    let text = "function %f(f64) -> f64 {\nblock0(v0: f64):\nv1 = ceil v0\nreturn v1\n}";
    refuses.compile(&mut context, &mut parse(text), &mut module).unwrap();
}

/// Requests cancellation after a stage.
struct StopAfter(Stage, Arc<AtomicBool>);

impl DumpReceiver for StopAfter {
    fn takes(&self, stage: Stage, _: &str) -> bool {
        stage == self.0
    }

    fn take(&self, _: Stage, _: &str, _: String) {
        self.1.store(true, Ordering::Relaxed);
    }
}

#[test]
fn compilation_stops_when_asked() {
    for stage in [Stage::Expand, Stage::Lower, Stage::Regalloc] {
        let flag = Arc::new(AtomicBool::new(false));
        let dump = Some(Arc::new(StopAfter(stage, Arc::clone(&flag))) as Arc<dyn DumpReceiver>);
        let compiler = compiler(Options::default().with(|options| {
            options.dump = dump;
            options.cancel = Some(Arc::clone(&flag));
        }));
        let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
        let result = compiler.compile(&mut cx, &mut chain(10, 8), &mut module);
        assert_eq!(result, Err(CompileError::Cancelled), "after {stage}");
        assert!(module.is_empty());
        let batch = compiler.compile_batch(&mut [chain(3, 8), chain(4, 8)], 2);
        assert_eq!(batch.errors, [(0, CompileError::Cancelled), (1, CompileError::Cancelled)]);
    }
    let flag = Arc::new(AtomicBool::new(false));
    let compiler = compiler(Options::default().with(|options| options.cancel = Some(flag)));
    compiler.compile(&mut compiler.context(), &mut chain(10, 8), &mut ModuleBuffer::default()).unwrap();
}

#[test]
fn emission_stops_when_asked() {
    let compiler = compiler(Options::default());
    let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
    compiler.compile(&mut cx, &mut chain(10, 8), &mut module).unwrap();
    for (cancelled, expected) in [(false, Ok(())), (true, Err(LowerError::Cancelled))] {
        let guard = Guard::new(Limits::default(), Some(Arc::new(AtomicBool::new(cancelled))));
        let (mut code, name) = (cx.code().clone(), SymbolName::named("f"));
        let result = Emitter::with_guard(guard).emit(
            compiler.isa(),
            &mut code,
            Body::Allocated(cx.allocation()),
            &EmitOptions::default(),
            name,
            &mut module,
        );
        assert_eq!(result, expected);
    }
    assert_eq!(module.len(), 2);
}

/// Checks that input on which a walk would not terminate is an error, even if the verifier is off.
#[test]
fn walks_end_even_unverified() {
    let mut cycle = parse(
        "function %f(i64 vmctx) -> i64 {\n    gv0 = vmctx\n    gv1 = load.i64 notrap aligned gv0\nblock0(v0: i64):\n    v1 = symbol_value.i64 gv1\n    return v1\n}",
    );
    let gv1 = cycle.global_values.keys().next_back().unwrap();
    if let GlobalValueData::Load { base, .. } = &mut cycle.global_values[gv1] {
        *base = gv1;
    }
    let to_entry = ["jump block0(v0)", "brif v0, block1, block0(v0)", "br_table v0, block1, [block1, block0(v0)]"];
    let to_entry = to_entry.map(|branch| {
        parse(&format!("function %f(i32) {{\nblock0(v0: i32):\n    jump block1\nblock1:\n    {branch}\n}}"))
    });
    let entry = "invalid reference to entry block block0";
    let cases = to_entry.map(|func| (func, entry)).into_iter().chain([(cycle, "global value cycle: [gv1]")]);
    for (func, expected) in cases {
        for (algorithm, opt_level) in ALLOCATORS.iter().flat_map(|&(name, _)| LEVELS.map(|level| (name, level))) {
            let settings = Settings::default().with(|settings| {
                settings.enable_verifier = false;
                settings.regalloc_algorithm = algorithm.into();
                settings.opt_level = opt_level;
            });
            let compiler = Compiler::new(&triple!("x86_64-unknown-linux-gnu"), settings, &[]).unwrap();
            let result = compiler.compile(&mut compiler.context(), &mut func.clone(), &mut ModuleBuffer::default());
            let Err(CompileError::Invalid(errors)) = result else { panic!("{result:?}") };
            assert_eq!(errors.to_string(), expected);
        }
    }
}
