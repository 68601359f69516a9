//! Invariants of machine code beyond the rules of its allocation problem.
//!
//! 1. Each instruction's operands begin with the operands of its row: equal kinds, positions and classes, with the
//!    constraints of the row.
//! 2. An instruction that reads the flags sees the flags of the nearest earlier instruction of its block that defines
//!    them: no instruction in between writes them. Edits and rematerialization preserve them by contract.
//! 3. A row that ends a block is the last one of its block, and every block ends in such a row.
//! 4. Only rematerializable rows, or loads of incoming arguments if no tail call writes there, are flagged
//!    rematerializable.
//! 5. The CPU supports every row.
//! 6. An operand that may be in memory is at least as wide as the memory that the row reads, because a slot is no
//!    wider than its value. If the row then also writes there, it writes all of the value.
//! 7. Only rows that access memory, trap or call have a trap code.
//! 8. A register whose users rely on zeros above 32 bits is defined by a row that writes at most 32 bits and clears
//!    the bits above, unless lowering declares the zeros.
//! 9. The successors of a call with handlers are its exits, and their contexts are uses of it.

use crate::code::Code;
use crate::cpu_flags::CpuFeatures;
use crate::inst::AddrKind;
use crate::row::{FlagsEffect, Row, RowConstraint, RowKind};
use cranelift_entity::SecondaryMap;
use kingpost_regalloc::{Block, Constraint, Inst, InstFlags, Operand, VReg};
use std::collections::BTreeSet;
use std::fmt;

/// Violation of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CodeError {
    /// Number of the rule in the module documentation.
    pub rule: u8,
    /// Instruction that violates the rule.
    pub inst: Inst,
    /// Description of the violation.
    pub what: &'static str,
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (machine code rule {})", self.inst, self.what, self.rule)
    }
}

/// Checks `code` for a CPU with `features` and returns all violations.
pub fn verify(code: &Code, rows: &[Row], features: CpuFeatures) -> Vec<CodeError> {
    let mut errors = Vec::new();
    let relied_on = relied_on_zeros(code);
    let keeps_incoming = !writes_incoming(code);
    for block in code.problem.blocks() {
        let mut flags_defined = false;
        let terminator = code.problem.terminator(block);
        for inst in code.problem.insts(block) {
            let mut broken = |rule, what| errors.push(CodeError { rule, inst, what });
            let minst = &code.insts[inst];
            let Some(row) = rows.get(minst.row.0 as usize) else {
                broken(1, "no such row");
                continue;
            };
            let is_call = matches!(row.kind, RowKind::Call | RowKind::TryCall);
            if !operands_fit(code, row, code.problem.operands(inst)) {
                broken(1, "operands do not fit the row");
            }
            if row.flags.reads() && !flags_defined {
                broken(2, "reads flags that no instruction before it in the block defines");
            }
            flags_defined = match row.flags {
                FlagsEffect::Def | FlagsEffect::UseDef => true,
                FlagsEffect::Clobber => false,
                FlagsEffect::None | FlagsEffect::Use => flags_defined && !is_call,
            };
            if matches!(row.kind, RowKind::TryCall | RowKind::Branch | RowKind::Exit) && inst != terminator {
                broken(3, "ends a block before its last instruction");
            }
            if inst == terminator && !code.problem.flags(inst).has(InstFlags::BRANCH) {
                broken(3, "ends its block without being a branch");
            }
            let remat = row.kind == RowKind::Remat || minst.mode.kind() == AddrKind::Incoming && keeps_incoming;
            if code.problem.flags(inst).has(InstFlags::REMAT) && !(remat && row.flags == FlagsEffect::None) {
                broken(4, "is flagged rematerializable and is not");
            }
            if !features.contains(row.needs) {
                broken(5, "needs a feature that the CPU lacks");
            }
            if !memory_is_wide_enough(code, row, code.problem.operands(inst)) {
                broken(6, "may read more memory than its operand has");
            }
            if !writes_are_whole(code, row, code.problem.operands(inst)) {
                broken(6, "may write less memory than its operand has");
            }
            if minst.trap().is_some() && !row.effect.may_trap() && !is_call {
                broken(7, "has a trap code but does not trap");
            }
            if row.kind == RowKind::TryCall && !exits_fit(code, row, inst) {
                broken(9, "has successors other than its exits, or a context that is not among its uses");
            }
            let leaves_zeros = |(k, operand): (usize, &Operand)| {
                let clears = row.operands.get(k).is_some_and(|spec| spec.width <= 4 && row.zero_extends);
                !operand.is_def() || clears || !relied_on[operand.vreg()]
            };
            if !code.problem.operands(inst).iter().enumerate().all(leaves_zeros) {
                broken(8, "leaves bits above a value whose users rely on zeros");
            }
        }
    }
    errors
}

/// Returns `true` if an instruction stores into the area of the function's incoming stack arguments.
fn writes_incoming(code: &Code) -> bool {
    let stores = |inst: Inst| !code.problem.operands(inst).iter().any(|operand| operand.is_def());
    code.insts.iter().any(|(inst, minst)| minst.mode.kind() == AddrKind::Incoming && stores(inst))
}

fn exits_fit(code: &Code, row: &Row, call: Inst) -> bool {
    let minst = &code.insts[call];
    let exits = usize::try_from(minst.imm).ok().and_then(|index| code.exits.get(index));
    let handlers = exits.and_then(|e| code.handlers.get(e.handlers.start as usize..e.handlers.end as usize));
    let (Some(exits), Some(handlers)) = (exits, handlers) else { return false };
    let succs = code.problem.succs(code.problem.block_of(call)).iter().map(|&edge| code.problem.edge(edge).to);
    let more = code.problem.operands(call).get(row.operands.len() + minst.mode.regs()..).unwrap_or_default();
    let is_use = |operand: u32| more.get(operand as usize).is_some_and(|operand| !operand.is_def());
    let set = |blocks: &mut dyn Iterator<Item = Block>| blocks.collect::<BTreeSet<Block>>();
    set(&mut handlers.iter().map(|handler| handler.block).chain([exits.normal])) == set(&mut succs.into_iter())
        && handlers.iter().filter_map(|handler| handler.context).all(is_use)
}

fn writes_are_whole(code: &Code, row: &Row, operands: &[Operand]) -> bool {
    row.operands
        .iter()
        .zip(operands)
        .all(|(spec, operand)| !operand.is_rmw() || code.problem.width(operand.vreg()) <= spec.whole_width())
}

fn memory_is_wide_enough(code: &Code, row: &Row, operands: &[Operand]) -> bool {
    row.operands.iter().zip(operands).all(|(spec, operand)| {
        operand.constraint() != Constraint::MemOk || code.problem.width(operand.vreg()) >= spec.width
    })
}

/// Returns the registers whose rows must leave zeros above 32 bits.
fn relied_on_zeros(code: &Code) -> SecondaryMap<VReg, bool> {
    let mut relied_on = SecondaryMap::new();
    for &vreg in &code.zero_extended {
        relied_on[vreg] = true;
    }
    for &vreg in &code.declared_zeros {
        relied_on[vreg] = false;
    }
    relied_on
}

fn operands_fit(code: &Code, row: &Row, operands: &[Operand]) -> bool {
    operands.len() >= row.operands.len()
        && row.operands.iter().zip(operands).all(|(spec, operand)| {
            spec.kind == operand.kind()
                && spec.pos == operand.pos()
                && spec.class == code.problem.class(operand.vreg())
                && match (spec.constraint, operand.constraint()) {
                    (RowConstraint::Fixed(want), Constraint::Fixed(reg)) => want == reg,
                    (RowConstraint::Reuse(want), Constraint::Reuse(k)) => want == k,
                    (RowConstraint::Within(want), Constraint::Within(set)) => {
                        code.problem.reg_set(set).difference(want).is_empty()
                    }
                    (RowConstraint::Reg, Constraint::Reg) => true,
                    (RowConstraint::MemOk, c) => matches!(c, Constraint::Reg | Constraint::MemOk),
                    _ => false,
                }
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{CallExits, Handler};
    use crate::inst::{AddrMode, MInst};
    use crate::operands::{D4, D8, M4, T4, U4};
    use crate::row::{OperandSpec, RowId};
    use crate::row_table::Line;
    use kingpost_ir::TrapCode;
    use kingpost_regalloc::{ClobberId, Freq, RegClass, VReg};

    const fn line(name: &'static str, flags: FlagsEffect, operands: &'static [OperandSpec], mem: u8) -> Line<()> {
        Line::new(name, name, flags, operands, mem, ())
    }

    const NEW: CpuFeatures = CpuFeatures::of("new", &[("old", ""), ("new", "")]);
    const CONST: RowId = RowId(0);
    const ADD: RowId = RowId(1);
    const LOAD: RowId = RowId(3);
    const READS_FLAGS: RowId = RowId(4);
    const NEWER: RowId = RowId(5);
    const RET: RowId = RowId(6);
    const STORE: RowId = RowId(7);
    const TRY_CALL: RowId = RowId(8);

    fn rows() -> [Row; 9] {
        [
            line("const", FlagsEffect::None, &[D4], 0).kind(RowKind::Remat),
            line("add", FlagsEffect::Def, &[T4, U4, M4], 0).twin(2, RowId(2)),
            line("add_m", FlagsEffect::Def, &[T4, U4], 4),
            line("load", FlagsEffect::None, &[D8], 8),
            line("reads_flags", FlagsEffect::Use, &[D4], 0),
            line("newer", FlagsEffect::None, &[D4], 0).needs(NEW),
            line("ret", FlagsEffect::None, &[], 0).kind(RowKind::Exit),
            line("store", FlagsEffect::None, &[], 8),
            line("try_call", FlagsEffect::Clobber, &[], 0).kind(RowKind::TryCall),
        ]
        .map(|line| line.row)
    }

    /// Builder of code of one block. `v0` has 8 bytes, `v1` to `v3` have 4, `v4` has 1.
    struct Maker(Code);

    impl Maker {
        fn new() -> Maker {
            let mut code = Code::default();
            code.clear();
            for width in [8, 4, 4, 4, 1] {
                code.problem.add_vreg(RegClass::Int, width, false);
            }
            code.problem.begin_block(Freq::ENTRY, &[]);
            Maker(code)
        }

        fn inst(&mut self, row: RowId, flags: InstFlags, operands: &[Operand]) -> &mut MInst {
            self.0.problem.push_operands(operands);
            let inst = self.0.problem.push_inst(flags, ClobberId::NONE);
            assert_eq!(self.0.insts.push(MInst::new(row)), inst);
            &mut self.0.insts[inst]
        }

        /// Adds a row of one def, which defines `v`.
        fn def(&mut self, row: RowId, v: u32) -> &mut MInst {
            self.inst(row, InstFlags::NONE, &[Operand::reg_def(VReg::from_u32(v))])
        }

        /// Adds `v3 = v1 + v`, where `v` may be in memory.
        fn add(&mut self, v: u32) {
            let operands = [
                Operand::reuse_def(VReg::from_u32(3), 1),
                Operand::reg_use(VReg::from_u32(1)),
                Operand::new(
                    VReg::from_u32(v),
                    kingpost_regalloc::Kind::Use,
                    kingpost_regalloc::Pos::Early,
                    Constraint::MemOk,
                ),
            ];
            self.inst(ADD, InstFlags::NONE, &operands);
        }

        /// Returns the rules that the code violates on a CPU with `features`.
        fn broken(mut self, features: CpuFeatures) -> Vec<u8> {
            self.inst(RET, InstFlags::BRANCH, &[]);
            self.0.problem.finish();
            verify(&self.0, &rows(), features).iter().map(|error| error.rule).collect()
        }
    }

    fn check(expected: &[u8], make: impl FnOnce(&mut Maker)) {
        let mut maker = Maker::new();
        make(&mut maker);
        assert_eq!(maker.broken(CpuFeatures::NONE), expected);
    }

    #[test]
    fn good_code_breaks_no_rule() {
        check(&[], |code| {
            code.inst(CONST, InstFlags::REMAT, &[Operand::reg_def(VReg::from_u32(1))]);
            code.def(CONST, 2);
            code.add(2);
            code.def(READS_FLAGS, 2);
            code.def(LOAD, 0).set_trap(Some(TrapCode::HEAP_OUT_OF_BOUNDS));
        });
    }

    #[test]
    fn stack_arguments_are_loaded_again_unless_a_tail_call_writes_there() {
        let loads = |code: &mut Maker, flags| {
            let load = code.inst(LOAD, flags, &[Operand::reg_def(VReg::from_u32(0))]);
            load.mode = AddrMode::new(AddrKind::Incoming);
        };
        let stores = |code: &mut Maker| code.inst(STORE, InstFlags::NONE, &[]).mode = AddrMode::new(AddrKind::Incoming);
        check(&[], |code| loads(code, InstFlags::REMAT));
        check(&[], |code| {
            loads(code, InstFlags::NONE);
            stores(code);
        });
        check(&[4], |code| {
            loads(code, InstFlags::REMAT);
            stores(code);
        });
    }

    #[test]
    fn each_planted_fault_is_found() {
        check(&[1], |code| {
            code.inst(CONST, InstFlags::NONE, &[]);
        });
        check(&[1], |code| {
            code.def(RowId(99), 1);
        });
        check(&[2], |code| {
            code.def(READS_FLAGS, 1);
        });
        check(&[3], |code| {
            code.inst(RET, InstFlags::NONE, &[]);
        });
        check(&[4], |code| {
            code.inst(LOAD, InstFlags::REMAT, &[Operand::reg_def(VReg::from_u32(0))]);
        });
        check(&[5], |code| {
            code.def(NEWER, 1);
        });
        check(&[6], |code| {
            code.def(CONST, 1);
            code.def(CONST, 4);
            code.add(4);
        });
        check(&[7], |code| {
            code.def(CONST, 1).set_trap(Some(TrapCode::HEAP_OUT_OF_BOUNDS));
        });
    }

    /// Returns the rules violated by a call to the blocks 1 and 2, with `exits` and the context of the only handler.
    fn call(exits: CallExits, context: Option<u32>) -> Vec<u8> {
        let mut code = Maker::new();
        code.def(CONST, 1);
        let flags = InstFlags::BRANCH.and(InstFlags::SAFEPOINT);
        code.inst(TRY_CALL, flags, &[Operand::late_use(VReg::from_u32(1))]);
        for _ in 1..3 {
            code.0.problem.begin_block(Freq::ENTRY, &[]);
            code.inst(RET, InstFlags::BRANCH, &[]);
        }
        for to in [1, 2] {
            code.0.problem.add_edge(Block::from_u32(0), Block::from_u32(to), Freq::ENTRY, &[], &[]);
        }
        code.0.problem.finish();
        code.0.exits.push(exits);
        code.0.handlers.push(Handler { tag: None, block: Block::from_u32(2), context });
        verify(&code.0, &rows(), CpuFeatures::NONE).iter().map(|error| error.rule).collect()
    }

    #[test]
    fn calls_lead_to_their_exits() {
        let exits = |normal, handlers| CallExits { normal: Block::from_u32(normal), handlers };
        assert_eq!(call(exits(1, 0..1), Some(0)), []);
        // A handler is missing, wrong, or does not exist; a context is not an operand.
        assert_eq!(call(exits(1, 0..0), None), [9]);
        assert_eq!(call(exits(2, 0..1), None), [9]);
        assert_eq!(call(exits(1, 0..2), None), [9]);
        assert_eq!(call(exits(1, 0..1), Some(1)), [9]);
    }

    #[test]
    fn a_cpu_may_be_able_to_do_it() {
        let mut code = Maker::new();
        code.def(NEWER, 1);
        assert_eq!(code.broken(NEW), []);
    }
}
