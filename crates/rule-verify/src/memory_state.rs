//! States of memory, and accesses to memory.

use kingpost_rules::Position;
use kingpost_smt::Term;

/// Number of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct State(pub(crate) usize);

#[derive(Clone, Copy, Debug)]
pub(crate) enum StateDef {
    Initial,
    Write { before: State, condition: Term, address: Term, byte: Term },
    Choice { condition: Term, then: State, otherwise: State },
}

/// A block of memory that begins at `base`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) base: Term,
    pub(crate) size: Term,
    pub(crate) allocated: bool,
}

/// Reads of one memory so far: addresses and bytes.
#[derive(Default, Debug)]
pub(crate) struct Reads {
    pub(crate) prefix: String,
    pub(crate) reads: Vec<(Term, Term)>,
}

/// Blocks of one template.
#[derive(Debug)]
pub(crate) struct Blocks {
    pub(crate) ranges: Vec<Range>,
    /// Contents of the allocated blocks.
    pub(crate) contents: Reads,
}

/// All states of both templates, and their blocks.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) steps: Vec<StateDef>,
    pub(crate) shared: Reads,
    /// The blocks of source and target.
    pub(crate) blocks: [Blocks; 2],
    pub(crate) reads: usize,
    /// Whether some instruction reads or writes memory.
    pub(crate) used: bool,
    /// Undefined values of the source that are in memory, and their places.
    pub(crate) placed: Vec<(Term, UndefSite)>,
}

/// Place of a value in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UndefSite {
    /// A byte of a new block.
    Byte(Term),
    /// A value stored at an address.
    Stored(Term, Access),
}

impl Default for Memory {
    fn default() -> Memory {
        let reads = |prefix: &str| Reads { prefix: prefix.to_string(), reads: Vec::new() };
        let blocks = |prefix: &str| Blocks { ranges: Vec::new(), contents: reads(prefix) };
        Memory {
            steps: vec![StateDef::Initial],
            shared: reads("memory"),
            blocks: ["undef.source.memory", "undef.target.memory"].map(blocks),
            reads: 0,
            used: false,
            placed: Vec::new(),
        }
    }
}

impl Memory {
    /// State before the first instruction.
    pub(crate) const INITIAL: State = State(0);

    pub(crate) fn push(&mut self, step: StateDef) -> State {
        self.steps.push(step);
        State(self.steps.len() - 1)
    }

    /// Returns the state `then` if a condition holds, and the state `otherwise` if not.
    pub(crate) fn choice(&mut self, condition: Term, then: State, otherwise: State) -> State {
        if then == otherwise {
            return then;
        }
        self.push(StateDef::Choice { condition, then, otherwise })
    }
}

/// An access of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    /// Position in the text of the rule.
    pub(crate) at: Position,
    /// The alignment that the instruction promises, in bytes.
    pub(crate) align: Option<u64>,
    /// The size of the value, in bits.
    pub(crate) width: u32,
}

impl Access {
    pub(crate) fn bytes(&self) -> u32 {
        self.width.div_ceil(8)
    }

    /// Returns the bits that byte `index` holds: the first and how many. A partial byte comes first.
    pub(crate) fn slice(&self, index: u32) -> (u32, u32) {
        match (self.width % 8, index) {
            (0, _) => (8 * index, 8),
            (rest, 0) => (0, rest),
            (rest, _) => (rest + 8 * (index - 1), 8),
        }
    }
}
