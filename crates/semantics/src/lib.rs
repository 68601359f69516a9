//! The meaning of every opcode as terms: results, and the trap that occurs instead.
//!
//! ```text
//! sdiv.i8 x, y     results: (bvsdiv x y)
//!                  trap:    254 (int_divz) if y = 0, else 252 (int_ovf) if x = -128 and y = -1, else 0
//! ```
//!
//! Proofs of rewrite rules rest on these meanings. They are a second text, written apart from the interpreter's on
//! purpose: a test evaluates both on the same operands.
//!
//! | file | holds |
//! |---|---|
//! | `outcome.rs` | [`Operation`], its operands and its [`Outcome`] |
//! | `meaning.rs` | the index: which function is the meaning of an opcode |
//! | `int.rs` | integer arithmetic on one lane |
//! | `bits.rs` | shifts, rotations, counts and orders of bits |
//! | `overflow.rs` | sums, differences and products that say or trap if they do not fit |
//! | `float.rs` | floating point on one lane, and what a result may be that is no number |
//! | `memory.rs` | what accesses to memory move, and where |
//! | `lanes.rs` | from one lane to all |
//! | `vector.rs` | what moves lanes or depends on several |
//!
//! Vectors have their first lane in the lowest bits. There is no meaning yet of floating-point arithmetic on vectors
//! and of 128 bits, of atomic accesses, and of values of more than 128 bits.
//!
//! ```
//! use kingpost_ir::Opcode;
//! use kingpost_ir::types::I8;
//! use kingpost_semantics::{Immediate, Operand, Operation, outcome};
//! use kingpost_smt::Terms;
//!
//! let mut terms = Terms::new();
//! let [x, zero] = [40, 2].map(|value| Operand { ty: I8, bits: terms.number(8, value) });
//! let operation = Operation { opcode: Opcode::Iadd, ty: I8, immediate: Immediate::None };
//! let sum = outcome(&mut terms, &operation, &[x, zero]).unwrap();
//! assert_eq!(sum.results, [terms.number(8, 42)]);
//! assert_eq!(sum.trap, terms.number(8, 0), "it does not trap");
//! ```

mod bits;
mod float;
mod int;
mod lanes;
mod meaning;
mod memory;
mod outcome;
mod overflow;
mod vector;

pub use float::canonical_nan;
pub use lanes::{each_lane, lanes_of};
pub use meaning::outcome;
pub use memory::{access_bits, address, lane_bits, loaded, stored};
pub use outcome::{Immediate, NanChoice, Operand, Operation, Outcome};
