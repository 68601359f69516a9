//! Range tests: two branches that compare a value with its bounds, and otherwise lead to one block, become one branch.
//!
//! ```text
//! v2 = icmp sge v0, v1  ; v1 = 48          v5 = isub v0, v1        ; v1 = 48
//! brif v2, block1, block3                  v6 = icmp ule v5, v7    ; v7 = 9
//! block1: v3 = icmp sle v0, v4  ; v4 = 57  brif v6, block2, block3
//!         brif v3, block2, block3
//! ```
//!
//! Front ends emit such branches for tests of the kinds of characters, `'0' <= c && c <= '9'`, and with the destinations
//! exchanged for the opposite. Runs after value numbering, so that both branches compare one value. The numbers from `low` to
//! `high`, in the order of the comparisons, are those whose distance above `low`, modulo 2^bits, is at most `high - low` as
//! an unsigned number (Warren, *Hacker's Delight*, section 4-1). Cost: linear in blocks.

use kingpost_ir::cfg::ControlFlowGraph;
use kingpost_ir::condcodes::IntCC;
use kingpost_ir::{Block, BlockCall, Function, Inst, InstData, Opcode, Value};

use crate::counters::make;
use crate::purity::{constant, is_constant};

/// Maximum number of instructions of the second block: constants, the comparison, the branch.
const MAX_INSTS: usize = 4;

/// A comparison with a constant: whether the value is at least, or at most, a number in one of the two orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bound {
    value: Value,
    is_signed: bool,
    is_lower: bool,
    /// The least or the greatest number that satisfies it. May exceed the type by one, which none satisfies.
    limit: i128,
}

/// A branch on a comparison.
struct Test {
    branch: Inst,
    cond: Value,
    /// The destinations if the comparison holds, and if not.
    dests: [BlockCall; 2],
}

/// Joins pairs of branches. Returns `true` if there were any; the second blocks are unreachable afterwards.
pub(crate) fn join(func: &mut Function, cfg: &ControlFlowGraph) -> bool {
    let mut changed = false;
    for &block in cfg.blocks().iter().rev() {
        changed |= join_at(func, cfg, block).is_some();
    }
    changed
}

/// Joins the branch at the end of a block with one at the end of a destination.
fn join_at(func: &mut Function, cfg: &ControlFlowGraph, block: Block) -> Option<()> {
    let first = Test::of(func, block)?;
    // Whether the first comparison, and the second one, holds on the way to the inner destination.
    let both = [(true, true), (true, false), (false, true), (false, false)];
    let (second, holds) = both.into_iter().find_map(|holds| {
        let inner = first.dests[usize::from(!holds.0)].block;
        let second = Test::of_only_comparison(func, cfg, block, inner)?;
        let outer = [first.dests[usize::from(holds.0)], second.dests[usize::from(holds.1)]];
        is_same_edge(func, outer).then_some((second, holds))
    })?;
    let bounds = [Bound::of(func, first.cond, holds.0)?, Bound::of(func, second.cond, holds.1)?];
    let [lower, upper] = if bounds[0].is_lower { bounds } else { [bounds[1], bounds[0]] };
    let is_range = lower.is_lower && !upper.is_lower && lower.limit <= upper.limit;
    if !is_range || lower.value != upper.value || lower.is_signed != upper.is_signed {
        return None;
    }
    // The destinations may use what the second block defines.
    let inner = func.layout.inst_block(second.branch)?;
    while let Some(inst) = func.layout.first_inst(inner).filter(|&inst| inst != second.branch) {
        func.layout.remove_inst(inst);
        func.layout.insert_inst(inst, first.branch);
    }
    let ty = func.dfg.value_type(lower.value);
    let low = make(func, first.branch, InstData::iconst(ty, lower.limit as i64), ty);
    let distance = make(func, first.branch, InstData::binary(Opcode::Isub, ty, [lower.value, low]), ty);
    let most = make(func, first.branch, InstData::iconst(ty, (upper.limit - lower.limit) as i64), ty);
    let test = InstData::icmp(ty, IntCC::UnsignedLessThanOrEqual, [distance, most]);
    let cond = make(func, first.branch, test, ty);
    let [inside, outside] = [second.dests[usize::from(!holds.1)], second.dests[usize::from(holds.1)]];
    let branch = func.dfg.brif_data(cond, inside, outside);
    func.dfg.replace_inst(first.branch, branch);
    Some(())
}

/// Returns `true` if two edges lead to one block with equal arguments.
fn is_same_edge(func: &Function, [a, b]: [BlockCall; 2]) -> bool {
    a.block == b.block && func.dfg.block_args(a) == func.dfg.block_args(b)
}

impl Test {
    fn of(func: &Function, block: Block) -> Option<Test> {
        let branch = func.layout.last_inst(block).filter(|&last| func.dfg.opcode(last) == Opcode::Brif)?;
        let &dests = func.dfg.branch_destinations(branch).first_chunk()?;
        Some(Test { branch, cond: func.dfg.inline_arg(branch, 0), dests })
    }

    /// Returns the test of a block that only `from` leads to, by one edge, if it consists of a comparison.
    fn of_only_comparison(func: &Function, cfg: &ControlFlowGraph, from: Block, block: Block) -> Option<Test> {
        let is_only = matches!(cfg.preds(block), [pred] if pred.block == from && block != from);
        if !is_only || func.layout.entry_block() == Some(block) || !func.dfg.block_params(block).is_empty() {
            return None;
        }
        let test = Test::of(func, block)?;
        let mut insts = func.layout.block_insts(block).take(MAX_INSTS).take_while(|&inst| inst != test.branch);
        let is_short = func.layout.block_insts(block).nth(MAX_INSTS).is_none();
        let is_free = |inst| is_constant(func.dfg.opcode(inst)) || func.dfg.first_result(inst) == Some(test.cond);
        (is_short && insts.all(is_free)).then_some(test)
    }
}

impl Bound {
    /// Returns the bound that a comparison tests, or its opposite unless `holds`.
    fn of(func: &Function, cond: Value, holds: bool) -> Option<Bound> {
        let data = func.dfg.inst(func.dfg.first_result_of(cond)?);
        let cc = data.int_cond()?;
        let &[value, limit] = data.args() else { return None };
        let bits = func.dfg.value_type(value).bits();
        let limit = constant(func, limit).filter(|_| bits <= 64)?;
        let (cc, unused) = (if holds { cc } else { cc.inverse() }, 64 - bits);
        let (signed, unsigned) = (i128::from((limit << unused) as i64 >> unused), i128::from(limit));
        let (is_signed, is_lower, limit) = match cc {
            IntCC::SignedGreaterThanOrEqual => (true, true, signed),
            IntCC::SignedGreaterThan => (true, true, signed + 1),
            IntCC::SignedLessThanOrEqual => (true, false, signed),
            IntCC::SignedLessThan => (true, false, signed - 1),
            IntCC::UnsignedGreaterThanOrEqual => (false, true, unsigned),
            IntCC::UnsignedGreaterThan => (false, true, unsigned + 1),
            IntCC::UnsignedLessThanOrEqual => (false, false, unsigned),
            IntCC::UnsignedLessThan => (false, false, unsigned - 1),
            IntCC::Equal | IntCC::NotEqual => return None,
        };
        Some(Bound { value, is_signed, is_lower, limit })
    }
}
