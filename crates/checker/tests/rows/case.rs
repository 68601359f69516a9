//! Problems and answers written side by side.

use kingpost_checker::{Checker, Rule};
use kingpost_regalloc::*;

pub(crate) const R0: PReg = PReg::int(0);
pub(crate) const R1: PReg = PReg::int(1);
pub(crate) const R2: PReg = PReg::int(2);
pub(crate) const F0: PReg = PReg::float(0);

/// A problem and its answer, written side by side.
pub(crate) struct Case {
    pub(crate) problem: Problem,
    pub(crate) env: MachineEnv,
    pub(crate) answer: Allocation,
}

pub(crate) fn v(n: u32) -> VReg {
    VReg::from_u32(n)
}

pub(crate) fn s(n: u32) -> Slot {
    Slot::from_u32(n)
}

pub(crate) fn i(n: u32) -> Inst {
    Inst::from_u32(n)
}

pub(crate) fn r(n: u8) -> Loc {
    Loc::reg(PReg::int(n))
}

pub(crate) fn f(n: u8) -> Loc {
    Loc::reg(PReg::float(n))
}

pub(crate) fn slot(n: u32) -> Loc {
    Loc::slot(s(n))
}

/// One instruction: its properties, and its operands with their locations.
pub(crate) struct Row {
    pub(crate) flags: InstFlags,
    pub(crate) clobbers: Clobbers,
    pub(crate) operands: Vec<(Operand, Loc)>,
}

pub(crate) fn row(operands: &[(Operand, Loc)]) -> Row {
    Row { flags: InstFlags::NONE, clobbers: Clobbers::default(), operands: operands.to_vec() }
}

pub(crate) fn flagged(flags: InstFlags, operands: &[(Operand, Loc)]) -> Row {
    Row { flags, ..row(operands) }
}

pub(crate) fn clobbering(clobbers: Clobbers, operands: &[(Operand, Loc)]) -> Row {
    Row { clobbers, ..row(operands) }
}

/// Returns a case with a value per letter: `i` an 8-byte integer, `w` a 4-byte one, `r` a reference, `f` an 8-byte
/// float, `x` a 16-byte vector.
pub(crate) fn case(vregs: &str) -> Case {
    let mut problem = Problem::default();
    for letter in vregs.chars() {
        let (class, width, is_ref) = match letter {
            'w' => (RegClass::Int, 4, false),
            'r' => (RegClass::Int, 8, true),
            'f' => (RegClass::Float, 8, false),
            'x' => (RegClass::Float, 16, false),
            _ => (RegClass::Int, 8, false),
        };
        problem.add_vreg(class, width, is_ref);
    }
    Case { problem, env: MachineEnv::simple(4, 4), answer: Allocation::default() }
}

impl Case {
    pub(crate) fn block(mut self, params: &[VReg], rows: Vec<Row>) -> Case {
        self.problem.begin_block(Freq::ENTRY, params);
        for row in rows {
            for &(operand, loc) in &row.operands {
                self.problem.push_operand(operand);
                self.answer.locs.push(loc);
            }
            let clobbers = self.problem.intern_clobbers(row.clobbers);
            self.problem.push_inst(row.flags, clobbers);
        }
        self
    }

    pub(crate) fn edge(mut self, from: u32, to: u32, args: &[VReg], defs: &[VReg]) -> Case {
        self.problem.add_edge(Block::from_u32(from), Block::from_u32(to), Freq::ENTRY, args, defs);
        self
    }

    /// Completes the case; `slots` are the widths of its slots.
    pub(crate) fn done(mut self, slots: &[u8]) -> Case {
        self.problem.finish();
        let locs = std::mem::take(&mut self.answer.locs);
        self.answer.reset(&self.problem);
        self.answer.locs = locs;
        for &width in slots {
            self.answer.add_slot(width);
        }
        self
    }

    pub(crate) fn edit(mut self, at: u32, kind: EditKind) -> Case {
        self.answer.edits.push(Edit { at: i(at), kind });
        self.answer.edits.sort_by_key(|edit| edit.at);
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Case)) -> Case {
        change(&mut self);
        self
    }

    #[track_caller]
    pub(crate) fn accepted(&self) {
        if let Err(errors) = Checker::new().check(&self.problem, &self.env, &self.answer) {
            panic!("{}", errors.iter().map(|e| format!("{e}\n")).collect::<String>());
        }
    }

    pub(crate) fn first_rule(&self) -> Rule {
        Checker::new().check(&self.problem, &self.env, &self.answer).expect_err("must be rejected")[0].rule
    }

    #[track_caller]
    pub(crate) fn first_rule_is(&self, rule: Rule) {
        assert_eq!(self.first_rule(), rule);
    }

    #[track_caller]
    pub(crate) fn rejected(&self, rule: Rule) {
        let errors = Checker::new().check(&self.problem, &self.env, &self.answer).expect_err("must be rejected");
        let rules: Vec<Rule> = errors.iter().map(|e| e.rule).collect();
        assert!(rules.iter().all(|&r| r == rule), "expected {rule:?}, got {rules:?}: {}", errors[0]);
    }
}

pub(crate) fn def(n: u32) -> Operand {
    Operand::reg_def(v(n))
}

pub(crate) fn use_(n: u32) -> Operand {
    Operand::reg_use(v(n))
}

pub(crate) fn ret(operands: &[(Operand, Loc)]) -> Row {
    flagged(InstFlags::BRANCH, operands)
}

pub(crate) fn jump() -> Row {
    flagged(InstFlags::BRANCH, &[])
}

pub(crate) fn mov(from: PReg, to: PReg) -> EditKind {
    EditKind::Move { from, to, width: 8 }
}

pub(crate) fn spill(from: PReg, to: u32) -> EditKind {
    EditKind::Spill { from, to: s(to), width: 8 }
}

pub(crate) fn fill(from: u32, to: PReg) -> EditKind {
    EditKind::Fill { from: s(from), to, width: 8 }
}

/// Returns `v0 = ..; v1 = ..; use v0, v1`, with v0 at `a` and v1 at `b`.
pub(crate) fn two(a: Loc, b: Loc) -> Case {
    case("ii").block(&[], vec![row(&[(def(0), a)]), row(&[(def(1), b)]), ret(&[(use_(0), a), (use_(1), b)])]).done(&[])
}

/// Returns a case with `v0` spilled while `v1` takes its register, and loaded again.
pub(crate) fn spilled() -> Case {
    case("ii")
        .block(&[], vec![row(&[(def(0), r(0))]), row(&[(def(1), r(0))]), ret(&[(use_(0), r(1)), (use_(1), r(0))])])
        .done(&[8])
        .edit(1, spill(R0, 0))
        .edit(2, fill(0, R1))
}
