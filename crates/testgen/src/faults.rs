//! Plants faults into correct allocations, to test the checker.
//!
//! Each operator makes one random change and returns whether it found something to change. Many mutants are still
//! correct, or wrong only on some paths: the simulator decides.

mod claims;
mod edits;
mod locations;
mod pick;

use crate::rng::Rng;
use claims::*;
use edits::*;
use kingpost_regalloc::{Allocation, MachineEnv, Problem};
use locations::*;

/// Changes an allocation. Returns `false` if there was nothing to change.
pub type Mutator = fn(&Problem, &MachineEnv, &mut Allocation, &mut Rng) -> bool;

/// One way to break an allocation.
#[derive(Clone, Copy)]
pub struct Fault {
    /// Its name in reports.
    pub name: &'static str,
    /// Operation.
    pub mutate: Mutator,
}

/// All operators.
pub const FAULTS: &[Fault] = &[
    Fault { name: "swap two locations of an instruction", mutate: swap_locations },
    Fault { name: "move an operand to another register", mutate: retarget_operand_register },
    Fault { name: "move an operand to another slot", mutate: retarget_operand_slot },
    Fault { name: "change a fixed location", mutate: change_fixed },
    Fault { name: "untie a reused location", mutate: untie_reuse },
    Fault { name: "share an early def with an input", mutate: share_early_def },
    Fault { name: "share a result with a late input", mutate: share_late_use },
    Fault { name: "share two results", mutate: share_defs },
    Fault { name: "share a temporary of a terminator", mutate: share_temporary },
    Fault { name: "put a result into a clobbered register", mutate: def_into_clobber },
    Fault { name: "change the class of a location", mutate: change_class },
    Fault { name: "use a register that is not allocatable", mutate: forbidden_register },
    Fault { name: "drop an edit", mutate: drop_edit },
    Fault { name: "omit a parameter move", mutate: omit_parameter_move },
    Fault { name: "exchange two edits", mutate: exchange_edits },
    Fault { name: "repeat an edit later", mutate: repeat_edit },
    Fault { name: "reverse an edit", mutate: reverse_edit },
    Fault { name: "retarget an edit by one slot", mutate: retarget_edit_slot },
    Fault { name: "retarget an edit by one register", mutate: retarget_edit_register },
    Fault { name: "move an edit one instruction on", mutate: delay_edit },
    Fault { name: "move an edit one instruction back", mutate: hasten_edit },
    Fault { name: "move an edit across a terminator", mutate: move_edit_across_terminator },
    Fault { name: "halve the width of an edit", mutate: narrow_edit },
    Fault { name: "give an edit a width that no register has", mutate: odd_width },
    Fault { name: "pass a slot through the other class", mutate: other_class },
    Fault { name: "rematerialize another value", mutate: wrong_remat },
    Fault { name: "give two values one slot", mutate: share_slot },
    Fault { name: "halve a slot", mutate: shrink_slot },
    Fault { name: "halve the alignment of a slot", mutate: misalign_slot },
    Fault { name: "make a slot the emergency slot", mutate: use_emergency },
    Fault { name: "leave out an instruction", mutate: drop_instruction },
    Fault { name: "drop a register from the saved set", mutate: unsave },
    Fault { name: "save a register that is not callee-saved", mutate: save_other },
    Fault { name: "drop a stack map entry", mutate: unmap },
    Fault { name: "map another slot", mutate: remap },
    Fault { name: "stretch a label range", mutate: stretch_label },
    Fault { name: "move a label range elsewhere", mutate: relocate_label },
    Fault { name: "exchange two label ranges", mutate: exchange_labels },
    Fault { name: "repeat a label range", mutate: repeat_label },
    Fault { name: "several edits and locations at once", mutate: several },
];

/// Operators that may cancel each other's effects.
const COMBINED: &[Mutator] = &[
    drop_edit,
    exchange_edits,
    repeat_edit,
    reverse_edit,
    retarget_edit_slot,
    retarget_edit_register,
    delay_edit,
    hasten_edit,
    move_edit_across_terminator,
    retarget_operand_register,
    retarget_operand_slot,
    share_slot,
    wrong_remat,
];

fn several(problem: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let mut changed = false;
    for _ in 0..rng.range(2..6) {
        changed |= rng.pick(COMBINED).is_some_and(|mutate| mutate(problem, env, answer, rng));
    }
    changed
}
