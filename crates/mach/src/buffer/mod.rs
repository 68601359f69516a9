//! Buffer that one function is emitted into, and its completion: short and long branches, jump tables.
//!
//! | file | holds |
//! |---|---|
//! | `mod.rs` | the buffer during emission |
//! | `label.rs` | labels, and targets of references |
//! | `forms.rs` | encodings of references |
//! | `tables.rs` | jump tables |
//! | `finish.rs` | completion: sizes of references, jump tables |

mod finish;
mod forms;
mod label;
mod tables;

pub use finish::TooLong;
pub use forms::{BranchForms, NoBranches, Reach};
pub use label::{Label, Target};
pub use tables::{JumpTable, JumpTables};

use crate::compiled::{
    BlockEdge, CallSite, ContextPlace, DebugTag, DebugTagSite, HandlerSite, KeyedSlot, PatchableCall, Reloc, RelocKind,
    SrcLocSite, StackMapEntry, TrapSite, UnwindOp, UnwindSite, ValueConstant, ValueSite,
};
use crate::listing::Listing;
use kingpost_ir::{TrapCode, Type};
use kingpost_meter::heap_bytes;
use std::sync::Arc;

/// Hole for code that depends on the distance to a target.
#[derive(Clone, Copy, Debug)]
struct Reference {
    at: u32,
    target: Target,
    form: u32,
    /// Distances that its encoding reaches, clamped to the range of code offsets.
    low: i32,
    high: i32,
    /// Number of its encoding.
    encoding: u8,
    /// Size of the hole.
    hole: u8,
    /// Length of the encoding beyond the hole.
    growth: u8,
}

impl Reference {
    fn reaches(&self, distance: i64) -> bool {
        (i64::from(self.low)..=i64::from(self.high)).contains(&distance)
    }

    fn set_reach(&mut self, reach: Reach) {
        (self.low, self.high) = bounds(reach);
    }
}

/// Returns the distances that `reach` covers, clamped to the range of code offsets.
#[inline]
fn bounds(reach: Reach) -> (i32, i32) {
    let within = |distance: i64| distance.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
    (within(reach.low), within(reach.high))
}

/// Four bytes that are filled with the distance to a jump table, plus an addend.
#[derive(Clone, Copy, Debug)]
struct Fixup {
    at: u32,
    table: u32,
    addend: i32,
}

const UNBOUND: u32 = u32::MAX;

/// Trap that is placed after the blocks.
#[derive(Clone, Copy, Debug)]
struct DeferredTrap {
    label: Label,
    code: TrapCode,
    /// Source location of the instruction that branches to the trap.
    srcloc: u32,
    /// Whether the prologue branches to the trap before it saves registers.
    is_in_prologue: bool,
}

/// Code of one function during emission. Cleared and reused.
#[derive(Default, Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    labels: Vec<u32>,
    references: Vec<Reference>,
    fixups: Vec<Fixup>,
    relocs: Vec<Reloc>,
    traps: Vec<TrapSite>,
    srclocs: Vec<SrcLocSite>,
    calls: Vec<CallSite>,
    stack_maps: Vec<StackMapEntry>,
    debug_tags: Vec<DebugTagSite>,
    patchable_calls: Vec<PatchableCall>,
    keyed_slots: Vec<KeyedSlot>,
    /// Until the function is completed, the offset of a handler is the number of its label.
    handlers: Vec<HandlerSite>,
    values: Vec<ValueSite>,
    constants: Vec<ValueConstant>,
    variables: Vec<Arc<str>>,
    unwind: Vec<UnwindSite>,
    block_starts: Vec<u32>,
    /// Labels of the blocks whose heads are recorded.
    block_heads: Vec<Label>,
    /// Until the function is completed, the offset of a block is the number of its label.
    block_edges: Vec<BlockEdge>,
    table_offsets: Vec<u32>,
    /// Labels in the order in which they were bound, which is the order of their offsets.
    bound: Vec<Label>,
    /// Offsets of labels after references have grown.
    moved_labels: Vec<u32>,
    deferred: Vec<DeferredTrap>,
    /// Text of the emitted code, if requested.
    pub(crate) listing: Listing,
}

heap_bytes!(Buffer { bytes, labels, references, fixups, relocs, traps, srclocs, calls, stack_maps, debug_tags, patchable_calls, keyed_slots, handlers, values, constants, unwind, block_starts, block_heads, block_edges, table_offsets, bound, moved_labels, deferred, listing } without { variables });

/// The last two words of four bytes that have been emitted.
#[derive(Clone, Copy, Debug)]
pub struct LastTwoWords {
    /// The words, in order.
    pub words: [u32; 2],
    /// Whether both words may trap.
    pub traps: bool,
}

impl Buffer {
    /// Starts a function with `labels` labels.
    pub fn start(&mut self, labels: usize) {
        self.bytes.clear();
        self.labels.clear();
        self.labels.resize(labels, UNBOUND);
        self.references.clear();
        self.fixups.clear();
        self.relocs.clear();
        self.traps.clear();
        self.srclocs.clear();
        self.calls.clear();
        self.stack_maps.clear();
        self.debug_tags.clear();
        self.patchable_calls.clear();
        self.keyed_slots.clear();
        self.handlers.clear();
        self.values.clear();
        self.constants.clear();
        self.variables.clear();
        self.unwind.clear();
        self.block_starts.clear();
        self.block_heads.clear();
        self.block_edges.clear();
        self.table_offsets.clear();
        self.bound.clear();
        self.deferred.clear();
        self.listing.start(labels);
    }

    /// Returns the number of bytes emitted so far, with short branches.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns `true` if no byte has been emitted.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn at(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// Appends one byte.
    pub fn put1(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Appends bytes.
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends the low `len` bytes of `value`, at most eight, lowest first.
    #[inline]
    pub fn put_low(&mut self, value: u64, len: usize) {
        let end = self.bytes.len() + len;
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self.bytes.truncate(end);
    }

    /// Appends the low `len` bytes of `value`, at most 16, lowest first.
    #[inline(always)]
    pub fn put_up_to_16(&mut self, value: u128, len: u8) {
        let end = self.bytes.len() + usize::from(len);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self.bytes.truncate(end);
    }

    /// Appends four bytes, lowest first.
    #[inline]
    pub fn put4(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends eight bytes, lowest first.
    pub fn put8(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Returns the bytes emitted so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes emitted so far, for appending.
    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Returns the last two words of four bytes, if one word may replace them. No label refers to the second word,
    /// and neither has a hole or a table entry, except that both may trap with one code.
    pub fn last_two_words(&self) -> Option<LastTwoWords> {
        let start = self.at().checked_sub(8)?;
        let traps = self.traps_of_two(start)?;
        let free = self.bound.last().is_none_or(|l| self.labels[l.index()] <= start)
            && self.relocs.last().is_none_or(|r| r.offset < start)
            && self.references.last().is_none_or(|r| r.at + u32::from(r.hole) <= start)
            && self.fixups.last().is_none_or(|f| f.at < start);
        let (words, []) = self.bytes[start as usize..].as_chunks() else { return None };
        free.then(|| LastTwoWords { words: [u32::from_le_bytes(words[0]), u32::from_le_bytes(words[1])], traps })
    }

    /// Returns whether the two words from `start` may both trap with one code, or `None` if only one may trap or
    /// their codes differ.
    fn traps_of_two(&self, start: u32) -> Option<bool> {
        let mut traps = self.traps.iter().rev().take_while(|trap| trap.offset >= start);
        match (traps.next(), traps.next(), traps.next()) {
            (None, ..) => Some(false),
            (Some(second), Some(first), None) if first.offset == start && first.code == second.code => {
                (second.offset == start + 4).then_some(true)
            }
            _ => None,
        }
    }

    /// Replaces the last two words by one, with `text` in the listing. It traps as they do.
    pub fn replace_last_two_words(&mut self, last: LastTwoWords, word: u32, text: impl FnOnce() -> String) {
        self.bytes.truncate(self.bytes.len() - 8);
        if last.traps {
            self.traps.pop();
        }
        self.listing.forget_from(self.bytes.len());
        self.list(text);
        self.put4(word);
    }

    /// Binds a label to the current end of the code.
    #[inline]
    pub fn bind(&mut self, label: Label) {
        debug_assert_eq!(self.labels[label.index()], UNBOUND, "a label is bound once");
        self.labels[label.index()] = self.at();
        self.bound.push(label);
    }

    /// Returns `true` if the label has been bound.
    pub(crate) fn is_bound(&self, label: Label) -> bool {
        self.labels[label.index()] != UNBOUND
    }

    /// Returns a new label beyond the labels given at the start.
    pub fn new_label(&mut self) -> Label {
        self.labels.push(UNBOUND);
        Label::new(self.labels.len() - 1)
    }

    /// Returns the label of a trap with `code` that is placed after the function's blocks: the target of conditional
    /// traps.
    pub fn defer_trap(&mut self, code: TrapCode) -> Label {
        let srcloc = self.srclocs.last().map_or(u32::MAX, |site| site.srcloc);
        self.defer(code, srcloc, false)
    }

    /// Returns a label like [`Buffer::defer_trap`] for a branch of the prologue, which has no source location, before it saves
    /// registers.
    pub fn defer_prologue_trap(&mut self, code: TrapCode) -> Label {
        self.defer(code, u32::MAX, true)
    }

    fn defer(&mut self, code: TrapCode, srcloc: u32, is_in_prologue: bool) -> Label {
        let label = self.new_label();
        self.deferred.push(DeferredTrap { label, code, srcloc, is_in_prologue });
        label
    }

    /// Emits the deferred traps, each by `emit`. `undo_saves` changes the unwinding state of the body to the state of
    /// the prologue before it saves registers.
    pub fn place_deferred_traps(&mut self, undo_saves: &[UnwindOp], emit: impl Fn(TrapCode, &mut Buffer)) {
        for i in 0..self.deferred.len() {
            let trap = self.deferred[i];
            let undone = if trap.is_in_prologue { undo_saves } else { &[] };
            self.srcloc(trap.srcloc);
            self.bind(trap.label);
            if undone.is_empty() {
                emit(trap.code, self);
            } else {
                self.unwind(UnwindOp::EpilogueBegin);
                undone.iter().for_each(|&op| self.unwind(op));
                emit(trap.code, self);
                self.unwind(UnwindOp::EpilogueEnd);
            }
        }
    }

    /// Appends a reference to `target`.
    pub fn reference(&mut self, target: Target, form: u32, forms: &(impl BranchForms + ?Sized)) {
        let at = self.at();
        let reach = forms.encodings(form)[0];
        let (low, high) = bounds(reach);
        self.references.push(Reference { at, target, form, low, high, encoding: 0, hole: reach.bytes, growth: 0 });
        debug_assert!(reach.bytes <= 16, "the shortest encoding is one instruction");
        self.put_up_to_16(0, reach.bytes);
    }

    /// Appends a branch to `label`.
    #[inline]
    pub fn branch(&mut self, label: Label, form: u32, forms: &(impl BranchForms + ?Sized)) {
        self.list_branch(label, || forms.text(form));
        self.reference(Target::Label(label), form, forms);
    }

    /// Records that the four bytes emitted next are filled with the distance from their offset to a jump table, plus
    /// `addend`.
    pub fn fixup(&mut self, table: u32, addend: i32) {
        let at = self.at();
        self.fixups.push(Fixup { at, table, addend });
    }

    /// Records a relocation of the field that is emitted next.
    pub fn reloc(&mut self, kind: RelocKind, symbol: u32, addend: i64) {
        let offset = self.at();
        self.relocs.push(Reloc { offset, kind, symbol, addend });
    }

    /// Records that the instruction emitted next may trap.
    pub fn trap(&mut self, code: TrapCode) {
        let offset = self.at();
        self.traps.push(TrapSite { offset, code });
    }

    /// Records that the code emitted from here on belongs to a source location.
    pub fn srcloc(&mut self, srcloc: u32) {
        let offset = self.at();
        match self.srclocs.last_mut() {
            Some(last) if last.srcloc == srcloc => {}
            Some(last) if last.offset == offset => last.srcloc = srcloc,
            None if srcloc == u32::MAX => {}
            _ => self.srclocs.push(SrcLocSite { offset, srcloc }),
        }
    }

    /// Records the place of a value over a range of the code emitted so far.
    pub fn value(&mut self, site: ValueSite) {
        self.values.push(site);
    }

    /// Records values that are constants.
    pub fn constants(&mut self, constants: &[ValueConstant]) {
        self.constants.extend_from_slice(constants);
    }

    /// Records the names of the source's variables.
    pub fn variables(&mut self, names: &[Arc<str>]) {
        self.variables.extend_from_slice(names);
    }

    /// Records that the code so far ends in a call.
    pub fn call(&mut self) {
        let return_offset = self.at();
        self.calls.push(CallSite { return_offset });
    }

    /// Records a reference that is live during the call that the code so far ends in, `offset` bytes above the stack
    /// pointer.
    pub fn stack_map_entry(&mut self, ty: Type, offset: u32) {
        let return_offset = self.at();
        self.stack_maps.push(StackMapEntry { return_offset, offset, ty });
    }

    /// Records a tag of this offset, or of the call that the code so far ends in.
    pub fn debug_tag(&mut self, tag: DebugTag, of_call: bool) {
        let offset = self.at();
        self.debug_tags.push(DebugTagSite { offset, of_call, tag });
    }

    /// Records that the code so far ends in a call of `bytes` bytes that may be overwritten.
    pub fn patchable_call(&mut self, bytes: usize) {
        let return_offset = self.at();
        self.patchable_calls.push(PatchableCall { return_offset, bytes: bytes as u32 });
    }

    /// Records a stack slot with a key.
    pub fn keyed_slot(&mut self, slot: KeyedSlot) {
        self.keyed_slots.push(slot);
    }

    /// Records that the call recorded last transfers exceptions with this tag, or with any other tag, to `label`.
    pub fn handler(&mut self, tag: Option<u32>, label: Label, context: Option<ContextPlace>) {
        let return_offset = self.at();
        self.handlers.push(HandlerSite { return_offset, tag, handler_offset: label.0, context });
    }

    /// Records an unwind operation in force from here on.
    #[inline]
    pub fn unwind(&mut self, op: UnwindOp) {
        let offset = self.at();
        self.unwind.push(UnwindSite { offset, op });
    }

    /// Records that an emitted block starts here.
    pub fn block_start(&mut self) {
        let offset = self.at();
        self.block_starts.push(offset);
    }

    /// Records the head of a block.
    pub fn block_head(&mut self, block: Label) {
        self.block_heads.push(block);
    }

    /// Records an edge between two blocks.
    pub fn block_edge(&mut self, from: Label, to: Label) {
        self.block_edges.push(BlockEdge { from: from.0, to: to.0 });
    }
}

/// Recording of the listing by instruction sets.
impl Buffer {
    /// Returns `true` if a listing is made.
    pub fn is_listed(&self) -> bool {
        self.listing.is_wanted()
    }

    /// Records the instruction emitted next.
    pub fn list(&mut self, text: impl FnOnce() -> String) {
        if self.listing.is_wanted() {
            self.list_line(text(), None);
        }
    }

    /// Records that a branch to `label` is emitted next.
    pub fn list_branch(&mut self, label: Label, text: impl FnOnce() -> String) {
        if self.listing.is_wanted() {
            self.list_line(text(), Some(label));
        }
    }

    fn list_line(&mut self, text: String, target: Option<Label>) {
        self.listing.add(self.len() as u32, text, target);
    }
}
