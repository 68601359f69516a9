//! The text of a function.
//!
//! What is printed can be read again and gives an equal function. Two things go beyond the
//! customary form for that reason: dynamic types are declared and the memory flags of `atomic_rmw`
//! and `atomic_cas` are written. The work is linear in the length of the text.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use std::fmt::{self, Display, Formatter, Result};

use crate::constants::ConstantData;
use crate::entities::{Block, ExceptionTable, Inst, Value};
use crate::exception_table::ExceptionItem;
use crate::function::{DebugTag, Function};
use crate::immediates::{Imm64, Offset};
use crate::inst_view::InstView;
use crate::instruction::{BlockArg, BlockArgKind, BlockCall};
use crate::names::NameTable;
use crate::opcodes::{Format, Opcode, Suffix};
use crate::preamble::GlobalValueData;
use crate::types::Type;
use crate::value_data::ValueDef;

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

/// For each value, the aliases that were made for it, as linked lists.
struct Aliases {
    first: SecondaryMap<Value, PackedOption<Value>>,
    next: SecondaryMap<Value, PackedOption<Value>>,
}

impl Aliases {
    fn new(func: &Function) -> Aliases {
        let mut aliases = Aliases { first: SecondaryMap::new(), next: SecondaryMap::new() };
        let values = func.dfg.num_values() as u32;
        // From behind, so that the lists are in increasing order.
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

/// The entities of a table in the order of their numbers.
fn sorted<E: EntityRef + Copy, T>(table: &PrimaryMap<E, T>, names: &NameTable<E>) -> Vec<E> {
    let mut entities: Vec<E> = table.keys().collect();
    if !names.is_identity() {
        entities.sort_by_key(|&entity| names.number(entity));
    }
    entities
}

/// The preamble.
impl Function {
    fn write_preamble(&self, f: &mut Formatter) -> std::result::Result<bool, fmt::Error> {
        let names = &self.names;
        let mut lines = 0;
        let mut line = |f: &mut Formatter, text: fmt::Arguments| {
            lines += 1;
            writeln!(f, "    {text}")
        };
        for ty in sorted(&self.dynamic_types, &names.dynamic_types) {
            let data = self.dynamic_types[ty];
            let scale = names.global_value(data.scale);
            line(f, format_args!("{} = {}*{scale}", names.dynamic_type(ty), data.base))?;
        }
        for slot in sorted(&self.dynamic_stack_slots, &names.dynamic_stack_slots) {
            let ty = names.dynamic_type(self.dynamic_stack_slots[slot].ty);
            let slot = names.dynamic_stack_slot(slot);
            line(f, format_args!("{slot} = explicit_dynamic_slot {ty}"))?;
        }
        for slot in sorted(&self.stack_slots, &names.stack_slots) {
            let data = self.stack_slots[slot];
            let attributes = fmt::from_fn(|f| {
                if data.align_shift > 0 {
                    write!(f, ", align = {}", 1_u64 << data.align_shift)?;
                }
                data.key.map_or(Ok(()), |key| write!(f, ", key = {key}"))
            });
            let slot = names.stack_slot(slot);
            line(f, format_args!("{slot} = explicit_slot {}{attributes}", data.size))?;
        }
        for (region, data) in self.alias_regions.iter() {
            line(f, format_args!("{region} = {} \"{}\"", data.user_id, data.description))?;
        }
        for global in sorted(&self.global_values, &names.global_values) {
            let data = self.display_global(&self.global_values[global]);
            line(f, format_args!("{} = {data}", names.global_value(global)))?;
        }
        for sig in sorted(&self.dfg.signatures, &names.signatures) {
            line(f, format_args!("{} = {}", names.signature(sig), self.dfg.signatures[sig]))?;
        }
        for func in sorted(&self.dfg.ext_funcs, &names.functions) {
            let data = &self.dfg.ext_funcs[func];
            let colocated = if data.colocated { "colocated " } else { "" };
            let patchable = if data.patchable { "patchable " } else { "" };
            let name = self.display_name(&data.name);
            let sig = names.signature(data.signature);
            let func = names.function(func);
            line(f, format_args!("{func} = {colocated}{patchable}{name} {sig}"))?;
        }
        let mut constants: Vec<_> = self.dfg.constants.iter().collect();
        constants.sort_by_key(|(constant, _)| names.constants.number(*constant));
        for (constant, data) in constants {
            line(f, format_args!("{} = {data}", names.constant(constant)))?;
        }
        if let Some(limit) = self.stack_limit {
            line(f, format_args!("stack_limit = {}", names.global_value(limit)))?;
        }
        Ok(lines > 0)
    }

    fn display_global<'a>(&'a self, data: &'a GlobalValueData) -> impl Display + 'a {
        fmt::from_fn(move |f| match data {
            GlobalValueData::VmContext => f.write_str("vmctx"),
            GlobalValueData::Load { base, offset, ty, flags } => {
                let base = self.names.global_value(*base);
                write!(f, "load.{ty}{flags} {base}{}", Offset((*offset).into()))
            }
            GlobalValueData::IAddImm { base, offset, ty } => {
                write!(f, "iadd_imm.{ty} {}, {}", self.names.global_value(*base), Imm64(*offset))
            }
            GlobalValueData::Symbol { name, offset, colocated, tls } => {
                f.write_str("symbol ")?;
                f.write_str(if *colocated { "colocated " } else { "" })?;
                f.write_str(if *tls { "tls " } else { "" })?;
                write!(f, "{}", self.display_name(name))?;
                match *offset {
                    0 => Ok(()),
                    1.. => write!(f, "+{}", Imm64(*offset)),
                    _ => write!(f, "{}", Imm64(*offset)),
                }
            }
            GlobalValueData::DynScaleTargetConst { vector_type } => {
                write!(f, "dyn_scale_target_const.{vector_type}")
            }
        })
    }
}

/// Blocks and lines.
impl Function {
    /// Whether instructions leave room for source locations and debug tags in front.
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

    /// The header of a block, as `block1(v0: i32) cold:`.
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

    /// Source location and debug tags, each followed by a space.
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

    /// An instruction as the function's text shows it, without what stands in front of its results
    /// and without the comment behind it.
    pub fn display_inst(&self, inst: Inst) -> impl Display {
        fmt::from_fn(move |f| self.write_inst(f, inst))
    }

    fn write_inst(&self, f: &mut Formatter, inst: Inst) -> Result {
        let results = self.dfg.inst_results(inst);
        if !results.is_empty() {
            self.write_values(f, results)?;
            f.write_str(" = ")?;
        }
        f.write_str(self.dfg.opcode(inst).name())?;
        if let Some(ty) = self.suffix(inst) {
            write!(f, ".{ty}")?;
        }
        self.write_operands(f, inst)?;
        self.write_stack_map(f, inst)
    }

    /// The suffix, where the reader needs it: if it is required, or if the value that it comes from
    /// is not defined above in the same block.
    fn suffix(&self, inst: Inst) -> Option<Type> {
        let opcode = self.dfg.opcode(inst);
        if let Suffix::From(index) = opcode.info().suffix {
            let value = self.dfg.inst_args(inst)[usize::from(index)];
            let block = self.layout.inst_block(inst);
            let above = match self.dfg.value_def(value) {
                ValueDef::Result(def, _) => {
                    self.layout.inst_block(def) == block && self.layout.seq(def) < self.layout.seq(inst)
                }
                ValueDef::Param(def, _) => Some(def) == block,
                ValueDef::Undefined => false,
            };
            if above {
                return None;
            }
        }
        Some(self.dfg.ctrl_type(inst)).filter(|ty| opcode.is_polymorphic() && !ty.is_invalid())
    }

    fn write_stack_map(&self, f: &mut Formatter, inst: Inst) -> Result {
        let Some(entries) = self.stack_maps.get(&inst).filter(|map| !map.is_empty()) else {
            return Ok(());
        };
        f.write_str(", stack_map=[")?;
        for (index, entry) in entries.iter().enumerate() {
            let separator = if index > 0 { ", " } else { "" };
            let slot = self.names.stack_slot(entry.slot);
            write!(f, "{separator}{} @ {slot}+{}", entry.ty, entry.offset)?;
        }
        f.write_str("]")
    }

    /// The comment that lists the operands that are constants.
    fn write_constants(&self, f: &mut Formatter, inst: Inst) -> Result {
        let mut separator = "  ; ";
        let mut result = Ok(());
        self.dfg.for_each_use(inst, |value| {
            let ValueDef::Result(def, _) = self.dfg.value_def(value) else { return };
            if result.is_ok() && is_constant(self.dfg.opcode(def)) {
                result =
                    write!(f, "{separator}{} = ", self.names.value(value)).and_then(|()| self.write_constant(f, def));
                separator = ", ";
            }
        });
        result
    }

    fn write_constant(&self, f: &mut Formatter, inst: Inst) -> Result {
        match self.dfg.view(inst) {
            InstView::UnaryImm { imm } => write!(f, "{}", self.signed_imm(inst, imm)),
            InstView::UnaryIeee16 { imm } => write!(f, "{imm}"),
            InstView::UnaryIeee32 { imm } => write!(f, "{imm}"),
            InstView::UnaryIeee64 { imm } => write!(f, "{imm}"),
            InstView::UnaryConst { constant } => match self.dfg.constants.get(constant) {
                Some(data) => write!(f, "{data}"),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// The immediate of an `iconst`, sign-extended from its type.
    fn signed_imm(&self, inst: Inst, imm: i64) -> Imm64 {
        let unused = 64_u32.saturating_sub(self.dfg.ctrl_type(inst).bits()).min(63);
        Imm64(imm << unused >> unused)
    }
}

fn is_constant(opcode: Opcode) -> bool {
    matches!(
        opcode.format(),
        Format::UnaryImm | Format::UnaryIeee16 | Format::UnaryIeee32 | Format::UnaryIeee64 | Format::UnaryConst
    )
}

/// Operands.
impl Function {
    fn write_values(&self, f: &mut Formatter, values: &[Value]) -> Result {
        for (index, &value) in values.iter().enumerate() {
            let separator = if index > 0 { ", " } else { "" };
            write!(f, "{separator}{}", self.names.value(value))?;
        }
        Ok(())
    }

    fn values<'a>(&'a self, values: &'a [Value]) -> impl Display + 'a {
        fmt::from_fn(move |f| self.write_values(f, values))
    }

    fn block_call(&self, call: BlockCall) -> impl Display {
        fmt::from_fn(move |f| {
            write!(f, "{}", self.names.block(call.block))?;
            let args = self.dfg.block_args(call);
            for (index, arg) in args.iter().enumerate() {
                let separator = if index == 0 { "(" } else { ", " };
                write!(f, "{separator}{}", self.display_block_arg(*arg))?;
            }
            f.write_str(if args.is_empty() { "" } else { ")" })
        })
    }

    /// An argument of a block call.
    pub fn display_block_arg(&self, arg: BlockArg) -> impl Display {
        fmt::from_fn(move |f| match arg.kind() {
            BlockArgKind::Value(value) => write!(f, "{}", self.names.value(value)),
            BlockArgKind::TryCallRet(number) => write!(f, "ret{number}"),
            BlockArgKind::TryCallExn(number) => write!(f, "exn{number}"),
        })
    }

    fn block_calls<'a>(&'a self, calls: &'a [BlockCall]) -> impl Display + 'a {
        fmt::from_fn(move |f| {
            for (index, &call) in calls.iter().enumerate() {
                let separator = if index > 0 { ", " } else { "" };
                write!(f, "{separator}{}", self.block_call(call))?;
            }
            Ok(())
        })
    }

    fn exception_table(&self, table: ExceptionTable) -> impl Display {
        fmt::from_fn(move |f| {
            let table = self.dfg.exception_table(table);
            let sig = self.names.signature(table.sig);
            write!(f, "{sig}, {}, [", self.block_call(table.normal))?;
            let mut handlers = table.handlers.iter();
            let mut handler = || fmt_option(handlers.next().map(|&call| self.block_call(call)));
            for (index, item) in table.items.iter().enumerate() {
                f.write_str(if index > 0 { ", " } else { " " })?;
                match item {
                    ExceptionItem::Tag(tag) => write!(f, "tag{tag}: {}", handler())?,
                    ExceptionItem::Default => write!(f, "default: {}", handler())?,
                    ExceptionItem::Context(value) => {
                        write!(f, "context {}", self.names.value(*value))?;
                    }
                }
            }
            f.write_str(if table.items.is_empty() { "]" } else { " ]" })
        })
    }

    fn write_operands(&self, f: &mut Formatter, inst: Inst) -> Result {
        let names = &self.names;
        let value = |value| names.value(value);
        match self.dfg.view(inst) {
            InstView::Nullary => f.write_str(" "),
            InstView::Unary { arg } => write!(f, " {}", value(arg)),
            InstView::Binary { args } => write!(f, " {}", self.values(&args)),
            InstView::Ternary { args } => write!(f, " {}", self.values(&args)),
            InstView::MultiAry { args: [] } => Ok(()),
            InstView::MultiAry { args } => write!(f, " {}", self.values(args)),
            InstView::UnaryImm { imm } => write!(f, " {}", self.signed_imm(inst, imm)),
            InstView::UnaryIeee16 { imm } => write!(f, " {imm}"),
            InstView::UnaryIeee32 { imm } => write!(f, " {imm}"),
            InstView::UnaryIeee64 { imm } => write!(f, " {imm}"),
            InstView::UnaryConst { constant } => write!(f, " {}", names.constant(constant)),
            InstView::BinaryImm8 { arg, imm } => write!(f, " {}, {imm}", value(arg)),
            InstView::TernaryImm8 { args, imm } => write!(f, " {}, {imm}", self.values(&args)),
            InstView::Shuffle { args, mask } => {
                write!(f, " {}, {}", self.values(&args), ConstantData::new(mask))
            }
            InstView::IntCompare { cond, args } => write!(f, " {cond} {}", self.values(&args)),
            InstView::FloatCompare { cond, args } => write!(f, " {cond} {}", self.values(&args)),
            InstView::Trap { code } => write!(f, " {code}"),
            InstView::CondTrap { arg, code } => write!(f, " {}, {code}", value(arg)),
            InstView::IntAddTrap { args, code } => write!(f, " {}, {code}", self.values(&args)),
            InstView::Load { flags, addr, offset } => {
                write!(f, "{flags} {}{}", value(addr), Offset(offset.into()))
            }
            InstView::Store { flags, value: stored, addr, offset } => {
                write!(f, "{flags} {}{}", self.values(&[stored, addr]), Offset(offset.into()))
            }
            InstView::LoadNoOffset { flags, arg } => write!(f, "{flags} {}", value(arg)),
            InstView::StoreNoOffset { flags, value: stored, addr } => {
                write!(f, "{flags} {}", self.values(&[stored, addr]))
            }
            InstView::AtomicRmw { flags, op, addr, value: operand } => {
                write!(f, "{flags} {op} {}", self.values(&[addr, operand]))
            }
            InstView::AtomicCas { flags, addr, expected, new } => {
                write!(f, "{flags} {}", self.values(&[addr, expected, new]))
            }
            InstView::StackAddr { slot, offset } => {
                write!(f, " {}{}", names.stack_slot(slot), Offset(offset.into()))
            }
            InstView::DynamicStackAddr { slot } => {
                write!(f, " {}", names.dynamic_stack_slot(slot))
            }
            InstView::UnaryGlobalValue { global } => write!(f, " {}", names.global_value(global)),
            InstView::FuncAddr { func } => write!(f, " {}", names.function(func)),
            InstView::ExceptionHandlerAddress { block, index } => {
                write!(f, " {}, {}", names.block(block), Imm64(index))
            }
            InstView::Jump { dest } => write!(f, " {}", self.block_call(dest)),
            InstView::Brif { cond, then_dest, else_dest } => {
                write!(f, " {}, {}", value(cond), self.block_calls(&[then_dest, else_dest]))
            }
            InstView::BranchTable { index, table } => {
                let (default, entries) = self.dfg.jump_table(table);
                let (default, entries) = (self.block_call(default), self.block_calls(entries));
                write!(f, " {}, {default}, [{entries}]", value(index))
            }
            InstView::Call { func, args } => {
                write!(f, " {}({})", names.function(func), self.values(args))
            }
            InstView::CallIndirect { sig, callee, args } => {
                let sig = names.signature(sig);
                write!(f, " {sig}, {}({})", value(callee), self.values(args))
            }
            InstView::TryCall { func, args, table } => {
                let func = names.function(func);
                write!(f, " {func}({}), {}", self.values(args), self.exception_table(table))
            }
            InstView::TryCallIndirect { callee, args, table } => {
                let args = self.values(args);
                write!(f, " {}({args}), {}", value(callee), self.exception_table(table))
            }
        }
    }
}

fn fmt_option(item: Option<impl Display>) -> impl Display {
    fmt::from_fn(move |f| item.as_ref().map_or(Ok(()), |item| item.fmt(f)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{ControlBuilder, InstBuilder};
    use crate::cursor::Cursor;
    use crate::entities::{DynamicType, GlobalValue, SigRef, StackSlot, UserNameRef};
    use crate::extfunc::{ExtFuncData, ExternalName, FuncName};
    use crate::function::{SourceLoc, UserStackMapEntry};
    use crate::libcall::LibCall;
    use crate::memflags::MemFlags;
    use crate::preamble::{AliasRegionData, DynamicStackSlotData, DynamicTypeData, StackSlotData};
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
