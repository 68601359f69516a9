//! Permutations of bytes.
//!
//! Before: `v2 = shuffle v0, v1, [0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23]`. After: `punpckldq v2, v1`.
//!
//! A table of [`Pattern`]s describes the orders of single instructions: rows with their immediates, and their effect
//! on bytes, which a test compares with the CPU's definition of each. Further orders are two `pshufb` and an `or`, or
//! are made in memory.

use super::{LowerResult, repeated};
use crate::lower::cx::Cx;
use crate::rows;
use kingpost_ir::{Inst, InstView, Opcode, Value};
use kingpost_mach::{Address, LowerError, RowId};
use kingpost_regalloc::VReg;

/// Source of each byte of a result: 0 to 15 of the first operand, 16 to 31 of the second one.
pub(super) type Order = [u8; 16];

/// One instruction that puts bytes into an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pattern {
    row: RowId,
    imm: i32,
    /// Operands by number, if the row has two.
    operands: (u8, u8),
}

/// Returns the order as numbers of lanes of `16 / N` bytes, if it keeps such lanes whole.
fn lanes_of<const N: usize>(order: &Order) -> Option<[u8; N]> {
    let bytes = 16 / N;
    let mut lanes = [0; N];
    for (lane, from) in lanes.iter_mut().zip(order.chunks_exact(bytes)) {
        let first = usize::from(from[0]);
        let whole = first % bytes == 0 && from.iter().enumerate().all(|(k, &byte)| usize::from(byte) == first + k);
        if !whole {
            return None;
        }
        *lane = (first / bytes) as u8;
    }
    Some(lanes)
}

/// Returns the immediate with two bits for each of four lanes, the first one lowest.
fn pairs_of_bits(lanes: [u8; 4]) -> i32 {
    lanes.iter().rev().fold(0, |imm, &lane| imm << 2 | i32::from(lane & 3))
}

/// Returns the instruction for an order of one operand's bytes, all below 16.
fn of_one(order: &Order) -> Option<Pattern> {
    let pattern = |row, imm| Some(Pattern { row, imm, operands: (0, 0) });
    if let Some(lanes) = lanes_of::<4>(order) {
        return pattern(rows::PSHUFD, pairs_of_bits(lanes));
    }
    if let Some(lanes) = lanes_of::<8>(order) {
        let (low, high) = lanes.split_at(4);
        let half = |half: &[u8]| [half[0], half[1], half[2], half[3]];
        if high == [4, 5, 6, 7] && low.iter().all(|&lane| lane < 4) {
            return pattern(rows::PSHUFLW, pairs_of_bits(half(low)));
        }
        if low == [0, 1, 2, 3] && high.iter().all(|&lane| lane >= 4) {
            return pattern(rows::PSHUFHW, pairs_of_bits(half(high)));
        }
    }
    None
}

/// Returns the order in which lanes of `bytes` bytes of the low or high halves alternate.
fn interleaved(bytes: u8, high: bool, (first, second): (u8, u8)) -> Order {
    std::array::from_fn(|k| {
        let k = k as u8;
        let lane = k / bytes;
        let operand = if lane.is_multiple_of(2) { first } else { second };
        16 * operand + 8 * u8::from(high) + lane / 2 * bytes + k % bytes
    })
}

/// Returns the instruction for an order of two operands' bytes. `can` tells whether the CPU has a row.
fn of_two(order: &Order, can: impl Fn(RowId) -> bool) -> Option<Pattern> {
    for operands in [(0, 1), (1, 0), (0, 0), (1, 1)] {
        let pattern = |row, imm| Some(Pattern { row, imm, operands });
        for bytes in [8, 4, 2, 1] {
            for (high, family) in [(false, rows::PUNPCKL), (true, rows::PUNPCKH)] {
                if *order == interleaved(bytes, high, operands) {
                    return pattern(family.of(8 * u32::from(bytes)), 0);
                }
            }
        }
        // The second operand counts as following the first one.
        let (first, second) = operands;
        let from = |byte: u8, operand: u8| byte / 16 == operand;
        if let Some(lanes) = lanes_of::<4>(order)
            && lanes[..2].iter().all(|&lane| lane / 4 == first)
            && lanes[2..].iter().all(|&lane| lane / 4 == second)
        {
            return pattern(rows::SHUFPS, pairs_of_bits(lanes));
        }
        if first != second
            && let Some(lanes) = lanes_of::<8>(order)
            && can(rows::PBLENDW)
            && lanes.iter().enumerate().all(|(k, &lane)| usize::from(lane % 8) == k)
        {
            let taken = |k: usize| i32::from(from(2 * lanes[k], second)) << k;
            return pattern(rows::PBLENDW, (0..8).map(taken).sum());
        }
        // Consecutive bytes of the second operand, then bytes of the first one.
        let start = order[0] % 16;
        let joined = |k: u8| if k < 16 { 16 * second + k } else { 16 * first + k - 16 };
        if can(rows::PALIGNR) && (0..16u8).all(|k| order[usize::from(k)] == joined(start + k)) {
            return pattern(rows::PALIGNR, start.into());
        }
    }
    None
}

/// Returns the shift of a whole register that puts the bytes of operand `number` into this order, with zeros in place
/// of the bytes of the other one.
fn byte_shift(order: &Order, number: u8) -> Option<(RowId, i32)> {
    let from = order.map(|byte| (byte / 16 == number).then_some(byte % 16));
    let is = |expected: &dyn Fn(u8) -> Option<u8>| (0..16).all(|k| from[usize::from(k)] == expected(k));
    let up = from.iter().position(Option::is_some)? as u8;
    let down = from[0].unwrap_or(0);
    if up > 0 && is(&|k| k.checked_sub(up)) {
        Some((rows::PSLLDQ_RI, up.into()))
    } else if down > 0 && is(&|k| Some(k + down).filter(|&byte| byte < 16)) {
        Some((rows::PSRLDQ_RI, down.into()))
    } else {
        None
    }
}

/// Lowers `shuffle`.
pub(in crate::lower) fn shuffle(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::Shuffle { args: [x, y], mask } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let mut order = mask.map(|byte| byte & 31);
    if x == y {
        order = order.map(|byte| byte & 15);
    }
    let value = cx.first_result(inst);
    let def = cx.result(value);
    let is_of = |operand: u8| order.iter().all(|&byte| byte / 16 == operand);
    for (number, operand) in [(0, x), (1, y)] {
        if is_of(number) {
            let source = cx.use_reg(operand);
            return permute(cx, def, source, order.map(|byte| byte & 15));
        }
    }
    let zero = [x, y].map(|v| cx.vector_constant(v) == Some(0));
    for (number, operand) in [(0, x), (1, y)] {
        if let (true, Some((row, by))) = (zero[1 - number], byte_shift(&order, number as u8)) {
            let source = cx.use_reg(operand);
            cx.emit_imm(row, &[def, source], by);
            return Ok(());
        }
    }
    let operands = [cx.use_reg(x), cx.use_reg(y)];
    if let Some(pattern) = of_two(&order, |row| cx.can(row)) {
        emit_pattern(cx, def, operands, pattern);
        return Ok(());
    }
    if !cx.can(rows::PSHUFB) {
        return through_memory(cx, def, &operands, order);
    }
    // Indexes with the top bit set give zero.
    let indexes =
        |number: u8| u128::from_le_bytes(order.map(|byte| if byte / 16 == number { byte & 15 } else { 0x80 }));
    if let Some(other) = zero.iter().position(|&is_zero| is_zero) {
        let number = 1 - other;
        cx.emit_with(rows::PSHUFB, &[def, operands[number]], indexes(number as u8));
        return Ok(());
    }
    let [first, second] =
        [0, 1].map(|number| cx.make_with(rows::PSHUFB, operands[usize::from(number)], indexes(number)));
    cx.emit(rows::ORPS, &[def, first, second]);
    Ok(())
}

fn emit_pattern(cx: &mut Cx<'_, '_>, def: VReg, operands: [VReg; 2], Pattern { row, imm, operands: (p, q) }: Pattern) {
    let has_two = rows::ROWS[usize::from(row.0)].operands.len() == 3;
    let uses = [operands[usize::from(p)], operands[usize::from(q)]];
    cx.emit_into(row, def, if has_two { &uses } else { &uses[..1] }).imm = imm;
}

/// Sets `def` to the bytes of `x` in this order, all below 16.
pub(super) fn permute(cx: &mut Cx<'_, '_>, def: VReg, x: VReg, order: Order) -> LowerResult {
    if order == std::array::from_fn(|k| k as u8) {
        cx.emit(rows::MOVAPS_RR, &[def, x]);
        return Ok(());
    }
    if let Some(pattern) = of_one(&order).or_else(|| of_two(&order, |row| cx.can(row))) {
        emit_pattern(cx, def, [x, x], pattern);
        return Ok(());
    }
    if !cx.can(rows::PSHUFB) {
        return through_memory(cx, def, &[x], order);
    }
    cx.emit_with(rows::PSHUFB, &[def, x], u128::from_le_bytes(order));
    Ok(())
}

/// Returns a stack slot for `count` vectors, which is free after this instruction.
fn place(cx: &mut Cx<'_, '_>, count: u32) -> Result<u32, LowerError> {
    cx.call_area(16 * count)
}

/// Permutes byte by byte, from the operands in memory to the result in memory.
fn through_memory(cx: &mut Cx<'_, '_>, def: VReg, operands: &[VReg], order: Order) -> LowerResult {
    let start = place(cx, operands.len() as u32 + 1)?;
    for (k, &operand) in (1..).zip(operands) {
        cx.emit_mem(rows::MOVAPS_MR, &[operand], Address::Slot(start + 16 * k));
    }
    for (k, from) in (0..).zip(order) {
        let byte = cx.int_temp(32);
        cx.emit_mem(rows::MOVZX32_RM.of(8), &[byte], Address::Slot(start + 16 + u32::from(from)));
        cx.emit_mem(rows::MOV_MR.of(8), &[byte], Address::Slot(start + k));
    }
    cx.emit_mem(rows::MOVAPS_RM, &[def], Address::Slot(start));
    Ok(())
}

/// Lowers `swizzle`: indexes above 15 give zero. Adding 0x70 sets their top bits, if they have none yet.
pub(in crate::lower) fn swizzle(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, indexes] = cx.args(inst);
    if let (true, Some(indexes)) = (cx.can(rows::PSHUFB), cx.vector_constant(indexes)) {
        let indexes = indexes.to_le_bytes().map(|index| if index < 16 { index } else { 0x80 });
        let value = cx.first_result(inst);
        let (def, x) = (cx.result(value), cx.use_reg(x));
        cx.emit_with(rows::PSHUFB, &[def, x], u128::from_le_bytes(indexes));
        return Ok(());
    }
    if cx.can(rows::PSHUFB) && are_nibbles(cx, indexes) {
        return super::by_row(cx, inst, rows::PSHUFB);
    }
    let [def, x, indexes] = cx.registers(inst);
    if cx.can(rows::PSHUFB) {
        let indexes = cx.make_with(rows::PADDUS.of(8), indexes, repeated(0x70, 8));
        cx.emit(rows::PSHUFB, &[def, x, indexes]);
        return Ok(());
    }
    let least = cx.make_with(rows::PMINU.of(8), indexes, repeated(15, 8));
    let valid = cx.make(rows::PCMPEQ.of(8), &[least, indexes]);
    let picked = by_index(cx, x, least)?;
    cx.emit(rows::ANDPS, &[def, picked, valid]);
    Ok(())
}

/// Returns `true` if all bytes of the value are known to be below 16, because it was made of nibbles of bytes.
fn are_nibbles(cx: &Cx<'_, '_>, value: Value) -> bool {
    let value = cx.without_casts(value);
    let Some(inst) = cx.def(value) else { return false };
    let is_mask = |arg| cx.vector_constant(arg).is_some_and(|mask| mask & repeated(0xf0, 8) == 0);
    match (cx.func.dfg.opcode(inst), cx.func.dfg.inst_args(inst)) {
        (Opcode::Band, &[x, y]) => is_mask(x) || is_mask(y),
        (Opcode::Ushr, &[_, amount]) => cx.lane_bits(value) == 8 && cx.constant(amount).is_some_and(|n| n & 7 >= 4),
        _ => false,
    }
}

/// Lowers `x86_pshufb`: the top bit of an index means zero, else its low four bits count.
pub(in crate::lower) fn pshufb(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    if cx.can(rows::PSHUFB) {
        return super::by_row(cx, inst, rows::PSHUFB);
    }
    debug_assert_eq!(cx.func.dfg.opcode(inst), Opcode::X86Pshufb);
    let [def, x, indexes] = cx.registers(inst);
    let low = cx.make_with(rows::ANDPS, indexes, repeated(15, 8));
    let zeros = super::compare::sign_mask(cx, 8, indexes);
    let picked = by_index(cx, x, low)?;
    cx.emit(rows::ANDNPS, &[def, zeros, picked]);
    Ok(())
}

/// Returns the bytes of `x` at `indexes`, which are below 16, by way of memory.
fn by_index(cx: &mut Cx<'_, '_>, x: VReg, indexes: VReg) -> Result<VReg, LowerError> {
    let start = place(cx, 2)?;
    let (base, picked) = (cx.int_temp(64), cx.vector_temp());
    cx.emit_mem(rows::MOVAPS_MR, &[x], Address::Slot(start));
    cx.emit_mem(rows::MOVAPS_MR, &[indexes], Address::Slot(start + 16));
    cx.emit_mem(rows::LEA64_CONST, &[base], Address::Slot(start));
    for k in 0..16 {
        let (index, byte) = (cx.int_temp(64), cx.int_temp(32));
        cx.emit_mem(rows::MOVZX32_RM.of(8), &[index], Address::Slot(start + 16 + k));
        let at = Address::Index { base, index, shift: 0, extend: kingpost_mach::IndexExtend::None, disp: 0 };
        cx.emit_mem(rows::MOVZX32_RM.of(8), &[byte], at);
        cx.emit_mem(rows::MOV_MR.of(8), &[byte], Address::Slot(start + 16 + k));
    }
    cx.emit_mem(rows::MOVAPS_RM, &[picked], Address::Slot(start + 16));
    Ok(picked)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the order of bytes that a row makes from two operands, from the definitions in SDM volume 2.
    fn run(Pattern { row, imm, operands: (p, q) }: Pattern) -> Order {
        let first: Order = std::array::from_fn(|k| 16 * p + k as u8);
        let second: Order = std::array::from_fn(|k| 16 * q + k as u8);
        let bits = |k: usize| (imm >> (2 * k) & 3) as usize;
        for (high, family) in [(0, rows::PUNPCKL), (8, rows::PUNPCKH)] {
            for bytes in [1, 2, 4, 8] {
                if row == family.of(8 * bytes as u32) {
                    return std::array::from_fn(|k| {
                        let (lane, byte) = (k / bytes, k % bytes);
                        [first, second][lane % 2][high + lane / 2 * bytes + byte]
                    });
                }
            }
        }
        std::array::from_fn(|k| match row {
            rows::PSHUFD => first[4 * bits(k / 4) + k % 4],
            rows::PSHUFLW if k < 8 => first[2 * bits(k / 2) + k % 2],
            rows::PSHUFHW if k >= 8 => first[8 + 2 * bits(k / 2 - 4) + k % 2],
            rows::PSHUFLW | rows::PSHUFHW => first[k],
            rows::SHUFPS => [first, second][k / 8][4 * bits(k / 4) + k % 4],
            rows::PBLENDW => [first, second][(imm >> (k / 2) & 1) as usize][k],
            rows::PALIGNR => second.iter().chain(&first).copied().nth(k + imm as usize).unwrap(),
            _ => panic!("no such pattern"),
        })
    }

    #[test]
    fn zeros_come_from_shifts() {
        for number in [0, 1] {
            let (own, other) = (16 * number, 16 * (1 - number));
            for by in 1..16 {
                let up: Order = std::array::from_fn(|k| if k < by { other } else { own + (k - by) as u8 });
                let down: Order = std::array::from_fn(|k| if k + by < 16 { own + (k + by) as u8 } else { other + 3 });
                assert_eq!(byte_shift(&up, number), Some((rows::PSLLDQ_RI, by as i32)));
                assert_eq!(byte_shift(&down, number), Some((rows::PSRLDQ_RI, by as i32)));
                assert_eq!(byte_shift(&up, 1 - number), None);
            }
        }
    }

    /// Checks that every order that a row makes with an immediate is found, and that the instruction found makes this
    /// order.
    #[test]
    fn patterns_do_what_they_are_found_for() {
        let mut all = Vec::new();
        let both = [(0, 1), (1, 0), (0, 0), (1, 1)];
        for operands in both {
            for family in [rows::PUNPCKL, rows::PUNPCKH] {
                all.extend([8, 16, 32, 64].map(|bits| Pattern { row: family.of(bits), imm: 0, operands }));
            }
            for imm in 0..256 {
                all.extend([rows::SHUFPS, rows::PBLENDW].map(|row| Pattern { row, imm, operands }));
            }
            all.extend((0..16).map(|imm| Pattern { row: rows::PALIGNR, imm, operands }));
        }
        for imm in 0..256 {
            all.extend([rows::PSHUFD, rows::PSHUFLW, rows::PSHUFHW].map(|row| Pattern { row, imm, operands: (0, 0) }));
        }
        for pattern in all {
            let order = run(pattern);
            let one = order.iter().all(|&byte| byte < 16);
            let is_other = order.iter().all(|&byte| byte >= 16);
            let found = match (one, is_other) {
                (true, _) => of_one(&order).or_else(|| of_two(&order, |_| true)),
                // Orders of the second operand alone are searched as orders of the first.
                (_, true) => continue,
                _ => of_two(&order, |_| true),
            };
            let found = found.unwrap_or_else(|| panic!("{pattern:?} makes {order:?}, which is not found"));
            assert_eq!(run(found), order, "{found:?} is found for {pattern:?}");
        }
    }
}
