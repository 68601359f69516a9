//! Reasons why a call stops without results.

use std::fmt;

use kingpost_ir::{Opcode, TrapCode, Type};

/// Reason why a call did not return.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Stop {
    /// The program trapped. An exhausted stack traps with `stk_ovf`.
    Trap(TrapCode),
    /// An instruction has no meaning here yet.
    NotSupported {
        /// Its opcode.
        opcode: Opcode,
        /// Its controlling type, or `INVALID` if the opcode has none.
        ty: Type,
    },
    /// The limit of executed instructions is reached.
    Fuel,
    /// A call names a function that is neither in the environment nor a known library routine.
    UnknownFunction {
        /// The name as it is written in the text.
        name: String,
    },
    /// The address or the contents of a symbol are not known here.
    UnknownSymbol {
        /// The name as it is written in the text.
        name: String,
    },
    /// An indirect call has an address that is not the address of a function.
    NotAFunction {
        /// The address.
        address: u64,
    },
    /// No active call has a handler for an exception.
    Uncaught {
        /// Its tag.
        tag: u32,
    },
    /// The arguments of a call do not fit the signature of the function.
    Arguments {
        /// The function as it is written in the text.
        function: String,
    },
    /// The function breaks a rule of the verifier.
    Malformed {
        /// The function as it is written in the text.
        function: String,
    },
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Stop::Trap(code) => write!(f, "trap: {code}"),
            Stop::NotSupported { opcode, ty } if ty.is_invalid() => {
                write!(f, "not supported by the interpreter: {opcode}")
            }
            Stop::NotSupported { opcode, ty } => write!(f, "not supported by the interpreter: {opcode}.{ty}"),
            Stop::Fuel => f.write_str("the limit of executed instructions is reached"),
            Stop::UnknownFunction { name } => write!(f, "call of unknown function {name}"),
            Stop::UnknownSymbol { name } => write!(f, "the value of symbol {name} is not known"),
            Stop::NotAFunction { address } => write!(f, "no function is at address {address:#x}"),
            Stop::Uncaught { tag } => write!(f, "no call catches an exception with tag {tag}"),
            Stop::Arguments { function } => write!(f, "arguments do not fit the signature of {function}"),
            Stop::Malformed { function } => write!(f, "{function} breaks a rule of the verifier"),
        }
    }
}

impl std::error::Error for Stop {}

/// Failure of an operation on lanes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    Trap(TrapCode),
    NotSupported,
}
