//! The tree of a rule.

use crate::vocabulary::{BinaryOp, ConvertOp, Function, InstOp, Predicate, Relation, UnaryOp};

/// Position in a file. Lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// A rewrite rule.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// Text after `Name:`, if it has one.
    pub name: Option<String>,
    /// Position of the rule's start.
    pub at: Position,
    /// Condition under which the rule may be applied.
    pub precondition: Precondition,
    /// Pattern that is matched.
    pub source: Template,
    /// Replacement.
    pub target: Template,
    /// Whether `shl nsw 1, width-1` does not overflow (the file's comment `TEST-ARGS: --new-sema`).
    pub new_shl_semantics: bool,
    /// Number of [`ExprId`]s of the rule.
    pub exprs: u32,
}

/// Basic blocks, the entry first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Template {
    /// In order of the text.
    pub blocks: Vec<Block>,
}

/// A basic block.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Block {
    /// Its label; the first block may have none.
    pub label: Option<String>,
    /// In order.
    pub statements: Vec<Statement>,
}

/// An instruction and the register that it defines.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// Position of its start.
    pub at: Position,
    /// The register it defines, without the percent sign.
    pub defines: Option<String>,
    /// The instruction.
    pub inst: Inst,
}

/// `nsw`, `nuw` and `exact`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Flags {
    /// Whether the result must not wrap as a signed number.
    pub nsw: bool,
    /// Whether the result must not wrap as an unsigned number.
    pub nuw: bool,
    /// Whether no bit may be rounded off or shifted out.
    pub exact: bool,
}

/// An instruction.
#[derive(Clone, PartialEq, Debug)]
pub enum Inst {
    /// `add nsw i8 %x, C`: the type is written before the first operand.
    Binary {
        /// Operation.
        op: InstOp,
        /// Flags.
        flags: Flags,
        /// Left operand.
        a: Operand,
        /// Right operand.
        b: Operand,
    },
    /// `icmp eq i8 %x, C`.
    Icmp {
        /// The comparison.
        condition: Condition,
        /// Left operand.
        a: Operand,
        /// Right operand.
        b: Operand,
    },
    /// `select i1 %c, i8 %x, i8 %y`.
    Select {
        /// The condition, one bit.
        condition: Operand,
        /// The value if the bit is set.
        a: Operand,
        /// The value if the bit is clear.
        b: Operand,
    },
    /// `zext i8 %x to i16`.
    Convert {
        /// Operation.
        op: ConvertOp,
        /// The value.
        value: Operand,
        /// The result's type.
        to: Option<TypeText>,
    },
    /// `alloca i8, i32 4, align 8`.
    Alloca {
        /// The type of an element.
        element: Option<TypeText>,
        /// Number of elements; one if absent.
        count: Option<Operand>,
        /// Alignment in bytes.
        align: Option<u64>,
    },
    /// `getelementptr i8* %p, i32 %i`.
    GetElementPtr {
        /// The pointer.
        pointer: Operand,
        /// The indices.
        indices: Vec<Operand>,
    },
    /// `load i8* %p, align 4`.
    Load {
        /// The address.
        pointer: Operand,
        /// Alignment in bytes.
        align: Option<u64>,
    },
    /// `store i8 %x, i8* %p, align 4`.
    Store {
        /// Stored value.
        value: Operand,
        /// The address.
        pointer: Operand,
        /// Alignment in bytes.
        align: Option<u64>,
    },
    /// `%r = i8 %x`.
    Copy {
        /// The value.
        value: Operand,
    },
    /// `br i1 %c, label %then, label %else`.
    Branch {
        /// The condition, one bit.
        condition: Operand,
        /// The labels: the first is taken if the bit is set, the second if it is clear.
        labels: [String; 2],
    },
    /// `ret i8 %x`.
    Return {
        /// The value.
        value: Operand,
    },
    /// Immediate undefined behavior.
    Unreachable,
    /// No operation.
    Skip,
}

impl Inst {
    /// Returns the operands, in order of the text.
    pub fn operands(&self) -> Vec<&Operand> {
        match self {
            Inst::Binary { a, b, .. } | Inst::Icmp { a, b, .. } => vec![a, b],
            Inst::Select { condition, a, b } => vec![condition, a, b],
            Inst::Convert { value, .. } | Inst::Copy { value } | Inst::Return { value } => vec![value],
            Inst::Alloca { count, .. } => count.iter().collect(),
            Inst::GetElementPtr { pointer, indices } => std::iter::once(pointer).chain(indices).collect(),
            Inst::Load { pointer, .. } => vec![pointer],
            Inst::Store { value, pointer, .. } => vec![value, pointer],
            Inst::Branch { condition, .. } => vec![condition],
            Inst::Unreachable | Inst::Skip => Vec::new(),
        }
    }

    /// Returns `true` if the instruction ends a block.
    pub fn is_terminator(&self) -> bool {
        matches!(self, Inst::Branch { .. } | Inst::Return { .. })
    }
}

/// The condition of an `icmp`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Condition {
    /// One of the ten conditions.
    Known(Relation),
    /// Any of the ten conditions. Equal names are equal conditions; without a name, the name is the register's.
    Abstract(Option<String>),
}

/// An operand with the type that the text states.
#[derive(Clone, PartialEq, Debug)]
pub struct Operand {
    /// The type, if stated.
    pub ty: Option<TypeText>,
    /// The value.
    pub value: Expr,
}

/// A type as written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TypeText {
    /// `i8`.
    Int(u32),
    /// `Ty1`: one type wherever the name occurs.
    Named(String),
    /// `[4 x i8]`.
    Array(u32, Box<TypeText>),
    /// `i8*`.
    Pointer(Box<TypeText>),
}

/// The number of an expression within its rule, dense from 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ExprId(pub u32);

impl ExprId {
    /// Returns the number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A constant expression or an operand.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// Its number; every occurrence has its own.
    pub id: ExprId,
    /// Position of its start.
    pub at: Position,
    /// Depth; a leaf has 1.
    pub depth: u32,
    /// Kind.
    pub kind: ExprKind,
}

/// Kind of an expression.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// `%x`, without the percent sign.
    Register(String),
    /// `C1`.
    Constant(String),
    /// `-5`.
    Literal(i128),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
    /// `undef`.
    Undef,
    /// `~C`.
    Unary(UnaryOp, Box<Expr>),
    /// `C1 + C2`.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `log2(C)`.
    Call(Function, Vec<Expr>),
}

impl Expr {
    /// Returns the direct subexpressions.
    pub fn parts(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Unary(_, a) => vec![a],
            ExprKind::Binary(_, a, b) => vec![a, b],
            ExprKind::Call(_, args) => args.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns `true` if the expression is an operator or a call.
    pub fn is_compound(&self) -> bool {
        matches!(self.kind, ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Call(..))
    }
}

/// A condition on constants and values.
#[derive(Clone, PartialEq, Debug)]
pub enum Precondition {
    /// Always holds.
    True,
    /// Negation.
    Not(Box<Precondition>),
    /// All of these conditions.
    All(Vec<Precondition>),
    /// At least one of these conditions.
    Any(Vec<Precondition>),
    /// `a < b u<= c`: neighbors are compared.
    Compare(Vec<Expr>, Vec<Relation>),
    /// `isPowerOf2(C)`.
    Predicate(Position, Predicate, Vec<Expr>),
}

impl Precondition {
    /// Returns the outermost expressions in it, in order of the text.
    pub fn expressions(&self) -> Vec<&Expr> {
        let mut found = Vec::new();
        let mut work = vec![self];
        while let Some(next) = work.pop() {
            match next {
                Precondition::True => {}
                Precondition::Not(inner) => work.push(inner),
                Precondition::All(parts) | Precondition::Any(parts) => work.extend(parts.iter().rev()),
                Precondition::Compare(exprs, _) | Precondition::Predicate(_, _, exprs) => found.extend(exprs),
            }
        }
        found
    }
}
