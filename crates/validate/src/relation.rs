//! Relation between values and places at the head of a block, inferred and then proved by induction.
//!
//! The first path that arrives at a head proposes facts: each place with each needed value that it holds on this path.
//! Every further path drops the facts that do not hold on it. Facts only disappear, so the relation settles. A block
//! whose relation lost a fact is examined again.
//!
//! Several values may be in one place, as in the first round of a loop. Where all facts are assumed, such values are
//! equal, so one is substituted for the other.

use crate::fact::{Fact, Place};
use crate::frame::Frame;
use kingpost_ir::Block;
use kingpost_machine_semantics::State;
use kingpost_smt::{Node, Op, Sort, Substitution, Term, Terms};
use smallvec::{SmallVec, smallvec};

/// Terms that a fact compares on a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison {
    /// The low bits of the content.
    pub(crate) low: Term,
    /// The value.
    pub(crate) value: Term,
    /// The content of the place.
    content: Term,
    /// Whether the fact holds as it is.
    is_whole: bool,
}

/// The head of a block, and what the proof knows there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// The block.
    pub block: Block,
    /// Offset of its code, in bytes from the start of the function.
    pub offset: u32,
    /// Values, or halves of values of 128 bits, with each place that holds them, in the order of the values:
    /// `("v1", "rdi")`, `("v2.high", "frame[-16]")`. Offsets in the frame are in bytes from the stack pointer at the
    /// entry.
    pub places: Vec<(String, String)>,
}

/// Facts about one place: most have one or two.
type Facts = SmallVec<[Fact; 2]>;

/// Facts about the places at a head. No list is empty.
#[derive(Clone, Default, Debug)]
pub(crate) struct Relation {
    pub(crate) places: Vec<(Place, Facts)>,
}

/// A needed value, by its term over the variables at the head, and its term on the arriving path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needed {
    pub(crate) name: Term,
    pub(crate) value: Term,
}

/// Returns `true` if a term has one value during the whole call of the function: it consists of registers at the
/// entry, addresses and constants.
pub(crate) fn is_invariant(terms: &Terms, term: Term, depth: u32) -> bool {
    match terms.node(term) {
        Node::Const(_) => true,
        Node::Var(_) => terms.name(term).is_some_and(|name| !name.starts_with(['v', 'm', 'r', '?'])),
        node => depth > 0 && node.operands().all(|operand| is_invariant(terms, operand, depth - 1)),
    }
}

/// Returns `true` if a content is unknown, as in most registers after a call. No value is equal to it.
fn is_unknown(terms: &Terms, content: Term) -> bool {
    terms.name(content).is_some_and(|name| name.starts_with('?'))
}

/// Nesting of invariant terms that are followed.
const INVARIANT_DEPTH: u32 = 4;

/// Returns the places of a state and a frame with their contents. Longer parts of the frame are places of eight bytes,
/// because values of 128 bits have a place for each half.
pub(crate) fn contents(
    terms: &mut Terms,
    (generals, vectors): (usize, usize),
    state: &State,
    frame: &Frame,
) -> Vec<(Place, Term)> {
    let mut all: Vec<(Place, Term)> =
        (0..generals).map(|number| (Place::General(number), state.general[number])).collect();
    for number in 0..vectors {
        all.extend([0, 1].map(|half| (Place::Vector(number, half), state.vector[number][half])));
    }
    for piece in frame.pieces() {
        let bits = terms.width(piece.bytes);
        for low in (0..bits).step_by(64) {
            let width = (bits - low).min(64);
            let part = terms.extract(piece.bytes, low, width);
            all.push((Place::Frame(piece.offset + i64::from(low / 8), i64::from(width / 8)), part));
        }
    }
    all
}

/// Returns the constant in the low bits of a content, below bits that are left from before. The values that are folded
/// into it have no term that could be found in the place.
fn low_constant(terms: &mut Terms, content: Term) -> Option<Term> {
    let all = terms.width(content);
    [32, 16, 8].into_iter().filter(|&width| width < all).find_map(|width| {
        let low = terms.extract(content, 0, width);
        terms.value(low).map(|_| low)
    })
}

impl Relation {
    /// Returns all facts that hold on a path that arrives with this state and frame.
    pub(crate) fn propose(
        terms: &mut Terms,
        registers: (usize, usize),
        state: &State,
        frame: &Frame,
        needed: &[Needed],
    ) -> Relation {
        let mut index: Vec<(Term, Term)> = needed.iter().map(|needed| (needed.value, needed.name)).collect();
        index.sort_unstable();
        index.dedup();
        let mut widths: Vec<u32> = needed.iter().map(|needed| terms.width(needed.name)).collect();
        widths.sort_unstable();
        widths.dedup();
        let mut places = Vec::new();
        for (place, content) in contents(terms, registers, state, frame) {
            if is_unknown(terms, content) {
                continue;
            }
            let mut facts = Facts::new();
            if is_invariant(terms, content, INVARIANT_DEPTH) {
                facts.push(Fact::of_invariant(content));
            } else if let Some(low) = low_constant(terms, content) {
                facts.push(Fact::of_low_bits(low));
            }
            let all = terms.width(content);
            for &width in widths.iter().rev().filter(|&&width| width <= all) {
                let low = terms.extract(content, 0, width);
                let first = index.partition_point(|&(value, _)| value < low);
                for &(_, name) in index[first..].iter().take_while(|&&(value, _)| value == low) {
                    if terms.value(name).is_none() {
                        facts.push(Fact::of(terms, name, low, content));
                    }
                }
            }
            if !facts.is_empty() {
                places.push((place, facts));
            }
        }
        Relation { places }
    }

    /// Returns the values that are in some place, in ascending order.
    pub(crate) fn values(&self) -> Vec<Term> {
        let mut values: Vec<Term> = self.places.iter().flat_map(|(_, facts)| facts).map(|fact| fact.value).collect();
        values.sort_unstable();
        values
    }

    /// Returns `true` if a value is in some place.
    pub(crate) fn has(&self, name: Term) -> bool {
        self.places.iter().any(|(_, facts)| facts.iter().any(|fact| fact.value == name))
    }

    /// Returns `true` if a value is in a place.
    pub(crate) fn has_in(&self, place: Place, name: Term) -> bool {
        let known = self.places.iter().find(|(known, _)| *known == place);
        known.is_some_and(|(_, facts)| facts.iter().any(|fact| fact.value == name))
    }

    /// Adds a fact that holds on the first path.
    pub(crate) fn add(&mut self, place: Place, fact: Fact) {
        match self.places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, facts)) => facts.push(fact),
            None => self.places.push((place, smallvec![fact])),
        }
    }

    /// Returns what each fact compares on a path that arrives with this state and frame, in the order of the places and their
    /// facts. `value` returns the term of a value on the path. A place without a content has no fact.
    pub(crate) fn comparisons(
        &self,
        terms: &mut Terms,
        state: &State,
        frame: &Frame,
        mut value: impl FnMut(&mut Terms, Term) -> Term,
    ) -> Vec<Option<Comparison>> {
        let mut all = Vec::with_capacity(self.places.len());
        for (place, facts) in &self.places {
            let content = place.content(terms, state, frame);
            all.extend(facts.iter().map(|fact| {
                let content = content?;
                let value = value(terms, fact.value);
                let is_whole = fact.is_whole(value, content);
                let low = if is_whole { value } else { terms.extract(content, 0, terms.width(value)) };
                Some(Comparison { low, value, content, is_whole })
            }));
        }
        all
    }

    /// Drops the facts whose comparisons do not hold on a path that arrives with this state and frame, or keeps of them that
    /// low bits are a constant. Returns `true` if a fact was dropped, or lost bits or an extension.
    pub(crate) fn restrict(
        &mut self,
        terms: &mut Terms,
        (state, frame): (&State, &Frame),
        holding: impl IntoIterator<Item = Option<Comparison>>,
    ) -> bool {
        let (mut changed, mut holding) = (false, holding.into_iter());
        for (place, facts) in &mut self.places {
            let before = facts.len();
            facts.retain_mut(|fact| {
                let Some(Comparison { low, value, content, is_whole }) = holding.next().flatten() else {
                    let content = place.content(terms, state, frame);
                    let weakened = content.and_then(|content| fact.weakened(terms, content));
                    changed |= weakened.is_some();
                    *fact = weakened.unwrap_or(*fact);
                    return weakened.is_some();
                };
                if is_whole {
                    return true;
                }
                let kept = fact.meet(terms, low, content);
                // Below the full width, only the extensions that are left distinguish the facts.
                changed |= kept != *fact && terms.width(value) < terms.width(content);
                *fact = kept;
                true
            });
            changed |= facts.len() != before;
        }
        self.places.retain(|(_, facts)| !facts.is_empty());
        changed
    }

    /// Returns a state in which all facts hold. Places without a fact are as in `unknown`.
    pub(crate) fn assume(&self, terms: &mut Terms, unknown: &State) -> Assumed {
        let mut state = unknown.clone();
        let mut pieces = Vec::new();
        let mut equations = Vec::new();
        for &(place, ref facts) in &self.places {
            let all = place.bits();
            let above = |terms: &mut Terms| match place {
                Place::General(number) => unknown.general[number],
                Place::Vector(number, half) => unknown.vector[number][half],
                Place::Frame(offset, bytes) => terms.var(&format!("?frame{offset}:{bytes}"), Sort::Bits(all)),
            };
            // The fact that says most about the place.
            let most = (0..facts.len()).rev().max_by_key(|&number| {
                let fact = facts[number];
                (terms.width(fact.value), fact.is_extended())
            });
            let content = facts[most.unwrap_or(0)].content(terms, all, above);
            for (number, fact) in facts.iter().enumerate() {
                if Some(number) == most {
                    continue;
                }
                if fact.is_extended() && is_variable(terms, content) {
                    let whole = fact.content(terms, all, above);
                    equations.push((content, whole));
                }
                let low = terms.extract(content, 0, terms.width(fact.value));
                equations.push((fact.value, low));
            }
            match place {
                Place::General(number) => state.general[number] = content,
                Place::Vector(number, half) => state.vector[number][half] = content,
                Place::Frame(offset, _) => pieces.push((offset, content)),
            }
        }
        let (pairs, equalities) = solve(terms, &equations);
        let mut frame = Frame::default();
        let mut substitution = Substitution::new(pairs.iter().copied());
        for (place, _) in &self.places {
            let content = match *place {
                Place::General(number) => &mut state.general[number],
                Place::Vector(number, half) => &mut state.vector[number][half],
                Place::Frame(..) => continue,
            };
            if !pairs.is_empty() {
                *content = substitution.apply(terms, *content);
            }
        }
        for (offset, content) in pieces {
            let content = if pairs.is_empty() { content } else { substitution.apply(terms, content) };
            frame.store(terms, offset, content);
        }
        Assumed { state, frame, replaced: pairs, equalities }
    }
}

/// A state at a head in which all facts hold.
pub(crate) struct Assumed {
    pub(crate) state: State,
    pub(crate) frame: Frame,
    /// Variables of the function with the terms that replace them.
    pub(crate) replaced: Vec<(Term, Term)>,
    /// Equalities that no replacement expresses.
    pub(crate) equalities: Vec<Term>,
}

/// Returns `true` if a term is a variable of the function, which a path may replace.
fn is_variable(terms: &Terms, term: Term) -> bool {
    matches!(terms.node(term), Node::Var(_)) && !is_invariant(terms, term, 0)
}

/// Returns replacements of variables of the function under which equations hold, and the equations that have no
/// variable on either side.
fn solve(terms: &mut Terms, equations: &[(Term, Term)]) -> (Vec<(Term, Term)>, Vec<Term>) {
    let mut pairs: Vec<(Term, Term)> = Vec::new();
    let mut left = Vec::new();
    let mut substitution = Substitution::new([]);
    for &(a, b) in equations {
        let (a, b) = (substitution.apply(terms, a), substitution.apply(terms, b));
        if a == b {
            continue;
        }
        // Normal forms solve sums for a variable.
        let equality = terms.eq(a, b);
        let sides = match terms.node(equality) {
            Node::Binary(Op::Eq, x, y) => [(a, b), (b, a), (x, y), (y, x)],
            _ => [(a, b), (b, a), (a, b), (b, a)],
        };
        let Some((from, to)) = sides.into_iter().find(|&(from, _)| is_variable(terms, from)) else {
            left.push(equality);
            continue;
        };
        if terms.depends_on(to, from) {
            left.push(equality);
            continue;
        }
        let mut one = Substitution::new([(from, to)]);
        for (_, old) in &mut pairs {
            *old = one.apply(terms, *old);
        }
        pairs.push((from, to));
        substitution = Substitution::new(pairs.iter().copied());
    }
    (pairs, left)
}
