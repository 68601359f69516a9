//! The convention of C on this system, by which Rust calls functions and is called.

use kingpost_ir::Function;
use kingpost_ir::signature::CallConv;

/// The convention of functions of type `extern "C"`.
pub(crate) const CONVENTION: CallConv = if cfg!(windows) { CallConv::WindowsFastcall } else { CallConv::SystemV };

/// Returns the function of a text, with [`CONVENTION`] for `system_v`.
pub(crate) fn parse(text: &str) -> Function {
    let text = text.replace("system_v", &CONVENTION.to_string());
    kingpost_reader::parse_functions(&text).unwrap().remove(0)
}
