//! The results of the stages as text.
//!
//! ```text
//! liveness   v0: 1l..4e..                     live ranges, then hint and rematerialization
//! scan       v0: r0 1l..3, r4 3..7l           split intervals
//! resolve    b1 -> b3: r1 -> r2 v0            moves of edges, and where values are stored
//! slots      s0: v0 v3                        values by slot
//! ```

use crate::linear_scan::ScanResult;
use crate::resolve::{ResolveInput, Resolved};
use crate::values::{Values, flag};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, Slot, VReg};
use kingpost_regalloc_common::preference::{Reg, regs};
use std::fmt::{Result, Write};

/// Writes the result of liveness.
pub(crate) fn liveness(input: &ResolveInput<'_>, values: &Values, out: &mut String) -> Result {
    let ResolveInput { problem, registers, constraints, .. } = input;
    for vreg in problem.vregs.keys() {
        let value = &values[vreg];
        write!(out, "{vreg}:")?;
        for range in values.ranges(vreg) {
            write!(out, " {range}")?;
        }
        if value.has(flag::HULL) {
            write!(out, " or less")?;
        }
        if !value.hint.is_none() {
            write!(out, ", hint {} at {}", registers.preg(value.hint), value.hint_at.as_u32())?;
        }
        if let Some(related) = value.flows_into() {
            write!(out, ", flows into {related}")?;
        }
        if let Some(inst) = values.remat(vreg) {
            write!(out, ", remat {inst}")?;
        }
        writeln!(out)?;
    }
    for point in &constraints.clobber_points {
        write!(out, "{}:", point.position.as_u32())?;
        let clobbered = registers.clobbered(point.clobbers);
        for (name, masks) in [("early", point.early), ("late", point.late), ("clobbers", clobbered.lost)] {
            let mut members = (0..2).flat_map(|class| regs(class, masks[class])).peekable();
            if members.peek().is_some() {
                write!(out, " {name}")?;
            }
            for reg in members {
                write!(out, " {}", registers.preg(reg))?;
            }
        }
        writeln!(out, "{}", if point.safepoint { " safepoint" } else { "" })?;
    }
    Ok(())
}

/// Writes the split intervals.
pub(crate) fn scan(input: &ResolveInput<'_>, values: &Values, scan: &ScanResult, out: &mut String) -> Result {
    let ResolveInput { problem, registers, .. } = input;
    for vreg in problem.vregs.keys() {
        let mut own = Vec::new();
        let mut next = values[vreg].interval.expand();
        while let Some(id) = next {
            let interval = &scan.occupancy.intervals[id];
            if !interval.is_void() {
                own.push(interval);
            }
            next = interval.prev.expand();
        }
        write!(out, "{vreg}:")?;
        for interval in own.into_iter().rev() {
            write!(out, " {} {}..{}", registers.preg(interval.reg), interval.from, interval.to)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes the moves of edges, and the places at which values are stored.
pub(crate) fn resolve(input: &ResolveInput<'_>, values: &Values, resolved: &Resolved, out: &mut String) -> Result {
    let ResolveInput { problem, registers, .. } = input;
    let name = |reg: Reg| match reg.is_none() {
        true => "memory".to_string(),
        false => registers.preg(reg).to_string(),
    };
    for edge in problem.edges() {
        let data = problem.edge(edge);
        for m in resolved.edges.of(edge) {
            write!(out, "{} -> {}: {} -> {} {}", data.from, data.to, name(m.from), name(m.to), m.from_vreg)?;
            if m.to_vreg != m.from_vreg {
                write!(out, " as {}", m.to_vreg)?;
            }
            writeln!(out, "{}", if m.leaves_register { " unless stored before" } else { "" })?;
        }
    }
    for vreg in problem.vregs.keys() {
        let facts = [
            (flag::DEF_IN_MEM, "defined in memory"),
            (flag::STORED_AT_DEF, "stored at its definition"),
            (flag::STORED_LATE, "stored at spill points"),
        ];
        for (fact, text) in facts {
            if values.has(vreg, fact) && values.has(vreg, flag::IN_SLOT) {
                writeln!(out, "{vreg} {text}")?;
            }
        }
    }
    Ok(())
}

/// Writes the values by slot.
pub(crate) fn slots(input: &ResolveInput<'_>, values: &Values, answer: &Allocation, out: &mut String) -> Result {
    let problem = input.problem;
    for slot in (0..answer.slots.len()).map(Slot::new) {
        let members: Vec<VReg> = problem.vregs.keys().filter(|&vreg| values.slot(vreg) == Some(slot)).collect();
        if !members.is_empty() {
            write!(out, "{slot}: {} bytes", answer.slots[slot].size)?;
            members.iter().try_for_each(|vreg| write!(out, " {vreg}"))?;
            writeln!(out)?;
        }
    }
    Ok(())
}
