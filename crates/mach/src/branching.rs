//! Branches at the end of a block, and conditional traps: the choice of the block to fall through to, and sequences
//! for two conditions.
//!
//! Instruction sets supply the branch instructions. Each call takes the instruction that branches: [`MInst::aux`] is
//! the block taken, [`MInst::extra`] the other one.

use crate::buffer::{BranchForms, Buffer, Label};
use crate::inst::{MInst, NO_BLOCK};
use kingpost_regalloc::Block;

/// Emitter of the branches at the end of one block.
pub struct Branching<'a, F: ?Sized> {
    forms: &'a F,
    next: Option<Block>,
    buffer: &'a mut Buffer,
}

fn label(block: u32) -> Label {
    Label::new(block as usize)
}

impl<'a, F: BranchForms + ?Sized> Branching<'a, F> {
    /// Returns an emitter into `buffer`. The block after the branches is `next`.
    pub fn new(forms: &'a F, next: Option<Block>, buffer: &'a mut Buffer) -> Branching<'a, F> {
        Branching { forms, next, buffer }
    }

    fn is_next(&self, block: u32) -> bool {
        self.next.is_some_and(|next| next.as_u32() == block)
    }

    fn put(&mut self, form: u32, to: Label) {
        self.buffer.branch(to, form, self.forms);
    }

    /// Emits a jump to `to`, unless it is the next block.
    pub fn jump(&mut self, to: u32) {
        if !self.is_next(to) {
            self.put(self.forms.jump(), label(to));
        }
    }

    /// Emits a branch that is taken under the condition of `form`, and a jump to the other block unless it is the
    /// next one. If the block taken is the next one, inverts the condition and exchanges the blocks.
    pub fn branch(&mut self, inst: &MInst, form: u32) {
        let (taken, other) = (inst.aux, inst.extra);
        if taken == other || other == NO_BLOCK {
            self.jump(taken);
        } else {
            self.branch_to(form, taken, other);
        }
    }

    /// Emits branches to one of `targets` by a number, or to `default` if the number is larger. `compare` emits the
    /// comparison with a constant, after which smaller numbers are excluded too. The forms branch to the target if
    /// the number is below the constant, equal to it, or either.
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
                // The last target of an odd count is tested for equality.
                [last, ..] => {
                    compare(number - 1, self.buffer);
                    self.put(equal, label(last));
                }
                [] => {}
            }
        }
        self.jump(default);
    }

    /// Emits a conditional branch and a jump. If neither block is next, the conditional branch is the backward one: a
    /// loop is repeated more often than left (Ball and Larus, "Branch prediction for free", 1993), and then executes
    /// one branch per iteration instead of two.
    fn branch_to(&mut self, form: u32, taken: u32, other: u32) {
        let repeats = !self.is_next(other) && self.is_backward(other) && !self.is_backward(taken);
        let (form, taken, other) = if self.is_next(taken) || repeats {
            (self.forms.opposite(form), other, taken)
        } else {
            (form, taken, other)
        };
        self.put(form, label(taken));
        self.jump(other);
    }

    fn is_backward(&self, block: u32) -> bool {
        self.buffer.is_bound(label(block))
    }

    /// Branches to the first block if one of two conditions holds.
    pub fn branch_if_either(&mut self, inst: &MInst, forms: [u32; 2]) {
        self.either(forms, inst.aux, inst.extra);
    }

    /// Branches to the first block if both conditions hold, which is unless one of their inverses holds.
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

    /// Returns the label of a trap after the code, with the instruction's trap code.
    fn deferred_trap(&mut self, inst: &MInst) -> Option<Label> {
        let code = inst.trap();
        debug_assert!(code.is_some(), "a conditional trap has a code");
        code.map(|code| self.buffer.defer_trap(code))
    }

    /// Emits a branch to a trap after the code.
    pub fn trap_if(&mut self, inst: &MInst, form: u32) {
        if let Some(trap) = self.deferred_trap(inst) {
            self.put(form, trap);
        }
    }

    /// Emits branches to a trap if one of two conditions holds.
    pub fn trap_if_either(&mut self, inst: &MInst, forms: [u32; 2]) {
        if let Some(trap) = self.deferred_trap(inst) {
            for form in forms {
                self.put(form, trap);
            }
        }
    }

    /// Emits branches to a trap if both conditions hold.
    pub fn trap_if_both(&mut self, inst: &MInst, [first, second]: [u32; 2]) {
        if let Some(trap) = self.deferred_trap(inst) {
            let skip = self.buffer.new_label();
            self.put(self.forms.opposite(first), skip);
            self.put(second, trap);
            self.buffer.bind(skip);
        }
    }
}
