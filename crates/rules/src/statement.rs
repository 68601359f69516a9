//! Instructions, one per line.

use crate::ast::{Condition, Flags, Inst, Operand, Position, Statement};
use crate::error::{ErrorKind, RuleError};
use crate::expression::is_constant;
use crate::scanner::Scanner;
use crate::vocabulary::{ConvertOp, Function, InstOp, Relation};

impl Scanner<'_> {
    /// Parses an instruction, up to the end of its line.
    pub(crate) fn statement(&mut self) -> Result<Statement, RuleError> {
        let at = self.position();
        let (defines, inst) = if self.rest().starts_with('%') {
            let name = self.register()?;
            self.expect("=")?;
            (Some(name), self.definition()?)
        } else {
            (None, self.effect()?)
        };
        self.line_end()?;
        Ok(Statement { at, defines, inst })
    }

    /// Parses an instruction without a result.
    fn effect(&mut self) -> Result<Inst, RuleError> {
        let at = self.position();
        match self.word() {
            "store" => self.store(),
            "br" => self.branch(),
            "ret" => Ok(Inst::Return { value: self.operand()? }),
            "unreachable" => Ok(Inst::Unreachable),
            "skip" => Ok(Inst::Skip),
            word => Err(RuleError::new(ErrorKind::Syntax, at, format!("'{word}' is no instruction"))),
        }
    }

    /// Parses an instruction with a result.
    fn definition(&mut self) -> Result<Inst, RuleError> {
        let word = self.peek_word();
        let at = self.position();
        // `lshr (C1), C2` is an instruction, and `lshr(C1, C2)` is a copied value.
        let is_call = self.is_call(word);
        if let Some(op) = InstOp::named(word)
            && !(is_call && self.call_stands_alone(word))
        {
            self.advance(word.len());
            return self.binary(op);
        }
        if let Some(op) = ConvertOp::named(word)
            && (!is_call || self.call_stands_alone(word))
        {
            self.advance(word.len());
            return self.convert(op);
        }
        let parse = match word {
            "icmp" => Self::icmp,
            "select" => Self::select,
            "alloca" => Self::alloca,
            "getelementptr" => Self::get_element_ptr,
            "load" => Self::load,
            _ if self.begins_value(word) => return Ok(Inst::Copy { value: self.operand()? }),
            _ => return Err(RuleError::new(ErrorKind::Syntax, at, format!("'{word}' is no instruction"))),
        };
        self.advance(word.len());
        parse(self)
    }

    fn is_call(&self, word: &str) -> bool {
        self.rest()[word.len()..].trim_start_matches([' ', '\t']).starts_with('(')
    }

    /// Returns `true` if the text after an equals sign is a copied value.
    fn begins_value(&self, word: &str) -> bool {
        let is_type = word.strip_prefix('i').or(word.strip_prefix("Ty"));
        word.starts_with(|c: char| c.is_ascii_digit())
            || word.is_empty()
            || is_constant(word)
            || ["true", "false", "null", "undef"].contains(&word)
            || is_type.is_some_and(|digits| digits.chars().all(|c| c.is_ascii_digit()))
            || Function::named(word).is_some()
            || self.is_call(word)
    }

    fn binary(&mut self, op: InstOp) -> Result<Inst, RuleError> {
        let mut flags = Flags::default();
        loop {
            self.blanks();
            let at = self.position();
            let (flag, allowed) = match self.peek_word() {
                "nsw" => (&mut flags.nsw, op.may_wrap()),
                "nuw" => (&mut flags.nuw, op.may_wrap()),
                "exact" => (&mut flags.exact, op.may_be_exact()),
                _ => break,
            };
            *flag = true;
            let word = self.word();
            if !allowed {
                return Err(RuleError::new(ErrorKind::Flag, at, format!("{} has no flag {word}", op.name())));
            }
        }
        let a = self.operand()?;
        self.expect(",")?;
        Ok(Inst::Binary { op, flags, a, b: self.operand()? })
    }

    fn icmp(&mut self) -> Result<Inst, RuleError> {
        let condition = self.condition();
        let a = self.operand()?;
        self.expect(",")?;
        Ok(Inst::Icmp { condition, a, b: self.operand()? })
    }

    /// Parses the condition of an `icmp`. The first word is the condition, unless it is the whole first operand.
    fn condition(&mut self) -> Condition {
        let word = self.peek_word();
        let after = self.rest()[word.len()..].trim_start_matches([' ', '\t']);
        if !word.starts_with(|c: char| c.is_ascii_alphabetic()) || after.starts_with([',', '(']) {
            return Condition::Abstract(None);
        }
        self.advance(word.len());
        Relation::of_icmp(word).map_or_else(|| Condition::Abstract(Some(word.to_string())), Condition::Known)
    }

    fn select(&mut self) -> Result<Inst, RuleError> {
        let condition = self.operand()?;
        self.expect(",")?;
        let a = self.operand()?;
        self.expect(",")?;
        Ok(Inst::Select { condition, a, b: self.operand()? })
    }

    fn convert(&mut self, op: ConvertOp) -> Result<Inst, RuleError> {
        let value = self.operand()?;
        let to =
            if self.keyword("to") { Some(self.optional_type()?.ok_or_else(|| self.expected("a type"))?) } else { None };
        Ok(Inst::Convert { op, value, to })
    }

    fn alloca(&mut self) -> Result<Inst, RuleError> {
        let element = self.optional_type()?;
        let mut inst = (None, None);
        // With a type, a comma precedes the count; without a type, it does not.
        let mut more = if element.is_some() { self.symbol(",") } else { !self.at_line_end() };
        while more {
            if self.peek_word() == "align" {
                inst.1 = self.alignment()?;
                break;
            }
            if inst.0.is_some() {
                return Err(self.expected("'align'"));
            }
            inst.0 = Some(self.operand()?);
            more = self.symbol(",");
        }
        Ok(Inst::Alloca { element, count: inst.0, align: inst.1 })
    }

    fn get_element_ptr(&mut self) -> Result<Inst, RuleError> {
        // The check does not depend on `inbounds`.
        let _ = self.keyword("inbounds");
        let pointer = self.operand()?;
        let mut indices: Vec<Operand> = Vec::new();
        while self.symbol(",") {
            indices.push(self.operand()?);
        }
        Ok(Inst::GetElementPtr { pointer, indices })
    }

    fn load(&mut self) -> Result<Inst, RuleError> {
        let pointer = self.operand()?;
        Ok(Inst::Load { pointer, align: self.optional_alignment()? })
    }

    fn store(&mut self) -> Result<Inst, RuleError> {
        let value = self.operand()?;
        self.expect(",")?;
        let pointer = self.operand()?;
        Ok(Inst::Store { value, pointer, align: self.optional_alignment()? })
    }

    fn optional_alignment(&mut self) -> Result<Option<u64>, RuleError> {
        if self.symbol(",") { self.alignment() } else { Ok(None) }
    }

    /// Parses `align N`, a power of two.
    fn alignment(&mut self) -> Result<Option<u64>, RuleError> {
        if !self.keyword("align") {
            return Err(self.expected("'align'"));
        }
        let align: Option<u64> = self.peek_word().parse().ok().filter(|align: &u64| align.is_power_of_two());
        if align.is_none() {
            return Err(self.expected("a power of two"));
        }
        self.word();
        Ok(align)
    }

    fn branch(&mut self) -> Result<Inst, RuleError> {
        let condition = self.operand()?;
        let mut label = || {
            self.expect(",")?;
            if !self.keyword("label") {
                return Err(self.expected("'label'"));
            }
            self.register()
        };
        let labels = [label()?, label()?];
        Ok(Inst::Branch { condition, labels })
    }

    /// Parses the label at the start of a block, if the line has one.
    pub(crate) fn label(&mut self) -> Option<(Position, String)> {
        let at = self.position();
        let word = self.peek_word();
        let after = self.rest()[word.len()..].trim_start_matches([' ', '\t']);
        if word.is_empty() || !after.starts_with(':') {
            return None;
        }
        self.advance(word.len());
        self.expect(":").ok()?;
        Some((at, word.to_string()))
    }
}
