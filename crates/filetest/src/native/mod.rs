//! Execution of compiled code in isolation.
//!
//! The functions of a file are compiled together with one trampoline for each function that a directive calls. A
//! trampoline has the type `(i64)`: it loads arguments from memory, calls, and stores the results, so that its
//! caller needs no knowledge of signatures.
//!
//! Both variants share these steps. Then the code is loaded into this process and called in a copy of it
//! (`jit.rs`), or written as an object and linked with a driver (`object.rs`). Code of another machine always takes
//! the second path, and an emulator runs it (`machine.rs`), by way of an image for Windows on AArch64 or for macOS
//! (`image.rs`).

mod build;
mod call;
mod image;
mod jit;
mod link;
mod machine;
mod macho_image;
mod object;
mod rename;
mod stub;
pub mod throw;
mod trampoline;

pub use build::Program;
pub(crate) use build::build;
pub use call::Request;
pub(crate) use call::SECONDS;
pub(crate) use machine::{is_host, tools};
pub use trampoline::trampoline;

use crate::outcome::Ending;
use call::MAX_SLOTS;
use target_lexicon::Triple;

/// Variants of running compiled code.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Via {
    /// In executable memory of a copy of this process, for code of the host.
    #[default]
    Jit,
    /// Object file, linked by the system linker and run in a process of its own.
    Object,
}

/// Runs all requests in order; each has an ending. All together have 10 seconds of CPU time.
///
/// # Errors
/// If the program cannot be loaded, linked or started.
pub fn run(program: &Program, requests: &[Request], via: Via) -> Result<Vec<Ending>, String> {
    run_for(program, requests, via, SECONDS)
}

/// Runs all requests in order; each has an ending. All together have `seconds` of CPU time.
pub(crate) fn run_for(program: &Program, requests: &[Request], via: Via, seconds: u32) -> Result<Vec<Ending>, String> {
    if requests.iter().any(|request| request.count() > MAX_SLOTS) {
        return Err(format!("a directive has more than {MAX_SLOTS} arguments or results"));
    }
    let host = is_host(&program.triple);
    match via {
        _ if requests.is_empty() => Ok(Vec::new()),
        Via::Jit if host => jit::run(program, requests, seconds),
        Via::Jit | Via::Object => object::run(program, requests, seconds),
    }
}

/// Checks that code of a target can be run here.
///
/// # Errors
/// If it cannot, with the missing tool.
pub fn can_run(triple: &Triple) -> Result<(), String> {
    tools(triple).map(drop)
}
