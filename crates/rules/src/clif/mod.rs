//! Rules on CLIF.
//!
//! ```text
//! rule mul_chain : imul(imul(x, C1), C2) => imul(x, C1 * C2)                     at lanes
//! rule mul_pow2  : imul(x, C) => ishl(x, log2(C))   where isPowerOf2(C)
//! rule reduce_ext: ireduce.N(sextend.W(x: N)) => x
//! rule not_cmp   : icmp eq (uextend(icmp cc (x, y)), 0) => icmp !cc (x, y)
//! ```
//!
//! Names in small letters are values; a repeated name is one value. Names in capitals are integer constants. The
//! controlling type of an opcode may follow a point, and the type of a value may follow a colon. A rule holds at
//! all types that the opcodes allow: scalar integers, and with `at lanes` vectors of integers, too. Constant
//! expressions and conditions are in Alive's language, but with names of values without the percent sign.
//!
//! | file | holds |
//! |---|---|
//! | `ast.rs` | the tree |
//! | `condition.rs` | the conditions of comparisons |
//! | `parse.rs` | a file into rules |
//! | `types.rs` | the types at which a rule holds |
//! | `variants.rs` | the orders of commutative operands |
//! | `order.rs` | the order that every rule descends |
//! | `cover.rs` | rules that are never applied |
//! | `generate/` | Rust from rules |

mod ast;
mod condition;
mod cover;
mod generate;
mod order;
mod parse;
mod types;
mod variants;

pub use ast::{Bound, ClifRule, ConditionName, Node, NodeKind, TypeName, is_effect};
pub use condition::Condition;
pub use generate::{Dependency, Entry, GenerateError, generate};
pub use parse::{ParsedClifRule, parse};
pub use types::{ClifTyping, typings};
