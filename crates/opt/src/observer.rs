//! Simplifications, reported as they happen, for tests that judge each of them.

use crate::rewrite::Effect;
use kingpost_ir::{Function, InstData, Value};
use std::fmt::Debug;

/// What is simplified.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Subject {
    /// An instruction that was asked for.
    Request(InstData),
    /// A value of which only matters whether it is zero.
    Condition(Value),
}

/// Receives every simplification.
pub trait Observer: Debug + Send + Sync {
    /// Rules or the folding of constants put `value` in the place of `subject`, whose operands the function defines.
    fn simplified(&mut self, func: &Function, subject: Subject, value: Value);

    /// Rules put `effect` in the place of `before`, which is executed for its effect.
    fn replaced(&mut self, func: &Function, before: &InstData, effect: Effect);
}
