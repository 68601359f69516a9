//! Each tile fires on the pattern that it is listed with.

use kingpost_ir::analyses::Analyses;
use kingpost_isa_x64::{X64, X64Flags};
use kingpost_mach::{Code, Isa, LowerState, Settings};

/// Tile, and a function on which this tile alone fires.
const CASES: &[(&str, &str)] = &[
    (
        "zero_extend",
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = iconst.i64 0xff v3 = band v0, v2 return v3 }",
    ),
    (
        "narrow_mask",
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = iconst.i64 0xf0 v3 = band v0, v2 return v3 }",
    ),
    ("and_not", "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = bnot v1 v3 = band v0, v2 return v3 }"),
    (
        "sum_by_lea",
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = iconst.i64 3 v3 = ishl v1, v2 v4 = iadd v0, v3 return v4 }",
    ),
    (
        "sum_by_lea",
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = iadd v0, v1 v3 = iconst.i64 9 v4 = iadd v2, v3 return v4 }",
    ),
    (
        "address_sum",
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = iadd v0, v1 v3 = load.i64 v2+8 return v3 }",
    ),
    (
        "address_fixed",
        "function %f() -> i64 { ss0 = explicit_slot 8 block0: v0 = stack_addr.i64 ss0 v1 = load.i64 v0 return v1 }",
    ),
    (
        "folded_load",
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = load.i64 v0 v3 = iadd v1, v2 return v3 }",
    ),
    ("folded_literal", "function %f(f64) -> f64 { block0(v0: f64): v1 = f64const 0x1.8p0 v2 = fadd v0, v1 return v2 }"),
    (
        "stored_lane",
        "function %f(f64x2, i64) { block0(v0: f64x2, v1: i64): v2 = extractlane v0, 1 store v2, v1 return }",
    ),
    ("stored_immediate", "function %f(i64) { block0(v0: i64): v1 = iconst.i64 7 store v1, v0 return }"),
    ("truth_of_lanes", "function %f(i8x16) { block0(v0: i8x16): v1 = vany_true v0 trapnz v1, user1 return }"),
    (
        "lesser_float",
        "function %f(f32x4, f32x4) -> f32x4 { block0(v0: f32x4, v1: f32x4): v2 = fcmp lt v0, v1 v3 = bitcast.f32x4 v2 v4 = bitselect v3, v0, v1 return v4 }",
    ),
    (
        "zero_or_lane",
        "function %f(i32x4, i32x4) -> i32x4 { block0(v0: i32x4, v1: i32x4): v2 = vconst.i32x4 0x00000000000000000000000000000000 v3 = bitselect v0, v2, v1 return v3 }",
    ),
    (
        "lane_splat",
        "function %f(i32x4) -> i32x4 { block0(v0: i32x4): v1 = extractlane v0, 3 v2 = splat.i32x4 v1 return v2 }",
    ),
    (
        "long_product",
        "function %f(i32x4, i32x4) -> i64x2 { block0(v0: i32x4, v1: i32x4): v2 = uwiden_low v0 v3 = uwiden_low v1 v4 = imul v2, v3 return v4 }",
    ),
    (
        "dot_product",
        "function %f(i16x8, i16x8) -> i32x4 { block0(v0: i16x8, v1: i16x8): v2 = swiden_low v0 v3 = swiden_low v1 v4 = imul v2, v3 v5 = swiden_high v0 v6 = swiden_high v1 v7 = imul v5, v6 v8 = iadd_pairwise v4, v7 return v8 }",
    ),
    (
        "pairwise_sum",
        "function %f(i16x8) -> i32x4 { block0(v0: i16x8): v1 = swiden_low v0 v2 = swiden_high v0 v3 = iadd_pairwise v1, v2 return v3 }",
    ),
    (
        "converted_half",
        "function %f(f64x2) -> i32x4 { block0(v0: f64x2): v1 = fcvt_to_sint_sat.i64x2 v0 v2 = vconst.i64x2 [0 0] v3 = snarrow v1, v2 return v3 }",
    ),
    (
        "converted_half",
        "function %f(i32x4) -> f64x2 { block0(v0: i32x4): v1 = swiden_low v0 v2 = fcvt_from_sint.f64x2 v1 return v2 }",
    ),
    (
        "product_by_shift",
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = iconst.i64 16 v3 = imul v0, v2 return v3 }",
    ),
];

#[test]
fn every_tile_fires_on_its_pattern() {
    let settings = Settings::default().with(|settings| settings.is_pic = false);
    let mut flags = X64Flags::default();
    flags.set("has_bmi1").unwrap();
    let isa = X64::new(settings.clone(), flags).unwrap();
    let mut lowering = LowerState::default();
    let mut code = Code::default();
    for (name, text) in CASES {
        let func = kingpost_reader::parse_functions(text).unwrap().remove(0);
        lowering.run(&func, &mut Analyses::default(), &isa, &settings, &mut code).unwrap();
        let counts = lowering.take_tile_counts();
        let fired = isa.tiles().iter().zip(counts).filter(|&(_, count)| count > 0);
        let fired: Vec<_> = fired.map(|(tile, count)| (tile.name, count)).collect();
        assert_eq!(fired, [(*name, 1)], "{text}");
    }
    for tile in isa.tiles() {
        assert!(CASES.iter().any(|(name, _)| *name == tile.name), "nothing fires {}", tile.name);
    }
}
