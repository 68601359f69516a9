//! Interpreter: defines the meaning of every opcode, and runs functions without compiling them.
//!
//! [`Interpreter`] calls functions of a file by name or number, and is the oracle of every test that runs code.
//! Values are bits with a type ([`DataValue`]). The meaning of the opcodes is in one file per family: `int`,
//! `float`, `convert`, `vector`, `bitcast`, `access` and `control`. `dispatch` maps opcodes to them. They operate
//! on the machine in `interpreter`, and `run` executes one instruction after the other.
//!
//! An instruction without a meaning stops with [`Stop::NotSupported`], which names the opcode and the type.
//!
//! ```
//! use kingpost_interpreter::{DataValue, Environment, Interpreter};
//! use kingpost_ir::types::I32;
//!
//! let functions = kingpost_reader::parse_functions("function %twice(i32) -> i32 { block0(v0: i32): v1 = iadd v0, v0
//! return v1 }"); let functions = functions.unwrap(); let environment = Environment::new(&functions); let result =
//! Interpreter::new(&environment).call("twice", &[DataValue::new(I32, 21)]); assert_eq!(result,
//! Ok(vec![DataValue::new(I32, 42)]));
//! ```

mod access;
mod address;
mod bitcast;
mod control;
mod convert;
mod data;
mod dispatch;
mod environment;
mod error;
mod float;
mod int;
mod interpreter;
mod lanes;
mod libcalls;
mod memory;
mod run;
mod soft_float;
mod value;
mod vector;
mod wide;

pub use data::{DataBlock, DataError, DataPointer, MAX_DATA_BYTES};
pub use environment::{Environment, FunctionId};
pub use error::Stop;
pub use interpreter::{Interpreter, Limits};
pub use value::DataValue;
