//! Tests of the crate.

mod assembly;
mod calls;
mod conventions;
mod data;
mod debug;
mod exceptions;
mod formats;
mod function_tables;
mod hardening;
mod link;
mod literals;
mod macho;
mod macho_exceptions;
mod mapping_symbols;
mod placement;
mod symbols;
mod throws;
mod tls;
mod unused;
mod unwind;
mod variadic;
mod wide;
mod windows;
mod windows_arm64;
