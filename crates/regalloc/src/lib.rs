//! The contract between lowering and register allocation.
