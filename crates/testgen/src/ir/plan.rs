//! Names, signatures and inputs, fixed before any function is built.

use super::edge_values::edge_bits;
use super::vector_types::any_vector;
use crate::rng::Rng;
use kingpost_ir::Type;
use kingpost_ir::extfunc::FuncName;
use kingpost_ir::signature::{AbiParam, ArgumentExtension, CallConv, Signature};
use kingpost_ir::types::{F16, F32, F64, F128, I8, I16, I32, I64, I128};

/// Bytes accessible at each pointer that a function receives.
pub(super) const POINTEE: u32 = 64;

/// A planned function.
pub(super) struct Plan {
    pub(super) name: FuncName,
    pub(super) signature: Signature,
    /// Parameters that are pointers.
    pub(super) pointers: Vec<bool>,
    /// Whether a call of it may end in an exception.
    pub(super) may_throw: bool,
}

/// The types that a program may have, and its main subject.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeSet {
    All,
    /// All types, most of them vectors.
    Vectors,
    /// Types that every compiler has: integers up to 64 bits, floats of 32 and 64.
    Usual,
    /// A few usual types. Most statements are accesses to a few places, by addresses whose equality is not obvious.
    Memory,
}

/// Integer types, usual ones several times and first.
const INTS: [Type; 11] = [I8, I8, I16, I16, I32, I32, I32, I64, I64, I64, I128];

/// Float types, usual ones several times and first.
const FLOATS: [Type; 8] = [F32, F32, F32, F64, F64, F64, F16, F128];

impl TypeSet {
    pub(super) fn any(self, rng: &mut Rng) -> Type {
        if self == TypeSet::Memory {
            return [I8, I32, I64, I64, I64, I64, I64, F64][rng.range(0..8)];
        }
        match rng.range(0..6) {
            0 => self.float(rng),
            1 if self != TypeSet::Usual => any_vector(rng),
            2..5 if self == TypeSet::Vectors => any_vector(rng),
            _ => self.int(rng),
        }
    }

    pub(super) fn int(self, rng: &mut Rng) -> Type {
        match self {
            TypeSet::All | TypeSet::Vectors => INTS[rng.range(0..INTS.len())],
            TypeSet::Usual | TypeSet::Memory => random_word(rng),
        }
    }

    pub(super) fn float(self, rng: &mut Rng) -> Type {
        FLOATS[rng.range(0..FLOATS.len() - if self.is_usual() { 2 } else { 0 })]
    }

    /// Returns `true` if every compiler has the types.
    pub(super) fn is_usual(self) -> bool {
        matches!(self, TypeSet::Usual | TypeSet::Memory)
    }
}

/// Returns an integer type of at most 64 bits.
pub(super) fn random_word(rng: &mut Rng) -> Type {
    INTS[rng.range(0..INTS.len() - 1)]
}

/// Bound of the tags that programs throw.
pub(super) const TAGS: u32 = 4;

/// Returns one to five functions; the first is the one to be run. If any may throw there is one more, which always
/// throws.
pub(super) fn plans(type_set: TypeSet, rng: &mut Rng) -> Vec<Plan> {
    let count = if rng.chance(30) { 1 } else { rng.range(2..6) };
    let throws = !type_set.is_usual() && rng.chance(if type_set == TypeSet::Vectors { 10 } else { 40 });
    let mut plans: Vec<Plan> = (0..count).map(|index| plan(index, throws, type_set, rng)).collect();
    share_results(&mut plans, rng);
    if plans.iter().any(|plan| plan.may_throw) {
        plans.push(thrower());
    }
    plans
}

/// Creates the plan of the throwing function, which takes a tag and the payloads, and does not return.
fn thrower() -> Plan {
    let mut signature = Signature::new(CallConv::Tail);
    signature.params.extend([I32, I64, I64].map(AbiParam::new));
    Plan { name: FuncName::Named("throw".into()), signature, pointers: vec![false; 3], may_throw: true }
}

/// Sets equal results for functions that may call each other in tail position, so that some do.
fn share_results(plans: &mut [Plan], rng: &mut Rng) {
    let tail = |plan: &&mut Plan| plan.signature.call_conv == CallConv::Tail;
    let mut tails = plans.iter_mut().skip(1).filter(tail);
    let Some(first) = tails.next() else { return };
    for plan in tails {
        if rng.chance(70) {
            plan.signature.returns = first.signature.returns.clone();
        }
    }
}

/// Creates a plan. Throwing restores no registers natively, so that only functions whose callers rely on none may
/// throw.
fn plan(index: usize, throws: bool, type_set: TypeSet, rng: &mut Rng) -> Plan {
    let conv = match rng.range(0..8) {
        6 if throws && index > 0 => CallConv::Winch,
        7 if throws && index > 0 => CallConv::PreserveAll,
        n => [CallConv::SystemV, CallConv::Fast, CallConv::Tail][n % 3],
    };
    let may_throw = throws && index > 0 && !matches!(conv, CallConv::SystemV | CallConv::Fast);
    let mut signature = Signature::new(conv);
    let mut pointers = Vec::new();
    let pointers_in_percent = if type_set == TypeSet::Memory { 60 } else { 12 };
    for _ in 0..list_len(rng) {
        let pointer = index > 0 && rng.chance(pointers_in_percent);
        let param = if pointer { AbiParam::new(I64) } else { random_param(index > 0, type_set, rng) };
        signature.params.push(param);
        pointers.push(pointer);
    }
    // The first result of the first function is a checksum.
    if index == 0 {
        signature.returns.push(AbiParam::new(I64));
    }
    let results = if conv == CallConv::PreserveAll { 0 } else { list_len(rng) / 2 };
    for _ in 0..results {
        // The convention has no place for an i128.
        signature.returns.push(random_param(index > 0 && conv != CallConv::Winch, type_set, rng));
    }
    let name = if rng.chance(80) { FuncName::Named(format!("f{index}")) } else { FuncName::User(1, index as u32) };
    Plan { name, signature, pointers, may_throw }
}

/// Returns the length of a list: mostly short, sometimes long enough for arguments on the stack.
fn list_len(rng: &mut Rng) -> usize {
    match rng.range(0..10) {
        0..6 => rng.range(0..5),
        6..9 => rng.range(0..11),
        _ => rng.range(8..21),
    }
}

/// Returns a parameter or result. For the function that is run, it is a scalar of at most 64 bits.
fn random_param(may_be_wide: bool, type_set: TypeSet, rng: &mut Rng) -> AbiParam {
    let ty = type_set.any(rng);
    let ty = if may_be_wide || ty.is_scalar() && ty.bits() <= 64 { ty } else { I64 };
    let param = AbiParam::new(ty);
    if !ty.is_int() || ty.bits() >= 64 {
        return param;
    }
    let extensions = [ArgumentExtension::None, ArgumentExtension::Uext, ArgumentExtension::Sext];
    param.with_extension(extensions[rng.range(0..3)])
}

/// Returns arguments for the function of a plan.
pub(super) fn inputs(plan: &Plan, rng: &mut Rng) -> Vec<Vec<u64>> {
    let count = if plan.signature.params.is_empty() { 1 } else { 4 };
    let arguments = |rng: &mut Rng| plan.signature.params.iter().map(|p| edge_bits(p.value_type, rng) as u64).collect();
    (0..count).map(|_| arguments(rng)).collect()
}
