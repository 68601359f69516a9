//! One allocation, instruction by instruction, in the order of emission: the function's lines, edits, assembly, bytes.

use crate::names::Names;
use crate::source::Graph;
use kingpost_codegen::Context;
use kingpost_mach::block_order::MachineBlock;
use kingpost_mach::{ListedInst, ListedLabel, ModuleBuffer, Origin};
use kingpost_regalloc::{Block, EditKind, Inst, Loc, VReg};
use std::iter::Peekable;

/// One row of a listing.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Kind of the row.
    pub kind: RowKind,
    /// The line of the function that begins in this row: an index into [`Graph::lines`].
    pub line: Option<usize>,
    /// Assembly text; empty if nothing is emitted.
    pub asm: String,
    /// Offset of the bytes from the start of the function.
    pub offset: u32,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The operands, with their locations.
    pub places: Vec<(VReg, Loc)>,
    /// Moves of an edit.
    pub moves: Vec<Move>,
}

/// Kind of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowKind {
    /// Start of a machine block.
    Block(Block),
    /// A line of the function without code at this position.
    Line,
    /// Code without an instruction of the problem: the prologue, or traps after the code.
    Frame,
    /// An instruction of the problem.
    Inst {
        /// Instruction.
        inst: Inst,
        /// Whether the allocator elided it.
        is_dropped: bool,
    },
    /// An edit of the allocator, by its kind.
    Edit(&'static str),
    /// Places of values at the head of a block, by the proof of the emitted code, or an obligation without a proof.
    Proof,
    /// Continuation of the previous row.
    More,
}

/// A move of a value from one location to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// The value, if it is known.
    pub vreg: Option<VReg>,
    /// Source; `None` for a rematerialization.
    pub from: Option<Loc>,
    /// Destination.
    pub to: Loc,
}

impl Row {
    pub(crate) fn new(kind: RowKind) -> Row {
        let (line, asm, places, moves) = (None, String::new(), Vec::new(), Vec::new());
        Row { kind, line, asm, offset: 0, bytes: Vec::new(), places, moves }
    }
}

/// Returns the rows of the function compiled last in `cx`, which is the last function of `module`.
pub(crate) fn rows(cx: &Context, names: &Names, graph: &Graph, module: &ModuleBuffer) -> Vec<Row> {
    let insts = cx.listing().insts(|mention| mention.to_string()).peekable();
    let code = module.function(module.len() - 1).code;
    let mut rows = Rows { cx, names, graph, code, insts, rows: Vec::new() };
    rows.emitted(Origin::Frame, RowKind::Frame);
    for &block in &cx.code().layout {
        rows.block(block);
    }
    rows.emitted(Origin::Frame, RowKind::Frame);
    rows.rows
}

struct Rows<'a, I: Iterator<Item = ListedInst>> {
    cx: &'a Context,
    names: &'a Names<'a>,
    graph: &'a Graph,
    code: &'a [u8],
    insts: Peekable<I>,
    rows: Vec<Row>,
}

impl<I: Iterator<Item = ListedInst>> Rows<'_, I> {
    fn block(&mut self, block: Block) {
        let (code, allocation) = (self.cx.code(), self.cx.allocation());
        let mut head = Row::new(RowKind::Block(block));
        let source = match self.cx.lowering().machine_blocks()[block.as_u32() as usize] {
            MachineBlock::Ir(block) => self.graph.block(block),
            MachineBlock::Edge { .. } if self.is_empty(block) => return,
            MachineBlock::Edge { .. } => None,
        };
        let lines = source.map(|source| self.graph.blocks[source].lines.clone()).unwrap_or_default();
        head.line = source.map(|_| lines.start);
        self.rows.push(head);
        self.emitted(Origin::Frame, RowKind::Frame);
        let mut next = lines.start + 1;
        for inst in code.problem.insts(block) {
            let line = code.srclocs.get(inst).map(|&line| line as usize);
            let line = line.filter(|line| (next..lines.end).contains(line));
            if let Some(line) = line {
                self.lines(next..line);
                next = line + 1;
            }
            let first = allocation.edits.partition_point(|edit| edit.at < inst);
            let edits = allocation.edits[first..].iter().take_while(|edit| edit.at == inst);
            for (index, edit) in (first..).zip(edits) {
                self.emitted(Origin::Edit(index as u32), RowKind::Edit(edit_word(&edit.kind)));
            }
            let is_dropped = allocation.is_dropped(inst);
            let row = self.emitted(Origin::Inst(inst), RowKind::Inst { inst, is_dropped });
            let operands = code.problem.operands(inst).iter().map(|operand| operand.vreg());
            let places = operands.zip(allocation.operand_locs(&code.problem, inst).iter().copied());
            self.rows[row].places = places.collect();
            self.rows[row].line = line;
        }
        self.lines(next..lines.end);
    }

    /// Returns `true` if nothing is emitted for a block.
    fn is_empty(&mut self, block: Block) -> bool {
        let (problem, edits) = (&self.cx.code().problem, &self.cx.allocation().edits);
        let (first, last) = (problem.first_inst(block), problem.terminator(block));
        let next = edits.partition_point(|edit| edit.at < first);
        let has_edits = edits.get(next).is_some_and(|edit| edit.at <= last);
        let begins = |inst: &ListedInst| matches!(inst.origin, Origin::Inst(inst) if (first..=last).contains(&inst));
        !has_edits && !self.insts.peek().is_some_and(begins)
    }

    /// Adds lines of the function that have no code.
    fn lines(&mut self, lines: std::ops::Range<usize>) {
        for line in lines {
            self.rows.push(Row { line: Some(line), ..Row::new(RowKind::Line) });
        }
    }

    /// Adds rows for the instructions that were emitted for `origin`. If there are none, adds one row, except for the
    /// frame. Returns the index of the first row.
    fn emitted(&mut self, origin: Origin, kind: RowKind) -> usize {
        let first = self.rows.len();
        while let Some(inst) = self.insts.next_if(|inst| inst.origin == origin) {
            let is_first = self.rows.len() == first || kind == RowKind::Frame;
            let bytes = self.code.get(inst.range.start as usize..inst.range.end as usize);
            self.rows.push(Row {
                asm: self.asm(&inst),
                offset: inst.range.start,
                bytes: bytes.unwrap_or_default().to_vec(),
                ..Row::new(if is_first { kind } else { RowKind::More })
            });
        }
        if self.rows.len() == first && kind != RowKind::Frame {
            self.rows.push(Row::new(kind));
        }
        first
    }

    fn asm(&self, inst: &ListedInst) -> String {
        match inst.label {
            None => inst.text.clone(),
            Some(ListedLabel::Block(block)) => inst.text_to(&self.names.blocks[block.as_u32() as usize]),
            Some(label) => inst.text_to(label),
        }
    }
}

pub(crate) fn edit_word(kind: &EditKind) -> &'static str {
    match kind {
        EditKind::Move { .. } => "move",
        EditKind::Exchange { .. } => "exchange",
        EditKind::Spill { .. } => "spill",
        EditKind::Fill { .. } => "fill",
        EditKind::SlotMove { .. } => "slot move",
        EditKind::Remat { .. } => "remat",
    }
}
