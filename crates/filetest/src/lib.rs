//! Runs .clif and .ra tests: subtests, directives, expectations.
//!
//! A test file says in its first lines which subtests it has, with which settings and for which
//! targets. [`run`] finds files in folders, runs every subtest × target × register allocator as a
//! unit of its own, and reports in an order that does not depend on threads. Nothing is skipped
//! without a reason that names what is missing.
//!
//! | file | holds |
//! |---|---|
//! | `options.rs` | what to run of the files |
//! | `runner.rs` | finding files, running them on many threads |
//! | `watch.rs` | threads, each of whose units has a limit of CPU time |
//! | `plan.rs` | the units of a file, from its header |
//! | `program.rs` | an allocator outside, as a program |
//! | `unit.rs` | what is run and reported by itself |
//! | `target.rs` | settings and flags of a `target` line |
//! | `subtests/` | one file per `test` command, and the table of them |
//! | `allocation.rs` | `.ra` files: allocation problems and the checker's verdicts |
//! | `job.rs` | what a subtest works on |
//! | `outcome.rs` | how a call ended |
//! | `directives.rs` | run directives and whether calls end as they ask |
//! | `expect.rs` | filecheck over the comments of a function |
//! | `precise.rs` | whole outputs in comments, and blessing them |
//! | `native/` | compiled code in executable memory or as an object, in a child process |
//! | `data.rs` | data directives as data objects |
//! | `known_wrong.rs` | directives that must not hold |
//! | `report.rs` | outcomes, and how they print |
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
mod subtests;
mod target;
mod unit;
mod watch;

pub use data::{DataFault, data_objects};
pub use known_wrong::KnownWrong;
pub use native::Via;
pub use options::Options;
pub use outcome::Ending;
pub use report::{Outcome, Report, UnitReport};
pub use runner::{run, run_text};
pub use subtests::cfg_text;
