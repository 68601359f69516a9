//! State of the current block on which the choice of a register depends.

use crate::color_input::ColorInput;
use crate::constraints::Constraints;
use kingpost_regalloc::PRegSet;
use kingpost_regalloc_common::order::BlockIndex;
use kingpost_regalloc_common::point::Position;

/// State of the current block on which a choice depends.
#[derive(Default)]
pub(crate) struct Picker {
    /// The head of the block, and the position after the block.
    pub(crate) head: Position,
    pub(crate) end: Position,
    /// The current instruction, or the head.
    pub(crate) at: Position,
    /// Hints of values that are in registers at the end of the block.
    pub(crate) reserved: PRegSet,
    /// Index of the first clobber point that is not before `at`, and its position.
    pub(crate) point: usize,
    pub(crate) point_at: Position,
}

impl Picker {
    pub(crate) fn begin(&mut self, input: &ColorInput) {
        self.point = 0;
        self.find_point(input.constraints);
    }

    pub(crate) fn enter(&mut self, input: &ColorInput, index: BlockIndex) {
        let block = input.order.block(index);
        // These registers are better left to those values.
        self.reserved = if block.num_insts() > 1 { input.hints.at_end(index) } else { PRegSet::EMPTY };
        self.end = block.end;
        self.head = block.head;
        self.advance(input.constraints, block.head);
    }

    fn find_point(&mut self, constraints: &Constraints) {
        self.point_at = constraints.clobber_points.get(self.point).map_or(Position::END, |point| point.position);
    }

    /// Advances to an instruction.
    pub(crate) fn advance(&mut self, constraints: &Constraints, at: Position) {
        self.at = at;
        while at > self.point_at {
            self.point += 1;
            self.find_point(constraints);
        }
    }
}
