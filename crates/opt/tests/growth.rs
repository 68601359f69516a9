//! Checks that the optimizer's work grows no faster than the function, in the worst cases. `make growth` measures
//! time; this test counts the instructions made and the rules applied, which are equal on every machine.

use kingpost_ir::analyses::Analyses;
use kingpost_opt::Optimizer;
use kingpost_testgen::worst_cases::CASES;

/// Numbers of instructions of the smaller and the larger function.
const SIZES: [usize; 2] = [500, 4000];

/// Returns the numbers of instructions made and of rules applied, and the number of requests beyond the limit.
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
