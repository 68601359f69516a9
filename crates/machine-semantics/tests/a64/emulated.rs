//! Compares the meaning of instructions with an emulator, on random states.
//!
//! A program that the emulator runs executes the words of a form from given states. The terms of the form are evaluated
//! under these states. `KINGPOST_CASES=100000` runs as many states for each form.

use super::forms::{self, Form};
use super::scalars;
use super::states::{BYTES, Concrete, GENERAL, Random, VECTOR, WINDOW};
use super::vectors;
use kingpost_machine_semantics::a64::{self, C, N, SP, V, Z};
use kingpost_machine_semantics::{Access, At, Flow, State, World};
use kingpost_smt::{Bits, Evaluator, Model, Sort, Term, Terms, Value};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Addresses of the runner: its page of code, the offset of the words, the window of memory.
const CODE: u64 = 0x10_0000_0000;
const PLACE: u64 = 0x340;
const MEMORY: u64 = 0x20_0000_0800;
/// Distance of bases from the beginning of the window.
const MIDDLE: u64 = 32;
/// States in one batch of the runner.
const BATCH: usize = 500;

const TOOLS: [&str; 2] = ["aarch64-linux-gnu-gcc", "qemu-aarch64"];

/// Returns `true` if a tool is missing. That is an error, unless the environment allows tools to be missing.
pub(crate) fn is_missing(test: &str, tools: &[&str]) -> bool {
    let missing = tools.iter().find(|tool| Command::new(tool).arg("--version").output().is_err());
    if let Some(tool) = missing {
        let may_skip = std::env::var_os("KINGPOST_WITHOUT_TOOLS").is_some();
        assert!(may_skip, "{test} needs {tool}, which `make deps` installs; KINGPOST_WITHOUT_TOOLS=1 skips the test");
        eprintln!("SKIPPED: {test} needs {tool}");
    }
    missing.is_some()
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the words of each form. The instructions of a form are separated by `;`.
fn assembled(folder: &Path, forms: &[Form]) -> Vec<Vec<u32>> {
    let (source, object, binary) = (folder.join("a.s"), folder.join("a.o"), folder.join("a.bin"));
    let mut text = String::from(".arch armv8.2-a+lse+fp16+dotprod+i8mm\n");
    for form in forms {
        // Each form begins at a multiple of 4096, so that addresses in it are independent of its place.
        text.push_str(&format!("{}\n.balign 4096\n", form.text.replace('T', ".+12").replace(';', "\n")));
    }
    std::fs::write(&source, text).unwrap();
    run(Command::new("aarch64-linux-gnu-gcc").arg("-c").arg(&source).arg("-o").arg(&object));
    run(Command::new("aarch64-linux-gnu-objcopy").args(["-O", "binary"]).args([&object, &binary]));
    let bytes = std::fs::read(&binary).unwrap();
    assert_eq!(bytes.len(), 4096 * forms.len());
    let counts = forms.iter().map(|form| form.text.split(';').count());
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    bytes.chunks(4096).zip(counts).map(|(page, count)| page.chunks(4).take(count).map(word).collect()).collect()
}

struct Runner(Child);

impl Runner {
    fn start(folder: &Path) -> Runner {
        let (source, program) = (folder.join("runner.c"), folder.join("runner"));
        std::fs::write(&source, include_str!("runner.c")).unwrap();
        run(Command::new(TOOLS[0]).args(["-O1", "-static"]).arg(&source).arg("-o").arg(&program));
        let child = Command::new(TOOLS[1]).arg(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        Runner(child.unwrap())
    }

    /// Runs words from each state.
    fn run(&mut self, words: &[u32], states: &[Concrete]) -> Vec<Concrete> {
        let mut bytes = Vec::new();
        let counts = [words.len() as u32, states.len() as u32];
        counts.iter().chain(words).for_each(|word| bytes.extend(word.to_le_bytes()));
        states.iter().for_each(|state| state.write(&mut bytes));
        self.0.stdin.as_mut().unwrap().write_all(&bytes).unwrap();
        let mut bytes = vec![0; BYTES * states.len()];
        self.0.stdout.as_mut().unwrap().read_exact(&mut bytes).unwrap();
        bytes.chunks(BYTES).map(Concrete::read).collect()
    }

    fn stop(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }
}

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
struct Meaning {
    /// Text of the form.
    text: String,
    recorder: Recorder,
    /// The state after, over the variables of the state before.
    after: State,
    flags: [Term; 4],
    /// Whether a branch is taken, and the address that it must then have.
    taken: Option<(Term, Option<Term>)>,
}

impl Meaning {
    fn of(form: &Form, words: &[u32]) -> Meaning {
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
        Meaning { text: form.text.clone(), recorder, after: state, flags, taken }
    }

    /// Returns all terms that are compared.
    fn roots(&self) -> Vec<Term> {
        let accesses = self.recorder.loads.iter().chain(&self.recorder.stores);
        let mut roots: Vec<Term> = accesses.flat_map(|(access, value)| [access.address, *value]).collect();
        roots.extend(&self.after.general[..GENERAL]);
        roots.extend(&self.after.general[30..]);
        roots.extend(self.after.vector[..VECTOR].as_flattened());
        roots.extend(self.flags);
        roots.extend(self.taken.iter().flat_map(|(condition, target)| [Some(*condition), *target]).flatten());
        roots
    }

    /// Returns the state after `before`.
    fn apply(&self, evaluator: &mut Evaluator, inputs: &mut Inputs, before: &Concrete, code: &[u8]) -> Concrete {
        inputs.set(before);
        if !self.recorder.loads.is_empty() {
            evaluator.evaluate(&inputs.model);
            for (number, (access, _)) in self.recorder.loads.iter().enumerate() {
                let bytes = self.bytes_at(before, code, word(evaluator, access.address), access.bytes);
                let value = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u128::from(byte));
                inputs.model.set(&format!("load{number}"), Value::Bits(Bits::new(8 * bytes.len() as u32, value)));
            }
        }
        evaluator.evaluate(&inputs.model);
        let mut after = before.clone();
        after.general = std::array::from_fn(|n| word(evaluator, self.after.general[n]));
        (after.link, after.stack) = (word(evaluator, self.after.general[30]), word(evaluator, self.after.general[SP]));
        after.vector = std::array::from_fn(|n| self.after.vector[n].map(|half| word(evaluator, half)));
        let flags = self.flags.iter().fold(0, |all, &flag| all << 1 | u64::from(evaluator.value(flag).is_true()));
        after.nzcv = flags << 28;
        for (access, value) in &self.recorder.stores {
            let at = (word(evaluator, access.address).wrapping_sub(MEMORY)) as usize;
            let value = evaluator.value(*value).bits().unwrap().unsigned();
            let size = usize::from(access.bytes);
            let place = after.memory.get_mut(at..).and_then(|memory| memory.get_mut(..size));
            let place = place.unwrap_or_else(|| panic!("{} stores outside of the window", self.text));
            place.copy_from_slice(&value.to_le_bytes()[..size]);
        }
        if let Some((condition, target)) = self.taken {
            after.marker = if evaluator.value(condition).is_true() { 2 } else { 1 };
            let target = target.map(|target| word(evaluator, target));
            assert!(
                target.is_none_or(|target| target == CODE + PLACE + 12),
                "{}: the target is {target:x?}",
                self.text
            );
        }
        after
    }

    /// Returns bytes of the window or of the code.
    fn bytes_at<'a>(&self, state: &'a Concrete, code: &'a [u8], address: u64, size: u8) -> &'a [u8] {
        let (memory, at) = match address.wrapping_sub(MEMORY) {
            at if at < WINDOW as u64 => (&state.memory[..], at),
            _ => (code, address.wrapping_sub(CODE + PLACE)),
        };
        let bytes = memory.get(at as usize..).and_then(|memory| memory.get(..usize::from(size)));
        bytes.unwrap_or_else(|| panic!("{} loads outside of the window", self.text))
    }
}

/// Returns the value of a 64-bit term.
fn word(evaluator: &Evaluator, term: Term) -> u64 {
    evaluator.value(term).bits().unwrap().unsigned() as u64
}

/// A model of the variables of a state. Names are built once.
struct Inputs {
    names: Vec<String>,
    model: Model,
}

impl Inputs {
    fn new() -> Inputs {
        let general = (0..GENERAL).chain([30, SP]).map(|number| format!("r{number}"));
        let vector = (0..VECTOR).flat_map(|number| [format!("v{number}"), format!("h{number}")]);
        let flags = [N, Z, C, V].map(|flag| format!("f{flag}"));
        Inputs { names: general.chain(vector).chain(flags).collect(), model: Model::default() }
    }

    /// Sets the variables to a state.
    fn set(&mut self, state: &Concrete) {
        let words = state.general.iter().chain([&state.link, &state.stack]).chain(state.vector.as_flattened());
        let bits = words.map(|&word| Value::Bits(Bits::new(64, word.into())));
        let flags = [31, 30, 29, 28].map(|bit| Value::Bool(state.nzcv >> bit & 1 == 1));
        self.names.iter().zip(bits.chain(flags)).for_each(|(name, value)| self.model.set(name, value));
    }
}

/// Registers of a form with a special content.
struct Places {
    /// The base of an address; `None` for the stack pointer.
    base: Option<Option<usize>>,
    aligned: bool,
    /// The index of an address, and whether its upper half is random.
    index: Option<(usize, bool)>,
    /// Whether the index is signed.
    signed: bool,
    /// The register that holds a target.
    target: Option<usize>,
}

impl Places {
    fn of(form: &Form) -> Places {
        let text = &form.text;
        let register = |text: &str| text[1..].chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
        let inside = text.split('[').nth(1).map(|rest| rest.split(']').next().unwrap());
        let parts: Vec<&str> = inside.map_or(Vec::new(), |inside| inside.split(", ").collect());
        let base = parts.first().map(|base| if *base == "sp" { None } else { register(base) });
        let index = parts.get(1).filter(|part| !part.starts_with('#'));
        let aligned = ["ldar", "stlr", "ldax", "ldx", "cas", "swp"].iter().any(|name| text.starts_with(name))
            || text.contains("al") && inside.is_some();
        let is_indirect = ["br ", "blr ", "ret"].iter().any(|name| text.starts_with(name));
        let target = is_indirect.then(|| text.split(' ').nth(1).and_then(register).unwrap_or(30));
        Places {
            base,
            aligned,
            index: index.map(|index| (register(index).unwrap(), index.starts_with('w'))),
            signed: !text.contains("uxtw"),
            target,
        }
    }

    fn prepare(&self, random: &mut Random, state: &mut Concrete) {
        if let Some(base) = self.base {
            let middle = MEMORY + MIDDLE;
            match base {
                None => state.stack = middle,
                Some(n) if self.aligned => state.general[n] = middle,
                Some(n) => state.general[n] = middle + random.below(16) as u64,
            }
        }
        if let Some((n, is_half)) = self.index {
            let index = random.below(3) as i64 - if self.signed { 2 } else { 0 };
            state.general[n] = if is_half { random.next() << 32 | u64::from(index as u32) } else { index as u64 };
        }
        match self.target {
            Some(30) => state.link = CODE + PLACE + 12,
            Some(n) => state.general[n] = CODE + PLACE + 12,
            None => {}
        }
    }
}

/// Returns the words that the runner executes: the form, for branches the two paths, and the way back.
fn program(form: &Form, words: &[u32], is_branch: bool) -> Vec<u32> {
    let mut all = words.to_vec();
    if is_branch {
        // mov x9, #1; b .+8; mov x9, #2
        all.extend([0xd280_0029, 0x1400_0002, 0xd280_0049]);
    }
    // br x26, and data for loads of literals.
    all.extend([0xd61f_0340, 0x0123_4567, 0x89ab_cdef, 0xfedc_ba98, 0x7654_3210]);
    assert!(all.len() < 64, "{} is short", form.text);
    all
}

/// Returns `true` if lanes of this width are equal, or both NaN.
fn agree(ours: u64, theirs: u64, lanes: Option<u32>) -> bool {
    let Some(width) = lanes else { return ours == theirs };
    (0..64 / width).all(|lane| {
        let [a, b] = [ours, theirs].map(|half| half >> (lane * width) & (u64::MAX >> (64 - width)));
        a == b || is_nan(a, width) && is_nan(b, width)
    })
}

fn is_nan(bits: u64, width: u32) -> bool {
    match width {
        16 => bits & 0x7fff > 0x7c00,
        32 => f32::from_bits(bits as u32).is_nan(),
        _ => f64::from_bits(bits).is_nan(),
    }
}

/// Returns `true` if the states agree. NaNs of floating-point operations may differ.
fn same(ours: &Concrete, theirs: &Concrete, lanes: Option<u32>) -> bool {
    let halves = ours.vector.iter().flatten().zip(theirs.vector.iter().flatten());
    let vectors = halves.into_iter().all(|(&a, &b)| agree(a, b, lanes));
    vectors && *ours == Concrete { vector: ours.vector, ..theirs.clone() }
}

fn compare(test: &str, forms: &[Form], are_floats: bool) {
    if is_missing(test, &TOOLS) {
        return;
    }
    let cases = std::env::var("KINGPOST_CASES").map_or(200, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let all_words = assembled(folder.path(), forms);
    let mut runner = Runner::start(folder.path());
    let mut random = Random(7);
    let mut differences = Vec::new();
    for (form, words) in forms.iter().zip(&all_words) {
        let meaning = Meaning::of(form, words);
        let program = program(form, words, meaning.taken.is_some());
        let code: Vec<u8> = program.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut inputs = Inputs::new();
        let mut evaluator = Evaluator::prepare(&meaning.recorder.terms, &meaning.roots());
        let places = Places::of(form);
        let lanes = form.lanes.filter(|_| are_floats);
        let mut left = cases;
        let mut differs = false;
        while left > 0 && !differs {
            let count = BATCH.min(left);
            left -= count;
            let mut states: Vec<Concrete> = (0..count).map(|_| random.state()).collect();
            states.iter_mut().for_each(|state| places.prepare(&mut random, state));
            for (before, theirs) in states.iter().zip(runner.run(&program, &states)) {
                let ours = meaning.apply(&mut evaluator, &mut inputs, before, &code);
                if !same(&ours, &theirs, lanes) {
                    differences.push(format!(
                        "{}\nbefore   {before:x?}\nours     {ours:x?}\nemulator {theirs:x?}\n",
                        form.text
                    ));
                    differs = true;
                    break;
                }
            }
        }
    }
    runner.stop();
    let shown: String = differences.iter().take(4).cloned().collect();
    let names: Vec<&str> = differences.iter().filter_map(|text| text.lines().next()).collect();
    assert!(differences.is_empty(), "{} of {} forms differ: {names:#?}\n{shown}", differences.len(), forms.len());
    println!("{} forms agree on {cases} states each", forms.len());
}

#[test]
fn integers_agree_with_the_emulator() {
    compare("integers_agree_with_the_emulator", &forms::all(scalars::INTEGERS), false);
}

#[test]
fn branches_agree_with_the_emulator() {
    compare("branches_agree_with_the_emulator", &forms::all(scalars::BRANCHES), false);
}

#[test]
fn floats_agree_with_the_emulator() {
    let mut forms = forms::with_width(scalars::CONVERSIONS);
    forms.extend(forms::all(scalars::FLOATS));
    compare("floats_agree_with_the_emulator", &forms, true);
}

#[test]
fn vectors_agree_with_the_emulator() {
    let mut forms = forms::arranged(vectors::VECTORS);
    forms.extend(forms::all(vectors::MOVES));
    compare("vectors_agree_with_the_emulator", &forms, false);
}

#[test]
fn vectors_of_floats_agree_with_the_emulator() {
    let mut forms = forms::arranged(vectors::FLOAT_VECTORS);
    forms.extend(forms::with_width(vectors::FLOAT_WIDTHS));
    compare("vectors_of_floats_agree_with_the_emulator", &forms, true);
}
