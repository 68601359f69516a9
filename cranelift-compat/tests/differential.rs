//! Checks that generated functions have equal results and equal traps with Cranelift's compiler and ours, for every
//! allocator.
//!
//! `KINGPOST_COMPAT_SEEDS=FROM..TO` selects other programs than the first few.
#![allow(unsafe_code, reason = "compiled functions are called")]

use cranelift_codegen::ir::{self, AbiParam, InstBuilder, MemFlagsData, UserFuncName, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::kingpost::with_cranelift;
use cranelift_codegen::settings::{self, Configurable, Flags};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{FuncId, Linkage, Module, ModuleResult, default_libcall_names};
use kingpost_codegen::ALLOCATORS;
use kingpost_ir::extfunc::{ExternalName, FuncName};
use kingpost_ir::{Inst, InstData, Opcode};
use kingpost_testgen::ir::generate_with_usual_types;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Maximum number of words of results.
const WORDS: usize = 64;

/// Memory that is shared with children: the number of finished calls, and the results of the last call.
struct Shared(*mut u64);

impl Shared {
    fn new() -> Shared {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the system's choice.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), WORDS * 8, protection, flags, -1, 0) };
        assert_ne!(address, libc::MAP_FAILED);
        Shared(address.cast())
    }

    fn words(&mut self) -> &mut [u64] {
        // SAFETY: the mapping has this many words, and children have ended when this is called.
        unsafe { std::slice::from_raw_parts_mut(self.0, WORDS) }
    }

    /// Calls the entry in a separate process. Returns the results, or the signal that ended it.
    fn call(&mut self, entry: *const u8, args: &[u64]) -> Result<Vec<u64>, i32> {
        self.words().fill(0);
        // SAFETY: the child calls the entry, which has this type, and ends.
        unsafe {
            let child = libc::fork();
            assert!(child >= 0);
            if child == 0 {
                let entry = std::mem::transmute::<*const u8, extern "C" fn(*const u64, *mut u64)>(entry);
                entry(args.as_ptr(), self.0);
                libc::_exit(0);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            if libc::WIFSIGNALED(status) { Err(libc::WTERMSIG(status)) } else { Ok(self.words().to_vec()) }
        }
    }
}

/// Replaces operations that Cranelift does not support on x86-64: conversions of floats to small integers, and halves
/// of integers other than i128.
fn simplify(func: &mut kingpost_ir::Function) {
    let blocks: Vec<_> = func.layout.blocks().collect();
    let insts: Vec<Inst> = blocks.into_iter().flat_map(|block| func.layout.block_insts(block)).collect();
    for inst in insts {
        let Some(result) = func.dfg.first_result(inst) else { continue };
        let ty = func.dfg.value_type(result);
        match func.dfg.opcode(inst) {
            Opcode::FcvtToSint | Opcode::FcvtToUint | Opcode::FcvtToSintSat | Opcode::FcvtToUintSat
                if ty.bits() < 32 =>
            {
                func.dfg.replace_inst(inst, InstData::iconst(ty, 77));
            }
            Opcode::Iconcat if ty.bits() < 128 => {
                let low = func.dfg.inst_args(inst)[0];
                func.dfg.replace_inst(inst, InstData::unary(Opcode::Uextend, ty, low));
            }
            Opcode::Isplit if ty.bits() < 64 => {
                let (whole, high) = (func.dfg.inst_args(inst)[0], func.dfg.inst_results(inst)[1]);
                func.dfg.clear_results(inst);
                func.dfg.replace_inst(inst, InstData::unary(Opcode::Ireduce, ty, whole));
                func.dfg.append_result_as(inst, result, ty);
                let constant = func.dfg.make_inst(InstData::iconst(ty, 99));
                func.dfg.append_result_as(constant, high, ty);
                func.layout.insert_inst_after(constant, inst);
            }
            _ => {}
        }
    }
}

/// Returns the functions of a program in Cranelift's form. Function `i` is named `u0:i`.
fn functions(program: &kingpost_testgen::ir::Program) -> Vec<ir::Function> {
    let index = |name: &str| name[1..].parse::<u32>().expect("names are a letter and a number");
    let mut text = String::new();
    for (number, func) in program.functions.iter().enumerate() {
        let mut func = func.clone();
        simplify(&mut func);
        func.name = FuncName::User(0, number as u32);
        func.user_names.values_mut().for_each(|name| name.0 = 0);
        for callee in func.dfg.ext_funcs.keys().collect::<Vec<_>>() {
            if let ExternalName::Named(name) = &func.dfg.ext_funcs[callee].name {
                let name = func.user_names.push((0, index(name)));
                func.dfg.ext_funcs[callee].name = ExternalName::User(name);
            }
        }
        text += &func.to_string();
    }
    cranelift_reader::parse_functions(&text).expect("Cranelift reads what we print")
}

/// Defines a program and its entry, which reads arguments from memory and writes results to memory.
fn define(module: &mut impl Module, functions: &[ir::Function]) -> ModuleResult<FuncId> {
    let mut ids = Vec::new();
    for (index, func) in functions.iter().enumerate() {
        ids.push(module.declare_function(&format!("f{index}"), Linkage::Export, &func.signature)?);
    }
    for (&id, func) in ids.iter().zip(functions) {
        let mut context = module.make_context();
        context.func = func.clone();
        module.define_function(id, &mut context)?;
    }
    let mut context = module.make_context();
    context.func.signature.params = vec![AbiParam::new(types::I64), AbiParam::new(types::I64)];
    context.func.name = UserFuncName::user(0, functions.len() as u32);
    let entry = module.declare_function("entry", Linkage::Export, &context.func.signature)?;
    let mut scratch = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut scratch);
    let block = builder.create_block();
    builder.append_block_params_for_function_params(block);
    builder.switch_to_block(block);
    let (from, to) = (builder.block_params(block)[0], builder.block_params(block)[1]);
    let callee = module.declare_func_in_func(ids[0], builder.func);
    let loads = functions[0].signature.params.iter().enumerate();
    let args: Vec<ir::Value> = loads
        .map(|(index, param)| builder.ins().load(param.value_type, MemFlagsData::trusted(), from, 8 * index as i32))
        .collect();
    let call = builder.ins().call(callee, &args);
    for (index, result) in builder.inst_results(call).to_vec().into_iter().enumerate() {
        builder.ins().store(MemFlagsData::trusted(), result, to, 8 * index as i32);
    }
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
    module.define_function(entry, &mut context)?;
    Ok(entry)
}

fn isa(more: &[(&str, &str)]) -> OwnedTargetIsa {
    let mut builder = settings::builder();
    for (name, value) in
        [("enable_multi_ret_implicit_sret", "true"), ("preserve_frame_pointers", "true")].iter().chain(more)
    {
        builder.set(name, value).unwrap();
    }
    cranelift_native::builder().unwrap().finish(Flags::new(builder)).unwrap()
}

fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("KINGPOST_COMPAT_SEEDS") else { return 0..150 };
    let (from, to) = text.split_once("..").expect("FROM..TO");
    from.parse().expect("a number")..to.parse().expect("a number")
}

#[test]
fn generated_functions_have_upstreams_results() {
    let (upstream, ours) = (isa(&[]), [isa(&[]), isa(&[("opt_level", "speed")])]);
    let (mut shared, mut programs, mut defined, mut refused) = (Shared::new(), 0, 0, 0);
    for seed in seeds() {
        let program = generate_with_usual_types(seed);
        let functions = functions(&program);
        let builder = cranelift_jit::JITBuilder::with_isa(upstream.clone(), default_libcall_names());
        let mut module = cranelift_jit::JITModule::new(builder);
        // Cranelift panics on some unsupported input.
        let defined_there = catch_unwind(AssertUnwindSafe(|| with_cranelift(|| define(&mut module, &functions))));
        let Ok(Ok(entry)) = defined_there else {
            refused += 1;
            continue;
        };
        module.finalize_definitions().unwrap();
        let entry = module.get_finalized_function(entry);
        let expected: Vec<_> = program.inputs.iter().map(|args| shared.call(entry, args)).collect();
        for (allocator, _) in ALLOCATORS {
            let isa = ours[(seed % 2) as usize].clone();
            let mut builder = cranelift_compat::JITBuilder::with_isa(isa, default_libcall_names());
            builder.regalloc(allocator);
            let mut module = cranelift_compat::JITModule::new(builder);
            let entry =
                define(&mut module, &functions).unwrap_or_else(|error| panic!("seed {seed}, {allocator}: {error}"));
            module.finalize_definitions().unwrap();
            let entry = module.get_finalized_function(entry);
            for (args, expected) in program.inputs.iter().zip(&expected) {
                assert_eq!(&shared.call(entry, args), expected, "seed {seed}, {allocator}, {args:x?}");
            }
            // SAFETY: nothing of the module is used any more.
            unsafe { module.free_memory() };
        }
        // SAFETY: nothing of the module is used any more.
        unsafe { module.free_memory() };
        programs += 1;
        defined += functions.len();
    }
    println!("{programs} programs of {defined} functions; Cranelift refuses {refused}");
    assert!(programs > 10 * refused, "{programs} programs, {refused} refused");
}
