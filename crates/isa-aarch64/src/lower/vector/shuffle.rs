//! Permutations of bytes: by one instruction where there is one, else by a table.
//!
//! Before: `v2 = shuffle v0, v1, [0 1 16 17 2 3 18 19 4 5 20 21 6 7 22 23]`. After: `zip1 v2.8h, v0.8h, v1.8h`.
//!
//! Each instruction is described by a function from lanes of its result to lanes of both operands. A mask of bytes is
//! compared with all of them, widest lanes first. A test interprets the instruction that is found.

use super::super::cx::Cx;
use super::super::{LowerResult, tiles};
use super::constant::{load_vector, repeated};
use crate::encoding::Arrangement;
use crate::rows;
use crate::rows::lanes::{self, Lanes};
use kingpost_ir::{Inst, InstView, Value};
use kingpost_regalloc::VReg;

/// For each byte of the result, its number among the bytes of two vectors. A larger number means zero.
type Mask = [u8; 16];

/// Instruction for a mask. Operands are numbers of the vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Permutation {
    /// The vector itself.
    Same,
    /// An instruction on one vector, with an immediate.
    Unary(Lanes, Arrangement, i32),
    /// An instruction on two vectors, with an immediate.
    Binary(Lanes, Arrangement, [usize; 2], i32),
    /// A lane of the second vector replaces one of the first. The immediate has their numbers.
    Insert(Arrangement, [usize; 2], i32),
}

/// Function from lane `i` of the result to its source among `2 * count` lanes, for `count` lanes in each operand (Arm
/// ARM, C7.2).
type LaneOf = fn(count: usize, i: usize) -> usize;

const BINARY: [(Lanes, LaneOf); 6] = [
    (lanes::ZIP1, |count, i| i / 2 + i % 2 * count),
    (lanes::ZIP2, |count, i| count / 2 + i / 2 + i % 2 * count),
    (lanes::UZP1, |_, i| 2 * i),
    (lanes::UZP2, |_, i| 2 * i + 1),
    (lanes::TRN1, |count, i| i - i % 2 + i % 2 * count),
    (lanes::TRN2, |count, i| i - i % 2 + 1 + i % 2 * count),
];

/// Reversals of the lanes in this number of bytes.
const REVERSALS: [(Lanes, usize); 3] = [(lanes::REV64, 8), (lanes::REV32, 4), (lanes::REV16, 2)];

/// Returns the instruction for `mask`. Its numbers are below 16 if `single`, because one vector is permuted, and else
/// below 32.
fn find(mask: Mask, single: bool) -> Option<Permutation> {
    let identity = (0..16).all(|i| usize::from(mask[i]) == i);
    if identity {
        return Some(Permutation::Same);
    }
    [8, 4, 2, 1]
        .into_iter()
        .find_map(|bytes| find_lanes(&lane_numbers(mask, bytes)?, bytes, single))
        .or_else(|| extract(mask, single))
}

/// Returns the mask as numbers of lanes of `bytes` bytes, if it keeps such lanes whole.
fn lane_numbers(mask: Mask, bytes: usize) -> Option<Vec<usize>> {
    let whole = |lane: &[u8]| {
        let first = usize::from(lane[0]);
        let follows = lane.iter().enumerate().all(|(k, &byte)| usize::from(byte) == first + k);
        (first % bytes == 0 && follows).then_some(first / bytes)
    };
    mask.chunks(bytes).map(whole).collect()
}

fn find_lanes(numbers: &[usize], bytes: usize, single: bool) -> Option<Permutation> {
    let count = numbers.len();
    let lanes = Arrangement::new(8 * bytes as u32, true);
    let is = |lane: &dyn Fn(usize) -> usize| (0..count).all(|i| numbers[i] == lane(i));
    if single {
        if is(&|_| numbers[0]) {
            return Some(Permutation::Unary(lanes::DUP_VE, lanes, numbers[0] as i32));
        }
        let reversal = REVERSALS.iter().find(|&&(_, whole)| whole > bytes && is(&|i| i ^ (whole / bytes - 1)));
        if let Some(&(family, _)) = reversal {
            return Some(Permutation::Unary(family, lanes, 0));
        }
    }
    for (family, lane_of) in BINARY {
        if single && is(&|i| lane_of(count, i) % count) {
            return Some(Permutation::Binary(family, lanes, [0, 0], 0));
        }
        if !single && is(&|i| lane_of(count, i)) {
            return Some(Permutation::Binary(family, lanes, [0, 1], 0));
        }
        if !single && is(&|i| (lane_of(count, i) + count) % (2 * count)) {
            return Some(Permutation::Binary(family, lanes, [1, 0], 0));
        }
    }
    inserted(numbers, lanes)
}

/// Returns the instruction that replaces one lane of the first vector or of the second.
fn inserted(numbers: &[usize], lanes: Arrangement) -> Option<Permutation> {
    let count = numbers.len();
    for base in [0, 1] {
        let mut others = (0..count).filter(|&i| numbers[i] != i + base * count);
        if let (Some(at), None) = (others.next(), others.next()) {
            let (from, lane) = (numbers[at] / count, numbers[at] % count);
            if from < 2 {
                return Some(Permutation::Insert(lanes, [base, from], (at | lane << 8) as i32));
            }
        }
    }
    None
}

/// Returns the instruction that takes consecutive bytes of both vectors.
fn extract(mask: Mask, single: bool) -> Option<Permutation> {
    let (first, bytes) = (usize::from(mask[0]), if single { 16 } else { 32 });
    if !(0..16).all(|i| usize::from(mask[i]) == (first + i) % bytes) {
        return None;
    }
    let operands = if single {
        [0, 0]
    } else if first < 16 {
        [0, 1]
    } else {
        [1, 0]
    };
    Some(Permutation::Binary(lanes::EXT, Arrangement::new(8, true), operands, (first % 16) as i32))
}

/// Returns the instruction that takes consecutive bytes of the first vector, before or after zeros. All bytes of the
/// second vector are zero.
fn with_zeros(mask: Mask) -> Option<Permutation> {
    let first = mask.iter().position(|&byte| byte < 16)?;
    let start = (usize::from(mask[first]) + 16 - first) % 16;
    let behind = std::array::from_fn(|k| (start + k) as u8);
    let before = std::array::from_fn(|k| ((16 + start + k) % 32) as u8);
    let fits = |all: &Mask| all.iter().zip(&mask).all(|(&a, &byte)| a == byte || a >= 16 && byte >= 16);
    [behind, before].iter().find(|all| fits(all)).and_then(|&all| extract(all, false))
}

/// Lowers `shuffle`.
pub(in crate::lower) fn shuffle(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::Shuffle { args, mask } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first_result(inst);
    let def = cx.result(value);
    permute(cx, def, args, *mask);
    Ok(())
}

/// Sets `def` to the bytes of `args` that `mask` selects.
fn permute(cx: &mut Cx<'_, '_>, def: VReg, [x, y]: [Value; 2], mut mask: Mask) {
    let (mut args, mut single) = ([x, y], x == y);
    if single {
        mask = mask.map(|byte| byte % 16);
    } else if mask.iter().all(|&byte| byte < 16) {
        (args, single) = ([x, x], true);
    } else if mask.iter().all(|&byte| byte >= 16) {
        (args, single) = ([y, y], true);
        mask = mask.map(|byte| byte - 16);
    }
    if let Some(permutation) = find(mask, single) {
        cx.count_tile(tiles::SHUFFLE);
        emit(cx, def, args, permutation);
        return;
    }
    // A number that is not in the table gives zero.
    if !single && cx.is_zero_vector(args[0]) {
        args.swap(0, 1);
        mask = mask.map(|byte| byte ^ 16);
    }
    if !single && cx.is_zero_vector(args[1]) {
        if let Some(permutation) = with_zeros(mask) {
            cx.count_tile(tiles::SHUFFLE);
            emit(cx, def, args, permutation);
            return;
        }
        single = true;
    }
    let numbers = cx.vector_temp();
    load_vector(cx, numbers, u128::from_le_bytes(mask), 128);
    let bytes = Arrangement::new(8, true);
    if single {
        let source = cx.use_reg(args[0]);
        cx.define(def, lanes::TBL, bytes, &[source, numbers]);
    } else {
        let [x, y] = args.map(|arg| cx.use_reg(arg));
        cx.define(def, lanes::TBL2, bytes, &[x, y, numbers]);
    }
}

fn emit(cx: &mut Cx<'_, '_>, def: VReg, args: [Value; 2], permutation: Permutation) {
    match permutation {
        Permutation::Same => {
            let source = cx.use_reg(args[0]);
            cx.emit(rows::MOV128_FF, &[def, source]);
        }
        Permutation::Unary(family, lanes, imm) => {
            let source = cx.use_reg(args[0]);
            cx.define_imm(def, family, lanes, &[source], imm);
        }
        Permutation::Binary(family, lanes, operands, imm) => {
            let sources = operands.map(|k| cx.use_reg(args[k]));
            cx.define_imm(def, family, lanes, &sources, imm);
        }
        Permutation::Insert(lanes, operands, imm) => {
            let sources = operands.map(|k| cx.use_reg(args[k]));
            cx.define_imm(def, lanes::MOV_EE, lanes, &sources, imm);
        }
    }
}

/// Lowers `swizzle` as `tbl`.
pub(in crate::lower) fn swizzle(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, numbers] = cx.args(inst);
    let value = cx.first_result(inst);
    let def = cx.result(value);
    let constant = cx.vector_constant(numbers).map(u128::to_le_bytes);
    if let Some(mask) = constant.filter(|mask| mask.iter().all(|&byte| byte < 16)) {
        permute(cx, def, [x, x], mask);
        return Ok(());
    }
    let [x, numbers] = [x, numbers].map(|arg| cx.use_reg(arg));
    cx.define(def, lanes::TBL, Arrangement::new(8, true), &[x, numbers]);
    Ok(())
}

/// Lowers `x86_pshufb`. Only the top bit and the low four bits of each number count.
pub(in crate::lower) fn table_lookup(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [def, x, numbers] = cx.registers(inst);
    let [counted, masked] = std::array::from_fn(|_| cx.vector_temp());
    load_vector(cx, counted, repeated(0x8f, 8), 128);
    cx.emit(rows::AND_FFF.of(128), &[masked, numbers, counted]);
    cx.define(def, lanes::TBL, Arrangement::new(8, true), &[x, masked]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Returns the bytes of the result of a permutation of two vectors, as the manual's pseudocode defines them.
    fn interpret(permutation: Permutation, vectors: [[u8; 16]; 2]) -> [u8; 16] {
        let lanes_of = |vector: [u8; 16], lanes: Arrangement| -> Vec<Vec<u8>> {
            vector.chunks(1 << lanes.log()).map(<[u8]>::to_vec).collect()
        };
        let joined = |lanes: Vec<Vec<u8>>| lanes.concat().try_into().unwrap();
        match permutation {
            Permutation::Same => vectors[0],
            Permutation::Unary(lanes::DUP_VE, lanes, index) => {
                let source = lanes_of(vectors[0], lanes);
                joined(vec![source[index as usize].clone(); source.len()])
            }
            Permutation::Unary(family, lanes, _) => {
                let container = if family == lanes::REV64 {
                    8
                } else if family == lanes::REV32 {
                    4
                } else {
                    2
                };
                let mut out = Vec::new();
                for container in vectors[0].chunks(container) {
                    out.extend(container.chunks(1 << lanes.log()).rev().flatten().copied());
                }
                out.try_into().unwrap()
            }
            Permutation::Insert(lanes, [to, from], imm) => {
                let (mut target, source) = (lanes_of(vectors[to], lanes), lanes_of(vectors[from], lanes));
                target[imm as usize & 0xff].clone_from(&source[imm as usize >> 8]);
                joined(target)
            }
            Permutation::Binary(lanes::EXT, _, operands, imm) => {
                let both = operands.map(|k| vectors[k]).concat();
                both[imm as usize..imm as usize + 16].try_into().unwrap()
            }
            Permutation::Binary(family, lanes, operands, _) => {
                let [x, y] = operands.map(|k| lanes_of(vectors[k], lanes));
                let pairs = |from: usize, to: usize| (from..to).flat_map(|i| [x[i].clone(), y[i].clone()]).collect();
                let both: Vec<Vec<u8>> = x.iter().chain(&y).cloned().collect();
                let every_other = |first| both.iter().skip(first).step_by(2).cloned().collect();
                let transposed = |part: usize| {
                    (0..x.len()).step_by(2).flat_map(|i| [x[i + part].clone(), y[i + part].clone()]).collect()
                };
                joined(match family {
                    lanes::ZIP1 => pairs(0, x.len() / 2),
                    lanes::ZIP2 => pairs(x.len() / 2, x.len()),
                    lanes::UZP1 => every_other(0),
                    lanes::UZP2 => every_other(1),
                    lanes::TRN1 => transposed(0),
                    lanes::TRN2 => transposed(1),
                    _ => panic!("{family:?}"),
                })
            }
        }
    }

    fn number(index: usize) -> u8 {
        u8::try_from(index).unwrap()
    }

    /// Returns the two vectors whose bytes are equal to their numbers in a mask.
    fn vectors() -> [[u8; 16]; 2] {
        [std::array::from_fn(number), std::array::from_fn(|i| number(i + 16))]
    }

    /// Checks that the instruction found for `mask` permutes the bytes so, and returns it.
    fn check(mask: Mask, single: bool) -> Option<Permutation> {
        let found = find(mask, single)?;
        let vectors = if single { [vectors()[0]; 2] } else { vectors() };
        assert_eq!(interpret(found, vectors), mask, "{found:?}");
        Some(found)
    }

    #[test]
    fn every_instruction_is_found_for_its_own_mask() {
        let mut all = Vec::new();
        for bytes in [1, 2, 4, 8] {
            let lanes = Arrangement::new(8 * bytes, true);
            for (family, _) in BINARY {
                all.extend([[0, 1], [1, 0], [0, 0]].map(|operands| Permutation::Binary(family, lanes, operands, 0)));
            }
            let count = 16 / bytes as i32;
            for lane in 0..count {
                all.push(Permutation::Unary(lanes::DUP_VE, lanes, lane));
                for at in 0..count {
                    let imm = at | lane << 8;
                    all.extend([[0, 1], [1, 0], [0, 0]].map(|operands| Permutation::Insert(lanes, operands, imm)));
                }
            }
            for (family, whole) in REVERSALS {
                if whole > bytes as usize {
                    all.push(Permutation::Unary(family, lanes, 0));
                }
            }
        }
        for first in 1..16 {
            for operands in [[0, 1], [1, 0], [0, 0]] {
                all.push(Permutation::Binary(lanes::EXT, Arrangement::new(8, true), operands, first));
            }
        }
        let mut masks = HashSet::new();
        for permutation in all {
            let mask = interpret(permutation, vectors());
            let single = mask.iter().all(|&byte| byte < 16);
            if single || mask.iter().any(|&byte| byte < 16) {
                assert!(check(mask, single).is_some(), "{permutation:?}");
                masks.insert(mask);
            }
        }
        assert!(masks.len() > 700, "{}", masks.len());
    }

    #[test]
    fn what_is_found_for_any_mask_does_it() {
        let mut seed = 1u64;
        let mut next = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % bound
        };
        let mut found = 0;
        for _ in 0..100_000 {
            // Masks near a regular one: a step, a start, one byte changed.
            let (start, step, single) = (next(32), next(4), next(2) == 0);
            let bytes = if single { 16 } else { 32 };
            let mut mask: Mask = std::array::from_fn(|i| ((start + step * i as u64) % bytes) as u8);
            if next(2) == 0 {
                mask[next(16) as usize] = next(bytes) as u8;
            }
            found += u32::from(check(mask, single).is_some());
        }
        assert!(found > 1000, "{found}");
    }
}
