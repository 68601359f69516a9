//! The text of emitted instructions with their bytes, kept only on request, since making it takes time.
//!
//! ```text
//! b0:
//!      0  55                      push rbp
//!      1  48 89 e5                mov rbp, rsp
//!      4  e8 00 00 00 00          call symbol0@PLT  ; X86CallPltRel4 %f-4
//! ```
//! The encoder says what it encodes; offsets move with branches that grow like those of all tables.

use crate::buffer::{Buffer, Label};
use crate::compiled::FunctionView;
use std::fmt;

/// One instruction, or several with one text.
#[derive(Clone, Debug)]
struct Line {
    /// Of its first byte.
    offset: u32,
    text: String,
    /// Where it branches to.
    target: Option<Label>,
}

/// The instructions of one function.
#[derive(Clone, Default, Debug)]
pub struct Listing {
    wanted: bool,
    lines: Vec<Line>,
    /// Labels and their offsets, ascending.
    labels: Vec<(Label, u32)>,
    /// How many labels are blocks: the first ones.
    blocks: usize,
    /// Bytes of code, jump tables behind it not counted.
    code_bytes: u32,
}

/// What instruction sets say.
impl Buffer {
    /// Notes what is emitted next.
    #[inline]
    pub fn list(&mut self, text: impl FnOnce() -> String) {
        if self.listing.wanted {
            let offset = self.len() as u32;
            self.listing.lines.push(Line { offset, text: text(), target: None });
        }
    }

    /// Notes that a branch to `label` is emitted next.
    #[inline]
    pub fn list_branch(&mut self, label: Label, text: impl FnOnce() -> String) {
        if self.listing.wanted {
            let offset = self.len() as u32;
            self.listing.lines.push(Line { offset, text: text(), target: Some(label) });
        }
    }
}

impl Listing {
    /// Is a listing made from now on?
    pub(crate) fn want(&mut self, wanted: bool) {
        self.wanted = wanted;
    }

    /// Forgets the lines from this offset on.
    pub(crate) fn forget_from(&mut self, offset: usize) {
        while self.lines.pop_if(|line| line.offset as usize >= offset).is_some() {}
    }

    /// Starts a function whose first labels are its `blocks` blocks.
    pub(crate) fn start(&mut self, blocks: usize) {
        self.lines.clear();
        self.labels.clear();
        self.blocks = blocks;
        self.code_bytes = 0;
    }

    /// Offsets of all lines, to be moved.
    pub(crate) fn offsets_mut(&mut self) -> impl Iterator<Item = &mut u32> {
        self.lines.iter_mut().map(|line| &mut line.offset)
    }

    /// Takes the final offsets of labels, ascending, and the length of the code.
    pub(crate) fn finish(&mut self, labels: impl Iterator<Item = (Label, u32)>, code_bytes: u32) {
        if self.wanted {
            self.labels.extend(labels);
            self.code_bytes = code_bytes;
        }
    }

    /// The text, with the bytes of `function`, which this is the listing of.
    pub fn display<'a>(&'a self, function: FunctionView<'a>) -> impl fmt::Display + 'a {
        ListingText { listing: self, function }
    }
}

struct ListingText<'a> {
    listing: &'a Listing,
    function: FunctionView<'a>,
}

impl fmt::Display for ListingText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listing = self.listing;
        let mut labels = listing.labels.iter().peekable();
        for (index, line) in listing.lines.iter().enumerate() {
            while let Some(&(label, _)) = labels.next_if(|(_, offset)| *offset <= line.offset) {
                writeln!(f, "{}:", self.label(label))?;
            }
            let end = listing.lines.get(index + 1).map_or(listing.code_bytes, |next| next.offset);
            self.line(f, line, end)?;
        }
        self.tables(f)
    }
}

impl ListingText<'_> {
    fn label(&self, label: Label) -> String {
        if label.index() < self.listing.blocks { format!("b{}", label.index()) } else { format!(".{}", label.index()) }
    }

    fn line(&self, f: &mut fmt::Formatter<'_>, line: &Line, end: u32) -> fmt::Result {
        let (start, end) = (line.offset as usize, end as usize);
        let bytes = self.function.code.get(start..end).unwrap_or_default();
        let mut text = line.text.clone();
        if let Some(label) = line.target {
            text += &format!(" {}", self.label(label));
        }
        let mut separator = "  ; ";
        let within = |offset: u32| (start..end).contains(&(offset as usize));
        for reloc in self.function.relocs.iter().filter(|reloc| within(reloc.offset)) {
            let symbol = &self.function.symbols[reloc.symbol as usize];
            text += &format!("{separator}{:?} {symbol}", reloc.kind);
            if reloc.addend != 0 {
                text += &format!("{:+}", reloc.addend);
            }
            separator = ", ";
        }
        for trap in self.function.traps.iter().filter(|trap| within(trap.offset)) {
            text += &format!("{separator}trap {}", trap.code);
            separator = ", ";
        }
        for words in self.annotations(start, end) {
            text += &format!("{separator}{words}");
            separator = ", ";
        }
        row(f, start, bytes, &text)
    }

    /// What the tables say of a sequence point at `start`, and of a call that ends at `end`.
    fn annotations(&self, start: usize, end: usize) -> Vec<String> {
        let f = &self.function;
        let (begins, ends) = (|offset: u32| offset as usize == start, |offset: u32| offset as usize == end);
        let points = f.debug_tags.iter().filter(|site| !site.of_call && begins(site.offset));
        let maps = f.stack_maps.iter().filter(|entry| ends(entry.return_offset));
        let tags = f.debug_tags.iter().filter(|site| site.of_call && ends(site.offset));
        let patchable = f.patchable_calls.iter().filter(|call| ends(call.return_offset));
        let mut words: Vec<String> = points.map(|site| format!("before: {}", site.tag)).collect();
        words.extend(maps.map(|entry| format!("live {} at sp+{}", entry.ty, entry.offset)));
        words.extend(tags.map(|site| site.tag.to_string()));
        words.extend(patchable.map(|call| format!("{} bytes patchable", call.bytes)));
        words
    }

    /// What stands behind the code.
    fn tables(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.listing.code_bytes as usize;
        for (index, bytes) in self.function.code.get(start..).unwrap_or_default().chunks(BYTES).enumerate() {
            row(f, start + index * BYTES, bytes, "")?;
        }
        Ok(())
    }
}

/// So many bytes have room before the text.
const BYTES: usize = 8;

fn row(f: &mut fmt::Formatter<'_>, offset: usize, bytes: &[u8], text: &str) -> fmt::Result {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let line = format!("{offset:6x}  {:24}{}{text}", bytes.join(" "), if bytes.len() > BYTES { " " } else { "" });
    writeln!(f, "{}", line.trim_end())
}
