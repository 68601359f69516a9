//! What an observer is told.

use kingpost_regalloc::text::parse;
use kingpost_regalloc::{Allocation, Allocator, Event, Observer};
use kingpost_regalloc_linear::LinearScan;

/// Keeps the events as text, but for the places of assignments.
#[derive(Default)]
struct Story(Vec<String>);

impl Observer for Story {
    fn event(&mut self, event: Event<'_>) {
        self.0.push(match event {
            Event::Stage(name) => name.to_string(),
            Event::Assign { vreg, loc, .. } => format!("{vreg} in {loc}"),
            Event::Split { vreg, at } => format!("split {vreg} at {at}"),
            Event::Evict { vreg, winner, at } => format!("{winner} evicts {vreg} at {at}"),
            Event::Spill { vreg, at } => format!("spill {vreg} at {at}"),
            Event::Coalesce { a, b } => format!("coalesce {a} and {b}"),
            other => format!("{other:?}"),
        });
    }
}

#[test]
fn an_observer_follows_each_decision() {
    let source = "env {\nint r0, r1\n}\nproblem %f {
        v0, v1, v2, v3: int 8
        b0:
        def v0, def v1
        def v2
        use v1, use v2
        branch -> b1(v0)
        b1(v3):
        branch use v3
        }\n";
    let file = parse(source).expect("the text is well-formed");
    let (env, problem) = (file.env.expect("a machine"), &file.cases[0].problem);
    let mut story = Story::default();
    LinearScan::new().allocate_observed(problem, &env, &mut Allocation::default(), &mut story).expect("a solution");
    let story = story.0.join("; ");
    for part in [
        "collect; scan; v0 in r0",
        "v2 evicts v0 at i1; split v0 at i1; spill v0 at i1",
        "v2 in r0",
        "resolve; slots; emit",
    ] {
        assert!(story.contains(part), "no {part} in: {story}");
    }

    let source = source.replace("def v2\n", "").replace("use v1, use v2", "def v2 reuse 0, use v1");
    let file = parse(&source).expect("the text is well-formed");
    let mut story = Story::default();
    let problem = &file.cases[0].problem;
    LinearScan::new().allocate_observed(problem, &env, &mut Allocation::default(), &mut story).expect("a solution");
    let story = story.0.join("; ");
    assert!(story.contains("coalesce v0 and v3"), "{story}");
}

#[test]
fn an_eviction_by_a_fixed_operand_names_its_winner() {
    let source = "env {\nint r0, r1\n}\nproblem %f {
        v0, v1: int 8
        b0:
        def v0 = r0
        def v1
        use v1 = r0
        branch use v0
        }\n";
    let file = parse(source).expect("the text is well-formed");
    let (env, problem) = (file.env.expect("a machine"), &file.cases[0].problem);
    let mut story = Story::default();
    LinearScan::new().allocate_observed(problem, &env, &mut Allocation::default(), &mut story).expect("a solution");
    let story = story.0.join("; ");
    assert!(story.contains("v1 evicts v0 at i2"), "{story}");
}
