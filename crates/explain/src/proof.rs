//! The proof of the emitted code in a listing: places of values at the heads of blocks, and the obligation that failed.

use crate::rows::Row;
#[cfg(feature = "validate")]
use crate::rows::RowKind;
use kingpost_codegen::Context;
use kingpost_ir::Function;
#[cfg(feature = "validate")]
use kingpost_mach::block_order::MachineBlock;

/// Adds rows about the proof of the function compiled last in `cx`, after the rows of its blocks. Adds none if the
/// setting `validate_code` is off.
#[cfg(feature = "validate")]
pub(crate) fn annotate(cx: &Context, func: &Function, rows: &mut Vec<Row>) {
    use kingpost_validate::Verdict;

    let Some(report) = cx.proof() else { return };
    let finding = match &report.verdict {
        Verdict::Refuted(finding) | Verdict::NotProved(finding) => Some(finding),
        Verdict::Proved | Verdict::OutOfScope(_) => None,
    };
    let note = |text: String| Row { asm: text, ..Row::new(RowKind::Proof) };
    let mut annotated = Vec::with_capacity(rows.len());
    if finding.is_none_or(|finding| finding.block.is_none()) {
        annotated.push(note(format!("; {}", report.verdict)));
    }
    for row in rows.drain(..) {
        let kind = row.kind;
        annotated.push(row);
        let RowKind::Block(block) = kind else { continue };
        let MachineBlock::Ir(block) = cx.lowering().machine_blocks()[block.as_u32() as usize] else { continue };
        let heads = cx.proof_heads().iter().filter(|head| head.block == block);
        for head in heads.filter(|head| !head.places.is_empty()) {
            let places = head.places.iter().map(|(value, place)| format!("{} in {place}", named(func, value)));
            annotated.push(note(format!("; at the head: {}", places.collect::<Vec<_>>().join(", "))));
        }
        if let Some(finding) = finding.filter(|finding| finding.block == Some(block)) {
            annotated.push(note(format!("; {}", report.verdict.name().to_string() + ": " + &finding.to_string())));
        }
    }
    *rows = annotated;
}

/// Returns the name of a value, or of a half of one, in the function's text.
#[cfg(feature = "validate")]
fn named(func: &Function, part: &str) -> String {
    let (number, half) = part.split_at(part.find('.').unwrap_or(part.len()));
    let value = number.strip_prefix('v').and_then(|number| number.parse().ok()).map(kingpost_ir::Value::from_u32);
    value.map_or(part.into(), |value| format!("{}{half}", func.names.value(value)))
}

/// Adds nothing, because this build has no proofs.
#[cfg(not(feature = "validate"))]
pub(crate) fn annotate(_cx: &Context, _func: &Function, _rows: &mut Vec<Row>) {}
