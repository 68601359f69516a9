//! Contents of a `.ra` file, and the positions of its parts.

use crate::allocation::Allocation;
use crate::entities::Inst;
use crate::env::MachineEnv;
use crate::problem::Problem;
use crate::verify::Entity;
use cranelift_entity::EntityRef;

/// A `.ra` file.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// The machine, if the file describes one.
    pub env: Option<MachineEnv>,
    /// The problems, in order.
    pub cases: Vec<Case>,
}

/// A problem and, if there is one, its solution.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Problem to be solved.
    pub problem: Problem,
    /// A solution.
    pub allocation: Option<Allocation>,
    /// Positions of both in the text.
    pub positions: Positions,
}

/// Positions of the parts of a case, as byte offsets into the text.
#[derive(Clone, Debug, Default)]
pub struct Positions {
    /// The `problem` section.
    pub problem: usize,
    /// The `allocation` section.
    pub allocation: usize,
    /// By instruction of the text: its line in the allocation, or else in the problem.
    pub insts: Vec<usize>,
    /// By index in [`Allocation::edits`].
    pub edits: Vec<usize>,
    /// By index in [`Allocation::stack_maps`].
    pub stack_maps: Vec<usize>,
    /// By index in [`Allocation::labels`].
    pub labels: Vec<usize>,
}

impl Positions {
    /// Returns the position of an instruction, unless the reader added it.
    pub fn inst(&self, inst: Inst) -> Option<usize> {
        self.insts.get(inst.index()).copied()
    }

    /// Returns the position of the part of a problem that breaks a rule: the instruction, or else the problem.
    pub fn of(&self, at: Entity) -> usize {
        match at {
            Entity::Inst(inst) | Entity::Operand(inst, _) => self.inst(inst),
            _ => None,
        }
        .unwrap_or(self.problem)
    }
}

/// Returns the line and column of a byte offset into `text`, both from 1 and the column in characters.
pub fn line_and_column(text: &str, offset: usize) -> (u32, u32) {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    let line = 1 + before.bytes().filter(|&b| b == b'\n').count();
    (line as u32, 1 + before[line_start..].chars().count() as u32)
}
