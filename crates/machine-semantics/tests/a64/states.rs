//! Random states, with corner values.

/// Number of general registers of a state: `x0` and so on.
pub(crate) const GENERAL: usize = 8;
/// Number of vector registers of a state: `v0` and so on.
pub(crate) const VECTOR: usize = 6;
/// Bytes of the window of memory.
pub(crate) const WINDOW: usize = 96;
/// Bytes of a state in the protocol of the runner.
pub(crate) const BYTES: usize = 8 * (GENERAL + 4 + 2 * VECTOR) + WINDOW;

/// Registers, flags and memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Concrete {
    pub(crate) general: [u64; GENERAL],
    pub(crate) link: u64,
    pub(crate) stack: u64,
    /// N, Z, C and V in bits 31 to 28.
    pub(crate) nzcv: u64,
    /// Content of `x9`, which tells the paths of a branch apart.
    pub(crate) marker: u64,
    pub(crate) vector: [[u64; 2]; VECTOR],
    pub(crate) memory: [u8; WINDOW],
}

impl Concrete {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let words = self.general.iter().chain([&self.link, &self.stack, &self.nzcv, &self.marker]);
        words.chain(self.vector.iter().flatten()).for_each(|word| out.extend(word.to_le_bytes()));
        out.extend(self.memory);
    }

    pub(crate) fn read(bytes: &[u8]) -> Concrete {
        let word = |index: usize| u64::from_le_bytes(bytes[8 * index..8 * index + 8].try_into().unwrap());
        let after = GENERAL + 4;
        Concrete {
            general: std::array::from_fn(word),
            link: word(GENERAL),
            stack: word(GENERAL + 1),
            nzcv: word(GENERAL + 2),
            marker: word(GENERAL + 3),
            vector: std::array::from_fn(|n| [word(after + 2 * n), word(after + 2 * n + 1)]),
            memory: bytes[BYTES - WINDOW..BYTES].try_into().unwrap(),
        }
    }
}

/// A small generator (Steele, Lea, Flood, Fast splittable pseudorandom number generators, 2014).
pub(crate) struct Random(pub(crate) u64);

const CORNERS: [u64; 24] = [
    0,
    1,
    2,
    3,
    63,
    64,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_ffff,
    0xffff_ffff_ffff_fffe,
    0xffff_ffff_8000_0000,
    0x8000_0000_7fff_ffff,
    0x8080_8080_8080_8080,
    0x0123_4567_89ab_cdef,
];

/// Numbers at the limits of conversions and roundings.
const NUMBERS: [f64; 26] = [
    0.0,
    0.5,
    1.0,
    1.5,
    2.5,
    3.0,
    0.1,
    0.499_999_999_999_999_94,
    1e-40,
    1e-310,
    127.5,
    255.0,
    32767.5,
    65535.0,
    65504.0,
    2147483646.9,
    2147483647.0,
    2147483648.0,
    4294967295.5,
    4294967296.0,
    8388609.5,
    9007199254740993.0,
    9223372036854774784.0,
    9223372036854775808.0,
    18446744073709551616.0,
    f64::MAX,
];

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        // The high half of a product costs less than a remainder.
        (((self.next() >> 32) * limit as u64) >> 32) as usize
    }

    /// Returns a random integer, often a corner value or close to one.
    fn integer(&mut self) -> u64 {
        match self.below(8) {
            0 | 1 => CORNERS[self.below(CORNERS.len())],
            2 => CORNERS[self.below(CORNERS.len())].wrapping_add(self.next() % 5).wrapping_sub(2),
            3 => 1 << self.below(64),
            4 => self.next() >> self.below(64),
            5 => (self.next() as i64 >> self.below(64)) as u64,
            _ => self.next(),
        }
    }

    /// Returns the bits of a random double, often a special one.
    fn double(&mut self) -> u64 {
        let sign = self.next() << 63;
        match self.below(8) {
            0..=2 => sign | NUMBERS[self.below(NUMBERS.len())].to_bits(),
            3 => sign | [0x7ff0 << 48, 0x7ff8 << 48, 0x7ff0_0000_0000_0001, 0x7ff8_0000_0000_1234][self.below(4)],
            4 => (self.integer() as i64 as f64).to_bits(),
            // Close to a number, in exponent or digits.
            5 => (sign | NUMBERS[self.below(NUMBERS.len())].to_bits()).wrapping_add(self.next() % 5).wrapping_sub(2),
            6 => sign | ((1023 - 60 + self.next() % 130) << 52) | (self.next() >> 12),
            _ => self.next(),
        }
    }

    /// Returns the bits of a random float, often a special one.
    fn single(&mut self) -> u32 {
        let sign = (self.next() as u32) << 31;
        match self.below(8) {
            0..=2 => sign | (NUMBERS[self.below(NUMBERS.len())] as f32).to_bits(),
            3 => sign | [0x7f80_0000, 0x7fc0_0000, 0x7f80_0001, 0x7fc0_1234][self.below(4)],
            4 => (self.integer() as i32 as f32).to_bits(),
            5 => {
                (NUMBERS[self.below(NUMBERS.len())] as f32).to_bits().wrapping_add(self.below(5) as u32).wrapping_sub(2)
            }
            6 => sign | ((127 - 60 + self.next() as u32 % 130) << 23) | (self.next() as u32 >> 9),
            _ => self.next() as u32,
        }
    }

    /// Returns the bits of two singles, or of four halves, some of them special.
    fn lanes(&mut self) -> u64 {
        if self.below(4) > 0 {
            return u64::from(self.single()) << 32 | u64::from(self.single());
        }
        const HALVES: [u64; 8] = [0x0000, 0x8000, 0x3c00, 0x7c00, 0x7e01, 0x7c01, 0x0001, 0x7bff];
        (0..4).fold(0, |lanes, _| {
            lanes << 16 | if self.below(2) == 0 { HALVES[self.below(8)] } else { self.next() & 0xffff }
        })
    }

    fn vector_half(&mut self) -> u64 {
        match self.below(3) {
            0 => self.integer(),
            1 => self.double(),
            _ => self.lanes(),
        }
    }

    fn bytes(&mut self) -> [u8; WINDOW] {
        let mut bytes = [0; WINDOW];
        bytes.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&self.next().to_le_bytes()));
        bytes
    }

    /// Returns a random state. Some registers have equal contents.
    pub(crate) fn state(&mut self) -> Concrete {
        let mut state = Concrete {
            general: std::array::from_fn(|_| self.integer()),
            link: self.next(),
            stack: self.integer(),
            nzcv: (self.next() & 15) << 28,
            marker: 0,
            vector: std::array::from_fn(|_| [self.vector_half(), self.vector_half()]),
            memory: self.bytes(),
        };
        if self.below(6) == 0 {
            state.general[self.below(GENERAL)] = state.general[self.below(GENERAL)];
        }
        if self.below(6) == 0 {
            state.vector[self.below(VECTOR)] = state.vector[self.below(VECTOR)];
        }
        // The window begins with numbers as well, some of them equal to registers.
        for word in 0..WINDOW / 8 {
            if self.below(3) == 0 {
                let value = if self.below(4) == 0 { state.general[self.below(GENERAL)] } else { self.integer() };
                state.memory[8 * word..8 * word + 8].copy_from_slice(&value.to_le_bytes());
            }
        }
        state
    }
}
