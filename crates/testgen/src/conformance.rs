//! Requirements on every register allocator, and on the quality of a good one, as macros for their tests.
//!
//! ```text
//! kingpost_testgen::conformance! { kingpost_regalloc_linear::LinearScan::default() }
//! kingpost_testgen::quality! { kingpost_regalloc_linear::LinearScan::default() }
//! ```

use crate::rng::Rng;
use crate::solve::{accept, solve};
use crate::{abstract_target, fuzz, large, mutate, properties, renumber, shapes};
use kingpost_checker::Checker;
use kingpost_regalloc::text;
use kingpost_regalloc::{AllocError, Allocation, Allocator, Cost, Inst, MachineEnv, PReg, Problem, RegClass};
use std::fmt::Write;

/// The problems for which the contract was designed, as `.ra` text.
pub const PAPER: [(&str, &str); 9] = [
    ("try_call", include_str!("../paper/try_call.ra")),
    ("i128_add", include_str!("../paper/i128_add.ra")),
    ("casp", include_str!("../paper/casp.ra")),
    ("struct_argument", include_str!("../paper/struct_argument.ra")),
    ("tail_call", include_str!("../paper/tail_call.ra")),
    ("wide_over_call", include_str!("../paper/wide_over_call.ra")),
    ("remat_between", include_str!("../paper/remat_between.ra")),
    ("big_frame", include_str!("../paper/big_frame.ra")),
    ("swap_loop", include_str!("../paper/swap_loop.ra")),
];

/// Defines tests of an allocator, given an expression that creates one.
#[macro_export]
macro_rules! conformance {
    ($allocator:expr) => {
        #[test]
        fn problems_from_paper_are_solved() {
            $crate::conformance::paper(&mut $allocator);
        }

        #[test]
        fn a_very_large_jump_table_is_solved() {
            $crate::conformance::solve_text(&mut $allocator, &$crate::conformance::jump_table(100_000));
        }

        #[test]
        fn uses_of_one_value_share_a_register() {
            $crate::conformance::shared_register(&mut $allocator);
        }

        #[test]
        fn what_cannot_be_placed_is_an_error() {
            $crate::conformance::impossible(&mut $allocator);
        }

        #[test]
        fn work_grows_in_proportion() {
            $crate::conformance::growth(&mut $allocator);
        }

        #[test]
        fn generated_problems_are_solved() {
            $crate::conformance::generated(&mut $allocator);
        }

        #[test]
        fn damaged_problems_are_solved_or_refused() {
            $crate::conformance::damaged(&mut $allocator);
        }

        #[test]
        fn planted_faults_are_noticed() {
            $crate::conformance::faults(&mut $allocator);
        }

        #[test]
        fn large_functions_are_solved() {
            $crate::conformance::large(&mut $allocator);
        }

        #[test]
        fn numbers_do_not_matter() {
            $crate::conformance::renumbered(&mut $allocator);
        }

        #[test]
        fn functions_of_others_are_solved() {
            $crate::properties::others(&mut $allocator, false);
        }
    };
}

/// Defines tests of the cost of an allocator's answers, for allocators of good quality.
#[macro_export]
macro_rules! quality {
    ($allocator:expr) => {
        #[test]
        fn small_functions_cost_no_more_than_they_must() {
            $crate::properties::ours(&mut $allocator);
        }

        #[test]
        fn functions_of_others_cost_no_more_than_they_must() {
            $crate::properties::others(&mut $allocator, true);
        }
    };
}

/// Solves all problems of a text. Checks the answers in the text, and that printed text can be read again.
///
/// # Panics
/// If a check fails.
#[track_caller]
pub fn solve_text(allocator: &mut dyn Allocator, source: &str) -> Vec<(Allocation, Cost)> {
    let mut file = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let env = file.env.clone().expect("the file describes a machine");
    let mut answers = Vec::new();
    for case in &mut file.cases {
        if let Some(answer) = &case.allocation {
            accept(&case.problem, &env, answer);
        }
        let (answer, cost) = solve(allocator, &case.problem, &env);
        case.allocation = Some(answer.clone());
        answers.push((answer, cost));
    }
    let printed = file.to_string();
    assert_eq!(text::parse(&printed).map(|file| file.to_string()), Ok(printed));
    answers
}

/// Solves [`PAPER`].
///
/// # Panics
/// If a problem is not solved.
pub fn paper(allocator: &mut dyn Allocator) {
    for (_, source) in PAPER {
        solve_text(allocator, source);
    }
}

/// Returns a jump table with a separate block for each entry; all these blocks lead to a common end. Its branch has
/// a temporary for the address.
pub fn jump_table(entries: usize) -> String {
    let mut source = String::from("env {\nint r0-r3\n}\nproblem %br_table {\nv0, v1, v2, v3: int 8\n");
    source.push_str("b0:\ndef v0 = r0, def v1 = r1\nbranch use v0, early def v2 -> b1");
    let mut line = |text: std::fmt::Arguments<'_>| source.write_fmt(text).expect("strings take all");
    (2..=entries).for_each(|entry| line(format_args!(", b{entry}")));
    let end = entries + 1;
    for entry in 1..=entries {
        line(format_args!("\nb{entry} freq 0.00001:\nbranch -> b{end}(v{}) freq 0.00001", entry % 2));
    }
    line(format_args!("\nb{end}(v3):\nbranch use v3 = r0\n}}\n"));
    source
}

/// Checks that two uses of one value with different register subsets share the only register in both.
///
/// # Panics
/// If they do not.
pub fn shared_register(allocator: &mut dyn Allocator) {
    let source = "env {\nint r0-r2\n}\nproblem %f {\nv0, v1, v2: int 8\nb0:\ndef v0, def v1, def v2\n\
        use v0 in {r0, r1}, use v0 in {r1, r2}, use v1 = r0, use v2 = r2\nbranch\n}\n";
    solve_text(allocator, source);
}

/// Checks that errors name the instructions that need more than the machine has.
///
/// # Panics
/// If they do not.
pub fn impossible(allocator: &mut dyn Allocator) {
    let mut error = |body: &str| {
        let source = format!("env {{\nint r0, r1\n}}\nproblem %f {{\nv0, v1, v2, v3: int 8\nb0:\n{body}\n}}");
        let file = text::parse(&source).unwrap_or_else(|error| panic!("{error}"));
        let env = file.env.expect("the text begins with a machine");
        allocator.allocate(&file.cases[0].problem, &env, &mut Allocation::default())
    };
    let named = |error| {
        let at = Inst::from_u32(2);
        matches!(error, Err(AllocError::TooFewRegisters { inst, class: RegClass::Int }) if inst == at)
            || error == Err(AllocError::FixedConflict { inst: at, reg: PReg::int(1) })
    };
    assert!(named(error("def v0\ndef v1\nuse v0, use v1, early def v2\nbranch")));
    assert!(named(error("def v0\ndef v1\nuse v0 = r1, use v1 in {r1}\nbranch")));
    assert_eq!(error("def v0\ndef v1\nuse v0, use v1, def v2, def v3\nbranch"), Ok(()));
}

/// Returns the number of items that an allocator has to process.
fn items(problem: &Problem) -> u64 {
    (problem.num_insts() + problem.num_operands() + problem.num_edges() + problem.vregs.len()) as u64
}

/// Checks that steps per item grow with an exponent of at most 1.1 in problems of 10^3 to 10^5 instructions of
/// every shape.
///
/// # Panics
/// If they grow faster, or an answer is wrong.
pub fn growth(allocator: &mut dyn Allocator) {
    let env = shapes::machine();
    for (name, shape) in shapes::SHAPES {
        solve(allocator, &shape(10), &env);
        let mut steps_at = |size| {
            let problem = shape(size);
            let (answer, _) = solve(allocator, &problem, &env);
            (answer.stats.steps as f64 / items(&problem) as f64).max(1.0)
        };
        let (small, large) = (steps_at(1_000), steps_at(100_000));
        let exponent = 1.0 + (large / small).ln() / 100f64.ln();
        assert!(exponent <= 1.1, "{name}: {small:.1} steps per item become {large:.1}, exponent {exponent:.2}");
    }
}

/// Checks that damaged problems that still keep the rules are solved, or rejected because they have no solution.
///
/// # Panics
/// If the allocator or the checker fails otherwise.
pub fn damaged(allocator: &mut dyn Allocator) {
    let mut rng = Rng::new(1);
    let mut solved = 0;
    for source in mutate::TEXTS.iter().cycle().take(15_000) {
        let source = mutate::mutate(source, &mut rng);
        let Ok(file) = text::parse(&source) else { continue };
        let printed = file.to_string();
        assert_eq!(text::parse(&printed).map(|file| file.to_string()).as_ref(), Ok(&printed), "{source}");
        let env = file.env.unwrap_or_default();
        for case in file.cases.iter().filter(|case| case.problem.verify_with(&env).is_ok()) {
            if let Some(answer) = &case.allocation {
                // The result is arbitrary, but it must not panic.
                let _ = Checker::new().check(&case.problem, &env, answer);
            }
            let mut answer = Allocation::default();
            match allocator.allocate(&case.problem, &env, &mut answer) {
                Ok(()) => accept(&case.problem, &env, &answer),
                Err(AllocError::TooFewRegisters { .. } | AllocError::FixedConflict { .. }) => continue,
                Err(error) => panic!("{error}:\n{source}"),
            }
            solved += 1;
        }
    }
    assert!(solved > 500, "only {solved} damaged texts were still problems");
}

/// Checks that the checker rejects the faults planted into answers.
///
/// # Panics
/// With the mutant that it accepts.
pub fn faults(allocator: &mut dyn Allocator) {
    if let Err(failure) = fuzz::faults(allocator, 0..40) {
        panic!("{failure}");
    }
}

/// Checks that functions of hundreds of blocks are solved with various numbers of registers, beginning with 3.
///
/// # Panics
/// If one is not solved.
pub fn large(allocator: &mut dyn Allocator) {
    for registers in [3, 4, 6, 8, 12, 16] {
        let env = MachineEnv::simple(registers, registers);
        large_problems(&env).for_each(|problem| _ = solve(allocator, &problem, &env));
    }
}

/// Returns large functions of both mixes, for a machine.
pub fn large_problems(env: &MachineEnv) -> impl Iterator<Item = Problem> {
    (0..8).map(|seed| {
        let mix = if seed % 2 == 0 { large::Mix::Plain } else { large::Mix::Fixed };
        let text = large::function(mix, 171, seed);
        let functions = kingpost_reader::parse_functions(&text).unwrap_or_else(|error| panic!("{error}"));
        abstract_target::problem(&functions[0], env, &[])
    })
}

/// Checks that small functions are solved with any numbering of their values and blocks.
///
/// # Panics
/// If one is not solved.
pub fn renumbered(allocator: &mut dyn Allocator) {
    for registers in properties::FEWEST..=properties::MOST {
        let env = MachineEnv::simple(registers, registers);
        for (seed, problem) in properties::problems(&env).iter().enumerate() {
            let rng = &mut Rng::new(seed as u64);
            (0..3).for_each(|_| _ = solve(allocator, &renumber::renumbered(problem, rng), &env));
        }
    }
}

/// Checks the answers to generated problems with checker and simulator. `SEEDS=a..b` in the environment widens the
/// run.
///
/// # Panics
/// With the shrunken problem that fails. If it has no solution, also with the whole problem, because a shrunken
/// problem may need more registers than there are.
pub fn generated(allocator: &mut dyn Allocator) {
    let seeds = std::env::var("SEEDS").ok().and_then(|seeds| {
        let (from, to) = seeds.split_once("..")?;
        Some(from.parse().ok()?..to.parse().ok()?)
    });
    match fuzz::allocator(allocator, seeds.unwrap_or(0..2000)) {
        Ok(report) => println!("{report}"),
        Err(failure) if matches!(failure.kind, fuzz::FailureKind::Unsolved(_)) => {
            panic!("{failure}\nwhole:\n{}", fuzz::show(failure.seed))
        }
        Err(failure) => panic!("{failure}"),
    }
}
