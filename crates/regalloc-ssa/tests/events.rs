//! What an observer is told.

use kingpost_regalloc::text::parse;
use kingpost_regalloc::{Allocation, Allocator, Event, Observer};
use kingpost_regalloc_ssa::SsaAllocator;

/// Keeps the events as text.
#[derive(Default)]
struct Story(Vec<String>);

impl Observer for Story {
    fn event(&mut self, event: Event<'_>) {
        self.0.push(match event {
            Event::Stage(name) => format!("[{name}]"),
            Event::Assign { vreg, loc, from, to } => format!("{vreg} in {loc} {from}..{to}"),
            Event::Spill { vreg, at } => format!("spill {vreg} at {at}"),
            Event::Reload { vreg, at } => format!("reload {vreg} at {at}"),
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
    SsaAllocator::default()
        .allocate_observed(problem, &env, &mut Allocation::default(), &mut story)
        .expect("a solution");
    let expected = "[liveness]; [coalescing]; coalesce v0 and v3; [spilling]; [reload]; spill v0 at i1; reload v3 at i4; \
                    [register_hints]; [coloring]; v0 in r0 i1..i2; v1 in r1 i1..i3; v2 in r0 i2..i3; v3 in r0 i4..i5; \
                    [resolve]";
    assert_eq!(story.0.join("; "), expected);
}
