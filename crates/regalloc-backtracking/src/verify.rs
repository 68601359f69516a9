//! Verification of the results on which later phases rely, for [`Diagnostics::verifies`].
//!
//! 1. *liveness*: the ranges of a value ascend without overlap, and every use with an operand lies in one.
//! 2. *bundles*: the segments of a bundle ascend without overlap and are of one class, and every live value is in a
//!    spill set.
//! 3. *search*: a register is assigned to one bundle at a time, and to bundles of its class.
//! 4. *locations*: the fragments of a value ascend without overlap.
//!
//! The checker verifies that no bundle interferes with a reservation of another value's operand.
//!
//! Cost: n log n in segments.
//!
//! [`Diagnostics::verifies`]: kingpost_regalloc::Diagnostics::verifies

use crate::bundles::Bundles;
use crate::liveness::{Liveness, Need};
use crate::value_locations::ValueLocations;
use kingpost_regalloc::Problem;
use kingpost_regalloc::sort::sort_by_key;
use kingpost_regalloc_common::point::PointRange;
use std::fmt::Display;

pub(crate) fn liveness(problem: &Problem, live: &Liveness) -> Result<(), String> {
    for vreg in problem.vregs.keys().filter(|&vreg| !live.is_memory_only(vreg)) {
        ascend(vreg, live.ranges(vreg).iter().map(|segment| segment.range()))?;
        let is_written_only = live.uses(vreg).len() < 2;
        for u in live.uses(vreg).iter().filter(|u| !is_written_only && matches!(u.need, Need::Reg | Need::Within)) {
            if !live.is_live(vreg, u.point) {
                return Err(format!("{vreg} is not live where it is used, at {}", u.point));
            }
        }
    }
    Ok(())
}

pub(crate) fn bundles(problem: &Problem, live: &Liveness, bundles: &Bundles) -> Result<(), String> {
    for bundle in bundles.bundles.keys() {
        let segments = bundles.segments(bundle);
        ascend(bundle, segments.iter().map(|segment| segment.range()))?;
        let class = segments.first().map(|first| problem.class(first.vreg));
        if segments.iter().any(|segment| Some(problem.class(segment.vreg)) != class) {
            return Err(format!("{bundle} has values of both classes"));
        }
    }
    match problem.vregs.keys().find(|&vreg| !live.ranges(vreg).is_empty() && bundles.spill_set(vreg).is_none()) {
        Some(vreg) => Err(format!("{vreg} is in no spill set")),
        None => Ok(()),
    }
}

pub(crate) fn search(problem: &Problem, bundles: &Bundles) -> Result<(), String> {
    let mut assigned = Vec::new();
    for (bundle, data) in &bundles.bundles {
        let Some(reg) = data.reg else { continue };
        for segment in bundles.segments(bundle) {
            if problem.class(segment.vreg) != reg.class() {
                return Err(format!("{bundle} is in {reg}"));
            }
            assigned.push((reg.index(), segment.range(), bundle));
        }
    }
    sort_by_key(&mut assigned, |&(reg, points, _)| (reg, points));
    match assigned.windows(2).find(|pair| pair[0].0 == pair[1].0 && pair[0].1.to > pair[1].1.from) {
        Some(pair) => Err(format!("{} and {} share a register at {}", pair[0].2, pair[1].2, pair[1].1.from)),
        None => Ok(()),
    }
}

pub(crate) fn locations(problem: &Problem, locations: &ValueLocations) -> Result<(), String> {
    let mut values = problem.vregs.keys();
    values.try_for_each(|v| ascend(v, locations.fragments(v).iter().map(|fragment| fragment.points)))
}

/// Fails unless the ranges have points, ascend and do not overlap.
fn ascend(of: impl Display, ranges: impl Iterator<Item = PointRange>) -> Result<(), String> {
    let mut last = PointRange::EMPTY;
    for range in ranges {
        if range.is_empty() || range.from < last.to {
            return Err(format!("{of} has {range} after {last}"));
        }
        last = range;
    }
    Ok(())
}
