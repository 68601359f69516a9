//! Decisions of the allocator, in their order.

use crate::live_ranges::LiveRange;
use crate::names::Names;
use crate::rows::{Row, RowKind};
use kingpost_regalloc::{Event, Inst, Loc, Observer, VReg};

/// One decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Kind: `stage`, `assign`, `split`, `evict`, `spill`, `reload` or `coalesce`.
    pub kind: &'static str,
    /// The decision in words, with the names of the text.
    pub text: String,
    /// The value that is concerned, and a second one if there is one.
    pub vregs: [Option<VReg>; 2],
    /// The location.
    pub loc: Option<Loc>,
    /// The first instruction, and one past the last; equal for a place between two instructions.
    pub range: Option<(Inst, Inst)>,
}

/// Observer that records decisions.
pub(crate) struct Recorder<'a> {
    pub(crate) names: &'a Names<'a>,
    pub(crate) decisions: Vec<Decision>,
}

impl Observer for Recorder<'_> {
    fn event(&mut self, event: Event<'_>) {
        let name = |vreg: VReg| self.names.vreg(vreg);
        let about = |kind, vreg: VReg, at: Inst, text| Decision {
            kind,
            text,
            vregs: [Some(vreg), None],
            loc: None,
            range: Some((at, at)),
        };
        let decision = match event {
            Event::Stage(stage) => {
                Decision { kind: "stage", text: stage.into(), vregs: [None; 2], loc: None, range: None }
            }
            Event::Assign { vreg, loc, from, to } => Decision {
                loc: Some(loc),
                range: Some((from, to)),
                ..about("assign", vreg, from, format!("{} in {}", name(vreg), self.names.loc(loc)))
            },
            Event::Split { vreg, at } => about("split", vreg, at, format!("{} is split", name(vreg))),
            Event::Evict { vreg, winner, at } => Decision {
                vregs: [Some(vreg), Some(winner)],
                ..about("evict", vreg, at, format!("{} evicts {}", name(winner), name(vreg)))
            },
            Event::Spill { vreg, at } => about("spill", vreg, at, format!("{} goes to memory", name(vreg))),
            Event::Reload { vreg, at } => {
                about("reload", vreg, at, format!("{} comes back into a register", name(vreg)))
            }
            Event::Coalesce { a, b } => Decision {
                kind: "coalesce",
                text: format!("{} and {} share one location", name(a), name(b)),
                vregs: [Some(a), Some(b)],
                loc: None,
                range: None,
            },
            // Kinds of events may be added.
            other => Decision { kind: "other", text: other.to_string(), vregs: [None; 2], loc: None, range: None },
        };
        self.decisions.push(decision);
    }
}

impl Recorder<'_> {
    /// Records the decisions that an answer shows, in the order of the code: ranges in registers, stores to slots and
    /// loads from them. Some allocators report no decisions, as `fused`, which decides while it emits.
    pub(crate) fn read_back(&mut self, rows: &[Row], ranges: &[LiveRange]) {
        let mut ranges: Vec<&LiveRange> = ranges.iter().filter(|range| range.loc.as_reg().is_some()).collect();
        ranges.sort_by_key(|range| range.from);
        let mut ranges = ranges.into_iter().peekable();
        for (index, row) in rows.iter().enumerate() {
            let Some(at) = inst_from(rows, index) else { break };
            for step in &row.moves {
                let Some(vreg) = step.vreg else { continue };
                if step.to.as_slot().is_some() {
                    self.event(Event::Spill { vreg, at });
                } else if step.from.is_none_or(|from| from.as_slot().is_some()) {
                    self.event(Event::Reload { vreg, at });
                }
            }
            while let Some(range) = ranges.next_if(|range| range.from as usize <= 2 * index + 1) {
                let to = inst_from(rows, range.to.div_ceil(2) as usize).unwrap_or(Inst::from_u32(at.as_u32() + 1));
                self.event(Event::Assign { vreg: range.vreg, loc: range.loc, from: at, to });
            }
        }
    }
}

/// Returns the instruction of the row, or else of the next row that has one.
fn inst_from(rows: &[Row], index: usize) -> Option<Inst> {
    rows.get(index..)?.iter().find_map(|row| match row.kind {
        RowKind::Inst { inst, .. } => Some(inst),
        _ => None,
    })
}
