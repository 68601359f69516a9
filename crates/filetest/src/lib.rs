//! Runs .clif and .ra tests: subtests, directives, expectations.
//!
//! The first lines of a test file name its subtests, their settings and their targets. [`run`] finds files in
//! folders, and runs every subtest × target × register allocator as a separate unit. The order of reports does not
//! depend on threads. A unit is skipped only for a reason that names what is missing.
//!
//! | file | contents |
//! |---|---|
//! | `options.rs` | the options of a test run |
//! | `runner.rs` | search for files, and their runs on many threads |
//! | `watch.rs` | threads whose units have a limit of CPU time |
//! | `selection.rs` | the part of a file that belongs to requested functions |
//! | `plan.rs` | the units of a file, from its header |
//! | `program.rs` | an external allocator, as a program |
//! | `unit.rs` | the smallest item that is run and reported |
//! | `target.rs` | settings and flags of a `target` line |
//! | `subtests/` | one file per `test` command, and the table of them |
//! | `allocation.rs` | `.ra` files: allocation problems and the checker's results |
//! | `job.rs` | the input of a subtest |
//! | `outcome.rs` | the ending of a call |
//! | `directives.rs` | run directives, and the check of their calls |
//! | `expect.rs` | filecheck over the comments of a function |
//! | `precise.rs` | whole outputs in comments, and their update |
//! | `native/` | compiled code in executable memory or as an object, in a child process |
//! | `data.rs` | data directives as data objects |
//! | `known_wrong.rs` | directives that must not hold |
//! | `report.rs` | outcomes, and their text |
//! | `shell.rs` | words of commands that a shell reads |
//!
//! ```
//! use kingpost_filetest::{Options, run_text};
//!
//! let text = "
//! test interpret
//! function %twice(i32) -> i32 {
//! block0(v0: i32):
//!     v1 = iadd v0, v0
//!     return v1
//! }
//! ; run: %twice(21) == 42
//! ";
//! let report = run_text("twice.clif", text.as_bytes(), None, &Options::default());
//! assert_eq!((report.passed(), report.failed()), (1, 0));
//! ```

mod allocation;
mod data;
mod directives;
mod expect;
mod job;
mod known_wrong;
#[cfg(test)]
mod manifests;
pub mod native;
mod options;
mod outcome;
mod plan;
mod precise;
mod program;
mod report;
mod runner;
mod selection;
mod shell;
mod subtests;
mod target;
mod unit;
mod watch;

pub use data::{DataFault, data_objects};
pub use known_wrong::KnownWrong;
pub use native::Via;
pub use options::Options;
pub use outcome::Ending;
pub use program::factory as external_allocator;
pub use report::{Outcome, Report, UnitReport};
pub use runner::{run, run_text};
pub use subtests::cfg_text;
