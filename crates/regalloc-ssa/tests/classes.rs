//! The classes of coalescing, checked by an independent interference test: members of one class are never live at
//! one point, and are of one kind.

use kingpost_regalloc::{MachineEnv, Problem, VReg};
use kingpost_regalloc_ssa::SsaAllocator;
use kingpost_testgen::{conformance, interference, phases, problem, properties};

/// Checks the classes of a problem. Returns their number.
fn check(problem: &Problem, env: &MachineEnv) -> usize {
    let text = phases::result(&mut SsaAllocator::default(), problem, env, "coalescing");
    let classes: Vec<Vec<VReg>> = text.lines().map(|line| line.split(", ").map(value).collect()).collect();
    if let Err(clash) = interference::judge(problem, &classes) {
        panic!("{clash}\n{problem}{text}");
    }
    classes.len()
}

fn value(name: &str) -> VReg {
    let number = name.strip_prefix('v').and_then(|number| number.parse().ok());
    VReg::from_u32(number.unwrap_or_else(|| panic!("not a value: {name}")))
}

#[test]
fn of_generated_problems() {
    let classes = |seed| {
        let (problem, env) = problem::generate(seed);
        check(&problem, &env)
    };
    let sum: usize = (0..1000).map(classes).sum();
    assert!(sum > 500, "only {sum} classes");
}

#[test]
fn of_large_functions() {
    let env = MachineEnv::simple(8, 8);
    for problem in conformance::large_problems(&env) {
        let classes = check(&problem, &env);
        assert!(classes > 20, "only {classes} classes");
    }
}

#[test]
fn of_small_functions_ours_and_others() {
    let env = MachineEnv::simple(4, 4);
    properties::problems(&env).iter().for_each(|problem| _ = check(problem, &env));
}
