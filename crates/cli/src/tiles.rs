//! `tiles`: the local patterns that lowering looks for on a target.

use crate::args::TilesArgs;
use crate::exit_status::{Outcome, Verdict};
use crate::output::{self, ListFormat};
use crate::target;
use kingpost_mach::tiles::TileInfo;
use serde_json::json;
use std::io::Write;

/// Prints name, pattern and emitted instructions, one tile per line.
pub(crate) fn tiles(args: &TilesArgs) -> Outcome {
    let compiler = target::compiler(&args.target, None, false)?;
    let mut out = output::stdout();
    if args.format == ListFormat::Json {
        let row = |tile: &TileInfo| json!({ "name": tile.name, "pattern": tile.pattern, "emitted": tile.emitted });
        output::json_rows(&mut out, compiler.isa().tiles().iter().map(row))?;
        return Ok(Verdict::Good);
    }
    for tile in compiler.isa().tiles() {
        writeln!(out, "{:<18} {}  =>  {}", tile.name, tile.pattern, tile.emitted)?;
    }
    out.flush()?;
    Ok(Verdict::Good)
}
