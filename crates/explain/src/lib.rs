//! The compilation of a function: its text, its control-flow graph, machine code before and after allocation, bytes,
//! the location of each value at each instruction, and the decisions of allocators. The result is a page for a
//! browser, or text.
//!
//! ```text
//! Function, Compiler ──explain──▶ Explanation ──page──▶ HTML     text ──▶ columns
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `explain.rs` | a function compiled by several compilers: [`Explanation`] |
//! | `problem.rs` | an allocation problem solved by several allocators |
//! | `source.rs` | its text, line by line, and its control-flow graph |
//! | `code.rs` | its machine instructions before allocation, with the names of the text |
//! | `rows.rs` | one allocation, instruction by instruction: edits, assembly, bytes |
//! | `live_ranges.rs` | live ranges of values in locations |
//! | `proof.rs` | the proof of the emitted code, with the feature `validate` |
//! | `decisions.rs` | decisions of the allocator, in their order |
//! | `page.rs`, `page/` | a self-contained page |
//! | `text.rs` | columns of text, one for each allocator |
//! | `table.rs` | a table of allocations for programs |
//! | `plots.rs` | plots of the costs of two allocators |
//! | `dot.rs` | the control-flow graph in the language of Graphviz |
//!
//! ```
//! use kingpost_codegen::{Compiler, Options, Settings};
//!
//! let text = "function %same(i32) -> i32 { block0(v0: i32): return v0 }";
//! let func = kingpost_reader::parse_functions(text).unwrap().remove(0);
//! assert!(kingpost_explain::dot(&func).starts_with("digraph"));
//! let options = Options::default().with(|options| options.list = true);
//! let compiler = Compiler::host(Settings::default()).unwrap().with_options(options);
//! let explanation = kingpost_explain::explain(&func, &[compiler]).unwrap();
//! assert!(kingpost_explain::text(&explanation).contains("return v0"));
//! assert!(kingpost_explain::page("same", &[explanation]).contains("<html"));
//! ```

mod code;
mod decisions;
mod dot;
mod explain;
mod live_ranges;
mod names;
mod page;
mod plots;
mod problem;
mod proof;
mod rows;
mod source;
mod table;
mod text;

pub use decisions::Decision;
pub use dot::dot;
pub use explain::{Explanation, Solution, explain};
pub use live_ranges::LiveRange;
pub use names::VRegName;
pub use page::{json, page};
pub use plots::{Plot, plots};
pub use problem::explain_problem;
pub use rows::{Move, Row, RowKind};
pub use source::{Graph, GraphBlock, GraphEdge, Line};
pub use table::{COLUMNS, TableFacts, TableRow, cost_json};
pub use text::text;
