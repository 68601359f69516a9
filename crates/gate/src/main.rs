//! The cost of compiling, counted: `kingpost-gate check TABLE [--shard I/N]`; of the code alone: `kingpost-gate code
//! TABLE [--shard I/N]`.
//!
//! A generated module is compiled for both targets with every allocator, each in a separate process under callgrind,
//! which counts instructions exactly. A committed table has the counts per CLIF instruction and stage, the heap
//! allocations of a warm compiler, the bytes of code, and the edits of the allocator. A count that exceeds the table
//! by more than one percent is a failure. No clock is read. `code` compares the columns that are equal in every build of the
//! compiler, bytes and edits, and needs neither callgrind nor an optimized build. `--shard I/N` limits both to a part of the cases,
//! for machines that share them.
//!
//! | file | holds |
//! |---|---|
//! | `main.rs` | the subcommands |
//! | `workload.rs` | the module, and the counts of compiling it |
//! | `callgrind.rs` | runs a process under callgrind, and reads its profile |
//! | `table.rs` | the table: its text, and the comparison of two |

mod callgrind;
mod stages;
mod table;
mod workload;

use anyhow::{Context, Error, Result, bail, ensure};
use kingpost_testgen::Shard;
use std::path::Path;
use table::{CODE_COLUMNS, Row, Table};
use workload::Case;

/// The compiler of this program, which the counts of the table depend on.
const RUSTC: &str = env!("GATE_RUSTC");

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["check", path] => check(Path::new(path), Shard::default()),
        ["check", path, "--shard", shard] => check(Path::new(path), shard.parse().map_err(Error::msg)?),
        ["code", path] => code(Path::new(path), Shard::default()),
        ["code", path, "--shard", shard] => code(Path::new(path), shard.parse().map_err(Error::msg)?),
        // `check` runs this under callgrind.
        ["compile", target, allocator, opt_level] => {
            println!("{}", Case::new(target, allocator, opt_level).run()?);
            Ok(())
        }
        _ => bail!("usage: kingpost-gate check|code TABLE [--shard I/N]\nKINGPOST_BLESS=1 writes the table"),
    }
}

/// Counts the cases of a shard and compares the counts with the table at `path`.
fn check(path: &Path, shard: Shard) -> Result<()> {
    let is_blessing = std::env::var_os("KINGPOST_BLESS").is_some();
    ensure!(!is_blessing || shard == Shard::default(), "a table is written whole, not for part {shard}");
    if !callgrind::is_here() {
        println!("SKIPPED: gate: valgrind is not installed");
        return Ok(());
    }
    let mut counted = Table::new(RUSTC);
    for case in cases(shard) {
        counted.rows.push(callgrind::count(&case).with_context(|| format!("counting {case}"))?);
    }
    if is_blessing {
        let text = counted.to_string();
        let written = path.with_extension("new");
        std::fs::write(&written, &text).and_then(|()| std::fs::rename(&written, path))?;
        print!("{text}");
        return Ok(());
    }
    let committed = committed(path, shard)?;
    if committed.rustc != counted.rustc {
        println!("SKIPPED: gate: the table was counted with {}, this is {}", committed.rustc, counted.rustc);
        return Ok(());
    }
    compare(&committed, &counted, committed.counts())
}

/// Compiles the cases of a shard, and compares bytes and edits with the table at `path`.
fn code(path: &Path, shard: Shard) -> Result<()> {
    let committed = committed(path, shard)?;
    let mut counted = Table::new(&committed.rustc);
    for case in cases(shard) {
        let Some(row) = committed.rows.iter().find(|row| row.case == case) else { bail!("{case}: not in the table") };
        let made = case.run().with_context(|| format!("compiling {case}"))?;
        counted.rows.push(Row { made, ..row.clone() });
    }
    compare(&committed, &counted, counted.rows.len() * CODE_COLUMNS)
}

fn cases(shard: Shard) -> Vec<Case> {
    let cases = Case::all().into_iter().enumerate().filter(|&(index, _)| shard.takes(index));
    cases.map(|(_, case)| case).collect()
}

/// Reads the rows of a shard in the table at `path`.
fn committed(path: &Path, shard: Shard) -> Result<Table> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let mut table: Table = text.parse().with_context(|| format!("reading {}", path.display()))?;
    let others: Vec<Case> = Case::all().into_iter().filter(|case| !cases(shard).contains(case)).collect();
    // Rows of cases that no longer exist remain, and are reported.
    table.rows.retain(|row| !others.contains(&row.case));
    Ok(table)
}

/// Prints the differences between a table and the committed one. `counts` is the number of counts compared.
///
/// # Errors
/// If a count is above the committed one.
fn compare(committed: &Table, counted: &Table, counts: usize) -> Result<()> {
    let differences = committed.compare(counted);
    differences.better.iter().for_each(|line| println!("below the table, which `make gate-bless` lowers: {line}"));
    differences.worse.iter().for_each(|line| println!("ABOVE THE TABLE: {line}"));
    ensure!(differences.worse.is_empty(), "{} counts are above the table", differences.worse.len());
    println!("gate: {counts} counts of {} cases are at most 1 % above the table", counted.rows.len());
    Ok(())
}
