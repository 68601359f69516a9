//! A place in a function at which instructions are inserted.

use crate::builder::InstBuilder;
use crate::entities::{Block, Inst};
use crate::function::{Function, SourceLoc};
use crate::instruction::InstData;
use crate::types::Type;

/// Position of a cursor.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum CursorPosition {
    /// No position; no instruction can be inserted.
    Nowhere,
    /// Before an instruction.
    Before(Inst),
    /// At the end of a block.
    End(Block),
}

/// Inserts instructions in order at a position: each inserted instruction precedes the position.
#[derive(Debug)]
pub struct Cursor<'f> {
    /// The function.
    pub func: &'f mut Function,
    position: CursorPosition,
    srcloc: SourceLoc,
}

impl<'f> Cursor<'f> {
    /// Returns a cursor without a position.
    pub fn new(func: &'f mut Function) -> Cursor<'f> {
        Cursor { func, position: CursorPosition::Nowhere, srcloc: SourceLoc::default() }
    }

    /// Returns the position of the cursor.
    pub fn position(&self) -> CursorPosition {
        self.position
    }

    /// Moves before an instruction. Inserted instructions get its source location.
    pub fn before(&mut self, inst: Inst) -> &mut Self {
        self.position = CursorPosition::Before(inst);
        self.srcloc = self.func.srcloc(inst);
        self
    }

    /// Moves after an instruction. Inserted instructions get its source location.
    pub fn after(&mut self, inst: Inst) -> &mut Self {
        self.position = match (self.func.layout.next_inst(inst), self.func.layout.inst_block(inst)) {
            (Some(next), _) => CursorPosition::Before(next),
            (None, Some(block)) => CursorPosition::End(block),
            (None, None) => CursorPosition::Nowhere,
        };
        self.srcloc = self.func.srcloc(inst);
        self
    }

    /// Moves to the end of a block.
    pub fn end(&mut self, block: Block) -> &mut Self {
        self.position = CursorPosition::End(block);
        self
    }

    /// Moves to the start of a block.
    pub fn start(&mut self, block: Block) -> &mut Self {
        self.position = match self.func.layout.first_inst(block) {
            Some(first) => CursorPosition::Before(first),
            None => CursorPosition::End(block),
        };
        self
    }

    /// Sets the source location of instructions inserted from now on.
    pub fn set_srcloc(&mut self, srcloc: SourceLoc) -> &mut Self {
        self.srcloc = srcloc;
        self
    }

    /// Appends a new block to the layout and moves to its end.
    pub fn new_block(&mut self) -> Block {
        let block = self.func.dfg.make_block();
        self.func.layout.append_block(block);
        self.end(block);
        block
    }

    /// Inserts an instruction that is not in the layout yet.
    pub fn insert(&mut self, inst: Inst) {
        match self.position {
            CursorPosition::Nowhere => debug_assert!(false, "the cursor stands nowhere"),
            CursorPosition::Before(next) => self.func.layout.insert_inst(inst, next),
            CursorPosition::End(block) => self.func.layout.append_inst(inst, block),
        }
        if !self.srcloc.is_none() {
            self.func.set_srcloc(inst, self.srcloc);
        }
    }

    /// Removes the instruction after the cursor from the layout and returns it. The cursor moves to the next
    /// instruction.
    pub fn remove(&mut self) -> Option<Inst> {
        let CursorPosition::Before(inst) = self.position else { return None };
        self.after(inst);
        self.func.layout.remove_inst(inst);
        Some(inst)
    }

    /// Returns a builder that inserts one instruction at the cursor.
    pub fn ins(&mut self) -> CursorInserter<'_, 'f> {
        CursorInserter { cursor: self }
    }
}

/// Builds one instruction at a cursor.
#[derive(Debug)]
pub struct CursorInserter<'c, 'f> {
    cursor: &'c mut Cursor<'f>,
}

impl InstBuilder for CursorInserter<'_, '_> {
    fn func(&self) -> &Function {
        self.cursor.func
    }

    fn func_mut(&mut self) -> &mut Function {
        self.cursor.func
    }

    fn insert(&mut self, data: InstData, ctrl: Type) -> Inst {
        let inst = self.cursor.func.dfg.make_inst(data);
        self.cursor.func.dfg.make_results(inst, ctrl);
        self.cursor.insert(inst);
        inst
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::ControlBuilder;
    use crate::types::I32;

    #[test]
    fn inserts_in_order() {
        let mut func = Function::default();
        let mut cursor = Cursor::new(&mut func);
        let block = cursor.new_block();
        cursor.ins().iconst(I32, 0);
        let one = cursor.ins().iconst(I32, 1);
        let ret = cursor.ins().return_(&[one]);
        cursor.func.srclocs[ret] = SourceLoc(7);
        cursor.before(ret);
        let two = cursor.ins().iconst(I32, 2);
        cursor.ins().iadd(one, two);
        cursor.start(block).ins().nop();
        assert_eq!(cursor.remove(), Some(Inst::from_u32(0)));
        assert_eq!(cursor.position(), CursorPosition::Before(Inst::from_u32(1)));
        let text = func.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(
            lines[2..],
            [
                "@0007                               nop",
                "v1 = iconst.i32 1",
                "@0007                               v2 = iconst.i32 2",
                "@0007                               v3 = iadd v1, v2  ; v1 = 1, v2 = 2",
                "@0007                               return v1  ; v1 = 1",
                "}",
            ]
        );
    }
}
