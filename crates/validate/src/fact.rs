//! Facts: a value is in the low bits of a place.

use crate::frame::Frame;
use kingpost_machine_semantics::State;
use kingpost_smt::{Term, Terms};

/// A place that holds bits at the head of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    General(usize),
    /// Register and half.
    Vector(usize, usize),
    /// Memory of the frame: offset from the stack pointer at the entry, and number of bytes.
    Frame(i64, i64),
}

impl Place {
    /// Returns the number of bits of the place.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Place::General(_) | Place::Vector(..) => 64,
            Place::Frame(_, bytes) => 8 * bytes as u32,
        }
    }

    /// Returns the content of the place, if all of it is known.
    pub(crate) fn content(self, terms: &mut Terms, state: &State, frame: &Frame) -> Option<Term> {
        match self {
            Place::General(number) => Some(state.general[number]),
            Place::Vector(number, half) => Some(state.vector[number][half]),
            Place::Frame(offset, bytes) => frame.load(terms, offset, bytes),
        }
    }
}

/// A value in the low bits of a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fact {
    /// The term of the value over the variables at the head.
    pub(crate) value: Term,
    /// Whether the place holds the zero extension of the value.
    zero: bool,
    /// Whether it holds the sign extension.
    sign: bool,
    /// Whether it holds the sign extension to 32 bits, and zeros above.
    sign_32: bool,
    /// The content that holds all this, if the first path found it.
    whole: Option<Term>,
}

impl Fact {
    /// Returns the fact that `content`, whose low bits are `value`, holds the value called `name`.
    pub(crate) fn of(terms: &mut Terms, name: Term, value: Term, content: Term) -> Fact {
        let all = terms.width(content);
        let zero = terms.zero_extend(value, all) == content;
        let sign = terms.sign_extend(value, all) == content;
        let sign_32 = is_sign_extended_to_32(terms, value, content);
        let is_whole = name == value && (zero || sign || sign_32 || value == content);
        Fact { value: name, zero, sign, sign_32, whole: is_whole.then_some(content) }
    }

    /// Returns the fact that all bits of a place are a term that never changes.
    pub(crate) fn of_invariant(content: Term) -> Fact {
        Fact { value: content, zero: true, sign: true, sign_32: true, whole: Some(content) }
    }

    /// Returns the fact that the low bits of a place are a term.
    pub(crate) fn of_low_bits(value: Term) -> Fact {
        Fact { value, zero: false, sign: false, sign_32: false, whole: None }
    }

    /// Returns `true` if a place that holds `content` holds all that the fact says, where its value is `value` on the path.
    pub(crate) fn is_whole(self, value: Term, content: Term) -> bool {
        value == self.value && self.whole == Some(content)
    }

    /// Returns how a place of `all` bits holds the value, as the end of the place's name.
    pub(crate) fn extension(self, terms: &Terms, all: u32) -> &'static str {
        match self {
            _ if terms.width(self.value) == all => "",
            Fact { zero: true, .. } => " (zero-extended)",
            Fact { sign: true, .. } => " (sign-extended)",
            Fact { sign_32: true, .. } => " (sign-extended to 32 bits)",
            _ => " (low bits)",
        }
    }

    /// Returns `true` if the fact says what is above the value.
    pub(crate) fn is_extended(self) -> bool {
        self.zero || self.sign || self.sign_32
    }

    /// Returns the fact without the extensions that a place does not hold whose content is `content`, with `value` in its low
    /// bits.
    pub(crate) fn meet(self, terms: &mut Terms, value: Term, content: Term) -> Fact {
        let all = terms.width(content);
        let kept = Fact {
            zero: self.zero && terms.zero_extend(value, all) == content,
            sign: self.sign && terms.sign_extend(value, all) == content,
            sign_32: self.sign_32 && is_sign_extended_to_32(terms, value, content),
            ..self
        };
        if kept == self { self } else { Fact { whole: None, ..kept } }
    }

    /// Returns the fact that the low bits of the place are a constant, if they are one by this fact and in `content`, too.
    pub(crate) fn weakened(self, terms: &mut Terms, content: Term) -> Option<Fact> {
        let narrower = [32, 16, 8].into_iter().filter(|&width| width < terms.width(self.value));
        let widths: Vec<u32> = narrower.filter(|&width| width < terms.width(content)).collect();
        widths.into_iter().find_map(|width| {
            let value = terms.extract(self.value, 0, width);
            let is_same = terms.value(value).is_some() && terms.extract(content, 0, width) == value;
            is_same.then(|| Fact::of_low_bits(value))
        })
    }

    /// Returns the content of a place of `all` bits. `unknown` returns the bits of the place that are above the value.
    pub(crate) fn content(self, terms: &mut Terms, all: u32, unknown: impl FnOnce(&mut Terms) -> Term) -> Term {
        let width = terms.width(self.value);
        if width == all {
            self.value
        } else if self.zero {
            terms.zero_extend(self.value, all)
        } else if self.sign {
            terms.sign_extend(self.value, all)
        } else if self.sign_32 {
            let word = terms.sign_extend(self.value, 32);
            terms.zero_extend(word, 64)
        } else {
            let unknown = unknown(terms);
            let above = terms.extract(unknown, width, all - width);
            terms.concat(above, self.value)
        }
    }
}

/// Returns `true` if a content is the sign extension of a value to 32 bits, and zeros above.
fn is_sign_extended_to_32(terms: &mut Terms, value: Term, content: Term) -> bool {
    terms.width(value) < 32 && terms.width(content) == 64 && {
        let word = terms.sign_extend(value, 32);
        terms.zero_extend(word, 64) == content
    }
}
