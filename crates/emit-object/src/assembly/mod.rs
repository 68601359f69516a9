//! An object as text for GNU `as`, which assembles it to the sections, symbols and relocations that `writer.rs` writes.
//!
//! ```text
//!     .globl f
//!     .type f, %function
//!     .size f, 5
//!     .balign 16, 0
//! f:
//! .L0_b0:
//!     lea rax, [rdi + rsi]
//!     ret
//! ```
//! Functions are text. Every other section is read back from the finished object and becomes bytes, with symbols and
//! addresses between them, so that the text has the complete contents of the object. Tables hold offsets of
//! instructions as numbers. A manual change to an instruction therefore makes the tables wrong.
//!
//! | file | holds |
//! |---|---|
//! | `body.rs` | the instructions of a function |
//! | `sections.rs` | sections other than code |
//! | `words.rs` | symbols and relocations in the form of the assembler |
//! | `text.rs` | lines of the text |

mod body;
mod sections;
mod text;
mod words;

use crate::error::ObjectError;
use crate::names::symbol_name;
use crate::target;
use body::Body;
use kingpost_mach::{FunctionView, Listing};
use object::{Architecture, BinaryFormat, Object, ObjectSymbol, SymbolKind};
use std::collections::{BTreeSet, HashSet};
use target_lexicon::Triple;
use text::Text;
use words::File;

/// The functions of an object as text.
#[derive(Debug)]
pub struct Assembly {
    triple: Triple,
    architecture: Architecture,
    functions: Vec<FunctionText>,
    /// Names of the symbols that functions mention.
    mentioned: BTreeSet<String>,
}

/// One function as text.
#[derive(Debug)]
struct FunctionText {
    /// Alignment of the first byte.
    align: u32,
    /// The text after the function's label.
    body: Text,
    /// Bytes of the code.
    bytes: u64,
}

impl Assembly {
    /// Returns a text without functions, for a target.
    ///
    /// # Errors
    /// If the target's objects are not ELF.
    pub fn new(triple: &Triple) -> Result<Assembly, ObjectError> {
        let (format, architecture) = target::format(triple)?;
        if format.binary_format() != BinaryFormat::Elf {
            return Err(ObjectError::Unsupported { what: "assembly text".into(), target: triple.to_string() });
        }
        Ok(Assembly { triple: triple.clone(), architecture, functions: Vec::new(), mentioned: BTreeSet::new() })
    }

    /// Adds a function with its listing.
    ///
    /// # Errors
    /// If a relocation has no form in text.
    pub fn function(&mut self, listing: &Listing, f: FunctionView<'_>) -> Result<(), ObjectError> {
        let (architecture, triple) = (self.architecture, &self.triple);
        let body = Body { number: self.functions.len(), listing, f, triple, architecture }.text()?;
        self.mentioned.extend(f.relocs.iter().map(|reloc| symbol_name(&f.symbols[reloc.symbol as usize], triple)));
        let (align, bytes) = (f.function.head.align.max(16), f.code.len() as u64);
        self.functions.push(FunctionText { align, body, bytes });
        Ok(())
    }

    /// Returns the text of `object`, which must hold the added functions in their order.
    ///
    /// # Errors
    /// If the object has other functions, lacks a symbol that they mention, or has a name that assemblers do not accept.
    pub fn finish(self, object: &[u8]) -> Result<String, ObjectError> {
        let file = File::parse(object).map_err(words::malformed)?;
        words::check_names(&file)?;
        let is_x64 = self.architecture == Architecture::X86_64;
        let mut text = Text::default();
        if is_x64 {
            text.line(".intel_syntax noprefix");
        }
        text.line(".text");
        self.code(&file, &mut text)?;
        // Symbols may have names of registers. Only the AT&T syntax distinguishes the two.
        if is_x64 {
            text.line(".att_syntax prefix");
        }
        sections::write(&file, &mut text)?;
        Ok(text.into())
    }

    /// Writes all functions.
    fn code(&self, file: &File<'_>, text: &mut Text) -> Result<(), ObjectError> {
        let mut symbols: Vec<_> = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text).collect();
        symbols.retain(|symbol| symbol.is_definition());
        symbols.sort_by_key(|symbol| symbol.address());
        let (ours, others) = (self.functions.len(), symbols.len());
        if ours != others {
            return Err(ObjectError::Format(format!("the text is of {ours} functions, the object of {others}")));
        }
        let names: HashSet<&str> = file.symbols().filter_map(|symbol| symbol.name().ok()).collect();
        if let Some(name) = self.mentioned.iter().find(|name| !names.contains(name.as_str())) {
            return Err(ObjectError::Format(format!("the text mentions `{name}`, the object does not")));
        }
        for (function, symbol) in self.functions.iter().zip(symbols) {
            let name = words::declare(&symbol, text)?;
            if function.bytes != symbol.size() {
                return Err(ObjectError::Format(format!("the text of {name} is not of the code in the object")));
            }
            text.line(format_args!(".balign {}, 0", function.align));
            text.label(name);
            text.append(&function.body);
        }
        Ok(())
    }
}
