//! Comparisons joined by `band` or `bor`: each comparison after the first is made only if it still matters, without a
//! branch.
//!
//! Before: `v4 = icmp slt v0, v1; v5 = icmp eq v2, v3; v6 = band v4, v5`. After: `cmp w0, w1; ccmp w2, w3, #0, lt; cset
//! eq`.

use super::condition_codes::{Comparison, float_code, int_code, is_signed};
use super::cx::Cx;
use crate::immediates;
use crate::regs::{CC_EQ, CC_HI, CC_HS, CC_LE, CC_LT, CC_MI, CC_VS};
use crate::rows;
use kingpost_ir::condcodes::IntCC;
use kingpost_ir::types::{F32, F64};
use kingpost_ir::{InstView, Opcode, Value};
use kingpost_mach::LowerBackend;
use kingpost_mach::lower::{Cond, invert, is_word};
use smallvec::SmallVec;

/// Largest number of comparisons that are joined.
const MAX_LINKS: usize = 8;
/// Constants up to this one fit into a conditional comparison.
const MAX_CONSTANT: i64 = 31;

/// Returns flags under which a condition holds: negative, zero, carry, overflow from the highest bit on.
fn holding(condition: i32) -> i32 {
    match condition {
        CC_EQ | CC_LE => 0b0100,
        CC_HS | CC_HI => 0b0010,
        CC_MI | CC_LT => 0b1000,
        CC_VS => 0b0001,
        // The other conditions hold if all flags are clear.
        _ => 0,
    }
}

/// Returns flags under which a condition does not hold.
pub(super) fn failing(condition: i32) -> i32 {
    holding(invert(condition))
}

/// One comparison of a chain.
struct Link {
    value: Value,
    negated: bool,
}

/// Comparisons of a conjunction or a disjunction.
pub(super) struct CompareChain {
    links: SmallVec<[Link; MAX_LINKS]>,
    all: bool,
}

impl CompareChain {
    /// Returns the comparisons that `value` joins, if there are at least two and none of them has another use.
    pub(super) fn of(cx: &Cx<'_, '_>, value: Value) -> Option<CompareChain> {
        let join = cx.opcode_of(value)?;
        if !matches!(join, Opcode::Band | Opcode::Bor) || !is_word(cx.ty(value)) {
            return None;
        }
        let mut chain = CompareChain { links: SmallVec::new(), all: join == Opcode::Band };
        let mut left: SmallVec<[Value; MAX_LINKS]> = SmallVec::from_slice(&[value]);
        while let Some(next) = left.pop() {
            match cx.def_as(next, join).filter(|_| next == value || cx.is_single_use(next)) {
                Some(inst) if chain.links.len() + left.len() + 2 <= MAX_LINKS => {
                    let [x, y] = cx.args(inst);
                    left.extend([y, x]);
                }
                Some(_) => return None,
                None => chain.links.push(link(cx, next)?),
            }
        }
        Some(chain)
    }

    /// Emits the flags, and returns the condition under which the chain holds.
    pub(super) fn emit(&self, cx: &mut Cx<'_, '_>) -> i32 {
        let mut links = self.links.iter();
        let first = links.next().expect("a chain has links");
        let mut condition = compare(cx, first);
        for link in links {
            let (before, otherwise) = if self.all { (condition, false) } else { (invert(condition), true) };
            condition = compare_if(cx, link, before, otherwise);
        }
        condition
    }
}

/// Returns the comparison that defines `value`, looking through extensions and comparisons with zero, or `None` if it
/// has another use.
fn link(cx: &Cx<'_, '_>, mut value: Value) -> Option<Link> {
    let mut negated = false;
    for _ in 0..MAX_LINKS {
        if !cx.is_single_use(value) {
            return None;
        }
        match cx.func.dfg.view(cx.def(value)?) {
            InstView::Unary { arg } if cx.def_as(value, Opcode::Uextend).is_some() => value = arg,
            InstView::IntCompare { cond: cond @ (IntCC::Equal | IntCC::NotEqual), args: [x, y] }
                if cx.constant(y) == Some(0) && cx.is_comparison(x) =>
            {
                negated ^= cond == IntCC::Equal;
                value = x;
            }
            InstView::IntCompare { args, .. } => return is_word(cx.ty(args[0])).then_some(Link { value, negated }),
            InstView::FloatCompare { cond, args } => {
                let one = matches!(float_code(cond), Cond::One(_)) && matches!(cx.ty(args[0]), F32 | F64);
                return one.then_some(Link { value, negated });
            }
            _ => return None,
        }
    }
    None
}

/// Emits the flags of the first link, and returns its condition.
fn compare(cx: &mut Cx<'_, '_>, link: &Link) -> i32 {
    let cond = match cx.def(link.value).map(|def| cx.func.dfg.view(def)) {
        Some(InstView::IntCompare { cond, args }) => cx.compare(cond, args),
        Some(InstView::FloatCompare { cond, args }) => cx.compare_floats(cond, args),
        _ => unreachable!("links are comparisons"),
    };
    let Cond::One(condition) = cond.inverse_if(link.negated) else { unreachable!("links have one condition") };
    condition
}

/// Emits the flags of a link if the condition `before` holds. Otherwise the flags are set so that the link's
/// condition is `otherwise`. Returns the link's condition.
fn compare_if(cx: &mut Cx<'_, '_>, link: &Link, before: i32, otherwise: bool) -> i32 {
    let flags = |condition| if otherwise { holding(condition) } else { failing(condition) };
    match cx.def(link.value).map(|def| cx.func.dfg.view(def)) {
        Some(InstView::IntCompare { cond, args }) => {
            let Comparison { cond, x, y } = cx.constant_second(cond, args);
            let cond = if link.negated { cond.inverse() } else { cond };
            compare_ints_if(cx, cond, [x, y], before, flags(int_code(cond)))
        }
        Some(InstView::FloatCompare { cond, args: [x, y] }) => {
            let Cond::One(condition) = float_code(cond).inverse_if(link.negated) else {
                unreachable!("links have one condition")
            };
            let row = rows::FCCMP_FF.of(cx.ty(x).bits());
            let operands = [cx.use_reg(x), cx.use_reg(y)];
            cx.emit_imm(row, &operands, immediates::compare(before, flags(condition), 0));
            condition
        }
        _ => unreachable!("links are comparisons"),
    }
}

fn compare_ints_if(cx: &mut Cx<'_, '_>, cond: IntCC, [x, y]: [Value; 2], before: i32, flags: i32) -> i32 {
    let signed = is_signed(cond);
    let bits = cx.ty(x).bits().max(32);
    let first = cx.use_extended(x, signed);
    let constant = if signed { cx.constant_signed(y) } else { cx.constant(y).map(|c| c as i64) };
    match constant {
        Some(constant @ 0..=MAX_CONSTANT) => {
            let row = rows::CCMP_RI.of(bits);
            cx.emit_imm(row, &[first], immediates::compare(before, flags, constant as i32));
        }
        Some(constant) if (-MAX_CONSTANT..0).contains(&constant) => {
            let row = rows::CCMN_RI.of(bits);
            cx.emit_imm(row, &[first], immediates::compare(before, flags, -constant as i32));
        }
        _ => {
            let second = cx.use_extended(y, signed);
            let row = rows::CCMP_RR.of(bits);
            cx.emit_imm(row, &[first, second], immediates::compare(before, flags, 0));
        }
    }
    int_code(cond)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `true` if the condition holds under these flags (Arm ARM, C1.2.4).
    fn holds(condition: i32, flags: i32) -> bool {
        let [n, z, c, v] = [8, 4, 2, 1].map(|bit| flags & bit != 0);
        let base = match condition >> 1 {
            0 => z,
            1 => c,
            2 => n,
            3 => v,
            4 => c && !z,
            5 => n == v,
            _ => n == v && !z,
        };
        base != (condition & 1 != 0)
    }

    #[test]
    fn flags_stand_for_conditions() {
        for condition in 0..14 {
            assert!(holds(condition, holding(condition)), "{condition}");
            assert!(!holds(condition, failing(condition)), "{condition}");
        }
    }
}
