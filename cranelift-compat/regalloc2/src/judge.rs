//! Outputs of regalloc2, or ours in its form, as allocations of our contract: to be checked and priced.

use crate::flow::Flow;
use crate::machine::Part;
use crate::refusal::Refusal;
use crate::translate::{NO_TARGET, Purpose, Translation, fixed_slot, operand_offsets, translate, width};
use kingpost_checker::Checker;
use kingpost_regalloc::{Allocation, Cost, Edit, EditKind, Inst, Loc, PReg, RegClass, Slot};
use regalloc2::{Function, InstPosition, ProgPoint};
use std::collections::BTreeMap;
use std::fmt;

/// The reason why an output is not accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Rejection {
    /// The function cannot be checked.
    NotChecked(Refusal),
    /// The output is wrong.
    Wrong(String),
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejection::NotChecked(refusal) => refusal.fmt(f),
            Rejection::Wrong(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Rejection {}

/// Checks an output, of our allocators or regalloc2's own, with our checker.
///
/// # Errors
/// [`Rejection`], with the first rule that the output breaks.
pub fn check<F: Function>(func: &F, env: &regalloc2::MachineEnv, output: &regalloc2::Output) -> Result<(), Rejection> {
    check_fixed(func, env, output)?;
    for_parts(func, env, output, |judged| {
        let Judged { translation, allocation } = judged;
        let checked = Checker::new().check(&translation.problem, &translation.env, allocation);
        checked.map_err(|errors| Rejection::Wrong(errors[0].to_string()))
    })
}

/// Returns the prices of an output, of our allocators or regalloc2's own, by our measure: one for each problem.
///
/// # Errors
/// [`Rejection`] if the output is malformed. It is not checked otherwise.
pub fn cost<F: Function>(
    func: &F,
    env: &regalloc2::MachineEnv,
    output: &regalloc2::Output,
) -> Result<Vec<Cost>, Rejection> {
    let mut costs = Vec::new();
    for_parts(func, env, output, |judged| {
        costs.push(Cost::of(&judged.translation.problem, &judged.translation.env, judged.allocation));
        Ok(())
    })?;
    Ok(costs)
}

struct Judged<'a> {
    translation: &'a Translation,
    allocation: &'a Allocation,
}

fn for_parts<F: Function>(
    func: &F,
    env: &regalloc2::MachineEnv,
    output: &regalloc2::Output,
    mut visit: impl FnMut(Judged<'_>) -> Result<(), Rejection>,
) -> Result<(), Rejection> {
    let offsets = operand_offsets(func);
    if output.inst_alloc_offsets != offsets || output.allocs.len() != crate::num_operands(func) {
        return Err(Rejection::Wrong("not one location for each operand".into()));
    }
    let flow = Flow::new(func);
    for part in crate::parts(func) {
        let translation = translate(func, env, part, &flow, &offsets, Purpose::Check).map_err(Rejection::NotChecked)?;
        let allocation = Reader::new(func, env, &translation).read(output)?;
        visit(Judged { translation: &translation, allocation: &allocation })?;
    }
    Ok(())
}

/// Checks the operands whose location the function determines and our contract does not know.
fn check_fixed<F: Function>(
    func: &F,
    env: &regalloc2::MachineEnv,
    output: &regalloc2::Output,
) -> Result<(), Rejection> {
    let slots = env.fixed_stack_slots.iter().copied().collect();
    let operands = (0..func.num_insts()).flat_map(|inst| func.inst_operands(regalloc2::Inst::new(inst)));
    for (&operand, &alloc) in operands.zip(&output.allocs) {
        let fixed = operand.as_fixed_nonallocatable().or_else(|| fixed_slot(operand, slots));
        if fixed.is_some_and(|reg| alloc != regalloc2::Allocation::reg(reg)) {
            return Err(Rejection::Wrong(format!("operand {operand} is in {alloc}")));
        }
    }
    Ok(())
}

/// Reads the output of one part.
struct Reader<'a, F> {
    func: &'a F,
    translation: &'a Translation,
    fixed_slots: regalloc2::PRegSet,
    /// Slots by their number, or by the fixed stack slot.
    slots: BTreeMap<(bool, usize), Slot>,
    allocation: Allocation,
}

impl<'a, F: Function> Reader<'a, F> {
    fn new(func: &'a F, env: &regalloc2::MachineEnv, translation: &'a Translation) -> Self {
        let mut allocation = Allocation::default();
        allocation.reset(&translation.problem);
        let fixed_slots = env.fixed_stack_slots.iter().copied().collect();
        Reader { func, translation, fixed_slots, slots: BTreeMap::new(), allocation }
    }

    fn read(mut self, output: &regalloc2::Output) -> Result<Allocation, Rejection> {
        let translation = self.translation;
        let problem = &translation.problem;
        for (i, (operand, &target)) in problem.all_operands().iter().zip(&translation.targets).enumerate() {
            if target != NO_TARGET {
                let class = problem.class(operand.vreg());
                self.allocation.locs[i] = self.loc(output.allocs[target as usize], class);
            }
        }
        for (point, edit) in &output.edits {
            let regalloc2::Edit::Move { from, to } = edit;
            if let Some(class) = class_of_move(translation.part, *from, *to)? {
                let (from, to) = (self.loc(*from, class), self.loc(*to, class));
                let kind = edit_kind(from, to, width(self.func, translation.part, class))?;
                self.allocation.edits.push(Edit { at: self.place(*point)?, kind });
            }
        }
        self.allocation.edits.sort_by_key(|edit| edit.at);
        let callee_saved = translation.env.callee_saved();
        self.allocation.collect_saved(problem, callee_saved);
        Ok(self.allocation)
    }

    /// Returns the instruction before which the edits of a point run.
    fn place(&self, point: ProgPoint) -> Result<Inst, Rejection> {
        let inst = match point.pos() {
            InstPosition::Before => point.inst(),
            InstPosition::After => point.inst().next(),
        };
        let ours = self.translation.first.get(inst.index()).copied();
        let ours = ours.ok_or_else(|| Rejection::Wrong(format!("an edit at {point:?}, after the last instruction")))?;
        let block = self.translation.problem.block_of(ours);
        if point.pos() == InstPosition::After && self.translation.problem.first_inst(block) == ours {
            return Err(Rejection::Wrong(format!("an edit at {point:?}, after a branch")));
        }
        Ok(ours)
    }

    fn loc(&mut self, alloc: regalloc2::Allocation, class: RegClass) -> Loc {
        let width = width(self.func, self.translation.part, class);
        let key = match (alloc.as_reg(), alloc.as_stack()) {
            (Some(reg), _) if self.fixed_slots.contains(reg) => (true, reg.index()),
            (Some(reg), _) => return self.translation.part.reg(reg).map_or(Loc::NONE, Loc::reg),
            (_, Some(slot)) => (false, slot.index()),
            _ => return Loc::NONE,
        };
        let slot = *self.slots.entry(key).or_insert_with(|| self.allocation.add_slot(width));
        let data = &mut self.allocation.slots[slot];
        data.size = data.size.max(u32::from(width));
        data.align = data.align.max(u32::from(width));
        Loc::slot(slot)
    }
}

/// Returns the class of a move, or `None` if another part has it.
fn class_of_move(
    part: Part,
    from: regalloc2::Allocation,
    to: regalloc2::Allocation,
) -> Result<Option<RegClass>, Rejection> {
    let classes = [from, to].map(|alloc| alloc.as_reg().map(|reg| reg.class()));
    match classes {
        [Some(a), Some(b)] if a != b => Err(Rejection::Wrong(format!("a move from {from} to {to}"))),
        [Some(class), _] | [None, Some(class)] => Ok(part.class(class)),
        [None, None] => Err(Rejection::Wrong(format!("a move from {from} to {to}, slot to slot"))),
    }
}

fn edit_kind(from: Loc, to: Loc, width: u8) -> Result<EditKind, Rejection> {
    let reg = |loc: Loc| -> Option<PReg> { loc.as_reg() };
    match (reg(from), reg(to), from.as_slot(), to.as_slot()) {
        (Some(from), Some(to), ..) => Ok(EditKind::Move { from, to, width }),
        (Some(from), _, _, Some(to)) => Ok(EditKind::Spill { from, to, width }),
        (_, Some(to), Some(from), _) => Ok(EditKind::Fill { from, to, width }),
        _ => Err(Rejection::Wrong(format!("a move from {from} to {to}"))),
    }
}
