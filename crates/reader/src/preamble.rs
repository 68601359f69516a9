//! The declarations before a function's blocks.

use kingpost_ir::constants::ConstantData;
use kingpost_ir::extfunc::ExtFuncData;
use kingpost_ir::preamble::{AliasRegionData, DynamicStackSlotData, DynamicTypeData, GlobalValueData, StackSlotData};
use kingpost_ir::signature::{CallConv, Signature};
use kingpost_ir::{AliasRegion, AnyEntity, DynamicType, GlobalValue, MemFlags, SigRef, Type, types};

use crate::context::Context;
use crate::error::{ErrorKind, Result, fault};
use crate::literal;
use crate::memflags::memflags;
use crate::signature::signature;

impl Context<'_, '_> {
    /// Parses all lines up to the first block or the closing brace.
    pub(crate) fn preamble(&mut self) -> Result<()> {
        while self.lexer.peek() != b'}' {
            let Some(entity) = self.declaration()? else { break };
            self.claim(entity);
        }
        self.check_awaited()
    }

    /// Parses one line. Returns `None` if the next text is no declaration.
    fn declaration(&mut self) -> Result<Option<AnyEntity>> {
        self.lexer.skip();
        let position = self.lexer.position();
        let entity = match self.lexer.byte() {
            b's' => {
                if let Some(number) = self.lexer.try_entity("ss") {
                    self.stack_slot_line(number, position)?
                } else if let Some(number) = self.lexer.try_entity("sig") {
                    self.signature_line(number, position)?
                } else if self.lexer.eat_word(b"stack_limit") {
                    self.stack_limit_line(position)?
                } else {
                    return Ok(None);
                }
            }
            b'd' => {
                if let Some(number) = self.lexer.try_entity("dss") {
                    self.dynamic_stack_slot_line(number, position)?
                } else if let Some(number) = self.lexer.try_entity("dt") {
                    self.dynamic_type_line(number, position)?
                } else {
                    return Ok(None);
                }
            }
            b'g' => match self.lexer.try_entity("gv") {
                Some(number) => self.global_value_line(number, position)?,
                None => return Ok(None),
            },
            b'f' => match self.lexer.try_entity("fn") {
                Some(number) => self.function_line(number, position)?,
                None => return Ok(None),
            },
            b'c' => match self.lexer.try_entity("const") {
                Some(number) => self.constant_line(number, position)?,
                None => return Ok(None),
            },
            b'r' => match self.lexer.try_entity("region") {
                Some(number) => self.region_line(number, position)?,
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(entity))
    }

    fn equals(&mut self) -> Result<()> {
        self.lexer.expect(b'=', "`=`")
    }

    /// Parses `ssN = explicit_slot SIZE { , align = A } { , key = K }`
    fn stack_slot_line(&mut self, number: u32, position: usize) -> Result<AnyEntity> {
        self.equals()?;
        if !self.lexer.eat_word(b"explicit_slot") {
            return self.lexer.expected("`explicit_slot`");
        }
        let size = literal::unsigned(self.lexer, "a size in bytes")?;
        let mut data = StackSlotData { size, align_shift: 0, key: None };
        while self.lexer.eat(b',') {
            if self.lexer.eat_word(b"align") {
                self.equals()?;
                data.align_shift = self.alignment()?;
            } else if self.lexer.eat_word(b"key") {
                self.equals()?;
                data.key = Some(literal::unsigned(self.lexer, "a key")?);
            } else {
                return self.lexer.expected("`align` or `key`");
            }
        }
        let slot = self.func.stack_slots.push(data);
        self.declare_stack_slot(number, slot, position)?;
        Ok(slot.into())
    }

    fn alignment(&mut self) -> Result<u8> {
        self.lexer.skip();
        let position = self.lexer.position();
        let align: u64 = literal::unsigned(self.lexer, "an alignment in bytes")?;
        if !align.is_power_of_two() || align > 1 << 31 {
            return fault(position, ErrorKind::BadAlignment(align));
        }
        Ok(align.trailing_zeros() as u8)
    }

    /// Parses `dssN = explicit_dynamic_slot dtN`
    fn dynamic_stack_slot_line(&mut self, number: u32, position: usize) -> Result<AnyEntity> {
        self.equals()?;
        if !self.lexer.eat_word(b"explicit_dynamic_slot") {
            return self.lexer.expected("`explicit_dynamic_slot`");
        }
        let ty = self.mention_dynamic_type()?;
        let slot = self.func.dynamic_stack_slots.push(DynamicStackSlotData { ty });
        self.declare_dynamic_stack_slot(number, slot, position)?;
        Ok(slot.into())
    }

    /// Parses `dtN = TYPE*gvN`
    fn dynamic_type_line(&mut self, number: u32, position: usize) -> Result<AnyEntity> {
        self.equals()?;
        let base = self.plain_type("a fixed vector type", Type::is_vector)?;
        self.lexer.expect(b'*', "`*` and a global value")?;
        let scale = self.mention_global_value()?;
        let data = DynamicTypeData { base, scale };
        let ty = if let Some(id) = self.awaited("dt", number) {
            let ty = DynamicType::from_u32(id);
            self.func.dynamic_types[ty] = data;
            ty
        } else {
            let ty = self.func.dynamic_types.push(data);
            self.declare_dynamic_type(number, ty, position)?;
            ty
        };
        Ok(ty.into())
    }

    /// Parses a type for which a condition holds.
    fn plain_type(&mut self, what: &'static str, holds: impl Fn(Type) -> bool) -> Result<Type> {
        self.lexer.skip();
        let position = self.lexer.position();
        let word = self.lexer.word(what)?;
        match Type::from_name(word) {
            Some(ty) if holds(ty) => Ok(ty),
            Some(ty) => fault(position, ErrorKind::BadType { what, ty }),
            None => fault(position, ErrorKind::UnknownType(String::from_utf8_lossy(word).into())),
        }
    }

    /// Parses `stack_limit = gvN`
    fn stack_limit_line(&mut self, position: usize) -> Result<AnyEntity> {
        self.equals()?;
        let limit = self.mention_global_value()?;
        if self.func.stack_limit.replace(limit).is_some() {
            return fault(position, ErrorKind::SecondStackLimit);
        }
        Ok(AnyEntity::StackLimit)
    }

    /// Parses `regionN = ID "text"`
    fn region_line(&mut self, number: u32, position: usize) -> Result<AnyEntity> {
        let expected = self.func.alias_regions.len() as u32;
        if number != expected {
            return fault(position, ErrorKind::RegionOrder { expected });
        }
        if number >= MemFlags::MAX_REGIONS {
            let limit = u64::from(MemFlags::MAX_REGIONS) - 1;
            return fault(position, ErrorKind::Limit { what: "an alias region's number", limit });
        }
        self.equals()?;
        let user_id = literal::unsigned(self.lexer, "an identifier")?;
        let description = self.lexer.string()?.into();
        self.func.alias_regions.push(AliasRegionData { user_id, description });
        Ok(AliasRegion::from_u32(number).into())
    }

    /// Parses `gvN =` and one of five kinds.
    fn global_value_line(&mut self, number: u32, position: usize) -> Result<AnyEntity> {
        self.equals()?;
        let word = self.lexer.word("a kind of global value")?;
        let data = match word {
            b"vmctx" => GlobalValueData::VmContext,
            b"load" => self.load_global()?,
            b"iadd_imm" => {
                let ty = self.suffix()?;
                let base = self.mention_global_value()?;
                self.lexer.expect(b',', "`,` and a number")?;
                GlobalValueData::IAddImm { base, offset: literal::imm64(self.lexer)?, ty }
            }
            b"symbol" => {
                let colocated = self.lexer.eat_word(b"colocated");
                let tls = self.lexer.eat_word(b"tls");
                let name = self.external_name()?;
                GlobalValueData::Symbol { name, offset: literal::offset64(self.lexer)?, colocated, tls }
            }
            b"dyn_scale_target_const" => GlobalValueData::DynScaleTargetConst { vector_type: self.suffix()? },
            _ => {
                self.lexer.set_position(self.lexer.position() - word.len());
                return self.lexer.expected("`vmctx`, `load`, `iadd_imm`, `symbol` or `dyn_scale_target_const`");
            }
        };
        let global = if let Some(id) = self.awaited("gv", number) {
            let global = GlobalValue::from_u32(id);
            self.func.global_values[global] = data;
            global
        } else {
            let global = self.func.global_values.push(data);
            self.declare_global_value(number, global, position)?;
            global
        };
        Ok(global.into())
    }

    /// Parses `.TYPE flags gvM offset`
    fn load_global(&mut self) -> Result<GlobalValueData> {
        let ty = self.suffix()?;
        self.lexer.skip();
        let position = self.lexer.position();
        let flags = memflags(self.lexer)?;
        if !flags.notrap() || !flags.aligned() {
            return fault(position, ErrorKind::GlobalValueFlags);
        }
        let base = self.mention_global_value()?;
        Ok(GlobalValueData::Load { base, offset: literal::offset32(self.lexer)?, ty, flags })
    }

    /// Parses a mandatory `.TYPE`.
    fn suffix(&mut self) -> Result<Type> {
        self.lexer.expect(b'.', "`.` and a type")?;
        self.plain_type("a type", |ty| ty != types::INVALID)
    }

    /// Parses `sigN = signature`
    fn signature_line(&mut self, number: u32, position: usize) -> Result<AnyEntity> {
        self.equals()?;
        let sig = if let Some(id) = self.awaited("sig", number) {
            SigRef::from_u32(id)
        } else {
            let sig = self.func.dfg.signatures.push(Signature::new(CallConv::Fast));
            match self.tables.signatures.get(number).map(SigRef::from_u32) {
                Some(inline) if self.tables.inline_signatures.binary_search(&inline).is_ok() => {
                    let free = self.free_signature_number(position)?;
                    self.declare_signature(free, inline, position)?;
                    self.tables.signatures.insert(number, sig.as_u32());
                    self.func.names.signatures.set(sig, number);
                }
                _ => self.declare_signature(number, sig, position)?,
            }
            sig
        };
        self.tables.next_signature = self.tables.next_signature.max(u64::from(number) + 1);
        signature(self.lexer, self.default_call_conv, &mut self.func.dfg.signatures[sig])?;
        Ok(sig.into())
    }

    /// Parses `fnN = [colocated] [patchable] NAME` and a signature or its number.
    fn function_line(&mut self, number: u32, position: usize) -> Result<AnyEntity> {
        self.equals()?;
        let colocated = self.lexer.eat_word(b"colocated");
        let patchable = self.lexer.eat_word(b"patchable");
        let name = self.external_name()?;
        let sig = if self.lexer.peek() == b'(' { self.inline_signature()? } else { self.mention_signature()? };
        let func = self.func.dfg.ext_funcs.push(ExtFuncData { name, signature: sig, colocated, patchable });
        self.declare_function(number, func, position)?;
        Ok(func.into())
    }

    /// Parses a signature without a number of its own, which gets the next free number.
    fn inline_signature(&mut self) -> Result<SigRef> {
        let position = self.lexer.position();
        let sig = self.func.dfg.signatures.push(Signature::new(CallConv::Fast));
        let number = self.free_signature_number(position)?;
        self.declare_signature(number, sig, position)?;
        self.tables.inline_signatures.push(sig);
        signature(self.lexer, self.default_call_conv, &mut self.func.dfg.signatures[sig])?;
        Ok(sig)
    }

    /// Returns a number above all numbers that were mentioned.
    fn free_signature_number(&mut self, position: usize) -> Result<u32> {
        let Ok(number) = u32::try_from(self.tables.next_signature) else {
            let limit = u64::from(u32::MAX);
            return fault(position, ErrorKind::Limit { what: "a signature's number", limit });
        };
        self.tables.next_signature += 1;
        Ok(number)
    }

    /// Parses `constN = 0x..` or `constN = TYPE` and bytes or lanes.
    fn constant_line(&mut self, number: u32, position: usize) -> Result<AnyEntity> {
        self.equals()?;
        let bytes = if self.lexer.peek().is_ascii_digit() {
            literal::hex_bytes(self.lexer)?
        } else {
            let ty = self.plain_type("a type", |ty| ty != types::INVALID)?;
            literal::vector(self.lexer, ty)?
        };
        let constant = self.func.dfg.constants.declare(ConstantData::new(&bytes));
        self.declare_constant(number, constant, position)?;
        Ok(constant.into())
    }
}
