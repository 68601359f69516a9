//! The text of a function.
//!
//! The text can be parsed again, to an equal function. Three additions to the customary form serve this: dynamic
//! types are declared, the memory flags of `atomic_rmw` and `atomic_cas` are written, and symbols of global values
//! have their user names. The alternate form (`{:#}`) has the customary `userextnameN` instead, which is the index in
//! the table of user names. Printing is linear in the length of the text.

mod instruction;
mod preamble;

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use std::fmt::{self, Display, Formatter, Result};

use crate::entities::{AnyEntity, Block, Inst, Value};
use crate::function::{DebugTag, Function};

impl Function {
    /// Returns the name of an entity in the function's text, or the text of an instruction, for messages.
    pub fn describe(&self, entity: impl Into<AnyEntity>) -> String {
        match entity.into() {
            AnyEntity::Function => "the function".into(),
            AnyEntity::Block(block) => self.names.block(block).to_string(),
            AnyEntity::Inst(inst) => format!("`{}`", self.display_inst(inst).to_string().trim()),
            AnyEntity::Value(value) => self.names.value(value).to_string(),
            AnyEntity::StackSlot(slot) => self.names.stack_slot(slot).to_string(),
            AnyEntity::DynamicStackSlot(slot) => self.names.dynamic_stack_slot(slot).to_string(),
            AnyEntity::GlobalValue(global) => self.names.global_value(global).to_string(),
            AnyEntity::SigRef(sig) => self.names.signature(sig).to_string(),
            AnyEntity::FuncRef(callee) => self.names.function(callee).to_string(),
            AnyEntity::Constant(constant) => self.names.constant(constant).to_string(),
            AnyEntity::AliasRegion(region) => region.to_string(),
            AnyEntity::DynamicType(ty) => ty.to_string(),
            AnyEntity::JumpTable(table) => table.to_string(),
            AnyEntity::ExceptionTable(table) => table.to_string(),
            AnyEntity::StackLimit => "the stack limit".into(),
        }
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter) -> Result {
        writeln!(f, "function {}{} {{", self.name, self.signature)?;
        let mut separate = self.write_preamble(f)?;
        let aliases = Aliases::new(self);
        let indent = if self.has_margin() { 36 } else { 4 };
        for block in self.layout.blocks() {
            if separate {
                writeln!(f)?;
            }
            separate = true;
            self.write_block(f, block, &aliases, indent)?;
        }
        writeln!(f, "}}")
    }
}

/// For each value, a linked list of the aliases that were created for it.
struct Aliases {
    first: SecondaryMap<Value, PackedOption<Value>>,
    next: SecondaryMap<Value, PackedOption<Value>>,
}

impl Aliases {
    fn new(func: &Function) -> Aliases {
        let mut aliases = Aliases { first: SecondaryMap::new(), next: SecondaryMap::new() };
        let values = func.dfg.num_values() as u32;
        // In reverse, so that the lists are in increasing order.
        for value in (0..values).rev().map(Value::from_u32) {
            if let Some(target) = func.dfg.value_alias(value) {
                aliases.next[value] = aliases.first[target];
                aliases.first[target] = value.into();
            }
        }
        aliases
    }

    fn of(&self, value: Value) -> impl Iterator<Item = Value> {
        std::iter::successors(self.first[value].expand(), |&alias| self.next[alias].expand())
    }
}

/// Blocks and lines.
impl Function {
    /// Returns `true` if instructions have a margin for source locations and debug tags.
    fn has_margin(&self) -> bool {
        !self.debug_tags.is_empty() || self.srclocs.values().any(|loc| !loc.is_none())
    }

    fn write_block(&self, f: &mut Formatter, block: Block, aliases: &Aliases, indent: usize) -> Result {
        writeln!(f, "{}", self.display_block_header(block))?;
        for &param in self.dfg.block_params(block) {
            self.write_aliases(f, param, aliases, indent)?;
        }
        for inst in self.layout.block_insts(block) {
            if indent > 4 {
                write!(f, "{:indent$}", self.margin(inst))?;
            } else {
                write!(f, "{:indent$}", "")?;
            }
            self.write_inst(f, inst)?;
            self.write_constants(f, inst)?;
            writeln!(f)?;
            for &result in self.dfg.inst_results(inst) {
                self.write_aliases(f, result, aliases, indent)?;
            }
        }
        Ok(())
    }

    /// Returns the header of a block, for example `block1(v0: i32) cold:`.
    pub fn display_block_header(&self, block: Block) -> impl Display {
        fmt::from_fn(move |f| {
            write!(f, "{}", self.names.block(block))?;
            let params = self.dfg.block_params(block);
            for (index, &param) in params.iter().enumerate() {
                let separator = if index == 0 { "(" } else { ", " };
                let ty = self.dfg.value_type(param);
                write!(f, "{separator}{}: {ty}", self.names.value(param))?;
            }
            f.write_str(if params.is_empty() { "" } else { ")" })?;
            f.write_str(if self.layout.is_cold(block) { " cold:" } else { ":" })
        })
    }

    fn write_aliases(&self, f: &mut Formatter, value: Value, aliases: &Aliases, indent: usize) -> Result {
        if aliases.first[value].is_none() {
            return Ok(());
        }
        let mut stack = vec![value];
        while let Some(target) = stack.pop() {
            for alias in aliases.of(target) {
                let (from, to) = (self.names.value(alias), self.names.value(target));
                writeln!(f, "{:indent$}{from} -> {to}", "")?;
                stack.push(alias);
            }
        }
        Ok(())
    }

    /// Returns the source location and debug tags, each followed by a space.
    fn margin(&self, inst: Inst) -> String {
        let mut margin = String::new();
        let loc = self.srcloc(inst);
        if !loc.is_none() {
            margin = format!("{loc} ");
        }
        if let Some(tags) = self.debug_tags.get(&inst).filter(|tags| !tags.is_empty()) {
            let tags: Vec<String> = tags.iter().map(|&tag| self.tag_text(tag)).collect();
            margin = format!("{margin}<{}> ", tags.join(", "));
        }
        margin
    }

    fn tag_text(&self, tag: DebugTag) -> String {
        match tag {
            DebugTag::User(number) => number.to_string(),
            DebugTag::StackSlot(slot) => self.names.stack_slot(slot).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{ControlBuilder, InstBuilder};
    use crate::constants::ConstantData;
    use crate::cursor::Cursor;
    use crate::entities::{DynamicType, GlobalValue, SigRef, StackSlot, UserNameRef};
    use crate::extfunc::{ExtFuncData, ExternalName, FuncName};
    use crate::function::{SourceLoc, UserStackMapEntry};
    use crate::libcall::LibCall;
    use crate::memflags::MemFlags;
    use crate::preamble::{AliasRegionData, DynamicStackSlotData, DynamicTypeData, GlobalValueData, StackSlotData};
    use crate::signature::{AbiParam, CallConv, Signature};
    use crate::types::{I8X16, I32, I32X4, I64};

    #[test]
    fn no_blocks() {
        assert_eq!(Function::default().to_string(), "function %() fast {\n}\n");
    }

    #[test]
    fn preamble() {
        let mut func = Function::new(FuncName::User(1, 2), Signature::new(CallConv::Fast));
        let global = GlobalValue::from_u32;
        func.global_values.push(GlobalValueData::VmContext);
        let flags = MemFlags::trusted();
        func.global_values.push(GlobalValueData::Load { base: global(0), offset: 8, ty: I64, flags });
        func.global_values.push(GlobalValueData::IAddImm { base: global(1), offset: 0x10000, ty: I64 });
        let name = ExternalName::Named("data".into());
        func.global_values.push(GlobalValueData::Symbol { name, offset: -4, colocated: true, tls: true });
        func.global_values.push(GlobalValueData::DynScaleTargetConst { vector_type: I32X4 });
        func.dynamic_types.push(DynamicTypeData { base: I32X4, scale: global(4) });
        func.dynamic_stack_slots.push(DynamicStackSlotData { ty: DynamicType::from_u32(0) });
        func.stack_slots.push(StackSlotData { size: 8, align_shift: 0, key: None });
        func.stack_slots.push(StackSlotData { size: 16, align_shift: 4, key: Some(u64::MAX) });
        func.names.stack_slots.set(StackSlot::from_u32(0), 10);
        func.names.stack_slots.set(StackSlot::from_u32(1), 2);
        func.alias_regions.push(AliasRegionData { user_id: 7, description: "heap".into() });
        func.user_names.push((3, 4));
        func.dfg.signatures.push(Signature::new(CallConv::Tail));
        for name in [ExternalName::User(UserNameRef::from_u32(0)), ExternalName::LibCall(LibCall::Memcpy)] {
            let signature = SigRef::from_u32(0);
            func.dfg.ext_funcs.push(ExtFuncData { name, signature, colocated: true, patchable: false });
        }
        func.dfg.constants.insert(ConstantData::new(&[1, 2]));
        func.stack_limit = Some(global(1));
        assert_eq!(
            func.to_string(),
            "function u1:2() fast {
    dt0 = i32x4*gv4
    dss0 = explicit_dynamic_slot dt0
    ss2 = explicit_slot 16, align = 16, key = 18446744073709551615
    ss10 = explicit_slot 8
    region0 = 7 \"heap\"
    gv0 = vmctx
    gv1 = load.i64 notrap aligned gv0+8
    gv2 = iadd_imm.i64 gv1, 0x0001_0000
    gv3 = symbol colocated tls %data-4
    gv4 = dyn_scale_target_const.i32x4
    sig0 = () tail
    fn0 = colocated u3:4 sig0
    fn1 = colocated %Memcpy sig0
    const0 = 0x0201
    stack_limit = gv1
}
"
        );
    }

    #[test]
    fn lines() {
        let mut func = Function::default();
        let slot = func.stack_slots.push(StackSlotData { size: 8, align_shift: 0, key: None });
        let sig = func.dfg.signatures.push(Signature::new(CallConv::Fast));
        func.dfg.signatures[sig].params.push(AbiParam::new(I64));
        let mut cursor = Cursor::new(&mut func);
        let block = cursor.new_block();
        let param = cursor.func.dfg.append_block_param(block, I64);
        let alias = cursor.func.dfg.make_undefined_value();
        cursor.func.dfg.change_to_alias(alias, param).unwrap();
        let call = cursor.ins().call_indirect(sig, param, &[alias]);
        let entry = UserStackMapEntry { ty: I32, slot, offset: 4 };
        cursor.func.stack_maps.insert(call, [entry].into_iter().collect());
        let tags = [DebugTag::User(1), DebugTag::StackSlot(slot)];
        cursor.func.debug_tags.insert(call, tags.into_iter().collect());
        cursor.func.srclocs[call] = SourceLoc(0xab);
        let one = cursor.ins().iconst(I32, -1);
        let vector = cursor.ins().splat(I8X16, param);
        cursor.ins().shuffle(vector, vector, std::array::from_fn(|lane| lane as u8));
        let next = cursor.func.dfg.make_block();
        cursor.ins().brif(one, next, &[one], next, &[]);
        cursor.func.layout.append_block(next);
        cursor.func.layout.set_cold(next);
        cursor.end(next).ins().return_(&[one]);
        cursor.ins().fence();
        let text = func.to_string();
        let lines: Vec<&str> = text.lines().skip(4).collect();
        assert_eq!(
            lines,
            [
                "block0(v0: i64):",
                "                                    v1 -> v0",
                "@00ab <1, ss0>                      call_indirect sig0, v0(v1), stack_map=[i32 @ ss0+4]",
                "                                    v2 = iconst.i32 -1",
                "                                    v3 = splat.i8x16 v0",
                "                                    v4 = shuffle v3, v3, 0x0f0e0d0c0b0a09080706050403020100",
                "                                    brif v2, block1(v2), block1  ; v2 = -1, v2 = -1",
                "",
                "block1 cold:",
                "                                    return v2  ; v2 = -1",
                "                                    fence ",
                "}",
            ]
        );
        assert_eq!(func.display_block_header(block).to_string(), "block0(v0: i64):");
    }
}
