//! Programs of WebAssembly with known results.

use wasmtime::{
    Engine, Instance, Module, Result, Store, Trap, WasmBacktrace, WasmParams, WasmResults, bail, ensure, format_err,
};

/// A program by name.
type Program = (&'static str, fn(&Engine) -> Result<()>);

/// All programs.
pub(crate) const ALL: &[Program] = &[
    ("calls", calls),
    ("traps and backtraces", traps),
    ("stack overflow", stack_overflow),
    ("memory", memory),
    ("tables", tables),
    ("vectors", vectors),
    ("floats", floats),
    ("host functions", host_functions),
];

/// An instance of a module without imports.
struct Loaded {
    store: Store<()>,
    instance: Instance,
}

impl Loaded {
    fn new(engine: &Engine, text: &str) -> Result<Loaded> {
        let module = Module::new(engine, text)?;
        let mut store = Store::new(engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        Ok(Loaded { store, instance })
    }

    fn call<P: WasmParams, R: WasmResults>(&mut self, name: &str, params: P) -> Result<R> {
        let function = self.instance.get_typed_func::<P, R>(&mut self.store, name)?;
        function.call(&mut self.store, params)
    }

    /// Calls a function that traps. Returns the trap, and the names of the functions of its backtrace.
    fn trap<P: WasmParams>(&mut self, name: &str, params: P) -> Result<(Trap, Vec<String>)> {
        let Err(error) = self.call::<P, i32>(name, params) else { bail!("{name} did not trap") };
        let frames = error.downcast_ref::<WasmBacktrace>().map(|backtrace| {
            backtrace.frames().iter().map(|frame| frame.func_name().unwrap_or("?").to_string()).collect()
        });
        let trap = error.downcast_ref::<Trap>().copied();
        Ok((trap.ok_or_else(|| format_err!("{error:?}"))?, frames.unwrap_or_default()))
    }
}

fn calls(engine: &Engine) -> Result<()> {
    let text = r#"(module (func $fib (export "fib") (param i32) (result i32)
        (if (result i32) (i32.lt_u (local.get 0) (i32.const 2))
            (then (local.get 0))
            (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1)))
                           (call $fib (i32.sub (local.get 0) (i32.const 2))))))))"#;
    let fib: i32 = Loaded::new(engine, text)?.call("fib", 20)?;
    ensure!(fib == 6765, "{fib}");
    Ok(())
}

fn traps(engine: &Engine) -> Result<()> {
    let text = r#"(module (memory 1)
        (func $divide (param i32 i32) (result i32) (i32.div_s (local.get 0) (local.get 1)))
        (func $outer (export "divide") (param i32 i32) (result i32)
            (i32.add (call $divide (local.get 0) (local.get 1)) (i32.const 0)))
        (func $load (export "load") (param i32) (result i32) (i32.load (local.get 0)))
        (func $convert (export "convert") (param f64) (result i32) (i32.trunc_f64_s (local.get 0)))
        (func $stop (export "stop") (result i32) unreachable))"#;
    let mut program = Loaded::new(engine, text)?;
    let quotient: i32 = program.call("divide", (42, 6))?;
    ensure!(quotient == 7, "{quotient}");
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    let traps = [
        (program.trap("divide", (1, 0))?, Trap::IntegerDivisionByZero, names(&["divide", "outer"])),
        (program.trap("divide", (i32::MIN, -1))?, Trap::IntegerOverflow, names(&["divide", "outer"])),
        (program.trap("load", -4)?, Trap::MemoryOutOfBounds, names(&["load"])),
        (program.trap("convert", f64::NAN)?, Trap::BadConversionToInteger, names(&["convert"])),
        (program.trap("stop", ())?, Trap::UnreachableCodeReached, names(&["stop"])),
    ];
    for ((trap, frames), expected, expected_frames) in traps {
        ensure!((trap, &frames) == (expected, &expected_frames), "{trap:?} {frames:?}, not {expected:?}");
    }
    Ok(())
}

/// Checks that every frame is in the backtrace of two functions that call each other without end.
fn stack_overflow(engine: &Engine) -> Result<()> {
    let text = r#"(module
        (func $f (export "f") (param i32) (result i32) (i32.add (call $g (local.get 0)) (i32.const 1)))
        (func $g (param i32) (result i32) (i32.add (call $f (local.get 0)) (i32.const 2))))"#;
    let (trap, frames) = Loaded::new(engine, text)?.trap("f", 0)?;
    ensure!(trap == Trap::StackOverflow && frames.len() > 2, "{trap:?}, {} frames", frames.len());
    ensure!(frames.windows(2).all(|pair| pair[0] != pair[1]), "{:?}", &frames[..4]);
    Ok(())
}

fn memory(engine: &Engine) -> Result<()> {
    let text = r#"(module (memory (export "memory") 1 4) (data (i32.const 8) "\01\02\03\04\05\06\07\08")
        (func (export "sum") (param i32 i32) (result i64) (local i64)
            (loop $next
                (local.set 2 (i64.add (local.get 2) (i64.load8_u (local.get 0))))
                (local.set 0 (i32.add (local.get 0) (i32.const 1)))
                (br_if $next (local.tee 1 (i32.sub (local.get 1) (i32.const 1)))))
            (local.get 2))
        (func (export "copy") (param i32 i32 i32) (memory.copy (local.get 0) (local.get 1) (local.get 2)))
        (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))"#;
    let mut program = Loaded::new(engine, text)?;
    program.call::<_, ()>("copy", (100, 8, 8))?;
    let (sum, grown): (i64, i32) = (program.call("sum", (100, 8))?, program.call("grow", 2)?);
    let refused: i32 = program.call("grow", 2)?;
    ensure!((sum, grown, refused) == (36, 1, -1), "{sum} {grown} {refused}");
    Ok(())
}

fn tables(engine: &Engine) -> Result<()> {
    let text = r#"(module (type $unary (func (param i32) (result i32)))
        (table 4 funcref) (elem (i32.const 0) $double $square $nothing)
        (func $double (type $unary) (i32.shl (local.get 0) (i32.const 1)))
        (func $square (type $unary) (i32.mul (local.get 0) (local.get 0)))
        (func $nothing)
        (func $pick (export "pick") (param i32 i32) (result i32)
            (call_indirect (type $unary) (local.get 1) (local.get 0))))"#;
    let mut program = Loaded::new(engine, text)?;
    let (double, square): (i32, i32) = (program.call("pick", (0, 9))?, program.call("pick", (1, 9))?);
    ensure!((double, square) == (18, 81), "{double} {square}");
    let expected = [(2, Trap::BadSignature), (3, Trap::IndirectCallToNull), (4, Trap::TableOutOfBounds)];
    for (index, expected) in expected {
        let (trap, frames) = program.trap("pick", (index, 9))?;
        ensure!(trap == expected && frames == ["pick"], "{trap:?} {frames:?}");
    }
    Ok(())
}

fn vectors(engine: &Engine) -> Result<()> {
    let text = r#"(module
        (func (export "dot") (param i64 i64) (result i32) (local v128)
            (local.set 2 (i32x4.dot_i16x8_s (i16x8.extend_low_i8x16_s (i64x2.splat (local.get 0)))
                                            (i16x8.extend_low_i8x16_s (i64x2.splat (local.get 1)))))
            (i32.add (i32.add (i32x4.extract_lane 0 (local.get 2)) (i32x4.extract_lane 1 (local.get 2)))
                     (i32.add (i32x4.extract_lane 2 (local.get 2)) (i32x4.extract_lane 3 (local.get 2)))))
        (func (export "reverse") (param i64) (result i64)
            (i64x2.extract_lane 0 (i8x16.shuffle 7 6 5 4 3 2 1 0 0 0 0 0 0 0 0 0
                (i64x2.splat (local.get 0)) (i64x2.splat (local.get 0)))))
        (func (export "mask") (param i64) (result i32)
            (i8x16.bitmask (i8x16.gt_s (i64x2.splat (local.get 0)) (i8x16.splat (i32.const 3))))))"#;
    let mut program = Loaded::new(engine, text)?;
    let dot: i32 = program.call("dot", (0x0807_0605_0403_0201_i64, 0x01ff_01ff_01ff_01ff_i64))?;
    let reverse: i64 = program.call("reverse", 0x0807_0605_0403_0201_i64)?;
    let mask: i32 = program.call("mask", 0x0807_0605_0403_0201_i64)?;
    ensure!((dot, reverse, mask) == (4, 0x0102_0304_0506_0708, 0xf8f8), "{dot} {reverse:x} {mask:x}");
    Ok(())
}

fn floats(engine: &Engine) -> Result<()> {
    let text = r#"(module (func (export "f") (param f64 f64) (result f64)
        (f64.sqrt (f64.add (f64.mul (local.get 0) (local.get 0))
                           (f64.nearest (f64.max (local.get 1) (f64.const 1.5)))))))"#;
    let mut program = Loaded::new(engine, text)?;
    let root: f64 = program.call("f", (3.0, 16.4))?;
    ensure!(root == 5.0, "{root}");
    let nan: f64 = program.call("f", (3.0, f64::NAN))?;
    ensure!(nan.is_nan(), "{nan}");
    Ok(())
}

fn host_functions(engine: &Engine) -> Result<()> {
    let text = r#"(module (import "host" "add" (func $add (param i32 i64) (result i64)))
        (func (export "f") (param i32) (result i64) (call $add (local.get 0) (i64.const 40))))"#;
    let module = Module::new(engine, text)?;
    let mut linker = wasmtime::Linker::new(engine);
    linker.func_wrap("host", "add", |x: i32, y: i64| i64::from(x) + y)?;
    let mut store = Store::new(engine, ());
    let instance = linker.instantiate(&mut store, &module)?;
    let sum = instance.get_typed_func::<i32, i64>(&mut store, "f")?.call(&mut store, 2)?;
    ensure!(sum == 42, "{sum}");
    Ok(())
}
