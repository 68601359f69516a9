//! Decisions of the allocator, in their order.

use crate::names::Names;
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
