//! The problems against which the contract was designed on paper, solved and accepted by the checker, and large ones.

use kingpost_checker::Checker;
use kingpost_regalloc::{AllocError, Allocation, Allocator, Cost, Inst, PReg, RegClass, text};
use kingpost_regalloc_ssa::SsaAllocator;
use std::fmt::Write;

/// Solves and checks all problems of a text; gives the answers.
#[track_caller]
fn check(source: &str) -> Vec<(Allocation, Cost)> {
    let file = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let env = file.env.expect("the file describes a machine");
    let mut allocator = SsaAllocator::default();
    let mut answers = Vec::new();
    for case in &file.cases {
        let problem = &case.problem;
        problem.verify_with(&env).unwrap_or_else(|errors| panic!("{}: {errors:?}", problem.name));
        let mut allocation = Allocation::default();
        allocator.allocate(problem, &env, &mut allocation).unwrap_or_else(|e| panic!("{}: {e}", problem.name));
        if let Err(errors) = Checker::new().check(problem, &env, &allocation) {
            let errors: String = errors.iter().take(5).map(|error| format!("{error}\n")).collect();
            panic!("{errors}{problem}{}", text::display_allocation(problem, &allocation));
        }
        let cost = Cost::of(problem, &env, &allocation);
        answers.push((allocation, cost));
    }
    answers
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

/// Of the values live through a loop the one that is used behind it goes to memory, not the one that is used in it.
#[test]
fn uses_behind_a_loop_are_far_away() {
    let source = "env {\nint r0-r2\n}\nproblem %f {\nv0, v1, v2, v3, v4, v5: int 8\nb0:\ndef v0\ndef v1\ndef v2\n\
        branch -> b1(v2)\nb1(v3) freq 10:\nuse v0, use v3, def v4\nuse v3, def v5\nuse v4\n\
        branch use v5 -> b2 freq 9, b3 freq 1\nb2 freq 9:\nbranch -> b1(v5) freq 9\nb3:\nbranch use v1\n}";
    let (_, cost) = check(source).remove(0);
    assert_eq!((cost.spills, cost.fills), (1, 1), "{cost}");
}

/// A jump table with 100,000 entries, each to a block of its own that leads to a common end.
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

#[test]
fn what_cannot_be_placed_is_an_error() {
    let solve = |body: &str| {
        let source = format!("env {{\nint r0, r1\n}}\nproblem %f {{\nv0, v1, v2, v3: int 8\nb0:\n{body}\n}}");
        let file = text::parse(&source).unwrap_or_else(|error| panic!("{error}"));
        let env = file.env.unwrap();
        SsaAllocator::default().allocate(&file.cases[0].problem, &env, &mut Allocation::default())
    };
    let inst = Inst::from_u32(2);
    let too_few = Err(AllocError::TooFewRegisters { inst, class: RegClass::Int });
    assert_eq!(solve("def v0\ndef v1\nuse v0, use v1, early def v2\nbranch"), too_few);
    assert_eq!(solve("def v0\ndef v1\nuse v0, use v1, def v2, def v3\nbranch"), Ok(()));
    let conflict = Err(AllocError::FixedConflict { inst, reg: PReg::int(1) });
    assert_eq!(solve("def v0\ndef v1\nuse v0 = r1, use v1 in {r1}\nbranch"), conflict);
}

#[test]
fn every_phase_can_be_read() {
    let file = text::parse(include_str!("../../regalloc-spill-all/tests/paper/swap_loop.ra")).unwrap();
    let mut allocator = SsaAllocator::default();
    let problem = &file.cases[0].problem;
    allocator.allocate(problem, &file.env.unwrap(), &mut Allocation::default()).unwrap();
    let dump = allocator.dump(problem);
    for phase in ["liveness\n", "coalescing\n", "spilling\n", "reload\n", "coloring\n"] {
        assert!(dump.contains(phase), "{dump}");
    }
}
