//! The limit of the stack: code compares the stack pointer with it before the first block, and traps with `stk_ovf`
//! where the frame would reach below it.
//!
//! ```text
//! lea r11, [rsp-40]; cmp r11, [rdi+8]; jb trap        S - k < L, where k is small
//! mov r11, rsp; sub r11, [rdi+8]; jb trap             S - j < L
//! cmp r11, 65536; jb trap                             or S - j - L < n: then k is j + n
//! ```
//!
//! `S` is the stack pointer at the entry, and `L` the limit. A check bounds the stack pointer `k` bytes down. `S` is at
//! least [`SMALL`], because that many bytes always remain between address zero and the stack. So the difference of the
//! first form does not wrap around, and neither does `S - j` of the second one, where `j` is small. Where `L <= S - j`,
//! their difference does not wrap either. So a condition holds exactly if `S - k`, as an integer, is below the limit.
//!
//! A check may leave out the words that link the frame to the caller's.

use crate::checked::Checked;
use crate::clif::{Effect, Limit};
use crate::error::{Fault, Feature};
use crate::input::Machine;
use crate::path::{Failure, Path};
use crate::prove::Proof;
use crate::translate::Translation;
use kingpost_ir::preamble::GlobalValueData;
use kingpost_ir::{GlobalValue, TrapCode};
use kingpost_smt::{Node, Op, Term};

/// Number of bytes that always remain between address zero and the stack.
const SMALL: i64 = 1 << 15;

impl Translation<'_> {
    /// Returns the limit of the stack of the function, with the loads that compute it.
    ///
    /// # Errors
    /// If it does not begin at the context, or a load of it may trap.
    pub(crate) fn limit(&mut self, limit: GlobalValue) -> Result<Limit, Feature> {
        let mut root = limit;
        for _ in 0..=self.func.global_values.len() {
            match self.func.global_values[root] {
                GlobalValueData::Load { base, .. } | GlobalValueData::IAddImm { base, .. } => root = base,
                _ => break,
            }
        }
        if self.func.global_values[root] != GlobalValueData::VmContext {
            return Err(Feature::Preamble("a stack limit that is not computed from the context"));
        }
        let effects = std::mem::take(&mut self.effects);
        let term = self.global(limit, "limit");
        let effects = std::mem::replace(&mut self.effects, effects);
        let term = term?;
        let may_trap = |effect: &Effect| !matches!(effect, Effect::Load(load) if load.trap.is_none());
        if self.terms.width(term) != 64 || effects.iter().any(may_trap) {
            return Err(Feature::Preamble("a stack limit whose load may trap"));
        }
        Ok(Limit { term, effects })
    }
}

impl Proof<'_, '_> {
    /// Returns `true` if a path traps because its frame would reach below the limit.
    pub(crate) fn is_below_limit(&mut self, path: &Path) -> bool {
        if !path.is_prologue {
            return false;
        }
        let Some(depth) = self.depths(path, true).min() else { return false };
        let traps = &mut self.checked.traps;
        *traps = Some(traps.map_or(depth, |other| other.max(depth)));
        true
    }

    /// Requires the path from the entry to the first block to have checked the limit for the frame of the block.
    pub(crate) fn check_limit(&mut self, path: &Path) -> Result<(), Failure> {
        if self.meaning.limit.is_none() || !path.is_prologue {
            return Ok(());
        }
        let machine = self.around.code.machine;
        let pointer = path.state.general[machine.stack_pointer()];
        let offset = self.around.frame_offset(self.terms, pointer).ok_or(Failure::from(Fault::StackLimit))?;
        let (needed, link) = (-offset, link(machine));
        let bound = self.depths(path, false).max();
        // Only a function without calls may do without a check.
        let is_bounded = bound.unwrap_or(0) >= needed - link;
        let checked = &mut self.checked;
        checked.is_checked |= bound.is_some();
        checked.is_unchecked |= bound.is_none();
        let is_same = checked.needed.replace(needed).is_none_or(|other| other == needed);
        if is_bounded && is_same { Ok(()) } else { Err(Fault::StackLimit.into()) }
    }

    /// Requires a function that calls another one to have checked the limit.
    pub(crate) fn check_limit_of_call(&self) -> Result<(), Failure> {
        let Checked { is_checked, is_unchecked, .. } = self.checked;
        let is_fine = self.meaning.limit.is_none() || is_checked && !is_unchecked;
        if is_fine { Ok(()) } else { Err(Fault::StackLimit.into()) }
    }

    /// Requires the stack pointer of a path not to be below the one of the first block.
    pub(crate) fn check_depth(&mut self, path: &Path) -> Result<(), Failure> {
        if self.meaning.limit.is_none() || path.is_prologue {
            return Ok(());
        }
        let pointer = path.state.general[self.around.code.machine.stack_pointer()];
        let offset = self.around.frame_offset(self.terms, pointer);
        let is_fine = offset.zip(self.checked.needed).is_some_and(|(offset, needed)| -offset <= needed);
        if is_fine { Ok(()) } else { Err(Fault::StackLimit.into()) }
    }

    /// Requires no trap of a check to be for more bytes than the frame has.
    pub(crate) fn check_depth_of_traps(&self) -> Result<(), Failure> {
        let is_fine = self.checked.traps <= self.checked.needed;
        if is_fine { Ok(()) } else { Err(Fault::StackLimit.into()) }
    }

    /// Returns the depths at which the stack pointer is below the limit on a path, or at which it is not.
    fn depths(&mut self, path: &Path, is_below: bool) -> std::vec::IntoIter<i64> {
        let Some(limit) = self.meaning.limit.as_ref().map(|limit| limit.term) else { return Vec::new().into_iter() };
        let mut depths = Vec::new();
        // Depth of a stack pointer that is not below the limit.
        let mut above: Option<i64> = None;
        for &condition in &path.conditions.known {
            let (inner, holds) = self.unnegated(condition);
            if let Some(depth) = self.compared(inner, limit) {
                if !holds {
                    above = above.max(Some(depth));
                }
                if holds == is_below {
                    depths.push(depth);
                }
            }
        }
        let Some(above) = above else { return depths.into_iter() };
        for &condition in &path.conditions.known {
            let (inner, holds) = self.unnegated(condition);
            if holds == is_below
                && let Some((depth, bytes)) = self.free_below(inner, limit)
                && depth <= above
            {
                depths.extend(depth.checked_add(bytes));
            }
        }
        depths.into_iter()
    }

    fn unnegated(&self, condition: Term) -> (Term, bool) {
        match self.terms.node(condition) {
            Node::Unary(Op::Not, inner) => (inner, false),
            _ => (condition, true),
        }
    }

    /// Returns the depth of a stack pointer that a condition compares with the limit.
    fn compared(&mut self, condition: Term, limit: Term) -> Option<i64> {
        let Node::Binary(Op::Ult, a, b) = self.terms.node(condition) else { return None };
        let offset = self.around.frame_offset(self.terms, a).filter(|_| b == limit)?;
        (-SMALL < offset && offset <= 0).then_some(-offset)
    }

    /// Returns the depth of a stack pointer whose distance above the limit a condition compares with a number, and the
    /// number.
    fn free_below(&mut self, condition: Term, limit: Term) -> Option<(i64, i64)> {
        let Node::Binary(Op::Ult, a, b) = self.terms.node(condition) else { return None };
        let bytes = i64::try_from(self.terms.bits(b)?.unsigned()).ok()?;
        let pointer = self.terms.add(a, limit);
        let offset = self.around.frame_offset(self.terms, pointer)?;
        (-SMALL < offset && offset <= 0).then_some((-offset, bytes))
    }
}

/// Returns `true` if the table lists the trap of a check.
pub(crate) fn is_overflow(code: &TrapCode) -> bool {
    *code == TrapCode::STACK_OVERFLOW
}

/// Returns the number of bytes of the words that link a frame to the caller's, below the stack pointer at the entry.
fn link(machine: Machine) -> i64 {
    match machine {
        Machine::X64 => 8,
        Machine::Aarch64 => 16,
    }
}
