//! Rewrite rules as text.
//!
//! ```text
//! Name: mul by a power of two
//! Pre: isPowerOf2(C)            what must hold of the constants and values
//! %r = mul %x, C                the source: inputs are declared by their first use
//!   =>
//! %r = shl %x, log2(C)          the target: replaces the source's registers of the same names
//! ```
//!
//! [`parse`] reads a file. For each [`Rule`], [`scope::check`] resolves names, and [`types::Typings::infer`]
//! enumerates the types at which the rule makes sense. The language is Alive's (Lopes, Menendez, Nagarakatte,
//! Regehr: Provably Correct Peephole Optimizations with Alive, 2015), as the Alive tool reads it; `docs/rules.md`
//! describes it.
//!
//! | file | holds |
//! |---|---|
//! | `ast.rs` | the tree |
//! | `scanner.rs` | characters to words, with positions |
//! | `expression.rs`, `statement.rs`, `precondition.rs` | the three grammars |
//! | `file.rs` | a file into rules; a rule in error does not hide the next |
//! | `vocabulary.rs` | opcodes, functions and predicates by name |
//! | `print.rs` | expressions as text |
//! | `scope.rs` | inputs, the blocks of both sides, unused registers |
//! | `constraints.rs` | constraints of the rule on types |
//! | `types.rs` | the assignments of types that satisfy it |
//! | `clif/` | the CLIF dialect: its tree, parser and types |
//! | `error.rs` | errors in rules |
//!
//! ```
//! let parsed = kingpost_rules::parse("Name: twice\n%r = add %x, %x\n  =>\n%r = shl %x, 1\n");
//! assert_eq!(parsed[0].name.as_deref(), Some("twice"));
//! let rule = parsed[0].rule.as_ref().unwrap();
//! assert!(kingpost_rules::scope::check(rule).is_ok());
//! ```

mod ast;
pub mod clif;
mod constraints;
mod error;
mod expression;
mod file;
mod precondition;
mod print;
mod scanner;
pub mod scope;
mod statement;
pub mod types;
mod vocabulary;

pub use ast::{
    Block, Condition, Expr, ExprId, ExprKind, Flags, Inst, Operand, Position, Precondition, Rule, Statement, Template,
    TypeText,
};
pub use error::{ErrorKind, RuleError};
pub use file::{ParsedRule, parse};
pub use vocabulary::{BinaryOp, ConvertOp, Function, InstOp, Predicate, Relation, UnaryOp};
