//! Functions that are proved without a solver.

use crate::compiled::{TARGETS, compiler};
use kingpost_codegen::compiled::ModuleBuffer;
use kingpost_validate::Verdict;

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
function %sign_bits_converted(i16) -> f64 { block0(v0: i16): v1 = cls v0 v2 = fcvt_from_uint.f64 v1 return v2 }
function %clz_of_sum(i32, i32, i64) -> i64 {
block0(v0: i32, v1: i32, v2: i64):
    v3 = uextend.i64 v0
    v4 = uextend.i64 v1
    v5 = isub v3, v4
    v6 = iconst.i64 1
    v7 = ishl v6, v2
    v8 = iadd v5, v7
    v9 = clz v8
    return v9
}
function %ctz(i64) -> i64 { block0(v0: i64): v1 = ctz v0 return v1 }
function %popcnt8(i8) -> i8 { block0(v0: i8): v1 = popcnt v0 return v1 }
function %popcnt32(i32) -> i32 { block0(v0: i32): v1 = popcnt v0 return v1 }
function %popcnt64(i64) -> i64 { block0(v0: i64): v1 = popcnt v0 return v1 }
";

/// Comparisons and conversions of floats.
const FLOATS: &str = "
function %equal(f64, f64) -> i8 { block0(v0: f64, v1: f64): v2 = fcmp eq v0, v1 return v2 }
function %one(f32, f32) -> i8 { block0(v0: f32, v1: f32): v2 = fcmp one v0, v1 return v2 }
function %to_sint(f64) -> i32 { block0(v0: f64): v1 = fcvt_to_sint.i32 v0 return v1 }
function %to_byte(f32) -> i8 { block0(v0: f32): v1 = fcvt_to_sint.i8 v0 return v1 }
function %to_uint(f64) -> i64 { block0(v0: f64): v1 = fcvt_to_uint.i64 v0 return v1 }
function %to_nearest(f64) -> i64 { block0(v0: f64): v1 = fcvt_to_uint_sat.i64 v0 return v1 }
function %to_nearest_byte(f32) -> i8 { block0(v0: f32): v1 = fcvt_to_sint_sat.i8 v0 return v1 }
function %to_nearest_half(f64) -> i16 { block0(v0: f64): v1 = fcvt_to_uint_sat.i16 v0 return v1 }
function %least(f64, f64) -> f64 { block0(v0: f64, v1: f64): v2 = fmin v0, v1 return v2 }
function %most(f32, f32) -> f32 { block0(v0: f32, v1: f32): v2 = fmax v0, v1 return v2 }
";

/// Operations whose code has another form than the function.
const INTEGERS: &str = "
function %is_zero(i64, i64) -> i8 {
block0(v0: i64, v1: i64):
    v2 = iconcat v0, v1
    v3 = iconst.i64 0
    v4 = uextend.i128 v3
    v5 = icmp eq v2, v4
    return v5
}
function %less(i128, i128) -> i8 { block0(v0: i128, v1: i128): v2 = icmp slt v0, v1 return v2 }
function %carries(i32, i32, i8) -> i32, i8 { block0(v0: i32, v1: i32, v2: i8): v3, v4 = uadd_overflow_cin v0, v1, v2 return v3, v4 }
function %magnitude(i64) -> i64 { block0(v0: i64): v1 = iabs v0 return v1 }
function %magnitudes(i32, i32) -> i32 {
block0(v0: i32, v1: i32):
    v2 = iabs v0
    v3 = iabs v1
    v4 = iadd v2, v3
    return v4
}
function %products_of_most(i32, i32) -> i32 {
block0(v0: i32, v1: i32):
    v2 = iconst.i32 1
    v3 = umax v0, v2
    v4 = imul v3, v1
    v5 = imul v4, v1
    return v5
}
function %rotate(i8, i8) -> i8 { block0(v0: i8, v1: i8): v2 = rotl v0, v1 return v2 }
function %most(i32) -> i32 { block0(v0: i32): v1 = iconst.i32 0 v2 = smax v0, v1 return v2 }
";

/// Operations that nothing but equal operands makes equal.
const PARTS: &str = "
function %high_of_converted(i64, i64) -> i64 {
block0(v0: i64, v1: i64):
    v2 = fcvt_from_uint.f32 v0
    v3 = fcvt_to_sint_sat.i64 v2
    v4 = umulhi v3, v1
    return v4
}
function %product_of_converted(i64, i64, i64) -> i64 {
block0(v0: i64, v1: i64, v2: i64):
    v3 = fcvt_from_sint.f64 v0
    v4 = fcvt_to_sint_sat.i32 v3
    v5 = uextend.i64 v4
    v6 = imul v5, v1
    v7 = imul v6, v2
    return v7
}
function %remainder_of_converted(i16, f64) -> i32 {
block0(v0: i16, v1: f64):
    v2 = fcvt_to_uint_sat.i16 v1
    v3 = urem v0, v2
    v4 = sextend.i32 v3
    return v4
}
";

fn check(text: &str) {
    for target in TARGETS {
        let compiler = compiler(target, "ssa");
        let mut cx = compiler.context();
        for mut func in kingpost_reader::parse_functions(text).unwrap() {
            let result = compiler.compile(&mut cx, &mut func, &mut ModuleBuffer::default());
            assert!(result.is_ok(), "{target} {}: {result:?}", func.name);
            let report = cx.proof().unwrap();
            assert_eq!(report.verdict, Verdict::Proved, "{target} {}", func.name);
        }
    }
}

#[test]
fn counts_of_bits_are_proved_by_terms() {
    check(COUNTS);
}

#[test]
fn floats_are_proved_by_terms() {
    check(FLOATS);
}

#[test]
fn integers_are_proved_by_terms() {
    check(INTEGERS);
}

#[test]
fn operations_are_proved_by_their_parts() {
    check(PARTS);
}
