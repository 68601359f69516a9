//! The numbered rules of a problem, and the check of each. Rules 26 to 30 concern a machine.
//!
//! The rules are the variants of [`Rule`], one line each below. These properties are not checked: that frequencies
//! are plausible, that loops are contiguous in the order, and that a problem has a solution on a given machine.
//!
//! All other checks rely on the first two rules; if one of these is broken, no other rule is checked. Cost: one
//! pass over the whole problem, and the dominators, which are nearly linear.

mod machine;
mod operands;
mod rule;
mod ssa;
mod structure;

#[cfg(test)]
mod tests;

use crate::env::MachineEnv;
use crate::problem::Problem;
use rule::Errors;

pub use rule::{Entity, Rule, VerifyError};

impl Problem {
    /// Checks all rules that concern no machine.
    ///
    /// # Errors
    /// Every [`VerifyError`] found, rule by rule.
    pub fn verify(&self) -> Result<(), Vec<VerifyError>> {
        self.errors().into_result()
    }

    /// Checks the rules that concern no machine, then those that concern `env`.
    ///
    /// # Errors
    /// Every [`VerifyError`] found, rule by rule.
    pub fn verify_with(&self, env: &MachineEnv) -> Result<(), Vec<VerifyError>> {
        let mut errors = self.errors();
        machine::check(self, env, &mut errors);
        errors.into_result()
    }

    fn errors(&self) -> Errors {
        let mut errors = Errors::default();
        structure::check_references(self, &mut errors);
        if errors.is_empty() {
            structure::check(self, &mut errors);
            ssa::check(self, &mut errors);
            operands::check(self, &mut errors);
        }
        errors
    }
}
