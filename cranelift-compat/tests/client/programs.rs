//! A client that is written for any kind of module. Every program declares and defines what it needs.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{
    AbiParam, BlockArg, Function, InstBuilder, JumpTableData, MemFlagsData, Signature, StackSlotData, StackSlotKind,
    TrapCode, Type, UserFuncName, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{DataDescription, DataId, FuncId, Linkage, Module};

/// The functions of [`define`], all of type `extern "C" fn(i64, i64) -> i64`.
pub(crate) type Defined = Vec<(&'static str, FuncId)>;

pub(crate) fn signature(module: &impl Module, params: &[Type], returns: &[Type]) -> Signature {
    let mut signature = module.make_signature();
    signature.params.extend(params.iter().map(|&ty| AbiParam::new(ty)));
    signature.returns.extend(returns.iter().map(|&ty| AbiParam::new(ty)));
    signature
}

/// Defines `id` with the declared signature and a body that receives the parameters.
pub(crate) fn function<M: Module>(
    module: &mut M,
    id: FuncId,
    body: impl FnOnce(&mut M, &mut FunctionBuilder<'_>, &[Value]),
) -> cranelift_module::ModuleResult<()> {
    let signature = module.declarations().get_function_decl(id).signature.clone();
    let mut context = module.make_context();
    context.func = Function::with_name_signature(UserFuncName::user(0, id.as_u32()), signature);
    let mut scratch = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut scratch);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let params = builder.block_params(entry).to_vec();
    body(module, &mut builder, &params);
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
    module.define_function(id, &mut context)
}

/// A body that receives the parameters.
type Body<M> = fn(&mut M, &mut FunctionBuilder<'_>, &[Value]);

struct Client<'m, M: Module> {
    module: &'m mut M,
    defined: Defined,
}

impl<M: Module> Client<'_, M> {
    fn program(&mut self, name: &'static str, body: Body<M>) -> FuncId {
        let signature = signature(self.module, &[types::I64, types::I64], &[types::I64]);
        let id = self.module.declare_function(name, Linkage::Export, &signature).unwrap();
        function(self.module, id, body).unwrap();
        self.defined.push((name, id));
        id
    }
}

/// Returns the reference to a declared function in the function that is built, by name.
fn declared<M: Module>(
    module: &mut M,
    builder: &mut FunctionBuilder<'_>,
    name: &str,
) -> cranelift_codegen::ir::FuncRef {
    let signature = signature(module, &[types::I64, types::I64], &[types::I64]);
    let id = module.declare_function(name, Linkage::Import, &signature).unwrap();
    module.declare_func_in_func(id, builder.func)
}

fn data_address<M: Module>(module: &mut M, builder: &mut FunctionBuilder<'_>, id: DataId) -> Value {
    let global = module.declare_data_in_func(id, builder.func);
    builder.ins().symbol_value(types::I64, global)
}

/// Defines all programs. `host_mix` is imported.
pub(crate) fn define<M: Module>(module: &mut M) -> Defined {
    let mut client = Client { module, defined: Vec::new() };
    client.program("gcd", gcd);
    client.program("fib", fib);
    client.program("even", |m, b, p| parity(m, b, p, "odd", 1));
    client.program("odd", |m, b, p| parity(m, b, p, "even", 0));
    client.program("callback", |module, builder, params| {
        let host = declared(module, builder, "host_mix");
        let call = builder.ins().call(host, params);
        let result = builder.inst_results(call)[0];
        let call = builder.ins().call(host, &[result, params[0]]);
        let result = builder.inst_results(call)[0];
        builder.ins().return_(&[result]);
    });
    client.program("table", table);
    client.program("counter", counter);
    client.program("text", text);
    client.program("jump_table", switch);
    client.program("floats", floats);
    client.program("rounding", rounding);
    client.program("wide", wide);
    client.program("many", many);
    client.program("copy", copy);
    client.program("tail_calls", tail_calls);
    client.program("address", |module, builder, params| {
        let gcd = declared(module, builder, "gcd");
        let address = builder.ins().func_addr(types::I64, gcd);
        let signature = builder.import_signature(signature(module, &[types::I64, types::I64], &[types::I64]));
        let call = builder.ins().call_indirect(signature, address, params);
        let result = builder.inst_results(call)[0];
        builder.ins().return_(&[result]);
    });
    client.defined
}

/// Defines programs that trap for every input.
pub(crate) fn define_traps<M: Module>(module: &mut M) -> Defined {
    let mut client = Client { module, defined: Vec::new() };
    client.program("trap", |_, builder, _| {
        builder.ins().trap(TrapCode::unwrap_user(7));
    });
    client.program("divide", |_, builder, params| {
        let zero = builder.ins().iconst(types::I64, 0);
        let result = builder.ins().udiv(params[0], zero);
        builder.ins().return_(&[result]);
    });
    client.program("trapnz", |_, builder, params| {
        let one = builder.ins().iconst(types::I64, 1);
        let odd = builder.ins().bor(params[0], one);
        builder.ins().trapnz(odd, TrapCode::HEAP_OUT_OF_BOUNDS);
        builder.ins().return_(&[odd]);
    });
    client.defined
}

fn gcd<M: Module>(_: &mut M, builder: &mut FunctionBuilder<'_>, params: &[Value]) {
    let (a, b) = (builder.declare_var(types::I64), builder.declare_var(types::I64));
    builder.def_var(a, params[0]);
    builder.def_var(b, params[1]);
    let (head, body, exit) = (builder.create_block(), builder.create_block(), builder.create_block());
    builder.ins().jump(head, &[]);
    builder.switch_to_block(head);
    let divisor = builder.use_var(b);
    builder.ins().brif(divisor, body, &[], exit, &[]);
    builder.switch_to_block(body);
    let (x, y) = (builder.use_var(a), builder.use_var(b));
    let rest = builder.ins().urem(x, y);
    builder.def_var(a, y);
    builder.def_var(b, rest);
    builder.ins().jump(head, &[]);
    builder.switch_to_block(exit);
    let result = builder.use_var(a);
    builder.ins().return_(&[result]);
}

fn fib<M: Module>(module: &mut M, builder: &mut FunctionBuilder<'_>, params: &[Value]) {
    let this = declared(module, builder, "fib");
    let n = builder.ins().band_imm_u(params[0], 15);
    let small = builder.ins().icmp_imm_s(IntCC::SignedLessThan, n, 2);
    let (base, more) = (builder.create_block(), builder.create_block());
    builder.ins().brif(small, base, &[], more, &[]);
    builder.switch_to_block(base);
    builder.ins().return_(&[n]);
    builder.switch_to_block(more);
    let (m1, m2) = (builder.ins().iadd_imm_s(n, -1), builder.ins().iadd_imm_s(n, -2));
    let first = builder.ins().call(this, &[m1, params[1]]);
    let first = builder.inst_results(first)[0];
    let second = builder.ins().call(this, &[m2, params[1]]);
    let second = builder.inst_results(second)[0];
    let sum = builder.ins().iadd(first, second);
    builder.ins().return_(&[sum]);
}

/// Builds calls of a function that is defined later.
fn parity<M: Module>(module: &mut M, builder: &mut FunctionBuilder<'_>, params: &[Value], other: &str, at_zero: i64) {
    let other = declared(module, builder, other);
    let n = builder.ins().band_imm_u(params[0], 31);
    let (zero, more) = (builder.create_block(), builder.create_block());
    builder.ins().brif(n, more, &[], zero, &[]);
    builder.switch_to_block(zero);
    let result = builder.ins().iconst(types::I64, at_zero);
    builder.ins().return_(&[result]);
    builder.switch_to_block(more);
    let less = builder.ins().iadd_imm_s(n, -1);
    let call = builder.ins().call(other, &[less, params[1]]);
    let result = builder.inst_results(call)[0];
    builder.ins().return_(&[result]);
}

/// Builds a table of functions: data with relocations, and indirect calls.
fn table<M: Module>(module: &mut M, builder: &mut FunctionBuilder<'_>, params: &[Value]) {
    let signature = signature(module, &[types::I64, types::I64], &[types::I64]);
    let id = module.declare_data("functions", Linkage::Local, false, false).unwrap();
    let mut data = DataDescription::new();
    data.define(vec![0; 32].into_boxed_slice());
    data.set_align(16);
    for (index, name) in ["gcd", "fib", "host_mix"].into_iter().enumerate() {
        let function = module.declare_function(name, Linkage::Import, &signature).unwrap();
        let function = module.declare_func_in_data(function, &mut data);
        data.write_function_addr(8 * index as u32, function);
    }
    let this = module.declare_data_in_data(id, &mut data);
    data.write_data_addr(24, this, 8);
    module.define_data(id, &data).unwrap();
    let address = data_address(module, builder, id);
    let index = builder.ins().urem_imm_u(params[0], 3);
    let offset = builder.ins().imul_imm_s(index, 8);
    let slot = builder.ins().iadd(address, offset);
    let callee = builder.ins().load(types::I64, MemFlagsData::trusted(), slot, 0);
    let signature = builder.import_signature(signature);
    let call = builder.ins().call_indirect(signature, callee, params);
    let result = builder.inst_results(call)[0];
    // The last word is the address of the second word.
    let pointer = builder.ins().load(types::I64, MemFlagsData::trusted(), address, 24);
    let distance = builder.ins().isub(pointer, address);
    let result = builder.ins().iadd(result, distance);
    builder.ins().return_(&[result]);
}

/// Builds accesses to writable data that is initially zero.
fn counter<M: Module>(module: &mut M, builder: &mut FunctionBuilder<'_>, params: &[Value]) {
    let id = module.declare_anonymous_data(true, false).unwrap();
    let mut data = DataDescription::new();
    data.define_zeroinit(24);
    module.define_data(id, &data).unwrap();
    let address = data_address(module, builder, id);
    let old = builder.ins().load(types::I64, MemFlagsData::trusted(), address, 16);
    let new = builder.ins().iadd(old, params[1]);
    builder.ins().store(MemFlagsData::trusted(), new, address, 16);
    builder.ins().return_(&[old]);
}

/// Builds reads of a read-only text, and of data that is retained in a separate section.
fn text<M: Module>(module: &mut M, builder: &mut FunctionBuilder<'_>, params: &[Value]) {
    let id = module.declare_data("text_bytes", Linkage::Local, false, false).unwrap();
    let mut data = DataDescription::new();
    data.define(b"unaligned".to_vec().into_boxed_slice());
    module.define_data(id, &data).unwrap();
    let other = module.declare_data("text_other", Linkage::Export, true, false).unwrap();
    data.clear();
    data.define(b"other".to_vec().into_boxed_slice());
    data.set_custom_section(".own");
    data.set_used(true);
    data.set_align(64);
    module.define_data(other, &data).unwrap();
    let (address, other) = (data_address(module, builder, id), data_address(module, builder, other));
    let index = builder.ins().urem_imm_u(params[0], 9);
    let place = builder.ins().iadd(address, index);
    let byte = builder.ins().uload8(types::I64, MemFlagsData::new(), place, 0);
    let aligned = builder.ins().band_imm_u(other, 63);
    let other = builder.ins().sload8(types::I64, MemFlagsData::new(), other, 4);
    let sum = builder.ins().iadd(byte, other);
    let sum = builder.ins().iadd(sum, aligned);
    builder.ins().return_(&[sum]);
}

fn switch<M: Module>(_: &mut M, builder: &mut FunctionBuilder<'_>, params: &[Value]) {
    let exit = builder.create_block();
    let result = builder.append_block_param(exit, types::I64);
    let (default, cases) = (builder.create_block(), [(); 5].map(|()| builder.create_block()));
    let calls = cases.map(|case| builder.func.dfg.block_call(case, &[]));
    let call = builder.func.dfg.block_call(default, &[] as &[BlockArg]);
    let table = builder.create_jump_table(JumpTableData::new(call, &calls));
    let index = builder.ins().ireduce(types::I32, params[0]);
    builder.ins().br_table(index, table);
    for (number, case) in cases.into_iter().chain([default]).enumerate() {
        builder.switch_to_block(case);
        let value = builder.ins().imul_imm_s(params[1], 3 + 2 * number as i64);
        builder.ins().jump(exit, &[value.into()]);
    }
    builder.switch_to_block(exit);
    builder.ins().return_(&[result]);
}

fn floats<M: Module>(_: &mut M, builder: &mut FunctionBuilder<'_>, params: &[Value]) {
    let (x, y) =
        (builder.ins().fcvt_from_sint(types::F64, params[0]), builder.ins().fcvt_from_uint(types::F64, params[1]));
    let third = builder.ins().f64const(1.0 / 3.0);
    let product = builder.ins().fmul(x, third);
    let root = builder.ins().sqrt(y);
    let sum = builder.ins().fadd(product, root);
    let narrow = builder.ins().fdemote(types::F32, sum);
    let wide = builder.ins().fpromote(types::F64, narrow);
    let less = builder.ins().fcmp(FloatCC::LessThan, wide, x);
    let chosen = builder.ins().select(less, sum, wide);
    let bits = builder.ins().bitcast(types::I64, MemFlagsData::new(), chosen);
    let rounded = builder.ins().fcvt_to_sint_sat(types::I64, sum);
    let mixed = builder.ins().bxor(bits, rounded);
    builder.ins().return_(&[mixed]);
}

/// Builds operations that become library calls on small processors.
fn rounding<M: Module>(_: &mut M, builder: &mut FunctionBuilder<'_>, params: &[Value]) {
    let (x, y) =
        (builder.ins().fcvt_from_sint(types::F64, params[0]), builder.ins().fcvt_from_sint(types::F64, params[1]));
    let eighth = builder.ins().f64const(0.125);
    let x = builder.ins().fmul(x, eighth);
    let rounded = [
        builder.ins().ceil(x),
        builder.ins().floor(x),
        builder.ins().trunc(x),
        builder.ins().nearest(x),
        builder.ins().fma(x, y, x),
    ];
    let mut result = params[1];
    for value in rounded {
        let bits = builder.ins().bitcast(types::I64, MemFlagsData::new(), value);
        let turned = builder.ins().rotl_imm_u(result, 7);
        result = builder.ins().bxor(turned, bits);
    }
    builder.ins().return_(&[result]);
}

fn wide<M: Module>(_: &mut M, builder: &mut FunctionBuilder<'_>, params: &[Value]) {
    let (x, y) = (builder.ins().sextend(types::I128, params[0]), builder.ins().uextend(types::I128, params[1]));
    let product = builder.ins().imul(x, y);
    let sum = builder.ins().iadd(product, x);
    let shifted = builder.ins().sshr_imm_u(sum, 37);
    let (low, high) = builder.ins().isplit(shifted);
    let mixed = builder.ins().bxor(low, high);
    builder.ins().return_(&[mixed]);
}

/// Builds calls with more arguments and results than registers, to a function without a name.
fn many<M: Module>(module: &mut M, builder: &mut FunctionBuilder<'_>, params: &[Value]) {
    let mut types = vec![types::I64; 9];
    types.extend([types::F64; 10]);
    types.extend([types::I8, types::I32, types::I16]);
    let signature = signature(module, &types, &[types::I64, types::F64]);
    let id = module.declare_anonymous_function(&signature).unwrap();
    function(module, id, |_, builder, params| {
        let mut sum = params[0];
        for (index, &param) in params[1..].iter().enumerate() {
            let ty = builder.func.dfg.value_type(param);
            let value = match ty {
                types::F64 => builder.ins().bitcast(types::I64, MemFlagsData::new(), param),
                types::I64 => param,
                _ => builder.ins().sextend(types::I64, param),
            };
            let turned = builder.ins().rotl_imm_u(sum, index as i64 + 1);
            sum = builder.ins().iadd(turned, value);
        }
        builder.ins().return_(&[sum, params[9]]);
    })
    .unwrap();
    let callee = module.declare_func_in_func(id, builder.func);
    let float = builder.ins().fcvt_from_sint(types::F64, params[1]);
    let args: Vec<Value> = types
        .iter()
        .map(|&ty| match ty {
            types::F64 => float,
            types::I64 => params[0],
            ty => builder.ins().ireduce(ty, params[1]),
        })
        .collect();
    let call = builder.ins().call(callee, &args);
    let (sum, float) = (builder.inst_results(call)[0], builder.inst_results(call)[1]);
    let float = builder.ins().fcvt_to_sint_sat(types::I64, float);
    let result = builder.ins().isub(sum, float);
    builder.ins().return_(&[result]);
}

/// Builds accesses to memory on the stack, and a library call.
fn copy<M: Module>(module: &mut M, builder: &mut FunctionBuilder<'_>, params: &[Value]) {
    let slot = |builder: &mut FunctionBuilder<'_>| {
        builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 48, 4))
    };
    let (from, to) = (slot(builder), slot(builder));
    let (from, to) = (builder.ins().stack_addr(types::I64, from, 0), builder.ins().stack_addr(types::I64, to, 0));
    for (index, &value) in params.iter().cycle().take(6).enumerate() {
        let value = builder.ins().iadd_imm_s(value, index as i64);
        builder.ins().store(MemFlagsData::trusted(), value, from, 8 * index as i32);
    }
    let config = module.target_config();
    let size = builder.ins().iconst(types::I64, 48);
    builder.call_memcpy(config, to, from, size);
    let mut sum = params[1];
    for index in 0..6 {
        let value = builder.ins().load(types::I64, MemFlagsData::trusted(), to, 8 * index);
        let turned = builder.ins().rotl_imm_u(sum, 5);
        sum = builder.ins().bxor(turned, value);
    }
    builder.ins().return_(&[sum]);
}

/// Builds a loop as a function that tail-calls itself.
fn tail_calls<M: Module>(module: &mut M, builder: &mut FunctionBuilder<'_>, params: &[Value]) {
    let mut signature = signature(module, &[types::I64, types::I64], &[types::I64]);
    signature.call_conv = CallConv::Tail;
    let id = module.declare_function("tail_loop", Linkage::Local, &signature).unwrap();
    function(module, id, |module, builder, params| {
        let this = module.declare_func_in_func(id, builder.func);
        let (more, exit) = (builder.create_block(), builder.create_block());
        builder.ins().brif(params[0], more, &[], exit, &[]);
        builder.switch_to_block(more);
        let less = builder.ins().iadd_imm_s(params[0], -1);
        let turned = builder.ins().rotl_imm_u(params[1], 3);
        let mixed = builder.ins().bxor(turned, params[0]);
        builder.ins().return_call(this, &[less, mixed]);
        builder.switch_to_block(exit);
        builder.ins().return_(&params[1..]);
    })
    .unwrap();
    let callee = module.declare_func_in_func(id, builder.func);
    let count = builder.ins().band_imm_u(params[0], 0xfffff);
    let call = builder.ins().call(callee, &[count, params[1]]);
    let result = builder.inst_results(call)[0];
    builder.ins().return_(&[result]);
}
