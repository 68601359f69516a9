//! Places of the functions and data of a module in an image.

use crate::pages::{Needs, PageKind};
use crate::relocate::STUB_LEN;
use kingpost_mach::{DataObject, Literal, ModuleBuffer, SymbolName};
use std::collections::HashMap;

/// A place in an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The kind of the part.
    pub(crate) part: PageKind,
    /// Bytes from the start of the part.
    pub(crate) offset: usize,
}

impl Place {
    /// Returns the place `bytes` bytes further on.
    pub(crate) fn plus(self, bytes: usize) -> Place {
        Place { offset: self.offset + bytes, ..self }
    }
}

/// Places of everything in an image.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) functions: Vec<Place>,
    /// All symbols that relocations mention, in order of first mention.
    pub(crate) mentioned: Vec<SymbolName>,
    /// Indices into `mentioned`.
    pub(crate) index: HashMap<SymbolName, usize>,
    /// A stub for each symbol mentioned.
    pub(crate) stubs: Place,
    /// An address for each symbol mentioned.
    pub(crate) got: Place,
    pub(crate) literals: Vec<(Literal, Place)>,
    pub(crate) data: Vec<Place>,
    /// Bytes of each part.
    pub(crate) bytes: Needs,
    /// Alignment of the parts.
    pub(crate) align: usize,
}

impl Layout {
    pub(crate) fn new(module: &ModuleBuffer, data: &[DataObject]) -> Layout {
        let mut parts = Parts { bytes: Needs::default(), align: 1 };
        let functions = module
            .functions()
            .map(|f| parts.reserve(PageKind::Code, f.code.len(), (f.function.head.align as usize).max(16)));
        let functions = functions.collect();
        let mut mentioned = Vec::new();
        let mut index = HashMap::new();
        let code_symbols = module.functions().flat_map(|f| f.symbols);
        let data_symbols = data.iter().flat_map(|d| d.pointers.iter().map(|p| &p.symbol));
        for name in code_symbols.chain(data_symbols) {
            if !index.contains_key(name) {
                index.insert(name.clone(), mentioned.len());
                mentioned.push(name.clone());
            }
        }
        let stubs = parts.reserve(PageKind::Code, mentioned.len() * STUB_LEN, 16);
        let got = parts.reserve(PageKind::ReadOnly, mentioned.len() * 8, 8);
        let literals = mentioned.iter().filter_map(|name| match name {
            SymbolName::Literal(literal) => {
                let bytes = literal.bytes().len();
                Some((*literal, parts.reserve(PageKind::ReadOnly, bytes, bytes)))
            }
            _ => None,
        });
        let literals = literals.collect();
        let data = data.iter().map(|object| {
            let part = if object.writable { PageKind::Writable } else { PageKind::ReadOnly };
            // Objects without bytes have addresses too.
            parts.reserve(part, (object.size as usize).max(1), object.align as usize)
        });
        let data = data.collect();
        Layout { functions, mentioned, index, stubs, got, literals, data, bytes: parts.bytes, align: parts.align }
    }
}

/// The parts while they grow.
struct Parts {
    bytes: Needs,
    align: usize,
}

impl Parts {
    /// Reserves `len` bytes of a part at the next multiple of `align`. What does not fit memory ends at its top, and is refused
    /// when memory is taken.
    fn reserve(&mut self, part: PageKind, len: usize, align: usize) -> Place {
        let (end, align) = (&mut self.bytes[part as usize], align.max(1));
        let offset = end.checked_next_multiple_of(align).unwrap_or(usize::MAX);
        *end = offset.saturating_add(len);
        self.align = self.align.max(align);
        Place { part, offset }
    }
}
