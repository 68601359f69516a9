//! Opcode, suffix and operands of one instruction, with one function per format.

use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::constants::ConstantData;
use kingpost_ir::immediates::{Ieee16, Ieee32, Ieee64};
use kingpost_ir::opcodes::{OpcodeInfo, Suffix};
use kingpost_ir::{Block, Constant, Format, Inst, InstData, Opcode, TrapCode, Type, Value, types};

use crate::context::Context;
use crate::error::{ErrorKind, Result, fault};
use crate::literal;
use crate::memflags::memflags;

/// The current opcode, and the suffix after it.
#[derive(Copy, Clone)]
pub(crate) struct Head {
    pub(crate) opcode: Opcode,
    pub(crate) info: &'static OpcodeInfo,
    /// The suffix; `INVALID` if there is none.
    suffix: Type,
    pub(crate) position: usize,
}

/// An instruction that is in no block yet, and its controlling type.
pub(crate) type Read = (Inst, Type);

impl Context<'_, '_> {
    /// Parses an instruction, beginning with its opcode, and appends it to the block.
    #[inline]
    pub(crate) fn instruction(&mut self, block: Block) -> Result<(Inst, Opcode)> {
        let head = self.head()?;
        let (inst, ctrl) = self.operands(head)?;
        self.func.layout.append_inst(inst, block);
        self.define_results(inst, head, ctrl)?;
        Ok((inst, head.opcode))
    }

    #[inline]
    fn head(&mut self) -> Result<Head> {
        self.lexer.skip();
        let position = self.lexer.position();
        let Some(opcode) = self.lexer.known_word(Opcode::from_name) else { return self.unknown_opcode() };
        let suffix = if self.lexer.eat(b'.') { self.ty()? } else { types::INVALID };
        Ok(Head { opcode, info: opcode.info(), suffix, position })
    }

    #[cold]
    fn unknown_opcode<T>(&mut self) -> Result<T> {
        let word = self.lexer.word("an instruction")?;
        let position = self.lexer.position() - word.len();
        fault(position, ErrorKind::UnknownOpcode(String::from_utf8_lossy(word).into()))
    }

    /// Returns the controlling type, which the suffix or an operand determines.
    #[inline(always)]
    pub(crate) fn ctrl(&self, head: Head, args: &[Value]) -> Result<Type> {
        let ty = match (head.info.suffix, head.suffix) {
            (Suffix::None, types::INVALID) => return Ok(types::INVALID),
            (Suffix::None, _) => types::INVALID,
            (Suffix::From(index), types::INVALID) => self.func.dfg.value_type(args[usize::from(index)]),
            (_, suffix) => suffix,
        };
        // No class contains the invalid type.
        if head.info.class.set().contains(ty) { Ok(ty) } else { self.no_ctrl(head, args, ty) }
    }

    #[cold]
    fn no_ctrl(&self, head: Head, args: &[Value], ty: Type) -> Result<Type> {
        let Head { opcode, info, suffix, position } = head;
        let kind = match info.suffix {
            Suffix::None => ErrorKind::SuffixNotAllowed(opcode),
            Suffix::Required if suffix.is_invalid() => ErrorKind::SuffixRequired(opcode),
            Suffix::From(index) if ty.is_invalid() => {
                ErrorKind::CannotInfer { opcode, value: self.number_of(args[usize::from(index)]) }
            }
            _ => ErrorKind::BadControllingType { opcode, ty },
        };
        fault(position, kind)
    }

    /// Parses the operands in the opcode's format.
    #[inline(never)]
    fn operands(&mut self, head: Head) -> Result<Read> {
        match head.info.format {
            Format::Nullary => {
                let ty = self.ctrl(head, &[])?;
                self.made(InstData::nullary(head.opcode, ty), ty)
            }
            Format::Unary => {
                let args = self.values::<1>()?;
                let ty = self.ctrl(head, &args)?;
                self.made(InstData::unary(head.opcode, ty, args[0]), ty)
            }
            Format::Binary => {
                let args = self.values::<2>()?;
                let ty = self.ctrl(head, &args)?;
                self.made(InstData::binary(head.opcode, ty, args), ty)
            }
            Format::Ternary => {
                let args = self.values::<3>()?;
                let ty = self.ctrl(head, &args)?;
                self.made(InstData::ternary(head.opcode, ty, args), ty)
            }
            Format::MultiAry => self.return_operands(head),
            Format::UnaryImm => self.iconst(head),
            Format::UnaryIeee16 | Format::UnaryIeee32 | Format::UnaryIeee64 => self.float_const(head),
            Format::UnaryConst => self.pool_const(head),
            Format::BinaryImm8 | Format::TernaryImm8 => self.lane(head),
            Format::Shuffle => self.shuffle(head),
            Format::IntCompare | Format::FloatCompare => self.compare(head),
            Format::Trap | Format::CondTrap | Format::IntAddTrap => self.trap(head),
            Format::Load | Format::Store => self.memory(head),
            Format::LoadNoOffset | Format::StoreNoOffset | Format::AtomicRmw | Format::AtomicCas => self.atomic(head),
            Format::StackAddr
            | Format::DynamicStackAddr
            | Format::UnaryGlobalValue
            | Format::FuncAddr
            | Format::ExceptionHandlerAddress => self.entity_address(head),
            Format::Jump => self.jump(head),
            Format::Brif => self.brif(head),
            Format::BranchTable => self.br_table(head),
            Format::Call => self.call(head),
            Format::CallIndirect => self.call_indirect(head),
            Format::TryCall => self.try_call(head),
            Format::TryCallIndirect => self.try_call_indirect(head),
        }
    }

    /// Stores an instruction. Each format calls it, because returning sixteen bytes would go through memory.
    #[inline(always)]
    pub(crate) fn made(&mut self, data: InstData, ctrl: Type) -> Result<Read> {
        Ok((self.func.dfg.make_inst(data), ctrl))
    }

    /// Parses `N` values with commas between them.
    #[inline]
    fn values<const N: usize>(&mut self) -> Result<[Value; N]> {
        let mut args = [Value::from_u32(0); N];
        for (index, arg) in args.iter_mut().enumerate() {
            if index > 0 {
                self.comma()?;
            }
            *arg = self.value()?;
        }
        Ok(args)
    }

    #[inline]
    pub(crate) fn comma(&mut self) -> Result<()> {
        if self.lexer.eat_text(b", ") { Ok(()) } else { self.lexer.expect(b',', "`,`") }
    }

    fn return_operands(&mut self, head: Head) -> Result<Read> {
        let ty = self.ctrl(head, &[])?;
        self.tables.args.clear();
        if self.lexer.at_value() && !self.at_next_line() {
            loop {
                let value = self.value()?;
                self.tables.args.push(value);
                if !self.lexer.eat(b',') {
                    break;
                }
            }
        }
        let data = self.func.dfg.return_data(&self.tables.args);
        self.made(data, ty)
    }

    /// Returns `true` if the next value is a result or an alias: the names at the start of the next line.
    fn at_next_line(&mut self) -> bool {
        let position = self.lexer.position();
        let mut names = self.lexer.try_entity("v").is_some();
        while names && self.lexer.eat(b',') {
            names = self.lexer.try_entity("v").is_some();
        }
        let found = names && (self.lexer.peek() == b'=' || self.lexer.eat_pair(*b"->"));
        self.lexer.set_position(position);
        found
    }

    #[inline]
    fn iconst(&mut self, head: Head) -> Result<Read> {
        let ty = self.ctrl(head, &[])?;
        let imm = literal::imm(self.lexer, ty.bits())?;
        self.made(InstData::iconst(ty, imm), ty)
    }

    fn float_const(&mut self, head: Head) -> Result<Read> {
        let ctrl = self.ctrl(head, &[])?;
        let data = match head.info.format {
            Format::UnaryIeee16 => {
                InstData::f16const(Ieee16::from_bits(literal::float(self.lexer, types::F16)? as u16))
            }
            Format::UnaryIeee32 => {
                InstData::f32const(Ieee32::from_bits(literal::float(self.lexer, types::F32)? as u32))
            }
            _ => InstData::f64const(Ieee64::from_bits(literal::float(self.lexer, types::F64)? as u64)),
        };
        self.made(data, ctrl)
    }

    /// Parses `vconst` and `f128const`: `constN`, or a literal that is added to the constant pool.
    fn pool_const(&mut self, head: Head) -> Result<Read> {
        let ty = self.ctrl(head, &[])?;
        let constant: Constant = if self.lexer.peek() == b'c' {
            self.constant()?
        } else if head.opcode == Opcode::F128const {
            let bits = literal::float(self.lexer, types::F128)?;
            self.func.dfg.constants.insert(ConstantData::new(&bits.to_le_bytes()))
        } else {
            let bytes = literal::vector(self.lexer, ty)?;
            self.func.dfg.constants.insert(ConstantData::new(&bytes))
        };
        let stored = if head.opcode == Opcode::F128const { types::F128 } else { ty };
        self.made(InstData::unary_const(head.opcode, stored, constant), ty)
    }

    fn lane(&mut self, head: Head) -> Result<Read> {
        if head.info.format == Format::BinaryImm8 {
            let arg = self.value()?;
            let ty = self.ctrl(head, &[arg])?;
            self.comma()?;
            let lane = literal::unsigned(self.lexer, "a lane number")?;
            return self.made(InstData::binary_imm8(head.opcode, ty, arg, lane), ty);
        }
        let args = self.values::<2>()?;
        let ty = self.ctrl(head, &args)?;
        self.comma()?;
        let lane = literal::unsigned(self.lexer, "a lane number")?;
        self.made(InstData::insertlane(ty, args, lane), ty)
    }

    fn shuffle(&mut self, head: Head) -> Result<Read> {
        let ty = self.ctrl(head, &[])?;
        let args = self.values::<2>()?;
        self.comma()?;
        let bytes = literal::vector(self.lexer, types::I8X16)?;
        let mut mask = [0; 16];
        mask.copy_from_slice(&bytes);
        let mask = self.func.dfg.make_shuffle_mask(mask);
        self.made(InstData::shuffle(args, mask), ty)
    }

    fn compare(&mut self, head: Head) -> Result<Read> {
        self.lexer.skip();
        let position = self.lexer.position();
        let word = self.lexer.word("a condition code")?;
        if head.info.format == Format::IntCompare {
            let Some(cond) = IntCC::from_name(word) else {
                self.lexer.set_position(position);
                return self.lexer.expected("an integer condition code");
            };
            let args = self.values::<2>()?;
            let ty = self.ctrl(head, &args)?;
            return self.made(InstData::icmp(ty, cond, args), ty);
        }
        let Some(cond) = FloatCC::from_name(word) else {
            self.lexer.set_position(position);
            return self.lexer.expected("a float condition code");
        };
        let args = self.values::<2>()?;
        let ty = self.ctrl(head, &args)?;
        self.made(InstData::fcmp(ty, cond, args), ty)
    }

    fn trap_code(&mut self) -> Result<TrapCode> {
        self.lexer.skip();
        let position = self.lexer.position();
        let word = self.lexer.word("a trap code")?;
        match TrapCode::from_name(word) {
            Some(code) => Ok(code),
            None => {
                self.lexer.set_position(position);
                self.lexer.expected("a trap code")
            }
        }
    }

    fn trap(&mut self, head: Head) -> Result<Read> {
        match head.info.format {
            Format::Trap => {
                let ty = self.ctrl(head, &[])?;
                let code = self.trap_code()?;
                self.made(InstData::trap(code), ty)
            }
            Format::CondTrap => {
                let arg = self.value()?;
                let ty = self.ctrl(head, &[arg])?;
                self.comma()?;
                let code = self.trap_code()?;
                self.made(InstData::cond_trap(head.opcode, ty, arg, code), ty)
            }
            _ => {
                let args = self.values::<2>()?;
                let ty = self.ctrl(head, &args)?;
                self.comma()?;
                let code = self.trap_code()?;
                self.made(InstData::int_add_trap(ty, args, code), ty)
            }
        }
    }

    #[inline]
    fn memory(&mut self, head: Head) -> Result<Read> {
        let flags = memflags(self.lexer)?;
        if head.info.format == Format::Load {
            let addr = self.value()?;
            let ty = self.ctrl(head, &[addr])?;
            let offset = literal::offset32(self.lexer)?;
            return self.made(InstData::load(head.opcode, ty, flags, addr, offset), ty);
        }
        let [value, addr] = self.values::<2>()?;
        let ty = self.ctrl(head, &[value, addr])?;
        let offset = literal::offset32(self.lexer)?;
        self.made(InstData::store(head.opcode, flags, value, addr, offset), ty)
    }

    fn atomic(&mut self, head: Head) -> Result<Read> {
        let flags = memflags(self.lexer)?;
        match head.info.format {
            Format::LoadNoOffset => {
                let arg = self.value()?;
                let ty = self.ctrl(head, &[arg])?;
                self.made(InstData::load_no_offset(head.opcode, ty, flags, arg), ty)
            }
            Format::StoreNoOffset => {
                let [value, addr] = self.values::<2>()?;
                let ty = self.ctrl(head, &[value, addr])?;
                self.made(InstData::atomic_store(flags, value, addr), ty)
            }
            Format::AtomicRmw => {
                let op = self.atomic_op()?;
                let [addr, value] = self.values::<2>()?;
                let ty = self.ctrl(head, &[addr, value])?;
                self.made(InstData::atomic_rmw(ty, flags, op, addr, value), ty)
            }
            _ => {
                let args = self.values::<3>()?;
                let ty = self.ctrl(head, &args)?;
                self.made(InstData::atomic_cas(flags, args[0], args[1], args[2]), ty)
            }
        }
    }

    fn atomic_op(&mut self) -> Result<AtomicRmwOp> {
        self.lexer.skip();
        let position = self.lexer.position();
        let word = self.lexer.word("an operation, as `add`")?;
        match AtomicRmwOp::from_name(word) {
            Some(op) => Ok(op),
            None => {
                self.lexer.set_position(position);
                self.lexer.expected("a memory flag or an operation, as `add`")
            }
        }
    }

    fn entity_address(&mut self, head: Head) -> Result<Read> {
        let ty = self.ctrl(head, &[])?;
        let data = match head.info.format {
            Format::StackAddr => {
                let slot = self.stack_slot()?;
                InstData::stack_addr(ty, slot, literal::offset32(self.lexer)?)
            }
            Format::DynamicStackAddr => InstData::dynamic_stack_addr(ty, self.dynamic_stack_slot()?),
            Format::UnaryGlobalValue => InstData::unary_global(head.opcode, ty, self.global_value()?),
            Format::FuncAddr => InstData::func_addr(ty, self.func_ref()?),
            _ => {
                let block = self.block()?;
                self.comma()?;
                InstData::exception_handler_address(ty, block, literal::imm64(self.lexer)?)
            }
        };
        self.made(data, ty)
    }
}
