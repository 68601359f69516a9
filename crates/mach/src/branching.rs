//! The branches that end a block, and conditional traps: which target is fallen into, and what becomes of two
//! conditions.
//!
//! Instruction sets say which branch each is made of. Each call takes the instruction that branches: [`MInst::aux`] is
//! the block taken, [`MInst::extra`] the other one.

use crate::buffer::{BranchForms, Buffer, Label};
use crate::inst::{MInst, NO_BLOCK};
use kingpost_regalloc::Block;

/// Emits branches of one instruction set in front of one block.
pub struct Branching<'a, F: ?Sized> {
    forms: &'a F,
    next: Option<Block>,
    buffer: &'a mut Buffer,
}

fn label(block: u32) -> Label {
    Label::new(block as usize)
}

impl<'a, F: BranchForms + ?Sized> Branching<'a, F> {
    /// Emits into `buffer`. Behind it follows the block `next`.
    pub fn new(forms: &'a F, next: Option<Block>, buffer: &'a mut Buffer) -> Branching<'a, F> {
        Branching { forms, next, buffer }
    }

    fn is_next(&self, block: u32) -> bool {
        self.next.is_some_and(|next| next.as_u32() == block)
    }

    fn put(&mut self, form: u32, to: Label) {
        self.buffer.branch(to, form, self.forms);
    }

    /// A jump to `to`, unless it comes next.
    pub fn jump(&mut self, to: u32) {
        if !self.is_next(to) {
            self.put(self.forms.jump(), label(to));
        }
    }

    /// A branch that is taken under the condition of `form`, and a jump to the other block unless it comes next; with
    /// the opposite condition the other way round if the block taken comes next.
    pub fn branch(&mut self, inst: &MInst, form: u32) {
        let (taken, other) = (inst.aux, inst.extra);
        if taken == other || other == NO_BLOCK {
            self.jump(taken);
        } else {
            self.branch_to(form, taken, other);
        }
    }

    /// Goes to one of `targets` by a number, or to `default` if that is larger: `compare` emits its comparison with a
    /// number, which excludes smaller ones too. The forms are those of branches below that number, to it, and either.
    pub fn chain(
        &mut self,
        targets: &[u32],
        default: u32,
        [below, equal, either]: [u32; 3],
        compare: impl Fn(i64, &mut Buffer),
    ) {
        for (number, pair) in (1..).step_by(2).zip(targets.chunks(2)) {
            match *pair {
                [first, second] => {
                    compare(number, self.buffer);
                    if first == second {
                        self.put(either, label(first));
                    } else {
                        self.put(below, label(first));
                        self.put(equal, label(second));
                    }
                }
                // The last of an odd count is tested for equality.
                [last, ..] => {
                    compare(number - 1, self.buffer);
                    self.put(equal, label(last));
                }
                [] => {}
            }
        }
        self.jump(default);
    }

    /// Where neither block comes next, the conditional branch is the one that goes back: a loop is repeated more often
    /// than left (Ball and Larus, "Branch prediction for free", 1993), and then takes one branch a turn, not two.
    fn branch_to(&mut self, form: u32, taken: u32, other: u32) {
        let repeats = !self.is_next(other) && self.goes_back(other) && !self.goes_back(taken);
        let (form, taken, other) = if self.is_next(taken) || repeats {
            (self.forms.opposite(form), other, taken)
        } else {
            (form, taken, other)
        };
        self.put(form, label(taken));
        self.jump(other);
    }

    fn goes_back(&self, block: u32) -> bool {
        self.buffer.is_bound(label(block))
    }

    /// Branches to the first block if one of two conditions holds.
    pub fn branch_if_either(&mut self, inst: &MInst, forms: [u32; 2]) {
        self.either(forms, inst.aux, inst.extra);
    }

    /// Branches to the first block if both conditions hold: they do unless one of the opposites does.
    pub fn branch_if_both(&mut self, inst: &MInst, forms: [u32; 2]) {
        let opposites = forms.map(|form| self.forms.opposite(form));
        self.either(opposites, inst.extra, inst.aux);
    }

    fn either(&mut self, [first, second]: [u32; 2], taken: u32, other: u32) {
        if taken == other {
            self.jump(taken);
        } else {
            self.put(first, label(taken));
            self.branch_to(second, taken, other);
        }
    }

    /// Returns a trap behind the code with the instruction's code.
    fn deferred_trap(&mut self, inst: &MInst) -> Option<Label> {
        let code = inst.trap();
        debug_assert!(code.is_some(), "a conditional trap has a code");
        code.map(|code| self.buffer.defer_trap(code))
    }

    /// A branch to a trap behind the code.
    pub fn trap_if(&mut self, inst: &MInst, form: u32) {
        if let Some(trap) = self.deferred_trap(inst) {
            self.put(form, trap);
        }
    }

    /// Traps if one of two conditions holds.
    pub fn trap_if_either(&mut self, inst: &MInst, forms: [u32; 2]) {
        if let Some(trap) = self.deferred_trap(inst) {
            for form in forms {
                self.put(form, trap);
            }
        }
    }

    /// Traps if both conditions hold.
    pub fn trap_if_both(&mut self, inst: &MInst, [first, second]: [u32; 2]) {
        if let Some(trap) = self.deferred_trap(inst) {
            let skip = self.buffer.new_label();
            self.put(self.forms.opposite(first), skip);
            self.put(second, trap);
            self.buffer.bind(skip);
        }
    }
}
