//! What each stage found out about the problem solved last, as text, for tests and for the curious.
//!
//! ```text
//! collect    v0: 1l..4e..                     live ranges, then hint and rematerialization
//! scan       v0: r0 1l..3, r4 3..7l           split intervals
//! resolve    b1 -> b3: r1 -> r2 v0            moves of edges, and where values are stored
//! slots      s0: v0 v3                        values by slot
//! ```

use crate::allocator::LinearScan;
use crate::values::fact;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, Problem, Slot, VReg};
use kingpost_regalloc_common::preference::{Reg, regs};
use std::fmt::{Result, Write};

/// The stages, in order, and what each leaves.
type Stage = (&'static str, fn(&LinearScan, &Problem, &Allocation, &mut String) -> Result);
const STAGES: [Stage; 4] = [
    ("collect", LinearScan::dump_collect),
    ("scan", LinearScan::dump_scan),
    ("resolve", LinearScan::dump_resolve),
    ("slots", LinearScan::dump_slots),
];

impl LinearScan {
    /// What each stage found out about `problem`, which was solved last, with the answer `out`: the stage's name, and
    /// lines.
    pub fn dump(&self, problem: &Problem, out: &Allocation) -> Vec<(&'static str, String)> {
        let text = |&(name, write): &Stage| {
            let mut text = String::new();
            // Writing to a string cannot fail.
            let _ = write(self, problem, out, &mut text);
            (name, text)
        };
        STAGES.iter().map(text).collect()
    }

    fn dump_collect(&self, problem: &Problem, _: &Allocation, out: &mut String) -> Result {
        for vreg in problem.vregs.keys() {
            let value = &self.values[vreg];
            write!(out, "{vreg}:")?;
            for range in self.values.ranges(vreg) {
                write!(out, " {range}")?;
            }
            if value.has(fact::HULL) {
                write!(out, " or less")?;
            }
            if !value.hint.is_none() {
                write!(out, ", hint {} at {}", self.registers.preg(value.hint), value.hint_at.as_u32())?;
            }
            if let Some(related) = value.flows_into() {
                write!(out, ", flows into {related}")?;
            }
            if let Some(inst) = self.values.remat(vreg) {
                write!(out, ", remat {inst}")?;
            }
            writeln!(out)?;
        }
        for point in &self.constraints.clobber_points {
            write!(out, "{}:", point.position.as_u32())?;
            let clobbered = self.registers.clobbered(point.clobbers);
            for (name, masks) in [("early", point.early), ("late", point.late), ("clobbers", clobbered.lost)] {
                let mut members = (0..2).flat_map(|class| regs(class, masks[class])).peekable();
                if members.peek().is_some() {
                    write!(out, " {name}")?;
                }
                for reg in members {
                    write!(out, " {}", self.registers.preg(reg))?;
                }
            }
            writeln!(out, "{}", if point.safepoint { " safepoint" } else { "" })?;
        }
        Ok(())
    }

    fn dump_scan(&self, problem: &Problem, _: &Allocation, out: &mut String) -> Result {
        for vreg in problem.vregs.keys() {
            let mut own = Vec::new();
            let mut id = self.values[vreg].interval;
            while let Some(interval) = self.scan.occupancy.intervals.get(id as usize) {
                if !interval.is_void() {
                    own.push(interval);
                }
                id = interval.prev;
            }
            write!(out, "{vreg}:")?;
            for interval in own.into_iter().rev() {
                write!(out, " {} {}..{}", self.registers.preg(interval.reg), interval.from, interval.to)?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    fn dump_resolve(&self, problem: &Problem, _: &Allocation, out: &mut String) -> Result {
        let name = |reg: Reg| match reg.is_none() {
            true => "memory".to_string(),
            false => self.registers.preg(reg).to_string(),
        };
        for edge in problem.edges() {
            let data = problem.edge(edge);
            for m in self.resolved.edges.of(edge) {
                write!(out, "{} -> {}: {} -> {} {}", data.from, data.to, name(m.from), name(m.to), m.from_vreg)?;
                if m.to_vreg != m.from_vreg {
                    write!(out, " as {}", m.to_vreg)?;
                }
                writeln!(out, "{}", if m.leaves_register { " unless stored before" } else { "" })?;
            }
        }
        for vreg in problem.vregs.keys() {
            let facts = [
                (fact::DEF_IN_MEM, "defined in memory"),
                (fact::STORED_AT_DEF, "stored at its definition"),
                (fact::STORED_LATE, "stored at spill points"),
            ];
            for (fact, text) in facts {
                if self.values.has(vreg, fact) && self.values.has(vreg, fact::IN_SLOT) {
                    writeln!(out, "{vreg} {text}")?;
                }
            }
        }
        Ok(())
    }

    fn dump_slots(&self, problem: &Problem, answer: &Allocation, out: &mut String) -> Result {
        for slot in (0..answer.slots.len()).map(Slot::new) {
            let members: Vec<VReg> =
                problem.vregs.keys().filter(|&vreg| self.values.slot(vreg) == Some(slot)).collect();
            if !members.is_empty() {
                write!(out, "{slot}: {} bytes", answer.slots[slot].size)?;
                members.iter().try_for_each(|vreg| write!(out, " {vreg}"))?;
                writeln!(out)?;
            }
        }
        Ok(())
    }
}
