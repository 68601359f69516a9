//! Tests of the crate.

mod batch;
mod budgets;
mod cache;
mod free_functions;
mod frequencies;
mod fused;
mod inlining;
mod limits;
mod machine_code_text;
mod observation;
#[cfg(feature = "redis")]
mod redis_store;
mod settings;
mod threads;
mod verify_each;
mod warm;
