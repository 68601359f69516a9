//! Functions that are proved without a solver.

use crate::compiled::{TARGETS, compiler};
use kingpost_codegen::compiled::ModuleBuffer;

/// Counts of bits, which code spells in several ways.
const COUNTS: &str = "
function %clz(i32) -> i32 { block0(v0: i32): v1 = clz v0 return v1 }
function %clz_of_magnitude(i32) -> i32 {
block0(v0: i32):
    v1 = iconst.i32 31
    v2 = sshr v0, v1
    v3 = bxor v0, v2
    v4 = isub v3, v2
    v5 = clz v4
    return v5
}
function %ctz(i64) -> i64 { block0(v0: i64): v1 = ctz v0 return v1 }
function %popcnt8(i8) -> i8 { block0(v0: i8): v1 = popcnt v0 return v1 }
function %popcnt32(i32) -> i32 { block0(v0: i32): v1 = popcnt v0 return v1 }
function %popcnt64(i64) -> i64 { block0(v0: i64): v1 = popcnt v0 return v1 }
";

#[test]
fn counts_of_bits_are_proved_by_terms() {
    for target in TARGETS {
        let compiler = compiler(target, "ssa");
        let mut cx = compiler.context();
        for mut func in kingpost_reader::parse_functions(COUNTS).unwrap() {
            let result = compiler.compile(&mut cx, &mut func, &mut ModuleBuffer::default());
            assert!(result.is_ok(), "{target} {}: {result:?}", func.name);
        }
    }
}
