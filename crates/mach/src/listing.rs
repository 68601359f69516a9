//! Text of emitted instructions with their bytes, made only on request because it takes time.
//!
//! ```text
//! b0:
//!      0  55                      push rbp
//!      1  48 89 e5                mov rbp, rsp
//!      4  e8 00 00 00 00          call symbol0@PLT  ; X86CallPltRel4 %f-4
//! ```
//! The encoder records the instructions; offsets move with growing branches as in all tables.

use crate::buffer::Label;
use crate::compiled::{FunctionView, SymbolName};
use kingpost_meter::heap_bytes;
use kingpost_regalloc::{Block, Inst};
use std::fmt;
use std::ops::Range;

/// Reason for which an instruction of the listing was emitted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Origin {
    /// The prologue, a landing pad, or the code after the blocks.
    #[default]
    Frame,
    /// An instruction of the problem.
    Inst(Inst),
    /// The edit at this index of [`Allocation::edits`](kingpost_regalloc::Allocation).
    Edit(u32),
}

/// One instruction of the listing, or several with one text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedInst {
    /// Range of its bytes, relative to the first byte of the function.
    pub range: Range<u32>,
    /// Text in the assembler's syntax, with `{}` for the label of a branch.
    pub text: String,
    /// Target of a branch.
    pub label: Option<ListedLabel>,
    /// Reason for which it was emitted.
    pub origin: Origin,
}

impl ListedInst {
    /// Returns the text of a branch to a label that is called `label`.
    pub fn text_to(&self, label: impl fmt::Display) -> String {
        self.text.replacen("{}", &label.to_string(), 1)
    }
}

/// Entity that the text of an instruction mentions.
#[derive(Clone, Copy, Debug)]
pub enum Mention<'a> {
    /// A symbol.
    Symbol(&'a SymbolName),
    /// A jump table, by number.
    Table(u32),
}

/// Writes symbols as functions name them.
impl fmt::Display for Mention<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mention::Symbol(symbol) => write!(f, "{symbol}"),
            Mention::Table(number) => write!(f, "table{number}"),
        }
    }
}

/// Target of branches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListedLabel {
    /// A block.
    Block(Block),
    /// A position within the sequence of an instruction, by number.
    Local(u32),
}

impl fmt::Display for ListedLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListedLabel::Block(block) => write!(f, "{block}"),
            ListedLabel::Local(number) => write!(f, ".{number}"),
        }
    }
}

/// One instruction, or several with one text.
#[derive(Clone, Debug)]
struct Line {
    /// Offset of its first byte.
    offset: u32,
    text: String,
    /// Destination of its branch.
    target: Option<Label>,
    origin: Origin,
}

/// The instructions of one function.
#[derive(Clone, Default, Debug)]
pub struct Listing {
    wanted: bool,
    /// Origin of the code emitted next.
    origin: Origin,
    lines: Vec<Line>,
    /// Names for `symbol0` and so on.
    symbols: Vec<SymbolName>,
    /// Labels and their offsets, ascending.
    labels: Vec<(Label, u32)>,
    /// Number of labels that are blocks: the first ones.
    blocks: usize,
    /// Bytes of code, without the jump tables after it.
    code_bytes: u32,
    /// Jump tables: offsets and target labels.
    tables: Vec<(u32, Vec<Label>)>,
}

heap_bytes!(Listing { lines, symbols, labels, tables } without { wanted, origin, blocks, code_bytes });

impl Listing {
    /// Sets whether a listing is made from now on.
    pub(crate) fn set_wanted(&mut self, wanted: bool) {
        self.wanted = wanted;
    }

    /// Returns `true` if a listing is made.
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// Adds a line whose first byte is at `offset`, of a branch to `target` if that is given.
    pub(crate) fn add(&mut self, offset: u32, text: String, target: Option<Label>) {
        let origin = self.origin;
        self.lines.push(Line { offset, text, target, origin });
    }

    /// Sets the origin of the code emitted from now on.
    pub(crate) fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// Removes the lines from this offset on.
    pub(crate) fn forget_from(&mut self, offset: usize) {
        while self.lines.pop_if(|line| line.offset as usize >= offset).is_some() {}
    }

    /// Starts a function whose first labels are its `blocks` blocks.
    pub(crate) fn start(&mut self, blocks: usize) {
        self.origin = Origin::Frame;
        self.lines.clear();
        self.labels.clear();
        self.tables.clear();
        self.blocks = blocks;
        self.code_bytes = 0;
    }

    /// Returns the offsets of all lines, to be moved.
    pub(crate) fn offsets_mut(&mut self) -> impl Iterator<Item = &mut u32> {
        self.lines.iter_mut().map(|line| &mut line.offset)
    }

    /// Sets the final offsets of labels, ascending, and of jump tables, the names of symbols, and the length of the
    /// code.
    pub(crate) fn finish(
        &mut self,
        labels: impl Iterator<Item = (Label, u32)>,
        tables: impl Iterator<Item = (u32, Vec<Label>)>,
        symbols: &[SymbolName],
        code_bytes: u32,
    ) {
        if self.wanted {
            self.labels.extend(labels);
            self.tables.extend(tables);
            self.symbols.clear();
            self.symbols.extend_from_slice(symbols);
            self.code_bytes = code_bytes;
        }
    }

    /// Returns the bytes of code, without the jump tables after it.
    pub fn code_bytes(&self) -> u32 {
        self.code_bytes
    }

    /// Returns the instructions in the order of their bytes. `name` returns the name of a symbol or table.
    pub fn insts(&self, name: impl Fn(Mention<'_>) -> String) -> impl Iterator<Item = ListedInst> {
        self.lines.iter().enumerate().map(move |(index, line)| ListedInst {
            range: line.offset..self.end_of(index),
            text: named(&line.text, &self.symbols, &name),
            label: line.target.map(|label| self.listed(label)),
            origin: line.origin,
        })
    }

    /// Returns the labels and their offsets, ascending.
    pub fn labels(&self) -> impl Iterator<Item = (ListedLabel, u32)> {
        self.labels.iter().map(|&(label, offset)| (self.listed(label), offset))
    }

    /// Returns the jump tables in order: their offsets and target labels.
    pub fn tables(&self) -> impl Iterator<Item = (u32, impl Iterator<Item = ListedLabel>)> {
        self.tables.iter().map(|(offset, labels)| (*offset, labels.iter().map(|&label| self.listed(label))))
    }

    fn listed(&self, label: Label) -> ListedLabel {
        let number = label.index() as u32;
        match label.index() < self.blocks {
            true => ListedLabel::Block(Block::from_u32(number)),
            false => ListedLabel::Local(number),
        }
    }

    /// Returns the offset of the first byte after a line.
    fn end_of(&self, index: usize) -> u32 {
        self.lines.get(index + 1).map_or(self.code_bytes, |next| next.offset)
    }

    /// Returns the text, with the bytes of `function`, whose listing this is.
    pub fn display<'a>(&'a self, function: FunctionView<'a>) -> impl fmt::Display + 'a {
        ListingText { listing: self, function }
    }
}

/// Returns an encoder's text with names in place of `symbol0`, `table0` and so on.
fn named(text: &str, symbols: &[SymbolName], name: impl Fn(Mention<'_>) -> String) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((start, word)) = ["symbol", "table"].into_iter().filter_map(|w| Some((rest.find(w)?, w))).min() {
        let digits = &rest[start + word.len()..];
        let digits = &digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())];
        let mention = digits.parse().ok().and_then(|number: u32| match word {
            "table" => Some(Mention::Table(number)),
            _ => symbols.get(number as usize).map(Mention::Symbol),
        });
        let end = start + word.len() + digits.len();
        out += &rest[..start];
        out += &mention.map_or_else(|| rest[start..end].to_string(), &name);
        rest = &rest[end..];
    }
    out + rest
}

struct ListingText<'a> {
    listing: &'a Listing,
    function: FunctionView<'a>,
}

impl fmt::Display for ListingText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listing = self.listing;
        let mut labels = listing.labels().peekable();
        for inst in listing.insts(|mention| mention.to_string()) {
            while let Some((label, _)) = labels.next_if(|(_, offset)| *offset <= inst.range.start) {
                writeln!(f, "{label}:")?;
            }
            self.line(f, &inst)?;
        }
        self.tables(f)
    }
}

impl ListingText<'_> {
    fn line(&self, f: &mut fmt::Formatter<'_>, inst: &ListedInst) -> fmt::Result {
        let (start, end) = (inst.range.start as usize, inst.range.end as usize);
        let bytes = self.function.code.get(start..end).unwrap_or_default();
        let mut text = inst.label.map_or(inst.text.clone(), |label| inst.text_to(label));
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

    /// Returns the table entries of a sequence point at `start`, and of a call that ends at `end`.
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

    /// Writes the tables after the code.
    fn tables(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.listing.code_bytes as usize;
        for (index, bytes) in self.function.code.get(start..).unwrap_or_default().chunks(BYTES).enumerate() {
            row(f, start + index * BYTES, bytes, "")?;
        }
        Ok(())
    }
}

/// Number of bytes that fit before the text.
const BYTES: usize = 8;

fn row(f: &mut fmt::Formatter<'_>, offset: usize, bytes: &[u8], text: &str) -> fmt::Result {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let line = format!("{offset:6x}  {:24}{}{text}", bytes.join(" "), if bytes.len() > BYTES { " " } else { "" });
    writeln!(f, "{}", line.trim_end())
}
