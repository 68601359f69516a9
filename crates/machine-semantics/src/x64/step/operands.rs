//! Registers, memory and immediates as terms.

use super::super::instruction::{Base, Memory, Operand, Operation};
use super::Step;
use crate::world::{Access, Order, World};
use kingpost_smt::{Bits, Term};

/// Length of the shortest instruction with an immediate of 64 bits, in bytes: REX, opcode, immediate (volume 2, "MOV").
const WITH_IMMEDIATE_64: usize = 10;

/// A place that an instruction reads and writes. The address is computed once.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Register(u8),
    HighByte(u8),
    Memory(Access),
}

impl<W: World> Step<'_, W> {
    /// Returns the low `size` bits of a general register.
    pub(super) fn register(&mut self, number: usize, size: u32) -> Term {
        let all = self.state.general[number];
        self.terms().extract(all, 0, size)
    }

    /// Writes a general register. 32 bits are zero-extended, 8 and 16 bits leave the other bits alone (volume 1,
    /// 3.4.1.1).
    pub(super) fn set_register(&mut self, number: usize, value: Term) {
        let all = self.state.general[number];
        let terms = self.world.terms();
        self.state.general[number] = match terms.width(value) {
            64 => value,
            32 => terms.zero_extend(value, 64),
            size => {
                let others = terms.extract(all, size, 64 - size);
                terms.concat(others, value)
            }
        };
    }

    fn set_high_byte(&mut self, number: usize, value: Term) {
        let all = self.state.general[number];
        let terms = self.world.terms();
        let (above, below) = (terms.extract(all, 16, 48), terms.extract(all, 0, 8));
        let low = terms.concat(value, below);
        self.state.general[number] = terms.concat(above, low);
    }

    /// Returns the address of a memory operand, 64 bits.
    pub(super) fn address(&mut self, memory: &Memory) -> Term {
        let displacement = i128::from(memory.displacement);
        let mut sum = match memory.base {
            Base::None => self.constant(displacement, 64),
            Base::Register(number) => {
                let base = self.state.general[usize::from(number)];
                self.plus(base, displacement)
            }
            Base::NextInstruction => match self.at.symbol {
                Some(symbol) => symbol,
                None => self.relative_to_next(memory.displacement),
            },
        };
        if let Some(index) = memory.index {
            let index = self.state.general[usize::from(index)];
            let terms = self.world.terms();
            let scale = terms.number(64, memory.scale.into());
            let scaled = terms.shl(index, scale);
            sum = terms.add(sum, scaled);
        }
        sum
    }

    /// Returns the offset of the next instruction from the beginning of the function, in bytes.
    pub(super) fn next(&self) -> i64 {
        self.at.offset as i64 + self.length as i64
    }

    /// Returns the address at a distance from the next instruction.
    pub(super) fn relative_to_next(&mut self, distance: i32) -> Term {
        let offset = i128::from(self.next()) + i128::from(distance);
        self.plus(self.at.base, offset)
    }

    pub(super) fn plus(&mut self, term: Term, number: i128) -> Term {
        if number == 0 {
            return term;
        }
        let number = self.constant(number, 64);
        self.terms().add(term, number)
    }

    pub(super) fn constant(&mut self, number: i128, size: u32) -> Term {
        self.terms().constant(Bits::signed_new(size, number))
    }

    /// Returns an access to `size` bits at an address. It is atomic if the instruction locks.
    pub(super) fn access(&self, address: Term, size: u32) -> Access {
        let order = if self.instruction.lock { Order::Atomic } else { Order::Plain };
        Access { address, bytes: (size / 8) as u8, order, aligned: false }
    }

    /// Returns the place of an operand of `size` bits.
    pub(super) fn place(&mut self, operand: Operand, size: u32) -> Place {
        match operand {
            Operand::Register(number) => Place::Register(number),
            Operand::HighByte(number) => Place::HighByte(number),
            Operand::Memory(memory) => {
                let address = self.address(&memory);
                Place::Memory(self.access(address, size))
            }
            other => unreachable!("{other:?} is no place"),
        }
    }

    /// Returns the content of a place of `size` bits.
    pub(super) fn load(&mut self, place: Place, size: u32) -> Term {
        match place {
            Place::Register(number) => self.register(number.into(), size),
            Place::HighByte(number) => {
                let all = self.state.general[usize::from(number)];
                self.terms().extract(all, 8, 8)
            }
            Place::Memory(access) => self.world.load(access),
        }
    }

    pub(super) fn store(&mut self, place: Place, value: Term) {
        match place {
            Place::Register(number) => self.set_register(number.into(), value),
            Place::HighByte(number) => self.set_high_byte(number.into(), value),
            Place::Memory(access) => self.world.store(access, value),
        }
    }

    pub(super) fn store_choice(&mut self, place: Place, condition: Term, [then, otherwise]: [Term; 2]) {
        match place {
            Place::Memory(access) => self.world.store_choice(access, condition, [then, otherwise]),
            _ => {
                let value = self.terms().ite(condition, then, otherwise);
                self.store(place, value);
            }
        }
    }

    /// Returns the value of operand `number`, of `size` bits.
    pub(super) fn read_sized(&mut self, number: usize, size: u32) -> Term {
        match self.operand(number) {
            Operand::Immediate(value) => self.immediate(value, size),
            operand => {
                let place = self.place(operand, size);
                self.load(place, size)
            }
        }
    }

    /// Returns the value of operand `number`.
    pub(super) fn read(&mut self, number: usize) -> Term {
        self.read_sized(number, self.size())
    }

    /// Writes operand `number`, which is not read.
    pub(super) fn write(&mut self, number: usize, value: Term) {
        let size = self.terms().width(value);
        let place = self.place(self.operand(number), size);
        self.store(place, value);
    }

    /// Returns an immediate. A relocation covers it unless an operand is relative to the next instruction.
    fn immediate(&mut self, value: i64, size: u32) -> Term {
        let is_address =
            |operand: &Operand| matches!(operand, Operand::Memory(Memory { base: Base::NextInstruction, .. }));
        let Some(symbol) = self.at.symbol.filter(|_| !self.instruction.operands.iter().any(is_address)) else {
            return self.constant(value.into(), size);
        };
        let is_whole = self.instruction.operation == Operation::Mov
            && matches!(self.operand(0), Operand::Register(_))
            && self.length >= WITH_IMMEDIATE_64;
        if is_whole {
            return symbol;
        }
        let terms = self.world.terms();
        let low = terms.extract(symbol, 0, size.min(32));
        terms.sign_extend(low, size)
    }
}
