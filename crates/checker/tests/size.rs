//! Tests that large functions are checked in about linear time: quadratic work would take minutes here, and a table
//! of blocks and slots would need more memory than there is.

use kingpost_checker::Checker;
use kingpost_regalloc::*;

fn v(n: u32) -> VReg {
    VReg::from_u32(n)
}

struct Builder {
    problem: Problem,
    answer: Allocation,
}

impl Builder {
    fn new(vregs: u32) -> Builder {
        let mut problem = Problem::default();
        for _ in 0..vregs {
            problem.add_vreg(RegClass::Int, 8, false);
        }
        Builder { problem, answer: Allocation::default() }
    }

    fn inst(&mut self, flags: InstFlags, operands: &[(Operand, Loc)]) -> Inst {
        for &(operand, loc) in operands {
            self.problem.push_operand(operand);
            self.answer.locs.push(loc);
        }
        self.problem.push_inst(flags, ClobberId::NONE)
    }

    fn block(&mut self, params: &[VReg]) {
        self.problem.begin_block(Freq::ENTRY, params);
    }

    fn edge(&mut self, from: u32, to: u32, args: &[VReg]) {
        self.problem.add_edge(Block::from_u32(from), Block::from_u32(to), Freq::ENTRY, args, &[]);
    }

    fn slots(&mut self, n: u32) {
        for _ in 0..n {
            self.answer.add_slot(8);
        }
    }

    /// Checks that the checker accepts the allocation with these edits.
    fn assert_accepted(mut self, edits: Vec<Edit>) {
        self.problem.finish();
        let (locs, slots) = (std::mem::take(&mut self.answer.locs), std::mem::take(&mut self.answer.slots));
        self.answer.reset(&self.problem);
        (self.answer.locs, self.answer.slots, self.answer.edits) = (locs, slots, edits);
        if let Err(errors) = Checker::new().check(&self.problem, &MachineEnv::simple(4, 4), &self.answer) {
            panic!("{}", errors[0]);
        }
    }
}

/// Checks a chain of `n` diamonds, all joined blocks with a parameter, with `through` values in slots from the
/// first to the last.
fn check_diamonds(n: u32, through: u32) {
    let mut b = Builder::new(through + 2 * n + 1);
    b.slots(through);
    let r0 = Loc::reg(PReg::int(0));
    let slot = |k| Loc::slot(Slot::from_u32(k));
    b.block(&[]);
    for k in 0..through {
        b.inst(InstFlags::NONE, &[(Operand::new(v(k), Kind::Def, Pos::Late, Constraint::Any), slot(k))]);
    }
    let mut last = v(through + 2 * n);
    b.inst(InstFlags::NONE, &[(Operand::reg_def(last), r0)]);
    for d in 0..n {
        b.inst(InstFlags::BRANCH, &[(Operand::reg_use(last), r0)]);
        let (left, joined) = (v(through + 2 * d), v(through + 2 * d + 1));
        b.block(&[]);
        b.inst(InstFlags::NONE, &[(Operand::reg_def(left), r0)]);
        b.inst(InstFlags::BRANCH, &[]);
        b.block(&[]);
        b.inst(InstFlags::BRANCH, &[]);
        b.block(&[joined]);
        b.edge(3 * d, 3 * d + 1, &[]);
        b.edge(3 * d, 3 * d + 2, &[]);
        b.edge(3 * d + 1, 3 * d + 3, &[left]);
        b.edge(3 * d + 2, 3 * d + 3, &[last]);
        last = joined;
    }
    let uses: Vec<_> = (0..through).map(|k| (Operand::any_use(v(k)), slot(k))).collect();
    b.inst(InstFlags::BRANCH, &uses);
    b.assert_accepted(Vec::new());
}

#[test]
fn a_long_chain_of_joins() {
    check_diamonds(30_000, 3);
}

#[test]
fn many_values_alive_through_many_joins() {
    // 10^5 blocks and 10^4 slots: a table of both would not fit in memory.
    check_diamonds(33_000, 10_000);
}

#[test]
fn many_ways_into_one_block() {
    // A chain of blocks, each with an edge to the same last block, which reads one value.
    let n = 30_000;
    let mut b = Builder::new(n + 1);
    let r0 = Loc::reg(PReg::int(0));
    let r1 = Loc::reg(PReg::int(1));
    b.block(&[]);
    b.inst(InstFlags::NONE, &[(Operand::reg_def(v(n)), r1)]);
    b.inst(InstFlags::BRANCH, &[]);
    // Block 2k + 1 continues the chain, block 2k + 2 leaves it.
    for k in 0..n {
        b.edge(if k == 0 { 0 } else { 2 * k - 1 }, 2 * k + 1, &[]);
        b.edge(if k == 0 { 0 } else { 2 * k - 1 }, 2 * k + 2, &[]);
        b.block(&[]);
        b.inst(InstFlags::NONE, &[(Operand::reg_def(v(k)), r0)]);
        b.inst(InstFlags::BRANCH, &[]);
        b.block(&[]);
        b.inst(InstFlags::BRANCH, &[]);
        b.edge(2 * k + 2, 2 * n + 1, &[]);
    }
    b.edge(2 * n - 1, 2 * n + 1, &[]);
    b.block(&[]);
    b.inst(InstFlags::BRANCH, &[(Operand::reg_use(v(n)), r1)]);
    b.assert_accepted(Vec::new());
}

#[test]
fn a_long_chain_of_copies_all_alive_to_the_end() {
    // One content with as many names and places as there are blocks.
    let n = 20_000;
    let mut b = Builder::new(n);
    b.slots(n);
    let mut edits = Vec::new();
    for k in 0..n {
        b.block(&[v(k)][..usize::from(k > 0)]);
        if k == 0 {
            b.inst(InstFlags::NONE, &[(Operand::reg_def(v(0)), Loc::reg(PReg::int(0)))]);
        }
        let uses: Vec<_> = (0..if k + 1 == n { n } else { 0 })
            .map(|k| (Operand::any_use(v(k)), Loc::slot(Slot::from_u32(k))))
            .collect();
        let at = b.inst(InstFlags::BRANCH, &uses);
        edits.push(Edit { at, kind: EditKind::Spill { from: PReg::int(0), to: Slot::from_u32(k), width: 8 } });
        if k + 1 < n {
            b.edge(k, k + 1, &[v(k)]);
        }
    }
    b.assert_accepted(edits);
}

#[test]
fn nested_loops_with_parameters() {
    let depth = 30_000;
    // Header k passes its parameter, counted up, to header k + 1; latches pass theirs back.
    let mut b = Builder::new(4 * depth + 2);
    let r0 = Loc::reg(PReg::int(0));
    b.block(&[]);
    b.inst(InstFlags::NONE, &[(Operand::reg_def(v(0)), r0)]);
    b.inst(InstFlags::BRANCH, &[]);
    for k in 1..=depth {
        b.block(&[v(2 * k - 1)]);
        b.inst(InstFlags::NONE, &[(Operand::reg_use(v(2 * k - 1)), r0), (Operand::reg_def(v(2 * k)), r0)]);
        b.inst(InstFlags::BRANCH, &[]);
        b.edge(k - 1, k, &[v(2 * k - 2)]);
    }
    for k in depth + 1..=2 * depth {
        b.block(&[]);
        b.inst(InstFlags::NONE, &[(Operand::reg_use(v(2 * k - 2)), r0), (Operand::reg_def(v(2 * k)), r0)]);
        b.inst(InstFlags::BRANCH, &[]);
        b.edge(k - 1, k, &[]);
        let back = 2 * depth + 2 * (k - depth) - 1;
        b.edge(k, back, &[]);
    }
    // The path back from each latch, of two blocks.
    for k in depth + 1..=2 * depth {
        for i in 0..2 {
            b.block(&[]);
            b.inst(InstFlags::BRANCH, &[]);
            let at = 2 * depth + 2 * (k - depth) - 1 + i;
            match i {
                0 => b.edge(at, at + 1, &[]),
                _ => b.edge(at, 2 * depth + 1 - k, &[v(2 * k)]),
            }
        }
    }
    b.assert_accepted(Vec::new());
}

#[test]
fn nested_loops() {
    let depth = 300;
    let mut b = Builder::new(1);
    let r0 = Loc::reg(PReg::int(0));
    b.block(&[]);
    b.inst(InstFlags::NONE, &[(Operand::reg_def(v(0)), r0)]);
    b.inst(InstFlags::BRANCH, &[]);
    // Blocks 1..=depth are headers; block depth + k is the latch of header depth + 1 - k.
    for k in 1..=depth {
        b.block(&[]);
        b.inst(InstFlags::BRANCH, &[(Operand::reg_use(v(0)), r0)]);
        b.edge(k - 1, k, &[]);
    }
    for k in 1..=depth {
        b.block(&[]);
        b.inst(InstFlags::BRANCH, &[(Operand::reg_use(v(0)), r0)]);
        b.edge(depth + k - 1, depth + k, &[]);
        b.edge(depth + k, depth + 1 - k, &[]);
    }
    b.assert_accepted(Vec::new());
}
