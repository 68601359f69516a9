//! Tests of the crate.

mod circles;
mod filetests;
mod forge;
mod matrix;
mod prose;
mod settings;
mod systems;
mod unsafe_code;
