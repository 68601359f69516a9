//! Registers and flags as terms.

use crate::flag::Flag;
use crate::world::World;
use kingpost_smt::{Sort, Term, Terms};

/// Registers and flags of a machine. Each term holds the content after the instructions that were executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// General registers, 64 bits each. x86-64 uses 16, by the numbers of their encoding (`rax`, `rcx`, `rdx`, `rbx`,
    /// `rsp`, `rbp`, `rsi`, `rdi`, `r8` and so on). AArch64 uses all: `x0` to `x30`, and `sp` as number 31.
    pub general: [Term; 32],
    /// Vector registers: the low and the high 64 bits. x86-64 uses 16.
    pub vector: [[Term; 2]; 32],
    /// Flags. Each machine numbers its flags in its own module.
    pub(crate) flags: [Flag; 6],
}

impl State {
    /// Returns a state whose registers and flags are variables with names that begin with `prefix`.
    pub fn variables(terms: &mut Terms, prefix: &str) -> State {
        State::variables_of(terms, prefix, 32)
    }

    /// Returns a state whose first `count` general and vector registers, and flags, are variables with names that begin
    /// with `prefix`. The machine must not have the other registers.
    pub fn variables_of(terms: &mut Terms, prefix: &str, count: usize) -> State {
        let none = terms.var("no register", Sort::Bits(64));
        let mut name = prefix.to_string();
        let mut variable = |kind: char, number: usize, sort: Sort| {
            name.truncate(prefix.len());
            name.push(kind);
            name.extend(digits(number));
            terms.var(&name, sort)
        };
        let mut bits = |kind: char, number: usize| match number < count {
            true => variable(kind, number, Sort::Bits(64)),
            false => none,
        };
        let general = std::array::from_fn(|number| bits('r', number));
        let vector = std::array::from_fn(|number| [bits('v', number), bits('h', number)]);
        let flags = std::array::from_fn(|number| Flag::Value(variable('f', number, Sort::Bool)));
        State { general, vector, flags }
    }

    /// Returns the value of a flag, a boolean.
    pub fn flag(&self, world: &mut impl World, number: usize) -> Term {
        self.flags[number].value(world)
    }

    /// Sets the value of a flag, a boolean.
    pub fn set_flag(&mut self, number: usize, value: Term) {
        self.flags[number] = Flag::Value(value);
    }

    /// Sets all flags to unspecified values, as a call does.
    pub fn forget_flags(&mut self) {
        self.flags = [Flag::Unspecified; 6];
    }
}

/// Returns the decimal digits of a number below 100.
fn digits(number: usize) -> impl Iterator<Item = char> {
    let digit = |digit: usize| char::from(b'0' + digit as u8);
    (number >= 10).then(|| digit(number / 10)).into_iter().chain([digit(number % 10)])
}
