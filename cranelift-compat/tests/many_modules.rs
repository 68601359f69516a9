//! Checks the memory use of many small modules that are created, called and dropped, and the cost of creating one
//! against Cranelift's.
#![allow(unsafe_code, reason = "compiled functions are called")]
#![cfg(target_os = "linux")]

use cranelift_codegen::ir::{AbiParam, InstBuilder, types};
use cranelift_codegen::kingpost::with_cranelift;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{DataDescription, Linkage, Module, default_libcall_names};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Lock for tests of process-wide numbers, which must run one after the other.
static ALONE: Mutex<()> = Mutex::new(());

/// Returns the number of modules to create: `KINGPOST_MODULES`, or a small number.
fn count() -> i64 {
    std::env::var("KINGPOST_MODULES").ok().and_then(|n| n.parse().ok()).unwrap_or(5_000)
}

/// Returns the number of mappings of the process, and its bytes in memory.
fn used() -> (usize, usize) {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kibibytes: usize = line.trim().trim_end_matches(" kB").parse().unwrap();
    (maps.lines().count(), kibibytes << 10)
}

/// Returns the CPU time of this thread in nanoseconds.
fn cpu() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock writes to the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Defines a function that creates a module, calls its only function, and returns the module.
macro_rules! maker {
    ($name:ident, $library:ident) => {
        fn $name(value: i64, has_data: bool) -> $library::JITModule {
            let mut flags = settings::builder();
            flags.set("use_colocated_libcalls", "false").unwrap();
            flags.set("is_pic", "false").unwrap();
            let isa = cranelift_native::builder().unwrap().finish(settings::Flags::new(flags)).unwrap();
            let mut module = $library::JITModule::new($library::JITBuilder::with_isa(isa, default_libcall_names()));
            if has_data {
                for (name, is_writable) in [("writable", true), ("constant", false)] {
                    let id = module.declare_data(name, Linkage::Export, is_writable, false).unwrap();
                    let mut data = DataDescription::new();
                    data.define(Box::new([1; 8]));
                    module.define_data(id, &data).unwrap();
                }
            }
            let mut ctx = module.make_context();
            ctx.func.signature.returns.push(AbiParam::new(types::I64));
            let mut memory = FunctionBuilderContext::new();
            let mut builder = FunctionBuilder::new(&mut ctx.func, &mut memory);
            let block = builder.create_block();
            builder.switch_to_block(block);
            builder.seal_block(block);
            let result = builder.ins().iconst(types::I64, value);
            builder.ins().return_(&[result]);
            builder.finalize(module.target_config());
            let id = module.declare_function("f", Linkage::Export, &ctx.func.signature).unwrap();
            module.define_function(id, &mut ctx).unwrap();
            module.finalize_definitions().unwrap();
            let code = module.get_finalized_function(id);
            // SAFETY: the function has this type.
            let f = unsafe { std::mem::transmute::<*const u8, extern "C" fn() -> i64>(code) };
            assert_eq!(f(), value);
            ADDRESS.store(code.addr(), Ordering::Relaxed);
            module
        }
    };
}

/// Address of the function that was made last.
static ADDRESS: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    /// Returns the description of the frame at an address, or null (libgcc, `unwind-dw2-fde.h`). Writes three words.
    fn _Unwind_Find_FDE(address: *const u8, bases: *mut [usize; 3]) -> *const u8;
}

/// Returns `true` if unwinders know the function that was made last.
fn is_known_to_unwinders() -> bool {
    let address = std::ptr::without_provenance(ADDRESS.load(Ordering::Relaxed));
    // SAFETY: the function reads its tables only, and writes three words.
    unsafe { !_Unwind_Find_FDE(address, &mut [0; 3]).is_null() }
}

/// Checks that unwinders forget a dropped module: they sort all that they know at the first unwinding, which takes hours for
/// a million modules.
#[test]
fn unwinders_forget_dropped_modules() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let module = ours(7, false);
    assert!(is_known_to_unwinders());
    drop(module);
    assert!(!is_known_to_unwinders());
}

maker!(ours, cranelift_compat);
maker!(upstream, cranelift_jit);

#[test]
fn dropped_modules_keep_a_page_of_each_kind() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    (0..100).for_each(|value| drop(ours(value, true)));
    let (mappings, bytes) = used();
    (0..count()).for_each(|value| drop(ours(value, value % 10 == 0)));
    let (more_mappings, more_bytes) = used();
    let allowed = mappings + 40 + count() as usize / 5000;
    assert!(more_mappings <= allowed, "{mappings} mappings became {more_mappings}");
    let each = (more_bytes - bytes) as i64 / count();
    // The code, a tenth of a page for two kinds of data, and the unwinder's data.
    assert!(each < 4096 * 12 / 10 + 512, "{each} bytes a module");
}

#[test]
fn freed_modules_keep_nothing() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: nothing of the modules is used any more.
    let make = |value| unsafe { ours(value, true).free_memory() };
    (0..100).for_each(make);
    let (mappings, bytes) = used();
    (0..count()).for_each(make);
    let (more_mappings, more_bytes) = used();
    assert!(more_mappings <= mappings + 8, "{mappings} mappings became {more_mappings}");
    assert!(more_bytes <= bytes + (4 << 20), "{bytes} bytes became {more_bytes}");
}

/// Checks that dropping a module frees definitions that are not finalized.
#[test]
fn unfinished_modules_keep_nothing() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let make = |value: i64| {
        let mut module = ours(value, false);
        let signature = module.make_signature();
        for n in 0..10 {
            let id = module.declare_function(&format!("bytes{n}"), Linkage::Export, &signature).unwrap();
            module.define_function_bytes(id, 1, &[0xc3; 5000], &[]).unwrap();
        }
    };
    (0..100).for_each(make);
    let (mappings, bytes) = used();
    (0..1000).for_each(make);
    let (more_mappings, more_bytes) = used();
    assert!(more_mappings <= mappings + 40, "{mappings} mappings became {more_mappings}");
    assert!(more_bytes <= bytes + (8 << 20), "{bytes} bytes became {more_bytes}");
}

/// Checks the CPU time of creating a module against Cranelift's. Both create modules in turns, and the fastest turn
/// of each counts. A difference of a quarter is within the noise of the machine. Compiling an empty function with
/// Cranelift for each module would be far above it.
#[test]
fn a_module_costs_what_upstreams_does() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let time = |make: &dyn Fn(i64)| {
        let start = cpu();
        (0..100).for_each(make);
        (cpu() - start) / 100
    };
    let (mut least_ours, mut least_upstream) = (i64::MAX, i64::MAX);
    for _ in 0..20 {
        least_upstream = least_upstream.min(time(&|value| drop(with_cranelift(|| upstream(value, false)))));
        least_ours = least_ours.min(time(&|value| drop(ours(value, false))));
    }
    println!("nanoseconds of CPU for a module: ours {least_ours}, Cranelift's {least_upstream}");
    assert!(
        4 * least_ours <= 5 * least_upstream,
        "{least_ours} ns of CPU for a module, Cranelift's {least_upstream} ns"
    );
}
