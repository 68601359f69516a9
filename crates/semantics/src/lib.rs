//! The meaning of every opcode as terms: its results, or the trap that occurs instead.
//!
//! ```text
//! sdiv.i8 x, y     results: (bvsdiv x y)
//!                  trap:    254 (int_divz) if y = 0, else 252 (int_ovf) if x = -128 and y = -1, else 0
//! ```
//!
//! Proofs of rewrite rules rest on these meanings. They are deliberately written independently of the interpreter,
//! and a test evaluates both on equal operands.
//!
//! | file | holds |
//! |---|---|
//! | `outcome.rs` | [`Operation`], its operands and its [`Outcome`] |
//! | `meaning.rs` | dispatch from opcodes to the functions that are their meanings |
//! | `int.rs` | integer arithmetic on one lane |
//! | `bits.rs` | shifts, rotations, counts and orders of bits |
//! | `overflow.rs` | sums, differences and products that report overflow or trap on it |
//! | `float.rs` | floating point on one lane, and the NaNs that may be a result |
//! | `halves.rs` | sums and differences of `i128` by halves |
//! | `memory.rs` | the bits that accesses to memory move, and their addresses |
//! | `lanes.rs` | conversion from one lane to all |
//! | `vector.rs` | operations that move lanes or depend on several |
//!
//! Vectors have their first lane in the lowest bits. The following have no meaning yet: floating-point arithmetic
//! on vectors and of 128 bits, atomic accesses, and values of more than 128 bits.
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
mod halves;
mod int;
mod lanes;
mod meaning;
mod memory;
mod outcome;
mod overflow;
mod vector;

pub use float::canonical_nan;
pub use halves::by_halves;
pub use lanes::{each_lane, lanes_of};
pub use meaning::outcome;
pub use memory::{access_bits, address, lane_bits, loaded, stored};
pub use outcome::{Immediate, NanChoice, Operand, Operation, Outcome};
