//! Checks the destinations of switches for every key, its neighbors, and random values, against a list.

use kingpost::interpreter::{DataValue, Environment, Interpreter};
use kingpost::prelude::*;

/// Returns a function that returns the position of its argument among the keys, or the number of keys if it is no
/// key.
fn function(ty: Type, keys: &[u64]) -> Function {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params.push(AbiParam::new(ty));
    signature.returns.push(AbiParam::new(I64));
    let (mut func, mut scratch) = (Function::new(FuncName::Named("f".into()), signature), FrontendContext::default());
    let mut b = FunctionBuilder::new(&mut func, &mut scratch);
    let [entry, otherwise] = [(); 2].map(|()| b.create_block());
    b.append_function_params(entry);
    b.switch_to_block(entry);
    let mut switch = Switch::new();
    let mut blocks = Vec::new();
    for &key in keys {
        let block = b.create_block();
        assert_eq!(switch.set_entry(key, block), None);
        blocks.push(block);
    }
    let value = b.block_params(entry)[0];
    switch.emit(&mut b, value, otherwise);
    blocks.push(otherwise);
    for (position, block) in blocks.into_iter().enumerate() {
        b.switch_to_block(block);
        let position = b.ins().iconst(I64, position as i64);
        b.ins().return_(&[position]);
    }
    b.seal_all_blocks();
    b.finalize().unwrap();
    func
}

#[test]
fn values_go_to_their_keys() {
    let lists: [&[u64]; 6] = [
        &[],
        &[7],
        &[3, 4, 5, 6, 100, 300, 301, 302, 303],
        &[0, 1, 2, 3, 4, 5, u64::MAX - 1, u64::MAX],
        &[250, 251, 252, 253, 254, 255, 256],
        &[1, 3, 5, 7, 9, 1 << 31, (1 << 31) + 1, (1 << 31) + 2, (1 << 31) + 3, 1 << 40],
    ];
    for ty in [I8, I16, I32, I64] {
        for keys in lists {
            let func = function(ty, keys);
            assert_eq!(kingpost::ir::verifier::verify(&func, None), Ok(()), "{func}");
            let environment = Environment::new([&func]);
            let mut interpreter = Interpreter::new(&environment);
            let mask = u64::MAX >> (64 - ty.bits());
            let near = keys.iter().flat_map(|&key| [key.wrapping_sub(1), key, key.wrapping_add(1)]);
            for value in near.chain([0, 77, mask]).map(|value| value & mask) {
                let expected = keys.iter().position(|&key| key == value).unwrap_or(keys.len());
                let found = interpreter.call("f", &[DataValue::new(ty, value.into())]);
                assert_eq!(
                    found,
                    Ok(vec![DataValue::new(I64, expected as u128)]),
                    "{value} as {ty} in {keys:?}\n{func}"
                );
            }
        }
    }
}
