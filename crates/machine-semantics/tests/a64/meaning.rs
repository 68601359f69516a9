//! The meaning of a form, and its value in a state.

use super::emulated::{CODE, MEMORY, PLACE};
use super::forms::Form;
use super::states::{Concrete, GENERAL, VECTOR, WINDOW};
use crate::cases::Values;
use kingpost_machine_semantics::a64::{self, C, N, SP, V, Z};
use kingpost_machine_semantics::{Access, At, Flow, State, World};
use kingpost_smt::{Model, Sort, Term, Terms, Value};

/// A world that records the effects of instructions.
pub(crate) struct Recorder {
    pub(crate) terms: Terms,
    loads: Vec<(Access, Term)>,
    stores: Vec<(Access, Term)>,
}

impl Recorder {
    pub(crate) fn new() -> Recorder {
        Recorder { terms: Terms::new(), loads: Vec::new(), stores: Vec::new() }
    }
}

impl World for Recorder {
    fn terms(&mut self) -> &mut Terms {
        &mut self.terms
    }

    fn load(&mut self, access: Access) -> Term {
        let name = format!("load{}", self.loads.len());
        let value = self.terms.var(&name, Sort::Bits(8 * u32::from(access.bytes)));
        self.loads.push((access, value));
        value
    }

    fn store(&mut self, access: Access, value: Term) {
        assert_eq!(self.terms.width(value), 8 * u32::from(access.bytes), "the width of a stored value");
        self.stores.push((access, value));
    }

    fn fault(&mut self, _: Term) {
        panic!("no instruction faults except by its accesses");
    }

    fn fence(&mut self) {}

    /// Returns zero: exclusive stores succeed in a single thread.
    fn unspecified(&mut self, sort: Sort) -> Term {
        self.terms.constant_of(Value::zero(sort))
    }
}

/// The terms of a form.
pub(crate) struct Meaning {
    /// Text of the form.
    pub(crate) text: String,
    pub(crate) recorder: Recorder,
    /// Words of the state that the form changes, by the numbers that [`word_of`] takes, and their terms.
    changes: Vec<(usize, Term)>,
    /// N, Z, C and V.
    flags: [Term; 4],
    /// Whether a branch is taken, and the address that it must then have.
    taken: Option<(Term, Option<Term>)>,
    values: Values,
}

/// Returns a word of a state, by its number: general registers, link register, stack pointer, halves of vector registers.
fn word_of(state: &mut Concrete, number: usize) -> &mut u64 {
    match number {
        0..GENERAL => &mut state.general[number],
        GENERAL => &mut state.link,
        _ if number == GENERAL + 1 => &mut state.stack,
        _ => &mut state.vector[(number - GENERAL - 2) / 2][number % 2],
    }
}

/// Returns the terms of all words, by their numbers.
fn words_of(state: &State) -> Vec<Term> {
    let general = state.general[..GENERAL].iter().chain([&state.general[30], &state.general[SP]]);
    general.chain(state.vector[..VECTOR].as_flattened()).copied().collect()
}

impl Meaning {
    pub(crate) fn of(form: &Form, words: &[u32]) -> Meaning {
        let mut recorder = Recorder::new();
        let mut state = State::variables(&mut recorder.terms, "");
        let before = state.clone();
        let base = recorder.terms.number(64, CODE.into());
        let mut taken = None;
        for (index, word) in words.iter().enumerate() {
            let decoded = a64::decode(&word.to_le_bytes());
            let (instruction, length) = decoded.unwrap_or_else(|error| panic!("{}: {word:08x}: {error}", form.text));
            assert_eq!(length, 4);
            let offset = PLACE + 4 * index as u64;
            let flow = a64::step(&mut recorder, &instruction, At { base, offset, symbol: None }, &mut state);
            let yes = recorder.terms.bool(true);
            let is_target = |target: i64| assert_eq!(target, offset as i64 + 12, "{}", form.text);
            taken = match flow {
                Flow::Next => continue,
                Flow::Jump(target) => {
                    is_target(target);
                    Some((yes, None))
                }
                Flow::Branch { condition, target } => {
                    is_target(target);
                    Some((condition, None))
                }
                Flow::Indirect(target) | Flow::Call(target) | Flow::Return(target) => Some((yes, Some(target))),
                Flow::Trap => panic!("{} traps", form.text),
            };
        }
        assert_eq!(state.general[GENERAL..30], before.general[GENERAL..30], "{} changes other registers", form.text);
        assert_eq!(state.vector[VECTOR..], before.vector[VECTOR..], "{} changes other registers", form.text);
        let flags = [N, Z, C, V].map(|flag| state.flag(&mut recorder, flag));
        let pairs = words_of(&before).into_iter().zip(words_of(&state)).enumerate();
        let changes = pairs.filter(|(_, (old, new))| old != new).map(|(number, (_, new))| (number, new)).collect();
        let values = Values::new(&recorder.terms, &[]);
        let mut meaning = Meaning { text: form.text.clone(), recorder, changes, flags, taken, values };
        meaning.prepare();
        meaning
    }

    /// Returns `true` if the form branches.
    pub(crate) fn is_branch(&self) -> bool {
        self.taken.is_some()
    }

    /// Returns the places of the terms of all results.
    fn results(&mut self) -> Vec<&mut Term> {
        let changes = self.changes.iter_mut().map(|(_, term)| term).chain(&mut self.flags);
        let loads = self.recorder.loads.iter_mut().map(|(access, _)| &mut access.address);
        let stores = self.recorder.stores.iter_mut().flat_map(|(access, value)| [&mut access.address, value]);
        let taken = self.taken.iter_mut().flat_map(|(condition, target)| [Some(condition), target.as_mut()]);
        changes.chain(loads).chain(stores).chain(taken.flatten()).collect()
    }

    /// Returns the terms of all results.
    pub(crate) fn result_terms(&mut self) -> Vec<Term> {
        self.results().into_iter().map(|term| *term).collect()
    }

    /// Replaces the terms of all results.
    pub(crate) fn set_results(&mut self, results: &[Term]) {
        self.results().into_iter().zip(results).for_each(|(place, &term)| *place = term);
        self.prepare();
    }

    fn prepare(&mut self) {
        let mut roots = self.result_terms();
        roots.extend(self.recorder.loads.iter().map(|(_, value)| *value));
        self.values = Values::new(&self.recorder.terms, &roots);
    }

    /// Evaluates the terms in a state with these values of loads.
    fn evaluate(&mut self, before: &Concrete, loaded: &[u128]) {
        self.values.set(|kind, number| match (kind, number) {
            ("r", 30) => Some(before.link.into()),
            ("r", SP) => Some(before.stack.into()),
            ("r", _) => before.general.get(number).map(|&word| word.into()),
            ("v", _) => before.vector.get(number).map(|halves| halves[0].into()),
            ("h", _) => before.vector.get(number).map(|halves| halves[1].into()),
            // N, Z, C and V have the numbers 0 to 3.
            ("f", _) => Some(u128::from(before.nzcv >> (31 - number) & 1)),
            ("load", _) => loaded.get(number).copied(),
            _ => None,
        });
    }

    /// Returns addresses and targets, with their values in a state.
    pub(crate) fn fixed(&mut self, state: &Concrete, code: &[u8]) -> Vec<(Term, u64)> {
        self.apply(state, code).expect("the state is one for the form");
        let accesses = self.recorder.loads.iter().chain(&self.recorder.stores).map(|(access, _)| access.address);
        let target = self.taken.and_then(|(_, target)| target);
        accesses.chain(target).map(|term| (term, self.values.word(term))).collect()
    }

    /// Returns a state with the content that a model gives to variables.
    pub(crate) fn state_of(&mut self, state: &Concrete, model: &Model) -> Concrete {
        self.evaluate(state, &[]);
        let bits = |name: String| model.get(&name).and_then(Value::bits).map(|bits| bits.unsigned());
        let mut new = state.clone();
        for (number, (access, _)) in self.recorder.loads.iter().enumerate() {
            let at = self.values.word(access.address).wrapping_sub(MEMORY) as usize;
            let size = usize::from(access.bytes);
            let place = new.memory.get_mut(at..).and_then(|memory| memory.get_mut(..size));
            if let (Some(place), Some(bits)) = (place, bits(format!("load{number}"))) {
                place.copy_from_slice(&bits.to_le_bytes()[..size]);
            }
        }
        for (number, register) in (0..GENERAL).chain([30, SP]).enumerate() {
            let word = word_of(&mut new, number);
            *word = bits(format!("r{register}")).map_or(*word, |bits| bits as u64);
        }
        for number in [N, Z, C, V] {
            if let Some(value) = model.get(&format!("f{number}")) {
                new.nzcv = new.nzcv & !(1 << (31 - number)) | u64::from(value.is_true()) << (31 - number);
            }
        }
        new
    }

    /// Returns the state after `before`.
    ///
    /// # Errors
    /// If the form accesses memory outside of the window, or branches to another place.
    pub(crate) fn apply(&mut self, before: &Concrete, code: &[u8]) -> Result<Concrete, &'static str> {
        self.evaluate(before, &[]);
        let mut loaded = Vec::new();
        for number in 0..self.recorder.loads.len() {
            let access = self.recorder.loads[number].0;
            let bytes =
                bytes_at(before, code, self.values.word(access.address), access.bytes).ok_or("a load outside")?;
            loaded.push(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u128::from(byte)));
        }
        if !loaded.is_empty() {
            self.evaluate(before, &loaded);
        }
        let mut after = before.clone();
        for &(number, term) in &self.changes {
            *word_of(&mut after, number) = self.values.word(term);
        }
        let flags = self.flags.iter().fold(0, |all, &flag| all << 1 | u64::from(self.values.holds(flag)));
        after.nzcv = flags << 28;
        for (access, value) in &self.recorder.stores {
            let at = self.values.word(access.address).wrapping_sub(MEMORY) as usize;
            let size = usize::from(access.bytes);
            let place =
                after.memory.get_mut(at..).and_then(|memory| memory.get_mut(..size)).ok_or("a store outside")?;
            place.copy_from_slice(&self.values.bits(*value).to_le_bytes()[..size]);
        }
        if let Some((condition, target)) = self.taken {
            after.marker = if self.values.holds(condition) { 2 } else { 1 };
            if target.is_some_and(|target| self.values.word(target) != CODE + PLACE + 12) {
                return Err("another target");
            }
        }
        Ok(after)
    }
}

/// Returns bytes of the window or of the code.
fn bytes_at<'a>(state: &'a Concrete, code: &'a [u8], address: u64, size: u8) -> Option<&'a [u8]> {
    let (memory, at) = match address.wrapping_sub(MEMORY) {
        at if at < WINDOW as u64 => (&state.memory[..], at),
        _ => (code, address.wrapping_sub(CODE + PLACE)),
    };
    memory.get(at as usize..)?.get(..usize::from(size))
}
