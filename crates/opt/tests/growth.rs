//! On functions that are as bad as can be, the optimizer's work grows no faster than the function. What time it takes
//! is measured by `make growth`; here is counted what it makes and applies, which is the same on every machine.

use kingpost_ir::analyses::Analyses;
use kingpost_opt::Optimizer;
use kingpost_testgen::worst_cases::CASES;

/// Instructions of the smaller and the larger function.
const SIZES: [usize; 2] = [500, 4000];

/// Instructions made and rules applied, and how often there were too many requests.
fn work(text: &str) -> ([usize; 2], u64) {
    let mut func = kingpost_reader::parse_functions(text).expect("valid text").remove(0);
    let mut optimizer = Optimizer::default();
    let before = func.dfg.num_insts();
    optimizer.run_all(&mut func, &mut Analyses::default());
    let applications = optimizer.applications();
    let applied = applications.counts().map(|(_, count)| count as usize).sum();
    ([func.dfg.num_insts() - before, applied], applications.exhausted())
}

#[test]
fn work_grows_like_the_function() {
    for (name, make) in CASES {
        let [(small, _), (large, exhausted)] = SIZES.map(|size| work(&make(size)));
        println!("{name}: {small:?} {large:?} {exhausted}");
        for (small, large) in small.into_iter().zip(large) {
            assert!(large <= 9 * small + 8, "{name}: {small} became {large}");
            assert!(large <= 3 * SIZES[1], "{name}: {large}");
        }
        assert_eq!(exhausted, 0, "{name}");
    }
}
