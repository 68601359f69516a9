//! Terms of booleans, bit-vectors and floats, and solvers that decide them.
//!
//! ```text
//! (x + 1) - x = 1          built through `Terms`     true           folded while it is built
//! x * y = y * x + z        printed by `script`       (declare-fun x () (_ BitVec 8)) …
//!                          decided by `Solver`       sat, z = 1     read back as a `Model`
//!                          evaluated by `Evaluator`  false          the model is checked without the solver
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `bits.rs` | constants: widths up to [`MAX_WIDTH`], arithmetic as SMT-LIB defines it |
//! | `term.rs` | the arena: terms are hash-consed, children have smaller numbers than parents |
//! | `hash.rs` | a hasher for terms |
//! | `index.rs` | an index of entries by their hashes |
//! | `names.rs` | names of variables |
//! | `build/` | one constructor per operation; each folds constants and rewrites to a normal form |
//! | `linear.rs` | sums as constant and coefficients: the normal form of addition |
//! | `polynomial.rs` | products multiplied out: equality for every value of the variables |
//! | `float.rs` | floating-point operations on the bits of their formats |
//! | `evaluate.rs` | the value of a term under a model |
//! | `substitute.rs` | a term with variables replaced, rebuilt by the constructors |
//! | `script.rs` | SMT-LIB 2.6 text, one definition per shared term |
//! | `solver.rs` | z3 and cvc5 as processes, with time limits |
//! | `search/` | a search for models bit by bit, without another process |
//! | `reply.rs` | parser of their answers |
//!
//! The crate does not interpret the meaning of terms, and has no dependencies.
//!
//! ```
//! use kingpost_smt::{Sort, Terms};
//!
//! let mut terms = Terms::new();
//! let x = terms.var("x", Sort::Bits(8));
//! let one = terms.number(8, 1);
//! let next = terms.add(x, one);
//! let difference = terms.sub(next, x);
//! assert_eq!(difference, one, "folded while it is built");
//! ```

mod bits;
mod build;
mod evaluate;
mod float;
mod float_op;
mod hash;
mod index;
mod linear;
mod names;
mod polynomial;
mod reply;
mod script;
mod search;
mod solver;
mod substitute;
mod term;

pub use bits::{Bits, MAX_WIDTH, Sort, Value};
pub use build::Relation;
pub use evaluate::{Evaluator, Model};
pub use float_op::FloatOp;
pub use polynomial::equal_polynomials;
pub use script::Query;
pub use search::{Search, search};
pub use solver::{Answer, Backend, Solver, SolverError};
pub use substitute::Substitution;
pub use term::{Node, Op, Term, Terms};
