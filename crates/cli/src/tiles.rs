//! `tiles`: the local patterns that lowering looks for on a target.

use crate::exit_status::{Outcome, Verdict};
use crate::{output, target};
use std::io::Write;

/// Prints name, pattern and emitted instructions, one tile per line.
pub(crate) fn tiles(args: &target::TargetArgs) -> Outcome {
    let compiler = target::compiler(args, None, false)?;
    let mut out = output::stdout();
    for tile in compiler.isa().tiles() {
        writeln!(out, "{:<18} {}  =>  {}", tile.name, tile.pattern, tile.emitted)?;
    }
    out.flush()?;
    Ok(Verdict::Good)
}
