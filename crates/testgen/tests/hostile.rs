//! Answers that no allocator would give: the checker must reject them without a panic.

use kingpost_checker::Checker;
use kingpost_regalloc::*;
use kingpost_regalloc_linear::LinearScan;
use kingpost_testgen::faults::FAULTS;
use kingpost_testgen::problem::generate;
use kingpost_testgen::rng::Rng;

/// Returns a small number, one close to `len`, or one far beyond.
fn number(rng: &mut Rng, len: usize) -> u32 {
    match rng.range(0..10) {
        0 => u32::MAX >> 1 >> rng.range(1..31),
        1 => len as u32,
        _ => rng.range(0..len + 1) as u32,
    }
}

fn reg(rng: &mut Rng) -> PReg {
    PReg::from_index(rng.range(0..PReg::COUNT))
}

fn slot(rng: &mut Rng, answer: &Allocation) -> Slot {
    Slot::from_u32(number(rng, answer.slots.len()))
}

fn loc(rng: &mut Rng, answer: &Allocation) -> Loc {
    match rng.range(0..10) {
        0 => Loc::NONE,
        1..6 => Loc::reg(reg(rng)),
        _ => Loc::slot(slot(rng, answer)),
    }
}

fn kind(rng: &mut Rng, insts: usize, answer: &Allocation) -> EditKind {
    let width = rng.bits() as u8;
    match rng.range(0..6) {
        0 => EditKind::Move { from: reg(rng), to: reg(rng), width },
        1 => EditKind::Exchange { a: reg(rng), b: reg(rng), width },
        2 => EditKind::Spill { from: reg(rng), to: slot(rng, answer), width },
        3 => EditKind::Fill { from: slot(rng, answer), to: reg(rng), width },
        4 => EditKind::SlotMove { from: slot(rng, answer), to: slot(rng, answer), width },
        _ => EditKind::Remat { inst: Inst::from_u32(number(rng, insts)), to: reg(rng) },
    }
}

/// Puts an invalid entry somewhere.
fn spoil(rng: &mut Rng, insts: usize, answer: &mut Allocation) {
    let inst = Inst::from_u32(number(rng, insts));
    match rng.range(0..10) {
        0 if !answer.locs.is_empty() => {
            let n = rng.range(0..answer.locs.len());
            answer.locs[n] = loc(rng, answer);
        }
        1 => {
            let kind = kind(rng, insts, answer);
            answer.edits.push(Edit { at: inst, kind });
        }
        2 => answer.edits.sort_by_key(|edit| edit.at),
        3 => answer.stack_maps.push(StackMapEntry { inst, slot: slot(rng, answer) }),
        4 => answer.emergency[rng.range(0..2)] = Some(slot(rng, answer)),
        5 => {
            let (loc, to) = (loc(rng, answer), Inst::from_u32(number(rng, insts)));
            answer.labels.push(LabelRange { label: rng.range(0..4) as u32, loc, from: inst, to });
        }
        6 => drop(answer.slots.push(SlotData { size: number(rng, 9), align: number(rng, 9) })),
        7 => answer.locs.truncate(rng.range(0..answer.locs.len() + 1)),
        8 if inst.as_u32() < insts as u32 => answer.drop_inst(inst),
        _ => answer.saved = PRegSet::EMPTY,
    }
}

#[test]
fn nonsense_is_answered() {
    let mut checker = Checker::new();
    let mut answer = Allocation::default();
    for seed in 0..1500 {
        let (problem, env) = generate(seed);
        LinearScan::default().allocate(&problem, &env, &mut answer).expect("generated problems have solutions");
        let rng = &mut Rng::new(!seed);
        for _ in 0..rng.range(1..6) {
            match rng.chance(50) {
                true => spoil(rng, problem.num_insts(), &mut answer),
                // The operators expect an answer with a location per operand.
                false if answer.locs.len() == problem.num_operands() => {
                    let mut sound = answer.clone();
                    sound.edits.retain(|edit| (edit.at.as_u32() as usize) < problem.num_insts());
                    let fault = FAULTS[rng.range(0..FAULTS.len())];
                    (fault.mutate)(&problem, &env, &mut sound, rng);
                    answer = sound;
                }
                false => {}
            }
            for error in checker.check(&problem, &env, &answer).err().iter().flatten() {
                assert!(!error.to_string().is_empty());
            }
        }
    }
}
