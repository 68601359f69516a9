//! Verification of the results on which later stages rely, for [`Diagnostics::verifies`].
//!
//! 1. *liveness*: the live ranges of a value ascend without overlap.
//! 2. *liveness*: a value is live at its definition and its last use.
//! 3. *scan*: no register holds two values at one point.
//! 4. *scan*: a value is in registers of its class.
//! 5. *resolve*: each edge leaves every value in the register in which its target expects it.
//! 6. *slots*: no two values that share a slot are live at one point.
//!
//! Cost: n log n in live ranges, split intervals and edges times registers.
//!
//! [`Diagnostics::verifies`]: kingpost_regalloc::Diagnostics::verifies

use crate::linear_scan::ScanResult;
use crate::resolve::{ResolveInput, Resolved};
use crate::values::Values;
use cranelift_entity::EntityRef;
use kingpost_regalloc::sort::{sort, sort_by_key};
use kingpost_regalloc::{Edge, VReg};
use kingpost_regalloc_common::point::{PointRange, ProgPoint};
use kingpost_regalloc_common::preference::Reg;

pub(crate) fn liveness(input: &ResolveInput<'_>, values: &Values) -> Result<(), String> {
    let in_order = input.problem.vregs.keys().filter(|&vreg| values.def(vreg) != ProgPoint::OPEN);
    for vreg in in_order {
        let ranges = values.ranges(vreg);
        if ranges.iter().any(PointRange::is_empty) || ranges.windows(2).any(|pair| pair[0].to > pair[1].from) {
            return Err(format!("rule 1: {vreg} is live over {ranges:?}"));
        }
        let last = values.is_used(vreg).then_some(values[vreg].last);
        for point in [Some(values.def(vreg)), last].into_iter().flatten() {
            if !values.is_live_at(vreg, point) {
                return Err(format!("rule 2: {vreg} is not live at {point}"));
            }
        }
    }
    Ok(())
}

pub(crate) fn scan(input: &ResolveInput<'_>, values: &Values, scan: &ScanResult) -> Result<(), String> {
    let mut intervals: Vec<_> = scan.occupancy.intervals.values().filter(|interval| !interval.is_void()).collect();
    sort_by_key(&mut intervals, |interval| (interval.reg.index(), interval.from));
    if let Some(pair) = intervals.windows(2).find(|pair| pair[0].reg == pair[1].reg && pair[0].to > pair[1].from) {
        let reg = input.registers.preg(pair[0].reg);
        return Err(format!("rule 3: {} and {} are in {reg} at {}", pair[0].vreg, pair[1].vreg, pair[1].from));
    }
    match intervals.iter().find(|interval| interval.reg.class() != values[interval.vreg].class()) {
        Some(interval) => Err(format!("rule 4: {} is in {}", interval.vreg, input.registers.preg(interval.reg))),
        None => Ok(()),
    }
}

pub(crate) fn resolve(
    input: &ResolveInput<'_>,
    values: &Values,
    scan: &ScanResult,
    resolved: &Resolved,
) -> Result<(), String> {
    for edge in input.problem.edges() {
        let (from, to) = (input.problem.edge(edge).from, input.problem.edge(edge).to);
        let head = input.order.index(to);
        if !scan.blocks[head.index()].resolve {
            continue;
        }
        let start = input.order.block(head).start();
        for interval in scan.map(&scan.blocks[head.index()].at_head).iter().map(|&id| scan.occupancy.intervals[id]) {
            let (vreg, reg) = (interval.vreg, interval.reg);
            let is_expected = interval.covers(start) && values.is_used(vreg) && values.is_exact(vreg);
            if is_expected && !arrives(input, scan, resolved, edge, vreg, reg) {
                let reg = input.registers.preg(reg);
                return Err(format!("rule 5: {from} -> {to} does not leave {vreg} in {reg}"));
            }
        }
    }
    Ok(())
}

/// Returns `true` if the edge leaves the value in the register.
fn arrives(input: &ResolveInput<'_>, scan: &ScanResult, resolved: &Resolved, edge: Edge, vreg: VReg, reg: Reg) -> bool {
    let problem = input.problem;
    let data = problem.edge(edge);
    let params = problem.params(data.to).iter().zip(problem.edge_args(edge));
    let source = params.clone().find(|pair| *pair.0 == vreg).map_or(vreg, |pair| *pair.1);
    let at_end = scan.map(&scan.blocks[input.order.index(data.from).index()].at_end);
    let last = input.order.block(input.order.index(data.from)).stop().prev();
    let mut held = at_end.iter().map(|&id| scan.occupancy.intervals[id]).filter(|interval| interval.covers(last));
    resolved.edges.of(edge).iter().any(|m| m.to_vreg == vreg && m.to == reg)
        || problem.edge_defs(edge).contains(&vreg)
        || held.any(|interval| interval.vreg == source && interval.reg == reg)
}

pub(crate) fn slots(values: &Values, resolved: &Resolved) -> Result<(), String> {
    let mut ranges = Vec::new();
    for &vreg in &resolved.in_slots {
        ranges.extend(values.ranges(vreg).iter().map(|&range| (values.slot(vreg), range, vreg)));
    }
    sort(&mut ranges);
    match ranges.windows(2).find(|pair| pair[0].0 == pair[1].0 && pair[0].1.overlaps(pair[1].1)) {
        Some(pair) => Err(format!("rule 6: {} and {} share a slot at {}", pair[0].2, pair[1].2, pair[1].1.from)),
        None => Ok(()),
    }
}
