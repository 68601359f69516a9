//! The ending of a call of a compiled or interpreted function.

use std::fmt;

use kingpost_interpreter::DataValue;
use kingpost_ir::TrapCode;

/// Ending of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// A return with these results.
    Returned(Vec<DataValue>),
    /// A trap with a code, if it is known.
    Trapped(Option<TrapCode>),
    /// The call needs something that is missing here.
    NotSupported(String),
    /// Another failure.
    Wrong(String),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Ending::Returned(values) => write!(f, "returned {}", display(values)),
            Ending::Trapped(Some(code)) => write!(f, "trapped with {code}"),
            Ending::Trapped(None) => f.write_str("trapped at an address without a trap code"),
            Ending::NotSupported(text) | Ending::Wrong(text) => f.write_str(text),
        }
    }
}

/// Returns values in the form of directives.
pub(crate) fn display(values: &[DataValue]) -> String {
    match values {
        [value] => value.to_string(),
        _ => format!("[{}]", values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}
