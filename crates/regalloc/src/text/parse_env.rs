//! Parsing the `env` section.

use super::error::ParseErrorKind;
use super::lex::Token;
use super::parse::{Parser, Result};
use crate::env::{ClassEnv, Costs, MachineEnv};
use crate::reg::{PReg, PRegSet, RegClass};

pub(super) fn env(p: &mut Parser<'_>) -> Result<MachineEnv> {
    p.advance();
    p.open_section()?;
    let mut env = MachineEnv::default();
    let mut seen = PRegSet::EMPTY;
    while !p.eat_punct('}') {
        match p.token {
            Token::Word("int" | "float") => {
                let class = p.class()?;
                env.classes[class.index()] = class_env(p, class, &mut seen)?;
            }
            Token::Word("costs") => {
                p.advance();
                costs(p, &mut env.costs)?;
            }
            _ => return p.unexpected("`int`, `float`, `costs` or `}`"),
        }
        p.end_of_statement()?;
    }
    Ok(env)
}

/// Parses `r0-r3, r5 saved {r5} scratch r4 exchange slot_move`
fn class_env(p: &mut Parser<'_>, class: RegClass, seen: &mut PRegSet) -> Result<ClassEnv> {
    let mut env = ClassEnv::default();
    while p.at_reg() {
        let start = p.start;
        let first = env.order.len();
        p.reg_range(|reg| env.order.push(reg))?;
        for &reg in &env.order[first..] {
            if seen.contains(reg) {
                return p.error_at(start, ParseErrorKind::Duplicate { name: reg.to_string() });
            }
            seen.insert(reg);
        }
        if env.order[first].class() != class {
            let found = format!("`{}`", env.order[first]);
            return p.error_at(start, ParseErrorKind::Unexpected { found, expected: "a register of the class" });
        }
        if !p.eat_comma() {
            break;
        }
    }
    loop {
        if p.eat_word("saved") {
            env.callee_saved = p.reg_set()?;
        } else if p.eat_word("scratch") {
            env.scratch = Some(scratch(p, class)?);
        } else if p.eat_word("exchange") {
            env.exchange = true;
        } else if p.eat_word("slot_move") {
            env.slot_move = true;
        } else {
            return Ok(env);
        }
    }
}

fn scratch(p: &mut Parser<'_>, class: RegClass) -> Result<PReg> {
    let start = p.start;
    let reg = p.reg()?;
    if reg.class() == class {
        return Ok(reg);
    }
    let found = format!("`{reg}`");
    p.error_at(start, ParseErrorKind::Unexpected { found, expected: "a register of the class" })
}

/// Parses `move 1, exchange 2, …`; a cost that is not named keeps its default.
fn costs(p: &mut Parser<'_>, costs: &mut Costs) -> Result<()> {
    loop {
        let field = match p.token {
            Token::Word("move") => &mut costs.mov,
            Token::Word("exchange") => &mut costs.exchange,
            Token::Word("spill") => &mut costs.spill,
            Token::Word("fill") => &mut costs.fill,
            Token::Word("remat") => &mut costs.remat,
            Token::Word("slot_move") => &mut costs.slot_move,
            Token::Word("callee_saved") => &mut costs.callee_saved,
            Token::Word("edge_block") => &mut costs.edge_block,
            _ => return p.unexpected("the name of a cost"),
        };
        p.advance();
        *field = p.number(u64::from(u32::MAX))? as u32;
        if !p.eat_comma() {
            return Ok(());
        }
    }
}
