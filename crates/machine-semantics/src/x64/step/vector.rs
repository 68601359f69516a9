//! Vector registers: moves, operations on all bits.

use super::super::instruction::Operand;
use super::super::vector::{Bitwise, Vector};
use super::Step;
use crate::world::{Access, World};
use kingpost_smt::{Term, Terms};

impl<W: World> Step<'_, W> {
    pub(super) fn vector(&mut self, vector: Vector) {
        match vector {
            Vector::Move { .. } => {
                let value = self.read_vector(1);
                self.write_vector(0, value);
            }
            Vector::MoveScalar => self.move_scalar(),
            Vector::FromGeneral => {
                let value = self.read(1);
                self.write_low_alone(value);
            }
            Vector::ToGeneral => {
                let value = self.read_low(1, self.size());
                self.write(0, value);
            }
            Vector::MoveQuad => {
                let value = self.read_low(1, 64);
                match self.operand(0) {
                    Operand::Memory(_) => self.write(0, value),
                    _ => self.write_low_alone(value),
                }
            }
            Vector::Bitwise(bitwise) => self.bitwise(bitwise),
            Vector::Float { op, lanes } => self.float_binary(op, lanes),
            Vector::Sqrt(lanes) => self.sqrt(lanes),
            Vector::Round(lanes) => self.round(lanes),
            Vector::CompareFloats(lanes) => self.compare_floats(lanes),
            Vector::Fma { order, negates_product, negates_addend, lanes } => {
                self.fma(order, [negates_product, negates_addend], lanes);
            }
            Vector::Ucomi(width) => self.ucomi(width.into()),
            Vector::FromInteger(width) => self.float_of_integer(width.into()),
            Vector::ToInteger(width) => self.integer_of_float(width.into()),
            Vector::Convert(width) => self.convert(width.into()),
            Vector::ConvertLanes(conversion) => self.convert_lanes(conversion),
            Vector::Lanes { op, width } => self.lane_operation(op, width.into()),
            Vector::Abs(width) => self.abs(width.into()),
            Vector::ShiftLanes { shift, width } => self.shift_lanes(shift, width.into()),
            Vector::ShiftBytes { left } => self.shift_bytes(left),
            Vector::Unpack { width, high } => self.unpack(width.into(), high),
            Vector::Shuffle32 => self.shuffle_32(),
            Vector::Shuffle16 { high } => self.shuffle_16(high),
            Vector::ShuffleFloats(width) => self.shuffle_floats(width.into()),
            Vector::ShuffleBytes => self.shuffle_bytes(),
            Vector::Align => self.align(),
            Vector::Blend16 => self.blend_16(),
            Vector::Pack { width, signed } => self.pack(width.into(), signed),
            Vector::Extend { width, signed } => self.extend_lanes(width.into(), signed),
            Vector::Broadcast(width) => self.broadcast(width.into()),
            Vector::Insert(width) => self.insert(width.into()),
            Vector::Extract(width) => self.extract_lane(width.into()),
            Vector::InsertFloat => self.insert_float(),
            Vector::Mask(width) => self.lane_mask(width.into()),
            Vector::Test => self.vector_test(),
            Vector::MoveToHigh => self.move_to_high(),
            Vector::MoveHighToLow => self.move_high_to_low(),
            Vector::MoveToLow => self.move_to_low(),
            Vector::StoreHigh => self.store_half(1),
            Vector::StoreLow => self.store_half(0),
        }
    }

    /// Returns an access of `size` bits to vector memory. Without VEX, 16 bytes have to be aligned, except for the moves
    /// that say otherwise (volume 1, 14.9; volume 2, 2.4.2).
    fn vector_access(&self, address: Term, size: u32) -> Access {
        let aligned = match self.instruction.operation {
            super::Operation::Vector(Vector::Move { aligned }) => aligned,
            _ => !self.instruction.vex,
        };
        Access { aligned: aligned && size == 128, ..self.access(address, size) }
    }

    /// Returns both halves of operand `number`, the low one first.
    pub(super) fn read_vector(&mut self, number: usize) -> [Term; 2] {
        match self.operand(number) {
            Operand::Vector(register) => self.state.vector[usize::from(register)],
            Operand::Memory(memory) => {
                let address = self.address(&memory);
                let access = self.vector_access(address, 128);
                let value = self.world.load(access);
                [0, 64].map(|at| self.terms().extract(value, at, 64))
            }
            other => unreachable!("{other:?} is no vector"),
        }
    }

    pub(super) fn write_vector(&mut self, number: usize, [low, high]: [Term; 2]) {
        match self.operand(number) {
            Operand::Vector(register) => self.state.vector[usize::from(register)] = [low, high],
            Operand::Memory(memory) => {
                let address = self.address(&memory);
                let access = self.vector_access(address, 128);
                let value = self.terms().concat(high, low);
                self.world.store(access, value);
            }
            other => unreachable!("{other:?} is no vector"),
        }
    }

    /// Returns the low `size` bits of operand `number`, at most 64.
    pub(super) fn read_low(&mut self, number: usize, size: u32) -> Term {
        match self.operand(number) {
            Operand::Vector(register) => {
                let [low, _] = self.state.vector[usize::from(register)];
                self.terms().extract(low, 0, size)
            }
            _ => self.read_sized(number, size),
        }
    }

    /// Writes operand 0, a register: a value in the lowest lane, and above it the bits of operand 1.
    pub(super) fn write_low(&mut self, value: Term) {
        let [low, high] = self.read_vector(1);
        let low = with_lane(self.terms(), low, 0, value);
        self.write_vector(0, [low, high]);
    }

    /// Writes operand 0, a register: a value in the lowest lane, and zeros above it.
    fn write_low_alone(&mut self, value: Term) {
        let terms = self.world.terms();
        let (low, high) = (terms.zero_extend(value, 64), terms.number(64, 0));
        self.write_vector(0, [low, high]);
    }

    fn move_scalar(&mut self) {
        let size = self.size();
        match (self.operand(0), self.operand(2)) {
            (Operand::Memory(_), _) => {
                let value = self.read_low(1, size);
                self.write(0, value);
            }
            (_, Operand::None) => {
                let value = self.read_low(1, size);
                self.write_low_alone(value);
            }
            _ => {
                let value = self.read_low(2, size);
                self.write_low(value);
            }
        }
    }

    fn bitwise(&mut self, bitwise: Bitwise) {
        let (a, b) = (self.read_vector(1), self.read_vector(2));
        let terms = self.world.terms();
        let halves = [0, 1].map(|half| {
            let (a, b) = (a[half], b[half]);
            match bitwise {
                Bitwise::And => terms.bit_and(a, b),
                Bitwise::AndNot => {
                    let not = terms.bit_not(a);
                    terms.bit_and(not, b)
                }
                Bitwise::Or => terms.bit_or(a, b),
                Bitwise::Xor => terms.bit_xor(a, b),
            }
        });
        self.write_vector(0, halves);
    }
}

/// Returns half a vector with the lane at bit `at` replaced.
pub(super) fn with_lane(terms: &mut Terms, half: Term, at: u32, value: Term) -> Term {
    let end = at + terms.width(value);
    let mut result = value;
    if at > 0 {
        let below = terms.extract(half, 0, at);
        result = terms.concat(result, below);
    }
    if end < 64 {
        let above = terms.extract(half, end, 64 - end);
        result = terms.concat(above, result);
    }
    result
}

/// Returns a lane of a vector.
pub(super) fn lane(terms: &mut Terms, vector: [Term; 2], width: u32, number: u32) -> Term {
    let at = number * width;
    terms.extract(vector[(at / 64) as usize], at % 64, width)
}

/// Returns the vector of some lanes, the lowest first.
pub(super) fn of_lanes(terms: &mut Terms, lanes: &[Option<Term>]) -> [Term; 2] {
    let (low, high) = lanes.split_at(lanes.len() / 2);
    [low, high].map(|half| {
        let joined = half.iter().flatten().copied().reduce(|low, high| terms.concat(high, low));
        joined.unwrap_or_else(|| unreachable!("a half has a lane"))
    })
}
