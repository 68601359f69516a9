//! Instructions that the kernels execute, counted by an emulator.
//!
//! QEMU logs each block of instructions that it translates and each block that it executes. So the counts are exact, and
//! are the same on any machine and under any load. Only the code of the kernel counts: what it calls in the C library
//! is the same code for all compilers.

use super::kernel::Kernel;
use super::machine::{Machine, machine};
use super::program::run_tool;
use super::suite::Suite;
use super::versions::{self, Version};
use crate::measure::geometric_mean;
use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSymbol};
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Compiles the kernels with the optimizing versions of all compilers, counts the instructions of one call of each, and prints
/// tables. Leaves the objects and programs in `folder`.
///
/// # Errors
/// If a compiler refuses a kernel, a kernel's result differs from the expectation in its file, or the emulator is missing.
pub(crate) fn report(suite: &Suite, target: &str, folder: &Path) -> Result<()> {
    let machine = machine(target)?;
    let kernels = &suite.kernels;
    let mut versions = versions::all(machine, suite);
    versions.retain(Version::optimizes);
    let folder = folder.join(target);
    std::fs::create_dir_all(&folder)?;
    write_markers(machine, &folder)?;
    let mut rows = Vec::new();
    for kernel in kernels {
        println!("{}", kernel.name);
        println!("  {:30} {:>14} {:>8}", "compiled by", "instructions", "ratio");
        let row = counts(kernel, suite, &versions, machine, &folder).with_context(|| kernel.name.clone())?;
        for (version, &count) in versions.iter().zip(&row) {
            println!("  {:30} {count:>14} {:>8.3}", version.name(), ratio(count, row[0]));
        }
        rows.push(row);
    }
    println!("all {} kernels on {target}: geometric means of the ratios, and the greatest", kernels.len());
    print!("  {:30}", "compiled by");
    let baselines: Vec<usize> = (0..versions.len()).filter(|&index| is_baseline(index, &versions)).collect();
    baselines.iter().for_each(|&index| print!(" {:>32}", format!("against {}", versions[index].name())));
    println!();
    for (index, version) in versions.iter().enumerate() {
        print!("  {:30}", version.name());
        for &baseline in &baselines {
            let ratios = || rows.iter().map(|row| ratio(row[index], row[baseline]));
            let worst = ratios().zip(kernels).max_by(|a, b| a.0.total_cmp(&b.0));
            let worst = worst.map_or_else(String::new, |(ratio, kernel)| format!("{ratio:.2} {}", kernel.name));
            print!(" {:>11.3} {worst:>20}", geometric_mean(ratios()));
        }
        println!();
    }
    Ok(())
}

/// Returns `true` for Cranelift and for each C compiler at its first level.
fn is_baseline(index: usize, versions: &[Version]) -> bool {
    index == 0 || matches!(versions[index], Version::C { opt_level: "-O1", .. })
}

fn ratio(count: u64, baseline: u64) -> f64 {
    count as f64 / baseline as f64
}

/// Names of the symbols around the code of a kernel.
const MARKERS: [&str; 2] = ["kernel_begin", "kernel_end"];

fn write_markers(machine: &Machine, folder: &Path) -> Result<()> {
    for marker in MARKERS {
        let source = folder.join(format!("{marker}.c"));
        std::fs::write(&source, format!("void {marker}(void) {{}}\n"))?;
        run_tool(
            Command::new(machine.c_compilers[0]).args(["-O1", "-c", "-o"]).args([&source.with_extension("o"), &source]),
        )?;
    }
    Ok(())
}

/// Returns the instructions of each version of a kernel. The versions run at the same time.
fn counts(kernel: &Kernel, suite: &Suite, versions: &[Version], machine: &Machine, folder: &Path) -> Result<Vec<u64>> {
    std::thread::scope(|scope| {
        let run = |version| scope.spawn(move || count(kernel, suite.surroundings, version, machine, folder));
        let threads: Vec<_> = versions.iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread that does not panic")).collect()
    })
}

fn count(kernel: &Kernel, surroundings: &str, version: &Version, machine: &Machine, folder: &Path) -> Result<u64> {
    version.build(kernel, machine, folder).with_context(|| version.name())?;
    let (symbol, Kernel { argument, result, .. }) = (version.symbol(kernel), kernel);
    let source = folder.join(format!("{symbol}.main.c"));
    let program = folder.join(&symbol);
    let text = format!(
        "{surroundings}\n#include <stdint.h>\nuint64_t {symbol}(uint64_t);\n\
         int main(void) {{ prepare(); uint64_t result = {symbol}({argument}ul); return (result ^ digest()) != {result}ul; }}\n"
    );
    std::fs::write(&source, text)?;
    let [begin, end] = MARKERS.map(|marker| folder.join(marker).with_extension("o"));
    let inputs = [&source, &begin, &version.object(kernel, folder), &end];
    // At fixed addresses, which the emulator's filter needs.
    run_tool(
        Command::new(machine.c_compilers[0])
            .args(["-O1", "-static", "-no-pie", "-o"])
            .arg(&program)
            .args(inputs)
            .arg("-lm"),
    )?;
    let [begin, end] = addresses(&program)?;
    let mut command = Command::new(machine.emulator);
    command.args(["-cpu", "max", "-d", "in_asm,exec,nochain", "-dfilter", &format!("{begin:#x}..{:#x}", end - 1)]);
    let mut child = command
        .arg(&program)
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", machine.emulator))?;
    let log = child.stderr.take().context("the emulator has no log")?;
    let count = executed(BufReader::new(log))?;
    ensure!(child.wait()?.success(), "{symbol} has another result");
    Ok(count)
}

/// Returns the addresses of the markers in a program.
fn addresses(program: &Path) -> Result<[u64; 2]> {
    let bytes = std::fs::read(program)?;
    let file = object::File::parse(&*bytes)?;
    let address = |name: &str| {
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name));
        symbol.map(|symbol| symbol.address()).with_context(|| format!("no symbol {name}"))
    };
    Ok([address(MARKERS[0])?, address(MARKERS[1])?])
}

/// Returns the number of instructions in the executed blocks of an emulator's log. A translated block is a line `IN: NAME`, with a
/// line `0xADDRESS: INSTRUCTION` for each instruction. An executed one is a line `Trace N: HOST [BASE/ADDRESS/FLAGS...] NAME`.
fn executed(mut log: impl BufRead) -> Result<u64> {
    let mut sizes: HashMap<u64, u64> = HashMap::new();
    let mut translated = None;
    let mut count = 0;
    let mut line = Vec::new();
    while log.read_until(b'\n', &mut line)? != 0 {
        if line.starts_with(b"Trace") {
            let address = line.split(|&byte| byte == b'/').nth(1).context("an executed block without an address")?;
            count += sizes.get(&hexadecimal(address)?).context("a block that was not translated")?;
        } else if line.starts_with(b"IN:") {
            translated = None;
        } else if let Some(rest) = line.strip_prefix(b"0x") {
            // The first instruction gives the address of the block. A block that is translated again replaces the former.
            match translated {
                Some(start) => *sizes.entry(start).or_default() += 1,
                None => {
                    let end =
                        rest.iter().position(|&byte| byte == b':').context("an instruction without an address")?;
                    let start = hexadecimal(&rest[..end])?;
                    translated = Some(start);
                    sizes.insert(start, 1);
                }
            }
        }
        line.clear();
    }
    Ok(count)
}

fn hexadecimal(digits: &[u8]) -> Result<u64> {
    Ok(u64::from_str_radix(std::str::from_utf8(digits)?, 16)?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn instructions_of_executed_blocks_are_counted() {
        let log = "----------------\nIN: f\n0x00400:  91000400  add x0, x0, #1\n0x00404:  35ffffe0  cbnz w0, #0x400\n\n\
            Trace 0: 0x7f00 [00/0000000000000400/01/01] f\nTrace 0: 0x7f00 [00/0000000000000400/01/01] f\n\
            ----------------\nIN: f\n0x00408:  d65f03c0  ret\n\nTrace 0: 0x7f80 [00/0000000000000408/01/01] f\n";
        assert_eq!(super::executed(log.as_bytes()).unwrap(), 5);
        assert!(super::executed("Trace 0: 0x7f80 [00/0000000000000408/01/01] f\n".as_bytes()).is_err());
    }
}
