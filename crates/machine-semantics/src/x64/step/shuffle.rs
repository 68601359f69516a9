//! Moves of lanes within and between vectors, and between vectors and general registers.

use super::super::instruction::Operand;
use super::super::{CF, OF, PF, SF, ZF};
use super::Step;
use super::lanes::clamped;
use super::vector::{lane, with_lane};
use crate::flag::Flag;
use crate::world::World;
use kingpost_smt::Term;

impl<W: World> Step<'_, W> {
    /// Returns the bits of the immediate.
    pub(super) fn selector(&self) -> u32 {
        let immediate = self.instruction.operands.iter().find_map(|operand| match operand {
            Operand::Immediate(immediate) => Some(*immediate as u8),
            _ => None,
        });
        immediate.unwrap_or(0).into()
    }

    /// Returns the low half of operand `number`, with zeros above it.
    pub(super) fn read_half(&mut self, number: usize) -> [Term; 2] {
        let low = self.read_low(number, 64);
        [low, self.terms().number(64, 0)]
    }

    /// Shifts the whole vector by bytes.
    pub(super) fn shift_bytes(&mut self, left: bool) {
        let (source, count) = (self.read_vector(1), self.selector());
        self.write_lanes(8, |terms, number| {
            let from = if left { number.checked_sub(count) } else { Some(number + count).filter(|&from| from < 16) };
            match from {
                Some(from) => lane(terms, source, 8, from),
                None => terms.number(8, 0),
            }
        });
    }

    pub(super) fn unpack(&mut self, width: u32, high: bool) {
        let both = [self.read_vector(1), self.read_vector(2)];
        let first = if high { 64 / width } else { 0 };
        self.write_lanes(width, |terms, number| lane(terms, both[(number & 1) as usize], width, first + number / 2));
    }

    pub(super) fn shuffle_32(&mut self) {
        let (source, selector) = (self.read_vector(1), self.selector());
        self.write_lanes(32, |terms, number| lane(terms, source, 32, selector >> (2 * number) & 3));
    }

    pub(super) fn shuffle_16(&mut self, high: bool) {
        let (source, selector) = (self.read_vector(1), self.selector());
        let first = if high { 4 } else { 0 };
        self.write_lanes(16, |terms, number| {
            let is_moved = (first..first + 4).contains(&number);
            let from = if is_moved { first + (selector >> (2 * (number - first)) & 3) } else { number };
            lane(terms, source, 16, from)
        });
    }

    /// Selects lanes of operand 1 for the low half, and lanes of operand 2 for the high half.
    pub(super) fn shuffle_floats(&mut self, width: u32) {
        let (both, selector) = ([self.read_vector(1), self.read_vector(2)], self.selector());
        let (bits, half) = (128 / width / 2, 64 / width);
        self.write_lanes(width, |terms, number| {
            let from = selector >> (bits * number) & ((1 << bits) - 1);
            lane(terms, both[(number / half) as usize], width, from)
        });
    }

    /// Selects bytes of operand 1 by the low four bits of the bytes of operand 2; zero if the top bit is set.
    pub(super) fn shuffle_bytes(&mut self) {
        let (bytes, indices) = (self.read_vector(1), self.read_vector(2));
        self.write_lanes(8, |terms, number| {
            let (index, mask) = (lane(terms, indices, 8, number), terms.number(8, 0x8f));
            let index = terms.bit_and(index, mask);
            let mut result = terms.number(8, 0);
            for from in 0..16 {
                let (byte, number) = (lane(terms, bytes, 8, from), terms.number(8, from.into()));
                let this = terms.eq(index, number);
                result = terms.ite(this, byte, result);
            }
            result
        });
    }

    /// Selects 16 bytes of operand 2 and operand 1 above it, from a byte on.
    pub(super) fn align(&mut self) {
        let (high, low, first) = (self.read_vector(1), self.read_vector(2), self.selector());
        self.write_lanes(8, |terms, number| match first + number {
            from @ 0..16 => lane(terms, low, 8, from),
            from @ 16..32 => lane(terms, high, 8, from - 16),
            _ => terms.number(8, 0),
        });
    }

    pub(super) fn blend_16(&mut self) {
        let (both, selector) = ([self.read_vector(1), self.read_vector(2)], self.selector());
        self.write_lanes(16, |terms, number| lane(terms, both[(selector >> number & 1) as usize], 16, number));
    }

    /// Narrows signed lanes of operand 1, then of operand 2.
    pub(super) fn pack(&mut self, width: u32, signed: bool) {
        let (both, count) = ([self.read_vector(1), self.read_vector(2)], 128 / width);
        self.write_lanes(width / 2, |terms, number| {
            let wide = lane(terms, both[(number / count) as usize], width, number % count);
            clamped(terms, signed, wide, width / 2)
        });
    }

    pub(super) fn extend_lanes(&mut self, width: u32, signed: bool) {
        let source = self.read_half(1);
        self.write_lanes(2 * width, |terms, number| {
            let narrow = lane(terms, source, width, number);
            if signed { terms.sign_extend(narrow, 2 * width) } else { terms.zero_extend(narrow, 2 * width) }
        });
    }

    pub(super) fn broadcast(&mut self, width: u32) {
        let value = self.read_low(1, width);
        self.write_lanes(width, |_, _| value);
    }

    /// Writes operand 1 with one lane replaced.
    fn write_with_lane(&mut self, number: u32, value: Term) {
        let mut halves = self.read_vector(1);
        let at = number * self.terms().width(value);
        let half = &mut halves[(at / 64) as usize];
        *half = with_lane(self.world.terms(), *half, at % 64, value);
        self.write_vector(0, halves);
    }

    pub(super) fn insert(&mut self, width: u32) {
        let (value, number) = (self.read_sized(2, width), self.selector() % (128 / width));
        self.write_with_lane(number, value);
    }

    /// Copies a lane to memory, or with zeros above it to a general register.
    pub(super) fn extract_lane(&mut self, width: u32) {
        let (source, number) = (self.read_vector(1), self.selector() % (128 / width));
        let value = lane(self.terms(), source, width, number);
        let value = match self.operand(0) {
            Operand::Memory(_) => value,
            _ => self.terms().zero_extend(value, 64),
        };
        self.write(0, value);
    }

    /// Inserts a lane of 32 bits: bits 7 and 6 of the immediate select a lane of the source if it is a register, bits 5
    /// and 4 the lane that is replaced, and bits 3 to 0 the lanes that are cleared.
    pub(super) fn insert_float(&mut self) {
        let (target, selector) = (self.read_vector(1), self.selector());
        let value = match self.operand(2) {
            Operand::Memory(_) => self.read_low(2, 32),
            _ => {
                let source = self.read_vector(2);
                lane(self.terms(), source, 32, selector >> 6)
            }
        };
        self.write_lanes(32, |terms, number| match () {
            () if selector >> number & 1 == 1 => terms.number(32, 0),
            () if selector >> 4 & 3 == number => value,
            () => lane(terms, target, 32, number),
        });
    }

    /// Gathers the top bits of all lanes.
    pub(super) fn lane_mask(&mut self, width: u32) {
        let source = self.read_vector(1);
        let terms = self.world.terms();
        let mut bits = None;
        for number in 0..128 / width {
            let lane = lane(terms, source, width, number);
            let top = terms.extract(lane, width - 1, 1);
            bits = Some(bits.map_or(top, |low| terms.concat(top, low)));
        }
        if let Some(bits) = bits {
            let value = terms.zero_extend(bits, 64);
            self.write(0, value);
        }
    }

    /// Sets the zero flag if no bit is set in both operands, and the carry flag if operand 0 has all bits of operand 1.
    pub(super) fn vector_test(&mut self) {
        let (a, b) = (self.read_vector(0), self.read_vector(1));
        let terms = self.world.terms();
        let [zero, carry] = [false, true].map(|is_complement| {
            let halves = [0, 1].map(|half| {
                let a = if is_complement { terms.bit_not(a[half]) } else { a[half] };
                terms.bit_and(a, b[half])
            });
            let (any, none) = (terms.bit_or(halves[0], halves[1]), terms.number(64, 0));
            terms.eq(any, none)
        });
        self.state.flags[ZF] = Flag::Value(zero);
        self.state.flags[CF] = Flag::Value(carry);
        self.clear_flags([PF, SF, OF]);
    }

    pub(super) fn move_to_high(&mut self) {
        let ([low, _], high) = (self.read_vector(1), self.read_low(2, 64));
        self.write_vector(0, [low, high]);
    }

    pub(super) fn move_high_to_low(&mut self) {
        let ([_, high], [_, low]) = (self.read_vector(1), self.read_vector(2));
        self.write_vector(0, [low, high]);
    }

    pub(super) fn move_to_low(&mut self) {
        let ([_, high], low) = (self.read_vector(1), self.read_low(2, 64));
        self.write_vector(0, [low, high]);
    }

    /// Stores a half of operand 1.
    pub(super) fn store_half(&mut self, half: usize) {
        let value = self.read_vector(1)[half];
        self.write(0, value);
    }
}
