//! The meaning of a form, and its value in a state.

use crate::cases::Values;
use crate::x64::processor::{Code, MEMORY, MEMORY_SIZE, Snapshot};
use crate::x64::states::{FLAG_BITS, Random};
use kingpost_machine_semantics::x64::{self, FloatBinary, Instruction, Operation, Vector};
use kingpost_machine_semantics::{Access, At, Flow, State, World};
use kingpost_smt::{Model, Sort, Term, Terms, Value};

/// An effect of an instruction.
enum Event {
    Load(Access, Term),
    Store(Access, Term),
    Fault(Term),
}

/// A world that records effects.
#[derive(Default)]
struct Recorder {
    terms: Terms,
    events: Vec<Event>,
    /// Variables of values that the manual leaves open.
    open: Vec<Term>,
}

impl World for Recorder {
    fn terms(&mut self) -> &mut Terms {
        &mut self.terms
    }

    fn load(&mut self, access: Access) -> Term {
        let value = self.terms.var(&format!("load{}", self.events.len()), Sort::Bits(8 * u32::from(access.bytes)));
        self.events.push(Event::Load(access, value));
        value
    }

    fn store(&mut self, access: Access, value: Term) {
        self.events.push(Event::Store(access, value));
    }

    fn fault(&mut self, condition: Term) {
        self.events.push(Event::Fault(condition));
    }

    fn fence(&mut self) {}

    fn unspecified(&mut self, sort: Sort) -> Term {
        let open = self.terms.var(&format!("open{}", self.open.len()), sort);
        self.open.push(open);
        open
    }
}

/// A form, its meaning, and an evaluator of it.
pub(crate) struct Form {
    text: String,
    pub(crate) code: Code,
    instructions: Vec<Instruction>,
    /// The feature that the form needs.
    pub(crate) feature: Option<&'static str>,
    world: Recorder,
    /// Words of the state that the form may change: their numbers and their terms.
    changes: Vec<(usize, Term)>,
    /// Flags that the form may change.
    flags: Vec<(usize, Term)>,
    flow: Flow,
    values: Values,
}

impl Form {
    /// Decodes and executes a form in a state of variables.
    pub(crate) fn new(text: &str, code: &Code) -> Form {
        let mut world = Recorder::default();
        let initial = State::variables(&mut world.terms, "");
        let mut state = initial.clone();
        let base = world.terms.number(64, code.address.into());
        let (mut offset, mut instructions, mut flow) = (0, Vec::new(), Flow::Next);
        while offset < code.bytes.len() {
            let (instruction, length) = x64::decode(&code.bytes[offset..])
                .unwrap_or_else(|error| panic!("`{text}`, {:02x?}: {error}", code.bytes));
            let at = At { base, offset: offset as u64, symbol: None };
            flow = x64::step(&mut world, &instruction, length, at, &mut state);
            offset += length;
            instructions.push(instruction);
        }
        assert_eq!(offset, code.bytes.len(), "`{text}` is longer, {:02x?}", code.bytes);
        let words = |state: &State| {
            let vector = state.vector[..16].as_flattened().to_vec();
            [state.general[..16].to_vec(), vector].concat()
        };
        let flags = |state: &State, world: &mut Recorder| [0, 1, 2, 3, 4].map(|number| state.flag(world, number));
        let changed = |old: &[Term], new: &[Term]| {
            let all = old.iter().zip(new).enumerate();
            all.filter(|(_, (old, new))| old != new).map(|(number, (_, &new))| (number, new)).collect::<Vec<_>>()
        };
        let changes = changed(&words(&initial), &words(&state));
        let flags = changed(&flags(&initial, &mut world), &flags(&state, &mut world));
        let feature = instructions.iter().find_map(Instruction::feature);
        let (text, code, values) = (text.to_string(), code.clone(), Values::new(&world.terms, &[]));
        let mut form = Form { text, code, instructions, feature, world, changes, flags, flow, values };
        form.prepare();
        form
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn terms(&mut self) -> &mut Terms {
        &mut self.world.terms
    }

    /// Returns the places of the terms of all results.
    fn results(&mut self) -> Vec<&mut Term> {
        let changes = self.changes.iter_mut().chain(&mut self.flags).map(|(_, term)| term);
        let events = self.world.events.iter_mut().flat_map(|event| match event {
            Event::Load(access, _) => vec![&mut access.address],
            Event::Store(access, value) => vec![&mut access.address, value],
            Event::Fault(condition) => vec![condition],
        });
        let target = match &mut self.flow {
            Flow::Branch { condition, .. } => Some(condition),
            Flow::Indirect(target) | Flow::Call(target) | Flow::Return(target) => Some(target),
            _ => None,
        };
        changes.chain(events).chain(target).collect()
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

    /// Returns addresses and targets, with their values in a state.
    pub(crate) fn fixed(&mut self, state: &Snapshot) -> Vec<(Term, u64)> {
        self.expected(state, false);
        let addresses = self.world.events.iter().filter_map(|event| match event {
            Event::Load(access, _) | Event::Store(access, _) => Some(access.address),
            Event::Fault(_) => None,
        });
        let target = match self.flow {
            Flow::Indirect(target) | Flow::Call(target) | Flow::Return(target) => Some(target),
            _ => None,
        };
        addresses.chain(target).map(|term| (term, self.values.bits(term) as u64)).collect()
    }

    /// Returns a state with the content that a model gives to variables.
    pub(crate) fn state_of(&mut self, state: &Snapshot, model: &Model) -> Snapshot {
        self.expected(state, false);
        let bits = |name: String| model.get(&name).and_then(Value::bits).map(|bits| bits.unsigned());
        let mut new = state.clone();
        for (number, event) in self.world.events.iter().enumerate() {
            let Event::Load(access, _) = event else { continue };
            if let (Some(at), Some(bits)) = (self.place(access), bits(format!("load{number}"))) {
                let size = usize::from(access.bytes);
                new.memory[at..at + size].copy_from_slice(&bits.to_le_bytes()[..size]);
            }
        }
        for (number, word) in new.general.iter_mut().enumerate() {
            *word = bits(format!("r{number}")).map_or(*word, |bits| bits as u64);
        }
        for (number, bit) in FLAG_BITS.into_iter().enumerate() {
            if let Some(value) = model.get(&format!("f{number}")) {
                new.rflags = new.rflags & !(1 << bit) | u64::from(value.is_true()) << bit;
            }
        }
        new
    }

    fn prepare(&mut self) {
        let loaded = |event: &Event| match event {
            Event::Load(_, value) => Some(*value),
            _ => None,
        };
        let mut roots = self.result_terms();
        roots.extend(self.world.events.iter().filter_map(loaded));
        self.values = Values::new(&self.world.terms, &roots);
    }

    pub(crate) fn states(&self, random: &mut Random, count: usize) -> Vec<Snapshot> {
        (0..count).map(|_| random.state_for(&self.instructions, self.code.taken)).collect()
    }

    /// Evaluates the terms in a state. `loaded` are the values of the loads before, by the number of their event.
    fn evaluate(&mut self, before: &Snapshot, are_open_set: bool, loaded: &[u128]) {
        self.values.set(|kind, number| match kind {
            "r" => Some(before.general[number].into()),
            "v" => Some(before.vector[number][0].into()),
            "h" => Some(before.vector[number][1].into()),
            "f" => Some(u128::from(before.rflags >> FLAG_BITS[number] & 1)),
            "open" => Some(if are_open_set { u128::MAX } else { 0 }),
            "load" => loaded.get(number).copied(),
            _ => None,
        });
    }

    /// Performs the effects in a state, and returns the state after the form.
    fn expected(&mut self, before: &Snapshot, are_open_set: bool) -> Snapshot {
        self.evaluate(before, are_open_set, &[]);
        let mut loaded = Vec::new();
        let mut memory = before.memory;
        let mut fault = 0;
        for number in 0..self.world.events.len() {
            match self.world.events[number] {
                Event::Load(access, _) => {
                    let Some(at) = self.place(&access) else { return Snapshot { exit: 3, ..before.clone() } };
                    let mut bytes = [0; 16];
                    let size = usize::from(access.bytes);
                    bytes[..size].copy_from_slice(&memory[at..at + size]);
                    loaded.resize(number, 0);
                    loaded.push(u128::from_le_bytes(bytes));
                    self.evaluate(before, are_open_set, &loaded);
                }
                Event::Store(access, value) => {
                    let Some(at) = self.place(&access) else { return Snapshot { exit: 3, ..before.clone() } };
                    let size = usize::from(access.bytes);
                    memory[at..at + size].copy_from_slice(&self.values.bits(value).to_le_bytes()[..size]);
                }
                Event::Fault(condition) if self.values.holds(condition) => fault = 2,
                Event::Fault(_) => {}
            }
        }
        let mut state = Snapshot { memory, ..before.clone() };
        for &(number, term) in &self.changes {
            match number {
                0..16 => state.general[number] = self.values.bits(term) as u64,
                _ => state.vector[(number - 16) / 2][number % 2] = self.values.bits(term) as u64,
            }
        }
        for &(number, flag) in &self.flags {
            let bit = FLAG_BITS[number];
            state.rflags = state.rflags & !(1 << bit) | u64::from(self.values.holds(flag)) << bit;
        }
        let exit = if fault == 0 { self.exit() } else { fault };
        Snapshot { exit, ..state }
    }

    /// Returns the index of an access in memory, or nothing if the access faults or is not in memory.
    fn place(&self, access: &Access) -> Option<usize> {
        let address = self.values.bits(access.address) as u64;
        let is_aligned = !access.aligned || address.is_multiple_of(access.bytes.into());
        let at = usize::try_from(address.wrapping_sub(MEMORY)).ok().filter(|&at| at < MEMORY_SIZE)?;
        (is_aligned && at + usize::from(access.bytes) <= MEMORY_SIZE).then_some(at)
    }

    /// Returns the exit of `struct state`.
    fn exit(&self) -> u64 {
        let exit_at = |address: u64| if address == self.code.taken { 1 } else { ELSEWHERE };
        match self.flow {
            Flow::Next => 0,
            Flow::Jump(target) => exit_at(self.code.address.wrapping_add(target as u64)),
            Flow::Branch { condition, .. } if !self.values.holds(condition) => 0,
            Flow::Branch { target, .. } => exit_at(self.code.address.wrapping_add(target as u64)),
            Flow::Indirect(target) | Flow::Call(target) | Flow::Return(target) => {
                exit_at(self.values.bits(target) as u64)
            }
            Flow::Trap => panic!("`{}` traps", self.text),
        }
    }

    /// Compares the meaning in a state with the processor.
    ///
    /// # Errors
    /// If they differ.
    pub(crate) fn compare(&mut self, before: &Snapshot, after: &Snapshot) -> Result<(), String> {
        let expected = self.expected(before, false);
        let other = if self.world.open.is_empty() { expected.clone() } else { self.expected(before, true) };
        let difference = self.difference(&expected, &other, after);
        difference.map_or(Ok(()), |difference| Err(format!("{difference}: {}", self.describe(before))))
    }

    /// Returns what differs between the state that the processor left and both states that are expected, which differ
    /// where the manual leaves bits open.
    fn difference(&self, expected: &Snapshot, other: &Snapshot, after: &Snapshot) -> Option<String> {
        if (expected.exit, other.exit) != (after.exit, after.exit) {
            return Some(format!("exit {} for {}", expected.exit, after.exit));
        }
        if after.exit >= 2 {
            return None;
        }
        for number in 0..WORDS {
            let [ours, open, theirs] = [expected, other, after].map(|state| word(state, number));
            let defined = !(ours ^ open);
            let is_nan = (16..48).contains(&number) && self.computes_floats() && are_nans(ours, theirs);
            if (ours ^ theirs) & defined != 0 && !is_nan {
                let kind = match number {
                    0..16 => "general register",
                    16..48 => "half of a vector register",
                    _ => "flags",
                };
                return Some(format!("{kind} {number}: {ours:#x} for {theirs:#x}, defined {defined:#x}"));
            }
        }
        let memory = |state: &Snapshot| format!("{:02x?}", state.memory);
        (expected.memory != after.memory).then(|| format!("memory: {} for {}", memory(expected), memory(after)))
    }

    /// Returns `true` if a result may be a NaN, whose bits the terms leave open.
    fn computes_floats(&self) -> bool {
        self.instructions.iter().any(|instruction| match instruction.operation {
            Operation::Vector(Vector::Float { op, .. }) => !matches!(op, FloatBinary::Min | FloatBinary::Max),
            Operation::Vector(vector) => {
                use Vector::{Convert, ConvertLanes, Fma, Round, Sqrt};
                matches!(vector, Sqrt(_) | Round(_) | Fma { .. } | Convert(_) | ConvertLanes(_))
            }
            _ => false,
        })
    }

    fn describe(&self, before: &Snapshot) -> String {
        format!(
            "`{}`, {:02x?}, {:?} in {:x?}, flags {:#x}, vectors {:x?}, memory {:x?}",
            self.text, self.code.bytes, self.instructions, before.general, before.rflags, before.vector, before.memory
        )
    }
}

/// Exit at an address where the processor never is.
const ELSEWHERE: u64 = 4;

/// Words of a state: general registers, halves of vector registers, flags.
const WORDS: usize = 16 + 32 + 1;

fn word(state: &Snapshot, number: usize) -> u64 {
    match number {
        0..16 => state.general[number],
        16..48 => state.vector[(number - 16) / 2][number % 2],
        _ => FLAG_BITS.iter().fold(0, |mask, bit| mask | 1 << bit) & state.rflags,
    }
}

/// Returns `true` if two words differ only in the bits of quiet NaNs, of 64 bits or of 32.
fn are_nans(ours: u64, theirs: u64) -> bool {
    let is_nan = |word: u64| f64::from_bits(word).is_nan();
    let is_nan_32 = |word: u64| f32::from_bits(word as u32).is_nan();
    if is_nan(ours) && is_nan(theirs) && theirs >> 51 & 1 == 1 {
        return true;
    }
    [0, 32].into_iter().all(|at| {
        let (a, b) = (ours >> at & 0xffff_ffff, theirs >> at & 0xffff_ffff);
        a == b || is_nan_32(a) && is_nan_32(b) && b >> 22 & 1 == 1
    })
}
