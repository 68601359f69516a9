//! Branches, exceptions, barriers and hints (C4.1, "Branches, Exception Generating and System instructions").

use super::bits::is_zero;
use super::condition::Condition;
use super::machine::{Machine, width};
use super::word::{Reg, Word};
use crate::{Flow, World};
use kingpost_smt::{Sort, Term};

/// The test of a conditional branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Test {
    /// `b.cond`: of flags.
    Flags(Condition),
    /// `cbz`: of a register, for zero.
    Zero { wide: bool, t: Reg },
    /// `tbz`: of a bit, for zero.
    Bit { t: Reg, bit: u8 },
}

/// The key that signs an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Key {
    /// Instruction key A.
    A,
    /// Instruction key B.
    B,
}

/// A branch, an exception, a barrier or a hint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Branch {
    /// `b`: to a distance in bytes.
    Jump { distance: i64 },
    /// `bl`: to a distance in bytes.
    Call { distance: i64 },
    /// `b.cond`, `cbz`, `cbnz`, `tbz`, `tbnz`: to a distance in bytes, if the test fails or holds.
    If { test: Test, negated: bool, distance: i64 },
    /// `br`.
    JumpTo(Reg),
    /// `blr`.
    CallTo(Reg),
    /// `ret`.
    ReturnTo(Reg),
    /// `udf`, `brk`.
    Trap,
    /// `dmb` and `dsb` of all accesses, by all observers that share the memory.
    Fence,
    /// `nop`, `yield`, `bti` and other hints, and barriers that order less than [`Branch::Fence`].
    Nothing,
    /// `paciasp`, `autiasp` and so on: signs or authenticates an address with a key, and a register as modifier.
    Sign { authenticate: bool, key: Key, address: Reg, modifier: Reg },
    /// `mrs t, tpidr_el0`.
    ThreadPointer(Reg),
}

/// Decodes "Reserved": `udf`.
pub(super) fn decode_reserved(word: Word) -> Option<Branch> {
    (word.bits(31, 16) == 0).then_some(Branch::Trap)
}

pub(super) fn decode(word: Word) -> Option<Branch> {
    match word.bits(31, 29) {
        0b000 => Some(Branch::Jump { distance: word.signed(25, 0) << 2 }),
        0b100 => Some(Branch::Call { distance: word.signed(25, 0) << 2 }),
        0b001 | 0b101 if word.bit(25) => Some(decode_bit_test(word)),
        0b001 | 0b101 => Some(decode_zero_test(word)),
        0b010 if word.bits(25, 24) == 0 => decode_flag_test(word),
        0b110 if word.bits(25, 24) == 0 => decode_exception(word),
        0b110 if word.bits(25, 22) == 0b0100 => decode_system(word),
        0b110 if word.bit(25) => decode_register(word),
        _ => None,
    }
}

/// Decodes "Compare and branch (immediate)".
fn decode_zero_test(word: Word) -> Branch {
    let test = Test::Zero { wide: word.bit(31), t: word.reg(0) };
    Branch::If { test, negated: word.bit(24), distance: word.signed(23, 5) << 2 }
}

/// Decodes "Test and branch (immediate)".
fn decode_bit_test(word: Word) -> Branch {
    let bit = word.bits(31, 31) << 5 | word.bits(23, 19);
    let test = Test::Bit { t: word.reg(0), bit: bit as u8 };
    Branch::If { test, negated: word.bit(24), distance: word.signed(18, 5) << 2 }
}

/// Decodes "Conditional branch (immediate)". Bit 4 is set in `bc.cond` of Armv8.8.
fn decode_flag_test(word: Word) -> Option<Branch> {
    let test = Test::Flags(Condition(word.bits(3, 0) as u8));
    (!word.bit(4)).then_some(Branch::If { test, negated: false, distance: word.signed(23, 5) << 2 })
}

/// Decodes "Exception generation": `brk`.
fn decode_exception(word: Word) -> Option<Branch> {
    word.is(0xffe0_001f, 0xd420_0000).then_some(Branch::Trap)
}

/// Decodes "Unconditional branch (register)", without pointer authentication.
fn decode_register(word: Word) -> Option<Branch> {
    if word.bits(20, 10) != 0b11111_000000 || word.bits(4, 0) != 0 {
        return None;
    }
    let n = word.reg(5);
    match word.bits(24, 21) {
        0b0000 => Some(Branch::JumpTo(n)),
        0b0001 => Some(Branch::CallTo(n)),
        0b0010 => Some(Branch::ReturnTo(n)),
        _ => None,
    }
}

/// Decodes "Hints", "Barriers", and one case of "System register move".
fn decode_system(word: Word) -> Option<Branch> {
    if word.is(0xffff_f01f, 0xd503_201f) {
        return decode_hint(word.bits(11, 5));
    }
    if word.is(0xffff_f01f, 0xd503_301f) {
        return decode_barrier(word.bits(7, 5), word.bits(11, 8));
    }
    word.is(0xffff_ffe0, 0xd53b_d040).then(|| Branch::ThreadPointer(word.reg(0)))
}

/// Decodes a hint. Unknown numbers do nothing, as on processors without them; `xpaclri` and `chkfeat` have no meaning
/// here.
fn decode_hint(number: u32) -> Option<Branch> {
    let (address, modifier) = match number {
        7 | 40 => return None,
        8 | 10 | 12 | 14 => (Reg(17), Reg(16)),
        24 | 26 | 28 | 30 => (Reg(30), Reg::ZERO),
        25 | 27 | 29 | 31 => (Reg(30), Reg::SP),
        _ => return Some(Branch::Nothing),
    };
    let key = if number & 2 == 0 { Key::A } else { Key::B };
    Some(Branch::Sign { authenticate: number & 4 != 0, key, address, modifier })
}

/// Decodes a barrier. The low half of its option is its type, the high half its domain.
fn decode_barrier(operation: u32, option: u32) -> Option<Branch> {
    match operation {
        // `dsb` and `dmb`, except `ssbb` and `pssbb`.
        0b101 => {}
        0b100 if !matches!(option, 0b0000 | 0b0100) => {}
        // `isb`.
        0b110 if option == 0b1111 => return Some(Branch::Nothing),
        _ => return None,
    }
    let (is_of_all, is_shared) = (option & 3 == 3, option >> 2 != 0b01);
    Some(if is_of_all && is_shared { Branch::Fence } else { Branch::Nothing })
}

impl Branch {
    pub(super) fn step<W: World>(self, machine: &mut Machine<'_, W>) -> Flow {
        match self {
            Branch::Jump { distance } => match machine.at.symbol {
                Some(symbol) => Flow::Indirect(symbol),
                None => Flow::Jump(machine.offset(distance)),
            },
            Branch::Call { distance } => {
                let target = machine.at.symbol.unwrap_or_else(|| machine.relative(machine.offset(distance)));
                link(machine);
                Flow::Call(target)
            }
            Branch::If { test, negated, distance } => {
                let holds = test.holds(machine);
                let condition = if negated { machine.terms().not(holds) } else { holds };
                Flow::Branch { condition, target: machine.offset(distance) }
            }
            Branch::JumpTo(n) => Flow::Indirect(machine.read(n, 64)),
            Branch::CallTo(n) => {
                let target = machine.read(n, 64);
                link(machine);
                Flow::Call(target)
            }
            Branch::ReturnTo(n) => Flow::Return(machine.read(n, 64)),
            Branch::Trap => Flow::Trap,
            Branch::Fence => {
                machine.world.fence();
                Flow::Next
            }
            Branch::Nothing => Flow::Next,
            Branch::Sign { authenticate, key, address, modifier } => {
                sign(machine, authenticate, key, address, modifier);
                Flow::Next
            }
            Branch::ThreadPointer(t) => {
                let pointer = machine.terms().var("tpidr_el0", Sort::Bits(64));
                machine.write(t, pointer);
                Flow::Next
            }
        }
    }
}

impl Test {
    fn holds<W: World>(self, machine: &mut Machine<'_, W>) -> Term {
        match self {
            Test::Flags(condition) => machine.holds(condition),
            Test::Zero { wide, t } => {
                let value = machine.read(t, width(wide));
                is_zero(machine.terms(), value)
            }
            Test::Bit { t, bit } => {
                let value = machine.read(t, 64);
                let bit = machine.terms().extract(value, bit.into(), 1);
                is_zero(machine.terms(), bit)
            }
        }
    }
}

/// Writes the address after the instruction to the link register.
fn link<W: World>(machine: &mut Machine<'_, W>) {
    let after = machine.relative(machine.offset(4));
    machine.write(Reg(30), after);
}

/// Computes the signature of an address as the sum with an unknown number and the modifier. The authentication
/// subtracts both. A use between them, or a different modifier, then leaves an unknown address.
fn sign<W: World>(machine: &mut Machine<'_, W>, authenticate: bool, key: Key, address: Reg, modifier: Reg) {
    let (value, modifier) = (machine.read(address, 64), machine.read(modifier, 64));
    let terms = machine.terms();
    let name = match key {
        Key::A => "key A",
        Key::B => "key B",
    };
    let key = terms.var(name, Sort::Bits(64));
    let code = terms.add(key, modifier);
    let result = if authenticate { terms.sub(value, code) } else { terms.add(value, code) };
    machine.write(address, result);
}
