//! Generated signatures: compiled code and C call each other, and compiled code tail calls itself.
//!
//! For each signature there are four functions: a compiled callee and caller, and a callee and a caller in C. A
//! caller takes the arguments from `sent`; a callee stores its arguments to `seen` and returns the contents of
//! `ret`; a caller stores the results to `got`. The C program compares. Arguments are integers of all widths with
//! and without extension, floats, structs by value, and perhaps a context first; results are scalars, a struct in
//! two registers, or a larger one through `sret`. Tail calls are in `tail.rs`.

mod shrink;
mod signature;
mod tail;

use crate::emulated;
use crate::failure::{Failure, Report};
use crate::native::{self, Cpu, Lane, runs_here};
use kingpost_emit_object::ObjectOptions;
use shrink::shrink;
use signature::{HEAD, Rules, Signature, signature};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Output};
use tail::Chain;
use target_lexicon::Triple;

/// A fault, with its signature and its lane.
struct Mismatch {
    signature: usize,
    lane: usize,
    what: String,
}

impl From<String> for Mismatch {
    fn from(what: String) -> Mismatch {
        Mismatch { signature: 0, lane: 0, what }
    }
}

/// Compiles the signatures of `seeds` under every allocator, links them with C, and makes them call each other.
///
/// # Errors
/// A signature on which the two disagree, shrunken; or the reason why no comparison is possible.
pub fn run(seeds: Range<u64>) -> Result<Report, Box<Failure>> {
    let mut report = Report::default();
    let signatures: Vec<Signature> = seeds.clone().map(signature).collect();
    let [windows, tail] = [Rules::Microsoft, Rules::Tail].map(|rules| Machine { rules, ..X86_64 });
    for machine in [X86_64, windows, tail, AARCH64, Machine { rules: Rules::Tail, ..AARCH64 }] {
        match machine.is_here() {
            Ok(()) => compare(&machine, &signatures, seeds.start, &mut report)?,
            Err(reason) => {
                assert!(std::env::var_os("CI").is_none(), "{reason}");
                eprintln!("calls to and from C are not compared: {reason}");
                report.skip(reason);
            }
        }
    }
    report.cases += signatures.len() as u64;
    Ok(report)
}

/// A machine with a C compiler, and one of its conventions.
struct Machine {
    rules: Rules,
    cc: &'static str,
    /// Options for compiling and linking programs.
    flags: &'static [&'static str],
    /// Emulator that runs them, unless this machine does.
    emulator: Option<&'static str>,
    triple: fn() -> Triple,
    lanes: fn() -> Vec<Lane>,
}

const X86_64: Machine = Machine {
    rules: Rules::SystemV,
    cc: "cc",
    flags: &[],
    emulator: None,
    triple: native::triple,
    lanes: || Lane::all(Cpu::Any),
};

const AARCH64: Machine = Machine {
    rules: Rules::Aapcs64,
    cc: "aarch64-linux-gnu-gcc",
    flags: &["-static"],
    emulator: Some("qemu-aarch64"),
    triple: emulated::triple,
    lanes: || emulated::lanes(false),
};

impl Machine {
    /// Checks that its programs can be built and run.
    fn is_here(&self) -> Result<(), String> {
        let has = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
        match [Some(self.cc), self.emulator].into_iter().flatten().find(|tool| !has(tool)) {
            Some(tool) => Err(format!("there is no {tool}")),
            None if self.emulator.is_none() && !runs_here() => Err("this is no x86-64 machine".into()),
            None => Ok(()),
        }
    }

    fn run(&self, program: &Path) -> Result<Output, String> {
        let output = match self.emulator {
            None => Command::new(program).output(),
            Some(emulator) => Command::new(emulator).arg(program).output(),
        };
        output.map_err(|error| error.to_string())
    }

    fn cc(&self, folder: &Path, args: &[&str]) -> Result<(), String> {
        let mut cc = Command::new(self.cc);
        let output = cc.current_dir(folder).args(self.flags).args(args).output().map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("{} {}:\n{}", self.cc, args.join(" "), String::from_utf8_lossy(&output.stderr)))
    }
}

/// Compares the signatures on one machine.
fn compare(machine: &Machine, signatures: &[Signature], first: u64, report: &mut Report) -> Result<(), Box<Failure>> {
    let signatures: Vec<Signature> = signatures.iter().map(|signature| signature.under(machine.rules)).collect();
    let level = if first.is_multiple_of(2) { "-O1" } else { "-O0" };
    let mut lanes = (machine.lanes)();
    if let Err(mismatch) = judge(machine, &signatures, &mut lanes, level, report) {
        let seed = first + mismatch.signature as u64;
        let Some(signature) = signatures.get(mismatch.signature) else {
            return Err(failure(machine, seed, &mismatch.what, None));
        };
        let lane = &mut lanes[mismatch.lane..=mismatch.lane];
        let mut judge = |candidate: &Signature| {
            judge(machine, std::slice::from_ref(candidate), lane, level, &mut Report::default()).err()
        };
        let small = shrink(signature, |candidate| judge(candidate).is_some());
        // It may be right alone: then the text about all of them is reported.
        let what = judge(&small).map_or(mismatch.what, |mismatch| mismatch.what);
        return Err(failure(machine, seed, &what, Some(&small)));
    }
    Ok(())
}

fn failure(machine: &Machine, seed: u64, what: &str, signature: Option<&Signature>) -> Box<Failure> {
    let what = format!("{what}\nrepeat with: make fuzz TARGET=abi N=1 SEED={seed}");
    let text = signature.map_or_else(String::new, |signature| {
        let [clif, c] = texts(signature, 0, machine.rules);
        let c: String = c.lines().map(|line| format!("; {line}\n")).collect();
        let target = (machine.triple)().architecture;
        format!("test compile\ntarget {target}\n\n{clif}; What calls them and what they call:\n{c}")
    });
    Box::new(Failure { seed, what, text })
}

/// Returns the compiled functions of a signature as CLIF, and its C functions.
fn texts(signature: &Signature, n: usize, rules: Rules) -> [String; 2] {
    if rules == Rules::Tail {
        let chain = Chain::new(signature);
        [chain.clif(n), chain.c(n)]
    } else {
        [signature.clif(n, rules), signature.c(n, rules)]
    }
}

fn judge(
    machine: &Machine,
    signatures: &[Signature],
    lanes: &mut [Lane],
    level: &str,
    report: &mut Report,
) -> Result<(), Mismatch> {
    let (mut c, mut text) = (HEAD.to_string(), String::new());
    for (n, signature) in signatures.iter().enumerate() {
        let [ours, theirs] = texts(signature, n, machine.rules);
        text += &ours;
        c += &theirs;
    }
    c += "int main(void) {\n  int r;\n";
    for n in 0..signatures.len() {
        c += &format!("  if ((r = check_{n}())) {{ printf(\"{n} %d\", r); return 1; }}\n");
    }
    c += "  return 0;\n}\n";
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("c.c"), c).map_err(|error| error.to_string())?;
    machine.cc(folder.path(), &["-c", level, "-fno-strict-aliasing", "c.c"])?;
    let functions = kingpost_reader::parse_functions(&text).map_err(|error| error.to_string())?;
    for (index, lane) in lanes.iter_mut().enumerate() {
        let module = lane.compile(&functions).map_err(|error| format!("{lane}: {error}"))?;
        let object = kingpost_emit_object::write(&(machine.triple)(), &module, &[], ObjectOptions::default());
        std::fs::write(at("k.o"), object.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
        machine.cc(folder.path(), &["-o", "test", "c.o", "k.o"])?;
        let output = machine.run(&at("test"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let signature = said.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
            let meaning =
                "1: our callee's arguments, 2: its result, 3: C's arguments or those of a tail call, 4: C's result";
            let what = format!("{lane}: {said}, {}; {meaning}", output.status);
            return Err(Mismatch { signature, lane: index, what });
        }
        report.functions += functions.len() as u64;
        report.calls += 2 * signatures.len() as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoke() {
        let report = run(0..12).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(report.cases == 12 || !report.skipped.is_empty(), "{report}");
    }
}
