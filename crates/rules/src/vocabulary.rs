//! Opcodes, operators, functions and predicates with their names, one row each.

/// Defines an enum whose variants have names in the text.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$row:meta])* $variant:ident $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $name {
            $($(#[$row])* $variant,)*
        }

        impl $name {
            /// All variants, in the order of the table.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// Returns the name in the text.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }

            /// Returns the variant of this name.
            pub fn named(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}

words! {
    /// An instruction of two integers.
    InstOp {
        /// Sum.
        Add "add",
        /// Difference.
        Sub "sub",
        /// Product.
        Mul "mul",
        /// Unsigned quotient.
        Udiv "udiv",
        /// Signed quotient.
        Sdiv "sdiv",
        /// Unsigned remainder.
        Urem "urem",
        /// Signed remainder.
        Srem "srem",
        /// Shift left.
        Shl "shl",
        /// Arithmetic shift right.
        Ashr "ashr",
        /// Logical shift right.
        Lshr "lshr",
        /// Bitwise and.
        And "and",
        /// Bitwise or.
        Or "or",
        /// Bitwise exclusive or.
        Xor "xor",
    }
}

impl InstOp {
    /// Returns `true` if the instruction has `nsw` and `nuw`.
    pub fn may_wrap(self) -> bool {
        matches!(self, InstOp::Add | InstOp::Sub | InstOp::Mul | InstOp::Shl)
    }

    /// Returns `true` if the instruction has `exact`.
    pub fn may_be_exact(self) -> bool {
        matches!(self, InstOp::Udiv | InstOp::Sdiv | InstOp::Ashr | InstOp::Lshr)
    }
}

words! {
    /// A conversion from one type to another.
    ConvertOp {
        /// To fewer bits.
        Trunc "trunc",
        /// To more bits, with zeros.
        Zext "zext",
        /// To more bits, with copies of the sign.
        Sext "sext",
        /// To any number of bits, with zeros.
        ZextOrTrunc "ZExtOrTrunc",
        /// Pointer to integer.
        PtrToInt "ptrtoint",
        /// Integer to pointer.
        IntToPtr "inttoptr",
        /// Unchanged bits as another type.
        Bitcast "bitcast",
    }
}

words! {
    /// An operator of two constant expressions.
    BinaryOp {
        /// Product.
        Mul "*",
        /// Signed quotient.
        Sdiv "/",
        /// Signed remainder.
        Srem "%",
        /// Unsigned quotient.
        Udiv "/u",
        /// Unsigned remainder.
        Urem "%u",
        /// Sum.
        Add "+",
        /// Difference.
        Sub "-",
        /// Shift left.
        Shl "<<",
        /// Arithmetic shift right.
        Ashr ">>",
        /// Logical shift right.
        Lshr "u>>",
        /// Bitwise and.
        And "&",
        /// Bitwise exclusive or.
        Xor "^",
        /// Bitwise or.
        Or "|",
    }
}

words! {
    /// An operator of one constant expression.
    UnaryOp {
        /// Bitwise complement.
        Not "~",
        /// Two's complement.
        Neg "-",
    }
}

words! {
    /// A comparison in a precondition or in `icmp`, which has names of its own in the order of this table.
    Relation {
        /// Equal.
        Eq "==",
        /// Not equal.
        Ne "!=",
        /// Unsigned greater.
        Ugt "u>",
        /// Unsigned greater or equal.
        Uge "u>=",
        /// Unsigned less.
        Ult "u<",
        /// Unsigned less or equal.
        Ule "u<=",
        /// Signed greater.
        Sgt ">",
        /// Signed greater or equal.
        Sge ">=",
        /// Signed less.
        Slt "<",
        /// Signed less or equal.
        Sle "<=",
    }
}

impl Relation {
    /// Returns the condition of this name in an `icmp`.
    pub fn of_icmp(name: &str) -> Option<Relation> {
        let names = ["eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"];
        names.iter().position(|&word| word == name).map(|index| Relation::ALL[index])
    }
}

words! {
    /// A function in a constant expression.
    Function {
        /// Absolute value.
        Abs "abs",
        /// Signed maximum.
        Max "max",
        /// Unsigned maximum.
        Umax "umax",
        /// Logical shift right.
        Lshr "lshr",
        /// Fewer bits.
        Trunc "trunc",
        /// More bits, with copies of the sign.
        Sext "sext",
        /// More bits, with zeros.
        Zext "zext",
        /// Width of the argument's type.
        Width "width",
        /// Logarithm to base 2, rounded down; 0 for 0.
        Log2 "log2",
        /// Number of leading zeros.
        CountLeadingZeros "countLeadingZeros",
        /// Number of trailing zeros.
        CountTrailingZeros "countTrailingZeros",
        /// Analysis: lower bound on the number of leading bits that equal the sign.
        ComputeNumSignBits "ComputeNumSignBits",
        /// Analysis: bits that are zero.
        ComputeKnownZeroBits "computeKnownZeroBits",
        /// Analysis: bits that are one.
        ComputeKnownOneBits "computeKnownOneBits",
    }
}

impl Function {
    /// Returns the function of this name in rules on CLIF, in which some functions have short names.
    pub fn of_clif(name: &str) -> Option<Function> {
        match name {
            "zeros" => Some(Function::ComputeKnownZeroBits),
            "ones" => Some(Function::ComputeKnownOneBits),
            _ => Function::named(name),
        }
    }

    /// Returns the number of arguments.
    pub fn arity(self) -> usize {
        match self {
            Function::Max | Function::Umax | Function::Lshr => 2,
            _ => 1,
        }
    }
}

words! {
    /// A predicate of a precondition.
    Predicate {
        /// One bit is set.
        IsPowerOf2 "isPowerOf2",
        /// At most one bit is set.
        IsPowerOf2OrZero "isPowerOf2OrZero",
        /// Only the sign bit is set.
        IsSignBit "isSignBit",
        /// The set bits are one run.
        IsShiftedMask "isShiftedMask",
        /// No bit of the mask is set.
        MaskedValueIsZero "MaskedValueIsZero",
        /// No signed overflow of the sum.
        WillNotOverflowSignedAdd "WillNotOverflowSignedAdd",
        /// No unsigned overflow of the sum.
        WillNotOverflowUnsignedAdd "WillNotOverflowUnsignedAdd",
        /// No signed overflow of the difference.
        WillNotOverflowSignedSub "WillNotOverflowSignedSub",
        /// No unsigned overflow of the difference.
        WillNotOverflowUnsignedSub "WillNotOverflowUnsignedSub",
        /// No signed overflow of the product.
        WillNotOverflowSignedMul "WillNotOverflowSignedMul",
        /// No unsigned overflow of the product.
        WillNotOverflowUnsignedMul "WillNotOverflowUnsignedMul",
        /// No bit is shifted out.
        WillNotOverflowUnsignedShl "WillNotOverflowUnsignedShl",
        /// Two pointers are equal.
        EquivalentAddressValues "equivalentAddressValues",
        /// The register has one use in the program.
        HasOneUse "hasOneUse",
    }
}

/// Argument of a predicate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument {
    /// Any argument.
    Any,
    /// An input, a constant or an expression, but no register of the source.
    Input,
    /// A constant or an expression.
    Constant,
    /// A register.
    Register,
}

impl Predicate {
    /// Returns the predicate of this name in rules on CLIF, in which some predicates have short names.
    pub fn of_clif(name: &str) -> Option<Predicate> {
        if name == "sole" { Some(Predicate::HasOneUse) } else { Predicate::named(name) }
    }

    /// Returns the kinds of the arguments.
    pub fn arguments(self) -> &'static [Argument] {
        use Predicate::*;
        match self {
            IsPowerOf2 | IsPowerOf2OrZero => &[Argument::Any],
            IsSignBit | IsShiftedMask => &[Argument::Constant],
            MaskedValueIsZero => &[Argument::Input, Argument::Constant],
            WillNotOverflowUnsignedShl => &[Argument::Constant, Argument::Constant],
            EquivalentAddressValues => &[Argument::Register, Argument::Register],
            HasOneUse => &[Argument::Register],
            _ => &[Argument::Input, Argument::Input],
        }
    }
}
