//! Parsing a `problem` section.

use super::error::ParseErrorKind;
use super::file::Positions;
use super::lex::Token;
use super::parse::{Parser, Result};
use super::print::FLAGS;
use crate::entities::{Block, ClobberId, Inst, RegSetId, VReg};
use crate::operand::{Constraint, Kind, Operand, Pos};
use crate::problem::{Clobbers, Freq, InstFlags, LabelUse, Problem};
use crate::reg::PRegSet;
use cranelift_entity::EntityRef;
use std::collections::HashMap;
use std::ops::Range;

/// Limit on the distinct register subsets, and on the distinct clobber descriptions, of one problem.
const MAX_INTERNED: u64 = 4096;

/// Map from the numbers of the text to entities.
#[derive(Default)]
pub(super) struct Names {
    vregs: HashMap<u32, VReg>,
    blocks: HashMap<u32, Block>,
    insts: HashMap<u32, Inst>,
    /// The largest number of an instruction.
    last_inst: Option<u32>,
    /// One past the last instruction of the text.
    end: u32,
}

impl Names {
    fn vreg(&self, p: &mut Parser<'_>) -> Result<VReg> {
        let (number, start) = p.entity('v', "a value")?;
        match self.vregs.get(&number) {
            Some(&vreg) => Ok(vreg),
            None => p.error_at(start, ParseErrorKind::Unknown { name: format!("v{number}") }),
        }
    }

    pub(super) fn inst(&self, p: &mut Parser<'_>) -> Result<Inst> {
        let (number, start) = p.entity('i', "an instruction")?;
        match self.insts.get(&number) {
            Some(&inst) => Ok(inst),
            None => p.error_at(start, ParseErrorKind::Unknown { name: format!("i{number}") }),
        }
    }

    /// Parses an instruction, or one past the last.
    fn inst_end(&self, p: &mut Parser<'_>) -> Result<Inst> {
        match p.numbered_word() {
            Some(('i', digits)) if self.last_inst.is_some_and(|n| digits.parse() == Ok(u64::from(n) + 1)) => {
                p.advance();
                Ok(Inst::from_u32(self.end))
            }
            _ => self.inst(p),
        }
    }

    /// Parses `i2..i5`, the end exclusive.
    pub(super) fn inst_range(&self, p: &mut Parser<'_>) -> Result<Range<Inst>> {
        let from = self.inst(p)?;
        p.expect(Token::Range, "`..`")?;
        Ok(from..self.inst_end(p)?)
    }

    fn block(&self, p: &Parser<'_>, (number, start): (u32, usize)) -> Result<Block> {
        match self.blocks.get(&number) {
            Some(&block) => Ok(block),
            None => p.error_at(start, ParseErrorKind::Unknown { name: format!("b{number}") }),
        }
    }
}

/// An edge whose target may not have been read yet.
struct ForwardEdge {
    /// Its number, if the text has one.
    number: Option<u32>,
    from: Block,
    to: (u32, usize),
    freq: Option<Freq>,
    /// Ranges of the pool of values.
    args: Range<usize>,
    defs: Range<usize>,
}

struct Builder<'n> {
    problem: Problem,
    names: &'n mut Names,
    positions: &'n mut Positions,
    edges: Vec<ForwardEdge>,
    pool: Vec<VReg>,
    order: Vec<(u32, usize)>,
    /// Block under construction, and whether its edges have been read.
    block: Option<(Block, bool)>,
    clobbers: HashMap<Clobbers, ClobberId>,
    reg_sets: HashMap<PRegSet, RegSetId>,
}

pub(super) fn problem(p: &mut Parser<'_>, names: &mut Names, positions: &mut Positions) -> Result<Problem> {
    p.advance();
    let name = function_name(p)?;
    let mut b = Builder {
        problem: Problem::default(),
        names,
        positions,
        edges: Vec::new(),
        pool: Vec::new(),
        order: Vec::new(),
        block: None,
        clobbers: HashMap::new(),
        reg_sets: HashMap::new(),
    };
    b.problem.name = name;
    p.open_section()?;
    while !p.eat_punct('}') {
        b.statement(p)?;
        p.end_of_statement()?;
    }
    b.finish(p)
}

fn function_name(p: &mut Parser<'_>) -> Result<String> {
    let name = match p.token {
        Token::Name(name) => name.to_string(),
        Token::Quoted(quoted) => match unescape(quoted) {
            Some(name) => name,
            None => return p.unexpected("a name with valid escapes"),
        },
        _ => return p.unexpected("`%` and a name"),
    };
    p.advance();
    Ok(name)
}

/// Undoes [`str::escape_default`].
fn unescape(quoted: &str) -> Option<String> {
    let mut name = String::new();
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        name.push(match c {
            '\\' => match chars.next()? {
                't' => '\t',
                'r' => '\r',
                'n' => '\n',
                c @ ('\'' | '"' | '\\') => c,
                'u' => {
                    let (code, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
                    chars = rest.chars();
                    char::from_u32(u32::from_str_radix(code, 16).ok()?)?
                }
                _ => return None,
            },
            c => c,
        });
    }
    Some(name)
}

impl Builder<'_> {
    fn statement(&mut self, p: &mut Parser<'_>) -> Result<()> {
        match (p.token, p.numbered_word()) {
            (Token::Word("order"), _) => self.order_list(p),
            (Token::Word("label"), _) => self.label(p),
            (_, Some(('v', _))) => self.vregs(p),
            (_, Some(('b', _))) => self.block(p),
            _ => self.inst(p),
        }
    }

    /// Parses `v0, v1: int 8 ref`
    fn vregs(&mut self, p: &mut Parser<'_>) -> Result<()> {
        let mut numbers = Vec::new();
        loop {
            numbers.push(p.entity('v', "a value")?);
            if !p.eat_comma() {
                break;
            }
        }
        p.expect(Token::Punct(':'), "`:` and the class of the values")?;
        let class = p.class()?;
        let width = p.number(255)? as u8;
        let is_ref = p.eat_word("ref");
        for (number, start) in numbers {
            let vreg = self.problem.add_vreg(class, width, is_ref);
            if self.names.vregs.insert(number, vreg).is_some() {
                return p.error_at(start, ParseErrorKind::Duplicate { name: format!("v{number}") });
            }
        }
        Ok(())
    }

    /// Parses `b1(v4, v5) freq 10:`
    fn block(&mut self, p: &mut Parser<'_>) -> Result<()> {
        let (number, start) = p.entity('b', "a block")?;
        let params = self.vreg_list(p)?;
        let freq = if p.eat_word("freq") { p.freq()? } else { Freq::ENTRY };
        p.expect(Token::Punct(':'), "`:`")?;
        let block = self.problem.begin_block(freq, &self.pool[params.clone()]);
        self.pool.truncate(params.start);
        self.block = Some((block, false));
        match self.names.blocks.insert(number, block) {
            None => Ok(()),
            Some(_) => p.error_at(start, ParseErrorKind::Duplicate { name: format!("b{number}") }),
        }
    }

    /// Parses `(v1, v2)`, or nothing; appends the values to the pool.
    fn vreg_list(&mut self, p: &mut Parser<'_>) -> Result<Range<usize>> {
        let first = self.pool.len();
        if p.eat_punct('(') {
            while !p.eat_punct(')') {
                let vreg = self.names.vreg(p)?;
                self.pool.push(vreg);
                if !p.eat_comma() && p.token != Token::Punct(')') {
                    return p.unexpected("`,` or `)`");
                }
            }
        }
        Ok(first..self.pool.len())
    }

    /// Parses `i3: branch use v1, clobbers {r0} -> b1, b2(v4)`
    fn inst(&mut self, p: &mut Parser<'_>) -> Result<()> {
        let (block, closed) = match self.block {
            Some(state) => state,
            None => return p.unexpected("a value, a block, `order`, `label` or `}`"),
        };
        if closed {
            return p.error(ParseErrorKind::AfterEdges);
        }
        self.positions.insts.push(p.start);
        let number = match p.numbered_word() {
            Some(('i', _)) => {
                let number = p.entity('i', "an instruction")?;
                p.expect(Token::Punct(':'), "`:`")?;
                Some(number)
            }
            _ => None,
        };
        let start = p.start;
        let flags = flags(p);
        let clobbers = self.operands(p)?;
        if p.start == start {
            return p.unexpected("an instruction");
        }
        let inst = self.problem.push_inst(flags, clobbers);
        self.names.end = inst.as_u32() + 1;
        if let Some((number, start)) = number {
            self.names.last_inst = self.names.last_inst.max(Some(number));
            if self.names.insts.insert(number, inst).is_some() {
                return p.error_at(start, ParseErrorKind::Duplicate { name: format!("i{number}") });
            }
        }
        if p.eat(Token::Arrow) {
            self.block = Some((block, true));
            self.edge_list(p, block)?;
        }
        Ok(())
    }

    /// Parses operands and, anywhere among them, the clobbers of the instruction.
    fn operands(&mut self, p: &mut Parser<'_>) -> Result<ClobberId> {
        let mut clobbers = ClobberId::NONE;
        loop {
            match p.token {
                Token::Word("clobbers") => clobbers = self.clobbers(p)?,
                Token::Word("use" | "def" | "late" | "early") => {
                    let operand = self.operand(p)?;
                    self.problem.push_operand(operand);
                }
                _ => return Ok(clobbers),
            }
            if !p.eat_comma() {
                return Ok(clobbers);
            }
            if !matches!(p.token, Token::Word("clobbers" | "use" | "def" | "late" | "early")) {
                return p.unexpected("an operand or `clobbers`");
            }
        }
    }

    fn clobbers(&mut self, p: &mut Parser<'_>) -> Result<ClobberId> {
        p.advance();
        let mut clobbers = Clobbers::lost(p.reg_set()?);
        if p.eat_word("kept") {
            clobbers.kept_bytes = p.number(255)? as u8;
            clobbers.partial = p.reg_set()?;
        }
        if let Some(&id) = self.clobbers.get(&clobbers) {
            return Ok(id);
        }
        if self.clobbers.len() as u64 == MAX_INTERNED {
            return p.error(ParseErrorKind::TooMany { what: "clobber descriptions", limit: MAX_INTERNED });
        }
        let id = self.problem.intern_clobbers(clobbers);
        self.clobbers.insert(clobbers, id);
        Ok(id)
    }

    /// Parses `late use v1 = r0`, `def v2 reuse 0 rmw`, `use v3 in {r0, r1}`
    fn operand(&mut self, p: &mut Parser<'_>) -> Result<Operand> {
        let pos = match p.token {
            Token::Word("late") => Some(Pos::Late),
            Token::Word("early") => Some(Pos::Early),
            _ => None,
        };
        if pos.is_some() {
            p.advance();
        }
        let (kind, usual) = match p.token {
            Token::Word("use") => (Kind::Use, Pos::Early),
            Token::Word("def") => (Kind::Def, Pos::Late),
            _ => return p.unexpected("`use` or `def`"),
        };
        p.advance();
        let vreg = self.names.vreg(p)?;
        let constraint = self.constraint(p)?;
        let operand = Operand::new(vreg, kind, pos.unwrap_or(usual), constraint);
        Ok(if p.eat_word("rmw") { operand.with_rmw() } else { operand })
    }

    fn constraint(&mut self, p: &mut Parser<'_>) -> Result<Constraint> {
        if p.eat_punct('=') {
            return Ok(Constraint::Fixed(p.reg()?));
        }
        let constraint = match p.token {
            Token::Word("stack") => Constraint::Stack,
            Token::Word("mem") => Constraint::MemOk,
            Token::Word("any") => Constraint::Any,
            Token::Word("reuse") => {
                p.advance();
                return Ok(Constraint::Reuse(p.number(255)? as u8));
            }
            Token::Word("in") => {
                p.advance();
                return Ok(Constraint::Within(self.reg_set(p)?));
            }
            _ => return Ok(Constraint::Reg),
        };
        p.advance();
        Ok(constraint)
    }

    fn reg_set(&mut self, p: &mut Parser<'_>) -> Result<RegSetId> {
        let set = p.reg_set()?;
        if let Some(&id) = self.reg_sets.get(&set) {
            return Ok(id);
        }
        if self.reg_sets.len() as u64 == MAX_INTERNED {
            return p.error(ParseErrorKind::TooMany { what: "register subsets", limit: MAX_INTERNED });
        }
        let id = self.problem.intern_reg_set(set);
        self.reg_sets.insert(set, id);
        Ok(id)
    }

    /// Parses `b1 freq 9, e3 b2(v1) freq 1 defines (v7)`
    fn edge_list(&mut self, p: &mut Parser<'_>, from: Block) -> Result<()> {
        loop {
            let number = match p.numbered_word() {
                Some(('e', _)) => Some(p.entity('e', "an edge")?.0),
                _ => None,
            };
            let to = p.entity('b', "a block")?;
            let args = self.vreg_list(p)?;
            let freq = if p.eat_word("freq") { Some(p.freq()?) } else { None };
            let defs = if p.eat_word("defines") { self.vreg_list(p)? } else { 0..0 };
            self.edges.push(ForwardEdge { number, from, to, freq, args, defs });
            if !p.eat_comma() {
                return Ok(());
            }
        }
    }

    fn order_list(&mut self, p: &mut Parser<'_>) -> Result<()> {
        p.advance();
        loop {
            self.order.push(p.entity('b', "a block")?);
            if !p.eat_comma() {
                return Ok(());
            }
        }
    }

    /// Parses `label 3 = v1 over i2..i5`
    fn label(&mut self, p: &mut Parser<'_>) -> Result<()> {
        p.advance();
        let label = p.number(u64::from(u32::MAX))? as u32;
        p.expect(Token::Punct('='), "`=`")?;
        let vreg = self.names.vreg(p)?;
        p.expect(Token::Word("over"), "`over`")?;
        let Range { start: from, end: to } = self.names.inst_range(p)?;
        self.problem.labels.push(LabelUse { label, vreg, from, to });
        Ok(())
    }

    fn finish(mut self, p: &Parser<'_>) -> Result<Problem> {
        let blocks = self.problem.num_blocks();
        let (mut fan_out, mut fan_in) = (vec![0; blocks], vec![0; blocks]);
        for edge in &self.edges {
            fan_out[edge.from.index()] += 1;
            fan_in[self.names.block(p, edge.to)?.index()] += 1;
        }
        // Numbered edges are placed by their numbers; the others keep the order of the text.
        let mut edges: Vec<(u64, &ForwardEdge)> =
            self.edges.iter().enumerate().map(|(i, e)| (e.number.map_or(i as u64, u64::from), e)).collect();
        edges.sort_by_key(|&(number, _)| number);
        // The block of an edge by its predecessor, and its target.
        let mut edge_blocks = vec![None; blocks];
        for (_, edge) in edges {
            let to = self.names.block(p, edge.to)?;
            let share = Freq(self.problem.freq(edge.from).0 / fan_out[edge.from.index()]);
            let freq = edge.freq.unwrap_or(share);
            let (args, defs) = (&self.pool[edge.args.clone()], &self.pool[edge.defs.clone()]);
            let joins = fan_out[edge.from.index()] == 1 && fan_in[to.index()] > 1;
            let is_bare = self.problem.is_bare(self.problem.terminator(edge.from));
            if joins && !is_bare && args.is_empty() && defs.is_empty() {
                let between = self.problem.begin_block(freq, &[]);
                self.problem.push_inst(InstFlags::BRANCH, ClobberId::NONE);
                self.problem.add_edge(edge.from, between, freq, &[], &[]);
                edge_blocks[edge.from.index()] = Some((between, to, freq));
            } else {
                self.problem.add_edge(edge.from, to, freq, args, defs);
            }
        }
        for &(between, to, freq) in edge_blocks.iter().flatten() {
            self.problem.add_edge(between, to, freq, &[], &[]);
        }
        let order: Vec<Block> = match self.order.is_empty() {
            true => (0..blocks).map(Block::new).collect(),
            false => self.order.iter().map(|&block| self.names.block(p, block)).collect::<Result<_>>()?,
        };
        for block in order {
            self.problem.order.push(block);
            self.problem.order.extend(edge_blocks[block.index()].map(|(between, ..)| between));
        }
        self.problem.finish();
        Ok(self.problem)
    }
}

/// Parses `move`, `safepoint` and so on; `nop` denotes no flag.
fn flags(p: &mut Parser<'_>) -> InstFlags {
    let mut flags = InstFlags::NONE;
    loop {
        match FLAGS.iter().find(|(word, _)| p.token == Token::Word(word)) {
            Some((_, flag)) => flags = flags.and(*flag),
            None if p.token == Token::Word("nop") => {}
            None => return flags,
        }
        p.advance();
    }
}
