//! Each tile fires on the pattern that it is listed with.

use kingpost_ir::analyses::Analyses;
use kingpost_isa_x64::{X64, X64Flags};
use kingpost_mach::{Code, Isa, LowerState, Settings};

/// Functions on which a tile alone fires. Each has the name of the tile, with a number if there are several.
const FUNCTIONS: &str = include_str!("tiles.clif");

#[test]
fn every_tile_fires_on_its_pattern() {
    let settings = Settings::default().with(|settings| settings.is_pic = false);
    let mut flags = X64Flags::default();
    flags.set("has_bmi1").unwrap();
    let isa = X64::new(settings.clone(), flags).unwrap();
    let mut lowering = LowerState::default();
    let mut code = Code::default();
    let mut names = Vec::new();
    for func in kingpost_reader::parse_functions(FUNCTIONS).unwrap() {
        lowering.run(&func, &mut Analyses::default(), &isa, &settings, &mut code).unwrap();
        let counts = lowering.take_tile_counts();
        let fired = isa.tiles().iter().zip(counts).filter(|&(_, count)| count > 0);
        let fired: Vec<_> = fired.map(|(tile, count)| (tile.name, count)).collect();
        let name = func.name.to_string();
        let name = name.trim_start_matches('%').trim_end_matches(|letter: char| letter.is_ascii_digit());
        assert_eq!(fired, [(name, 1)], "{func}");
        names.push(name.to_string());
    }
    for tile in isa.tiles() {
        assert!(names.iter().any(|name| name == tile.name), "nothing fires {}", tile.name);
    }
}
