//! Exception tables: the destinations of a `try_call`.

use crate::entities::{SigRef, Value};
use crate::instruction::{BlockCall, Edges};
use crate::pool::List;

/// An item of an exception table. The items are matched in order.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum ExceptionItem {
    /// Exceptions with this tag transfer control to the next handler.
    Tag(u32),
    /// Exceptions that no tag matches transfer control to the next handler.
    Default,
    /// A value that the runtime receives for the tags that follow.
    Context(Value),
}

impl ExceptionItem {
    /// Returns the value of a context item.
    pub fn context(self) -> Option<Value> {
        match self {
            ExceptionItem::Context(value) => Some(value),
            ExceptionItem::Tag(_) | ExceptionItem::Default => None,
        }
    }
}

#[derive(Copy, Clone, Hash, Debug)]
pub(crate) struct ExceptionTableData {
    pub(crate) sig: SigRef,
    /// The handlers, then the normal return.
    pub(crate) edges: Edges,
    pub(crate) items: List<ExceptionItem>,
}

/// The contents of an exception table.
#[derive(Copy, Clone, Debug)]
pub struct ExceptionTableView<'a> {
    /// The signature of the called function.
    pub sig: SigRef,
    /// Destination after a return of the call.
    pub normal: BlockCall,
    /// Destinations on exceptions: one for each `Tag` and `Default` item, in their order.
    pub handlers: &'a [BlockCall],
    /// Tags, defaults and contexts.
    pub items: &'a [ExceptionItem],
}
