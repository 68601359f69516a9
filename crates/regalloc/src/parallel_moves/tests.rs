//! A simulator executes the edits and compares with the parallel meaning of the moves.

use super::*;
use crate::allocation::EditKind::{Exchange, Fill, Move, Remat, SlotMove, Spill};
use std::collections::BTreeMap;

/// Content of a location: the low `width` bytes of a value.
type Content = (u32, u8);

const FULL: u8 = 8;
const REMAT_VALUE: u32 = 1000;

#[derive(Clone, Copy, Debug)]
struct Request {
    from: Result<Loc, Inst>,
    to: Loc,
    class: RegClass,
    width: u8,
}

/// Runs `edits` over `state`, or returns an error that describes a wrong edit.
fn simulate(
    edits: &[EditKind],
    slots: &Allocation,
    env: &MachineEnv,
    state: &mut BTreeMap<Loc, Content>,
) -> Result<(), String> {
    let read = |state: &BTreeMap<Loc, Content>, loc: Loc, width: u8| {
        let (value, have) = state.get(&loc).copied().unwrap_or((u32::MAX, 0));
        (value, have.min(width))
    };
    let fits = |slot: Slot, width: u8| match slots.slots[slot].size >= u32::from(width) {
        true => Ok(()),
        false => Err(format!("{width} bytes do not fit {slot}")),
    };
    for edit in edits {
        match *edit {
            Move { from, to, width } if from.class() == to.class() => {
                let content = read(state, Loc::reg(from), width);
                state.insert(Loc::reg(to), content);
            }
            Exchange { a, b, width } if a.class() == b.class() && env.class(a.class()).exchange => {
                let (old_a, old_b) = (read(state, Loc::reg(a), width), read(state, Loc::reg(b), width));
                state.insert(Loc::reg(a), old_b);
                state.insert(Loc::reg(b), old_a);
            }
            Spill { from, to, width } => {
                fits(to, width)?;
                state.insert(Loc::slot(to), read(state, Loc::reg(from), width));
            }
            Fill { from, to, width } => {
                fits(from, width)?;
                state.insert(Loc::reg(to), read(state, Loc::slot(from), width));
            }
            SlotMove { from, to, width } if env.class(RegClass::Int).slot_move => {
                fits(from, width).and(fits(to, width))?;
                state.insert(Loc::slot(to), read(state, Loc::slot(from), width));
            }
            Remat { inst, to } => {
                state.insert(Loc::reg(to), (REMAT_VALUE + inst.as_u32(), FULL));
            }
            _ => return Err(format!("{edit:?} is not for this machine")),
        }
    }
    Ok(())
}

/// Resolves and simulates the moves; returns the edits.
fn check(requests: &[Request], free: PRegSet, env: &MachineEnv, allocation: &mut Allocation) -> Vec<EditKind> {
    let mut moves = ParallelMoves::new();
    moves.widest = [FULL; 2];
    check_with(&mut moves, requests, free, env, allocation)
}

fn check_with(
    moves: &mut ParallelMoves,
    requests: &[Request],
    free: PRegSet,
    env: &MachineEnv,
    allocation: &mut Allocation,
) -> Vec<EditKind> {
    let mut before: BTreeMap<Loc, Content> = BTreeMap::new();
    for (i, reg) in env.allocatable().iter().enumerate() {
        before.insert(Loc::reg(reg), (i as u32, FULL));
    }
    for (slot, data) in allocation.slots.iter() {
        if !allocation.emergency.contains(&Some(slot)) {
            before.insert(Loc::slot(slot), (100 + slot.as_u32(), data.size as u8));
        }
    }
    for request in requests {
        match request.from {
            Ok(from) => moves.add(from, request.to, request.class, request.width),
            Err(inst) => moves.add_remat(inst, request.to, request.class, request.width),
        }
    }
    let mut edits = Vec::new();
    moves.resolve(free, (&Problem::default(), env), allocation, &mut edits).unwrap();
    assert!(moves.is_empty());
    let mut after = before.clone();
    let context = format!("{requests:?}, free {free}, {env:?}\n{edits:?}");
    simulate(&edits, allocation, env, &mut after).unwrap_or_else(|error| panic!("{error}: {context}"));
    for (&loc, &old) in &before {
        let request = requests.iter().find(|request| request.to == loc);
        let want = match request.map(|request| (request.from, request.width)) {
            None if loc.as_reg().is_some_and(|reg| free.contains(reg)) => continue,
            None => old,
            Some((Ok(from), width)) => (before[&from].0, width),
            Some((Err(inst), width)) => (REMAT_VALUE + inst.as_u32(), width),
        };
        let (value, width) = after[&loc];
        assert!(value == want.0 && width >= want.1, "{loc} holds {:?}, not {want:?}: {context}", after[&loc]);
    }
    edits
}

fn reg(i: u8) -> Loc {
    Loc::reg(PReg::int(i))
}

fn request(from: Loc, to: Loc) -> Request {
    Request { from: Ok(from), to, class: RegClass::Int, width: FULL }
}

/// Returns a machine with `registers` integer registers; the bits of `options` add a scratch register, an exchange
/// and a slot move.
fn machine(registers: u8, options: u32) -> MachineEnv {
    let mut env = MachineEnv::simple(registers, 0);
    let class = &mut env.classes[0];
    class.scratch = (options & 1 != 0).then(|| PReg::int(40));
    class.exchange = options & 2 != 0;
    class.slot_move = options & 4 != 0;
    env
}

fn with_slots(n: usize) -> Allocation {
    let mut allocation = Allocation::default();
    for _ in 0..n {
        allocation.add_slot(FULL);
    }
    allocation
}

/// Calls `case` with every parallel move over `locs`: each location is written from any of them, or not at all.
fn all_moves(locs: &[Loc], mut case: impl FnMut(&[Request])) {
    let n = locs.len();
    for mut code in 0..(n + 1).pow(n as u32) {
        let mut requests = Vec::new();
        for &to in locs {
            if let Some(&from) = locs.get(code % (n + 1)) {
                requests.push(request(from, to));
            }
            code /= n + 1;
        }
        case(&requests);
    }
}

/// Counts the moves that change a location, and the cycles from which no move copies to the outside.
fn moves_and_closed_cycles(requests: &[Request]) -> (usize, usize) {
    let real = || requests.iter().filter(|w| w.from != Ok(w.to));
    let into = |loc: Loc| real().find(|w| w.to == loc).and_then(|w| w.from.ok());
    let mut cycles = 0;
    for start in real().map(|w| w.to) {
        let mut members = vec![start];
        while let Some(from) = into(*members.last().unwrap()) {
            if members.contains(&from) {
                break;
            }
            members.push(from);
        }
        let closed = into(*members.last().unwrap()) == Some(start);
        let copied = real().any(|w| w.from.is_ok_and(|from| members.contains(&from)) && !members.contains(&w.to));
        // Each cycle is counted at its smallest member.
        cycles += usize::from(closed && !copied && members.iter().min() == Some(&start));
    }
    (real().count(), cycles)
}

/// Returns a number from the environment, for long runs: `MOVES_OVER=7 MOVES=10000000 cargo test --release
/// parallel_moves`.
fn wanted<T: std::str::FromStr>(name: &str, usual: T) -> T {
    std::env::var(name).ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

#[test]
fn every_move_over_registers_is_right_and_minimal() {
    let n = wanted("MOVES_OVER", 5);
    let locs: Vec<Loc> = (0..n).map(reg).collect();
    for options in 0..8 {
        let env = machine(n + 1, options & 3);
        let free = if options & 4 != 0 { PRegSet::EMPTY.with(PReg::int(n)) } else { PRegSet::EMPTY };
        all_moves(&locs, |requests| {
            let edits = check(requests, free, &env, &mut with_slots(0));
            let (moves, cycles) = moves_and_closed_cycles(requests);
            match options & 2 {
                0 => assert_eq!(edits.len(), moves + cycles, "{requests:?}: {edits:?}"),
                _ => assert!(edits.len() <= moves + cycles, "{requests:?}: {edits:?}"),
            }
        });
    }
}

#[test]
fn every_move_over_four_registers_and_slots_is_right() {
    for slots in 1..=4 {
        for options in 0..32 {
            // With and without a register that the moves do not touch, free or not.
            let locs: Vec<Loc> =
                (0..4).map(|i| if i < slots { Loc::slot(Slot::from_u32(i)) } else { reg(i as u8) }).collect();
            let env = machine(if options & 8 != 0 { 4 } else { 5 }, options & 7);
            let free = if options & 16 != 0 { PRegSet::EMPTY.with(PReg::int(4)) } else { PRegSet::EMPTY };
            let free = free.intersection(env.allocatable());
            all_moves(&locs, |requests| drop(check(requests, free, &env, &mut with_slots(4))));
        }
    }
}

/// Checks fewer kinds of machines than the test above, because the number of moves grows as n to the n.
#[test]
fn every_move_over_registers_and_slots_is_right() {
    let n: u8 = wanted("MOVES_OVER", 5);
    for slots in [n / 2, n - 2] {
        let locs: Vec<Loc> =
            (0..n).map(|i| if i < slots { Loc::slot(Slot::from_u32(i.into())) } else { reg(i) }).collect();
        for options in 0..2 {
            let env = machine(n, options);
            let free = PRegSet::EMPTY.with(PReg::int(0));
            all_moves(&locs, |requests| drop(check(requests, free, &env, &mut with_slots(slots.into()))));
        }
    }
}

#[test]
fn one_register_is_enough_for_memory_cycles() {
    let slot = |i| Loc::slot(Slot::from_u32(i));
    let ring = [request(slot(0), slot(1)), request(slot(1), slot(2)), request(slot(2), slot(0))];
    for free in [PRegSet::EMPTY, PRegSet::EMPTY.with(PReg::int(0))] {
        check(&ring, free, &machine(1, 0), &mut with_slots(3));
        let with_reg = [request(slot(0), slot(1)), request(slot(1), reg(0)), request(reg(0), slot(0))];
        check(&with_reg, free, &machine(1, 0), &mut with_slots(3));
    }
    let mut moves = ParallelMoves::new();
    moves.add(slot(0), slot(1), RegClass::Int, 8);
    let (problem, env) = (Problem::default(), machine(0, 0));
    let error = moves.resolve(PRegSet::EMPTY, (&problem, &env), &mut with_slots(2), &mut Vec::new());
    assert_eq!(error, Err(NoRegister(RegClass::Int)));
    assert!(moves.is_empty());
}

#[test]
fn a_fan_out_from_memory_is_loaded_once() {
    let slot = |i| Loc::slot(Slot::from_u32(i));
    let fan =
        [request(slot(0), slot(1)), request(slot(0), reg(0)), request(slot(0), slot(2)), request(slot(0), reg(1))];
    let edits = check(&fan, PRegSet::EMPTY, &machine(2, 0), &mut with_slots(3));
    assert_eq!(edits.iter().filter(|e| matches!(e, Fill { .. })).count(), 1, "{edits:?}");
    let memory = [request(slot(0), slot(1)), request(slot(0), slot(2))];
    let edits = check(&memory, PRegSet::EMPTY, &machine(2, 1), &mut with_slots(3));
    assert_eq!(edits.len(), 3, "{edits:?}");
}

#[test]
fn what_only_needs_an_order_gets_one() {
    let slot = |i| Loc::slot(Slot::from_u32(i));
    let mut moves = ParallelMoves::new();
    let mut edits = Vec::new();
    // A chain with a store of its first register and a load into its last: the store first, the load last.
    let chain = [(slot(1), reg(0)), (reg(0), reg(1)), (reg(1), reg(2)), (reg(0), slot(0))];
    chain.iter().for_each(|&(from, to)| moves.add(from, to, RegClass::Int, 8));
    assert!(moves.resolve_in_order(&mut edits) && moves.is_empty());
    let text: Vec<String> = edits.iter().map(|edit| format!("{edit:?}")).collect();
    assert!(matches!(edits[..], [Spill { .. }, Move { .. }, Move { .. }, Fill { .. }]), "{text:?}");
    assert!(matches!(edits[1], Move { to, .. } if Loc::reg(to) == reg(2)), "{text:?}");
    // A cycle of registers, memory to memory, and memory that is written and read need more than an order.
    for more in [
        [(reg(0), reg(1)), (reg(1), reg(0))],
        [(slot(0), slot(1)), (reg(0), reg(1))],
        [(slot(0), reg(0)), (reg(1), slot(0))],
    ] {
        let before = edits.len();
        moves.begin();
        more.iter().for_each(|&(from, to)| moves.add(from, to, RegClass::Int, 8));
        assert!(!moves.resolve_in_order(&mut edits) && !moves.is_empty() && edits.len() == before);
    }
}

#[test]
fn the_worked_example_of_the_paper() {
    // a -> b, b -> c, c -> a, c -> d: the cycle is open at d, no temporary is needed.
    let example = [request(reg(0), reg(1)), request(reg(1), reg(2)), request(reg(2), reg(0)), request(reg(2), reg(3))];
    let edits = check(&example, PRegSet::EMPTY, &machine(4, 2), &mut with_slots(0));
    assert_eq!(edits.len(), 4);
    assert!(edits.iter().all(|e| matches!(e, Move { .. })));
}

/// Returns a small deterministic generator (xorshift).
fn random(seed: &mut u64, below: u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed >> 16) % below
}

/// Checks one random parallel move over both classes, slots of all sizes, mixed widths and rematerialized values.
fn random_case(moves: &mut ParallelMoves, seed: &mut u64) {
    let (ints, floats) = (1 + random(seed, 5) as u8, 1 + random(seed, 4) as u8);
    let mut env = MachineEnv::simple(ints, floats);
    for class in RegClass::ALL {
        let options = random(seed, 8);
        let env = &mut env.classes[class.index()];
        env.scratch = (options & 1 != 0).then(|| PReg::new(class, 50));
        env.exchange = options & 2 != 0;
    }
    let slot_move = random(seed, 4) == 0;
    env.classes.iter_mut().for_each(|class| class.slot_move = slot_move);
    let mut allocation = Allocation::default();
    let mut locs: Vec<(Loc, RegClass, u8)> = env.allocatable().iter().map(|r| (Loc::reg(r), r.class(), FULL)).collect();
    for _ in 0..random(seed, 6) {
        let width = 1 << random(seed, 4);
        let class = RegClass::ALL[random(seed, 2) as usize];
        locs.push((Loc::slot(allocation.add_slot(width)), class, width));
    }
    let free: PRegSet = env.allocatable().iter().filter(|_| random(seed, 4) == 0).collect();
    let mut requests: Vec<Request> = Vec::new();
    for &(to, to_class, to_width) in &locs {
        let (from, class, from_width) = locs[random(seed, locs.len() as u64) as usize];
        // A slot may move from one class to the other, a register may not.
        let fits = to.as_reg().is_none_or(|reg| reg.class() == class) && random(seed, 5) > 0;
        let width = 1 << random(seed, 4);
        if random(seed, 8) == 0 {
            let inst = Inst::from_u32(random(seed, 2) as u32 + 10 * to_class.index() as u32);
            requests.push(Request { from: Err(inst), to, class: to_class, width: to_width });
        } else if fits {
            requests.push(Request { from: Ok(from), to, class, width: to_width.min(from_width).min(width) });
        }
    }
    check_with(moves, &requests, free, &env, &mut allocation);
}

#[test]
fn random_moves_over_classes_slots_and_widths() {
    let mut moves = ParallelMoves::new();
    moves.widest = [FULL; 2];
    let mut seed = 1;
    for _ in 0..wanted("MOVES", 100_000) {
        random_case(&mut moves, &mut seed);
    }
}
