//! Loads and stores of one and two registers (C4.1, "Loads and Stores").

use super::address::{Address, Extend, Index};
use super::bits::extended;
use super::machine::Machine;
use super::word::{Reg, Word};
use crate::{Access, Order, World};
use kingpost_smt::Term;

/// The extension of a loaded integer: with zeros, or with the sign to a width in bits and zeros above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// With zeros.
    Unsigned,
    /// With the sign, to this many bits.
    Signed(u8),
}

/// A register that is loaded or stored, with the size of the access in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Data {
    /// A general register.
    General { t: Reg, bytes: u8, part: Part },
    /// A vector register. Loads write zeros above the access.
    Vector { t: u8, bytes: u8 },
}

/// A load or a store of one or two registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Memory {
    /// Whether memory is read.
    pub(super) is_load: bool,
    /// The register.
    pub(super) data: Data,
    /// The register of the next higher address.
    pub(super) second: Option<Data>,
    /// The lowest address.
    pub(super) address: Address,
}

pub(super) fn decode(word: Word) -> Option<Memory> {
    let memory = match (word.bits(29, 28), word.bit(24), word.bit(21)) {
        (0b01, false, _) => decode_literal(word),
        (0b10, _, _) => decode_pair(word),
        (0b11, true, _) => decode_scaled(word),
        (0b11, false, false) => decode_unscaled(word),
        (0b11, false, true) if word.bits(11, 10) == 0b10 => decode_indexed(word),
        _ => None,
    }?;
    memory.is_predictable().then_some(memory)
}

/// Returns the data, and whether they are loaded, of accesses to one register.
fn decode_data(word: Word) -> Option<(bool, Data)> {
    let (size, opc, t) = (word.bits(31, 30), word.bits(23, 22), word.number(0));
    if word.bit(26) {
        let is_whole = opc & 2 != 0;
        let bytes = if is_whole { 16 } else { 1 << size };
        return (!is_whole || size == 0).then_some((opc & 1 != 0, Data::Vector { t, bytes }));
    }
    let part = match (opc, size) {
        (0b00 | 0b01, _) => Part::Unsigned,
        (0b10, 0..=2) => Part::Signed(64),
        (0b11, 0..=1) => Part::Signed(32),
        // Prefetches are among these.
        _ => return None,
    };
    Some((opc != 0, Data::General { t: word.reg(0), bytes: 1 << size, part }))
}

/// Decodes "Load register (literal)".
fn decode_literal(word: Word) -> Option<Memory> {
    let (t, opc) = (word.reg(0), word.bits(31, 30));
    let data = match (word.bit(26), opc) {
        (false, 0b00 | 0b01) => Data::General { t, bytes: 4 << opc, part: Part::Unsigned },
        (false, 0b10) => Data::General { t, bytes: 4, part: Part::Signed(64) },
        (true, 0..=2) => Data::Vector { t: word.number(0), bytes: 4 << opc },
        _ => return None,
    };
    Some(Memory { is_load: true, data, second: None, address: Address::Literal(word.signed(23, 5) << 2) })
}

/// Decodes "Load/store register pair (post-indexed)", "(offset)", "(pre-indexed)".
fn decode_pair(word: Word) -> Option<Memory> {
    let (is_load, opc) = (word.bit(22), word.bits(31, 30));
    let data = |low| {
        let t = word.reg(low);
        match (word.bit(26), opc) {
            (false, 0b00 | 0b10) => Some(Data::General { t, bytes: 4 << (opc >> 1), part: Part::Unsigned }),
            (false, 0b01) if is_load => Some(Data::General { t, bytes: 4, part: Part::Signed(64) }),
            (true, 0..=2) => Some(Data::Vector { t: word.number(low), bytes: 4 << opc }),
            _ => None,
        }
    };
    let (first, second) = (data(0)?, data(10)?);
    let (n, distance) = (word.reg_or_sp(5), word.signed(21, 15) * i64::from(first.bytes()));
    let address = match word.bits(24, 23) {
        0b01 => Address::After(n, distance),
        0b10 => Address::Base(n, Index::Distance(distance)),
        0b11 => Address::Before(n, distance),
        // Without allocation in caches, and with other rules of order.
        _ => return None,
    };
    Some(Memory { is_load, data: first, second: Some(second), address })
}

/// Decodes "Load/store register (unsigned immediate)".
fn decode_scaled(word: Word) -> Option<Memory> {
    let (is_load, data) = decode_data(word)?;
    let distance = i64::from(word.bits(21, 10)) * i64::from(data.bytes());
    let address = Address::Base(word.reg_or_sp(5), Index::Distance(distance));
    Some(Memory { is_load, data, second: None, address })
}

/// Decodes "Load/store register (unscaled immediate)", "(immediate post-indexed)", "(immediate pre-indexed)".
fn decode_unscaled(word: Word) -> Option<Memory> {
    let (is_load, data) = decode_data(word)?;
    let (n, distance) = (word.reg_or_sp(5), word.signed(20, 12));
    let address = match word.bits(11, 10) {
        0b00 => Address::Base(n, Index::Distance(distance)),
        0b01 => Address::After(n, distance),
        0b11 => Address::Before(n, distance),
        // Unprivileged.
        _ => return None,
    };
    Some(Memory { is_load, data, second: None, address })
}

/// Decodes "Load/store register (register offset)".
fn decode_indexed(word: Word) -> Option<Memory> {
    let (is_load, data) = decode_data(word)?;
    if !word.bit(14) {
        return None;
    }
    let amount = if word.bit(12) { data.bytes().ilog2() as u8 } else { 0 };
    let index = Index::Register(word.reg(16), Extend::decode(word.bits(15, 13)), amount);
    Some(Memory { is_load, data, second: None, address: Address::Base(word.reg_or_sp(5), index) })
}

impl Data {
    fn bytes(self) -> u8 {
        match self {
            Data::General { bytes, .. } | Data::Vector { bytes, .. } => bytes,
        }
    }

    /// Returns `true` if the register is this general register.
    fn is_general(self, reg: Reg) -> bool {
        matches!(self, Data::General { t, .. } if t == reg)
    }
}

impl Memory {
    /// Returns `false` if the manual leaves the result open: a base that is changed twice, or changed and stored; or a
    /// pair of loads to one register.
    fn is_predictable(self) -> bool {
        let all = [Some(self.data), self.second];
        let changes_data = |n: Reg| all.iter().flatten().any(|data| data.is_general(n));
        let is_changed_twice = self.address.changed().is_some_and(changes_data);
        let is_same = self.is_load && self.second == Some(self.data);
        !is_changed_twice && !is_same
    }

    pub(super) fn step<W: World>(self, machine: &mut Machine<'_, W>) {
        let (address, changed) = self.address.resolve(machine);
        if self.is_load {
            self.load(machine, address);
        } else {
            self.store(machine, address);
        }
        if let (Some(n), Some(value)) = (self.address.changed(), changed) {
            machine.write(n, value);
        }
    }

    fn load<W: World>(self, machine: &mut Machine<'_, W>, address: Term) {
        let first = machine.load(self.data, address);
        let Some(data) = self.second else { return machine.put(self.data, first) };
        let address = machine.above(address, self.data);
        let second = machine.load(data, address);
        machine.put(self.data, first);
        machine.put(data, second);
    }

    fn store<W: World>(self, machine: &mut Machine<'_, W>, address: Term) {
        let first = machine.get(self.data);
        machine.store(self.data, address, first);
        if let Some(data) = self.second {
            let address = machine.above(address, self.data);
            let second = machine.get(data);
            machine.store(data, address, second);
        }
    }
}

impl<W: World> Machine<'_, W> {
    fn above(&mut self, address: Term, data: Data) -> Term {
        let size = self.number(64, data.bytes().into());
        self.terms().add(address, size)
    }

    fn load(&mut self, data: Data, address: Term) -> Term {
        self.world.load(Access { address, bytes: data.bytes(), order: Order::Plain, aligned: false })
    }

    fn store(&mut self, data: Data, address: Term, value: Term) {
        self.world.store(Access { address, bytes: data.bytes(), order: Order::Plain, aligned: false }, value);
    }

    /// Writes a loaded value to its register.
    fn put(&mut self, data: Data, value: Term) {
        match data {
            Data::General { t, part: Part::Unsigned, .. } => self.write(t, value),
            Data::General { t, part: Part::Signed(width), .. } => {
                let value = extended(self.terms(), value, true, width.into());
                self.write(t, value);
            }
            Data::Vector { t, .. } => self.write_vector(t, value),
        }
    }

    /// Returns the value that is stored.
    fn get(&mut self, data: Data) -> Term {
        let width = 8 * u32::from(data.bytes());
        match data {
            Data::General { t, .. } => self.read(t, width),
            Data::Vector { t, .. } => self.read_vector(t, width),
        }
    }
}
