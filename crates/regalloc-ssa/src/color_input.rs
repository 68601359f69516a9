//! The results that coloring and the phases after it read.

use crate::coalescing::Coalescing;
use crate::constraints::Constraints;
use crate::liveness::Liveness;
use crate::register_hints::RegisterHints;
use crate::reload::ReloadPlan;
use crate::spill_plan::SpillPlan;
use kingpost_regalloc::meter::MeterRef;
use kingpost_regalloc::{MachineEnv, Problem};
use kingpost_regalloc_common::order::LinearOrder;

/// Input of coloring and of the phases after it.
pub(crate) struct ColorInput<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) env: &'a MachineEnv,
    pub(crate) order: &'a LinearOrder,
    pub(crate) constraints: &'a Constraints,
    pub(crate) live: &'a Liveness,
    pub(crate) classes: &'a Coalescing,
    pub(crate) spills: &'a SpillPlan,
    pub(crate) plan: &'a ReloadPlan,
    pub(crate) hints: &'a RegisterHints,
    pub(crate) meter: MeterRef<'a>,
}
