//! The types at which a rule makes sense.
//!
//! An integer without a stated width has every width of a range. The number of such classes of integers decides
//! which combinations are tried:
//!
//! | classes | widths |
//! |---|---|
//! | 1 | all |
//! | 2 | 1 to 16, 32, 64, in all pairs |
//! | 3 and more | fewer, so that there are at most some 600 combinations; 8 and 32 are always among them |
//!
//! A class without a known shape is tried as an integer and as a pointer. Pointers are tried with 32 and with 64
//! bits. A type that occurs only in a precondition gets one width, 32 bits or more if possible. Combinations are
//! ordered by their largest width, so that the first counterexample is a small one.

use crate::ast::{ExprId, Rule};
use crate::constraints::{Constraints, SizeRelation, TypeForm, TypeVar};
use crate::error::{ErrorKind, RuleError};
use std::ops::RangeInclusive;

/// Maximum width of integers that the text may state, in bits.
pub const MAX_INT_WIDTH: u32 = 64;
/// Maximum number of combinations that are tried.
const MAX_TYPINGS: usize = 5000;
/// Maximum number of classes of unknown shape that are tried as pointers, too.
const MAX_UNKNOWN: usize = 4;
/// Nesting from which on a type contains itself.
const MAX_NESTING: u32 = 32;

/// A type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// An integer of this many bits.
    Int(u32),
    /// A pointer.
    Pointer(Box<Type>),
    /// An array of this many elements.
    Array(u32, Box<Type>),
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Type::Int(width) => write!(f, "i{width}"),
            Type::Pointer(pointee) => write!(f, "{pointee}*"),
            Type::Array(length, element) => write!(f, "[{length} x {element}]"),
        }
    }
}

/// The combinations of types of a rule.
#[derive(Debug)]
pub struct Typings<'a> {
    constraints: Constraints<'a>,
    assignments: Vec<Assignment>,
}

/// Shape of each class, by the number of its root.
#[derive(Debug)]
struct Assignment {
    pointer_bits: u32,
    shapes: Vec<TypeForm>,
    largest: u32,
}

/// One combination of types.
#[derive(Clone, Copy, Debug)]
pub struct Typing<'a> {
    constraints: &'a Constraints<'a>,
    assignment: &'a Assignment,
}

impl Typing<'_> {
    /// Returns the size of a pointer, in bits.
    pub fn pointer_bits(&self) -> u32 {
        self.assignment.pointer_bits
    }

    /// Returns the widest integer without a stated width, in bits; 0 if there is none.
    pub fn largest(&self) -> u32 {
        self.assignment.largest
    }

    /// Returns the type of an expression.
    pub fn of_expr(&self, id: ExprId) -> Type {
        self.resolve(self.constraints.of_expr(id))
    }

    /// Returns the type of a register of the rule.
    pub fn of_register(&self, name: &str) -> Type {
        // A register without constraints may have any type.
        self.constraints.of_register(name).map_or(Type::Int(1), |var| self.resolve(var))
    }

    /// Returns the type of a constant of the rule.
    pub fn of_constant(&self, name: &str) -> Type {
        self.constraints.of_constant(name).map_or(Type::Int(1), |var| self.resolve(var))
    }

    fn resolve(&self, var: TypeVar) -> Type {
        let root = self.constraints.root(var);
        match self.assignment.shapes[root.index()] {
            TypeForm::Int(width) => Type::Int(width.unwrap_or(1)),
            TypeForm::Pointer(inner) => Type::Pointer(Box::new(self.resolve(inner))),
            TypeForm::Array(length, inner) => Type::Array(length, Box::new(self.resolve(inner))),
            TypeForm::Unknown => Type::Int(1),
        }
    }
}

impl<'a> Typings<'a> {
    /// Finds the types of a rule. Integers without a stated width take the widths in `widths`.
    ///
    /// # Errors
    /// If there is no combination, or the rule needs types that are not supported.
    pub fn infer(rule: &'a Rule, widths: RangeInclusive<u32>) -> Result<Typings<'a>, RuleError> {
        let constraints = Constraints::collect(rule)?;
        check_sizes(rule, &constraints)?;
        let mut assignments = Vec::new();
        for shapes in forms(&constraints) {
            let has_pointers = shapes.iter().any(|shape| matches!(shape, TypeForm::Pointer(_)));
            for &pointer_bits in if has_pointers { &[32, 64][..] } else { &[64] } {
                Search::new(&constraints, &shapes, pointer_bits, &widths).run(&mut assignments);
            }
        }
        if assignments.is_empty() {
            return Err(RuleError::new(ErrorKind::Type, rule.at, "no types satisfy the rule"));
        }
        assignments.sort_by_key(|assignment| assignment.largest);
        Ok(Typings { constraints, assignments })
    }

    /// Returns the only combination in which expressions have these widths, by their numbers.
    pub fn of_widths(widths: &[u32]) -> Typings<'a> {
        let constraints = Constraints::of_widths(widths);
        let shapes = constraints.roots().map(|root| constraints.class(root).shape).collect();
        let assignments = vec![Assignment { pointer_bits: 64, shapes, largest: 0 }];
        Typings { constraints, assignments }
    }

    /// Returns all combinations, small widths first.
    pub fn iter(&self) -> impl Iterator<Item = Typing<'_>> {
        self.assignments.iter().map(|assignment| Typing { constraints: &self.constraints, assignment })
    }
}

fn check_sizes(rule: &Rule, constraints: &Constraints<'_>) -> Result<(), RuleError> {
    for root in constraints.roots() {
        if let TypeForm::Int(Some(width)) = constraints.class(root).shape
            && !(1..=MAX_INT_WIDTH).contains(&width)
        {
            let message = format!("integers of {width} bits; those of 1 to {MAX_INT_WIDTH} are supported");
            return Err(RuleError::new(ErrorKind::Unsupported, rule.at, message));
        }
        if !ends(constraints, root, MAX_NESTING) {
            return Err(RuleError::new(ErrorKind::Type, rule.at, "a type that contains itself"));
        }
    }
    Ok(())
}

fn ends(constraints: &Constraints<'_>, var: TypeVar, depth: u32) -> bool {
    match constraints.class(var).shape {
        TypeForm::Pointer(inner) | TypeForm::Array(_, inner) => depth > 0 && ends(constraints, inner, depth - 1),
        TypeForm::Int(_) | TypeForm::Unknown => true,
    }
}

/// Returns the possible shapes of all classes. Each unknown class is an integer and, if no pointer points to it,
/// also a pointer.
fn forms(constraints: &Constraints<'_>) -> Vec<Vec<TypeForm>> {
    let mut base: Vec<TypeForm> = vec![TypeForm::Unknown; constraints.len()];
    let mut unknown = Vec::new();
    for root in constraints.roots() {
        let class = constraints.class(root);
        base[root.index()] = class.shape;
        if class.shape == TypeForm::Unknown {
            base[root.index()] = TypeForm::Int(None);
            if class.in_template && !class.is_pointee {
                unknown.push(root);
            }
        }
    }
    unknown.truncate(MAX_UNKNOWN);
    // The type that an unknown pointer points to does not matter, so it is an integer.
    let byte = TypeVar::of_index(base.len());
    base.push(TypeForm::Int(Some(8)));
    (0..1_u32 << unknown.len())
        .map(|choice| {
            let mut shapes = base.clone();
            for (bit, root) in unknown.iter().enumerate() {
                if choice >> bit & 1 == 1 {
                    shapes[root.index()] = TypeForm::Pointer(byte);
                }
            }
            shapes
        })
        .collect()
}

/// A search for widths, class by class.
struct Search<'a> {
    constraints: &'a Constraints<'a>,
    shapes: Vec<TypeForm>,
    pointer_bits: u32,
    /// Classes without a width, and the widths that each may have, in order of preference.
    free: Vec<(TypeVar, Vec<u32>)>,
    /// Index in `free` from which on one width is enough.
    single_from: usize,
}

impl<'a> Search<'a> {
    fn new(
        constraints: &'a Constraints<'a>,
        shapes: &[TypeForm],
        pointer_bits: u32,
        widths: &RangeInclusive<u32>,
    ) -> Search<'a> {
        let open = constraints.roots().filter(|root| shapes[root.index()] == TypeForm::Int(None));
        let (every, single): (Vec<_>, Vec<_>) = open.partition(|&root| {
            let class = constraints.class(root);
            class.in_template && class.matters
        });
        let sample = sample(every.len());
        let least = |root: TypeVar| constraints.class(root).least;
        let mut free: Vec<(TypeVar, Vec<u32>)> = every
            .iter()
            .map(|&root| {
                let fits = |width: &u32| *width >= least(root) && widths.contains(width);
                (root, sample.iter().copied().filter(fits).collect())
            })
            .collect();
        // These classes do not depend on any value, so one width is enough; 32 bits come first.
        let preferred = (32..=MAX_INT_WIDTH).chain((1..32).rev());
        free.extend(
            single.iter().map(|&root| (root, preferred.clone().filter(|&width| width >= least(root)).collect())),
        );
        Search { constraints, shapes: shapes.to_vec(), pointer_bits, free, single_from: every.len() }
    }

    fn run(&mut self, found: &mut Vec<Assignment>) {
        self.choose(0, found);
    }

    /// Chooses widths from class `index` on. Returns `true` if a choice satisfies all relations.
    fn choose(&mut self, index: usize, found: &mut Vec<Assignment>) -> bool {
        if found.len() >= MAX_TYPINGS {
            return true;
        }
        let Some((root, widths)) = self.free.get(index).cloned() else {
            let satisfied = self.holds();
            if satisfied {
                found.push(self.assignment());
            }
            return satisfied;
        };
        let mut any = false;
        for width in widths {
            self.shapes[root.index()] = TypeForm::Int(Some(width));
            if self.holds() {
                any |= self.choose(index + 1, found);
                if any && index >= self.single_from {
                    break;
                }
            }
        }
        self.shapes[root.index()] = TypeForm::Int(None);
        any
    }

    /// Returns `true` if no relation between known sizes is violated.
    fn holds(&self) -> bool {
        self.constraints.relations.iter().all(|relation| match *relation {
            SizeRelation::Less(a, b) => self.compare(a, b, |a, b| a < b),
            SizeRelation::Equal(a, b) => self.compare(a, b, |a, b| a == b),
        })
    }

    fn compare(&self, a: TypeVar, b: TypeVar, holds: fn(u64, u64) -> bool) -> bool {
        match (self.size(a), self.size(b)) {
            (Some(a), Some(b)) => holds(a, b),
            _ => true,
        }
    }

    fn size(&self, var: TypeVar) -> Option<u64> {
        match self.shapes[self.constraints.root(var).index()] {
            TypeForm::Int(width) => width.map(u64::from),
            TypeForm::Pointer(_) => Some(u64::from(self.pointer_bits)),
            TypeForm::Array(length, element) => Some(u64::from(length).saturating_mul(self.size(element)?)),
            TypeForm::Unknown => None,
        }
    }

    fn assignment(&self) -> Assignment {
        let widths = self.free[..self.single_from].iter().filter_map(|(root, _)| self.size(*root));
        let largest = widths.max().unwrap_or(0) as u32;
        Assignment { pointer_bits: self.pointer_bits, shapes: self.shapes.clone(), largest }
    }
}

/// Returns the widths that are tried for each of this many classes.
fn sample(classes: usize) -> Vec<u32> {
    match classes {
        0 | 1 => (1..=MAX_INT_WIDTH).collect(),
        2 => (1..=16).chain([32, 64]).collect(),
        3 => vec![1, 2, 3, 4, 7, 8, 32, 64],
        4 => vec![1, 4, 5, 8, 32],
        5 => vec![1, 4, 8, 32],
        _ => vec![8, 32],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn widths(text: &str, register: &str) -> Vec<String> {
        let rule = parse(text).remove(0).rule.unwrap();
        match Typings::infer(&rule, 1..=64) {
            Ok(typings) => typings.iter().map(|typing| typing.of_register(register).to_string()).collect(),
            Err(error) => vec![error.message],
        }
    }

    #[test]
    fn literals_need_room() {
        assert_eq!(widths("%a = add %x, C\n=>\n%a = add C, %x", "a").len(), 64);
        assert_eq!(widths("%a = add %x, 1\n=>\n%a = add 1, %x", "a")[0], "i2");
        assert_eq!(widths("%a = add %x, -1\n=>\n%a = add -1, %x", "a")[0], "i1");
        assert_eq!(widths("%a = add i1 %x, 1\n=>\n%a = add 1, %x", "a"), ["i1"]);
    }

    #[test]
    fn related_widths() {
        let pairs = widths("%a = zext %x to i4\n=>\n%a = zext %x", "x");
        assert_eq!(pairs, ["i1", "i2", "i3"]);
        assert_eq!(widths("%a = zext %x\n=>\n%a = zext %x", "x").len(), 16 * 15 / 2 + 16 * 2 + 1);
        assert_eq!(widths("%a = zext i8 %x to i8\n=>\n%a = %x", "x"), ["no types satisfy the rule"]);
        assert_eq!(widths("%a = add i8 %x, i16 %y\n=>\n%a = %x", "x"), ["the source does not type check"]);
    }

    #[test]
    fn pointers() {
        let forms = widths("%a = select %c, %x, %y\n=>\n%a = %x", "a");
        assert_eq!(forms.iter().filter(|form| *form == "i8*").count(), 2);
        assert_eq!(forms.len(), 66);
        assert_eq!(widths("%p = alloca [2 x i8]\n%q = getelementptr %p, 0, 1\n=>\n%q = %q", "q"), ["i8*", "i8*"]);
        assert_eq!(widths("store i8 %x, %p\n=>\nstore %x, %p", "x"), ["i8", "i8"]);
        assert!(widths("store %p, %p\n=>\nskip", "p")[0].contains("contains itself"));
    }

    #[test]
    fn types_of_preconditions_have_one_width() {
        let text = "Pre: width(%x) == 8\n%a = add %x, C\n=>\n%a = add C, %x";
        assert_eq!(widths(text, "a").len(), 64);
    }
}
