//! Errors of the checker: a numbered rule, the part of the allocation that breaks it, and the known content of the
//! location there.

use kingpost_regalloc::{Block, Inst, Loc, VReg};
use std::fmt;

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident $number:literal $text:literal,)*) => {
        /// The rules of an accepted allocation, by number. The crate's documentation lists them.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Rule {
            $(#[doc = $text] $name,)*
        }

        impl Rule {
            /// All rules in order of their numbers.
            pub const ALL: &[Rule] = &[$(Rule::$name,)*];

            /// Returns the number by which the documentation cites the rule.
            pub fn number(self) -> u32 {
                match self {
                    $(Rule::$name => $number,)*
                }
            }

            /// Returns the rule in one sentence.
            pub fn text(self) -> &'static str {
                match self {
                    $(Rule::$name => $text,)*
                }
            }
        }
    };
}

rules! {
    Lengths 1 "the answer has one location per operand of the problem",
    HasLocation 2 "every operand has a location, except the def of a dropped rematerializable instruction",
    RegisterClass 3 "a value's register is of the value's class",
    Allocatable 4 "a register is allocatable, or the scratch register of its class if an edit names it",
    SlotExists 5 "a slot is one of the allocation's slots",
    SlotFits 6 "a slot is at least as large and as aligned as what it holds",
    Constraint 7 "a location satisfies the operand's constraint",
    OneMemory 8 "at most one operand that may be in memory is there",
    ReuseSame 9 "a reusing def has the location of the use it reuses, a slot only if the instruction modifies memory",
    Overlap 10 "operands that occupy a location at the same point are one value",
    ClobberedOperand 11 "no def and no late use is in a register that its instruction destroys",
    DropAllowed 12 "only a move with equal locations or a rematerializable instruction is dropped",
    EditOrder 13 "edits are sorted by the instruction that they precede, which exists in the problem",
    EditRegisters 14 "the two registers of an edit are of one class",
    EditAvailable 15 "the machine has the edit",
    RematAllowed 16 "a value is rematerialized only by its own instruction, in a register it may define",
    EmergencyPrivate 17 "an emergency slot is no operand's location and in no stack map",
    CalleeSaved 18 "written callee-saved registers are saved",
    MapOrder 19 "stack map entries are sorted, distinct and at safepoints",
    MapNeverWritten 20 "a slot in a stack map is written somewhere",
    UseHoldsValue 21 "the location of a use holds the value on every path",
    MapHoldsReference 22 "a slot in a stack map holds a live reference on every path",
    LabelRequested 23 "a label range lies within the request that it answers",
    LabelHoldsValue 24 "a labeled value is in the location of its range, before each instruction of the range",
    Reached 25 "every block that the entry reaches was checked",
    TooLarge 26 "the classes of equal values are few enough to be numbered",
    EditWidth 27 "an edit moves as many bytes as one instruction can for registers of its class",
    LabelOrder 28 "label ranges are sorted, and no two answer one request at one point",
    SavedSet 29 "only callee-saved registers are saved: the epilogue restores them over results",
}

/// Part of the allocation that breaks the rule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Entity {
    /// The allocation as a whole.
    Allocation,
    /// An instruction.
    Inst(Inst),
    /// The operand with this index within the instruction.
    Operand(Inst, usize),
    /// The edit with this index in the list, which runs before the instruction.
    Edit(Inst, usize),
    /// The stack map entry with this index in the list.
    MapEntry(Inst, usize),
    /// The label range with this index in the list, at an instruction of it.
    Label(Inst, usize),
    /// A block.
    Block(Block),
}

impl Entity {
    /// Returns the instruction it belongs to, if any.
    pub fn inst(self) -> Option<Inst> {
        match self {
            Entity::Allocation | Entity::Block(_) => None,
            Entity::Inst(inst)
            | Entity::Operand(inst, _)
            | Entity::Edit(inst, _)
            | Entity::MapEntry(inst, _)
            | Entity::Label(inst, _) => Some(inst),
        }
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entity::Allocation => f.write_str("allocation"),
            Entity::Inst(inst) => write!(f, "{inst}"),
            Entity::Operand(inst, k) => write!(f, "{inst} operand {k}"),
            Entity::Edit(inst, n) => write!(f, "edit {n} before {inst}"),
            Entity::MapEntry(inst, n) => write!(f, "stack map entry {n} at {inst}"),
            Entity::Label(inst, n) => write!(f, "label range {n} at {inst}"),
            Entity::Block(block) => write!(f, "{block}"),
        }
    }
}

/// Last change of a location before an error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Origin {
    /// No change since the entry of the function.
    Nothing,
    /// The entry of this block, whose incoming edges disagree or leave the location undefined.
    Entry(Block),
    /// A def of this instruction.
    Def(Inst),
    /// The edit with this index.
    Edit(u32),
    /// A clobber of this instruction.
    Clobber(Inst),
    /// The collector at this safepoint, which does not know the location.
    Safepoint(Inst),
    /// The end of the edits before this instruction, after which scratch registers and emergency slots hold no
    /// content.
    Scratch(Inst),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Nothing => f.write_str("never written"),
            Origin::Entry(block) => write!(f, "as on entry to {block}"),
            Origin::Def(inst) => write!(f, "since the def at {inst}"),
            Origin::Edit(n) => write!(f, "since edit {n}"),
            Origin::Clobber(inst) => write!(f, "destroyed by {inst}"),
            Origin::Safepoint(inst) => write!(f, "unknown to the collector at {inst}"),
            Origin::Scratch(inst) => write!(f, "scratch, lost at {inst}"),
        }
    }
}

/// Content found in a location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The values that it is known to hold; empty if the content is unknown.
    pub values: Vec<VReg>,
    /// Number of known low bytes.
    pub bytes: u8,
    /// Change that wrote the content or destroyed it.
    pub origin: Origin,
}

/// One broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CheckError {
    /// The rule.
    pub rule: Rule,
    /// Part that breaks it.
    pub entity: Entity,
    /// The location in question, if there is one.
    pub loc: Option<Loc>,
    /// The value that should be there.
    pub expected: Option<VReg>,
    /// For rules about contents: what is there.
    pub found: Option<Found>,
}

impl CheckError {
    pub(crate) fn new(rule: Rule, entity: Entity) -> CheckError {
        CheckError { rule, entity, loc: None, expected: None, found: None }
    }

    pub(crate) fn at(mut self, loc: Loc) -> CheckError {
        self.loc = Some(loc);
        self
    }

    pub(crate) fn expects(mut self, vreg: VReg) -> CheckError {
        self.expected = Some(vreg);
        self
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: rule {}: {}", self.entity, self.rule.number(), self.rule.text())?;
        if let Some(vreg) = self.expected {
            write!(f, "; expected {vreg}")?;
        }
        if let Some(loc) = self.loc {
            write!(f, " in {loc}")?;
        }
        let Some(found) = &self.found else { return Ok(()) };
        f.write_str(", which holds ")?;
        match found.values.as_slice() {
            [] => f.write_str("nothing known")?,
            values => {
                f.write_str("{")?;
                for (i, v) in values.iter().enumerate() {
                    write!(f, "{}{v}", if i == 0 { "" } else { ", " })?;
                }
                write!(f, "}} ({} bytes)", found.bytes)?;
            }
        }
        write!(f, ", {}", found.origin)
    }
}

impl std::error::Error for CheckError {}
