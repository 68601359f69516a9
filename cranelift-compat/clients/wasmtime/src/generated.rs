//! Modules that the package `wasm-smith` generates, compiled by our compiler and by Cranelift's.
//!
//! Each module is a function of its number. Its exports are called with values that depend on the number. Results, traps by kind,
//! fuel, globals and memories have to be equal. Modules are compared in processes of their own, because
//! compiled code may crash.

use arbitrary::Unstructured;
use cranelift_codegen::kingpost::{compiled_functions, with_cranelift};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::thread;
use wasm_smith::Config as Shape;
use wasm_suite::{in_parallel, on_wasmtime, this_program};
use wasmtime::error::Context;
use wasmtime::{
    Engine, Error, Extern, ExternType, Func, Linker, Module, OptLevel, Ref, Result, Store, StoreLimits,
    StoreLimitsBuilder, ThrownException, Trap, Val, ValType, bail, ensure, format_err,
};

/// Environment variable with the number of modules.
const CASES: &str = "KINGPOST_CASES";

/// Number of modules without [`CASES`].
const FEW: u64 = 200;

/// Modules per process.
const PER_PROCESS: u64 = 50;

/// Fuel of an instantiation and of each call.
const FUEL: u64 = 20_000;

/// Calls per module.
const CALLS: usize = 12;

/// Seeds that are tried for a module.
const MOST_ATTEMPTS: u64 = 100;

/// Bytes of stack for compiled code. Frames of the two compilers have different sizes, so that no call may use all of it.
const STACK: usize = 256 << 20;

/// Compares modules, and prints how many.
///
/// # Errors
/// If modules differ, or the environment has no number.
pub(crate) fn run_all() -> Result<()> {
    let cases = match std::env::var(CASES) {
        Ok(text) => text.parse::<u64>().with_context(|| format!("{CASES}={text}"))?,
        Err(_) => FEW,
    };
    let ranges: Vec<_> =
        (0..cases).step_by(PER_PROCESS as usize).map(|first| first..cases.min(first + PER_PROCESS)).collect();
    let (mut sum, mut faults) = (Counts::default(), 0);
    for counts in in_parallel(&ranges, run_in_process) {
        match counts {
            Ok(counts) => sum.add(&counts),
            Err(error) => {
                println!("{error:?}");
                faults += 1;
            }
        }
    }
    println!(
        "generated: {} modules equal, {} calls, {} traps, {} too deep, {} unlinkable",
        sum.modules, sum.calls, sum.traps, sum.too_deep, sum.unlinkable
    );
    ensure!(faults == 0, "{faults} processes fail");
    ensure!(cases == 0 || sum.calls > sum.modules, "most modules have no calls");
    Ok(())
}

/// Numbers of modules and calls.
#[derive(Default)]
struct Counts {
    modules: u64,
    calls: u64,
    traps: u64,
    /// Modules whose calls ended early because they used all of the stack.
    too_deep: u64,
    /// Modules whose imports cannot be defined.
    unlinkable: u64,
}

impl Counts {
    fn fields(&mut self) -> [&mut u64; 5] {
        [&mut self.modules, &mut self.calls, &mut self.traps, &mut self.too_deep, &mut self.unlinkable]
    }

    fn add(&mut self, other: &Counts) {
        let Counts { modules, calls, traps, too_deep, unlinkable } = *other;
        for (sum, part) in self.fields().into_iter().zip([modules, calls, traps, too_deep, unlinkable]) {
            *sum += part;
        }
    }
}

fn run_in_process(range: &Range<u64>) -> Result<Counts> {
    let (first, end) = (range.start.to_string(), range.end.to_string());
    let output = this_program()?.args(["generated", &first, &end]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    if !output.status.success() {
        bail!("{last}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let mut counts = Counts::default();
    for (count, word) in counts.fields().into_iter().zip(last.split(' ')) {
        *count = word.parse::<u64>().with_context(|| format!("counts: {last}"))?;
    }
    Ok(counts)
}

/// Compares the modules with these numbers in this process. Prints each number, then the counts.
///
/// # Errors
/// If a module differs.
pub(crate) fn run_range(first: &str, end: &str) -> Result<()> {
    let range: Range<u64> = first.parse()?..end.parse()?;
    // The main thread has too little stack.
    let compare_all = move || {
        let mut counts = Counts::default();
        for number in range {
            println!("module {number}");
            compare(number, &mut counts).with_context(|| format!("module {number}"))?;
        }
        let words = counts.fields().map(|count| count.to_string());
        println!("{}", words.join(" "));
        Ok(())
    };
    let thread = thread::Builder::new().stack_size(2 * STACK).spawn(compare_all)?;
    thread.join().map_err(|_| format_err!("panic"))?
}

/// Writes the module with this number to a file.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write(number: &str, file: &str) -> Result<()> {
    Ok(std::fs::write(file, generate(number.parse()?)?)?)
}

/// A source of pseudo-random numbers: SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number that is often at an edge of its type.
    fn edge(&mut self) -> u64 {
        const EDGES: [u64; 8] = [0, 1, u64::MAX, 0x7fff_ffff, 0x8000_0000, 1 << 63, 0x7ff8_0000_0000_0000, 0x3f80_0000];
        match self.next() % 4 {
            0 | 1 => EDGES[(self.next() % 8) as usize],
            2 => self.next() % 256,
            _ => self.next(),
        }
    }
}

/// Returns the module with this number in the binary format.
fn generate(number: u64) -> Result<Vec<u8>> {
    // Some bytes are no module that has the minimum of each kind.
    let attempts = (0..MOST_ATTEMPTS).map(|attempt| {
        let mut random = Random(number ^ attempt << 32);
        let size = 512 << (random.next() % 6);
        let bytes: Vec<u8> = (0..size).flat_map(|_| random.next().to_le_bytes()).collect();
        wasm_smith::Module::new(shape(number), &mut Unstructured::new(&bytes))
    });
    let module = attempts.filter_map(|module| module.ok()).next().context("no attempt is a module")?;
    Ok(module.to_bytes())
}

/// Returns limits and features of the module with this number.
fn shape(number: u64) -> Shape {
    let has = |bit: u32| number >> bit & 1 == 1;
    Shape {
        min_types: 4,
        max_types: 20,
        min_funcs: 4,
        max_funcs: 20,
        max_instructions: 400,
        max_imports: 4,
        min_globals: 2,
        min_memories: 1,
        max_memories: 2,
        max_tables: 3,
        max_memory32_bytes: 1 << 20,
        max_memory64_bytes: 1 << 20,
        max_table_elements: 1_000,
        export_everything: true,
        // After a start function that traps, nothing can be called.
        allow_start_export: number.is_multiple_of(8),
        disallow_traps: has(2),
        gc_enabled: has(3),
        exceptions_enabled: has(4),
        memory64_enabled: has(5),
        custom_page_sizes_enabled: has(6),
        wide_arithmetic_enabled: true,
        // An atomic wait has no end.
        threads_enabled: false,
        ..Shape::default()
    }
}

fn compare(number: u64, counts: &mut Counts) -> Result<()> {
    let bytes = generate(number)?;
    let mut config = on_wasmtime::config();
    config.cranelift_opt_level(if number.is_multiple_of(2) { OptLevel::Speed } else { OptLevel::None });
    config.consume_fuel(true).cranelift_nan_canonicalization(true).relaxed_simd_deterministic(true);
    config.max_wasm_stack(STACK).async_stack_size(2 * STACK);
    on_wasmtime::with_proposals(&mut config);
    let engine = Engine::new(&config)?;
    let ours = Module::new(&engine, &bytes)?;
    let before = compiled_functions();
    let theirs = with_cranelift(|| Module::new(&engine, &bytes))?;
    ensure!(compiled_functions() == before, "Cranelift's compiler was not used");
    let (ours, theirs) = (observe(&engine, &ours, number)?, observe(&engine, &theirs, number)?);
    let common = match (ours.is_too_deep, theirs.is_too_deep) {
        (false, false) => ours.lines.len().max(theirs.lines.len()),
        // The last line is the overflow of one of them.
        _ => ours.lines.len().min(theirs.lines.len()) - 1,
    };
    let (a, b) = (ours.lines.iter().take(common), theirs.lines.iter().take(common));
    if let Some((a, b)) = a.zip(b).find(|(a, b)| a != b) {
        bail!("with kingpost: {a}\nwith cranelift: {b}");
    }
    let is_too_deep = ours.is_too_deep || theirs.is_too_deep;
    ensure!(is_too_deep || ours.lines.len() == theirs.lines.len(), "numbers of calls differ");
    counts.modules += 1;
    counts.calls += ours.calls;
    counts.traps += ours.traps;
    counts.too_deep += u64::from(is_too_deep);
    counts.unlinkable += u64::from(ours.is_unlinkable);
    Ok(())
}

/// Everything that can be observed of a module.
#[derive(Default)]
struct Observed {
    lines: Vec<String>,
    calls: u64,
    traps: u64,
    is_too_deep: bool,
    is_unlinkable: bool,
}

impl Observed {
    /// Adds the result of a call, and the fuel that it left.
    fn add(&mut self, title: &str, result: Result<String>, store: &mut Store<StoreLimits>) -> Result<()> {
        let text = match result {
            Ok(text) => text,
            Err(error) => {
                self.traps += 1;
                self.is_too_deep = error.downcast_ref::<Trap>() == Some(&Trap::StackOverflow);
                failure(store, &error)
            }
        };
        let fuel = store.get_fuel()?;
        self.calls += 1;
        self.lines.push(format!("{title} = {text}, fuel {fuel}"));
        Ok(())
    }
}

/// Returns the kind of a failure of compiled code.
fn failure(store: &mut Store<StoreLimits>, error: &Error) -> String {
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return format!("{trap:?}");
    }
    if error.is::<ThrownException>() {
        // The exception has no text.
        store.take_pending_exception();
        return "exception".into();
    }
    error.root_cause().to_string()
}

fn observe(engine: &Engine, module: &Module, number: u64) -> Result<Observed> {
    let mut observed = Observed::default();
    let limits = StoreLimitsBuilder::new().memory_size(4 << 20).table_elements(10_000).build();
    let mut store = Store::new(engine, limits);
    store.limiter(|limits| limits);
    store.set_fuel(FUEL)?;
    let mut linker = Linker::new(engine);
    if linker.define_unknown_imports_as_default_values(&mut store, module).is_err() {
        observed.is_unlinkable = true;
        return Ok(observed);
    }
    let instance = match linker.instantiate(&mut store, module) {
        Ok(instance) => instance,
        Err(error) => {
            observed.add("instantiation", Err(error), &mut store)?;
            return Ok(observed);
        }
    };
    observed.add("instantiation", Ok("done".into()), &mut store)?;
    let mut random = Random(!number);
    let names: Vec<String> = module.exports().map(|export| export.name().to_string()).collect();
    let functions = module.exports().filter(|export| matches!(export.ty(), ExternType::Func(_)));
    for export in functions.take(CALLS) {
        let function = instance.get_func(&mut store, export.name()).expect("an export");
        let Some(arguments) = arguments(&function, &store, &mut random) else { continue };
        store.set_fuel(FUEL)?;
        let mut results = vec![Val::I32(0); function.ty(&store).results().len()];
        let result = function.call(&mut store, &arguments, &mut results);
        let result = result.map(|()| text(&results, &store));
        observed.add(export.name(), result, &mut store)?;
        if observed.is_too_deep {
            return Ok(observed);
        }
    }
    for name in names {
        let state = match instance.get_export(&mut store, &name).expect("an export") {
            Extern::Global(global) => {
                let value = global.get(&mut store);
                text(&[value], &store)
            }
            Extern::Memory(memory) => {
                let mut hasher = DefaultHasher::new();
                memory.data(&store).hash(&mut hasher);
                format!("{} bytes, {:x}", memory.data_size(&store), hasher.finish())
            }
            Extern::Table(table) => table.size(&store).to_string(),
            _ => continue,
        };
        observed.lines.push(format!("{name}: {state}"));
    }
    Ok(observed)
}

/// Returns arguments for a function. Returns `None` if a parameter has no null and is no number.
fn arguments(function: &Func, store: &Store<StoreLimits>, random: &mut Random) -> Option<Vec<Val>> {
    let value = |ty: ValType| {
        let bits = random.edge();
        Some(match ty {
            ValType::I32 => Val::I32(bits as i32),
            ValType::I64 => Val::I64(bits as i64),
            ValType::F32 => Val::F32(bits as u32),
            ValType::F64 => Val::F64(bits),
            ValType::V128 => Val::V128((u128::from(bits) << 64 | u128::from(random.next())).into()),
            ValType::Ref(ty) if ty.is_nullable() => Ref::null(ty.heap_type()).into(),
            ValType::Ref(_) => return None,
        })
    };
    function.ty(store).params().map(value).collect()
}

/// Returns values as text. References that are not null are equal.
fn text(values: &[Val], store: &Store<StoreLimits>) -> String {
    let mut text = String::new();
    for value in values {
        let is_null = (*value).ref_().map(|reference| reference.is_null());
        // Writing to a string does not fail.
        let _ = match is_null {
            Some(true) => write!(text, " null"),
            Some(false) => match value {
                Val::AnyRef(Some(any)) if any.is_i31(store).unwrap_or(false) => {
                    write!(text, " {:?}", any.as_i31(store).ok().flatten())
                }
                _ => write!(text, " reference"),
            },
            None => match *value {
                Val::I32(bits) => write!(text, " {bits:#x}"),
                Val::I64(bits) => write!(text, " {bits:#x}"),
                Val::F32(bits) => write!(text, " {bits:#x}"),
                Val::F64(bits) => write!(text, " {bits:#x}"),
                Val::V128(bits) => write!(text, " {:#x}", bits.as_u128()),
                _ => unreachable!("it is a reference"),
            },
        };
    }
    text
}
