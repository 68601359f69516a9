//! Parsing an `allocation` section.

use super::error::ParseErrorKind;
use super::file::Positions;
use super::lex::Token;
use super::parse::{Parser, Result};
use super::parse_problem::Names;
use crate::allocation::{Allocation, Edit, EditKind, LabelRange, Loc, SlotData, StackMapEntry};
use crate::allocator::AllocError;
use crate::entities::{Inst, Slot};
use crate::problem::Problem;
use cranelift_entity::EntityRef;
use std::collections::HashMap;
use std::ops::Range;

const U32: u64 = u32::MAX as u64;

struct Builder<'a> {
    problem: &'a Problem,
    names: &'a Names,
    positions: &'a mut Positions,
    slots: HashMap<u32, Slot>,
    out: Allocation,
}

pub(super) fn allocation(
    p: &mut Parser<'_>,
    problem: &Problem,
    names: &Names,
    positions: &mut Positions,
) -> Result<Allocation> {
    positions.allocation = p.start;
    p.advance();
    let mut b = Builder { problem, names, positions, slots: HashMap::new(), out: Allocation::default() };
    b.out.reset(problem);
    p.open_section()?;
    while !p.eat_punct('}') {
        b.statement(p)?;
        p.end_of_statement()?;
    }
    Ok(b.out)
}

impl Builder<'_> {
    fn statement(&mut self, p: &mut Parser<'_>) -> Result<()> {
        let word = match (p.token, p.numbered_word()) {
            (_, Some(('i', _))) => return self.locs(p),
            (Token::Word(word), _) => word,
            _ => return p.unexpected("a statement or `}`"),
        };
        let parse = match word {
            "slots" => Self::slots,
            "emergency" => Self::emergency,
            "saved" => Self::saved,
            "before" => Self::edit,
            "map" => Self::stack_map,
            "label" => Self::label,
            "stats" => Self::stats,
            _ => return p.unexpected("a statement or `}`"),
        };
        p.advance();
        parse(self, p)
    }

    /// Parses `s0: 8, s1: 16 align 8`
    fn slots(&mut self, p: &mut Parser<'_>) -> Result<()> {
        loop {
            let (number, start) = p.entity('s', "a slot")?;
            p.expect(Token::Punct(':'), "`:` and a size")?;
            let size = p.number(U32)? as u32;
            let align = if p.eat_word("align") { p.number(U32)? as u32 } else { size };
            let slot = self.out.slots.push(SlotData { size, align });
            if self.slots.insert(number, slot).is_some() {
                return p.error_at(start, ParseErrorKind::Duplicate { name: format!("s{number}") });
            }
            if !p.eat_comma() {
                return Ok(());
            }
        }
    }

    fn slot(&self, p: &mut Parser<'_>) -> Result<Slot> {
        let (number, start) = p.entity('s', "a slot")?;
        match self.slots.get(&number) {
            Some(&slot) => Ok(slot),
            None => p.error_at(start, ParseErrorKind::Unknown { name: format!("s{number}") }),
        }
    }

    fn loc(&self, p: &mut Parser<'_>) -> Result<Loc> {
        if p.at_reg() {
            return Ok(Loc::reg(p.reg()?));
        }
        if p.eat_word("none") {
            return Ok(Loc::NONE);
        }
        match p.numbered_word() {
            Some(('s', _)) => Ok(Loc::slot(self.slot(p)?)),
            _ => p.unexpected("a register, a slot or `none`"),
        }
    }

    fn emergency(&mut self, p: &mut Parser<'_>) -> Result<()> {
        let class = p.class()?;
        self.out.emergency[class.index()] = Some(self.slot(p)?);
        Ok(())
    }

    fn saved(&mut self, p: &mut Parser<'_>) -> Result<()> {
        self.out.saved = p.reg_set()?;
        Ok(())
    }

    /// Parses `i3: r0, s1`, or `i3 dropped: r0, r0`
    fn locs(&mut self, p: &mut Parser<'_>) -> Result<()> {
        let start = p.start;
        let inst = self.names.inst(p)?;
        self.positions.insts[inst.index()] = start;
        if p.eat_word("dropped") {
            self.out.drop_inst(inst);
        }
        p.expect(Token::Punct(':'), "`:` and locations")?;
        let operands = self.problem.operand_range(inst);
        let mut found = 0;
        while !matches!(p.token, Token::Newline | Token::Punct('}')) {
            let loc = self.loc(p)?;
            if found < operands.len() {
                self.out.locs[operands.start + found] = loc;
            }
            found += 1;
            if !p.eat_comma() {
                break;
            }
        }
        if found == operands.len() {
            return Ok(());
        }
        p.error_at(start, ParseErrorKind::LocationCount { found, expected: operands.len() })
    }

    /// Parses `i3: spill r0 -> s1 8`
    fn edit(&mut self, p: &mut Parser<'_>) -> Result<()> {
        self.positions.edits.push(p.start);
        let at = self.names.inst(p)?;
        p.expect(Token::Punct(':'), "`:` and an edit")?;
        let Token::Word(word) = p.token else { return p.unexpected("an edit") };
        let parse = match word {
            "move" => Self::mov,
            "exchange" => Self::exchange,
            "spill" => Self::spill,
            "fill" => Self::fill,
            "slot_move" => Self::slot_move,
            "remat" => Self::remat,
            _ => return p.unexpected("an edit"),
        };
        p.advance();
        let kind = parse(self, p)?;
        self.out.edits.push(Edit { at, kind });
        Ok(())
    }

    fn mov(&mut self, p: &mut Parser<'_>) -> Result<EditKind> {
        let from = p.reg()?;
        arrow(p)?;
        Ok(EditKind::Move { from, to: p.reg()?, width: width(p)? })
    }

    fn exchange(&mut self, p: &mut Parser<'_>) -> Result<EditKind> {
        let a = p.reg()?;
        p.expect(Token::Punct(','), "`,`")?;
        Ok(EditKind::Exchange { a, b: p.reg()?, width: width(p)? })
    }

    fn spill(&mut self, p: &mut Parser<'_>) -> Result<EditKind> {
        let from = p.reg()?;
        arrow(p)?;
        Ok(EditKind::Spill { from, to: self.slot(p)?, width: width(p)? })
    }

    fn fill(&mut self, p: &mut Parser<'_>) -> Result<EditKind> {
        let from = self.slot(p)?;
        arrow(p)?;
        Ok(EditKind::Fill { from, to: p.reg()?, width: width(p)? })
    }

    fn slot_move(&mut self, p: &mut Parser<'_>) -> Result<EditKind> {
        let from = self.slot(p)?;
        arrow(p)?;
        Ok(EditKind::SlotMove { from, to: self.slot(p)?, width: width(p)? })
    }

    fn remat(&mut self, p: &mut Parser<'_>) -> Result<EditKind> {
        let inst = self.names.inst(p)?;
        arrow(p)?;
        Ok(EditKind::Remat { inst, to: p.reg()? })
    }

    /// Parses `i5: s0, s1`
    fn stack_map(&mut self, p: &mut Parser<'_>) -> Result<()> {
        let inst = self.names.inst(p)?;
        p.expect(Token::Punct(':'), "`:` and slots")?;
        loop {
            self.positions.stack_maps.push(p.start);
            let slot = self.slot(p)?;
            self.out.stack_maps.push(StackMapEntry { inst, slot });
            if !p.eat_comma() {
                return Ok(());
            }
        }
    }

    /// Parses `3 = r0 over i2..i5`
    fn label(&mut self, p: &mut Parser<'_>) -> Result<()> {
        self.positions.labels.push(p.start);
        let label = p.number(U32)? as u32;
        p.expect(Token::Punct('='), "`=`")?;
        let loc = self.loc(p)?;
        p.expect(Token::Word("over"), "`over`")?;
        let Range { start: from, end: to } = self.names.inst_range(p)?;
        self.out.labels.push(LabelRange { label, loc, from, to });
        Ok(())
    }

    /// Parses `steps 9 splits 1 evictions 0`
    fn stats(&mut self, p: &mut Parser<'_>) -> Result<()> {
        p.expect(Token::Word("steps"), "`steps`")?;
        self.out.stats.steps = p.number(u64::MAX)?;
        p.expect(Token::Word("splits"), "`splits`")?;
        self.out.stats.splits = p.number(U32)? as u32;
        p.expect(Token::Word("evictions"), "`evictions`")?;
        self.out.stats.evictions = p.number(U32)? as u32;
        Ok(())
    }
}

/// Reads `impossible i2 int` or `impossible i2 r1`.
pub(super) fn refusal(problem: &Problem, text: &str) -> Result<AllocError> {
    let p = &mut Parser::new(text);
    p.skip_newlines();
    p.expect(Token::Word("impossible"), "`impossible`")?;
    let (number, start) = p.entity('i', "an instruction")?;
    if number as usize >= problem.num_insts() {
        return p.error_at(start, ParseErrorKind::Unknown { name: format!("i{number}") });
    }
    let inst = Inst::from_u32(number);
    let refusal = match p.at_reg() {
        true => AllocError::FixedConflict { inst, reg: p.reg()? },
        false => AllocError::TooFewRegisters { inst, class: p.class()? },
    };
    p.skip_newlines();
    p.expect(Token::End, "the end of the answer")?;
    Ok(refusal)
}

fn arrow(p: &mut Parser<'_>) -> Result<()> {
    p.expect(Token::Arrow, "`->`")
}

fn width(p: &mut Parser<'_>) -> Result<u8> {
    Ok(p.number(255)? as u8)
}
