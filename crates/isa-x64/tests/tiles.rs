//! Each tile fires on the pattern that it is listed with.

use kingpost_isa_x64::{X64, X64Flags};
use kingpost_mach::{Code, Isa, Lowering, Settings};

/// Tile, and a function on which it and no other fires.
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
    ("stored_immediate", "function %f(i64) { block0(v0: i64): v1 = iconst.i64 7 store v1, v0 return }"),
    (
        "product_by_shift",
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = iconst.i64 16 v3 = imul v0, v2 return v3 }",
    ),
];

#[test]
fn every_tile_fires_on_its_pattern() {
    let settings = Settings::default();
    let mut flags = X64Flags::default();
    flags.set("has_bmi1").unwrap();
    let isa = X64::new(settings.clone(), flags).unwrap();
    let mut lowering = Lowering::default();
    let mut code = Code::default();
    for (name, text) in CASES {
        let func = kingpost_reader::parse_functions(text).unwrap().remove(0);
        lowering.run(&func, &isa, &settings, &mut code).unwrap();
        let counts = lowering.take_tile_counts();
        let fired = isa.tiles().iter().zip(counts).filter(|&(_, count)| count > 0);
        let fired: Vec<_> = fired.map(|(tile, count)| (tile.name, count)).collect();
        assert_eq!(fired, [(*name, 1)], "{text}");
    }
    for tile in isa.tiles() {
        assert!(CASES.iter().any(|(name, _)| *name == tile.name), "nothing fires {}", tile.name);
    }
}
