//! Checks of allocations in `.ra` text.

use crate::{CheckError, Checker, Entity};
use kingpost_regalloc::text::{Case, Positions, line_and_column, parse};
use kingpost_regalloc::{Cost, MachineEnv, VerifyError};
use std::fmt;

/// Error in one case of a text, with its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub col: u32,
    /// The broken rule.
    pub what: Broken,
}

/// A broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Broken {
    /// Rule of problems. The allocation was not checked.
    Problem(VerifyError),
    /// Rule of allocations.
    Allocation(CheckError),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.line, self.col)?;
        match &self.what {
            Broken::Problem(error) => write!(f, "problem: {error}"),
            Broken::Allocation(error) => write!(f, "{error}"),
        }
    }
}

/// Result for one case of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Name of the function.
    pub name: String,
    /// Errors; empty if the allocation is accepted.
    pub findings: Vec<Finding>,
    /// Cost of the allocation, if it is accepted.
    pub cost: Option<Cost>,
}

/// Checks the allocation of each problem in a `.ra` text, for the machine that the text describes or otherwise for
/// `machine`.
///
/// # Errors
/// `line:column: message` if the text cannot be read, has no problem, or a problem without an allocation.
pub fn check_text(text: &str, machine: &MachineEnv) -> Result<Vec<Verdict>, String> {
    let file = parse(text).map_err(|error| error.to_string())?;
    let env = file.env.as_ref().unwrap_or(machine);
    if file.cases.is_empty() {
        return Err("1:1: no problem".into());
    }
    file.cases.iter().map(|case| check_case(text, case, env)).collect()
}

fn check_case(text: &str, case: &Case, env: &MachineEnv) -> Result<Verdict, String> {
    let Case { problem, allocation, positions } = case;
    let finding = |offset, what| {
        let (line, col) = line_and_column(text, offset);
        Finding { line, col, what }
    };
    let Some(allocation) = allocation else {
        let (line, col) = line_and_column(text, positions.problem);
        return Err(format!("{line}:{col}: %{} has no allocation", problem.name));
    };
    let findings: Vec<Finding> = match problem.verify_with(env) {
        Err(errors) => {
            let of = |error: VerifyError| finding(positions.of(error.at), Broken::Problem(error));
            errors.into_iter().map(of).collect()
        }
        Ok(()) => {
            let of = |error: CheckError| finding(answer_offset(positions, error.entity), Broken::Allocation(error));
            Checker::new().check(problem, env, allocation).err().unwrap_or_default().into_iter().map(of).collect()
        }
    };
    let cost = findings.is_empty().then(|| Cost::of(problem, env, allocation));
    Ok(Verdict { name: problem.name.clone(), findings, cost })
}

fn answer_offset(positions: &Positions, entity: Entity) -> usize {
    match entity {
        Entity::Inst(inst) | Entity::Operand(inst, _) => positions.inst(inst),
        Entity::Edit(_, n) => positions.edits.get(n).copied(),
        Entity::MapEntry(_, n) => positions.stack_maps.get(n).copied(),
        Entity::Label(_, n) => positions.labels.get(n).copied(),
        Entity::Allocation | Entity::Block(_) => None,
    }
    .unwrap_or(positions.allocation)
}
