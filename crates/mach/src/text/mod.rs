//! Text form of machine code, before and after allocation. Printed text can be parsed and prints as the same text.
//!
//! The form is the `.ra` text of the allocation problem, so that every tool for problems reads it, with the machine
//! code after `;;`:
//!
//! ```text
//! problem %f {
//!   v0, v1: int 8
//!   ;; calls                                        ; facts of the function, each if it is not as usual
//!   ;; name 0 %memcpy                               ; names, and the symbols that instructions address
//!   ;; name 1 literal 3ff8000000000000
//!   ;; symbol 0 name 0 near +16
//!   ;; frame slots 32 align 16 outgoing 8 incoming 24 pops 24
//!   ;; targets 1 2 2 table 0..2                      ; of branches with more than two
//!   ;; exits 0 to 1 tag 7 to 2 context 1 default to 3 ; where a call with handlers goes on; contexts are operands
//!   ;; zero_extended v0, v1                          ; what users rely on, and what lowering answers for
//!   ;; declared_zeros v1
//!   ;; annotation 0 patchable map i64 8 tag 5 tag slot 16 ; of calls and sequence points
//!   ;; value 4 i64                                   ; the type of what label 4 stands for
//!   ;; keyed_slot 7 at 16 bytes 8
//!   ;; layout b0, b2, b1                            ; if it is not the order above
//!   b0 freq 1:
//!     i0: def v0 = r7                               ;; entry
//!     i1: def v1 reuse 0, use v0, use v0            ;; add64_rm [base index<<3 +16] traps heap_oob
//!     i2: branch use v1                             ;; ret #0x10 aux 2 @1f
//!   b1 freq 1:
//!     i3: branch -> b1 freq 1                       ;; jmp to 1
//! }
//! ```
//!
//! An instruction consists of its row, its memory operand, its immediate in 64 bits after `#`, `aux` (for branches
//! the blocks after `to` and `else`, for calls with handlers the number of their `exits`), its annotation, its trap
//! code, and its source location after `@`. A symbol of the library (`libcall`) or the linker (`known`) has this word
//! before its name, a constant (`literal`) before its digits.

mod parse;
mod print;

pub use parse::{Parsed, TextError, parse};
pub use print::{display, problem_name};
