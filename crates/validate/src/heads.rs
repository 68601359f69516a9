//! Places of values at the heads of blocks, as text.

use crate::clif::parts;
use crate::fact::Place;
use crate::input::Machine;
use crate::live;
use crate::prove::Proof;
use crate::relation::Head;

/// Names of the general registers of x86-64, by number.
const X64: [&str; 16] =
    ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];

impl Proof<'_, '_> {
    /// Returns the places of values at each head.
    pub(crate) fn heads(&mut self) -> Vec<Head> {
        let Ok(values) = live::needed(self.func, &self.meaning.sources, &self.meaning.order) else { return Vec::new() };
        let mut heads = Vec::new();
        for &block in &self.meaning.order {
            let (Some(offset), Some(relation)) = (self.heads[block], &self.relations[block]) else { continue };
            let mut places = Vec::new();
            for &value in &values[block] {
                let Some(term) = self.meaning.values[value].filter(|&term| self.terms.value(term).is_none()) else {
                    continue;
                };
                let parts = parts(self.terms, term);
                for (number, &part) in parts.iter().enumerate() {
                    let half = if parts.len() == 1 { "" } else { [".low", ".high"][number] };
                    for (place, facts) in &relation.places {
                        if let Some(fact) = facts.iter().find(|fact| fact.value == part) {
                            let place =
                                name(self.around.code.machine, *place) + fact.extension(self.terms, place.bits());
                            places.push((format!("{value}{half}"), place));
                        }
                    }
                }
            }
            heads.push(Head { block, offset, places });
        }
        heads
    }
}

fn name(machine: Machine, place: Place) -> String {
    match (machine, place) {
        (Machine::X64, Place::General(number)) => X64[number].into(),
        (Machine::Aarch64, Place::General(31)) => "sp".into(),
        (Machine::Aarch64, Place::General(number)) => format!("x{number}"),
        (Machine::X64, Place::Vector(number, 0)) => format!("xmm{number}"),
        (Machine::Aarch64, Place::Vector(number, 0)) => format!("v{number}"),
        (Machine::X64, Place::Vector(number, _)) => format!("xmm{number}.high"),
        (Machine::Aarch64, Place::Vector(number, _)) => format!("v{number}.high"),
        (_, Place::Frame(offset, _)) => format!("frame[{offset}]"),
    }
}
