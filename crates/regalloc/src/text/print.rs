//! Printing the `.ra` text form.

use super::file::{Case, File};
use super::lex::is_name_char;
use crate::allocation::{Allocation, Edit, EditKind, Loc};
use crate::entities::{Block, Edge, Inst, VReg};
use crate::env::{ClassEnv, MachineEnv};
use crate::operand::{Constraint, Operand};
use crate::problem::{InstFlags, Problem, VRegData};
use crate::reg::RegClass;
use cranelift_entity::EntityRef;
use std::fmt::{self, Display, Formatter};

impl Display for File {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(env) = &self.env {
            write!(f, "{env}")?;
        }
        for Case { problem, allocation, .. } in &self.cases {
            write!(f, "{problem}")?;
            if let Some(allocation) = allocation {
                write!(f, "{}", display_allocation(problem, allocation))?;
            }
        }
        Ok(())
    }
}

impl Display for MachineEnv {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "env {{")?;
        for class in RegClass::ALL {
            write_class(f, class, self.class(class))?;
        }
        let c = &self.costs;
        write!(f, "  costs move {}, exchange {}, spill {}, fill {}, ", c.mov, c.exchange, c.spill, c.fill)?;
        write!(f, "remat {}, slot_move {}, ", c.remat, c.slot_move)?;
        writeln!(f, "callee_saved {}, edge_block {}\n}}", c.callee_saved, c.edge_block)
    }
}

fn write_class(f: &mut Formatter<'_>, class: RegClass, env: &ClassEnv) -> fmt::Result {
    write!(f, "  {class} ")?;
    write_list(f, &env.order)?;
    if !env.callee_saved.is_empty() {
        write!(f, " saved {}", env.callee_saved)?;
    }
    if let Some(scratch) = env.scratch {
        write!(f, " scratch {scratch}")?;
    }
    f.write_str(if env.exchange { " exchange" } else { "" })?;
    f.write_str(if env.slot_move { " slot_move\n" } else { "\n" })
}

fn write_list<T: Display>(f: &mut Formatter<'_>, items: impl IntoIterator<Item = T>) -> fmt::Result {
    for (i, item) in items.into_iter().enumerate() {
        write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
    }
    Ok(())
}

impl Display for Problem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("problem %")?;
        write_name(f, &self.name)?;
        writeln!(f, " {{")?;
        write_vregs(f, self)?;
        let numbered = edges_out_of_order(self);
        for block in self.blocks() {
            write_block(f, self, block, numbered)?;
        }
        if !self.order.iter().copied().eq(self.blocks()) {
            f.write_str("  order ")?;
            write_list(f, &self.order)?;
            f.write_str("\n")?;
        }
        for label in &self.labels {
            writeln!(f, "  label {} = {} over {}..{}", label.label, label.vreg, label.from, label.to)?;
        }
        f.write_str("}\n")
    }
}

fn write_name(f: &mut Formatter<'_>, name: &str) -> fmt::Result {
    match name.chars().all(is_name_char) {
        true => f.write_str(name),
        false => write!(f, "\"{}\"", name.escape_default()),
    }
}

/// Writes values with equal class, width and reference flag on one line, at most sixteen per line.
fn write_vregs(f: &mut Formatter<'_>, problem: &Problem) -> fmt::Result {
    let mut group: Vec<VReg> = Vec::new();
    for (vreg, data) in problem.vregs.iter() {
        group.push(vreg);
        let next = VReg::new(vreg.index() + 1);
        if group.len() == 16 || problem.vregs.get(next) != Some(data) {
            f.write_str("  ")?;
            write_list(f, group.drain(..))?;
            let VRegData { class, width, is_ref } = data;
            writeln!(f, ": {class} {width}{}", if *is_ref { " ref" } else { "" })?;
        }
    }
    Ok(())
}

/// Returns `true` if the numbers of the edges, read block by block, are not 0, 1, 2 and so on.
fn edges_out_of_order(problem: &Problem) -> bool {
    let read = problem.blocks().flat_map(|block| problem.succs(block));
    !read.copied().eq(problem.edges())
}

fn write_block(f: &mut Formatter<'_>, problem: &Problem, block: Block, numbered: bool) -> fmt::Result {
    write!(f, "  {block}")?;
    write_vreg_list(f, problem.params(block))?;
    writeln!(f, " freq {}:", problem.freq(block))?;
    let last = problem.insts(block).next_back();
    for inst in problem.insts(block) {
        write!(f, "    {inst}:")?;
        write_inst(f, problem, inst)?;
        if Some(inst) == last {
            for (i, &edge) in problem.succs(block).iter().enumerate() {
                f.write_str(if i == 0 { " -> " } else { ", " })?;
                write_edge(f, problem, edge, numbered)?;
            }
        }
        f.write_str("\n")?;
    }
    Ok(())
}

/// Writes `(v1, v2)`, or nothing for an empty list.
fn write_vreg_list(f: &mut Formatter<'_>, vregs: &[VReg]) -> fmt::Result {
    if vregs.is_empty() {
        return Ok(());
    }
    f.write_str("(")?;
    write_list(f, vregs)?;
    f.write_str(")")
}

fn write_edge(f: &mut Formatter<'_>, problem: &Problem, edge: Edge, numbered: bool) -> fmt::Result {
    let data = problem.edge(edge);
    if numbered {
        write!(f, "{edge} ")?;
    }
    write!(f, "{}", data.to)?;
    write_vreg_list(f, problem.edge_args(edge))?;
    write!(f, " freq {}", data.freq)?;
    if !problem.edge_defs(edge).is_empty() {
        f.write_str(" defines ")?;
        write_vreg_list(f, problem.edge_defs(edge))?;
    }
    Ok(())
}

/// The words of the instruction flags.
pub(super) const FLAGS: [(&str, InstFlags); 4] = [
    ("move", InstFlags::MOVE),
    ("safepoint", InstFlags::SAFEPOINT),
    ("remat", InstFlags::REMAT),
    ("branch", InstFlags::BRANCH),
];

fn write_inst(f: &mut Formatter<'_>, problem: &Problem, inst: Inst) -> fmt::Result {
    let (flags, clobbers) = (problem.flags(inst), *problem.clobbers(inst));
    let operands = problem.operands(inst);
    let silent = clobbers == Default::default();
    if flags == InstFlags::NONE && operands.is_empty() && silent {
        f.write_str(" nop")?;
    }
    for (word, _) in FLAGS.iter().filter(|(_, flag)| flags.has(*flag)) {
        write!(f, " {word}")?;
    }
    let mut comma = " ";
    for &operand in operands {
        f.write_str(std::mem::replace(&mut comma, ", "))?;
        write_operand(f, problem, operand)?;
    }
    if !silent {
        write!(f, "{comma}clobbers {}", clobbers.lost)?;
        if !clobbers.partial.is_empty() || clobbers.kept_bytes != 0 {
            write!(f, " kept {} {}", clobbers.kept_bytes, clobbers.partial)?;
        }
    }
    Ok(())
}

/// Returns an instruction of a problem in its text form, with a blank before it.
pub fn display_inst(problem: &Problem, inst: Inst) -> impl Display + '_ {
    fmt::from_fn(move |f| write_inst(f, problem, inst))
}

/// Writes an operand in [`Operand`]'s text form, with the registers of a subset.
fn write_operand(f: &mut Formatter<'_>, problem: &Problem, operand: Operand) -> fmt::Result {
    let Constraint::Within(set) = operand.constraint() else { return write!(f, "{operand}") };
    let plain = Operand::new(operand.vreg(), operand.kind(), operand.pos(), Constraint::Reg);
    let set = problem.all_reg_sets().get(set).copied().unwrap_or_default();
    write!(f, "{plain} in {set}{}", if operand.is_rmw() { " rmw" } else { "" })
}

/// Returns the text form of an allocation. It depends on the problem.
pub fn display_allocation<'a>(problem: &'a Problem, allocation: &'a Allocation) -> impl Display + 'a {
    DisplayAllocation { problem, allocation }
}

struct DisplayAllocation<'a> {
    problem: &'a Problem,
    allocation: &'a Allocation,
}

impl Display for DisplayAllocation<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "allocation {{")?;
        self.write_slots(f)?;
        if !self.allocation.saved.is_empty() {
            writeln!(f, "  saved {}", self.allocation.saved)?;
        }
        self.write_code(f)?;
        let maps = self.allocation.stack_maps.chunk_by(|a, b| a.inst == b.inst);
        for map in maps {
            write!(f, "  map {}: ", map[0].inst)?;
            write_list(f, map.iter().map(|entry| entry.slot))?;
            f.write_str("\n")?;
        }
        for label in &self.allocation.labels {
            writeln!(f, "  label {} = {} over {}..{}", label.label, label.loc, label.from, label.to)?;
        }
        let stats = self.allocation.stats;
        if stats != Default::default() {
            let (steps, splits, evictions) = (stats.steps, stats.splits, stats.evictions);
            writeln!(f, "  stats steps {steps} splits {splits} evictions {evictions}")?;
        }
        f.write_str("}\n")
    }
}

impl DisplayAllocation<'_> {
    fn write_slots(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let slots: Vec<_> = self.allocation.slots.iter().collect();
        for line in slots.chunks(8) {
            f.write_str("  slots ")?;
            for (i, (slot, data)) in line.iter().enumerate() {
                write!(f, "{}{slot}: {}", if i == 0 { "" } else { ", " }, data.size)?;
                if data.align != data.size {
                    write!(f, " align {}", data.align)?;
                }
            }
            f.write_str("\n")?;
        }
        for class in RegClass::ALL {
            if let Some(slot) = self.allocation.emergency[class.index()] {
                writeln!(f, "  emergency {class} {slot}")?;
            }
        }
        Ok(())
    }

    /// Writes the locations of each instruction after the edits before it, in the order of the list.
    fn write_code(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut edits = self.allocation.edits.iter().peekable();
        for inst in (0..self.problem.num_insts()).map(Inst::new) {
            while let Some(edit) = edits.next_if(|edit| edit.at <= inst) {
                write_edit(f, edit)?;
            }
            let locs = self.problem.operand_range(inst);
            let dropped = self.allocation.is_dropped(inst);
            if locs.is_empty() && !dropped {
                continue;
            }
            write!(f, "  {inst}{}: ", if dropped { " dropped" } else { "" })?;
            write_list(f, locs.map(|i| self.allocation.locs.get(i).copied().unwrap_or(Loc::NONE)))?;
            f.write_str("\n")?;
        }
        edits.try_for_each(|edit| write_edit(f, edit))
    }
}

fn write_edit(f: &mut Formatter<'_>, edit: &Edit) -> fmt::Result {
    writeln!(f, "  before {}: {}", edit.at, edit.kind)
}

/// Text form: `move r0 -> r1 8`, where 8 is the width.
impl Display for EditKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            EditKind::Move { from, to, width } => write!(f, "move {from} -> {to} {width}"),
            EditKind::Exchange { a, b, width } => write!(f, "exchange {a}, {b} {width}"),
            EditKind::Spill { from, to, width } => write!(f, "spill {from} -> {to} {width}"),
            EditKind::Fill { from, to, width } => write!(f, "fill {from} -> {to} {width}"),
            EditKind::SlotMove { from, to, width } => write!(f, "slot_move {from} -> {to} {width}"),
            EditKind::Remat { inst, to } => write!(f, "remat {inst} -> {to}"),
        }
    }
}
