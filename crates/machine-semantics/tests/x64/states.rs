//! Random states of the processor.

use crate::x64::processor::{MEMORY, MEMORY_SIZE, Snapshot};
use kingpost_machine_semantics::x64::{Base, Instruction, Memory, Operand, Operation, RBP, RSP};

/// Bits of the flags register by the numbers of the flags.
pub(crate) const FLAG_BITS: [u32; 5] = [0, 2, 6, 7, 11];
/// The auxiliary carry flag, which is not modeled.
const AF_BIT: u32 = 4;
/// Flags that are always set: the reserved bit 1, and interrupts.
const FIXED_FLAGS: u64 = 0x202;

/// A small generator (Marsaglia, Xorshift RNGs, 2003).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: u64) -> u64 {
        // The high half of a product costs less than a remainder.
        ((self.next() >> 32) * limit) >> 32
    }

    /// Returns a number that is likely to be a corner of some size.
    fn number(&mut self) -> u64 {
        let random = self.next();
        let width = [8, 16, 32, 64][self.below(4) as usize];
        match self.below(9) {
            0 => [0, 1, 2, u64::MAX, u64::MAX - 1][self.below(5) as usize],
            1 => 1 << self.below(64),
            2 => (1_u64 << self.below(64)).wrapping_sub(self.below(3)),
            3 => (1_u64 << (width - 1)).wrapping_sub(self.below(3)),
            4 => self.below(70),
            5 => ((random << (64 - width)) as i64 >> (64 - width)) as u64,
            6 => u64::MAX << self.below(64),
            7 => random & self.next() & self.next(),
            _ => random,
        }
    }

    /// Returns bits that are likely to be a corner of a float of `width` bits.
    fn float(&mut self, width: u32) -> u64 {
        let (digits, bias) = if width == 32 { (23, 127) } else { (52, 1023) };
        let sign = self.below(2) << (width - 1);
        let significand = self.next() & ((1 << digits) - 1);
        let infinity = ((1 << (width - 1 - digits)) - 1) << digits;
        let corners = [0, 1, (1 << digits) - 1, 1 << digits, bias << digits, infinity, infinity - 1];
        let magnitude = match self.below(8) {
            0 | 1 => corners[self.below(7) as usize],
            2 => infinity | significand,
            3 => significand,
            // Integers and halves, up to the limits of integers.
            4 | 5 => (bias + self.below(68) - 2) << digits | significand & u64::MAX << self.below(digits.into()),
            _ => (bias - 3 + self.below(6)) << digits | significand,
        };
        sign | magnitude & (u64::MAX >> (65 - width))
    }

    /// Returns half a vector: an integer, or floats.
    fn half(&mut self) -> u64 {
        match self.below(5) {
            0 => self.number(),
            1 | 2 => self.float(64),
            _ => self.float(32) << 32 | self.float(32),
        }
    }

    /// Returns a random state. Vector registers that no instruction reads hold no corners.
    fn state(&mut self, reads_vectors: bool) -> Snapshot {
        let mut general = [0; 16];
        for number in 0..16 {
            let other = self.below(16) as usize;
            general[number] = if other < number && self.below(4) == 0 { general[other] } else { self.number() };
        }
        let mut rflags = FIXED_FLAGS;
        for bit in FLAG_BITS.into_iter().chain([AF_BIT]) {
            rflags |= self.below(2) << bit;
        }
        let mut vector = [(); 16].map(|()| [self.next(), self.next()]);
        for number in if reads_vectors { 0..16 } else { 0..0 } {
            let other = self.below(16) as usize;
            vector[number] =
                if other < number && self.below(4) == 0 { vector[other] } else { [self.half(), self.half()] };
        }
        let mut memory = [0; MEMORY_SIZE];
        for chunk in memory.chunks_exact_mut(8) {
            let value = match self.below(6) {
                0 => general[self.below(16) as usize],
                1 => vector[self.below(16) as usize][0],
                2 | 3 => self.half(),
                _ => self.number(),
            };
            chunk.copy_from_slice(&value.to_le_bytes());
        }
        Snapshot { general, rflags, vector, memory, exit: 0 }
    }

    /// Returns a random state in which some instructions access memory that they may access, and branch to `taken`.
    pub(crate) fn state_for(&mut self, instructions: &[Instruction], taken: u64) -> Snapshot {
        let mut operations = instructions.iter().map(|instruction| instruction.operation);
        let mut state = self.state(operations.any(|operation| matches!(operation, Operation::Vector(_))));
        for instruction in instructions {
            let stack = MEMORY + 16 + self.below(25);
            match instruction.operation {
                Operation::Push | Operation::Pop | Operation::Call | Operation::Ret => state.general[RSP] = stack,
                Operation::Leave => state.general[RBP] = stack,
                _ => {}
            }
            let is_access = instruction.operation != Operation::Lea;
            for operand in instruction.operands {
                if let Operand::Memory(memory) = operand
                    && is_access
                    && !uses_stack(instruction, &memory)
                {
                    self.point(&mut state, &memory);
                }
            }
            aim(&mut state, instruction, taken);
        }
        state
    }

    /// Sets the base, or else the index, so that the operand is in memory. Most addresses are multiples of 16.
    fn point(&mut self, state: &mut Snapshot, memory: &Memory) {
        let mut target = MEMORY + self.below(MEMORY_SIZE as u64 - 15);
        if self.below(4) != 0 || memory.base == Base::None {
            target &= !15;
        }
        let displacement = memory.displacement as u64;
        let scaled = memory.index.map_or(0, |index| state.general[usize::from(index)] << memory.scale);
        match (memory.base, memory.index) {
            (Base::Register(base), _) => {
                state.general[usize::from(base)] = target.wrapping_sub(scaled).wrapping_sub(displacement);
            }
            (Base::None, Some(index)) => {
                state.general[usize::from(index)] = target.wrapping_sub(displacement) >> memory.scale;
            }
            _ => {}
        }
    }
}

/// Returns `true` if an operand of an instruction that uses the stack is relative to the stack pointer.
fn uses_stack(instruction: &Instruction, memory: &Memory) -> bool {
    let is_stack = matches!(instruction.operation, Operation::Push | Operation::Pop | Operation::Call);
    is_stack && memory.base == Base::Register(RSP as u8)
}

/// Returns the address of a memory operand. No operand of a branch is relative to the instruction.
fn address(state: &Snapshot, memory: &Memory) -> u64 {
    let base = match memory.base {
        Base::Register(base) => state.general[usize::from(base)],
        _ => 0,
    };
    let index = memory.index.map_or(0, |index| state.general[usize::from(index)] << memory.scale);
    base.wrapping_add(index).wrapping_add(memory.displacement as u64)
}

/// Sets the target of an indirect branch to `taken`.
fn aim(state: &mut Snapshot, instruction: &Instruction, taken: u64) {
    let at = match (instruction.operation, instruction.operands[0]) {
        (Operation::Ret, _) => state.general[RSP],
        (Operation::Jmp | Operation::Call, Operand::Memory(memory)) => address(state, &memory),
        (Operation::Jmp | Operation::Call, Operand::Register(number)) => {
            state.general[usize::from(number)] = taken;
            return;
        }
        _ => return,
    };
    let at = (at - MEMORY) as usize;
    state.memory[at..at + 8].copy_from_slice(&taken.to_le_bytes());
}
