//! Values, aliases, blocks and their parameters.

use crate::dfg::{DataFlowGraph, args_list};
use crate::entities::{Block, Inst, Value, grown};
use crate::exception_table::ExceptionItem;
use crate::instruction::BlockArgKind;
use crate::opcodes::INLINE_ARGS;
use crate::pool::List;
use crate::types::Type;
use crate::value_data::{ValueData, ValueDef};

/// Values.
impl DataFlowGraph {
    /// Creates a value that has no definition yet.
    #[inline]
    pub fn make_undefined_value(&mut self) -> Value {
        self.values.push(ValueData::undefined())
    }

    /// Returns the number of values.
    pub fn num_values(&self) -> usize {
        self.values.len()
    }

    /// Returns all values.
    pub fn values(&self) -> impl Iterator<Item = Value> + use<> {
        self.values.keys()
    }

    /// Returns `true` if the value exists.
    pub fn is_value_valid(&self, value: Value) -> bool {
        self.values.is_valid(value)
    }

    /// Returns the type of a value; `INVALID` if the value is undefined.
    #[inline]
    pub fn value_type(&self, value: Value) -> Type {
        self.values[value].ty()
    }

    /// Changes the type of a value.
    pub fn set_value_type(&mut self, value: Value, ty: Type) {
        self.values[value].set_type(ty);
        self.lane_types |= super::type_bit(ty);
    }

    /// Returns the instruction whose first result the value is, without resolving aliases.
    #[inline]
    pub fn first_result_of(&self, value: Value) -> Option<Inst> {
        self.values[value].first_result_of()
    }

    /// Returns the instruction that has the value as a result, without resolving aliases.
    #[inline]
    pub fn defining_inst(&self, value: Value) -> Option<Inst> {
        self.values[value].defining_inst()
    }

    /// Returns the definition of a value, after resolving aliases.
    #[inline]
    pub fn value_def(&self, value: Value) -> ValueDef {
        self.values[self.resolve_aliases(value)].def()
    }

    /// Returns the value that this alias was created for, as written; `None` if it is no alias.
    #[inline]
    pub fn value_alias(&self, value: Value) -> Option<Value> {
        self.values[value].alias_target()?;
        self.alias_targets[value].expand()
    }

    /// Returns `true` if the value has no definition and is no alias.
    pub fn is_undefined(&self, value: Value) -> bool {
        let data = self.values[value];
        data.def() == ValueDef::Undefined && data.alias_target().is_none()
    }

    /// Returns the value at the end of the alias links, or the value itself if it is no alias. Takes at most one step
    /// per alias, because [`Self::change_to_alias`] refuses cycles, and at most one step after
    /// [`Self::compress_aliases`].
    #[inline]
    pub fn resolve_aliases(&self, value: Value) -> Value {
        let mut value = value;
        while let Some(target) = self.values[value].alias_target() {
            value = target;
        }
        value
    }

    /// Makes `value` an alias of `target`.
    ///
    /// # Errors
    /// If `target` resolves to `value` itself; nothing changes then.
    pub fn change_to_alias(&mut self, value: Value, target: Value) -> Result<(), AliasCycle> {
        let root = self.resolve_aliases(target);
        if root == value {
            return Err(AliasCycle { value });
        }
        self.values[value] = ValueData::alias(root, self.value_type(root));
        self.aliases.push(value);
        *grown(&mut self.alias_targets, value) = target.into();
        Ok(())
    }

    /// Makes each alias link to its final value, and replaces aliases in all instructions. The aliases still exist
    /// afterwards, but no instruction uses them.
    pub fn resolve_all_aliases(&mut self) {
        if self.compress_aliases() {
            self.replace_aliases();
        }
    }

    /// Makes each alias link to its final value. Returns `true` if there are aliases. Takes at most one step
    /// for each alias, because [`Self::change_to_alias`] closes no ring.
    pub fn compress_aliases(&mut self) -> bool {
        let mut any = false;
        for index in 0..self.aliases.len() {
            let value = self.aliases[index];
            let Some(target) = self.values[value].alias_target() else { continue };
            any = true;
            if self.values[target].alias_target().is_none() {
                // Most aliases are direct already.
                continue;
            }
            // Compress the whole path, so that long chains cost linear time in total.
            let root = self.resolve_aliases(target);
            let mut link = value;
            while let Some(next) = self.values[link].alias_target() {
                self.values[link] = ValueData::alias(root, self.value_type(root));
                link = next;
            }
        }
        any
    }

    /// Returns the aliases and their targets. An alias may occur more than once.
    pub fn aliases(&self) -> impl Iterator<Item = (Value, Value)> {
        self.aliases.iter().filter_map(|&value| Some((value, self.values[value].alias_target()?)))
    }

    /// Replaces every use of an alias. The targets must not be aliases. The arguments of edges are in separate pools,
    /// which are walked whole. Items that no list uses any more are replaced too, but never read.
    fn replace_aliases(&mut self) {
        let values = &self.values;
        let replace = |value: &mut Value| *value = values[*value].resolved(*value);
        for data in self.insts.elements_mut() {
            let list = args_list(data);
            let args = match data.words.get_mut(..INLINE_ARGS[data.opcode as usize].into()) {
                Some(args) => args,
                None => self.value_lists.get_mut(list),
            };
            args.iter_mut().for_each(replace);
        }
        for arg in self.block_args.items_mut() {
            if let BlockArgKind::Value(value) = arg.kind() {
                *arg = values[value].resolved(value).into();
            }
        }
        for item in self.exception_items.items_mut() {
            if let ExceptionItem::Context(value) = item {
                replace(value);
            }
        }
    }
}

/// Error: the value would become its own alias.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct AliasCycle {
    /// The value.
    pub value: Value,
}

/// Blocks and their parameters.
impl DataFlowGraph {
    /// Creates a block without parameters, not in the layout.
    #[inline]
    pub fn make_block(&mut self) -> Block {
        self.blocks.push(List::default())
    }

    /// Returns the number of blocks, including blocks that are not in the layout.
    pub fn num_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Returns `true` if the block exists.
    pub fn is_block_valid(&self, block: Block) -> bool {
        self.blocks.is_valid(block)
    }

    /// Returns the parameters of a block.
    #[inline]
    pub fn block_params(&self, block: Block) -> &[Value] {
        self.value_lists.get(self.blocks[block])
    }

    /// Appends a parameter to a block.
    pub fn append_block_param(&mut self, block: Block, ty: Type) -> Value {
        let value = self.make_undefined_value();
        self.append_block_param_as(block, value, ty);
        value
    }

    /// Appends an undefined value as a parameter to a block.
    pub fn append_block_param_as(&mut self, block: Block, value: Value, ty: Type) {
        let number = self.blocks[block].len() as u32;
        self.values[value] = ValueData::param(block, number, ty);
        self.lane_types |= super::type_bit(ty);
        self.value_lists.push(&mut self.blocks[block], value);
    }

    /// Removes the last parameters of a block as long as they are aliases.
    pub(crate) fn pop_aliased_params(&mut self, block: Block) {
        while let Some(&last) = self.block_params(block).last() {
            if self.values[last].alias_target().is_none() {
                return;
            }
            let index = self.blocks[block].len() - 1;
            self.value_lists.remove(&mut self.blocks[block], index);
        }
    }

    /// Removes all parameters of a block that have become aliases. The branches to the block are not changed.
    pub fn drop_aliased_params(&mut self, block: Block) {
        let params = self.value_lists.get_mut(self.blocks[block]);
        let mut kept = 0;
        for index in 0..params.len() {
            let param = params[index];
            let data = self.values[param];
            if data.alias_target().is_none() {
                self.values[param] = ValueData::param(block, kept as u32, data.ty());
                params[kept] = param;
                kept += 1;
            }
        }
        self.value_lists.truncate(&mut self.blocks[block], kept);
    }

    /// Removes a parameter of a block; its value becomes undefined. The branches to the block are
    /// not changed.
    pub fn remove_block_param(&mut self, block: Block, index: usize) {
        let value = self.block_params(block)[index];
        self.values[value] = ValueData::undefined();
        self.value_lists.remove(&mut self.blocks[block], index);
        for (number, &param) in self.value_lists.get(self.blocks[block]).iter().enumerate().skip(index) {
            self.values[param] = ValueData::param(block, number as u32, self.values[param].ty());
        }
    }
}
