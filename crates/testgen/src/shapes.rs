//! Problems of any size in shapes that compilers meet, each about `n` instructions long.

use kingpost_regalloc::{
    Block, ClassEnv, Clobbers, Costs, Freq, InstFlags, MachineEnv, Operand, PReg, PRegSet, Problem, RegClass, VReg,
};

/// Returns a machine like x86-64 under System V: 15 integer registers, five of them callee-saved, and 16 for floats.
pub fn machine() -> MachineEnv {
    let ints: Vec<PReg> = [0, 1, 2, 6, 7, 8, 9, 10, 11, 3, 12, 13, 14, 15].map(PReg::int).to_vec();
    let saved: PRegSet = [3, 12, 13, 14, 15].map(PReg::int).into_iter().collect();
    let int = ClassEnv { order: ints, callee_saved: saved, exchange: true, ..ClassEnv::default() };
    let floats = (0..15).map(PReg::float).collect();
    let float = ClassEnv { order: floats, scratch: Some(PReg::float(15)), ..ClassEnv::default() };
    MachineEnv { classes: [int, float], costs: Costs::default() }
}

/// Creates a problem of about the given number of instructions.
type BuildProblem = fn(usize) -> Problem;

/// The shapes by name.
pub const SHAPES: [(&str, BuildProblem); 18] = [
    ("straight line", straight_line),
    ("high pressure", high_pressure),
    ("far operands", far_operands),
    ("two-address code", two_address),
    ("diamonds", diamonds),
    ("cold exits", cold_exits),
    ("calls", calls),
    ("bump allocations", bump_allocations),
    ("switch", switch),
    ("chain of loops", chain_of_loops),
    ("deep nest", deep_nest),
    ("irreducible nest", irreducible_nest),
    ("all live", all_live),
    ("all live in all blocks", all_live_in_blocks),
    ("wide parameters", wide_parameters),
    ("many predecessors", many_predecessors),
    ("exception table", exception_table),
    ("constants", constants),
];

/// Builds problems. The values defined last are used next.
struct Builder {
    p: Problem,
    recent: Vec<VReg>,
    random: u64,
}

impl Builder {
    fn new() -> Builder {
        Builder { p: Problem::default(), recent: Vec::new(), random: 88_172_645_463_325_252 }
    }

    fn random(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % below
    }

    fn int(&mut self) -> VReg {
        self.p.add_vreg(RegClass::Int, 8, false)
    }

    fn block(&mut self, freq: u64, params: &[VReg]) -> Block {
        self.p.begin_block(Freq(freq << 16), params)
    }

    fn edge(&mut self, from: Block, to: usize, freq: u64) {
        self.p.add_edge(from, Block::from_u32(to as u32), Freq(freq << 16), &[], &[]);
    }

    fn inst(&mut self, operands: &[Operand]) {
        self.flagged(InstFlags::NONE, operands);
    }

    fn flagged(&mut self, flags: InstFlags, operands: &[Operand]) {
        operands.iter().for_each(|&operand| self.p.push_operand(operand));
        self.p.push_inst(flags, kingpost_regalloc::ClobberId::NONE);
    }

    fn branch(&mut self, operands: &[Operand]) {
        self.flagged(InstFlags::BRANCH, operands);
    }

    /// Appends an instruction of two recent uses and a def.
    fn work(&mut self, window: usize) {
        let back = [self.random(window), self.random(window)];
        self.work_on(&back);
    }

    /// Appends an instruction with a def, and with uses of the values that were defined `back` defs ago, as far as
    /// they exist.
    fn work_on(&mut self, back: &[usize]) {
        let last = self.recent.len();
        let uses: Vec<VReg> = back.iter().take(last).map(|&back| self.recent[last - 1 - back.min(last - 1)]).collect();
        let def = self.int();
        let operands: Vec<Operand> = uses.into_iter().map(Operand::reg_use).chain([Operand::reg_def(def)]).collect();
        self.inst(&operands);
        self.recent.push(def);
    }

    fn finish(mut self) -> Problem {
        self.p.finish();
        self.p
    }
}

fn straight_line(n: usize) -> Problem {
    let mut b = Builder::new();
    b.block(1, &[]);
    (0..n).for_each(|_| b.work(6));
    b.branch(&[]);
    b.finish()
}

fn high_pressure(n: usize) -> Problem {
    let mut b = Builder::new();
    b.block(1, &[]);
    (0..n).for_each(|_| b.work(100));
    b.branch(&[]);
    b.finish()
}

/// Returns code whose operands are mostly near, and some so far away that they should be in memory in between.
fn far_operands(n: usize) -> Problem {
    let mut b = Builder::new();
    b.block(1, &[]);
    for _ in 0..n {
        let back = [[0, 1, 2, 9, 39, 999][b.random(6)], [0, 1, 4, 29][b.random(4)]];
        b.work_on(&back);
    }
    b.branch(&[]);
    b.finish()
}

fn two_address(n: usize) -> Problem {
    let mut b = Builder::new();
    b.block(1, &[]);
    b.work(1);
    for i in 0..n {
        let back = b.random(8.min(b.recent.len()));
        let (x, y) = (b.recent[b.recent.len() - 1 - back], b.recent[b.recent.len() - 1]);
        let def = b.int();
        let amount = if i % 8 == 0 { Operand::fixed_use(y, PReg::int(1)) } else { Operand::mem_ok_use(y) };
        b.inst(&[Operand::reg_use(x), amount, Operand::reuse_def(def, 0)]);
        b.recent.push(def);
    }
    b.branch(&[]);
    b.finish()
}

/// Returns a sequence of if/else constructs, each joining with a parameter.
fn diamonds(n: usize) -> Problem {
    let mut b = Builder::new();
    let count = (n / 12).max(1);
    let mut params = Vec::new();
    let mut edges = Vec::new();
    for i in 0..count {
        let head = b.block(1, &params);
        b.recent.extend(&params);
        (0..3).for_each(|_| b.work(10));
        let condition = Operand::reg_use(b.recent[b.recent.len() - 1]);
        b.branch(&[condition]);
        let known = b.recent.len();
        let mut args = Vec::new();
        let mut sides = Vec::new();
        for _ in 0..2 {
            sides.push(b.block(1, &[]));
            (0..3).for_each(|_| b.work(10));
            args.push(b.recent[b.recent.len() - 1]);
            b.recent.truncate(known);
            b.branch(&[]);
        }
        edges.push((head, sides, args, 3 * (i + 1)));
        params = vec![b.int()];
    }
    b.block(1, &params);
    b.branch(&[]);
    for (head, sides, args, join) in edges {
        for (&side, &arg) in sides.iter().zip(&args) {
            b.p.add_edge(head, side, Freq::ENTRY, &[], &[]);
            b.p.add_edge(side, Block::from_u32(join as u32), Freq::ENTRY, &[arg], &[]);
        }
    }
    b.finish()
}

/// Returns a long sequence of checks whose failures, far after them, need a value each.
fn cold_exits(n: usize) -> Problem {
    let mut b = Builder::new();
    let count = (n / 6).max(1);
    let mut kept = Vec::new();
    for _ in 0..count {
        b.block(1, &[]);
        (0..3).for_each(|_| b.work(10));
        let value = b.recent[b.recent.len() - 1];
        b.branch(&[Operand::reg_use(value)]);
        kept.push(value);
    }
    b.block(1, &[]);
    b.branch(&[]);
    for &value in &kept {
        b.p.begin_block(Freq(1), &[]);
        b.inst(&[Operand::fixed_use(value, PReg::int(7))]);
        b.branch(&[]);
    }
    for i in 0..count {
        let from = Block::from_u32(i as u32);
        b.edge(from, i + 1, 1);
        b.edge(from, count + 1 + i, 0);
    }
    b.finish()
}

/// Returns calls with permuted arguments, with a few values live across each.
fn calls(n: usize) -> Problem {
    let mut b = Builder::new();
    b.block(1, &[]);
    let lost = [0, 1, 2, 6, 7, 8, 9, 10, 11].map(PReg::int).into_iter().chain((0..15).map(PReg::float)).collect();
    let after = Clobbers::lost({
        let mut lost: PRegSet = lost;
        lost.remove(PReg::int(0));
        lost
    });
    let clobbers = b.p.intern_clobbers(after);
    (0..6).for_each(|_| b.work(6));
    for _ in 0..n / 5 {
        (0..4).for_each(|_| b.work(8));
        for reg in [7, 6, 2, 1] {
            let back = b.random(8);
            let arg = b.recent[b.recent.len() - 1 - back];
            b.p.push_operand(Operand::fixed_use(arg, PReg::int(reg)));
        }
        let result = b.int();
        b.p.push_operand(Operand::fixed_def(result, PReg::int(0)));
        b.p.push_inst(InstFlags::NONE, clobbers);
        b.recent.push(result);
    }
    b.branch(&[]);
    b.finish()
}

/// Returns allocations by incrementing a pointer, each with a cold call for exhausted memory. A context and a sum
/// live across all of them, and across many short values.
fn bump_allocations(n: usize) -> Problem {
    let mut b = Builder::new();
    let count = (n / 10).max(1);
    let lost = [1, 2, 6, 7, 8, 9, 10, 11].map(PReg::int).into_iter().chain((0..8).map(PReg::float)).collect();
    let partial = (8..15).map(PReg::float).collect();
    let clobbers = b.p.intern_clobbers(Clobbers { lost, partial, kept_bytes: 8 });
    let (context, mut sum) = (b.int(), b.int());
    let (mut params, mut edges) = (Vec::new(), Vec::new());
    let (seldom, mostly) = (Freq(Freq::ENTRY.0 / 64), Freq(Freq::ENTRY.0 / 64 * 63));
    for i in 0..count {
        let head = b.block(1, &params);
        match params.last() {
            Some(&place) => {
                let next = b.int();
                b.inst(&[Operand::reg_use(place), Operand::reg_use(sum), Operand::reg_def(next)]);
                sum = next;
            }
            None => b.inst(&[Operand::reg_def(context), Operand::reg_def(sum)]),
        }
        let [pointer, limit, end] = [b.int(), b.int(), b.int()];
        b.inst(&[Operand::reg_use(context), Operand::reg_def(pointer)]);
        b.inst(&[Operand::reg_use(context), Operand::reg_def(limit)]);
        b.inst(&[Operand::reg_use(pointer), Operand::reg_def(end)]);
        b.branch(&[Operand::reg_use(end), Operand::reg_use(limit)]);
        let slow = b.p.begin_block(seldom, &[]);
        let made = b.int();
        b.p.push_operand(Operand::fixed_use(context, PReg::int(7)));
        b.p.push_operand(Operand::fixed_def(made, PReg::int(0)));
        b.p.push_inst(InstFlags::NONE, clobbers);
        b.branch(&[]);
        let fast = b.p.begin_block(mostly, &[]);
        b.inst(&[Operand::reg_use(context), Operand::reg_use(end)]);
        b.branch(&[]);
        edges.push((head, [(slow, made, seldom), (fast, pointer, mostly)], 3 * (i + 1)));
        params = vec![b.int()];
    }
    b.block(1, &params);
    b.branch(&[Operand::reg_use(sum)]);
    for (head, sides, join) in edges {
        for (side, arg, freq) in sides {
            b.p.add_edge(head, side, freq, &[], &[]);
            b.p.add_edge(side, Block::from_u32(join as u32), freq, &[arg], &[]);
        }
    }
    b.finish()
}

/// Returns an interpreter: a loop around a branch to many blocks.
fn switch(n: usize) -> Problem {
    let mut b = Builder::new();
    let cases = (n / 6).max(1);
    let entry = b.block(1, &[]);
    (0..12).for_each(|_| b.work(12));
    b.branch(&[]);
    let known = b.recent.clone();
    let head = b.block(100, &[]);
    let opcode = Operand::reg_use(known[0]);
    b.branch(&[opcode]);
    let mut blocks = Vec::new();
    for _ in 0..cases {
        blocks.push(b.p.begin_block(Freq((100 << 16) / cases as u64), &[]));
        (0..4).for_each(|_| b.work(12));
        b.recent.clone_from(&known);
        b.branch(&[]);
    }
    b.edge(entry, 1, 1);
    for &case in &blocks {
        b.p.add_edge(head, case, Freq((100 << 16) / cases as u64), &[], &[]);
        b.p.add_edge(case, head, Freq((100 << 16) / cases as u64), &[], &[]);
    }
    b.finish()
}

fn chain_of_loops(n: usize) -> Problem {
    let mut b = Builder::new();
    let count = (n / 8).max(1);
    let mut last = b.block(1, &[]);
    (0..8).for_each(|_| b.work(8));
    b.branch(&[]);
    let mut edges = Vec::new();
    for _ in 0..count {
        let i = b.int();
        let start = b.recent[b.recent.len() - 1];
        let head = b.block(10, &[i]);
        let known = b.recent.len();
        b.recent.push(i);
        (0..3).for_each(|_| b.work(8));
        let next = b.recent[b.recent.len() - 1];
        b.branch(&[Operand::reg_use(next)]);
        let back = b.block(9, &[]);
        b.branch(&[]);
        let exit = b.block(1, &[]);
        b.work(8);
        b.branch(&[]);
        let result = b.recent[b.recent.len() - 1];
        b.recent.truncate(known);
        b.recent.push(result);
        edges.push((last, head, back, exit, start, next));
        last = exit;
    }
    for (last, head, back, exit, start, next) in edges {
        b.p.add_edge(last, head, Freq::ENTRY, &[start], &[]);
        b.p.add_edge(head, back, Freq(9 << 16), &[], &[]);
        b.p.add_edge(head, exit, Freq::ENTRY, &[], &[]);
        b.p.add_edge(back, head, Freq(9 << 16), &[next], &[]);
    }
    b.finish()
}

/// Returns nested loops: heads first, then latches outwards. With `extra`, each loop is also entered in the middle.
fn nest(n: usize, extra: bool) -> Problem {
    let mut b = Builder::new();
    let depth = (n / 8).max(1);
    b.block(1, &[]);
    (0..8).for_each(|_| b.work(8));
    b.branch(&[]);
    let freq = |d: usize| 1 << d.min(20);
    for d in 0..depth {
        b.block(freq(d), &[]);
        (0..2).for_each(|_| b.work(8));
        let condition = Operand::reg_use(b.recent[b.recent.len() - 1]);
        b.branch(&[condition]);
        // From the head into the loop; or, if it is entered twice, around the second entry.
        b.block(freq(d), &[]);
        b.branch(&[]);
    }
    let innermost = 1 + 2 * depth;
    b.block(freq(depth), &[]);
    b.branch(&[]);
    // Latch d tests, then branches back through a block of its own, or out.
    for d in (0..depth).rev() {
        b.block(freq(d), &[]);
        let back = 9.min(b.recent.len() - 1);
        let condition = Operand::reg_use(b.recent[b.recent.len() - 1 - back]);
        b.branch(&[condition]);
        b.block(freq(d), &[]);
        b.branch(&[]);
    }
    let exit = innermost + 1 + 2 * depth;
    b.block(1, &[]);
    b.branch(&[]);
    b.edge(Block::from_u32(0), 1, 1);
    for d in 0..depth {
        let head = Block::from_u32(1 + 2 * d as u32);
        let inner = Block::from_u32(2 + 2 * d as u32);
        b.edge(head, 2 + 2 * d, freq(d));
        b.edge(inner, 3 + 2 * d, freq(d));
        let latch = innermost + 1 + 2 * (depth - 1 - d);
        let into = if extra && d + 1 < depth { 3 + 2 * d } else { 1 + 2 * d };
        b.edge(Block::from_u32(latch as u32), latch + 1, freq(d));
        b.edge(Block::from_u32(latch as u32 + 1), into, freq(d));
        let next = latch + 2;
        let out = if next < exit { next } else { exit };
        // The exit edge must not be critical: the latch after it has no other predecessor.
        b.edge(Block::from_u32(latch as u32), out, freq(d));
    }
    b.edge(Block::from_u32(innermost as u32), innermost + 1, freq(depth));
    b.finish()
}

fn deep_nest(n: usize) -> Problem {
    nest(n, false)
}

fn irreducible_nest(n: usize) -> Problem {
    nest(n, true)
}

fn all_live(n: usize) -> Problem {
    let mut b = Builder::new();
    b.block(1, &[]);
    let values: Vec<VReg> = (0..n / 2).map(|_| b.int()).collect();
    values.iter().for_each(|&v| b.inst(&[Operand::reg_def(v)]));
    values.iter().for_each(|&v| b.inst(&[Operand::reg_use(v)]));
    b.branch(&[]);
    b.finish()
}

/// Returns a problem with as many values as blocks, all live in all of them.
fn all_live_in_blocks(n: usize) -> Problem {
    let mut b = Builder::new();
    let count = (n / 4).max(1);
    b.block(1, &[]);
    let values: Vec<VReg> = (0..count).map(|_| b.int()).collect();
    values.iter().for_each(|&v| b.inst(&[Operand::reg_def(v)]));
    b.branch(&[]);
    for _ in 0..count {
        b.block(1, &[]);
        b.work(4);
        b.branch(&[]);
    }
    b.block(1, &[]);
    values.iter().for_each(|&v| b.inst(&[Operand::reg_use(v)]));
    b.branch(&[]);
    for i in 0..=count {
        b.edge(Block::from_u32(i as u32), i + 1, 1);
    }
    b.finish()
}

/// Returns loops with very many parameters, passed on rotated.
fn wide_parameters(n: usize) -> Problem {
    let mut b = Builder::new();
    let width = (n / 4).max(2);
    let entry = b.block(1, &[]);
    let args: Vec<VReg> = (0..width).map(|_| b.int()).collect();
    args.iter().for_each(|&v| b.inst(&[Operand::reg_def(v)]));
    b.branch(&[]);
    let params: Vec<VReg> = (0..width).map(|_| b.int()).collect();
    let head = b.block(10, &params);
    b.branch(&[Operand::reg_use(params[0])]);
    let back = b.block(9, &[]);
    b.branch(&[]);
    let exit = b.block(1, &[]);
    params.iter().for_each(|&v| b.inst(&[Operand::reg_use(v)]));
    b.branch(&[]);
    let mut rotated = params.clone();
    rotated.rotate_left(1);
    b.p.add_edge(entry, head, Freq::ENTRY, &args, &[]);
    b.p.add_edge(head, back, Freq(9 << 16), &[], &[]);
    b.p.add_edge(head, exit, Freq::ENTRY, &[], &[]);
    b.p.add_edge(back, head, Freq(9 << 16), &rotated, &[]);
    b.finish()
}

/// Returns a table branch whose targets all lead to one block.
fn many_predecessors(n: usize) -> Problem {
    let mut b = Builder::new();
    let cases = (n / 3).max(1);
    let entry = b.block(1, &[]);
    (0..10).for_each(|_| b.work(10));
    let opcode = Operand::reg_use(b.recent[0]);
    b.branch(&[opcode]);
    let known = b.recent.clone();
    let mut args = Vec::new();
    for _ in 0..cases {
        b.block(1, &[]);
        b.work(10);
        args.push(b.recent[b.recent.len() - 1]);
        b.recent.clone_from(&known);
        b.branch(&[]);
    }
    let param = b.int();
    let join = b.block(1, &[param]);
    b.recent.push(param);
    (0..10).for_each(|_| b.work(10));
    b.branch(&[]);
    for (i, &arg) in args.iter().enumerate() {
        let case = Block::from_u32(1 + i as u32);
        b.p.add_edge(entry, case, Freq::ENTRY, &[], &[]);
        b.p.add_edge(case, join, Freq::ENTRY, &[arg], &[]);
    }
    b.finish()
}

/// Returns a call with very many handlers, each with two results in one pair of registers.
fn exception_table(n: usize) -> Problem {
    let mut b = Builder::new();
    let entry = b.block(1, &[]);
    (0..10).for_each(|_| b.work(10));
    let known = b.recent.clone();
    let payloads: Vec<[VReg; 2]> = (0..(n / 3).max(1)).map(|_| [b.int(), b.int()]).collect();
    let defs = payloads.iter().flat_map(|&[a, b]| [(a, 0), (b, 2)]);
    let defs: Vec<Operand> = defs.map(|(vreg, enc)| Operand::fixed_def(vreg, PReg::int(enc))).collect();
    b.flagged(InstFlags::BRANCH.and(InstFlags::SAFEPOINT), &defs);
    for payload in payloads {
        let handler = b.block(1, &[]);
        b.recent.clone_from(&known);
        b.recent.extend(payload);
        (0..2).for_each(|_| b.work(4));
        b.branch(&[]);
        b.p.add_edge(entry, handler, Freq::ENTRY, &[], &payload);
    }
    b.finish()
}

/// Returns code with a constant for every use, some of them far from it.
fn constants(n: usize) -> Problem {
    let mut b = Builder::new();
    b.block(1, &[]);
    b.work(1);
    for i in 0..n / 2 {
        let constant = b.int();
        b.flagged(InstFlags::REMAT, &[Operand::reg_def(constant)]);
        if i % 4 == 0 {
            b.recent.push(constant);
        }
        let back = b.random(40.min(b.recent.len()));
        let (x, def) = (b.recent[b.recent.len() - 1 - back], b.int());
        b.inst(&[Operand::reg_use(x), Operand::mem_ok_use(constant), Operand::reuse_def(def, 0)]);
        b.recent.push(def);
    }
    b.branch(&[]);
    b.finish()
}
