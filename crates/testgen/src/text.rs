//! Mutations of valid texts, for readers: each must result in success or in a proper error.

use crate::rng::Rng;
use cpu_time::ThreadTime;
use kingpost_regalloc::text;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Words that the readers of CLIF know, and numbers at their limits.
const PIECES: &[&str] = &[
    "v0",
    "v1",
    "v4294967295",
    "v4294967296",
    "block0",
    "block4294967295",
    "block4294967296",
    "ss0",
    "gv0",
    "fn0",
    "sig0",
    "const0",
    "dt0",
    "dss0",
    "region0",
    "region2047",
    "ret0",
    "exn1",
    "tag4294967295",
    "stack_limit = gv0",
    "->",
    "=",
    ":",
    ",",
    ".",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "@",
    "@ff",
    "\"",
    "%",
    "u0:0",
    ";",
    "\n",
    "-",
    "+",
    "0x",
    "-0x8000_0000_0000_0000",
    "18446744073709551616",
    "0x1.8p-3",
    "NaN",
    "-sNaN:0x1",
    "+Inf",
    "[1 2 3 4]",
    "i8",
    "i128",
    "f16",
    "f128",
    "i8x256",
    "i128x256",
    ".i64",
    ".f32",
    ".dt0",
    "cold",
    "notrap",
    "little big",
    "user251",
    "iadd v0, v0",
    "call fn0()",
    "brif v0, block0, block0",
    "v7 -> v0",
    "v9 = iconst.i64 1",
    "function %f() {",
    "jump",
    "br_table v0, block0, []",
    "try_call fn0(), sig0, block0, []",
    ", stack_map=[i32 @ ss0+4294967295]",
    "\u{e4}",
    "env {",
    "problem %p {",
    "allocation {",
    "use v0",
    "def v1 = r0",
    "reuse 0",
    "clobbers {r0}",
    "freq 0.5",
    "order b0",
    "before i0: move r0 -> r1 8",
    "slots s0: 8",
    "b1(v4)",
    "-> e1 b1",
    "data: %x rw zero=1,",
    "vconst.i64x2",
    "bitcast.i8x4 little",
    "\0",
    "system_v",
    "sarg(4294967295)",
];

/// Largest growth of a text, which limits copies of long spans.
const MAX_GROWTH: usize = 4096;

/// Returns a mutant of a text: one to eight random changes of bytes, tokens, spans or lines. Equal seeds give equal
/// mutants. The result need not be UTF-8.
pub fn mutate_text(seed: u64, text: &[u8]) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut mutant = text.to_vec();
    let limit = text.len() + MAX_GROWTH;
    // Half of the mutants have one change, because readers get farther with fewer changes.
    let changes = if rng.chance(50) { 1 } else { 1 + rng.range(0..8) };
    for _ in 0..changes {
        change(&mut rng, &mut mutant);
        mutant.truncate(limit);
    }
    mutant
}

/// Results of [`readers`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TextReport {
    /// Mutants read.
    pub mutants: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Number of items read without error, as counted by the reader.
    pub accepted: u64,
    /// The longest time for one mutant.
    pub slowest: Duration,
}

impl TextReport {
    /// Adds the results of another run.
    pub fn add(&mut self, other: &TextReport) {
        self.mutants += other.mutants;
        self.bytes += other.bytes;
        self.accepted += other.accepted;
        self.slowest = self.slowest.max(other.slowest);
    }
}

impl fmt::Display for TextReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TextReport { mutants, bytes, accepted, slowest } = self;
        write!(f, "{mutants} mutants, {bytes} bytes, {accepted} accepted, slowest {} ms", slowest.as_millis())
    }
}

/// A mutant on which a reader fails.
#[derive(Clone, Debug)]
pub struct TextFailure {
    /// Its seed.
    pub seed: u64,
    /// The failure.
    pub trouble: String,
    /// The mutant.
    pub text: Vec<u8>,
}

impl fmt::Display for TextFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "; seed {}: {}", self.seed, self.trouble)?;
        f.write_str(&String::from_utf8_lossy(&self.text))
    }
}

/// CPU time within which one mutant is read.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Calls `read` on mutants of the texts, one for each seed. `read` returns the number of items that it could read,
/// or an error in its own work; errors in the text are no failure.
///
/// # Errors
/// The first mutant for which `read` fails, panics or takes too long.
pub fn readers(
    texts: &[Vec<u8>],
    seeds: Range<u64>,
    read: &dyn Fn(&[u8]) -> Result<usize, String>,
) -> Result<TextReport, Box<TextFailure>> {
    let mut report = TextReport::default();
    for seed in seeds {
        let Some(text) = texts.get((seed % texts.len().max(1) as u64) as usize) else { break };
        let mutant = mutate_text(seed, text);
        let start = ThreadTime::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| read(&mutant)));
        let time = start.elapsed();
        let trouble = match outcome {
            Ok(Ok(_)) if time > TIME_LIMIT => format!("took {} s", time.as_secs()),
            Ok(Ok(accepted)) => {
                report.mutants += 1;
                report.bytes += mutant.len() as u64;
                report.accepted += accepted as u64;
                report.slowest = report.slowest.max(time);
                continue;
            }
            Ok(Err(trouble)) => trouble,
            Err(_) => "panicked".to_string(),
        };
        return Err(Box::new(TextFailure { seed, trouble, text: mutant }));
    }
    Ok(report)
}

/// Reads a `.ra` text, verifies its problems, prints it, and reads the result again. Returns the number of
/// problems.
///
/// # Errors
/// If the printed text reads as something else.
pub fn read_ra(bytes: &[u8]) -> Result<usize, String> {
    let Ok(file) = text::parse(&String::from_utf8_lossy(bytes)) else { return Ok(0) };
    let print = |file: &text::File| {
        let env = file.env.as_ref().map(ToString::to_string).unwrap_or_default();
        let mut printed = env;
        for case in &file.cases {
            printed += &case.problem.to_string();
            if let Some(allocation) = &case.allocation {
                printed += &text::display_allocation(&case.problem, allocation).to_string();
            }
        }
        printed
    };
    for case in &file.cases {
        let valid = match &file.env {
            Some(env) => case.problem.verify_with(env).is_ok(),
            None => case.problem.verify().is_ok(),
        };
        // An invalid problem need not have a text form.
        if !valid {
            return Ok(0);
        }
    }
    let printed = print(&file);
    match text::parse(&printed) {
        Ok(again) if print(&again) == printed => Ok(file.cases.len()),
        Ok(again) => Err(format!("prints as\n{printed}\nwhich reads and prints as\n{}", print(&again))),
        Err(error) => Err(format!("prints as\n{printed}\nwhich does not read: {error}")),
    }
}

fn change(rng: &mut Rng, text: &mut Vec<u8>) {
    let at = rng.range(0..text.len() + 1);
    match rng.range(0..9) {
        0 if at < text.len() => text[at] = rng.bits() as u8,
        1 if at < text.len() => text[at] ^= 1 << rng.range(0..8),
        2 => text.truncate(at),
        3 => {
            let span = span(rng, text, at, 40);
            text.drain(span);
        }
        4 => {
            let copy = text[span(rng, text, at, 200)].to_vec();
            let target = rng.range(0..text.len() + 1);
            text.splice(target..target, copy);
        }
        5 => {
            let line = line_around(text, at);
            let copy = text[line].to_vec();
            let target = line_around(text, rng.range(0..text.len() + 1)).start;
            text.splice(target..target, copy);
        }
        6 => {
            let token = token_around(text, at);
            let other = token_around(text, rng.range(0..text.len() + 1));
            let copy = text[other].to_vec();
            text.splice(token, copy);
        }
        _ => {
            let target = if rng.chance(50) { token_around(text, at) } else { at..at };
            let piece = rng.pick(PIECES).unwrap_or_default();
            text.splice(target, piece.bytes());
        }
    }
}

type Span = Range<usize>;

fn span(rng: &mut Rng, text: &[u8], at: usize, longest: usize) -> Span {
    at..(at + rng.range(0..longest)).min(text.len())
}

/// Returns the line at a position, including its end.
fn line_around(text: &[u8], at: usize) -> Span {
    let start = text[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |index| index + 1);
    let end = text[at..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |index| at + index + 1);
    start..end
}

/// Returns the word or number at a position, or an empty span if there is none.
fn token_around(text: &[u8], at: usize) -> Span {
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let start = text[..at].iter().rposition(|byte| !inside(byte)).map_or(0, |index| index + 1);
    let end = text[at..].iter().position(|byte| !inside(byte)).map_or(text.len(), |index| at + index);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutants_differ_and_repeat() {
        let text = b"function %f() {\nblock0:\n  v0 = iconst.i32 7\n  return\n}\n";
        let mutants: Vec<Vec<u8>> = (0..200).map(|seed| mutate_text(seed, text)).collect();
        assert!(mutants.iter().filter(|mutant| mutant.as_slice() == text).count() < 20);
        assert_eq!(mutants[17], mutate_text(17, text));
        assert!((0..100).all(|seed| mutate_text(seed, b"").len() <= MAX_GROWTH));
    }

    #[test]
    fn mutants_of_problems() {
        let texts: Vec<Vec<u8>> = (0..40)
            .map(|seed| {
                let (problem, env) = crate::problem::generate(seed);
                format!("{env}{problem}").into_bytes()
            })
            .collect();
        assert!(texts.iter().all(|text| read_ra(text) == Ok(1)));
        match readers(&texts, 0..2000, &read_ra) {
            Ok(report) => assert!(report.accepted > 10, "{report}"),
            Err(failure) => panic!("{failure}"),
        }
    }
}
