//! Compares the meaning of instructions with an emulator, on random states.
//!
//! A program that the emulator runs executes the words of a form from given states. The terms of the form are evaluated
//! under these states.

use super::forms::{self, Form};
use super::meaning::Meaning;
use super::scalars;
use super::states::{BYTES, Concrete, Random};
use super::vectors;
use crate::cases::cases;
use kingpost_smt::Term;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Addresses of the runner: its page of code, the offset of the words, the window of memory.
pub(crate) const CODE: u64 = 0x10_0000_0000;
pub(crate) const PLACE: u64 = 0x340;
pub(crate) const MEMORY: u64 = 0x20_0000_0800;
/// Distance of bases from the beginning of the window.
const MIDDLE: u64 = 32;
/// States in one batch of the runner.
const BATCH: usize = 500;

pub(crate) const TOOLS: [&str; 2] = ["aarch64-linux-gnu-gcc", "qemu-aarch64"];

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

/// Returns all forms with their words; none, with a message, if a tool is missing.
pub(crate) fn all_forms(test: &str) -> Vec<crate::meanings::Form> {
    if is_missing(test, &TOOLS[..1]) {
        return Vec::new();
    }
    let mut forms = forms::all(&[scalars::INTEGERS, scalars::BRANCHES, scalars::FLOATS].concat());
    forms.extend(forms::with_width(scalars::CONVERSIONS));
    forms.extend(forms::arranged(vectors::VECTORS));
    forms.extend(forms::all(vectors::MOVES));
    forms.extend(forms::arranged(vectors::FLOAT_VECTORS));
    forms.extend(forms::with_width(vectors::FLOAT_WIDTHS));
    let folder = tempfile::tempdir().unwrap();
    let words = assembled(folder.path(), &forms);
    let form = |(form, words): (Form, Vec<u32>)| {
        let bytes = words.into_iter().flat_map(u32::to_le_bytes).collect();
        crate::meanings::Form { machine: "aarch64", text: form.text, address: CODE + PLACE, bytes }
    };
    forms.into_iter().zip(words).map(form).collect()
}

/// The emulator with the program.
pub(crate) struct Runner(Child);

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

    pub(crate) fn stop(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
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

/// A form under judgment: its meaning, its program, and what states must have.
pub(crate) struct Subject {
    pub(crate) meaning: Meaning,
    program: Vec<u32>,
    code: Vec<u8>,
    places: Places,
    lanes: Option<u32>,
}

impl Subject {
    fn new(form: &Form, words: &[u32], are_floats: bool) -> Subject {
        let meaning = Meaning::of(form, words);
        let program = program(form, words, meaning.is_branch());
        let code = program.iter().flat_map(|word| word.to_le_bytes()).collect();
        Subject { meaning, program, code, places: Places::of(form), lanes: form.lanes.filter(|_| are_floats) }
    }

    /// Returns states before the form, and after it by the emulator.
    pub(crate) fn states(&self, runner: &mut Runner, random: &mut Random, count: usize) -> Vec<[Concrete; 2]> {
        let mut before: Vec<Concrete> = (0..count).map(|_| random.state()).collect();
        before.iter_mut().for_each(|state| self.places.prepare(random, state));
        self.run(runner, before)
    }

    /// Returns states, and the states after the form by the emulator.
    pub(crate) fn run(&self, runner: &mut Runner, before: Vec<Concrete>) -> Vec<[Concrete; 2]> {
        let after = runner.run(&self.program, &before);
        before.into_iter().zip(after).map(<[Concrete; 2]>::from).collect()
    }

    /// Returns addresses and targets, with their values in a state.
    pub(crate) fn fixed(&mut self, state: &Concrete) -> Vec<(Term, u64)> {
        self.meaning.fixed(state, &self.code)
    }

    /// Compares the meaning with the emulator.
    ///
    /// # Errors
    /// If they differ.
    pub(crate) fn compare(&mut self, [before, theirs]: &[Concrete; 2]) -> Result<(), String> {
        let ours = self.meaning.apply(before, &self.code);
        if ours.as_ref().is_ok_and(|ours| same(ours, theirs, self.lanes)) {
            return Ok(());
        }
        Err(format!("{}\nbefore   {before:x?}\nours     {ours:x?}\nemulator {theirs:x?}\n", self.meaning.text))
    }
}

/// Returns the emulator with a program that executes forms, and the forms.
pub(crate) fn prepare(folder: &Path, forms: &[Form], are_floats: bool) -> (Runner, Vec<Subject>) {
    let words = assembled(folder, forms);
    let subjects = forms.iter().zip(&words).map(|(form, words)| Subject::new(form, words, are_floats));
    (Runner::start(folder), subjects.collect())
}

fn compare(test: &str, forms: &[Form], are_floats: bool) {
    if is_missing(test, &TOOLS) {
        return;
    }
    let cases = cases(200);
    let folder = tempfile::tempdir().unwrap();
    let (mut runner, mut subjects) = prepare(folder.path(), forms, are_floats);
    let mut random = Random(7);
    let mut differences = Vec::new();
    for subject in &mut subjects {
        let mut left = cases;
        while left > 0 {
            let count = BATCH.min(left);
            left -= count;
            let states = subject.states(&mut runner, &mut random, count);
            if let Some(difference) = states.iter().find_map(|states| subject.compare(states).err()) {
                differences.push(difference);
                break;
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
