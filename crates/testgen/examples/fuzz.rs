//! Fuzzes an allocator or the checker: `cargo run -p kingpost-testgen --example fuzz -- TARGET N [SEED]`.
//!
//! Targets: an allocator, `spill-all` or `linear` (its answers to N generated problems), `faults-` and an allocator
//! (faults planted into its answers), `show` (prints N problems). SEED is the first seed, 0 if left out.

use kingpost_regalloc::Allocator;
use kingpost_regalloc_linear::LinearScan;
use kingpost_regalloc_spill_all::SpillAll;
use kingpost_testgen::fuzz;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: fuzz (show | [faults-]spill-all | [faults-]linear) N [SEED]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| args.get(i).map(|text| text.parse::<u64>());
    let (Some(target), Some(Ok(n)), Ok(seed)) = (args.first(), number(1), number(2).unwrap_or(Ok(0))) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let seeds = seed..seed.saturating_add(n);
    let start = Instant::now();
    let outcome = match target.as_str() {
        "show" => {
            seeds.for_each(|seed| println!("{}", fuzz::show(seed)));
            return ExitCode::SUCCESS;
        }
        "spill-all" => solve(&mut SpillAll::default(), seeds),
        "linear" => solve(&mut LinearScan::default(), seeds),
        "faults-linear" => plant(&mut LinearScan::default(), seeds),
        "faults-spill-all" => plant(&mut SpillAll::default(), seeds),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(text) => {
            println!("{text}{:.1} s", start.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("{failure}");
            eprintln!("repeat: cargo run -p kingpost-testgen --example fuzz -- {target} 1 {}", failure.seed);
            ExitCode::FAILURE
        }
    }
}

fn solve(allocator: &mut dyn Allocator, seeds: std::ops::Range<u64>) -> Result<String, Box<fuzz::Failure>> {
    Ok(format!("{}, ", fuzz::allocator(allocator, seeds)?))
}

fn plant(allocator: &mut dyn Allocator, seeds: std::ops::Range<u64>) -> Result<String, Box<fuzz::Failure>> {
    Ok(fuzz::faults(allocator, seeds)?.to_string())
}
