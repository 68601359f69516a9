//! Each tile fires on the pattern that it is listed with.

use kingpost_ir::analyses::Analyses;
use kingpost_isa_aarch64::{A64, A64Flags};
use kingpost_mach::{Code, Isa, LowerState, Settings};

/// Tile, and a function on which this tile alone fires.
const CASES: &[(&str, &str)] = &[
    (
        "multiply_add",
        "function %f(i64, i64, i64) -> i64 { block0(v0: i64, v1: i64, v2: i64): v3 = imul v0, v1 v4 = iadd v3, v2 return v4 }",
    ),
    (
        "multiply_subtract",
        "function %f(i64, i64, i64) -> i64 { block0(v0: i64, v1: i64, v2: i64): v3 = imul v0, v1 v4 = isub v2, v3 return v4 }",
    ),
    (
        "multiply_negate",
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = imul v0, v1 v3 = ineg v2 return v3 }",
    ),
    (
        "multiply_long",
        "function %f(i32, i32) -> i64 { block0(v0: i32, v1: i32): v2 = sextend.i64 v0 v3 = sextend.i64 v1 v4 = imul v2, v3 return v4 }",
    ),
    (
        "product_by_shift",
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = iconst.i64 16 v3 = imul v0, v2 return v3 }",
    ),
    (
        "product_by_sum",
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = iconst.i64 17 v3 = imul v0, v2 return v3 }",
    ),
    (
        "increment_if",
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = icmp ult v0, v1 v3 = uextend.i64 v2 v4 = iadd v0, v3 return v4 }",
    ),
    (
        "extract_field",
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = iconst.i64 7 v3 = ushr v0, v2 v4 = iconst.i64 0xff v5 = band v3, v4 return v5 }",
    ),
    (
        "place_field",
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = iconst.i64 4 v3 = ishl v0, v2 v4 = iconst.i64 0xff0 v5 = band v3, v4 return v5 }",
    ),
    (
        "insert_field",
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = iconst.i64 -256 v3 = band v0, v2 v4 = iconst.i64 255 v5 = band v1, v4 v6 = bor v3, v5 return v6 }",
    ),
    ("not_xor", "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = bxor v0, v1 v3 = bnot v2 return v3 }"),
    (
        "shift_pair",
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = iconst.i64 8 v3 = ishl v0, v2 v4 = iconst.i64 12 v5 = ushr v3, v4 return v5 }",
    ),
    (
        "shift_extended",
        "function %f(i32) -> i64 { block0(v0: i32): v1 = sextend.i64 v0 v2 = iconst.i64 3 v3 = ishl v1, v2 return v3 }",
    ),
    (
        "changed_operand",
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = iconst.i64 3 v3 = ishl v1, v2 v4 = iadd v0, v3 return v4 }",
    ),
    (
        "address_sum",
        "function %f(i64, i32) -> i64 { block0(v0: i64, v1: i32): v2 = uextend.i64 v1 v3 = iadd v0, v2 v4 = load.i64 v3 return v4 }",
    ),
    (
        "address_fixed",
        "function %f() -> i64 { ss0 = explicit_slot 8 block0: v0 = stack_addr.i64 ss0 v1 = load.i64 v0 return v1 }",
    ),
    ("folded_load", "function %f(i64) -> i64 { block0(v0: i64): v1 = load.i8 v0 v2 = sextend.i64 v1 return v2 }"),
    ("stored_zero", "function %f(i64) { block0(v0: i64): v1 = iconst.i64 0 store v1, v0 return }"),
    (
        "negated_product",
        "function %f(f64, f64) -> f64 { block0(v0: f64, v1: f64): v2 = fmul v0, v1 v3 = fneg v2 return v3 }",
    ),
    (
        "widened_operand",
        "function %f(i8x16, i16x8) -> i16x8 { block0(v0: i8x16, v1: i16x8): v2 = swiden_low v0 v3 = isub v1, v2 return v3 }",
    ),
    (
        "multiply_add_lanes",
        "function %f(i32x4, i32x4) -> i32x4 { block0(v0: i32x4, v1: i32x4): v2 = imul v0, v1 v3 = iadd v2, v0 return v3 }",
    ),
    (
        "shift_add_lanes",
        "function %f(i64x2) -> i64x2 { block0(v0: i64x2): v1 = iconst.i64 9 v2 = sshr v0, v1 v3 = iadd v0, v2 return v3 }",
    ),
    (
        "dot_product",
        "function %f(i8x16, i8x16, i32x4) -> i32x4 { block0(v0: i8x16, v1: i8x16, v2: i32x4): v3 = uwiden_low v0 v4 = uwiden_low v1 v5 = imul v3, v4 v6 = uwiden_high v0 v7 = uwiden_high v1 v8 = imul v6, v7 v9 = uwiden_low v5 v10 = uwiden_high v5 v11 = iadd_pairwise v9, v10 v12 = uwiden_low v8 v13 = uwiden_high v8 v14 = iadd_pairwise v12, v13 v15 = iadd_pairwise v11, v14 v16 = iadd v15, v2 return v16 }",
    ),
    ("load_splat", "function %f(i64) -> i32x4 { block0(v0: i64): v1 = load.i32 v0 v2 = splat.i32x4 v1 return v2 }"),
    (
        "load_lane",
        "function %f(i64) -> f64x2 { block0(v0: i64): v1 = load.f64 v0 v2 = scalar_to_vector.f64x2 v1 return v2 }",
    ),
    (
        "shuffle",
        "function %f(i8x16, i8x16) -> i8x16 { block0(v0: i8x16, v1: i8x16): v2 = shuffle v0, v1, [8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31] return v2 }",
    ),
    (
        "zero_or_lane",
        "function %f(i32x4, i32x4) -> i32x4 { block0(v0: i32x4, v1: i32x4): v2 = vconst.i32x4 0x00000000000000000000000000000000 v3 = bitselect v0, v2, v1 return v3 }",
    ),
    (
        "lane_sign",
        "function %f(i8x16) -> i64 { block0(v0: i8x16): v1 = extractlane v0, 5 v2 = sextend.i64 v1 return v2 }",
    ),
    (
        "branch_on_lanes",
        "function %f(i8x16) { block0(v0: i8x16): v1 = vall_true v0 brif v1, block1, block2 block1: return block2: trap user1 }",
    ),
];

#[test]
fn every_tile_fires_on_its_pattern() {
    let settings = Settings::default().with(|settings| settings.is_pic = false);
    let mut flags = A64Flags::default();
    flags.set("has_dotprod").unwrap();
    let isa = A64::new(settings.clone(), flags).unwrap();
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
