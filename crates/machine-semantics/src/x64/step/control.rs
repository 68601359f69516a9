//! Stack, jumps, calls.

use super::super::instruction::Operand;
use super::super::kinds::Condition;
use super::super::{RBP, RSP};
use super::Step;
use crate::world::{Flow, World};
use kingpost_smt::Term;

/// Bytes of an entry of the stack.
const ENTRY: i128 = 8;

impl<W: World> Step<'_, W> {
    fn push_value(&mut self, value: Term) {
        let top = self.plus(self.state.general[RSP], -ENTRY);
        let access = self.access(top, 64);
        self.world.store(access, value);
        self.state.general[RSP] = top;
    }

    fn pop_value(&mut self) -> Term {
        let top = self.state.general[RSP];
        let access = self.access(top, 64);
        let value = self.world.load(access);
        self.state.general[RSP] = self.plus(top, ENTRY);
        value
    }

    /// Pushes the value that the operand has before the stack pointer changes.
    pub(super) fn push(&mut self) {
        let value = self.read(0);
        self.push_value(value);
    }

    /// Pops into the operand, whose address is computed after the stack pointer changed.
    pub(super) fn pop(&mut self) {
        let value = self.pop_value();
        self.write(0, value);
    }

    pub(super) fn leave(&mut self) {
        self.state.general[RSP] = self.state.general[RBP];
        self.state.general[RBP] = self.pop_value();
    }

    pub(super) fn jmp(&mut self) -> Flow {
        match (self.operand(0), self.at.symbol) {
            (Operand::Relative(_), Some(symbol)) => Flow::Indirect(symbol),
            (Operand::Relative(distance), None) => Flow::Jump(self.next() + i64::from(distance)),
            _ => Flow::Indirect(self.read(0)),
        }
    }

    pub(super) fn jcc(&mut self, condition: Condition) -> Flow {
        let Operand::Relative(distance) = self.operand(0) else { unreachable!("conditional jumps are relative") };
        let condition = self.condition(condition);
        match self.at.symbol {
            Some(symbol) => {
                let next = self.relative_to_next(0);
                Flow::Indirect(self.terms().ite(condition, symbol, next))
            }
            None => Flow::Branch { condition, target: self.next() + i64::from(distance) },
        }
    }

    pub(super) fn call(&mut self) -> Flow {
        let target = match (self.operand(0), self.at.symbol) {
            (Operand::Relative(_), Some(symbol)) => symbol,
            (Operand::Relative(distance), None) => self.relative_to_next(distance),
            _ => self.read(0),
        };
        let return_address = self.relative_to_next(0);
        self.push_value(return_address);
        Flow::Call(target)
    }

    pub(super) fn ret(&mut self) -> Flow {
        let address = self.pop_value();
        if let Operand::Immediate(bytes) = self.operand(0) {
            self.state.general[RSP] = self.plus(self.state.general[RSP], bytes.into());
        }
        Flow::Return(address)
    }
}
