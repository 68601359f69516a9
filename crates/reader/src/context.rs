//! State of the parser of a function: the lexer, the function, and the meanings of numbers.

use kingpost_ir::preamble::{DynamicTypeData, GlobalValueData};
use kingpost_ir::signature::{CallConv, Signature};
use kingpost_ir::{
    AnyEntity, Block, BlockArg, BlockCall, Constant, DynamicStackSlot, DynamicType, FuncRef, Function, GlobalValue,
    SigRef, StackSlot, Type, Value, types,
};
use std::collections::BTreeMap;
use std::ops::Range;

use crate::entity_map::EntityMap;
use crate::error::{ErrorKind, Result, fault};
use crate::lexer::Lexer;

/// Maps and lists that are reused for each function.
#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) values: EntityMap,
    pub(crate) blocks: EntityMap,
    pub(crate) stack_slots: EntityMap,
    pub(crate) dynamic_stack_slots: EntityMap,
    pub(crate) dynamic_types: EntityMap,
    pub(crate) global_values: EntityMap,
    pub(crate) signatures: EntityMap,
    pub(crate) functions: EntityMap,
    pub(crate) constants: EntityMap,
    /// A number above every signature number that was mentioned.
    pub(crate) next_signature: u64,
    /// Signatures that were given a free number, in order. A declared signature may take the number away from them.
    pub(crate) inline_signatures: Vec<SigRef>,
    /// Preamble entities that were mentioned but are not declared yet: position of the mention, and id. Rare.
    pub(crate) awaited: BTreeMap<(&'static str, u32), (usize, u32)>,
    /// Values that were used before their definition, and the positions of their first uses.
    pub(crate) forward_uses: Vec<(Value, u32, usize)>,
    /// Names before the current instruction, and their positions.
    pub(crate) results: Vec<(u32, usize)>,
    pub(crate) args: Vec<Value>,
    pub(crate) block_args: Vec<BlockArg>,
    pub(crate) block_calls: Vec<BlockCall>,
    /// Comments with the entities to which they belong, if they are collected.
    pub(crate) comments: Vec<(AnyEntity, Range<usize>)>,
    /// The text of each entity, if comments are collected.
    pub(crate) spans: Vec<(AnyEntity, Range<usize>)>,
    /// Start of the text of the next entity.
    pub(crate) claimed: usize,
}

impl Tables {
    pub(crate) fn clear(&mut self) {
        for map in [
            &mut self.values,
            &mut self.blocks,
            &mut self.stack_slots,
            &mut self.dynamic_stack_slots,
            &mut self.dynamic_types,
            &mut self.global_values,
            &mut self.signatures,
            &mut self.functions,
            &mut self.constants,
        ] {
            map.clear();
        }
        self.next_signature = 0;
        self.inline_signatures.clear();
        self.awaited.clear();
        self.forward_uses.clear();
        self.comments.clear();
        self.spans.clear();
    }
}

/// Parser of one function.
pub(crate) struct Context<'r, 'a> {
    pub(crate) lexer: &'r mut Lexer<'a>,
    pub(crate) tables: &'r mut Tables,
    pub(crate) func: &'r mut Function,
    pub(crate) default_call_conv: CallConv,
}

/// Defines the methods for the kinds of entities that a preamble declares.
macro_rules! declared {
    ($($map:ident $prefix:literal $entity:ident $declare:ident $lookup:ident $what:literal;)*) => {
        impl Context<'_, '_> {
            $(
                /// Records the number of a new entity.
                pub(crate) fn $declare(&mut self, number: u32, entity: $entity, position: usize) -> Result<()> {
                    if self.tables.$map.get(number).is_some() {
                        return fault(position, ErrorKind::Duplicate { prefix: $prefix, number });
                    }
                    self.tables.$map.insert(number, entity.as_u32());
                    self.func.names.$map.set(entity, number);
                    Ok(())
                }

                /// Parses a mention in the body, and returns the entity.
                pub(crate) fn $lookup(&mut self) -> Result<$entity> {
                    let number = self.lexer.entity($prefix, $what)?;
                    match self.tables.$map.get(number) {
                        Some(id) => Ok($entity::from_u32(id)),
                        None => {
                            let position = self.lexer.position();
                            fault(position, ErrorKind::Undeclared { prefix: $prefix, number })
                        }
                    }
                }
            )*
        }
    };
}

declared! {
    stack_slots "ss" StackSlot declare_stack_slot stack_slot "a stack slot";
    dynamic_stack_slots "dss" DynamicStackSlot declare_dynamic_stack_slot dynamic_stack_slot "a dynamic stack slot";
    functions "fn" FuncRef declare_function func_ref "a function";
    constants "const" Constant declare_constant constant "a constant";
    dynamic_types "dt" DynamicType declare_dynamic_type dynamic_type "a dynamic type";
    global_values "gv" GlobalValue declare_global_value global_value "a global value";
    signatures "sig" SigRef declare_signature signature_ref "a signature";
}

/// Entities that other lines of the preamble may mention before they are declared.
impl Context<'_, '_> {
    pub(crate) fn mention_global_value(&mut self) -> Result<GlobalValue> {
        let number = self.lexer.entity("gv", "a global value")?;
        let position = self.lexer.position();
        if let Some(id) = self.tables.global_values.get(number) {
            return Ok(GlobalValue::from_u32(id));
        }
        let entity = self.func.global_values.push(GlobalValueData::VmContext);
        self.declare_global_value(number, entity, position)?;
        self.tables.awaited.insert(("gv", number), (position, entity.as_u32()));
        Ok(entity)
    }

    pub(crate) fn mention_signature(&mut self) -> Result<SigRef> {
        let number = self.lexer.entity("sig", "a signature")?;
        let position = self.lexer.position();
        if let Some(id) = self.tables.signatures.get(number) {
            return Ok(SigRef::from_u32(id));
        }
        let entity = self.func.dfg.signatures.push(Signature::new(CallConv::Fast));
        self.declare_signature(number, entity, position)?;
        self.tables.next_signature = self.tables.next_signature.max(u64::from(number) + 1);
        self.tables.awaited.insert(("sig", number), (position, entity.as_u32()));
        Ok(entity)
    }

    pub(crate) fn mention_dynamic_type(&mut self) -> Result<DynamicType> {
        let number = self.lexer.entity("dt", "a dynamic type")?;
        let position = self.lexer.position();
        if let Some(id) = self.tables.dynamic_types.get(number) {
            return Ok(DynamicType::from_u32(id));
        }
        let data = DynamicTypeData { base: types::INVALID, scale: GlobalValue::from_u32(0) };
        let entity = self.func.dynamic_types.push(data);
        self.declare_dynamic_type(number, entity, position)?;
        self.tables.awaited.insert(("dt", number), (position, entity.as_u32()));
        Ok(entity)
    }

    /// Returns the id of the entity that an earlier line mentioned under this number, and marks it as declared.
    pub(crate) fn awaited(&mut self, prefix: &'static str, number: u32) -> Option<u32> {
        if self.tables.awaited.is_empty() {
            return None;
        }
        self.tables.awaited.remove(&(prefix, number)).map(|(_, id)| id)
    }

    /// Fails if an entity was mentioned in the preamble but not declared there.
    pub(crate) fn check_awaited(&self) -> Result<()> {
        match self.tables.awaited.iter().min_by_key(|&(_, awaited)| awaited) {
            None => Ok(()),
            Some((&(prefix, number), &(position, _))) => fault(position, ErrorKind::Undeclared { prefix, number }),
        }
    }
}

/// Values, blocks and types.
impl Context<'_, '_> {
    /// Parses a used value. Makes a value without definition if it is not known yet.
    #[inline(always)]
    pub(crate) fn value(&mut self) -> Result<Value> {
        match self.known_value() {
            Some(value) => Ok(value),
            None => self.unknown_value(),
        }
    }

    /// Returns the next token if it is a known value, and consumes it only then. This is a function of its own
    /// because an option is returned in registers, and a result of this size is not.
    fn known_value(&mut self) -> Option<Value> {
        self.lexer.skip();
        let start = self.lexer.position();
        let id = self.tables.values.get(self.lexer.try_entity("v")?);
        if id.is_none() {
            self.lexer.set_position(start);
        }
        id.map(Value::from_u32)
    }

    #[cold]
    fn unknown_value(&mut self) -> Result<Value> {
        let number = self.lexer.entity("v", "a value")?;
        let value = self.new_value(number);
        self.tables.forward_uses.push((value, number, self.lexer.position()));
        Ok(value)
    }

    /// Returns a new value without definition for a number without a value.
    #[inline]
    pub(crate) fn new_value(&mut self, number: u32) -> Value {
        let value = self.func.dfg.make_undefined_value();
        self.tables.values.insert(number, value.as_u32());
        self.func.names.values.set(value, number);
        value
    }

    /// Returns the number of a value in the text.
    pub(crate) fn number_of(&self, value: Value) -> u32 {
        self.func.names.values.number(value) as u32
    }

    /// Parses a mentioned block. Makes the block if it is not known yet.
    #[inline(always)]
    pub(crate) fn block(&mut self) -> Result<Block> {
        match self.known_block() {
            Some(block) => Ok(block),
            None => self.unknown_block(),
        }
    }

    fn known_block(&mut self) -> Option<Block> {
        self.lexer.skip();
        let start = self.lexer.position();
        let id = self.tables.blocks.get(self.lexer.try_entity("block")?);
        if id.is_none() {
            self.lexer.set_position(start);
        }
        id.map(Block::from_u32)
    }

    /// Makes a block for a new number. Any number is allowed, because only the count of blocks costs memory.
    /// Upstream allows numbers below 100,000, which are too few for the output of a compiler of large functions.
    #[inline(never)]
    fn unknown_block(&mut self) -> Result<Block> {
        let number = self.lexer.entity("block", "a block")?;
        let block = self.func.dfg.make_block();
        self.tables.blocks.insert(number, block.as_u32());
        self.func.names.blocks.set(block, number);
        Ok(block)
    }

    /// Parses a type: its name or, in the body, `dtN`.
    #[inline(always)]
    pub(crate) fn ty(&mut self) -> Result<Type> {
        match self.lexer.known_word(Type::from_name) {
            Some(ty) => Ok(ty),
            None => self.numbered_type(),
        }
    }

    #[cold]
    fn numbered_type(&mut self) -> Result<Type> {
        let word = self.lexer.word("a type")?;
        let position = self.lexer.position() - word.len();
        self.lexer.set_position(position);
        if self.lexer.try_entity("dt").is_none() {
            self.lexer.set_position(position);
            return fault(position, ErrorKind::UnknownType(String::from_utf8_lossy(word).into()));
        }
        self.lexer.set_position(position);
        let dynamic = self.dynamic_type()?;
        match self.func.dynamic_type(dynamic) {
            Some(ty) => Ok(ty),
            None => fault(position, ErrorKind::UnknownType(String::from_utf8_lossy(word).into())),
        }
    }

    /// Records the text since the last entity as the text of this entity, and attaches the comments after it, if
    /// comments are collected.
    #[inline]
    pub(crate) fn claim(&mut self, entity: AnyEntity) {
        if self.lexer.gathers() {
            self.claim_text(entity);
        }
    }

    #[cold]
    fn claim_text(&mut self, entity: AnyEntity) {
        let end = self.lexer.position();
        // Comments before the next token belong to this entity. They and blanks may have been read already.
        self.lexer.skip();
        let end = self.lexer.end_of_text(end);
        let start = std::mem::replace(&mut self.tables.claimed, self.lexer.position());
        self.tables.spans.push((entity, start..end));
        if self.lexer.has_comments() {
            self.tables.comments.extend(self.lexer.take_comments().map(|range| (entity, range)));
        }
    }
}
