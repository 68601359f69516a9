//! Runs functions in memory.

use cranelift_codegen::data_value::DataValue;
use cranelift_codegen::ir::{AbiParam, ExternalName, Function, InstBuilder, MemFlagsData, UserFuncName};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, ModuleResult, default_libcall_names};

/// Compiles a function that calls nothing, and returns its results for some arguments.
///
/// # Errors
/// An error of the compiler.
pub(crate) fn run(func: &Function, isa: &OwnedTargetIsa, args: &[DataValue]) -> Result<Vec<DataValue>, String> {
    let mut module = JITModule::new(JITBuilder::with_isa(isa.clone(), default_libcall_names()));
    let code = compile(&mut module, func).map_err(|error| error.to_string())?;
    // One field of 16 bytes for each argument or result.
    let mut fields = vec![0u128; args.len().max(func.signature.returns.len()).max(1)];
    for (field, arg) in fields.iter_mut().zip(args) {
        // SAFETY: a value has at most 16 bytes.
        unsafe { arg.write_value_to(field) };
    }
    // SAFETY: `compile` generates functions of this type, which access the fields of the arguments and results. The
    // code is what Cranelift made of a test.
    unsafe { std::mem::transmute::<*const u8, extern "C" fn(*mut u128)>(code)(fields.as_mut_ptr()) };
    let results = func.signature.returns.iter().zip(&fields);
    // SAFETY: a value has at most 16 bytes.
    let results = results.map(|(result, field)| unsafe { DataValue::read_value_from(field, result.value_type) });
    let results = results.collect();
    // SAFETY: nothing refers to the code.
    unsafe { module.free_memory() };
    Ok(results)
}

/// Compiles the function, and one that loads its arguments from fields and stores its results to them.
fn compile(module: &mut JITModule, func: &Function) -> ModuleResult<*const u8> {
    let callee = module.declare_function("callee", Linkage::Local, &func.signature)?;
    let mut context = module.make_context();
    context.func = func.clone();
    module.define_function(callee, &mut context)?;
    module.clear_context(&mut context);

    let pointer = module.target_config().pointer_type();
    context.func.signature.params.push(AbiParam::new(pointer));
    context.func.name = UserFuncName::default();
    let caller = module.declare_function("caller", Linkage::Local, &context.func.signature)?;
    let mut memory = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut memory);
    let block = builder.create_block();
    builder.append_block_params_for_function_params(block);
    builder.switch_to_block(block);
    builder.seal_all_blocks();
    let fields = builder.block_params(block)[0];
    let flags = MemFlagsData::new();
    let params = func.signature.params.iter().zip((0..).step_by(16));
    let args: Vec<_> =
        params.map(|(param, offset)| builder.ins().load(param.value_type, flags, fields, offset)).collect();
    let reference = module.declare_func_in_func(callee, builder.func);
    debug_assert!(matches!(builder.func.dfg.ext_funcs[reference].name, ExternalName::User(_)));
    let call = builder.ins().call(reference, &args);
    for (&result, offset) in builder.inst_results(call).to_vec().iter().zip((0..).step_by(16)) {
        builder.ins().store(flags, result, fields, offset);
    }
    builder.ins().return_(&[]);
    builder.finalize(module.target_config());
    module.define_function(caller, &mut context)?;
    module.finalize_definitions()?;
    Ok(module.get_finalized_function(caller))
}
