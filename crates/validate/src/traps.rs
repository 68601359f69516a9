//! Traps: instructions that fault or trap where the function traps, with the code in the table.

use crate::atomic::settle;
use crate::clif::Effect;
use crate::equal::Decision;
use crate::error::Fault;
use crate::limit::is_overflow;
use crate::path::{Failure, Path, is_repeated};
use crate::prove::Proof;
use kingpost_ir::TrapCode;
use kingpost_smt::Term;

impl Proof<'_, '_> {
    /// Requires the function to trap under a condition as an instruction that faults does.
    pub(crate) fn fault(
        &mut self,
        path: &Path,
        effects: &[Effect],
        offset: u32,
        condition: Term,
    ) -> Result<(), Failure> {
        if path.conditions.decide(self.terms, condition) == Some(false) {
            return Ok(());
        }
        let mut path = path.clone();
        path.conditions.add(self.terms, condition);
        match self.trap(&path, effects, offset) {
            Err(_) if self.is_infeasible(&path.conditions) => Ok(()),
            other => other,
        }
    }

    /// Requires the function to trap where a path traps, with the listed code.
    pub(crate) fn trap(&mut self, path: &Path, effects: &[Effect], offset: u32) -> Result<(), Failure> {
        let listed: Vec<TrapCode> = self.around.traps(offset).collect();
        if listed.is_empty() {
            return Err(Fault::UnlistedTrap.into());
        }
        if listed.iter().any(is_overflow) && self.is_below_limit(path) {
            return Ok(());
        }
        let (mut progress, mut attempt) = (path.progress.clone(), path.attempt);
        if settle(self.terms, self.judge, effects, &path.conditions, &mut progress, &mut attempt)? {
            return Ok(());
        }
        for index in progress.open() {
            match &effects[index] {
                Effect::Load(load) if load.trap.is_none() || is_repeated(effects, &progress, index) => {}
                Effect::TrapIf { condition, code } => {
                    let never = self.terms.not(*condition);
                    if path.conditions.decide(self.terms, *condition) == Some(false) {
                        continue;
                    }
                    let is_listed = listed.contains(code);
                    let decision = match is_listed {
                        true => self.judge.holds(self.terms, &path.conditions, *condition),
                        false => Decision::Unknown,
                    };
                    match decision {
                        Decision::Holds => return Ok(()),
                        _ if self.judge.holds(self.terms, &path.conditions, never) == Decision::Holds => {}
                        Decision::Fails(model) => {
                            return Err(Failure { fault: Fault::Trap, model: Some(model), about: vec![*condition] });
                        }
                        Decision::Unknown => {
                            return Err(Failure { fault: Fault::Trap, model: None, about: vec![*condition] });
                        }
                    }
                }
                _ => return Err(Fault::Trap.into()),
            }
        }
        Err(Fault::Trap.into())
    }
}
