//! Expressions of the front end's language: operators by precedence, places that are read and assigned, C's
//! promotions.

use super::types::{ADDRESS, CType, FLOAT, INT, Scalar, TRUTH, common, integer};
use super::{Binding, Body, Entity, Operand, Typed, signature};
use crate::kernels::words::Word;
use anyhow::{Context, Result, bail, ensure};
use kingpost_ir::builder::{ControlBuilder, InstBuilder};
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::extfunc::{ExtFuncData, ExternalName};
use kingpost_ir::types::{F64, I8, I32, I64};
use kingpost_ir::{FuncRef, Inst, MemFlags, Value};

impl Body<'_, '_, '_> {
    /// Translates an expression or an assignment.
    pub(super) fn assignment(&mut self) -> Result<()> {
        let place = self.ternary()?;
        let Word::Sign(sign) = self.unit.word() else { return Ok(()) };
        if sign == "=" {
            self.unit.advance();
            let value = self.expression()?;
            return self.assign(place, value);
        }
        if let Some(operator) = sign.strip_suffix('=').filter(|operator| precedence(operator).is_some()) {
            self.unit.advance();
            let left = self.read(place);
            let right = self.expression()?;
            let value = self.binary(operator, left, right)?;
            return self.assign(place, value);
        }
        Ok(())
    }

    fn assign(&mut self, (place, ty): Operand, value: Typed) -> Result<()> {
        let value = self.convert(value, ty);
        match place {
            Entity::Variable(variable) => self.b.def_var(variable, value),
            Entity::Memory(address) => {
                self.b.ins().store(MemFlags::trusted(), value, address, 0);
            }
            Entity::Value(_) => bail!("a value is no place"),
        }
        Ok(())
    }

    fn read(&mut self, (place, ty): Operand) -> Typed {
        let value = match place {
            Entity::Value(value) => value,
            Entity::Variable(variable) => self.b.use_var(variable),
            Entity::Memory(address) => self.b.ins().load(ty.clif(), MemFlags::trusted(), address, 0),
        };
        (value, ty)
    }

    pub(super) fn expression(&mut self) -> Result<Typed> {
        let operand = self.ternary()?;
        Ok(self.read(operand))
    }

    fn ternary(&mut self) -> Result<Operand> {
        let operand = self.operators(0)?;
        if !self.unit.take("?") {
            return Ok(operand);
        }
        let condition = self.read(operand);
        let condition = self.truth(condition)?;
        let (then, otherwise, after) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.branch(condition, then, otherwise);
        self.switch_to(then);
        let value = self.expression()?;
        let (value, ty) = self.promote(value);
        let result = self.b.append_block_param(after, ty.clif());
        self.b.ins().jump(after, &[value]);
        self.unit.expect(":")?;
        self.switch_to(otherwise);
        let value = self.expression()?;
        let (value, other) = self.promote(value);
        ensure!(ty == other, "line {}: arms of types {ty:?} and {other:?}", self.unit.words[self.unit.at].1);
        self.b.ins().jump(after, &[value]);
        self.switch_to(after);
        Ok((Entity::Value(result), ty))
    }

    /// Translates operators that bind stronger than `least`, with their operands.
    fn operators(&mut self, least: u8) -> Result<Operand> {
        let mut left = self.unary()?;
        while let Word::Sign(operator) = self.unit.word()
            && let Some(strength) = precedence(operator).filter(|&strength| strength > least)
        {
            self.unit.advance();
            let value = self.read(left);
            let value = if operator == "&&" || operator == "||" {
                self.short_circuit(operator == "&&", value, strength)?
            } else {
                let right = self.operators(strength)?;
                let right = self.read(right);
                self.binary(operator, value, right)?
            };
            left = (Entity::Value(value.0), value.1);
        }
        Ok(left)
    }

    fn short_circuit(&mut self, is_and: bool, left: Typed, strength: u8) -> Result<Typed> {
        let left = self.truth(left)?;
        let (rest, after) = (self.b.create_block(), self.b.create_block());
        let result = self.b.append_block_param(after, I8);
        let known = self.b.ins().iconst(I8, i64::from(!is_and));
        if is_and {
            self.b.ins().brif(left, rest, &[], after, &[known]);
        } else {
            self.b.ins().brif(left, after, &[known], rest, &[]);
        }
        self.switch_to(rest);
        let right = self.operators(strength)?;
        let right = self.read(right);
        let right = self.compare_with_zero(IntCC::NotEqual, right)?;
        self.b.ins().jump(after, &[right]);
        self.switch_to(after);
        Ok((result, TRUTH))
    }

    fn unary(&mut self) -> Result<Operand> {
        let word = self.unit.word();
        let is_cast = self.unit.is("(") && self.unit.type_of(self.unit.words[self.unit.at + 1].0).is_some();
        if is_cast {
            self.unit.advance();
            let ty = self.unit.ctype()?;
            self.unit.expect(")")?;
            let value = self.unary()?;
            let value = self.read(value);
            return Ok((Entity::Value(self.convert(value, ty)), ty));
        }
        let Word::Sign(sign @ ("-" | "~" | "!" | "*")) = word else { return self.postfix() };
        self.unit.advance();
        let operand = self.unary()?;
        let value = self.read(operand);
        if sign == "*" {
            return Ok((Entity::Memory(value.0), value.1.pointee()?));
        }
        if sign == "!" {
            return Ok((Entity::Value(self.compare_with_zero(IntCC::Equal, value)?), TRUTH));
        }
        let (value, ty) = self.promote(value);
        let value = match sign {
            "~" => self.b.ins().bnot(value),
            _ if ty.is_float() => self.b.ins().fneg(value),
            _ => self.b.ins().ineg(value),
        };
        Ok((Entity::Value(value), ty))
    }

    fn postfix(&mut self) -> Result<Operand> {
        let mut operand = self.primary()?;
        loop {
            if self.unit.take("[") {
                let base = self.read(operand);
                let index = self.expression()?;
                self.unit.expect("]")?;
                let address = self.binary("+", base, index)?;
                operand = (Entity::Memory(address.0), base.1.pointee()?);
            } else if self.unit.is("++") || self.unit.is("--") {
                let operator = if self.unit.advance() == Word::Sign("++") { "+" } else { "-" };
                let old = self.read(operand);
                let one = (self.b.ins().iconst(I32, 1), INT);
                let new = self.binary(operator, old, one)?;
                self.assign(operand, new)?;
                operand = (Entity::Value(old.0), old.1);
            } else {
                return Ok(operand);
            }
        }
    }

    fn primary(&mut self) -> Result<Operand> {
        let line = self.unit.words[self.unit.at].1;
        match self.unit.advance() {
            Word::Integer { value, is_unsigned, is_long } => {
                let bits = if is_long || value > u64::from(u32::MAX) { 64 } else { 32 };
                let ty = integer(bits, !is_unsigned);
                Ok((Entity::Value(self.b.ins().iconst(ty.clif(), value as i64)), ty))
            }
            Word::Float(value) => Ok((Entity::Value(self.b.ins().f64const(value)), FLOAT)),
            Word::Sign("(") => {
                let operand = self.ternary()?;
                self.unit.expect(")")?;
                Ok(operand)
            }
            Word::Name(name) if self.unit.is("(") => self.call(name),
            Word::Name(name) => {
                if let Some(binding) = self.binding(name) {
                    return Ok(match binding {
                        Binding::Variable(variable, ty) => (Entity::Variable(variable), ty),
                        Binding::Array(slot, ty) => {
                            (Entity::Value(self.b.ins().stack_addr(I64, slot, 0)), ty.to_pointer())
                        }
                    });
                }
                let function = self.import(name).with_context(|| format!("line {line}: no variable {name}"))?.0;
                Ok((Entity::Value(self.b.ins().func_addr(I64, function)), ADDRESS))
            }
            word => bail!("line {line}: {word:?} begins no expression"),
        }
    }

    fn call(&mut self, name: &str) -> Result<Operand> {
        self.unit.expect("(")?;
        let mut args = Vec::new();
        while !self.unit.take(")") {
            args.push(self.expression()?);
            ensure!(self.unit.take(",") || self.unit.is(")"), "expected `,` or `)`");
        }
        if let ("__builtin_sqrt", &[(value, FLOAT)]) = (name, &*args) {
            return Ok((Entity::Value(self.b.ins().sqrt(value)), FLOAT));
        }
        if let Some(Binding::Variable(variable, CType { scalar: Scalar::Function(index), pointers: 0 })) =
            self.binding(name)
        {
            let (_, params, result) = self.unit.pointers[index as usize].clone();
            let args = self.arguments(name, args, &params)?;
            let signature = self.b.import_signature(signature(&params, result));
            let code = self.b.use_var(variable);
            let call = self.b.ins().call_indirect(signature, code, &args);
            return Ok(self.call_result(call, result));
        }
        let (callee, params, result) = self.import(name)?;
        let args = self.arguments(name, args, &params)?;
        let call = self.b.ins().call(callee, &args);
        Ok(self.call_result(call, result))
    }

    fn binding(&self, name: &str) -> Option<Binding> {
        self.bindings.iter().rev().find(|(bound, _)| *bound == name).map(|&(_, binding)| binding)
    }

    /// Imports a function of the unit. Returns it with the types of its parameters and of its result.
    fn import(&mut self, name: &str) -> Result<(FuncRef, Vec<CType>, CType)> {
        let known = self.unit.functions.iter().find(|known| known.0 == name);
        let (_, params, result) = known.with_context(|| format!("no function {name}"))?.clone();
        let signature = self.b.import_signature(signature(&params, result));
        let name = ExternalName::Named(name.into());
        let data = ExtFuncData { name, signature, colocated: true, patchable: false };
        Ok((self.b.import_function(data), params, result))
    }

    fn arguments(&mut self, name: &str, args: Vec<Typed>, params: &[CType]) -> Result<Vec<Value>> {
        ensure!(params.len() == args.len(), "{name} takes {} arguments", params.len());
        Ok(args.into_iter().zip(params).map(|(arg, &ty)| self.convert(arg, ty)).collect())
    }

    fn call_result(&mut self, call: Inst, result: CType) -> Operand {
        let value = self.b.inst_results(call).first().copied();
        (Entity::Value(value.unwrap_or(Value::from_u32(0))), result)
    }

    /// Returns a value that is not zero if the operand is not zero.
    pub(super) fn truth(&mut self, (value, ty): Typed) -> Result<Value> {
        ensure!(!ty.is_float(), "a float is no condition");
        Ok(value)
    }

    /// Compares an operand with zero. If the result of a comparison is compared for inequality, it is returned
    /// itself.
    fn compare_with_zero(&mut self, condition: IntCC, operand: Typed) -> Result<Value> {
        let value = self.truth(operand)?;
        if operand.1 == TRUTH && condition == IntCC::NotEqual {
            return Ok(value);
        }
        let zero = self.b.ins().iconst(operand.1.clif(), 0);
        Ok(self.b.ins().icmp(condition, value, zero))
    }

    /// Applies C's promotion: an integer smaller than `i32` is converted to `i32`.
    pub(super) fn promote(&mut self, value: Typed) -> Typed {
        let is_small =
            value.1.pointers == 0 && matches!(value.1.scalar, Scalar::Truth | Scalar::Integer { bits: 8 | 16, .. });
        if is_small { (self.convert(value, INT), INT) } else { value }
    }

    pub(super) fn convert(&mut self, (value, from): Typed, to: CType) -> Value {
        let (source, target) = (from.clif(), to.clif());
        match (from.is_float(), to.is_float()) {
            (true, true) => value,
            (false, true) if from.is_signed() => self.b.ins().fcvt_from_sint(F64, value),
            (false, true) => self.b.ins().fcvt_from_uint(F64, value),
            (true, false) if to.is_signed() => self.b.ins().fcvt_to_sint_sat(target, value),
            (true, false) => self.b.ins().fcvt_to_uint_sat(target, value),
            (false, false) if source.bits() > target.bits() => self.b.ins().ireduce(target, value),
            (false, false) if source == target => value,
            (false, false) if from.is_signed() => self.b.ins().sextend(target, value),
            (false, false) => self.b.ins().uextend(target, value),
        }
    }

    /// Translates an operation of two operands, after C's conversions.
    fn binary(&mut self, operator: &str, left: Typed, right: Typed) -> Result<Typed> {
        if left.1.pointers > 0 && right.1.pointers == 0 && matches!(operator, "+" | "-") {
            let size = i64::from(left.1.pointee()?.clif().bytes());
            let offset = self.convert(right, integer(64, right.1.is_signed()));
            let size = self.b.ins().iconst(I64, size);
            let offset = self.b.ins().imul(offset, size);
            let sum =
                if operator == "+" { self.b.ins().iadd(left.0, offset) } else { self.b.ins().isub(left.0, offset) };
            return Ok((sum, left.1));
        }
        let (left, right) = (self.promote(left), self.promote(right));
        if operator == "<<" || operator == ">>" {
            let value = match operator {
                "<<" => self.b.ins().ishl(left.0, right.0),
                _ if left.1.is_signed() => self.b.ins().sshr(left.0, right.0),
                _ => self.b.ins().ushr(left.0, right.0),
            };
            return Ok((value, left.1));
        }
        let ty = common(left.1, right.1);
        let (x, y) = (self.convert(left, ty), self.convert(right, ty));
        if let Some((condition, float)) = comparison(operator, ty.is_signed()) {
            let b = self.b.ins();
            return Ok((if ty.is_float() { b.fcmp(float, x, y) } else { b.icmp(condition, x, y) }, TRUTH));
        }
        let b = self.b.ins();
        let value = match (operator, ty.is_float()) {
            ("+", true) => b.fadd(x, y),
            ("-", true) => b.fsub(x, y),
            ("*", true) => b.fmul(x, y),
            ("/", true) => b.fdiv(x, y),
            ("+", _) => b.iadd(x, y),
            ("-", _) => b.isub(x, y),
            ("*", _) => b.imul(x, y),
            ("/", _) if ty.is_signed() => b.sdiv(x, y),
            ("/", _) => b.udiv(x, y),
            ("%", false) if ty.is_signed() => b.srem(x, y),
            ("%", false) => b.urem(x, y),
            ("&", false) => b.band(x, y),
            ("|", false) => b.bor(x, y),
            ("^", false) => b.bxor(x, y),
            _ => bail!("no operator {operator} on {ty:?}"),
        };
        Ok((value, ty))
    }
}

/// Returns the binding strength of an operator of two operands.
fn precedence(operator: &str) -> Option<u8> {
    Some(match operator {
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "!=" => 6,
        "<" | "<=" | ">" | ">=" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => 9,
        "*" | "/" | "%" => 10,
        _ => return None,
    })
}

fn comparison(operator: &str, is_signed: bool) -> Option<(IntCC, FloatCC)> {
    Some(match (operator, is_signed) {
        ("==", _) => (IntCC::Equal, FloatCC::Equal),
        ("!=", _) => (IntCC::NotEqual, FloatCC::NotEqual),
        ("<", true) => (IntCC::SignedLessThan, FloatCC::LessThan),
        ("<", false) => (IntCC::UnsignedLessThan, FloatCC::LessThan),
        ("<=", true) => (IntCC::SignedLessThanOrEqual, FloatCC::LessThanOrEqual),
        ("<=", false) => (IntCC::UnsignedLessThanOrEqual, FloatCC::LessThanOrEqual),
        (">", true) => (IntCC::SignedGreaterThan, FloatCC::GreaterThan),
        (">", false) => (IntCC::UnsignedGreaterThan, FloatCC::GreaterThan),
        (">=", true) => (IntCC::SignedGreaterThanOrEqual, FloatCC::GreaterThanOrEqual),
        (">=", false) => (IntCC::UnsignedGreaterThanOrEqual, FloatCC::GreaterThanOrEqual),
        _ => return None,
    })
}
