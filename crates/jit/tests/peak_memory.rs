//! Compares the bytes that a limit of memory counts with the bytes that the heap gives.
//!
//! The heap counts for all threads of the process, so there is one test in this program.

use kingpost_codegen::{ALLOCATORS, Compiler, OptLevel, Options, Settings};
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;
use kingpost_testgen::worst_cases::CASES;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use target_lexicon::triple;

/// Divisor: the count may differ from the heap by a tenth, because the capacity of some tables is not known.
const TOLERANCE: u64 = 10;

/// The system's heap, with the number of bytes in use, and the greatest number so far.
struct Counting {
    used: AtomicUsize,
    peak: AtomicUsize,
}

#[global_allocator]
static HEAP: Counting = Counting { used: AtomicUsize::new(0), peak: AtomicUsize::new(0) };

impl Counting {
    fn add(&self, bytes: usize) {
        let used = self.used.fetch_add(bytes, Relaxed) + bytes;
        self.peak.fetch_max(used, Relaxed);
    }
}

// SAFETY: the system's heap does what the trait asks for; counting changes no request.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: promised by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        self.used.fetch_sub(layout.size(), Relaxed);
        // SAFETY: promised by the caller.
        unsafe { System.dealloc(address, layout) }
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // Large lists grow in place.
        self.used.fetch_sub(layout.size(), Relaxed);
        self.add(bytes);
        // SAFETY: promised by the caller.
        unsafe { System.realloc(address, layout, bytes) }
    }
}

/// Compiles a function with a limit of `limit` bytes. Returns whether it compiles, the peak that the limit counts, and
/// the peak of the heap.
fn compile(settings: &Settings, limit: u64, text: &str) -> (bool, u64, usize) {
    let options = Options::default().with(|options| options.limits.bytes = limit);
    let triple = triple!("x86_64-unknown-linux-gnu");
    let compiler = Compiler::new(&triple, settings.clone(), &[]).unwrap().with_options(options);
    // The code is not counted.
    let mut module = ModuleBuffer::default();
    compiler.compile(&mut compiler.context(), &mut parse(text), &mut module).ok();
    module.clear();
    let before = HEAP.used.load(Relaxed);
    let (mut cx, mut func) = (compiler.context(), parse(text));
    HEAP.peak.store(HEAP.used.load(Relaxed), Relaxed);
    let result = compiler.compile(&mut cx, &mut func, &mut module);
    (result.is_ok(), cx.stats().peak_bytes, HEAP.peak.load(Relaxed) - before)
}

/// Returns the function of a text, in memory that grew with it.
fn parse(text: &str) -> Function {
    kingpost_reader::parse_functions(text).unwrap().remove(0)
}

#[test]
fn the_limit_counts_what_the_heap_gives() {
    let mut wrong = Vec::new();
    for (name, make) in CASES {
        let text = make(5_000);
        for (allocator, opt_level) in
            ALLOCATORS.iter().flat_map(|&(name, _)| [OptLevel::None, OptLevel::Speed].map(|level| (name, level)))
        {
            let settings = Settings::default().with(|settings| {
                settings.regalloc_algorithm = allocator.into();
                settings.opt_level = opt_level;
            });
            let (is_ok, counted, used) = compile(&settings, u64::MAX - 1, &text);
            assert!(is_ok && counted > 0);
            if counted.abs_diff(used as u64) > used as u64 / TOLERANCE {
                wrong.push(format!("{name} {allocator} {opt_level}: {counted} counted, {used} used"));
            }
            let enough = compile(&settings, used as u64 + used as u64 / TOLERANCE, &text).0;
            let less = compile(&settings, used as u64 - used as u64 / TOLERANCE, &text).0;
            if !enough || less {
                wrong.push(format!("{name} {allocator} {opt_level}: {used} used, {enough} {less}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
