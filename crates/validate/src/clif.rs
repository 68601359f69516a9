//! The function as terms: the value of each SSA value, and the effects of each block in order.
//!
//! ```text
//! block1(v1: i32):
//!     v2 = iadd_imm v1, 1         v2 is the term v1 + 1, wherever it is in scope
//!     v3 = load.i32 v0+8          Effect::Load of v0 + 8, whose result is the variable m3
//!     store v2, v0                Effect::Store
//!     brif v3, block2, block3     Exit::Branch
//! ```
//!
//! Variables are block parameters and results of effects. An SSA equation holds wherever its value is in scope, so the
//! terms belong to the whole function: code that folds or repeats a computation in another block needs no special
//! treatment.

use crate::parameters::Sources;
use cranelift_entity::SecondaryMap;
use kingpost_ir::{Block, SigRef, TrapCode, Value};
use kingpost_smt::{Sort, Term, Terms};

/// An effect of a block, in the order of the text.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Load(Load),
    Store {
        address: Term,
        value: Term,
        trap: Option<TrapCode>,
        /// Whether the address is a multiple of the size.
        aligned: bool,
    },
    /// Traps if the condition holds.
    TrapIf {
        condition: Term,
        code: TrapCode,
    },
    Call(Call),
    Atomic(Atomic),
    Fence,
}

#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) address: Term,
    /// The variable of the loaded bits.
    pub(crate) bits: Term,
    pub(crate) trap: Option<TrapCode>,
    /// Whether the memory does not change during the function.
    pub(crate) readonly: bool,
    /// Whether the address is a multiple of the size.
    pub(crate) aligned: bool,
}

/// A sequentially consistent access: one step that reads memory and writes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) kind: AtomicKind,
    pub(crate) address: Term,
    /// The variable of the bits that memory held before.
    pub(crate) old: Term,
    /// The bits that memory holds afterwards. Of a load, they are the old ones.
    pub(crate) new: Term,
    pub(crate) trap: Option<TrapCode>,
}

/// Instructions that perform an atomic access besides those that read and write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AtomicKind {
    /// Instructions that only read.
    Load,
    /// Instructions that only write.
    Store,
    /// None, for a new value that depends on the old one.
    Update,
    /// None, for a comparison with the old value.
    CompareAndSwap,
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Address of the called function.
    pub(crate) callee: Term,
    pub(crate) signature: SigRef,
    pub(crate) arguments: Vec<Term>,
    pub(crate) results: Vec<Term>,
}

/// An edge to a block, with the arguments for its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) block: Block,
    pub(crate) arguments: Vec<Term>,
}

/// A handler of exceptions that the call at the end of a block raises.
#[derive(Clone, Debug)]
pub(crate) struct Catch {
    /// The tag that matches; `None` for all tags without a handler.
    pub(crate) tag: Option<u32>,
    /// The value that the runtime receives with the tag.
    pub(crate) context: Option<Term>,
    pub(crate) edge: Edge,
}

/// End of a block.
#[derive(Clone, Debug)]
pub(crate) enum Exit {
    Jump(Edge),
    Branch {
        condition: Term,
        then: Edge,
        otherwise: Edge,
    },
    Table {
        index: Term,
        entries: Vec<Edge>,
        default: Edge,
    },
    Return(Vec<Term>),
    TailCall(Call),
    /// The last effect is a call with handlers.
    Try {
        normal: Edge,
        catches: Vec<Catch>,
        /// The variables of the payloads of an exception.
        payloads: [Term; 2],
    },
    /// An effect of the block never lets execution pass.
    Never,
}

/// The meaning of a block.
#[derive(Clone, Debug)]
pub(crate) struct BlockMeaning {
    pub(crate) effects: Vec<Effect>,
    pub(crate) exit: Exit,
}

/// The meaning of a function.
pub(crate) struct Meaning {
    /// The term of each value that a reachable block defines.
    pub(crate) values: SecondaryMap<Value, Option<Term>>,
    /// The values that parameters and aliases are. Such parameters have no term of their own.
    pub(crate) sources: Sources,
    /// The meaning of each reachable block.
    pub(crate) blocks: SecondaryMap<Block, Option<BlockMeaning>>,
    /// Reachable blocks in reverse post-order.
    pub(crate) order: Vec<Block>,
    pub(crate) repeats: Vec<Repeat>,
    pub(crate) limit: Option<Limit>,
    /// Whether the frame pointer or the stack pointer is a value.
    pub(crate) is_frame_read: bool,
}

/// The limit of the stack.
pub(crate) struct Limit {
    pub(crate) term: Term,
    /// The loads that compute it.
    pub(crate) effects: Vec<Effect>,
}

/// Bits that a block reads from memory that does not change, after another block has read them. Code need not read
/// them again.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Repeat {
    pub(crate) bits: Term,
    pub(crate) again: Block,
    /// The block that reads them first, and the blocks that define the address. At their heads, the bits are not read yet,
    /// or are of another address.
    pub(crate) ends: Vec<Block>,
}

/// Addresses of the frame and of the code.
pub(crate) struct Addresses {
    /// The address of each stack slot.
    pub(crate) slots: Vec<Term>,
    /// The frame pointer and the stack pointer in the body, if a table tells them.
    pub(crate) pointers: Option<[Term; 2]>,
    pub(crate) return_address: Term,
    /// The address of the first instruction.
    pub(crate) code: Term,
}

/// Returns the variable of a symbol's address.
pub(crate) fn symbol(terms: &mut Terms, name: &str) -> Term {
    terms.var(&format!("&{name}"), Sort::Bits(64))
}

/// Returns the parts of a value that are in one place each: both halves of 128 bits, the low one first, or the
/// value.
pub(crate) fn parts(terms: &mut Terms, value: Term) -> Vec<Term> {
    match terms.width(value) {
        128 => [0, 64].into_iter().map(|low| terms.extract(value, low, 64)).collect(),
        _ => vec![value],
    }
}

/// Returns a variable; of 128 bits, one for each half.
pub(crate) fn variable(terms: &mut Terms, name: &str, width: u32) -> Term {
    if width != 128 {
        return terms.var(name, Sort::Bits(width));
    }
    let [high, low] = ["high", "low"].map(|half| terms.var(&format!("{name}.{half}"), Sort::Bits(64)));
    terms.concat(high, low)
}
