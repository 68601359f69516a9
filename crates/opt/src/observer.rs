//! Simplifications, reported as they happen, for tests that judge each of them.

use crate::rewrite::Effect;
use kingpost_ir::{Function, InstData, Value};
use std::fmt::Debug;

/// Subject of a simplification.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Subject {
    /// A requested instruction.
    Request(InstData),
    /// A value that matters only as zero or nonzero.
    Condition(Value),
}

/// Receives every simplification.
pub trait Observer: Debug + Send + Sync {
    /// Receives the replacement of `subject` by `value`, made by rules or constant folding. The function defines
    /// the operands of `subject`.
    fn simplified(&mut self, func: &Function, subject: Subject, value: Value);

    /// Receives the replacement of `before`, which is executed for its effect, by `effect`.
    fn replaced(&mut self, func: &Function, before: &InstData, effect: Effect);
}
