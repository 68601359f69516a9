//! Reads CLIF text and filetest headers into the intermediate representation.
//!
//! [`Parser`] reads function after function into memory that is reused. [`parse_functions`] and [`parse_test`] read
//! whole files, the latter with comments and directives. Every error has a line and a column. The parser does not
//! recurse on the input, and its cost grows no faster than the input.
//!
//! The text has two extensions. Data objects are written in comments (`; data: %name = …`). The signature of a call
//! to a variadic C function has `...` before the arguments that the function does not declare:
//! `fn0 = %printf(i64, ..., i32, f64) -> i32`.
//!
//! ```
//! use kingpost_reader::parse_functions;
//!
//! let functions = parse_functions("function %f(i32) -> i32 { block0(v0: i32): return v0 }").unwrap();
//! assert_eq!(functions[0].name.to_string(), "%f");
//! let error = parse_functions("function %f() { block0: ad }").unwrap_err();
//! assert!(error.to_string().contains("unknown opcode `ad`"));
//! ```

mod block_call;
mod body;
mod context;
mod data_directive;
mod entity_map;
mod error;
mod exercise;
mod header;
mod hint;
mod instruction;
mod lexer;
mod literal;
mod memflags;
mod parser;
mod preamble;
mod run_command;
mod signature;
mod source_map;
mod swar;
mod testfile;

pub use data_directive::{DataItem, DataObject};
pub use error::{Error, ErrorKind, Lines, Position};
pub use exercise::{NotReadAgain, read_in_every_way};
pub use header::{Feature, Header, Setting, Target, TestCommand};
pub use parser::{MAX_TEXT_BYTES, Options, Parser, parse_functions, parse_signature};
pub use run_command::{Comparison, Datum, Invocation, RunCommand};
pub use source_map::SourceMap;
pub use testfile::{Comment, TestFile, TestFunction, parse_test};
