//! Kingpost behind Cranelift's API: clients keep Cranelift's intermediate representation, builder and settings, and get code of
//! our compiler.
//!
//! | file | holds |
//! |---|---|
//! | `translate/` | a function of Cranelift as one of ours |

mod translate;

pub use translate::translate;
