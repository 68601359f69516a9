//! Each thing that the checker must notice, as a hand-written bad allocation and a good twin.

use kingpost_checker::{Checker, Rule};
use kingpost_regalloc::*;

const R0: PReg = PReg::int(0);
const R1: PReg = PReg::int(1);
const R2: PReg = PReg::int(2);
const F0: PReg = PReg::float(0);

/// A problem and its answer, written side by side.
struct Case {
    problem: Problem,
    env: MachineEnv,
    answer: Allocation,
}

fn v(n: u32) -> VReg {
    VReg::from_u32(n)
}

fn s(n: u32) -> Slot {
    Slot::from_u32(n)
}

fn i(n: u32) -> Inst {
    Inst::from_u32(n)
}

fn r(n: u8) -> Loc {
    Loc::reg(PReg::int(n))
}

fn f(n: u8) -> Loc {
    Loc::reg(PReg::float(n))
}

fn slot(n: u32) -> Loc {
    Loc::slot(s(n))
}

/// One instruction: what it is, and its operands with their locations.
struct Row {
    flags: InstFlags,
    clobbers: Clobbers,
    operands: Vec<(Operand, Loc)>,
}

fn row(operands: &[(Operand, Loc)]) -> Row {
    Row { flags: InstFlags::NONE, clobbers: Clobbers::default(), operands: operands.to_vec() }
}

fn flagged(flags: InstFlags, operands: &[(Operand, Loc)]) -> Row {
    Row { flags, ..row(operands) }
}

fn clobbering(clobbers: Clobbers, operands: &[(Operand, Loc)]) -> Row {
    Row { clobbers, ..row(operands) }
}

/// Values by letter: `i` an 8-byte integer, `w` a 4-byte one, `r` a reference, `f` an 8-byte float, `x` a 16-byte vector.
fn case(vregs: &str) -> Case {
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
    fn block(mut self, params: &[VReg], rows: Vec<Row>) -> Case {
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

    fn edge(mut self, from: u32, to: u32, args: &[VReg], defs: &[VReg]) -> Case {
        self.problem.add_edge(Block::from_u32(from), Block::from_u32(to), Freq::ENTRY, args, defs);
        self
    }

    /// Ends building; `slots` are widths.
    fn done(mut self, slots: &[u8]) -> Case {
        self.problem.finish();
        let locs = std::mem::take(&mut self.answer.locs);
        self.answer.reset(&self.problem);
        self.answer.locs = locs;
        for &width in slots {
            self.answer.add_slot(width);
        }
        self
    }

    fn edit(mut self, at: u32, kind: EditKind) -> Case {
        self.answer.edits.push(Edit { at: i(at), kind });
        self.answer.edits.sort_by_key(|edit| edit.at);
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Case)) -> Case {
        change(&mut self);
        self
    }

    #[track_caller]
    fn accepted(&self) {
        if let Err(errors) = Checker::new().check(&self.problem, &self.env, &self.answer) {
            panic!("{}", errors.iter().map(|e| format!("{e}\n")).collect::<String>());
        }
    }

    fn first_rule(&self) -> Rule {
        Checker::new().check(&self.problem, &self.env, &self.answer).expect_err("must be rejected")[0].rule
    }

    #[track_caller]
    fn first_rule_is(&self, rule: Rule) {
        assert_eq!(self.first_rule(), rule);
    }

    #[track_caller]
    fn rejected(&self, rule: Rule) {
        let errors = Checker::new().check(&self.problem, &self.env, &self.answer).expect_err("must be rejected");
        let rules: Vec<Rule> = errors.iter().map(|e| e.rule).collect();
        assert!(rules.iter().all(|&r| r == rule), "expected {rule:?}, got {rules:?}: {}", errors[0]);
    }
}

fn def(n: u32) -> Operand {
    Operand::reg_def(v(n))
}

fn use_(n: u32) -> Operand {
    Operand::reg_use(v(n))
}

fn ret(operands: &[(Operand, Loc)]) -> Row {
    flagged(InstFlags::BRANCH, operands)
}

fn jump() -> Row {
    flagged(InstFlags::BRANCH, &[])
}

fn mov(from: PReg, to: PReg) -> EditKind {
    EditKind::Move { from, to, width: 8 }
}

fn spill(from: PReg, to: u32) -> EditKind {
    EditKind::Spill { from, to: s(to), width: 8 }
}

fn fill(from: u32, to: PReg) -> EditKind {
    EditKind::Fill { from: s(from), to, width: 8 }
}

/// `v0 = ..; v1 = ..; use v0, v1`, with v0 at `a` and v1 at `b`.
fn two(a: Loc, b: Loc) -> Case {
    case("ii").block(&[], vec![row(&[(def(0), a)]), row(&[(def(1), b)]), ret(&[(use_(0), a), (use_(1), b)])]).done(&[])
}

#[test]
fn rule_1_shape() {
    two(r(0), r(1)).accepted();
    two(r(0), r(1)).with(|c| assert!(c.answer.locs.pop().is_some())).rejected(Rule::Shape);
}

#[test]
fn rule_2_every_operand_has_a_location() {
    two(r(0), r(1)).with(|c| c.answer.locs[1] = Loc::NONE).rejected(Rule::HasLocation);
}

#[test]
fn rule_3_register_class() {
    two(r(0), f(1)).rejected(Rule::RegisterClass);
}

#[test]
fn rule_4_allocatable() {
    two(r(0), r(9)).rejected(Rule::Allocatable);
    let through = |reg| two(r(0), r(1)).edit(1, mov(R0, reg));
    through(PReg::int(9)).rejected(Rule::Allocatable);
    through(PReg::int(9)).with(|c| c.env.classes[0].scratch = Some(PReg::int(9))).accepted();
    two(r(0), r(9)).with(|c| c.env.classes[0].scratch = Some(PReg::int(9))).rejected(Rule::Allocatable);
}

fn spilled() -> Case {
    case("ii")
        .block(&[], vec![row(&[(def(0), r(0))]), row(&[(def(1), r(0))]), ret(&[(use_(0), r(1)), (use_(1), r(0))])])
        .done(&[8])
        .edit(1, spill(R0, 0))
        .edit(2, fill(0, R1))
}

#[test]
fn rules_5_and_6_slots_exist_and_fit() {
    spilled().accepted();
    spilled().with(|c| c.answer.slots.clear()).rejected(Rule::SlotExists);
    spilled().with(|c| c.answer.slots[s(0)].size = 4).rejected(Rule::SlotFits);
    spilled().with(|c| c.answer.slots[s(0)].align = 4).rejected(Rule::SlotFits);
    spilled().with(|c| c.answer.emergency[1] = Some(s(7))).rejected(Rule::SlotExists);
    let operand = Operand::any_use(v(0));
    let stays = |width| {
        case("i")
            .block(&[], vec![row(&[(def(0), r(0))]), ret(&[(operand, slot(0))])])
            .done(&[width])
            .edit(1, spill(R0, 0))
    };
    stays(8).accepted();
    stays(4).rejected(Rule::SlotFits);
}

/// `v0 = .. (r0); use v0 with the constraint at loc`, v0 having been put there.
fn constrained(constraint: Constraint, loc: Loc) -> Case {
    let operand = Operand::new(v(0), Kind::Use, Pos::Early, constraint);
    let built = case("i").block(&[], vec![row(&[(def(0), r(0))]), ret(&[(operand, loc)])]).done(&[8]);
    match loc.as_reg() {
        Some(R0) => built,
        Some(reg) => built.edit(1, mov(R0, reg)),
        None => built.edit(1, spill(R0, 0)),
    }
}

#[test]
fn rule_7_constraints() {
    constrained(Constraint::Reg, r(1)).accepted();
    constrained(Constraint::Reg, slot(0)).rejected(Rule::Constraint);
    constrained(Constraint::Fixed(R2), r(2)).accepted();
    constrained(Constraint::Fixed(R2), r(1)).rejected(Rule::Constraint);
    constrained(Constraint::Stack, slot(0)).accepted();
    constrained(Constraint::Stack, r(0)).rejected(Rule::Constraint);
    constrained(Constraint::Any, slot(0)).accepted();
    constrained(Constraint::MemOk, slot(0)).accepted();
    let within = |loc| {
        let mut built = case("i");
        let set = built.problem.intern_reg_set(PRegSet::EMPTY.with(R1));
        let operand = Operand::new(v(0), Kind::Def, Pos::Late, Constraint::Within(set));
        built = built.block(&[], vec![row(&[(operand, loc)]), ret(&[(use_(0), loc)])]);
        built.done(&[])
    };
    within(r(1)).accepted();
    within(r(0)).rejected(Rule::Constraint);
}

#[test]
fn rule_8_one_operand_in_memory() {
    let both = |b| {
        let operands = [(Operand::mem_ok_use(v(0)), slot(0)), (Operand::mem_ok_use(v(1)), b)];
        case("ii")
            .block(&[], vec![row(&[(def(0), r(0))]), row(&[(def(1), r(1))]), ret(&operands)])
            .done(&[8, 8])
            .edit(2, spill(R0, 0))
            .edit(2, spill(R1, 1))
    };
    both(r(1)).accepted();
    both(slot(1)).rejected(Rule::OneMemory);
}

#[test]
fn rule_9_reuse() {
    let add = |to, rmw| {
        let reuse = if rmw { Operand::reuse_def(v(1), 1).with_rmw() } else { Operand::reuse_def(v(1), 1) };
        let from = if rmw { slot(0) } else { r(0) };
        case("ii")
            .block(
                &[],
                vec![
                    row(&[(def(0), r(0))]),
                    row(&[(reuse, to), (Operand::mem_ok_use(v(0)), from)]),
                    ret(&[(Operand::any_use(v(1)), to)]),
                ],
            )
            .done(&[8, 8])
            .edit(1, spill(R0, 0))
    };
    add(r(0), false).accepted();
    add(r(1), false).rejected(Rule::ReuseSame);
    add(slot(0), true).accepted();
    add(slot(1), true).rejected(Rule::ReuseSame);
    let no_twin = add(slot(0), true).with(|c| {
        let mut plain = add(slot(0), false).with(|c| c.answer.locs[2] = slot(0));
        std::mem::swap(&mut c.problem, &mut plain.problem);
    });
    no_twin.rejected(Rule::ReuseSame);
}

/// `v0 = .. (r0); op; use v1`, for the operands that meet at `op`.
fn meeting(first: Operand, a: Loc, second: Operand, b: Loc) -> Case {
    let op = row(&[(first, a), (second, b)]);
    case("iii").block(&[], vec![row(&[(def(0), r(0))]), op, ret(&[])]).done(&[])
}

#[test]
fn rule_10_operands_at_one_point_do_not_share() {
    meeting(use_(0), r(0), def(1), r(0)).accepted();
    meeting(use_(0), r(0), Operand::early_def(v(1)), r(1)).accepted();
    meeting(use_(0), r(0), Operand::early_def(v(1)), r(0)).rejected(Rule::Overlap);
    meeting(Operand::late_use(v(0)), r(0), def(1), r(1)).accepted();
    meeting(Operand::late_use(v(0)), r(0), def(1), r(0)).rejected(Rule::Overlap);
    meeting(def(1), r(1), def(2), r(2)).accepted();
    meeting(def(1), r(1), def(2), r(1)).rejected(Rule::Overlap);
    meeting(def(1), r(1), Operand::early_def(v(2)), r(1)).rejected(Rule::Overlap);
}

#[test]
fn a_late_use_is_checked_beside_a_reuse() {
    let op = |late| {
        let operands = [(Operand::reuse_def(v(2), 1), r(0)), (use_(0), r(0)), (Operand::late_use(v(1)), late)];
        case("iii")
            .block(&[], vec![row(&[(def(0), r(0))]), row(&[(def(1), r(1))]), row(&operands), ret(&[(use_(2), r(0))])])
            .done(&[])
    };
    op(r(1)).accepted();
    op(r(0)).edit(2, mov(R1, R0)).rejected(Rule::Overlap);
    op(r(2)).rejected(Rule::UseHoldsValue);
}

#[test]
fn rule_11_clobbers_meet_defs_and_late_uses() {
    let lost = Clobbers::lost(PRegSet::EMPTY.with(R0));
    let op = |operand, loc| {
        case("ii").block(&[], vec![row(&[(def(0), r(1))]), clobbering(lost, &[(operand, loc)]), ret(&[])]).done(&[])
    };
    op(def(1), r(2)).accepted();
    op(def(1), r(0)).rejected(Rule::ClobberedOperand);
    op(Operand::early_def(v(1)), r(0)).rejected(Rule::ClobberedOperand);
    op(use_(0), r(0)).edit(1, mov(R1, R0)).accepted();
    op(Operand::late_use(v(0)), r(0)).edit(1, mov(R1, R0)).rejected(Rule::ClobberedOperand);
}

#[test]
fn rule_12_what_may_be_dropped() {
    let copy = |to| {
        let copy = flagged(InstFlags::MOVE, &[(def(1), to), (use_(0), r(0))]);
        case("ii").block(&[], vec![row(&[(def(0), r(0))]), copy, ret(&[(use_(0), r(0)), (use_(1), to)])]).done(&[])
    };
    copy(r(1)).accepted();
    copy(r(0)).accepted();
    copy(r(0)).with(|c| c.answer.drop_inst(i(1))).accepted();
    copy(r(1)).with(|c| c.answer.drop_inst(i(1))).rejected(Rule::DropAllowed);
    copy(r(0)).with(|c| c.answer.drop_inst(i(0))).rejected(Rule::DropAllowed);
}

#[test]
fn a_dropped_move_reads_its_source() {
    let copy = flagged(InstFlags::MOVE, &[(def(1), r(1)), (use_(0), r(1))]);
    let case = case("ii")
        .block(&[], vec![row(&[(def(0), r(0))]), copy, ret(&[])])
        .done(&[])
        .with(|c| c.answer.drop_inst(i(1)));
    case.rejected(Rule::UseHoldsValue);
}

#[test]
fn rule_13_edit_order() {
    let swapped = spilled().with(|c| c.answer.edits.swap(0, 1));
    swapped.rejected(Rule::EditOrder);
    spilled().with(|c| c.answer.edits[1].at = i(3)).rejected(Rule::EditOrder);
}

#[test]
fn rules_14_and_15_what_edits_exist() {
    two(r(0), r(1)).edit(1, EditKind::Move { from: R0, to: F0, width: 8 }).rejected(Rule::EditRegisters);
    let exchanged = || two(r(0), r(1)).edit(2, EditKind::Exchange { a: R0, b: R1, width: 8 });
    exchanged().with(|c| c.answer.locs.swap(2, 3)).accepted();
    exchanged().rejected(Rule::UseHoldsValue);
    exchanged().with(|c| c.env.classes[0].exchange = false).rejected(Rule::EditAvailable);
    let slot_move = |ints| {
        let operand = Operand::any_use(v(0));
        case("i")
            .block(&[], vec![row(&[(def(0), r(0))]), ret(&[(operand, slot(1))])])
            .done(&[8, 8])
            .edit(1, spill(R0, 0))
            .edit(1, EditKind::SlotMove { from: s(0), to: s(1), width: 8 })
            .with(|c| (c.env.classes[0].slot_move, c.env.classes[1].slot_move) = (ints, true))
    };
    slot_move(true).accepted();
    slot_move(false).rejected(Rule::EditAvailable);
}

#[test]
fn rule_16_rematerialisation() {
    let again = |inst, to, drop| {
        let constant = flagged(InstFlags::REMAT, &[(def(0), if drop { Loc::NONE } else { r(0) })]);
        case("ii")
            .block(&[], vec![constant, row(&[(def(1), r(0))]), ret(&[(use_(0), r(1)), (use_(1), r(0))])])
            .done(&[])
            .edit(2, EditKind::Remat { inst: i(inst), to })
            .with(|c| {
                if drop {
                    c.answer.drop_inst(i(0))
                }
            })
    };
    again(0, R1, false).accepted();
    again(0, R1, true).accepted();
    again(1, R1, false).rejected(Rule::RematAllowed);
    again(7, R1, false).rejected(Rule::RematAllowed);
    again(0, F0, false).rejected(Rule::RematAllowed);
    again(0, R2, false).rejected(Rule::UseHoldsValue);
}

#[test]
fn rule_17_emergency_slots_are_private() {
    let parked = |private: bool| {
        let operand = Operand::any_use(v(0));
        case("i")
            .block(&[], vec![row(&[(def(0), r(0))]), ret(&[(operand, slot(0))])])
            .done(&[8])
            .edit(1, spill(R0, 0))
            .with(|c| c.answer.emergency[0] = private.then_some(s(0)))
    };
    parked(false).accepted();
    parked(true).rejected(Rule::EmergencyPrivate);
}

#[test]
fn scratch_and_emergency_carry_nothing_over_an_instruction() {
    spilled().with(|c| c.answer.emergency[0] = Some(s(0))).rejected(Rule::UseHoldsValue);
    let scratch = |back| {
        two(r(0), r(1))
            .edit(1, mov(R0, PReg::int(9)))
            .edit(back, mov(PReg::int(9), R0))
            .with(|c| c.env.classes[0].scratch = Some(PReg::int(9)))
    };
    scratch(1).accepted();
    scratch(2).rejected(Rule::UseHoldsValue);
}

#[test]
fn rule_18_callee_saved_registers_are_saved() {
    let kept = || two(r(0), r(1)).with(|c| c.env.classes[0].callee_saved = PRegSet::EMPTY.with(R1));
    kept().with(|c| c.answer.saved.insert(R1)).accepted();
    kept().rejected(Rule::CalleeSaved);
    let by_edit =
        || two(r(0), r(1)).edit(2, mov(R0, R2)).with(|c| c.env.classes[0].callee_saved = PRegSet::EMPTY.with(R2));
    by_edit().rejected(Rule::CalleeSaved);
}

/// `v0 = ref (r0); call; use v0`, spilled to slot 0 around the call and mapped there.
fn safepoint() -> Case {
    case("r")
        .block(&[], vec![row(&[(def(0), r(0))]), flagged(InstFlags::SAFEPOINT, &[]), ret(&[(use_(0), r(0))])])
        .done(&[8, 8])
        .edit(1, spill(R0, 0))
        .edit(2, fill(0, R0))
        .with(|c| c.answer.stack_maps.push(StackMapEntry { inst: i(1), slot: s(0) }))
}

#[test]
fn rules_19_20_and_22_stack_maps() {
    safepoint().accepted();
    safepoint().with(|c| c.answer.stack_maps[0].inst = i(0)).rejected(Rule::MapOrder);
    safepoint().with(|c| c.answer.stack_maps.push(c.answer.stack_maps[0])).rejected(Rule::MapOrder);
    safepoint().with(|c| c.answer.stack_maps[0].slot = s(1)).rejected(Rule::MapNeverWritten);
    safepoint().with(|c| c.answer.stack_maps[0].slot = s(2)).rejected(Rule::SlotExists);
    safepoint().with(|c| c.answer.stack_maps.clear()).rejected(Rule::UseHoldsValue);
    safepoint().with(|c| c.answer.emergency[0] = Some(s(0))).rejected(Rule::EmergencyPrivate);
    // The collector moves the object: the copy in the register is stale though nothing overwrote it.
    safepoint().with(|c| assert!(c.answer.edits.pop().is_some())).rejected(Rule::UseHoldsValue);
    // Written, but not yet at the safepoint.
    let late = safepoint().with(|c| c.answer.edits[0].at = i(2)).with(|c| assert!(c.answer.edits.pop().is_some()));
    assert_eq!(late.first_rule(), Rule::MapHoldsReference);
    // Half a reference is none.
    let half = safepoint().with(|c| c.answer.edits[0].kind = EditKind::Spill { from: R0, to: s(0), width: 4 });
    assert_eq!(half.first_rule(), Rule::MapHoldsReference);
    // An integer is no reference.
    let integer = safepoint().with(|c| c.problem.vregs[v(0)].is_ref = false);
    assert_eq!(integer.first_rule(), Rule::MapHoldsReference);
}

#[test]
fn rule_21_in_loops_the_value_of_the_last_round_is_not_this_rounds() {
    // b0: jump b1 | b1: v0 = ..; brif b2, b3 | b2: jump b1 | b3: use v0.
    let looping = |reload_first: bool| {
        let body = match reload_first {
            true => vec![row(&[(Operand::any_use(v(1)), slot(0))]), row(&[(def(0), r(0))]), jump()],
            false => vec![row(&[(def(0), r(0))]), row(&[(Operand::any_use(v(0)), slot(0))]), jump()],
        };
        case("ii")
            .block(&[], vec![row(&[(def(1), r(1))]), jump()])
            .block(&[], body)
            .block(&[], vec![jump()])
            .block(&[], vec![ret(&[(use_(0), r(0))])])
            .edge(0, 1, &[], &[])
            .edge(1, 2, &[], &[])
            .edge(1, 3, &[], &[])
            .edge(2, 1, &[], &[])
            .done(&[8])
    };
    looping(false).edit(3, spill(R0, 0)).accepted();
    // The spill stands after the use: the slot holds last round's v0.
    looping(false).edit(4, spill(R0, 0)).rejected(Rule::UseHoldsValue);
    looping(true).edit(1, spill(R1, 0)).accepted();
    looping(true).edit(1, spill(R1, 0)).edit(4, spill(R0, 0)).rejected(Rule::UseHoldsValue);
}

#[test]
fn rule_21_a_loops_parameter_may_share_with_what_it_was_passed_only_at_first() {
    // b0: v0 = ..; jump b1(v0) | b1(v1): brif b2, b3 | b2: v2 = ..; jump b1(v2) | b3: use v0, v1.
    let looping = |first: Option<EditKind>, v2_to: Option<EditKind>, v0_at, v1_at| {
        let mut built = case("iii")
            .block(&[], vec![row(&[(def(0), r(0))]), jump()])
            .block(&[v(1)], vec![jump()])
            .block(&[], vec![row(&[(def(2), r(2))]), jump()])
            .block(&[], vec![ret(&[(Operand::any_use(v(0)), v0_at), (Operand::any_use(v(1)), v1_at)])])
            .edge(0, 1, &[v(0)], &[])
            .edge(1, 2, &[], &[])
            .edge(1, 3, &[], &[])
            .edge(2, 1, &[v(2)], &[])
            .done(&[8]);
        for (at, kind) in [(1, first), (4, v2_to)] {
            if let Some(kind) = kind {
                built = built.edit(at, kind);
            }
        }
        built
    };
    // v0 stays in r0 and v1 gets a register or slot of its own.
    looping(Some(mov(R0, R1)), Some(mov(R2, R1)), r(0), r(1)).accepted();
    looping(Some(spill(R0, 0)), Some(spill(R2, 0)), r(0), slot(0)).accepted();
    // What the slot or register holds in the second round is the v1 of the first.
    looping(Some(spill(R0, 0)), None, r(0), slot(0)).rejected(Rule::UseHoldsValue);
    looping(Some(mov(R0, R1)), None, r(0), r(1)).rejected(Rule::UseHoldsValue);
    // It is still v0, which either may have kept.
    looping(Some(spill(R0, 0)), Some(mov(R2, R0)), slot(0), r(0)).accepted();
    looping(None, None, r(0), r(0)).rejected(Rule::UseHoldsValue);
}

#[test]
fn rule_21_a_parameter_that_is_always_passed_one_value_is_that_value() {
    // b0: v0 = ..; brif b1, b2 | b1: jump b3(v0) | b2: v1 = move v0; jump b3(v1) | b3(v2): brif b4, b5 | b4: jump b3(v2)
    // | b5: use v0, v2.
    let mv = flagged(InstFlags::MOVE, &[(use_(0), r(0)), (def(1), r(1))]);
    let case = case("iii")
        .block(&[], vec![row(&[(def(0), r(0))]), jump()])
        .block(&[], vec![jump()])
        .block(&[], vec![mv, jump()])
        .block(&[v(2)], vec![jump()])
        .block(&[], vec![jump()])
        .block(&[], vec![ret(&[(use_(0), r(0)), (use_(2), r(0))])])
        .edge(0, 1, &[], &[])
        .edge(0, 2, &[], &[])
        .edge(1, 3, &[v(0)], &[])
        .edge(2, 3, &[v(1)], &[])
        .edge(3, 4, &[], &[])
        .edge(3, 5, &[], &[])
        .edge(4, 3, &[v(2)], &[])
        .done(&[]);
    case.accepted();
}

#[test]
fn an_order_that_breaks_the_rules_of_problems_does_not_break_the_walk() {
    let mut looping = case("i")
        .block(&[], vec![row(&[(def(0), r(0))]), jump()])
        .block(&[], vec![jump()])
        .block(&[], vec![jump()])
        .block(&[], vec![ret(&[(use_(0), r(0))])])
        .edge(0, 1, &[], &[])
        .edge(1, 2, &[], &[])
        .edge(1, 3, &[], &[])
        .edge(2, 1, &[], &[])
        .done(&[]);
    for order in [vec![], vec![2, 2, 0, 9], vec![1, 0, 2, 3]] {
        looping.problem.order = order.into_iter().map(Block::from_u32).collect();
        looping.accepted();
    }
}

#[test]
fn rule_21_parameters_take_the_place_of_their_arguments() {
    // The example at the end of the checker's design: v3 is v2 on one way and v1 on the other.
    let diamond = |v2, v1_end: Option<EditKind>| {
        let built = case("iiii")
            .block(&[], vec![row(&[(def(0), r(3)), (def(1), r(0))]), ret(&[(use_(0), r(3))])])
            .block(&[], vec![row(&[(def(2), v2)]), jump()])
            .block(&[], vec![jump()])
            .block(&[v(3)], vec![ret(&[(use_(3), r(0))])])
            .edge(0, 1, &[], &[])
            .edge(0, 2, &[], &[])
            .edge(1, 3, &[v(2)], &[])
            .edge(2, 3, &[v(1)], &[])
            .done(&[]);
        match v1_end {
            Some(kind) => built.edit(3, kind),
            None => built,
        }
    };
    diamond(r(0), None).accepted();
    diamond(r(1), None).rejected(Rule::UseHoldsValue);
    diamond(r(1), Some(mov(R1, R0))).accepted();
}

#[test]
fn rule_21_swapped_parameters_need_an_exchange() {
    // b0: v0, v1; jump b1(v0, v1) | b1(v2, v3): brif b2, b3 | b2: jump b1(v3, v2) | b3: use v2, v3.
    let swap = || {
        case("iiii")
            .block(&[], vec![row(&[(def(0), r(0)), (def(1), r(1))]), jump()])
            .block(&[v(2), v(3)], vec![jump()])
            .block(&[], vec![jump()])
            .block(&[], vec![ret(&[(use_(2), r(0)), (use_(3), r(1))])])
            .edge(0, 1, &[v(0), v(1)], &[])
            .edge(1, 2, &[], &[])
            .edge(1, 3, &[], &[])
            .edge(2, 1, &[v(3), v(2)], &[])
            .done(&[])
    };
    swap().rejected(Rule::UseHoldsValue);
    swap().edit(3, EditKind::Exchange { a: R0, b: R1, width: 8 }).accepted();
    swap().edit(3, mov(R1, R0)).edit(3, mov(R0, R1)).rejected(Rule::UseHoldsValue);
}

#[test]
fn rule_21_widths() {
    let narrow = |width| two(r(0), r(1)).edit(2, EditKind::Move { from: R0, to: R0, width });
    narrow(8).accepted();
    narrow(4).rejected(Rule::UseHoldsValue);
    let clobber = |vreg, keep| {
        let clobbers = Clobbers { partial: PRegSet::EMPTY.with(F0), kept_bytes: keep, ..Clobbers::default() };
        case(vreg)
            .block(&[], vec![row(&[(def(0), f(0))]), clobbering(clobbers, &[]), ret(&[(use_(0), f(0))])])
            .done(&[])
    };
    clobber("f", 8).accepted();
    clobber("x", 8).rejected(Rule::UseHoldsValue);
    clobber("x", 16).accepted();
    clobber("f", 0).rejected(Rule::UseHoldsValue);
}

#[test]
fn rule_21_an_edit_of_an_unknown_location_makes_its_target_unknown() {
    two(r(0), r(1)).edit(2, mov(R2, R0)).rejected(Rule::UseHoldsValue);
    // Saving and restoring what nobody knows is no fault by itself.
    two(r(0), r(1)).edit(2, mov(R2, PReg::int(3))).edit(2, mov(PReg::int(3), R2)).accepted();
}

#[test]
fn rule_21_edits_before_a_terminator_that_reads_what_they_overwrite() {
    let jump_through = |at| {
        case("iii")
            .block(&[], vec![row(&[(def(0), r(0)), (def(1), r(1))]), ret(&[(use_(0), r(0))])])
            .block(&[v(2)], vec![ret(&[(use_(2), at)])])
            .edge(0, 1, &[v(1)], &[])
            .done(&[])
    };
    jump_through(r(2)).edit(1, mov(R1, R2)).accepted();
    jump_through(r(0)).edit(1, mov(R1, R0)).rejected(Rule::UseHoldsValue);
}

#[test]
fn rule_21_terminator_defs_exist_on_their_edge_only() {
    // b0: v0 = ..; call defines v1 on the edge to b1, v2 on the edge to b2, both in r0.
    let call = |first, second| {
        let fixed = |n| Operand::fixed_def(v(n), R0);
        case("iii")
            .block(&[], vec![row(&[(def(0), r(1))]), ret(&[(fixed(1), r(0)), (fixed(2), r(0))])])
            .block(&[], vec![ret(&[(use_(first), r(0)), (use_(0), r(1))])])
            .block(&[], vec![ret(&[(use_(second), r(0))])])
            .edge(0, 1, &[], &[v(1)])
            .edge(0, 2, &[], &[v(2)])
            .done(&[])
    };
    call(1, 2).accepted();
    call(2, 2).rejected(Rule::UseHoldsValue);
    call(1, 1).rejected(Rule::UseHoldsValue);
    let one_edge = call(1, 2).with(|c| {
        let mut other = case("iii");
        std::mem::swap(&mut other.problem.vregs, &mut c.problem.vregs);
        let fixed = |n| Operand::fixed_def(v(n), R0);
        *c = other
            .block(&[], vec![ret(&[(fixed(1), r(0)), (fixed(2), r(0))])])
            .block(&[], vec![ret(&[])])
            .edge(0, 1, &[], &[v(1), v(2)])
            .done(&[]);
    });
    one_edge.rejected(Rule::Overlap);
}

#[test]
fn rules_23_and_24_labels() {
    let labelled = |loc, from, to| {
        let mut case = two(r(0), r(1)).edit(2, mov(R0, R2));
        case.problem.labels.push(LabelUse { label: 5, vreg: v(0), from: i(1), to: i(3) });
        case.answer.labels.push(LabelRange { label: 5, loc, from: i(from), to: i(to) });
        case
    };
    labelled(r(0), 1, 3).accepted();
    labelled(r(2), 2, 3).accepted();
    labelled(r(2), 1, 3).rejected(Rule::LabelHoldsValue);
    labelled(r(0), 0, 3).rejected(Rule::LabelWished);
    labelled(r(0), 2, 2).rejected(Rule::LabelWished);
    // The wish ends within the range; another begins there, for another value.
    labelled(r(0), 1, 3).with(|c| c.problem.labels[0].to = i(2)).rejected(Rule::LabelWished);
    let then = |vreg| LabelUse { label: 5, vreg: v(vreg), from: i(2), to: i(3) };
    let two_wishes = |vreg| {
        let case = labelled(r(0), 1, 3).with(|c| c.problem.labels[0].to = i(2));
        case.with(|c| c.problem.labels.push(then(vreg)))
    };
    two_wishes(0).accepted();
    two_wishes(1).rejected(Rule::LabelHoldsValue);
    // Overwritten in the midst of the range.
    labelled(r(0), 1, 3).with(|c| c.answer.locs[2] = r(2)).edit(2, mov(R1, R0)).first_rule_is(Rule::LabelHoldsValue);
    labelled(r(9), 1, 2).rejected(Rule::Allocatable);
}

#[test]
fn a_message_names_place_value_location_contents_and_their_origin() {
    let case = two(r(0), r(1)).edit(2, mov(R1, R0));
    let errors = Checker::new().check(&case.problem, &case.env, &case.answer).expect_err("overwritten");
    assert_eq!(
        errors[0].to_string(),
        "inst2 operand 0: rule 21: the location of a use holds the value on every path; expected v0 in r0, which holds \
         {v1} (8 bytes), since edit 0"
            .replace("inst2", &i(2).to_string())
    );
}

#[test]
fn one_checker_serves_one_question_after_another() {
    let mut checker = Checker::new();
    let (good, bad) = (spilled(), two(r(0), r(1)).edit(2, mov(R1, R0)));
    for _ in 0..3 {
        assert!(checker.check(&good.problem, &good.env, &good.answer).is_ok());
        assert!(checker.check(&bad.problem, &bad.env, &bad.answer).is_err());
    }
}

#[test]
fn every_rule_has_its_own_number() {
    for (n, rule) in Rule::ALL.iter().enumerate() {
        assert_eq!(rule.number() as usize, n + 1);
    }
}
