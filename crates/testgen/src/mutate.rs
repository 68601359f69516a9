//! Mutants of problems: most are invalid, but an allocator must solve or reject those that keep the rules.

use crate::rng::Rng;

/// Valid problems with their machines, to be mutated.
pub(crate) const TEXTS: &[&str] = &[
    include_str!("../paper/try_call.ra"),
    include_str!("../paper/casp.ra"),
    include_str!("../paper/wide_over_call.ra"),
    include_str!("../paper/big_frame.ra"),
    include_str!("../paper/swap_loop.ra"),
    "env {\nint r0-r2 scratch r3\nfloat f0, f1\n}\nproblem %f {\nv0: int 8\nv1: int 8 ref\nv2, v3, v4: int 8\nb0:\ni0: def v0 = r0, def v1 any\n\
     i1: safepoint use v0 mem, use v0 in {r0, r1}, def v2 reuse 0 rmw, clobbers {r0} kept 4 {r1}\ni2: move use v2, def v3\n\
     i3: branch early def v4 -> b1, b2\nb1:\nuse v1\nbranch -> b3\nb2:\nbranch -> b3\nb3:\nuse v3\nbranch\nlabel 1 = v0 over i1..i3\n}",
];

/// Words of the text form.
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
pub(crate) fn mutate(text: &str, rng: &mut Rng) -> String {
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
