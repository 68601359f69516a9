//! Checks that a client gets equal results with Cranelift's modules and with ours, for every allocator.
#![allow(unsafe_code, reason = "compiled functions are called")]

mod formats;
mod programs;

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, TrapCode, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::kingpost::with_cranelift;
use cranelift_codegen::settings::{self, Configurable, Flags};
use cranelift_codegen::{CodegenError, FinalizedRelocTarget};
use cranelift_compat::{ArenaMemoryProvider, SystemMemoryProvider};
use cranelift_module::{DataDescription, Linkage, Module, ModuleError, ModuleReloc, ModuleRelocTarget};
use cranelift_module::{FuncId, default_libcall_names};
use kingpost_codegen::ALLOCATORS;
use programs::{Defined, define, define_traps, function, signature};
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

type Function = extern "C" fn(i64, i64) -> i64;

extern "C" fn host_mix(a: i64, b: i64) -> i64 {
    a.wrapping_mul(31).rotate_left(9) ^ b
}

const INPUTS: [(i64, i64); 7] =
    [(0, 0), (48, 36), (7, -3), (-1, 1), (i64::MIN, i64::MAX), (123_456_789_012, 987_654), (14, 1 << 40)];

/// Returns the description of this machine with position-independent code or without, and with more settings.
fn isa(is_pic: bool, more: &[(&str, &str)]) -> OwnedTargetIsa {
    let mut builder = settings::builder();
    builder.set("is_pic", if is_pic { "true" } else { "false" }).unwrap();
    builder.set("enable_probestack", "true").unwrap();
    builder.set("probestack_strategy", "inline").unwrap();
    // Cranelift requires this for tail calls.
    builder.set("preserve_frame_pointers", "true").unwrap();
    for (name, value) in more {
        builder.set(name, value).unwrap();
    }
    cranelift_native::builder().unwrap().finish(Flags::new(builder)).unwrap()
}

/// Returns the results of all functions on all inputs.
fn results(defined: &Defined, address: impl Fn(FuncId) -> *const u8) -> Vec<(&'static str, Vec<i64>)> {
    let call = |&(name, id): &(&'static str, FuncId)| {
        // SAFETY: all programs have this type.
        let function = unsafe { std::mem::transmute::<*const u8, Function>(address(id)) };
        (name, INPUTS.iter().map(|&(a, b)| function(a, b)).collect())
    };
    defined.iter().map(call).collect()
}

fn builder(more: &[(&str, &str)]) -> cranelift_compat::JITBuilder {
    let mut builder = cranelift_compat::JITBuilder::with_isa(isa(false, more), default_libcall_names());
    builder.symbol("host_mix", host_mix as *const u8);
    builder
}

/// Returns the results with Cranelift's module and compiler.
fn upstream() -> Vec<(&'static str, Vec<i64>)> {
    with_cranelift(|| with_upstreams_module(&[]))
}

/// Returns the results with Cranelift's module.
fn with_upstreams_module(more: &[(&str, &str)]) -> Vec<(&'static str, Vec<i64>)> {
    let mut builder = cranelift_jit::JITBuilder::with_isa(isa(false, more), default_libcall_names());
    builder.symbol("host_mix", host_mix as *const u8);
    let mut module = cranelift_jit::JITModule::new(builder);
    let defined = define(&mut module);
    module.finalize_definitions().unwrap();
    results(&defined, |id| module.get_finalized_function(id))
}

/// Checks that a client which replaces only `cranelift-codegen` has equal results.
#[test]
fn upstreams_module_has_code_of_our_compiler() {
    let expected = upstream();
    for level in ["none", "speed"] {
        assert_eq!(with_upstreams_module(&[("opt_level", level), ("regalloc_checker", "true")]), expected, "{level}");
    }
}

#[test]
fn every_allocator_has_upstreams_results() {
    let expected = upstream();
    for (allocator, _) in ALLOCATORS {
        let mut builder = builder(&[("regalloc_checker", "true")]);
        builder.regalloc(allocator);
        let mut module = cranelift_compat::JITModule::new(builder);
        let defined = define(&mut module);
        module.finalize_definitions().unwrap();
        assert_eq!(results(&defined, |id| module.get_finalized_function(id)), expected, "{allocator}");
        // SAFETY: nothing of the module is used any more.
        unsafe { module.free_memory() };
    }
}

#[test]
fn modules_are_objects() {
    let mut module = cranelift_compat::JITModule::new(builder(&[]));
    let mut dynamic: &mut dyn Module = &mut module;
    let defined = define(&mut dynamic);
    module.finalize_definitions().unwrap();
    assert_eq!(results(&defined, |id| module.get_finalized_function(id)), upstream());
}

#[test]
fn memory_comes_from_any_provider() {
    let providers: [Box<dyn cranelift_compat::JITMemoryProvider + Send>; 2] =
        [Box::new(SystemMemoryProvider::new()), Box::new(ArenaMemoryProvider::new_with_size(1 << 22).unwrap())];
    for provider in providers {
        let mut builder = builder(&[]);
        builder.memory_provider(provider);
        let mut module = cranelift_compat::JITModule::new(builder);
        let defined = define(&mut module);
        module.finalize_definitions().unwrap();
        assert_eq!(results(&defined, |id| module.get_finalized_function(id)), upstream());
        // SAFETY: nothing of the module is used any more.
        unsafe { module.free_memory() };
    }
}

#[test]
fn threads_call_what_another_made() {
    let expected = upstream();
    let module = std::thread::spawn(|| {
        let mut module = cranelift_compat::JITModule::new(builder(&[]));
        let defined = define(&mut module);
        module.finalize_definitions().unwrap();
        let addresses = defined.iter().map(|&(_, id)| (id, module.get_finalized_function(id) as usize));
        (defined.clone(), addresses.collect::<HashMap<_, _>>(), module)
    });
    let (defined, addresses, _module) = module.join().unwrap();
    // Without the counter, because each thread would see the increments of other threads.
    let defined: Defined = defined.into_iter().filter(|(name, _)| *name != "counter").collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for (name, results) in results(&defined, |id| addresses[&id] as *const u8) {
                    assert!(expected.contains(&(name, results)), "{name}");
                }
            });
        }
    });
}

#[test]
fn definitions_are_finalized_again_and_again() {
    let mut module = cranelift_compat::JITModule::new(builder(&[]));
    let signature = signature(&module, &[types::I64, types::I64], &[types::I64]);
    let mut last = None;
    for number in 0..40 {
        let id = module.declare_function(&format!("f{number}"), Linkage::Export, &signature).unwrap();
        function(&mut module, id, |module, builder, params| {
            let mut sum = builder.ins().iadd_imm_s(params[0], number);
            if let Some(last) = last {
                let last = module.declare_func_in_func(last, builder.func);
                let call = builder.ins().call(last, &[sum, params[1]]);
                sum = builder.inst_results(call)[0];
            }
            builder.ins().return_(&[sum]);
        })
        .unwrap();
        module.finalize_definitions().unwrap();
        last = Some(id);
        let defined = vec![("sum", id)];
        let expected = (0..=number).sum::<i64>() + INPUTS[1].0;
        assert_eq!(results(&defined, |id| module.get_finalized_function(id))[0].1[1], expected);
    }
}

#[test]
fn traps_stop_the_process_as_upstreams() {
    let mut ours = cranelift_compat::JITModule::new(builder(&[]));
    let defined = define_traps(&mut ours);
    ours.finalize_definitions().unwrap();
    let mut theirs =
        cranelift_jit::JITModule::new(cranelift_jit::JITBuilder::with_isa(isa(false, &[]), default_libcall_names()));
    assert_eq!(with_cranelift(|| define_traps(&mut theirs)), defined);
    theirs.finalize_definitions().unwrap();
    for (name, id) in defined {
        assert_eq!(signal(ours.get_finalized_function(id)), signal(theirs.get_finalized_function(id)), "{name}");
    }
}

/// Returns the signal that ends a process which calls a function.
fn signal(address: *const u8) -> i32 {
    // SAFETY: the child calls only the function, which has this type, and ends.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            std::mem::transmute::<*const u8, Function>(address)(1, 2);
            libc::_exit(0);
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        assert!(libc::WIFSIGNALED(status));
        libc::WTERMSIG(status)
    }
}

/// A machine, and the tools that link and run its programs here.
struct Machine {
    isa: OwnedTargetIsa,
    cc: &'static str,
    link: &'static [&'static str],
    run: &'static [&'static str],
}

impl Machine {
    fn this() -> Machine {
        Machine { isa: isa(true, &[("regalloc_checker", "true")]), cc: "cc", link: &[], run: &[] }
    }

    fn other() -> Machine {
        let mut builder = settings::builder();
        for name in ["is_pic", "preserve_frame_pointers", "regalloc_checker"] {
            builder.set(name, "true").unwrap();
        }
        let isa = cranelift_codegen::isa::lookup_by_name("aarch64-unknown-linux-gnu").unwrap();
        let isa = isa.finish(Flags::new(builder)).unwrap();
        Machine { isa, cc: "aarch64-linux-gnu-gcc", link: &["-static"], run: &["qemu-aarch64"] }
    }
}

/// Calls every program of an object from a program in C, and returns the printed results.
fn run_object(object: &[u8], defined: &Defined, machine: &Machine, folder: &Path) -> String {
    let mut main = String::from("#include <stdio.h>\n#include <stdint.h>\n");
    main += "int64_t host_mix(int64_t a, int64_t b) {\n";
    main += "  uint64_t x = (uint64_t)a * 31; return (int64_t)((x << 9 | x >> 55) ^ (uint64_t)b); }\n";
    for (name, _) in defined {
        main += &format!("int64_t {name}(int64_t, int64_t);\n");
    }
    main += "int main(void) {\n";
    for (name, _) in defined {
        for (a, b) in INPUTS {
            main += &format!("  printf(\"{name} %lld\\n\", (long long){name}({}ull, {}ull));\n", a as u64, b as u64);
        }
    }
    main += "  return 0;\n}\n";
    std::fs::write(folder.join("main.c"), main).unwrap();
    std::fs::write(folder.join("module.o"), object).unwrap();
    // Some programs have the names of functions that compilers know.
    let done = Command::new(machine.cc)
        .current_dir(folder)
        .args(["-fno-builtin", "main.c", "module.o", "-lm", "-o", "main.exe"])
        .args(machine.link)
        .status();
    assert!(done.unwrap().success());
    let mut words =
        machine.run.iter().map(|word| word.to_string()).chain([folder.join("main.exe").display().to_string()]);
    let output = Command::new(words.next().unwrap()).args(words).env("WINEDEBUG", "-all").output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n")
}

#[test]
fn objects_have_upstreams_results() {
    objects_of(&Machine::this());
}

#[test]
fn objects_of_the_other_machine_have_upstreams_results() {
    objects_of(&Machine::other());
}

/// Checks that objects can become shared objects. Another module may replace an exported symbol, so linkers refuse
/// code that contains the distance to it.
#[test]
fn objects_become_shared_objects() {
    let folder = tempfile::tempdir().unwrap();
    for machine in [Machine::this(), Machine::other()] {
        for (allocator, _) in ALLOCATORS {
            let isa = machine.isa.clone();
            let mut builder = cranelift_compat::ObjectBuilder::new(isa, "module", default_libcall_names()).unwrap();
            builder.regalloc(allocator).unwrap();
            let object = shareable(cranelift_compat::ObjectModule::new(builder)).finish().emit().unwrap();
            link_shared(&object, &machine, folder.path());
        }
        let isa = machine.isa.clone();
        let builder = cranelift_object::ObjectBuilder::new(isa, "module", default_libcall_names()).unwrap();
        let object = shareable(cranelift_object::ObjectModule::new(builder)).finish().emit().unwrap();
        link_shared(&object, &machine, folder.path());
    }
}

/// Defines an exported word, and an exported function that takes addresses of both and calls itself.
fn shareable<M: Module>(mut module: M) -> M {
    let signature = signature(&module, &[types::I64, types::I64], &[types::I64]);
    let word = module.declare_data("word", Linkage::Export, true, false).unwrap();
    let mut data = DataDescription::new();
    data.define(vec![1; 8].into_boxed_slice());
    module.define_data(word, &data).unwrap();
    let id = module.declare_function("exported", Linkage::Export, &signature).unwrap();
    function(&mut module, id, |module, builder, params| {
        let callee = module.declare_func_in_func(id, builder.func);
        let word = module.declare_data_in_func(word, builder.func);
        let address = builder.ins().func_addr(types::I64, callee);
        let word = builder.ins().symbol_value(types::I64, word);
        let call = builder.ins().call(callee, &[params[0], params[1]]);
        let result = builder.inst_results(call)[0];
        let sum = builder.ins().iadd(address, word);
        let sum = builder.ins().iadd(sum, result);
        builder.ins().return_(&[sum]);
    })
    .unwrap();
    module
}

fn link_shared(object: &[u8], machine: &Machine, folder: &Path) {
    std::fs::write(folder.join("module.o"), object).unwrap();
    let mut link = Command::new(machine.cc);
    link.current_dir(folder).args(["-shared", "-Wl,--fatal-warnings", "module.o", "-o", "module.so"]);
    assert!(link.status().unwrap().success());
}

fn objects_of(machine: &Machine) {
    let folder = tempfile::tempdir().unwrap();
    let builder = cranelift_object::ObjectBuilder::new(machine.isa.clone(), "module", default_libcall_names()).unwrap();
    let mut module = cranelift_object::ObjectModule::new(builder);
    let defined = with_cranelift(|| define(&mut module));
    let expected = run_object(&module.finish().emit().unwrap(), &defined, machine, folder.path());
    // Cranelift's module with our compiler.
    let builder = cranelift_object::ObjectBuilder::new(machine.isa.clone(), "module", default_libcall_names()).unwrap();
    let mut module = cranelift_object::ObjectModule::new(builder);
    let defined = define(&mut module);
    assert_eq!(run_object(&module.finish().emit().unwrap(), &defined, machine, folder.path()), expected);
    for per_section in [false, true] {
        for (allocator, _) in ALLOCATORS {
            let isa = machine.isa.clone();
            let mut builder = cranelift_compat::ObjectBuilder::new(isa, "module", default_libcall_names()).unwrap();
            builder.per_function_section(per_section).per_data_object_section(per_section).unwind_info(true);
            builder.regalloc(allocator).unwrap();
            let mut module = cranelift_compat::ObjectModule::new(builder);
            let defined = define(&mut module);
            let product = module.finish();
            let symbol = product.object.symbol(product.function_symbol(defined[0].1));
            assert_eq!(symbol.name, defined[0].0.as_bytes());
            let object = product.emit().unwrap();
            let has_frames = machine.isa.triple().binary_format == target_lexicon::BinaryFormat::Elf;
            assert_eq!(object.windows(9).any(|name| name == b".eh_frame"), has_frames);
            assert_eq!(run_object(&object, &defined, machine, folder.path()), expected, "{allocator}");
        }
    }
}

#[test]
fn bytes_become_functions() {
    let mut module = cranelift_compat::JITModule::new(builder(&[]));
    let signature = signature(&module, &[types::I64, types::I64], &[types::I64]);
    let host = module.declare_function("host_mix", Linkage::Import, &signature).unwrap();
    let id = module.declare_function("bytes", Linkage::Export, &signature).unwrap();
    // mov rax, host_mix; jmp rax
    let bytes = [0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0];
    let kind = cranelift_codegen::binemit::Reloc::Abs8;
    let name = ModuleRelocTarget::user(0, host.as_u32());
    let relocs = [ModuleReloc { offset: 2, kind, name: name.clone(), addend: 0 }];
    module.define_function_bytes(id, 32, &bytes, &relocs).unwrap();
    assert!(matches!(module.define_function_bytes(id, 1, &bytes, &[]), Err(ModuleError::DuplicateDefinition(_))));
    assert!(matches!(module.define_function_bytes(host, 1, &bytes, &[]), Err(ModuleError::InvalidImportDefinition(_))));
    module.finalize_definitions().unwrap();
    let address = module.get_finalized_function(id);
    assert_eq!((address as usize % 32, module.get_address(&name)), (0, host_mix as *const u8));
    assert_eq!(results(&vec![("bytes", id)], |_| address)[0].1[2], host_mix(INPUTS[2].0, INPUTS[2].1));
    let id = module.declare_data("words", Linkage::Export, true, false).unwrap();
    let mut data = DataDescription::new();
    data.define(vec![1, 2, 3].into_boxed_slice());
    module.define_data(id, &data).unwrap();
    assert!(matches!(module.define_data(id, &data), Err(ModuleError::DuplicateDefinition(_))));
    module.finalize_definitions().unwrap();
    let (address, size) = module.get_finalized_data(id);
    // SAFETY: these are the address and the size of a data object.
    assert_eq!(unsafe { std::slice::from_raw_parts(address, size) }, [1, 2, 3]);
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let mut module = cranelift_compat::JITModule::new(builder(&[]));
    let signature = signature(&module, &[types::I64, types::I64], &[types::I64]);
    let id = module.declare_function("f", Linkage::Export, &signature).unwrap();
    let refused = function(&mut module, id, |_, builder, params| {
        let chosen = builder.ins().blendv(params[0], params[1], params[0]);
        builder.ins().return_(&[chosen]);
    });
    let Err(ModuleError::Compilation(CodegenError::Unsupported(what))) = refused else { panic!("{refused:?}") };
    assert!(what.contains("`blendv` on i64"), "{what}");
    // The module and the function are still usable.
    function(&mut module, id, |_, builder, params| {
        builder.ins().return_(&params[..1]);
    })
    .unwrap();
    module.finalize_definitions().unwrap();
    assert_eq!(results(&vec![("f", id)], |id| module.get_finalized_function(id))[0].1[1], INPUTS[1].0);

    let settings = |more| cranelift_compat::JITModule::try_new(builder(more)).map(drop).unwrap_err().to_string();
    let refused = settings(&[("tls_model", "macho")]);
    assert!(refused.contains("tls_model") && refused.contains("macho"), "{refused}");
    let mut unknown = builder(&[]);
    unknown.regalloc("none");
    let refused = cranelift_compat::JITModule::try_new(unknown).map(drop).unwrap_err().to_string();
    assert!(refused.contains("`none`"), "{refused}");

    // Cranelift's function that creates a module has no error, so that the first definition has it.
    let mut unknown = builder(&[]);
    unknown.regalloc("none");
    let mut module = cranelift_compat::JITModule::new(unknown);
    let id = module.declare_function("f", Linkage::Export, &signature).unwrap();
    let refused = function(&mut module, id, |_, builder, params| {
        builder.ins().return_(&params[..1]);
    });
    assert!(refused.unwrap_err().to_string().contains("`none`"));
}

#[test]
fn invalid_functions_are_errors_of_the_verifier() {
    let mut module = cranelift_compat::JITModule::new(builder(&[]));
    let signature = signature(&module, &[types::I64, types::I64], &[types::I64]);
    let id = module.declare_function("f", Linkage::Export, &signature).unwrap();
    let refused = function(&mut module, id, |_, builder, _| {
        builder.ins().return_(&[]);
    });
    assert!(matches!(refused, Err(ModuleError::Compilation(CodegenError::Verifier(_)))), "{refused:?}");
}

#[test]
fn compiled_code_has_its_tables() {
    let mut module = cranelift_compat::JITModule::new(builder(&[]));
    let signature = signature(&module, &[types::I64, types::I64], &[types::I64]);
    let host = module.declare_function("host_mix", Linkage::Import, &signature).unwrap();
    let id = module.declare_function("f", Linkage::Export, &signature).unwrap();
    let mut context = module.make_context();
    context.func.signature = signature;
    context.set_disasm(true);
    let mut scratch = cranelift_frontend::FunctionBuilderContext::new();
    let mut builder = cranelift_frontend::FunctionBuilder::new(&mut context.func, &mut scratch);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let params = builder.block_params(entry).to_vec();
    builder.set_srcloc(cranelift_codegen::ir::SourceLoc::new(1000));
    let callee = module.declare_func_in_func(host, builder.func);
    let call = builder.ins().call(callee, &params);
    let result = builder.inst_results(call)[0];
    builder.set_srcloc(cranelift_codegen::ir::SourceLoc::new(1001));
    builder.ins().store(MemFlagsData::new(), result, params[1], 8);
    let result = builder.ins().iadd(result, params[0]);
    builder.ins().trapz(result, TrapCode::unwrap_user(9));
    builder.ins().return_(&[result]);
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
    let before = context.func.display().to_string();
    module.define_function(id, &mut context).unwrap();
    assert_eq!(context.func.display().to_string(), before);
    let code = context.compiled_code().unwrap();
    let locations: Vec<u32> = code.buffer.get_srclocs_sorted().iter().map(|loc| loc.loc.bits()).collect();
    assert!(locations.contains(&1000) && locations.contains(&1001), "{locations:?}");
    let traps: Vec<TrapCode> = code.buffer.traps().iter().map(|trap| trap.code).collect();
    assert_eq!(traps, [TrapCode::HEAP_OUT_OF_BOUNDS, TrapCode::unwrap_user(9)]);
    assert_eq!(code.buffer.call_sites().count(), 1);
    assert!(matches!(code.buffer.relocs()[0].target, FinalizedRelocTarget::ExternalName(_)));
    assert!(code.create_unwind_info(module.isa()).unwrap().is_some());
    let listing = code.vcode.as_ref().unwrap();
    assert!(listing.contains("call"), "{listing}");
}

extern "C-unwind" fn host_panics(_: i64, b: i64) -> i64 {
    assert_ne!(b, -3, "as asked");
    b
}

#[test]
fn panics_pass_through_frames() {
    for (allocator, _) in ALLOCATORS {
        let mut builder = builder(&[]);
        builder.regalloc(allocator).symbol("host_panics", host_panics as *const u8);
        let mut module = cranelift_compat::JITModule::new(builder);
        let signature = signature(&module, &[types::I64, types::I64], &[types::I64]);
        let host = module.declare_function("host_panics", Linkage::Import, &signature).unwrap();
        let id = module.declare_function("f", Linkage::Export, &signature).unwrap();
        function(&mut module, id, |module, builder, params| {
            let host = module.declare_func_in_func(host, builder.func);
            let call = builder.ins().call(host, params);
            let result = builder.inst_results(call)[0];
            let sum = builder.ins().iadd(result, params[0]);
            builder.ins().return_(&[sum]);
        })
        .unwrap();
        module.finalize_definitions().unwrap();
        // SAFETY: the function has this type.
        let f = unsafe {
            std::mem::transmute::<*const u8, extern "C-unwind" fn(i64, i64) -> i64>(module.get_finalized_function(id))
        };
        assert_eq!(f(40, 2), 42);
        let panic = std::panic::catch_unwind(|| f(40, -3)).unwrap_err();
        assert!(panic.downcast_ref::<String>().is_some_and(|message| message.contains("as asked")), "{allocator}");
        // SAFETY: nothing of the module is used any more.
        unsafe { module.free_memory() };
    }
}

/// Runs a function in which [`debuggers_know_functions`] stops.
#[test]
fn a_function_runs_for_a_debugger() {
    let mut module = cranelift_compat::JITModule::new(builder(&[]));
    let signature = signature(&module, &[types::I64, types::I64], &[types::I64]);
    let id = module.declare_function("known_to_debuggers", Linkage::Export, &signature).unwrap();
    function(&mut module, id, |_, builder, params| {
        builder.ins().return_(&params[..1]);
    })
    .unwrap();
    module.finalize_definitions().unwrap();
    // SAFETY: the function has this type.
    let f = unsafe { std::mem::transmute::<*const u8, Function>(module.get_finalized_function(id)) };
    assert_eq!(f(3, 4), 3);
}

#[test]
fn debuggers_know_functions() {
    let test = std::env::current_exe().unwrap();
    let interface = b"__jit_debug_register_code\0";
    if !std::fs::read(&test).unwrap().windows(interface.len()).any(|bytes| bytes == interface) {
        println!(
            "SKIPPED: the test is stripped, so that debuggers do not find the interface: set CARGO_PROFILE_DEV_STRIP=none"
        );
        return;
    }
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-ex", "set breakpoint pending on", "-ex", "break known_to_debuggers", "-ex", "run"]);
    gdb.args(["-ex", "backtrace 1", "-ex", "kill", "--args"]).arg(&test);
    gdb.args(["--exact", "a_function_runs_for_a_debugger", "--test-threads=1"]).env("KINGPOST_DEBUGGER", "1");
    let Ok(output) = gdb.output() else {
        println!("SKIPPED: there is no gdb");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("in known_to_debuggers ()"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}
