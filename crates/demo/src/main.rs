//! The demo: programs written in CLIF, compiled for every target with every register allocator, linked with libc by
//! the system linker, run on inputs generated from a seed, and checked against system tools. An emulator runs
//! programs of other machines. The output must be equal.
//!
//! The last programs are in a small language, whose front end is `language.rs`. They are built with the builder and
//! run in memory.
//!
//! `kingpost-demo KINGPOST OUT` takes the compiler's binary and a folder for its files, and prints a table. With `--systems`, the
//! programs are for Windows and macOS (`systems.rs`).

mod language;
mod machine;
mod systems;

use anyhow::{Context, Result, bail, ensure};
use kingpost_codegen::ALLOCATORS;
use machine::{Machine, is_there, run};
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use systems::Linked;
use target_lexicon::Triple;

const X86_64: Machine = Machine {
    target: "x86_64",
    flags: &["--set", "has_ssse3"],
    cc: "cc",
    link: &[],
    size: "size",
    emulator: None,
    system: None,
};
const AARCH64: Machine = Machine {
    target: "aarch64",
    flags: &[],
    cc: "aarch64-linux-gnu-gcc",
    link: &["-static"],
    size: "aarch64-linux-gnu-size",
    emulator: Some("qemu-aarch64"),
    system: None,
};

impl Machine {
    /// Returns this machine with the usual tools and without an emulator if it is the host, otherwise unchanged.
    fn here(self) -> Machine {
        match Triple::host().architecture.to_string() == self.target {
            true => Machine { cc: "cc", size: "size", emulator: None, ..self },
            false => self,
        }
    }
}

/// A built program and its runner.
struct Built {
    path: PathBuf,
    /// Emulator and loader.
    before: Vec<PathBuf>,
    /// The name of the first function, for a loader.
    after: Option<&'static str>,
}

impl Built {
    /// Returns a command that runs the program, and ends it after one minute of CPU time.
    fn command(&self) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -t 60 && exec \"$@\"", "sh"]).args(&self.before).arg(&self.path).args(self.after);
        command.env("WINEDEBUG", "-all");
        command
    }
}

/// A program: name, generator of the input, and check of the output.
struct Program {
    name: &'static str,
    input: fn(&mut Random) -> Vec<u8>,
    /// Check of the output, given the built program, its input and a folder for more files.
    check: fn(&Built, &Path, &Path) -> Result<()>,
}

const PROGRAMS: &[Program] = &[
    Program { name: "sha256", input: noise, check: check_sha256 },
    Program { name: "base64", input: noise, check: check_base64 },
    Program { name: "nqueens", input: nothing, check: check_nqueens },
    Program { name: "heapsort", input: numbers, check: check_heapsort },
    Program { name: "lz77", input: words, check: check_lz77 },
    Program { name: "sieve", input: limit, check: check_sieve },
    Program { name: "mandelbrot", input: nothing, check: check_against_c },
    Program { name: "nbody", input: nothing, check: check_against_c },
];

fn main() -> Result<()> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(kingpost), Some(out)) = (args.next(), args.next()) else {
        bail!("usage: kingpost-demo KINGPOST OUT [--systems]");
    };
    let other_systems = match args.next() {
        None => false,
        Some(word) if word == Path::new("--systems") => true,
        Some(word) => bail!("unknown option {}", word.display()),
    };
    fs::create_dir_all(&out)?;
    let out = fs::canonicalize(out)?;
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    println!(
        "{:<10} {:<8} {:<12} {:>10} {:>12} {:>9} {:>9}",
        "program", "target", "allocator", "code bytes", "compile ms", "run ms", "answer"
    );
    let (mut answers, mut skipped) = (0, Vec::new());
    let mut machines = match other_systems {
        true => systems::MACHINES.to_vec(),
        false => vec![X86_64.here(), AARCH64.here()],
    };
    machines.retain(|machine| {
        let tools = [Some(machine.cc), Some(machine.size), machine.emulator];
        let missing = tools.into_iter().flatten().find(|tool| !is_there(tool));
        let missing = missing.or_else(|| machine.system.and_then(|(system, _)| systems::missing(system)));
        skipped.extend(missing.map(|tool| format!("{}: no {tool}", machine.target)));
        missing.is_none()
    });
    for program in PROGRAMS {
        let input = out.join(format!("{}.in", program.name));
        fs::write(&input, (program.input)(&mut Random(0x5eed)))?;
        for machine in &machines {
            for (allocator, _) in ALLOCATORS {
                let row = build_and_check(program, machine, allocator, &kingpost, &programs, &input, &out)
                    .with_context(|| format!("{} for {} with {allocator}", program.name, machine.target))?;
                println!("{row}");
                answers += 1;
            }
        }
    }
    let formulas = if other_systems { &[][..] } else { FORMULAS };
    for (name, text) in formulas {
        for (allocator, _) in ALLOCATORS {
            let row = compile_and_compare(name, text, allocator).with_context(|| format!("{name} with {allocator}"))?;
            println!("{row}");
            answers += 1;
        }
    }
    println!(
        "\nMilliseconds of an emulated machine say nothing of a real one. Programs and objects are in {}.",
        out.display()
    );
    for reason in &skipped {
        println!("SKIPPED: {reason} (make deps installs it)");
    }
    let programs = PROGRAMS.len() + formulas.len();
    let targets: Vec<&str> = machines.iter().map(|machine| machine.target).collect();
    println!(
        "demo: all {answers} answers are correct: {programs} programs, {} allocators, {}",
        ALLOCATORS.len(),
        if targets.is_empty() { "in memory only".into() } else { targets.join(" and ") }
    );
    Ok(())
}

/// Programs in the small language.
const FORMULAS: &[(&str, &str)] = &[
    ("powers", "result = 1; while 0 < n { result = result * 3 + n * n; n = n - 1; }"),
    (
        "collatz",
        "while 1 < n { half = 0; m = n; while 1 < m { m = m - 2; half = half + 1; }
         if m == 0 { n = half; } else { n = 3 * n + 1; } result = result + 1; }",
    ),
    (
        "primes",
        "p = 2; while p < n { d = 2; prime = 1; while d * d < p + 1 { q = p; while d - 1 < q { q = q - d; }
         if q == 0 { prime = 0; } d = d + 1; } result = result + prime; p = p + 1; }",
    ),
];

/// Compiles a program in memory and compares its results with the results of walking its text.
fn compile_and_compare(name: &str, text: &str, allocator: &str) -> Result<String> {
    let program = language::Program::parse(text)?;
    let start = Instant::now();
    let compiled = language::Compiled::new(&program, allocator)?;
    let compile = start.elapsed();
    let start = Instant::now();
    let answers = compiled.answers(400)?;
    let run = start.elapsed();
    for (n, &answer) in (0..).zip(&answers) {
        ensure!(answer == program.evaluate(n), "answers {answer} to {n} instead of {}", program.evaluate(n));
    }
    let target = Triple::host().architecture.to_string();
    Ok(row(name, &target, allocator, compiled.code_bytes as u64, compile, run))
}

fn row(name: &str, target: &str, allocator: &str, bytes: u64, compile: Duration, run: Duration) -> String {
    let [compile, run] = [compile, run].map(|time| time.as_secs_f64() * 1e3);
    format!("{name:<10} {target:<8} {allocator:<12} {bytes:>10} {compile:>12.1} {run:>9.1} {:>9}", "correct")
}

fn build_and_check(
    program: &Program,
    machine: &Machine,
    allocator: &str,
    kingpost: &Path,
    programs: &Path,
    input: &Path,
    out: &Path,
) -> Result<String> {
    let stem = format!("{}-{}-{allocator}", program.name, machine.target);
    let object = out.join(format!("{stem}.o"));
    let binary = out.join(stem);
    let start = Instant::now();
    let sources = [programs.join("io.clif"), programs.join(format!("{}.clif", program.name))];
    run(Command::new(kingpost)
        .arg("compile")
        .args(systems::sources(&sources, machine, out)?)
        .arg("-o")
        .arg(&object)
        .args(["--target", machine.target, "--verify-each", "--regalloc", allocator])
        .args(machine.flags))?;
    let compile = start.elapsed();
    let built = match machine.system {
        Some((system, _)) => {
            let Linked { before, program, after } = systems::link(machine, system, &object, &binary, out)?;
            Built { path: program, before, after }
        }
        None => link(machine, &object, binary)?,
    };
    let size = text_bytes(machine.size, &object)?;
    let start = Instant::now();
    (program.check)(&built, input, out)?;
    let run = start.elapsed();
    Ok(row(program.name, machine.target, allocator, size, compile, run))
}

/// Makes a program for Linux of an object.
fn link(machine: &Machine, object: &Path, binary: PathBuf) -> Result<Built> {
    let mut cc = Command::new(machine.cc);
    let link = cc.arg("-Wl,--fatal-warnings").args(machine.link).arg(object).arg("-o").arg(&binary).output()?;
    ensure!(link.status.success() && link.stderr.is_empty(), "cc: {}", String::from_utf8_lossy(&link.stderr));
    Ok(Built { path: binary, before: machine.emulator.map(PathBuf::from).into_iter().collect(), after: None })
}

/// Returns the size of `.text` in bytes, according to `size`.
fn text_bytes(size: &str, object: &Path) -> Result<u64> {
    let output = Command::new(size).arg("-A").arg(object).output().context("cannot start size")?;
    let text = String::from_utf8(output.stdout)?;
    let is_code = |line: &&str| line.starts_with(".text") || line.starts_with("__text");
    let line = text.lines().find(is_code).context("the object has no code")?;
    Ok(line.split_whitespace().nth(1).context("size prints no number")?.parse()?)
}

/// Runs `program` on `input` and returns its output.
fn output_of(program: &Built, args: &[&str], input: &Path) -> Result<Vec<u8>> {
    // A file, because servers that an emulator starts keep a pipe open for seconds after the program ended.
    let mut said = tempfile::tempfile()?;
    let mut command = program.command();
    let status =
        command.args(args).stdin(File::open(input)?).stdout(said.try_clone()?).stderr(Stdio::inherit()).status()?;
    ensure!(status.success(), "{}: {status}", program.path.display());
    let mut bytes = Vec::new();
    said.rewind()?;
    said.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns a program of this machine.
fn native(path: impl Into<PathBuf>) -> Built {
    Built { path: path.into(), before: Vec::new(), after: None }
}

/// Runs a shell pipeline of system tools on `input` and returns its output.
fn system(pipeline: &str, input: &Path) -> Result<Vec<u8>> {
    output_of(&native("sh"), &["-c", pipeline], input)
}

fn same(ours: &[u8], theirs: &[u8], whose: &str) -> Result<()> {
    ensure!(ours == theirs, "the output differs from that of {whose}");
    Ok(())
}

fn check_sha256(program: &Built, input: &Path, _: &Path) -> Result<()> {
    same(&output_of(program, &[], input)?, &system("sha256sum | cut -d' ' -f1", input)?, "sha256sum")
}

/// Checks base64 by the lanes of vectors and byte by byte against the output of the system.
fn check_base64(program: &Built, input: &Path, _: &Path) -> Result<()> {
    let expected = system("base64 -w0", input)?;
    same(&output_of(program, &[], input)?, &expected, "base64 by the lanes of vectors")?;
    same(&output_of(program, &["bytes"], input)?, &expected, "base64 byte by byte")
}

fn check_nqueens(program: &Built, input: &Path, _: &Path) -> Result<()> {
    // Sequence A000170 of the On-Line Encyclopedia of Integer Sequences.
    same(&output_of(program, &[], input)?, b"1\n0\n0\n2\n10\n4\n40\n92\n352\n724\n", "the literature")
}

fn check_heapsort(program: &Built, input: &Path, _: &Path) -> Result<()> {
    same(&output_of(program, &[], input)?, &system("LC_ALL=C sort -n", input)?, "sort")
}

fn check_sieve(program: &Built, input: &Path, _: &Path) -> Result<()> {
    let factor = "seq 2 $(cat) | factor | awk 'NF == 2 { print $2 }'";
    same(&output_of(program, &[], input)?, &system(factor, input)?, "factor")
}

/// Checks that the output equals the output of a C program with equal arithmetic in equal order, compiled by the
/// system's C compiler.
fn check_against_c(program: &Built, input: &Path, out: &Path) -> Result<()> {
    let stem = input.file_stem().context("the input has a name")?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(stem).with_extension("c");
    let reference = out.join(stem).with_extension("reference");
    run(Command::new("cc").args(["-O1", "-ffp-contract=off"]).arg(source).arg("-o").arg(&reference).arg("-lm"))?;
    same(&output_of(program, &[], input)?, &output_of(&native(reference), &[], input)?, "the C program")
}

fn check_lz77(program: &Built, input: &Path, out: &Path) -> Result<()> {
    let packed = out.join("lz77.packed");
    let unpacked = out.join("lz77.unpacked");
    fs::write(&packed, output_of(program, &[], input)?)?;
    fs::write(&unpacked, output_of(program, &["d"], &packed)?)?;
    ensure!(fs::metadata(&packed)?.len() * 2 < fs::metadata(input)?.len(), "text must shrink to less than half");
    run(Command::new("cmp").args([input, &unpacked]))
}

/// A small generator (xorshift64*, Marsaglia 2003, Vigna 2016), so that inputs are equal on all machines.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
}

fn nothing(_: &mut Random) -> Vec<u8> {
    Vec::new()
}

fn noise(random: &mut Random) -> Vec<u8> {
    (0..1_000_003).map(|_| random.next() as u8).collect()
}

fn numbers(random: &mut Random) -> Vec<u8> {
    (0..1_000_000).flat_map(|_| format!("{}\n", random.next()).into_bytes()).collect()
}

fn words(random: &mut Random) -> Vec<u8> {
    let words = ["value ", "block ", "register ", "spill ", "reload ", "edge ", "interval ", "move ", "use\n"];
    (0..200_000).flat_map(|_| words[random.next() as usize % words.len()].bytes()).collect()
}

fn limit(_: &mut Random) -> Vec<u8> {
    b"1000000\n".to_vec()
}
