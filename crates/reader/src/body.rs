//! Blocks and their lines, up to the operands.

use kingpost_ir::function::{DebugTag, SourceLoc, UserStackMapEntry};
use kingpost_ir::immediates::LiteralError;
use kingpost_ir::type_class::Constraint;
use kingpost_ir::{AnyEntity, Block, Inst, MAX_VALUES_PER_OWNER, Opcode, StackSlot, Type, Value, ValueDef, types};
use smallvec::SmallVec;

use crate::context::Context;
use crate::error::{ErrorKind, Result, fault};
use crate::instruction::Head;
use crate::literal;

type Tags = SmallVec<[DebugTag; 4]>;

impl Context<'_, '_> {
    /// Parses the text from the first block to the closing brace. Does not consume the brace.
    pub(crate) fn body(&mut self) -> Result<()> {
        let mut current = None;
        loop {
            match self.lexer.peek() {
                b'}' => break,
                b'b' if self.at_block() => current = Some(self.block_header()?),
                _ => match current {
                    Some(block) => self.line(block)?,
                    None => return self.outside_block(),
                },
            }
        }
        self.check_forward_uses()
    }

    fn outside_block<T>(&mut self) -> Result<T> {
        let byte = self.lexer.byte();
        if byte.is_ascii_alphabetic() || byte == b'@' || byte == b'<' {
            return fault(self.lexer.position(), ErrorKind::InstructionOutsideBlock);
        }
        self.lexer.expected("a declaration, a block or `}`")
    }

    fn at_block(&mut self) -> bool {
        let position = self.lexer.position();
        let found = self.lexer.try_entity("block").is_some();
        self.lexer.set_position(position);
        found
    }

    /// Parses `blockN(params) cold:`
    fn block_header(&mut self) -> Result<Block> {
        let position = self.lexer.position();
        let block = self.block()?;
        if self.func.layout.is_block_inserted(block) {
            let number = self.func.names.blocks.number(block) as u32;
            return fault(position, ErrorKind::Duplicate { prefix: "block", number });
        }
        self.func.layout.append_block(block);
        if self.lexer.eat(b'(') && !self.lexer.eat(b')') {
            self.block_params(block)?;
        }
        if self.lexer.eat_word(b"cold") {
            self.func.layout.set_cold(block);
        }
        self.lexer.expect(b':', "`:`")?;
        self.claim(block.into());
        Ok(block)
    }

    fn block_params(&mut self, block: Block) -> Result<()> {
        for _ in 1..MAX_VALUES_PER_OWNER {
            let number = self.lexer.entity("v", "a value")?;
            let position = self.lexer.position();
            self.lexer.expect(b':', "`:` and a type")?;
            let ty = self.ty()?;
            let value = self.define(number, position)?;
            self.func.dfg.append_block_param_as(block, value, ty);
            if !self.lexer.eat(b',') {
                return self.lexer.expect(b')', "`,` or `)`");
            }
        }
        let limit = u64::from(MAX_VALUES_PER_OWNER) - 1;
        fault(self.lexer.position(), ErrorKind::Limit { what: "the number of block parameters", limit })
    }

    /// Returns a value without a definition for this number.
    #[inline(always)]
    fn define(&mut self, number: u32, position: usize) -> Result<Value> {
        match self.tables.values.get(number) {
            None => Ok(self.new_value(number)),
            Some(id) => self.define_used(Value::from_u32(id), number, position),
        }
    }

    #[cold]
    fn define_used(&self, value: Value, number: u32, position: usize) -> Result<Value> {
        if self.func.dfg.is_undefined(value) {
            return Ok(value);
        }
        fault(position, ErrorKind::Duplicate { prefix: "v", number })
    }

    /// Parses an alias or an instruction, with tags and a location before it if there are any.
    #[inline]
    fn line(&mut self, block: Block) -> Result<()> {
        match self.lexer.byte() {
            b'<' | b'@' => self.annotated_line(block),
            _ => self.plain_line(block).map(drop),
        }
    }

    fn annotated_line(&mut self, block: Block) -> Result<()> {
        let (mut tags, mut location) = (Tags::new(), SourceLoc::default());
        if self.lexer.byte() == b'<' {
            self.debug_tags(&mut tags)?;
        }
        if self.lexer.peek() == b'@' {
            location = SourceLoc(self.lexer.source_location()?);
            // Functions print with the location before the tags.
            if tags.is_empty() && self.lexer.peek() == b'<' {
                self.debug_tags(&mut tags)?;
            }
        }
        let Some(inst) = self.plain_line(block)? else { return Ok(()) };
        if !location.is_none() {
            self.func.set_srcloc(inst, location);
        }
        if !tags.is_empty() {
            self.func.debug_tags.insert(inst, tags);
        }
        Ok(())
    }

    /// Parses an alias or an instruction. Returns `None` for an alias.
    fn plain_line(&mut self, block: Block) -> Result<Option<Inst>> {
        self.tables.results.clear();
        if self.lexer.at_value() && self.result_names()? {
            self.alias()?;
            return Ok(None);
        }
        let (inst, opcode) = self.instruction(block)?;
        if opcode.is_call() && self.lexer.eat(b',') {
            self.stack_map(inst, opcode)?;
        }
        self.claim(inst.into());
        Ok(Some(inst))
    }

    /// Parses the names before `=`, or the name before `->`. Returns `true` if it is an alias.
    #[inline]
    fn result_names(&mut self) -> Result<bool> {
        loop {
            let number = self.lexer.entity("v", "a value")?;
            self.tables.results.push((number, self.lexer.position()));
            if self.lexer.eat_text(b" = ") {
                return Ok(false);
            }
            if !self.lexer.eat(b',') {
                break;
            }
        }
        if self.tables.results.len() == 1 && self.lexer.eat_pair(*b"->") {
            return Ok(true);
        }
        self.lexer.expect(b'=', "`=`")?;
        Ok(false)
    }

    /// Parses the part of `vN -> vM` after the arrow.
    fn alias(&mut self) -> Result<()> {
        let (number, position) = self.tables.results[0];
        let target_number = self.lexer.entity("v", "a value")?;
        let target_position = self.lexer.position();
        let target = match self.tables.values.get(target_number).map(Value::from_u32) {
            Some(target) if !self.func.dfg.is_undefined(target) => target,
            _ if target_number == number => return fault(position, ErrorKind::AliasCycle(number)),
            _ => return fault(target_position, ErrorKind::UndefinedValue(target_number)),
        };
        if let Some(value) = self.tables.values.get(number).map(Value::from_u32) {
            if self.func.dfg.value_alias(value) == Some(target) {
                return Ok(());
            }
            if value == target {
                return fault(position, ErrorKind::AliasCycle(number));
            }
        }
        let value = self.define(number, position)?;
        if self.func.dfg.change_to_alias(value, target).is_err() {
            return fault(position, ErrorKind::AliasCycle(number));
        }
        if self.lexer.gathers() {
            let owner = match self.func.dfg.value_def(value) {
                ValueDef::Result(inst, _) => AnyEntity::Inst(inst),
                ValueDef::Param(block, _) => AnyEntity::Block(block),
                ValueDef::Undefined => AnyEntity::Value(value),
            };
            self.claim(owner);
        }
        Ok(())
    }

    /// Parses `<1, ss2>`
    fn debug_tags(&mut self, tags: &mut Tags) -> Result<()> {
        self.lexer.expect(b'<', "`<`")?;
        if self.lexer.eat(b'>') {
            return Ok(());
        }
        loop {
            let tag = match self.lexer.peek() {
                b's' => DebugTag::StackSlot(self.stack_slot()?),
                _ => DebugTag::User(literal::unsigned(self.lexer, "a number or a stack slot")?),
            };
            tags.push(tag);
            if !self.lexer.eat(b',') {
                return self.lexer.expect(b'>', "`,` or `>`");
            }
        }
    }

    /// Parses `stack_map=[TYPE @ ssN+OFF, ...]`, after the comma.
    fn stack_map(&mut self, inst: Inst, opcode: Opcode) -> Result<()> {
        if !self.lexer.eat_word(b"stack_map") {
            return self.lexer.expected("`stack_map`");
        }
        if opcode.is_return() || opcode == Opcode::StackSwitch {
            return fault(self.lexer.position(), ErrorKind::StackMapNotAllowed);
        }
        self.lexer.expect(b'=', "`=`")?;
        self.lexer.expect(b'[', "`[`")?;
        let mut entries = SmallVec::new();
        while !self.lexer.eat(b']') {
            entries.push(self.stack_map_entry()?);
            if !self.lexer.eat(b',') && self.lexer.peek() != b']' {
                return self.lexer.expected("`,` or `]`");
            }
        }
        self.func.stack_maps.insert(inst, entries);
        Ok(())
    }

    fn stack_map_entry(&mut self) -> Result<UserStackMapEntry> {
        let ty: Type = self.ty()?;
        self.lexer.expect(b'@', "`@` and a stack slot")?;
        let slot: StackSlot = self.stack_slot()?;
        let position = self.lexer.position();
        match u32::try_from(literal::offset64(self.lexer)?) {
            Ok(offset) => Ok(UserStackMapEntry { ty, slot, offset }),
            Err(_) => fault(position, ErrorKind::Literal(LiteralError::OutOfRange)),
        }
    }

    /// Defines the results of an instruction under the names before it.
    #[inline]
    pub(crate) fn define_results(&mut self, inst: Inst, head: Head, ctrl: Type) -> Result<()> {
        let expected = match head.info.results.len() {
            0 => self.func.dfg.result_count(inst),
            count => count,
        };
        let found = self.tables.results.len();
        if expected != found {
            return fault(head.position, ErrorKind::ResultCount { opcode: head.opcode, expected, found });
        }
        for index in 0..found {
            let ty = match head.info.results.get(index) {
                Some(Constraint::Same) => ctrl,
                _ => self.func.dfg.result_type(inst, index, ctrl).unwrap_or(types::INVALID),
            };
            if ty.is_invalid() {
                return fault(head.position, ErrorKind::BadControllingType { opcode: head.opcode, ty: ctrl });
            }
            let (number, position) = self.tables.results[index];
            let value = self.define(number, position)?;
            self.func.dfg.append_result_as(inst, value, ty);
        }
        Ok(())
    }

    /// Checks that every value that is used is defined.
    fn check_forward_uses(&self) -> Result<()> {
        for &(value, number, position) in &self.tables.forward_uses {
            if self.func.dfg.is_undefined(value) {
                return fault(position, ErrorKind::UndefinedValue(number));
            }
        }
        Ok(())
    }
}
