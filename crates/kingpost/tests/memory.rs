//! Checks copies, fills and comparisons of constant size, small ones and calls, against operations on slices.
#![cfg(all(feature = "jit", any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux"))]
#![allow(unsafe_code, reason = "compiled functions are called")]

use kingpost::prelude::*;

/// A comparison of two areas of memory.
type Compare = fn(&[u8], &[u8]) -> bool;

type Function2 = extern "C" fn(*mut u8, *const u8) -> i64;

/// Compiles a function of two addresses.
fn define(
    module: &mut JitModule,
    build: impl FnOnce(&mut FunctionBuilder<'_>, CallConv, [Value; 2]) -> Value,
) -> FuncId {
    let mut signature = module.signature();
    signature.params.extend([I64, I64].map(AbiParam::new));
    signature.returns.push(AbiParam::new(I64));
    let id = module.declare_anonymous_function(&signature);
    let (conv, mut scratch) = (signature.call_conv, FrontendContext::default());
    let mut func = Function::new(FuncName::default(), signature);
    let mut b = FunctionBuilder::new(&mut func, &mut scratch);
    let entry = b.create_block();
    b.append_function_params(entry);
    b.switch_to_block(entry);
    let params = [b.block_params(entry)[0], b.block_params(entry)[1]];
    let result = build(&mut b, conv, params);
    b.ins().return_(&[result]);
    b.seal_all_blocks();
    b.finalize().unwrap();
    module.define_function(id, &mut func).unwrap();
    id
}

#[test]
fn areas_are_copied_and_filled() {
    for bytes in (0..40).chain([100]) {
        let mut module = JitModule::new(Compiler::host(Settings::default()).unwrap());
        let [apart, near] = [Overlap::Never, Overlap::Possible].map(|overlap| {
            define(&mut module, |b, conv, [to, from]| {
                b.copy_memory(conv, to, from, bytes, overlap, MemFlags::new());
                b.ins().iconst(I64, 0)
            })
        });
        let filled = define(&mut module, |b, conv, [to, _]| {
            b.fill_memory(conv, to, 0xa7, bytes, MemFlags::new());
            b.ins().iconst(I64, 0)
        });
        module.finalize_definitions().unwrap();
        // SAFETY: the functions have this type, and access `bytes` bytes at both addresses.
        let [apart, near, filled] = [apart, near, filled].map(|id| unsafe { module.get::<Function2>(id) }.unwrap());
        let bytes = bytes as usize;
        let start: Vec<u8> = (0..250_u8).map(|n| n.wrapping_mul(7)).collect();
        for (to, from) in [(0, 120), (130, 3), (5, 5 + bytes)] {
            let (mut found, mut expected) = (start.clone(), start.clone());
            apart(found[to..].as_mut_ptr(), start[from..].as_ptr());
            expected[to..to + bytes].copy_from_slice(&start[from..from + bytes]);
            assert_eq!(found, expected, "{bytes} bytes to {to}");
        }
        for (to, from) in [(10, 12), (12, 10), (10, 10), (20, 50), (21, 13)] {
            let (mut found, mut expected) = (start.clone(), start.clone());
            let memory = found.as_mut_ptr();
            near(memory.wrapping_add(to), memory.wrapping_add(from));
            expected.copy_within(from..from + bytes, to);
            assert_eq!(found, expected, "{bytes} bytes from {from} to {to}");
        }
        let (mut found, mut expected) = (start.clone(), start.clone());
        filled(found[9..].as_mut_ptr(), std::ptr::null());
        expected[9..9 + bytes].fill(0xa7);
        assert_eq!(found, expected, "{bytes} bytes filled");
    }
}

#[test]
fn areas_are_compared() {
    use IntCC::*;
    let conditions: [(IntCC, Compare); 6] = [
        (Equal, |a, b| a == b),
        (NotEqual, |a, b| a != b),
        (UnsignedLessThan, |a, b| a < b),
        (UnsignedLessThanOrEqual, |a, b| a <= b),
        (UnsignedGreaterThan, |a, b| a > b),
        (UnsignedGreaterThanOrEqual, |a, b| a >= b),
    ];
    for bytes in (0..40_u64).chain([100]) {
        let mut module = JitModule::new(Compiler::host(Settings::default()).unwrap());
        let ids = conditions.map(|(condition, _)| {
            define(&mut module, |b, conv, [left, right]| {
                let flag = b.compare_memory(conv, condition, left, right, bytes, MemFlags::new());
                b.ins().uextend(I64, flag)
            })
        });
        module.finalize_definitions().unwrap();
        let bytes = bytes as usize;
        let left: Vec<u8> = (0..bytes as u8).map(|n| n.wrapping_mul(31) ^ 0x80).collect();
        // Equal, and different in each byte, up and down.
        let mut rights = vec![left.clone()];
        for (at, change) in (0..bytes).flat_map(|at| [(at, 1), (at, 0x7f), (at, 0x80), (at, 0xff)]) {
            let mut right = left.clone();
            right[at] = right[at].wrapping_add(change);
            rights.push(right);
        }
        for (id, (condition, holds)) in ids.into_iter().zip(conditions) {
            // SAFETY: the function has this type, and reads `bytes` bytes at both addresses.
            let compare = unsafe { module.get::<Function2>(id) }.unwrap();
            for right in &rights {
                let mut left = left.clone();
                let found = compare(left.as_mut_ptr(), right.as_ptr());
                assert_eq!(found, i64::from(holds(&left, right)), "{left:?} {condition} {right:?}");
            }
        }
    }
}
