//! Generated problems: checker and simulator accept every answer.

use kingpost_regalloc::{Allocation, Allocator};
use kingpost_regalloc_linear::LinearScan;
use kingpost_testgen::fuzz;
use kingpost_testgen::problem::generate;

/// `SEEDS=a..b` in the environment widens the run; failures print the shrunken problem.
#[test]
fn generated_problems_are_solved() {
    let seeds = std::env::var("SEEDS").ok().and_then(|s| {
        let (from, to) = s.split_once("..")?;
        Some(from.parse().ok()?..to.parse().ok()?)
    });
    let seeds = seeds.unwrap_or(0..1000);
    // Cut down, a problem may come to need more registers than there are, so these are shown whole.
    for seed in seeds.clone() {
        let (problem, env) = generate(seed);
        if let Err(error) = LinearScan::new().allocate(&problem, &env, &mut Allocation::default()) {
            panic!("{env}{problem}; {error}");
        }
    }
    match fuzz::allocator(&mut LinearScan::new(), seeds) {
        Ok(report) => println!("{report}"),
        Err(failure) => panic!("{failure}"),
    }
}
