//! The optimiser of `opt_level=speed`: a pass a file, named after it.
//!
//! | file | holds |
//! |---|---|
//! | `rewrite/` | the matcher of the rewrite rules and what it asks of the value graph |

pub mod rewrite;
