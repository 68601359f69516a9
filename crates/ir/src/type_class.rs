//! Classes of types: the sets from which polymorphic opcodes take their types.

use crate::types::{self, Type};

/// A set of types, stored as bit sets over lane types and numbers of lanes.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct TypeSet {
    /// Bit N: whether the lane type with code N is in the set, see [`types`].
    lanes: u16,
    /// Bit N: whether scalars (N = 0) or fixed vectors of 2^N lanes are in the set.
    fixed: u16,
    /// Bit N: whether dynamic vectors of at least 2^N lanes are in the set.
    dynamic: u16,
}

/// Integer lane types from 8 up to 128 bits.
const INTS: u16 = 0b00_0011_1110;
/// Float lane types from 16 up to 128 bits.
const FLOATS: u16 = 0b11_1100_0000;
/// Scalars only.
const SCALAR: u16 = 1;
/// From 2 to 256 lanes.
const VECTOR: u16 = 0b1_1111_1110;

const fn set(lanes: u16, fixed: u16, dynamic: u16) -> TypeSet {
    TypeSet { lanes, fixed, dynamic }
}

impl TypeSet {
    /// Returns `true` if the type is in the set.
    #[inline]
    pub const fn contains(self, ty: Type) -> bool {
        let counts = if ty.is_dynamic_vector() { self.dynamic } else { self.fixed };
        self.lanes >> ty.lane_code() & 1 != 0 && counts >> ty.log2_lane_count() & 1 != 0
    }

    /// Returns all types of the set: scalars, fixed vectors, dynamic vectors. The types of each group are sorted by
    /// number of lanes, then by lane type.
    pub fn iter(self) -> impl Iterator<Item = Type> {
        (0..0x200).map(Type::from_code).filter(move |&ty| self.contains(ty))
    }
}

macro_rules! type_classes {
    ($(#[doc = $doc:literal] $name:ident $text:literal = $set:expr;)*) => {
        /// A named class of types.
        #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
        pub enum TypeClass {
            $(#[doc = $doc] $name,)*
        }

        impl TypeClass {
            /// All classes.
            pub const ALL: &[TypeClass] = &[$(TypeClass::$name),*];

            /// Returns the name in documentation.
            pub const fn name(self) -> &'static str {
                match self { $(TypeClass::$name => $text,)* }
            }

            /// Returns a description of the types in the class.
            pub fn description(self) -> &'static str {
                match self { $(TypeClass::$name => $doc.trim().trim_end_matches('.'),)* }
            }

            /// Returns the set of types in the class.
            pub const fn set(self) -> TypeSet {
                match self { $(TypeClass::$name => $set,)* }
            }
        }
    };
}

type_classes! {
    /// No type: the opcode is not polymorphic.
    No "none" = set(0, 0, 0);
    /// Scalar integers.
    IB "iB" = set(INTS, SCALAR, 0);
    /// Scalar integers up to 64 bits.
    IN "iN" = set(INTS & !(1 << 5), SCALAR, 0);
    /// Scalar integers of at least 16 bits.
    IW "iW" = set(INTS & !(1 << 1), SCALAR, 0);
    /// Addresses.
    IAddr "iAddr" = set(1 << 3 | 1 << 4, SCALAR, 0);
    /// Scalar integers from 16 to 64 bits.
    IFrom16 "i16..i64" = set(1 << 2 | 1 << 3 | 1 << 4, SCALAR, 0);
    /// Scalar integers from 32 to 64 bits.
    IFrom32 "i32..i64" = set(1 << 3 | 1 << 4, SCALAR, 0);
    /// The type i64 alone.
    I64Only "i64" = set(1 << 4, SCALAR, 0);
    /// Scalar floats.
    FB "fB" = set(FLOATS, SCALAR, 0);
    /// Integers and integer vectors, fixed or dynamic.
    Int "Int" = set(INTS, SCALAR | VECTOR, VECTOR);
    /// Integers and fixed integer vectors.
    IntV "IntV" = set(INTS, SCALAR | VECTOR, 0);
    /// Fixed integer vectors.
    IxN "IxN" = set(INTS, VECTOR, 0);
    /// Fixed vectors of four or eight lanes of i16 or i32.
    IxN16To32 "IxN(16..32)" = set(1 << 2 | 1 << 3, 1 << 2 | 1 << 3, 0);
    /// Vectors of two to eight lanes of i16, i32 or i64.
    IxN16To64 "IxN(16..64)" = set(1 << 2 | 1 << 3 | 1 << 4, 0b1110, 0b1110);
    /// Vectors of two to sixteen lanes of i8, i16 or i32.
    IxN8To32 "IxN(8..32)" = set(1 << 1 | 1 << 2 | 1 << 3, 0b1_1110, 0b1_1110);
    /// Floats and float vectors, fixed or dynamic.
    Float "Float" = set(FLOATS, SCALAR | VECTOR, VECTOR);
    /// Floats and fixed float vectors.
    FloatV "FloatV" = set(FLOATS, SCALAR | VECTOR, 0);
    /// All vectors, fixed or dynamic.
    TxN "TxN" = set(INTS | FLOATS, VECTOR, VECTOR);
    /// All fixed vectors.
    TxNFixed "TxN*" = set(INTS | FLOATS, VECTOR, 0);
    /// All scalars and fixed vectors.
    Any "Any" = set(INTS | FLOATS, SCALAR | VECTOR, 0);
    /// Everything that can be loaded and stored: all types.
    Mem "Mem" = set(INTS | FLOATS, SCALAR | VECTOR, VECTOR);
    /// All dynamic vectors.
    Dynamic "dynamic" = set(INTS | FLOATS, 0, VECTOR);
}

/// Constraint on the type of an operand or result, given the controlling type.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Constraint {
    /// The controlling type.
    Same,
    /// This type.
    Fixed(Type),
    /// Any type of the class.
    Free(TypeClass),
    /// The lane type of the controlling type.
    Lane,
    /// i8 for a scalar, otherwise the integer vector of the same shape.
    Truthy,
    /// Twice as many lanes of half the width.
    HalfLanes,
    /// Half as many lanes of twice the width.
    DoubleLanes,
    /// As many lanes of half the width.
    HalfWidth,
    /// As many lanes of twice the width.
    DoubleWidth,
    /// A scalar of the same kind (integer or float) that is strictly wider.
    Wider,
    /// A scalar of the same kind (integer or float) that is strictly narrower.
    Narrower,
    /// The fixed vector that is the minimum of the controlling dynamic vector.
    FixedPart,
}

/// The types that a constraint allows.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Allowed {
    /// Exactly this type.
    Exactly(Type),
    /// Any type of this set.
    In(TypeSet),
    /// No type: the controlling type does not fit the constraint.
    Nothing,
}

impl Allowed {
    /// Returns `true` if the type is allowed.
    pub fn contains(self, ty: Type) -> bool {
        match self {
            Allowed::Exactly(expected) => ty == expected,
            Allowed::In(set) => set.contains(ty),
            Allowed::Nothing => false,
        }
    }
}

impl Constraint {
    /// Returns the types that the constraint allows with this controlling type.
    pub fn resolve(self, ctrl: Type) -> Allowed {
        let exactly = |ty: Option<Type>| ty.map_or(Allowed::Nothing, Allowed::Exactly);
        match self {
            Constraint::Same => Allowed::Exactly(ctrl),
            Constraint::Fixed(ty) => Allowed::Exactly(ty),
            Constraint::Free(class) => Allowed::In(class.set()),
            Constraint::Lane => Allowed::Exactly(ctrl.lane_type()),
            Constraint::Truthy => Allowed::Exactly(ctrl.as_truthy()),
            Constraint::HalfLanes => exactly(ctrl.split_lanes()),
            Constraint::DoubleLanes => exactly(ctrl.merge_lanes()),
            Constraint::HalfWidth => exactly(ctrl.half_width()),
            Constraint::DoubleWidth => exactly(ctrl.double_width()),
            Constraint::Wider => Allowed::In(same_kind(ctrl, |code, own| code > own)),
            Constraint::Narrower => Allowed::In(same_kind(ctrl, |code, own| code < own)),
            Constraint::FixedPart => exactly(ctrl.dynamic_to_vector()),
        }
    }

    /// Returns the description of the constraint in the documentation.
    pub fn describe(self) -> String {
        let text = match self {
            Constraint::Same => "the controlling type",
            Constraint::Fixed(ty) => return ty.to_string(),
            Constraint::Free(class) => class.name(),
            Constraint::Lane => "lane",
            Constraint::Truthy => "truthy",
            Constraint::HalfLanes => "half lanes",
            Constraint::DoubleLanes => "double lanes",
            Constraint::HalfWidth => "half width",
            Constraint::DoubleWidth => "double width",
            Constraint::Wider => "wider",
            Constraint::Narrower => "narrower",
            Constraint::FixedPart => "fixed vector",
        };
        text.to_string()
    }
}

/// Returns the scalars of the kind of `ctrl` (integer or float) for whose lane code `keep` returns `true`. `keep`
/// receives that code and the lane code of `ctrl`.
fn same_kind(ctrl: Type, keep: impl Fn(u16, u16) -> bool) -> TypeSet {
    let own = ctrl.lane_code();
    let kind = if ctrl.lane_type().is_int() { INTS } else { FLOATS };
    let lanes = (0..16).filter(|&code| keep(code, own)).fold(0, |lanes, code| lanes | 1 << code);
    set(kind & lanes, SCALAR, 0)
}

/// Names of constraints in the opcode table. Classes and types have their own names.
#[allow(non_upper_case_globals, reason = "the table's columns read like its documentation")]
pub(crate) mod columns {
    use super::{Constraint, TypeClass, types};

    pub(crate) use Constraint::{
        DoubleLanes, DoubleWidth, FixedPart, HalfLanes, HalfWidth, Lane, Narrower, Same, Truthy, Wider,
    };

    macro_rules! classes {
        ($($name:ident)*) => {$(
            pub(crate) const $name: Constraint = Constraint::Free(TypeClass::$name);
        )*};
    }
    classes! { IB IAddr Float IntV TxNFixed Mem FB }

    macro_rules! fixed {
        ($($name:ident = $ty:ident;)*) => {$(
            pub(crate) const $name: Constraint = Constraint::Fixed(types::$ty);
        )*};
    }
    fixed! {
        I8 = I8; I32 = I32; I64 = I64; F16 = F16; F32 = F32; F64 = F64; F128 = F128;
        I8x16 = I8X16; I16x8 = I16X8; I32x4 = I32X4; I64x2 = I64X2; F32x4 = F32X4; F64x2 = F64X2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{F32, I8, I16, I16X8, I32, I64, I128};

    #[test]
    fn classes() {
        assert_eq!(TypeClass::IN.set().iter().collect::<Vec<_>>(), [I8, I16, I32, I64]);
        assert_eq!(TypeClass::IxN16To32.set().iter().count(), 4);
        assert_eq!(TypeClass::No.set().iter().count(), 0);
        let dynamic = I16X8.vector_to_dynamic().unwrap();
        assert!(TypeClass::Int.set().contains(dynamic) && !TypeClass::Any.set().contains(dynamic));
        assert!(TypeClass::ALL.iter().all(|class| !class.set().contains(types::INVALID)));
    }

    #[test]
    fn constraints() {
        let Allowed::In(wider) = Constraint::Wider.resolve(I32) else { panic!("a set") };
        assert_eq!(wider.iter().collect::<Vec<_>>(), [I64, I128]);
        let Allowed::In(narrower) = Constraint::Narrower.resolve(types::F64) else { panic!("a set") };
        assert_eq!(narrower.iter().collect::<Vec<_>>(), [types::F16, F32]);
        assert_eq!(Constraint::HalfWidth.resolve(I8), Allowed::Nothing);
        assert_eq!(Constraint::DoubleLanes.resolve(I16X8), Allowed::Exactly(types::I32X4));
    }
}
