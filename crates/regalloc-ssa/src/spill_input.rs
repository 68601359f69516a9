//! The results that spilling and the phases between it and coloring read.

use crate::coalescing::Coalescing;
use crate::constraints::Constraints;
use crate::liveness::Liveness;
use kingpost_regalloc::meter::MeterRef;
use kingpost_regalloc::{MachineEnv, Problem};
use kingpost_regalloc_common::order::LinearOrder;

/// Input of spilling, and of the phases between it and coloring.
pub(crate) struct SpillInput<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) env: &'a MachineEnv,
    pub(crate) order: &'a LinearOrder,
    pub(crate) constraints: &'a Constraints,
    pub(crate) live: &'a Liveness,
    pub(crate) classes: &'a Coalescing,
    pub(crate) meter: MeterRef<'a>,
}
