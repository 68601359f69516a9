//! The problems against which the contract was designed on paper: each prints, parses, verifies, is solved by
//! backtracking, and is accepted by the checker.

use kingpost_checker::Checker;
use kingpost_regalloc::{Allocation, Allocator, Cost, MachineEnv, Problem, text};
use kingpost_regalloc_backtracking::Backtracking;
use std::fmt::Write;

/// Solves and checks; gives the solution.
#[track_caller]
fn solve(problem: &Problem, env: &MachineEnv) -> Allocation {
    problem.verify_with(env).unwrap_or_else(|errors| panic!("{}: {errors:?}", problem.name));
    let mut allocation = Allocation::default();
    Backtracking::default().allocate(problem, env, &mut allocation).unwrap_or_else(|e| panic!("{}: {e}", problem.name));
    accept(problem, env, &allocation);
    allocation
}

#[track_caller]
fn accept(problem: &Problem, env: &MachineEnv, allocation: &Allocation) {
    if let Err(errors) = Checker::new().check(problem, env, allocation) {
        let errors: String = errors.iter().map(|error| format!("{error}\n")).collect();
        panic!("{errors}{problem}{}", text::display_allocation(problem, allocation));
    }
}

#[track_caller]
fn check(source: &str) {
    let mut file = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let printed = file.to_string();
    assert_eq!(text::parse(&printed).map(|file| file.to_string()), Ok(printed));
    let env = file.env.clone().expect("the file describes a machine");
    for case in &mut file.cases {
        if let Some(allocation) = &case.allocation {
            accept(&case.problem, &env, allocation);
        }
        case.allocation = Some(solve(&case.problem, &env));
    }
    let solved = file.to_string();
    assert_eq!(text::parse(&solved).map(|file| file.to_string()), Ok(solved));
}

macro_rules! paper {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                check(include_str!(concat!("../../regalloc-spill-all/tests/paper/", stringify!($name), ".ra")));
            }
        )*
    };
}

paper! { try_call i128_add casp struct_argument tail_call wide_over_call remat_between big_frame swap_loop }

/// A jump table with 100,000 entries, each to a block of its own that leads to a common end. Its branch has a
/// temporary for the address.
#[test]
fn br_table() {
    const ENTRIES: usize = 100_000;
    let mut source = String::from("env {\nint r0-r3\n}\nproblem %br_table {\nv0, v1, v2, v3: int 8\n");
    source.push_str("b0:\ndef v0 = r0, def v1 = r1\nbranch use v0, early def v2 -> b1");
    for entry in 2..=ENTRIES {
        write!(source, ", b{entry}").unwrap();
    }
    for entry in 1..=ENTRIES {
        write!(source, "\nb{entry} freq 0.00001:\nbranch -> b0{}(v{}) freq 0.00001", ENTRIES + 1, entry % 2).unwrap();
    }
    write!(source, "\nb{}(v3):\nbranch use v3 = r0\n}}\n", ENTRIES + 1).unwrap();
    check(&source);
}

/// The price of the loop above all: three arguments round the back edge, two more uses in the body.
#[test]
fn the_swap_loop_has_a_price() {
    let file = text::parse(include_str!("../../regalloc-spill-all/tests/paper/swap_loop.ra")).unwrap();
    let env = file.env.unwrap();
    let allocation = solve(&file.cases[0].problem, &env);
    let cost = Cost::of(&file.cases[0].problem, &env, &allocation);
    assert_eq!((cost.exchanges, cost.remats, cost.edge_blocks), (0, 0, 1));
}
