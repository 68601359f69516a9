//! The numbered rules, and the errors that report a broken rule.

use crate::entities::{Block, Edge, Inst, VReg};
use crate::reg::{PReg, RegClass};
use std::fmt;

macro_rules! rules {
    ($($number:literal $name:ident $text:literal)*) => {
        /// A rule of [`Problem::verify`](crate::Problem::verify) or
        /// [`Problem::verify_with`](crate::Problem::verify_with).
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum Rule {
            $(#[doc = concat!(stringify!($number), ". ", $text, ".")] $name = $number,)*
        }

        impl Rule {
            /// All rules, in the order of their numbers.
            pub const ALL: &[Rule] = &[$(Rule::$name),*];

            /// Returns the text of the rule.
            pub fn text(self) -> &'static str {
                match self { $(Rule::$name => $text,)* }
            }
        }
    };
}

rules! {
    1 EntitiesExist "whatever is named exists"
    2 EdgeLists "the successor and predecessor lists hold each edge once: the problem was finished"
    3 BlocksNotEmpty "there is a block, and every block has an instruction"
    4 OneBranch "the last instruction of a block is a branch, and no other"
    5 Entry "the entry block has neither predecessors nor parameters"
    6 Reachable "every block can be reached from the entry"
    7 NoCriticalEdge "an edge from a block with several successors leads to a block without other predecessors"
    8 Arguments "an edge passes one argument per parameter, of its class, width and kind, and only a block with one successor does"
    9 BareJump "a branch that passes arguments or leads to a join has no operands, clobbers nothing and is no safepoint"
    10 Order "the order is a permutation of the blocks that begins with the entry"
    11 OneDef "a value has at most one def, and a used value has one"
    12 Dominance "the def of a value comes before each of its uses on every path"
    13 EdgeDefs "a def of a branch is listed on at most one edge, on exactly one if it is used, and nothing else is listed"
    14 EdgeDefTarget "an edge with defs leads to a block without other predecessors"
    15 Class "a fixed register has the class of the value; a subset is not empty and of the class"
    16 Reuse "only a late def reuses, and it reuses an early use of its class in the same instruction that no other def reuses and that is not bound to the stack"
    17 ReadModifyWrite "only a reuse of a `mem` use of the same width reads, modifies and writes"
    18 OneMemory "at most one operand of an instruction is `mem`"
    19 ClobbersAreNotDefs "no register that a def or a late use is fixed to is clobbered"
    20 FixedConflict "no two values are fixed to one register at one point of an instruction, but defs of a branch on different edges may be"
    21 Move "a move has just one early use and one late def, of one class, the def not wider, and clobbers nothing"
    22 Remat "a rematerializable instruction has just one late def in any register, and no clobbers or other flags"
    23 Width "the width of a value is a power of two that registers of its class hold: up to 8 bytes, or from 4 to 64"
    24 Frequency "the entry runs once, and no frequency is above the largest"
    25 Label "a label covers instructions of one block, after the def of its value"
    26 Allocatable "registers that operands name are allocatable"
    27 RegisterOrder "the allocatable registers of a class are of the class and listed once"
    28 Scratch "the scratch register is of its class and not allocatable"
    29 CalleeSaved "callee-saved registers are allocatable"
    30 ExitRegisters "a branch without successors names no callee-saved register: the epilogue restores those before it runs"
    31 SafepointDefs "a safepoint defines no reference early: the collector, which runs later, would not know it"
}

/// Entity that breaks a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entity {
    /// The problem as a whole.
    Problem,
    /// A block.
    Block(Block),
    /// An edge.
    Edge(Edge),
    /// An instruction.
    Inst(Inst),
    /// The operand at this index of an instruction.
    Operand(Inst, usize),
    /// A value.
    VReg(VReg),
    /// The label at this index of [`Problem::labels`](crate::Problem::labels).
    Label(usize),
    /// A register of the machine.
    Reg(PReg),
    /// A class of the machine.
    Class(RegClass),
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entity::Problem => f.write_str("the problem"),
            Entity::Block(block) => write!(f, "{block}"),
            Entity::Edge(edge) => write!(f, "{edge}"),
            Entity::Inst(inst) => write!(f, "{inst}"),
            Entity::Operand(inst, index) => write!(f, "operand {index} of {inst}"),
            Entity::VReg(vreg) => write!(f, "{vreg}"),
            Entity::Label(index) => write!(f, "label at index {index}"),
            Entity::Reg(reg) => write!(f, "{reg}"),
            Entity::Class(class) => write!(f, "{class} registers"),
        }
    }
}

/// A broken rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct VerifyError {
    /// The rule.
    pub rule: Rule,
    /// Entity that breaks it.
    pub at: Entity,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: rule {}: {}", self.at, self.rule as u8, self.rule.text())
    }
}

impl std::error::Error for VerifyError {}

/// Collects errors.
#[derive(Default)]
pub(super) struct Errors(Vec<VerifyError>);

impl Errors {
    pub(super) fn add(&mut self, rule: Rule, at: Entity) {
        self.0.push(VerifyError { rule, at });
    }

    /// Records an error at `at` unless `kept`.
    pub(super) fn check(&mut self, kept: bool, rule: Rule, at: Entity) {
        if !kept {
            self.add(rule, at);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_result(self) -> Result<(), Vec<VerifyError>> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0) }
    }
}
