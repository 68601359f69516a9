//! Verifier of rewrite rules: a rule is correct at every typing, or wrong with a counterexample.
//!
//! For each assignment of types (from [`kingpost_rules::types`]) both templates become terms: for each register a
//! value, a condition of definedness, and a condition of freedom from poison. The rule is correct if no model shows
//! a difference that the source does not excuse. A difference is a target that is undefined or poison while the
//! source is not, another value, or other memory. Undefined values of the source are chosen last: some choice must
//! explain the behavior of the target.
//!
//! A model that a solver finds is evaluated on terms built without simplification before it is reported.
//!
//! | file | holds |
//! |---|---|
//! | `check.rs` | [`check`]: all typings of a rule, and the verdict |
//! | `clif.rs`, `clif_replay.rs` | [`check_clif`]: verdicts on rules on CLIF, whose counterexamples are run |
//! | `condition.rs` | the formulas that must have no model, in the order in which they are reported |
//! | `side.rs` | a template, block by block |
//! | `instruction.rs`, `wrap.rs`, `memory.rs` | the meaning of instructions, their flags, memory |
//! | `constant.rs`, `precondition.rs` | the meaning of constant expressions and preconditions |
//! | `encoder.rs`, `outcome.rs`, `template.rs`, `memory_state.rs` | types that these share |
//! | `prover.rs` | solvers and the order of tactics |
//! | `reduce.rs` | simplification of formulas |
//! | `split.rs` | case distinction on shift amounts and powers of two |
//! | `products.rs` | quotients of products that do not wrap |
//! | `divide.rs` | divisions by their definition |
//! | `undef.rs` | formulas with a choice of undefined values |
//! | `counterexample.rs` | models: replay, and text |
//!
//! The meaning of the language is described in `docs/rules.md`.
//!
//! ```
//! use kingpost_rule_verify::{Options, Prover, SolverChoice, Verdict, check};
//!
//! let parsed = kingpost_rules::parse("Name: twice\n%r = add %x, %x\n  =>\n%r = shl %x, 1\n");
//! let rule = parsed[0].rule.as_ref().unwrap();
//! let options = Options::default().with(|options| options.widths = 8..=8);
//! // Proofs need z3.
//! if kingpost_rule_verify::Backend::Z3.is_installed() {
//!     let verdict = check(rule, &options, &mut Prover::new(SolverChoice::Z3));
//!     assert!(matches!(verdict, Verdict::Correct), "{verdict:?}");
//! }
//! ```

mod check;
mod clif;
mod clif_replay;
mod condition;
mod constant;
mod counterexample;
mod divide;
mod encoder;
mod instruction;
mod memory;
mod memory_state;
mod outcome;
mod precondition;
mod products;
mod prover;
mod reduce;
mod side;
mod sides;
mod split;
mod template;
mod undef;
mod wrap;

pub use check::{Verdict, check};
pub use clif::{Obligations, check_clif, obligations};
pub use condition::WrongKind;
pub use counterexample::Counterexample;
pub use kingpost_smt::Backend;
pub use prover::{Options, Prover, SolverChoice};
