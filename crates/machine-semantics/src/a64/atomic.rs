//! Ordered and exclusive accesses, and atomic updates (C4.1, "Loads and Stores").
//!
//! Atomic updates without both acquire and release semantics are unknown here, because [`Order::Atomic`] is both.

use super::bits::number_of;
use super::machine::Machine;
use super::word::{Reg, Word};
use crate::{Access, Order, World};
use kingpost_smt::{Sort, Term, Terms};

/// The operation of an atomic update on the old value and the operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Update {
    /// `ldadd`.
    Add,
    /// `ldclr`: and with the complement.
    Clear,
    /// `ldeor`.
    Xor,
    /// `ldset`: or.
    Set,
    /// `ldsmax`.
    SignedMax,
    /// `ldsmin`.
    SignedMin,
    /// `ldumax`.
    UnsignedMax,
    /// `ldumin`.
    UnsignedMin,
    /// `swp`: the operand.
    Swap,
}

/// An ordered or exclusive access, or an atomic update. Sizes are in bytes; the base is `n`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Atomic {
    /// `ldar`.
    Load { bytes: u8, t: Reg, n: Reg },
    /// `stlr`.
    Store { bytes: u8, t: Reg, n: Reg },
    /// `ldxr`, and `ldaxr` if ordered.
    LoadExclusive { bytes: u8, ordered: bool, t: Reg, n: Reg },
    /// `stxr`, and `stlxr` if ordered: `s` becomes 0 if the value was stored, else 1.
    StoreExclusive { bytes: u8, ordered: bool, s: Reg, t: Reg, n: Reg },
    /// `ldxp`, and `ldaxp` if ordered: two registers of `bytes` each.
    LoadExclusivePair { bytes: u8, ordered: bool, t: Reg, t2: Reg, n: Reg },
    /// `stxp`, and `stlxp` if ordered: two registers of `bytes` each.
    StoreExclusivePair { bytes: u8, ordered: bool, s: Reg, t: Reg, t2: Reg, n: Reg },
    /// `casal`: stores `t` if memory holds `s`, which becomes the old value.
    CompareAndSwap { bytes: u8, s: Reg, t: Reg, n: Reg },
    /// `caspal`: of the pairs that begin at `s` and `t`, with registers of `bytes` each.
    CompareAndSwapPair { bytes: u8, s: Reg, t: Reg, n: Reg },
    /// `ldaddal` and so on: `t` becomes the old value, and memory the result of the update with `s`.
    Update { bytes: u8, update: Update, s: Reg, t: Reg, n: Reg },
}

pub(super) fn decode(word: Word) -> Option<Atomic> {
    match word.bits(29, 24) {
        0b001000 => decode_exclusive(word),
        0b111000 => decode_update(word),
        _ => None,
    }
}

/// Decodes "Load/store exclusive pair", "Load/store exclusive register", "Load/store ordered", "Compare and swap", "Compare and
/// swap pair".
fn decode_exclusive(word: Word) -> Option<Atomic> {
    let bytes = 1 << word.bits(31, 30);
    let (is_load, ordered) = (word.bit(22), word.bit(15));
    let (s, t2, n, t) = (word.reg(16), word.reg(10), word.reg_or_sp(5), word.reg(0));
    let (no_s, no_t2) = (s == Reg::ZERO, t2 == Reg::ZERO);
    // A status register that is another operand is unpredictable.
    let is_free = |other: Reg| s == Reg::ZERO || s != other;
    match (word.bit(23), word.bit(21)) {
        (true, false) if ordered && no_s && no_t2 => Some(match is_load {
            true => Atomic::Load { bytes, t, n },
            false => Atomic::Store { bytes, t, n },
        }),
        (false, false) if no_t2 && is_load => no_s.then_some(Atomic::LoadExclusive { bytes, ordered, t, n }),
        (false, false) if no_t2 && is_free(t) && is_free(n) => Some(Atomic::StoreExclusive { bytes, ordered, s, t, n }),
        (false, true) if word.bit(31) && is_load => {
            (no_s && t != t2).then_some(Atomic::LoadExclusivePair { bytes, ordered, t, t2, n })
        }
        (false, true) if word.bit(31) && [t, t2, n].into_iter().all(is_free) => {
            Some(Atomic::StoreExclusivePair { bytes, ordered, s, t, t2, n })
        }
        (true, true) if is_load && ordered && no_t2 => Some(Atomic::CompareAndSwap { bytes, s, t, n }),
        (false, true) if !word.bit(31) && is_load && ordered && no_t2 && !word.bit(16) && !word.bit(0) => {
            Some(Atomic::CompareAndSwapPair { bytes: 4 * bytes, s, t, n })
        }
        _ => None,
    }
}

/// Decodes "Atomic memory operations". A load to the zero register does not acquire.
fn decode_update(word: Word) -> Option<Atomic> {
    let (s, n, t) = (word.reg(16), word.reg_or_sp(5), word.reg(0));
    if word.bits(23, 21) != 0b111 || word.bits(11, 10) != 0 || t == Reg::ZERO {
        return None;
    }
    let update = match word.bits(15, 12) {
        0b0000 => Update::Add,
        0b0001 => Update::Clear,
        0b0010 => Update::Xor,
        0b0011 => Update::Set,
        0b0100 => Update::SignedMax,
        0b0101 => Update::SignedMin,
        0b0110 => Update::UnsignedMax,
        0b0111 => Update::UnsignedMin,
        0b1000 => Update::Swap,
        _ => return None,
    };
    Some(Atomic::Update { bytes: 1 << word.bits(31, 30), update, s, t, n })
}

/// Returns the register after `reg` in a pair.
fn next(reg: Reg) -> Reg {
    if reg == Reg(30) { Reg::ZERO } else { Reg(reg.0 + 1) }
}

fn exclusive(ordered: bool) -> Order {
    if ordered { Order::Exclusive } else { Order::ExclusiveRelaxed }
}

impl Atomic {
    /// Returns the feature of atomic updates.
    pub(super) fn feature(self) -> Option<&'static str> {
        match self {
            Atomic::CompareAndSwap { .. } | Atomic::CompareAndSwapPair { .. } | Atomic::Update { .. } => Some("lse"),
            _ => None,
        }
    }

    pub(super) fn step<W: World>(self, machine: &mut Machine<'_, W>) {
        match self {
            Atomic::Load { bytes, t, n } => {
                let value = load(machine, n, bytes, Order::Synchronizing);
                machine.write(t, value);
            }
            Atomic::Store { bytes, t, n } => {
                let value = machine.read(t, bits(bytes));
                store(machine, n, bytes, Order::Synchronizing, value);
            }
            Atomic::LoadExclusive { bytes, ordered, t, n } => {
                let value = load(machine, n, bytes, exclusive(ordered));
                machine.write(t, value);
            }
            Atomic::StoreExclusive { bytes, ordered, s, t, n } => {
                let value = machine.read(t, bits(bytes));
                store(machine, n, bytes, exclusive(ordered), value);
                status(machine, s);
            }
            Atomic::LoadExclusivePair { bytes, ordered, t, t2, n } => {
                let both = load(machine, n, 2 * bytes, exclusive(ordered));
                put_pair(machine, bytes, [t, t2], both);
            }
            Atomic::StoreExclusivePair { bytes, ordered, s, t, t2, n } => {
                let both = pair(machine, bytes, [t, t2]);
                store(machine, n, 2 * bytes, exclusive(ordered), both);
                status(machine, s);
            }
            Atomic::CompareAndSwap { bytes, s, t, n } => {
                let [expected, new] = [s, t].map(|reg| machine.read(reg, bits(bytes)));
                let old = compare_and_swap(machine, n, bytes, expected, new);
                machine.write(s, old);
            }
            Atomic::CompareAndSwapPair { bytes, s, t, n } => {
                let [expected, new] = [s, t].map(|reg| pair(machine, bytes, [reg, next(reg)]));
                let old = compare_and_swap(machine, n, 2 * bytes, expected, new);
                put_pair(machine, bytes, [s, next(s)], old);
            }
            Atomic::Update { bytes, update, s, t, n } => {
                let operand = machine.read(s, bits(bytes));
                let old = load(machine, n, bytes, Order::Atomic);
                let new = update.apply(machine.terms(), old, operand);
                store(machine, n, bytes, Order::Atomic, new);
                machine.write(t, old);
            }
        }
    }
}

impl Update {
    fn apply(self, terms: &mut Terms, old: Term, operand: Term) -> Term {
        let condition = match self {
            Update::Add => return terms.add(old, operand),
            Update::Clear => {
                let kept = terms.bit_not(operand);
                return terms.bit_and(old, kept);
            }
            Update::Xor => return terms.bit_xor(old, operand),
            Update::Set => return terms.bit_or(old, operand),
            Update::Swap => return operand,
            Update::SignedMax => terms.slt(operand, old),
            Update::SignedMin => terms.slt(old, operand),
            Update::UnsignedMax => terms.ult(operand, old),
            Update::UnsignedMin => terms.ult(old, operand),
        };
        terms.ite(condition, old, operand)
    }
}

fn bits(bytes: u8) -> u32 {
    8 * u32::from(bytes)
}

fn access<W: World>(machine: &mut Machine<'_, W>, n: Reg, bytes: u8, order: Order) -> Access {
    Access { address: machine.read(n, 64), bytes, order, aligned: true }
}

fn load<W: World>(machine: &mut Machine<'_, W>, n: Reg, bytes: u8, order: Order) -> Term {
    let access = access(machine, n, bytes, order);
    machine.world.load(access)
}

fn store<W: World>(machine: &mut Machine<'_, W>, n: Reg, bytes: u8, order: Order, value: Term) {
    let access = access(machine, n, bytes, order);
    machine.world.store(access, value);
}

/// Writes the unknown status of an exclusive store.
fn status<W: World>(machine: &mut Machine<'_, W>, s: Reg) {
    let failed = machine.world.unspecified(Sort::Bool);
    let status = number_of(machine.terms(), failed, 32);
    machine.write(s, status);
}

/// Returns a pair of registers as one value, with the first one in the low half.
fn pair<W: World>(machine: &mut Machine<'_, W>, bytes: u8, [low, high]: [Reg; 2]) -> Term {
    let [low, high] = [low, high].map(|reg| machine.read(reg, bits(bytes)));
    machine.terms().concat(high, low)
}

fn put_pair<W: World>(machine: &mut Machine<'_, W>, bytes: u8, regs: [Reg; 2], both: Term) {
    for (reg, low) in regs.into_iter().zip([0, bits(bytes)]) {
        let half = machine.terms().extract(both, low, bits(bytes));
        machine.write(reg, half);
    }
}

fn compare_and_swap<W: World>(machine: &mut Machine<'_, W>, n: Reg, bytes: u8, expected: Term, new: Term) -> Term {
    let old = load(machine, n, bytes, Order::Atomic);
    let equal = machine.terms().eq(old, expected);
    let access = access(machine, n, bytes, Order::Atomic);
    machine.world.store_choice(access, equal, [new, old]);
    old
}
