//! Generated problems: checker and simulator accept every answer.

use kingpost_regalloc_linear::LinearScan;
use kingpost_testgen::fuzz::{self, Trouble};

/// `SEEDS=a..b` in the environment widens the run; failures print the shrunken problem.
#[test]
fn generated_problems_are_solved() {
    let seeds = std::env::var("SEEDS").ok().and_then(|s| {
        let (from, to) = s.split_once("..")?;
        Some(from.parse().ok()?..to.parse().ok()?)
    });
    match fuzz::allocator(&mut LinearScan::new(), seeds.unwrap_or(0..1000)) {
        Ok(report) => println!("{report}"),
        // Cut down, a problem may come to need more registers than there are.
        Err(failure) if matches!(failure.trouble, Trouble::Unsolved(_)) => {
            panic!("{failure}\nwhole:\n{}", fuzz::show(failure.seed))
        }
        Err(failure) => panic!("{failure}"),
    }
}
