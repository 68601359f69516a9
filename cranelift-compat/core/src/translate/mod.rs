//! Translation of a function of Cranelift's intermediate representation to ours.
//!
//! Both representations have one text form, so that each entity has a counterpart. Values, blocks, slots, global
//! values, signatures, functions and names keep their numbers. Aliases are resolved on the way. Instructions outside
//! of blocks have no counterpart.
//!
//! | file | holds |
//! |---|---|
//! | `enums.rs` | opcodes, conditions, conventions and other enumerations: one list of names for each |
//! | `preamble.rs` | types, signatures, names and all other declarations of a preamble |
//! | `instruction.rs` | instructions by their format |
//!
//! An addition of a later upstream version makes a `match` incomplete, which is a compile error.

mod enums;
mod instruction;
mod preamble;

pub use enums::lib_call;
pub(crate) use enums::lib_call_back;

use cranelift_codegen::{CodegenError, CodegenResult, ir};
use kingpost_ir::function::SourceLoc;
use kingpost_ir::{Block, BlockArg, BlockCall, Function, Inst, Value};
use preamble::ty;

/// Sets `out` to the counterpart of `func`, which must be valid. Earlier contents of `out` are discarded.
///
/// # Errors
/// [`CodegenError::Unsupported`] if `func` exceeds our limit of the number of alias regions, which is below
/// upstream's limit.
pub fn translate(func: &ir::Function, out: &mut Function) -> CodegenResult<()> {
    out.clear();
    preamble::translate(func, out)?;
    let mut translation = Translation { func, out, values: Vec::new(), args: Vec::new(), calls: Vec::new() };
    translation.blocks();
    for block in func.layout.blocks() {
        for inst in func.layout.block_insts(block) {
            translation.inst(inst, block)?;
        }
    }
    Ok(())
}

/// A translation in progress: its input and output, and scratch memory.
struct Translation<'a> {
    func: &'a ir::Function,
    out: &'a mut Function,
    values: Vec<Value>,
    args: Vec<BlockArg>,
    calls: Vec<BlockCall>,
}

impl Translation<'_> {
    /// Creates all values, undefined at first, and all blocks. Blocks in the layout get their parameters and keep
    /// their order.
    fn blocks(&mut self) {
        let (from, out) = (self.func, &mut *self.out);
        for _ in 0..from.dfg.num_values() {
            out.dfg.make_undefined_value();
        }
        for _ in 0..from.dfg.num_blocks() {
            out.dfg.make_block();
        }
        for block in from.layout.blocks() {
            out.layout.append_block(self::block(block));
            if from.layout.is_cold(block) {
                out.layout.set_cold(self::block(block));
            }
            for &param in from.dfg.block_params(block) {
                out.dfg.append_block_param_as(self::block(block), value(param), ty(from.dfg.value_type(param)));
            }
        }
    }

    fn inst(&mut self, inst: ir::Inst, block: ir::Block) -> CodegenResult<()> {
        let made = self.inst_data(inst)?;
        let (from, out) = (self.func, &mut *self.out);
        let made = out.dfg.make_inst(made);
        out.layout.append_inst(made, self::block(block));
        for &result in from.dfg.inst_results(inst) {
            out.dfg.append_result_as(made, value(result), ty(from.dfg.value_type(result)));
        }
        let srcloc = from.srcloc(inst);
        if !srcloc.is_default() {
            out.srclocs[made] = SourceLoc(srcloc.bits());
        }
        if out.dfg.opcode(made).is_call() {
            self.stack_map(inst, made);
        }
        if !from.debug_tags.is_empty() {
            self.debug_tags(inst, made);
        }
        Ok(())
    }

    fn stack_map(&mut self, inst: ir::Inst, made: Inst) {
        if let Some(entries) = self.func.dfg.user_stack_map_entries(inst) {
            self.out.stack_maps.insert(made, entries.iter().map(preamble::stack_map_entry).collect());
        }
    }

    fn debug_tags(&mut self, inst: ir::Inst, made: Inst) {
        let tags = self.func.debug_tags.get(inst);
        if !tags.is_empty() {
            self.out.debug_tags.insert(made, tags.iter().map(preamble::debug_tag).collect());
        }
    }
}

fn value(value: ir::Value) -> Value {
    Value::from_u32(value.as_u32())
}

fn block(block: ir::Block) -> Block {
    Block::from_u32(block.as_u32())
}

/// Returns the error for a feature without a counterpart.
fn unsupported(what: impl Into<String>) -> CodegenError {
    CodegenError::Unsupported(what.into())
}
