use super::*;
use crate::condcodes::IntCC;
use crate::entities::{GlobalValue, Value};
use crate::instruction::InstData;
use crate::opcodes::Opcode;
use crate::preamble::GlobalValueData;
use crate::signature::{AbiParam, ArgumentExtension, CallConv};
use crate::testing::function_of_edges;
use crate::types::{F32, I8, I32, I64};

fn messages(func: &Function) -> Vec<String> {
    match verify(func, None) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.0.into_iter().map(|error| error.message).collect(),
    }
}

#[track_caller]
fn check(func: &Function, expected: &[&str]) {
    let messages = messages(func);
    assert_eq!(messages.len(), expected.len(), "{messages:?}");
    for (message, expected) in messages.iter().zip(expected) {
        assert!(message.contains(expected), "`{message}` does not contain `{expected}`");
    }
}

fn append(func: &mut Function, block: Block, data: InstData, ctrl: Type) -> Inst {
    let inst = func.dfg.make_inst(data);
    func.dfg.make_results(inst, ctrl);
    func.layout.append_inst(inst, block);
    inst
}

fn constant(func: &mut Function, block: Block, ty: Type) -> Value {
    let inst = append(func, block, InstData::iconst(ty, 1), ty);
    func.dfg.inst_results(inst)[0]
}

fn function() -> (Function, Block) {
    let mut func = Function::default();
    let block = func.dfg.make_block();
    func.layout.append_block(block);
    (func, block)
}

fn finish(func: &mut Function, block: Block, values: &[Value]) {
    let data = func.dfg.return_data(values);
    append(func, block, data, crate::types::INVALID);
}

#[test]
fn nothing_wrong() {
    check(&Function::default(), &[]);
    check(&function_of_edges(&[&[1, 2], &[1, 2], &[], &[2]]), &[]);
}

#[test]
fn shape_of_blocks() {
    let (mut func, block) = function();
    check(&func, &["block0 cannot be empty"]);
    constant(&mut func, block, I8);
    check(&func, &["block does not end in a terminator instruction"]);
    finish(&mut func, block, &[]);
    check(&func, &[]);
    finish(&mut func, block, &[]);
    check(&func, &["a terminator instruction was encountered before the end of block0"]);
}

#[test]
fn branches() {
    check(&function_of_edges(&[&[1], &[0]]), &["invalid reference to entry block block0"]);
    let (mut func, block) = function();
    let nowhere = func.dfg.make_block();
    let call = func.dfg.block_call(nowhere, &[]);
    let data = func.dfg.jump_data(call);
    append(&mut func, block, data, crate::types::INVALID);
    check(&func, &["invalid block reference block1"]);
}

#[test]
fn all_type_errors_are_collected() {
    let (mut func, block) = function();
    func.signature.returns.push(AbiParam::new(F32));
    let (narrow, wide) = (constant(&mut func, block, I32), constant(&mut func, block, I64));
    let sum = InstData::binary(Opcode::Iadd, I32, [narrow, wide]);
    append(&mut func, block, sum, I32);
    append(&mut func, block, InstData::icmp(I64, IntCC::Equal, [wide, narrow]), I64);
    append(&mut func, block, InstData::unary(Opcode::Uextend, I32, narrow), I32);
    finish(&mut func, block, &[narrow]);
    check(
        &func,
        &[
            "arg 1 (v1) has type i64, expected i32",
            "arg 1 (v0) has type i32, expected i64",
            "arg 0 (v0) with type i32 failed to satisfy type set",
            "result 0 has type i32, must match function signature of f32",
        ],
    );
}

#[test]
fn dominance() {
    let (mut func, block) = function();
    let one = constant(&mut func, block, I8);
    let sum = append(&mut func, block, InstData::binary(Opcode::Iadd, I8, [one, one]), I8);
    let result = func.dfg.inst_results(sum)[0];
    let data = InstData::binary(Opcode::Iadd, I8, [one, result]);
    func.dfg.replace_inst(sum, data);
    finish(&mut func, block, &[]);
    check(&func, &["uses value v1 from itself"]);
    let later = func.dfg.make_inst(InstData::iconst(I8, 1));
    func.dfg.make_results(later, I8);
    func.layout.insert_inst_after(later, sum);
    let later = func.dfg.inst_results(later)[0];
    func.dfg.replace_inst(sum, InstData::binary(Opcode::Iadd, I8, [one, later]));
    check(&func, &["uses value v2 from non-dominating `v2 = iconst.i8 1`"]);
    let undefined = func.dfg.make_undefined_value();
    func.dfg.replace_inst(sum, InstData::binary(Opcode::Iadd, I8, [one, undefined]));
    check(&func, &["argument v3 is not attached"]);
}

#[test]
fn global_value_cycles() {
    let mut func = Function::default();
    let sum = |base| GlobalValueData::IAddImm { base, offset: 1, ty: I64 };
    let global = GlobalValue::from_u32;
    func.global_values.push(sum(global(1)));
    func.global_values.push(sum(global(0)));
    func.global_values.push(sum(global(1)));
    check(&func, &["global value cycle: [gv0, gv1]"]);
    func.global_values.clear();
    // A long chain takes linear time.
    for base in 1..100_000 {
        func.global_values.push(sum(global(base)));
    }
    func.global_values.push(GlobalValueData::VmContext);
    check(&func, &["undeclared vmctx reference gv99999"]);
}

#[test]
fn signatures() {
    let mut func = Function::default();
    func.signature.params.push(AbiParam::new(F32).with_extension(ArgumentExtension::Sext));
    check(&func, &["Parameter at position 0 has invalid extension Sext"]);
    func.signature.clear(CallConv::PreserveAll);
    func.signature.returns.push(AbiParam::new(I8));
    check(&func, &["Signature with `preserve_all` ABI cannot have return values"]);
}

#[test]
fn target_rules() {
    let (mut func, block) = function();
    let address = constant(&mut func, block, I32);
    let flags = crate::memflags::MemFlags::new();
    append(&mut func, block, InstData::load(Opcode::Load, I8, flags, address, 0), I8);
    finish(&mut func, block, &[]);
    check(&func, &[]);
    let target = TargetInfo::new(Some(I64));
    let errors = verify(&func, Some(target)).unwrap_err();
    assert_eq!(errors.to_string(), "invalid pointer width (got 32, expected 64) encountered v0");
    append(&mut func, block, InstData::nullary(Opcode::GetPinnedReg, I64), I64);
    func.layout.remove_inst(Inst::from_u32(2));
    func.layout.append_inst(Inst::from_u32(2), block);
    let with_pin = target.with(|target| target.enable_pinned_reg = true);
    assert_eq!(verify(&func, Some(target)).unwrap_err().0.len(), 2);
    assert_eq!(verify(&func, Some(with_pin)).unwrap_err().0.len(), 1);
}
