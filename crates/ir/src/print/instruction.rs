//! Text of an instruction: results, opcode, operands, and the comment at the end.

use std::fmt::{self, Display, Formatter, Result};

use crate::constants::ConstantData;
use crate::entities::{ExceptionTable, Inst, Value};
use crate::exception_table::ExceptionItem;
use crate::function::Function;
use crate::immediates::{Imm64, Offset};
use crate::inst_view::InstView;
use crate::instruction::{BlockArg, BlockArgKind, BlockCall};
use crate::opcodes::{Format, Opcode, Suffix};
use crate::types::Type;
use crate::value_data::ValueDef;

impl Function {
    /// Returns an instruction in the form of the function's text, without the margin before its results and without
    /// the comment after it.
    pub fn display_inst(&self, inst: Inst) -> impl Display {
        fmt::from_fn(move |f| self.write_inst(f, inst))
    }

    pub(super) fn write_inst(&self, f: &mut Formatter, inst: Inst) -> Result {
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

    /// Returns the suffix, if the reader needs it: it is required, or the operand that determines it is not defined
    /// earlier in the block.
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

    /// Writes the comment that lists the constant operands.
    pub(super) fn write_constants(&self, f: &mut Formatter, inst: Inst) -> Result {
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

    /// Returns the immediate of an `iconst`, sign-extended from its type.
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

    /// Returns an argument of a block call in text form.
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
