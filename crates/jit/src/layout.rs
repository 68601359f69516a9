//! Places of the functions and data of a module in an image.

use crate::arena::{Needs, PageKind};
use crate::relocate::STUB_LEN;
use kingpost_mach::{DataObject, Literal, ModuleBuffer, SymbolName};
use std::collections::HashMap;

/// A position in an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImagePosition {
    /// The kind of the part that contains it.
    pub(crate) part: PageKind,
    /// Offset from the start of the part, in bytes.
    pub(crate) offset: usize,
}

impl ImagePosition {
    /// Returns the place `bytes` bytes after this one.
    pub(crate) fn plus(self, bytes: usize) -> ImagePosition {
        ImagePosition { offset: self.offset + bytes, ..self }
    }
}

/// Places of all functions and data in an image.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) functions: Vec<ImagePosition>,
    /// All symbols that relocations refer to, in order of the first reference.
    pub(crate) mentioned: Vec<SymbolName>,
    /// Indices into `mentioned`.
    pub(crate) index: HashMap<SymbolName, usize>,
    /// The stubs, one for each symbol in `mentioned`.
    pub(crate) stubs: ImagePosition,
    /// The address table, with one address for each symbol in `mentioned`.
    pub(crate) got: ImagePosition,
    pub(crate) literals: Vec<(Literal, ImagePosition)>,
    pub(crate) data: Vec<ImagePosition>,
    /// The table of functions.
    pub(crate) table: ImagePosition,
    /// Size of each part in bytes.
    pub(crate) bytes: Needs,
    /// Alignment of the parts.
    pub(crate) align: usize,
}

impl Layout {
    /// Places everything. The table of functions has `table_bytes` bytes.
    pub(crate) fn new(module: &ModuleBuffer, data: &[DataObject], table_bytes: usize) -> Layout {
        let mut parts = Parts { bytes: Needs::default(), align: 1 };
        let functions = module
            .functions()
            .map(|f| parts.reserve(PageKind::Code, f.code.len(), (f.function.head.align as usize).max(16)));
        let functions = functions.collect();
        let (mentioned, index) = mentioned(module, data);
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
            // Objects of size zero have addresses, too.
            parts.reserve(part, (object.size as usize).max(1), object.align as usize)
        });
        let data = data.collect();
        let table = parts.reserve(PageKind::ReadOnly, table_bytes, 4);
        Layout {
            functions,
            mentioned,
            index,
            stubs,
            got,
            literals,
            data,
            table,
            bytes: parts.bytes,
            align: parts.align,
        }
    }
}

/// Returns all symbols that relocations refer to, in order of the first reference, and their indices. Functions also list
/// symbols that their code did not need after all.
fn mentioned(module: &ModuleBuffer, data: &[DataObject]) -> (Vec<SymbolName>, HashMap<SymbolName, usize>) {
    let (mut mentioned, mut index) = (Vec::new(), HashMap::new());
    let mut mention = |name: &SymbolName| {
        if !index.contains_key(name) {
            index.insert(name.clone(), mentioned.len());
            mentioned.push(name.clone());
        }
    };
    let mut is_used = Vec::new();
    for f in module.functions() {
        is_used.clear();
        is_used.resize(f.symbols.len(), false);
        f.relocs.iter().for_each(|reloc| is_used[reloc.symbol as usize] = true);
        f.symbols.iter().zip(&is_used).filter(|&(_, &is_used)| is_used).for_each(|(name, _)| mention(name));
    }
    data.iter().flat_map(|object| &object.pointers).for_each(|pointer| mention(&pointer.symbol));
    (mentioned, index)
}

/// The sizes of parts during the layout.
struct Parts {
    bytes: Needs,
    align: usize,
}

impl Parts {
    /// Reserves `len` bytes of a part at the next multiple of `align`. Sizes saturate, so that allocation refuses a
    /// part that is too large.
    fn reserve(&mut self, part: PageKind, len: usize, align: usize) -> ImagePosition {
        let (end, align) = (&mut self.bytes[part as usize], align.max(1));
        let offset = end.checked_next_multiple_of(align).unwrap_or(usize::MAX);
        *end = offset.saturating_add(len);
        self.align = self.align.max(align);
        ImagePosition { part, offset }
    }
}
