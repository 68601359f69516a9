//! Meanings of instructions, from the sections "Operation" and "Flags Affected" of the manual.
//!
//! | file | holds |
//! |---|---|
//! | `mod.rs` | the dispatch |
//! | `operands.rs` | registers, memory and immediates as terms |
//! | `flags.rs` | flags and conditions |
//! | `integer.rs` | sums, differences, bitwise operations, moves |
//! | `shift.rs` | shifts and rotations |
//! | `multiply.rs` | products and quotients |
//! | `bits.rs` | counts of bits, single bits, byte order |
//! | `exchange.rs` | exchanges, atomic if they lock |
//! | `vector.rs` | vector registers: moves, operations on all bits |
//! | `float.rs` | floats |
//! | `lanes.rs` | operations on all lanes of vectors |
//! | `shuffle.rs` | moves of lanes |
//! | `control.rs` | stack, jumps, calls |

mod bits;
mod control;
mod exchange;
mod flags;
mod float;
mod integer;
mod lanes;
mod multiply;
mod operands;
mod shift;
mod shuffle;
mod vector;

use super::CF;
use super::instruction::{Instruction, Operand, Operation};
use crate::flag::Flag;
use crate::state::State;
use crate::world::{At, Flow, World};
use kingpost_smt::Terms;

/// Executes an instruction of `length` bytes.
pub fn step(world: &mut impl World, instruction: &Instruction, length: usize, at: At, state: &mut State) -> Flow {
    Step { world, state, at, instruction, length }.run()
}

/// An instruction in execution.
struct Step<'a, W> {
    world: &'a mut W,
    state: &'a mut State,
    at: At,
    instruction: &'a Instruction,
    /// Length of the instruction in bytes.
    length: usize,
}

impl<W: World> Step<'_, W> {
    fn terms(&mut self) -> &mut Terms {
        self.world.terms()
    }

    /// Returns the size of the operands in bits.
    fn size(&self) -> u32 {
        self.instruction.size.into()
    }

    fn operand(&self, number: usize) -> Operand {
        self.instruction.operands[number]
    }

    fn run(&mut self) -> Flow {
        match self.instruction.operation {
            Operation::Alu(alu) => self.alu(alu),
            Operation::Test => self.test(),
            Operation::Inc => self.inc(),
            Operation::Dec => self.dec(),
            Operation::Neg => self.neg(),
            Operation::Not => self.not(),
            Operation::Mov => self.mov(),
            Operation::Movzx(from) => self.extend(from, Terms::zero_extend),
            Operation::Movsx(from) => self.extend(from, Terms::sign_extend),
            Operation::Lea => self.lea(),
            Operation::Push => self.push(),
            Operation::Pop => self.pop(),
            Operation::Leave => self.leave(),
            Operation::Xchg => self.xchg(),
            Operation::Xadd => self.xadd(),
            Operation::Cmpxchg => self.cmpxchg(),
            Operation::CmpxchgPair => self.cmpxchg_pair(),
            Operation::Mul => self.product_of_double_width(false),
            Operation::ImulWide => self.product_of_double_width(true),
            Operation::Imul => self.imul(),
            Operation::Mulx => self.mulx(),
            Operation::Div => self.divide(false),
            Operation::Idiv => self.divide(true),
            Operation::Cbw => self.cbw(),
            Operation::Cwd => self.cwd(),
            Operation::Shift(shift) => self.shift(shift),
            Operation::Shiftx(shift) => self.shiftx(shift),
            Operation::Shld => self.double_shift(true),
            Operation::Shrd => self.double_shift(false),
            Operation::Bt(test) => self.bit_test(test),
            Operation::Bsf => self.bit_scan(false),
            Operation::Bsr => self.bit_scan(true),
            Operation::Tzcnt => self.count_zeros(Terms::trailing_zeros),
            Operation::Lzcnt => self.count_zeros(Terms::leading_zeros),
            Operation::Popcnt => self.popcnt(),
            Operation::Bswap => self.bswap(),
            Operation::Andn => self.andn(),
            Operation::Bextr => self.bextr(),
            Operation::Blsi => self.blsi(),
            Operation::Blsmsk => self.blsmsk(),
            Operation::Blsr => self.blsr(),
            Operation::Bzhi => self.bzhi(),
            Operation::Set(condition) => self.set(condition),
            Operation::Cmov(condition) => self.cmov(condition),
            Operation::Clc => {
                let clear = self.terms().bool(false);
                self.state.flags[CF] = Flag::Value(clear);
            }
            Operation::Cmc => {
                let carry = self.flag(CF);
                let complement = self.terms().not(carry);
                self.state.flags[CF] = Flag::Value(complement);
            }
            Operation::Stc => {
                let set = self.terms().bool(true);
                self.state.flags[CF] = Flag::Value(set);
            }
            Operation::Nop => {}
            Operation::Mfence => self.world.fence(),
            Operation::Vector(vector) => self.vector(vector),
            Operation::Jmp => return self.jmp(),
            Operation::Jcc(condition) => return self.jcc(condition),
            Operation::Call => return self.call(),
            Operation::Ret => return self.ret(),
            Operation::Trap => return Flow::Trap,
        }
        Flow::Next
    }
}
