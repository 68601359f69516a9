//! Damaged texts: whatever still parses is judged, and whatever keeps the rules is solved rightly or refused.

use kingpost_checker::Checker;
use kingpost_regalloc::{AllocError, Allocation, Allocator, text};
use kingpost_regalloc_spill_all::SpillAll;
use kingpost_testgen::rng::Rng;

const TEXTS: &[&str] = &[
    include_str!("../../testgen/paper/try_call.ra"),
    include_str!("../../testgen/paper/casp.ra"),
    include_str!("../../testgen/paper/wide_over_call.ra"),
    include_str!("../../testgen/paper/big_frame.ra"),
    include_str!("../../testgen/paper/swap_loop.ra"),
    "env {\nint r0-r2 scratch r3\nfloat f0, f1\n}\nproblem %f {\nv0: int 8\nv1: int 8 ref\nv2, v3, v4: int 8\nb0:\ni0: def v0 = r0, def v1 any\n\
     i1: safepoint use v0 mem, use v0 in {r0, r1}, def v2 reuse 0 rmw, clobbers {r0} kept 4 {r1}\ni2: move use v2, def v3\n\
     i3: branch early def v4 -> b1, b2\nb1:\nuse v1\nbranch -> b3\nb2:\nbranch -> b3\nb3:\nuse v3\nbranch\nlabel 1 = v0 over i1..i3\n}",
];

/// Pieces that belong somewhere.
const PIECES: &[&str] = &[
    "v0",
    "v1",
    "v4",
    "r0",
    "r1",
    "f0",
    "b1",
    "b2",
    "use ",
    "def ",
    "late ",
    "early ",
    "reuse 0",
    "rmw",
    "mem",
    "any",
    "stack",
    "in {r0, r1}",
    "= r1",
    "remat ",
    "move ",
    "safepoint ",
    "branch ",
    "-> b1",
    ", ",
    "\n",
    "8",
    "16",
    "(",
    ")",
    "0",
    "ref",
    "clobbers {r0}",
    "i1: nop\n",
];

/// Replaces, removes or inserts a few words.
fn damage(text: &str, rng: &mut Rng) -> String {
    let mut words: Vec<&str> = text.split_inclusive([' ', '\n', ',', '(', ')', '{', '}', ':']).collect();
    for _ in 0..=rng.range(0..3) {
        let (at, other) = (rng.range(0..words.len()), rng.range(0..words.len()));
        let piece = PIECES[rng.range(0..PIECES.len())];
        match rng.range(0..5) {
            0 => words[at] = words[other],
            1 => words[at] = piece,
            2 => words.insert(at, piece),
            3 => drop(words.remove(at)),
            _ => words.swap(at, other),
        }
    }
    words.concat()
}

/// Was the text solved?
fn judge(source: &str) -> bool {
    let Ok(file) = text::parse(source) else { return false };
    let printed = file.to_string();
    assert_eq!(text::parse(&printed).map(|file| file.to_string()).as_ref(), Ok(&printed), "{source}");
    let env = file.env.unwrap_or_default();
    let mut solved = false;
    for case in file.cases {
        if case.problem.verify_with(&env).is_err() {
            continue;
        }
        if let Some(allocation) = &case.allocation {
            let _ = Checker::new().check(&case.problem, &env, allocation);
        }
        let mut allocation = Allocation::default();
        match SpillAll::default().allocate(&case.problem, &env, &mut allocation) {
            Ok(()) => {
                let verdict = Checker::new().check(&case.problem, &env, &allocation);
                assert_eq!(verdict, Ok(()), "{source}\n{}", text::display_allocation(&case.problem, &allocation));
                solved = true;
            }
            Err(AllocError::TooFewRegisters { .. } | AllocError::FixedConflict { .. }) => {}
            Err(error) => panic!("{error}:\n{source}"),
        }
    }
    solved
}

#[test]
fn damaged_texts_are_refused_or_solved() {
    let mut rng = Rng::new(1);
    let mut solved = 0;
    for i in 0..30_000 {
        let text = TEXTS[i % TEXTS.len()];
        solved += usize::from(judge(&damage(text, &mut rng)));
    }
    assert!(solved > 1_000, "only {solved} damaged texts were still problems");
}
