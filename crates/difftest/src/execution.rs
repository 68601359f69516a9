//! Executes machine code on numbers, by the meanings of `machine-semantics`, and compares what two codes of a function
//! show to others: accesses to memory outside of the frame, calls with their arguments, traps, and the return.
//!
//! A proof executes each path once for all states. This executes all of a call for a few states, and shares neither the
//! relations nor the rules of a proof, so it judges codes that a proof accepted. Memory that was not written, and the
//! results of calls, are numbers that depend on the place and on the round.

use kingpost_ir::signature::{ArgumentPurpose, CallConv, Signature};
use kingpost_ir::{Function, InstView, SigRef, TrapCode, Type};
use kingpost_machine_semantics::{Access, At, Flow, Order, State, World, a64, x64};
use kingpost_smt::{Bits, Evaluator, Model, Sort, Term, Terms, Value};
use kingpost_validate::{Code, Machine, Relocation, RelocationKind, Symbol};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of instructions of a round.
const MAX_STEPS: usize = 600;
/// Address of the function.
const BASE: u64 = 0x10_0000_0000;
/// Stack pointer before the call that enters the function.
const STACK: u64 = 0x7fff_0000_0000;
/// Bytes below and above [`STACK`] that are memory of the stack.
const BELOW: u64 = 1 << 28;
const ABOVE: u64 = 1 << 12;

/// A load that cannot trap by the table: its address, bytes and order. Code may leave it out, because others do not see it.
type Quiet = (u64, u8, Order);

/// Something that others see.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Event {
    Load(u64, u8, Order),
    Store(u64, u8, Order, u128),
    Fence,
    /// Callee, arguments, stack pointer and the frame chain, and a hash of all stack slots.
    Call(u64, Vec<u128>, [u64; 5]),
    /// A jump to another function: target and arguments.
    TailCall(u64, Vec<u128>, Vec<u64>),
    /// Address, results, stack pointer and registers of the caller.
    Return(u64, Vec<u128>, Vec<u64>),
    Trap(Vec<TrapCode>),
    /// An end that no code may have.
    Wrong(&'static str),
    /// The limit of instructions.
    Unfinished,
}

/// Compares two codes of a function in a number of rounds, each in another state.
///
/// # Errors
/// The first difference.
pub(crate) fn compare(func: &Function, code: &Code<'_>, other: &Code<'_>, rounds: u64) -> Result<(), String> {
    for round in 0..rounds {
        let [(a, known), (b, quiet)] = [code, other].map(|code| {
            let (events, quiet) = Run::new(func, code, round).events();
            (without_lone_pairs(events), quiet)
        });
        let difference = a.iter().zip(&b).find(|(a, b)| a != b);
        match difference {
            None | Some((Event::Unfinished, _) | (_, Event::Unfinished)) => {}
            Some((a, b)) => return Err(format!("round {round}: {a:x?} became {b:x?}")),
        }
        let is_finished = a.last() != Some(&Event::Unfinished);
        if let Some(load) = quiet.iter().find(|load| is_finished && !known.contains(load)) {
            return Err(format!("round {round}: {load:x?} is loaded"));
        }
    }
    Ok(())
}

/// Returns the events, with loads of exclusive pairs as loads of the same order if no store of a pair follows.
fn without_lone_pairs(mut events: Vec<Event>) -> Vec<Event> {
    let is_store = |event: &Event| matches!(event, Event::Store(_, _, Order::Exclusive, _));
    let first = events.iter().rposition(is_store).map_or(0, |last| last + 1);
    for event in &mut events[first..] {
        if let Event::Load(_, _, order @ Order::Exclusive) = event {
            *order = Order::Synchronizing;
        }
    }
    events
}

/// Returns a number that depends on all bits of others.
pub(crate) fn mixed(numbers: [u64; 3]) -> u64 {
    numbers.into_iter().fold(0x9e37_79b9_7f4a_7c15, |hash, number| {
        let hash = (hash ^ number).wrapping_mul(0xff51_afd7_ed55_8ccd);
        (hash ^ hash >> 32).wrapping_mul(0xc4ce_b9fe_1a85_ec53) ^ hash >> 29
    })
}

/// Returns a number of a kind that code distinguishes: small, an address, extreme, or any.
fn typical(hash: u64) -> u64 {
    match hash >> 60 {
        0..=5 => hash & 7,
        6..=11 => hash & 0xff_ffff_fff8,
        12 => 0u64.wrapping_sub(hash & 3),
        13 => 1 << (hash & 63),
        _ => hash << 4,
    }
}

/// Place of an argument or a result, and the number of its bits that matter.
#[derive(Clone, Copy)]
enum Place {
    General(usize, u32),
    Vector(usize, u32),
    Stack(u64, u32),
}

/// Returns the places of arguments or results in registers and on the stack, and the bytes on the stack; `None` if they
/// need rules that are not known here. Nothing is compared then.
fn places(
    machine: Machine,
    signature: &Signature,
    params: &[kingpost_ir::signature::AbiParam],
    is_result: bool,
) -> Option<(Vec<Place>, u64)> {
    let is_tail = signature.call_conv == CallConv::Tail;
    let generals: &[usize] = match (machine, is_tail, is_result) {
        (Machine::X64, true, true) => &[0, 1, 2, 6, 7, 8, 9, 10],
        (Machine::X64, false, true) => &[0, 2],
        (Machine::X64, _, false) => &[7, 6, 2, 1, 8, 9],
        (Machine::Aarch64, true, _) => &[2, 3, 4, 5, 6, 7],
        (Machine::Aarch64, false, _) => &[0, 1, 2, 3, 4, 5, 6, 7],
    };
    let vectors = if machine == Machine::X64 && !is_tail && is_result { 2 } else { 8 };
    let (mut ints, mut floats, mut bytes, mut all) = (0, 0, 0, Vec::new());
    for param in params {
        let ty: Type = param.value_type;
        if !matches!(param.purpose, ArgumentPurpose::Normal | ArgumentPurpose::VmContext) || ty.bits() > 64 {
            return None;
        }
        let stack = |bytes: &mut u64| {
            *bytes += 8;
            Place::Stack(*bytes - 8, ty.bits())
        };
        if ty.is_int() {
            all.push(generals.get(ints).map_or_else(|| stack(&mut bytes), |&reg| Place::General(reg, ty.bits())));
            ints += 1;
        } else {
            all.push(if floats < vectors { Place::Vector(floats, ty.bits()) } else { stack(&mut bytes) });
            floats += 1;
        }
    }
    if is_result && bytes > 0 {
        return None;
    }
    Some((all, if is_tail { (bytes + 15) & !15 } else { bytes }))
}

/// One execution.
struct Run<'a> {
    func: &'a Function,
    code: &'a Code<'a>,
    round: u64,
    terms: Terms,
    /// Bytes that were written.
    memory: BTreeMap<u64, u8>,
    /// Stack pointers at the calls so far.
    calls: Vec<u64>,
    /// Bytes of symbols that are known.
    constants: BTreeMap<u64, u8>,
    /// Signatures of the functions that are called, by address.
    callees: BTreeMap<u64, SigRef>,
    /// The signature of indirect calls, if all have one.
    indirect: Option<SigRef>,
    events: Vec<Event>,
    quiet: Vec<Quiet>,
    offset: u32,
    faults: bool,
}

impl World for Run<'_> {
    fn terms(&mut self) -> &mut Terms {
        &mut self.terms
    }

    fn load(&mut self, access: Access) -> Term {
        let address = self.number(access.address) as u64;
        if !self.is_stack(address) && !self.constants.contains_key(&address) && !self.is_code(address) {
            let load = (address, access.bytes, access.order);
            match access.order == Order::Plain && self.code.traps.iter().all(|&(at, _)| at != self.offset) {
                true => self.quiet.push(load),
                false => self.events.push(Event::Load(load.0, load.1, load.2)),
            }
        }
        let value = self.read(address, access.bytes);
        self.terms.number(8 * u32::from(access.bytes), value)
    }

    fn store(&mut self, access: Access, value: Term) {
        let (address, value) = (self.number(access.address) as u64, self.number(value));
        if !self.is_stack(address) || address >= STACK {
            self.events.push(Event::Store(address, access.bytes, access.order, value));
        }
        for byte in 0..access.bytes {
            self.memory.insert(address.wrapping_add(byte.into()), (value >> (8 * u32::from(byte))) as u8);
        }
    }

    fn fault(&mut self, condition: Term) {
        self.faults |= self.is_true(condition);
    }

    fn fence(&mut self) {
        self.events.push(Event::Fence);
    }

    fn unspecified(&mut self, sort: Sort) -> Term {
        match sort {
            // Exclusive stores succeed.
            Sort::Bool => self.terms.bool(false),
            Sort::Bits(width) => {
                let any = mixed([self.round, self.offset.into(), 3]);
                self.terms.constant(Bits::new(width, any.into()))
            }
        }
    }
}

impl<'a> Run<'a> {
    fn new(func: &'a Function, code: &'a Code<'a>, round: u64) -> Run<'a> {
        let (mut constants, mut callees) = (BTreeMap::new(), BTreeMap::new());
        for relocation in &code.relocations {
            if matches!(relocation.kind, RelocationKind::Pointer | RelocationKind::PointerDistance) {
                let bytes = address_of(&relocation.symbol).to_le_bytes();
                constants.extend((pointer_to(&relocation.symbol)..).zip(bytes));
            }
            if let Symbol::Literal(bytes) = &relocation.symbol {
                constants.extend((address_of(&relocation.symbol)..).zip(bytes.iter().copied()));
            }
        }
        for data in func.dfg.ext_funcs.values() {
            let name = func.display_name(&data.name).to_string();
            callees.insert(address_of(&Symbol::Named(name)), data.signature);
        }
        let insts = func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
        let indirect: BTreeSet<SigRef> = insts
            .filter_map(|inst| match func.dfg.view(inst) {
                InstView::CallIndirect { sig, .. } => Some(sig),
                _ => None,
            })
            .collect();
        let indirect = if indirect.len() == 1 { indirect.first().copied() } else { None };
        Run {
            func,
            code,
            round,
            terms: Terms::for_code(),
            memory: BTreeMap::new(),
            calls: Vec::new(),
            constants,
            callees,
            indirect,
            events: Vec::new(),
            quiet: Vec::new(),
            offset: 0,
            faults: false,
        }
    }

    /// Returns the value of a term without variables.
    fn number(&self, term: Term) -> u128 {
        let value = self.terms.value(term).unwrap_or_else(|| self.evaluated(term));
        value.bits().map_or(0, Bits::unsigned)
    }

    fn is_true(&self, term: Term) -> bool {
        self.terms.value(term).unwrap_or_else(|| self.evaluated(term)).is_true()
    }

    fn evaluated(&self, term: Term) -> Value {
        Evaluator::new(&self.terms, &[term], &Model::default()).value(term)
    }

    fn is_stack(&self, address: u64) -> bool {
        (STACK - BELOW..STACK + ABOVE).contains(&address)
    }

    fn is_code(&self, address: u64) -> bool {
        (BASE..BASE + self.code.bytes.len() as u64).contains(&address)
    }

    fn read(&self, address: u64, bytes: u8) -> u128 {
        (0..bytes).rev().fold(0, |value, byte| value << 8 | u128::from(self.byte(address.wrapping_add(byte.into()))))
    }

    fn byte(&self, address: u64) -> u8 {
        if let Some(&byte) = self.memory.get(&address).or_else(|| self.constants.get(&address)) {
            return byte;
        }
        if self.is_code(address) {
            return self.code.bytes[(address - BASE) as usize];
        }
        // Calls change the memory below their stack pointers.
        let epoch = match self.is_stack(address) {
            true => self.calls.iter().rposition(|&pointer| address < pointer).map_or(0, |call| call as u64 + 1),
            false => 0,
        };
        let word = typical(mixed([self.round, address / 8, epoch]));
        word.to_le_bytes()[(address % 8) as usize]
    }

    fn state(&mut self, call: u64) -> State {
        let mut state = State::variables(&mut self.terms, "x");
        for number in 0..32 {
            let place = |kind: u64| typical(mixed([self.round, call << 8 | kind, number]));
            let [general, low, high] = [0, 1, 2].map(place);
            state.general[number as usize] = self.terms.number(64, general.into());
            state.vector[number as usize] = [low, high].map(|bits| self.terms.number(64, bits.into()));
        }
        for flag in 0..6 {
            let value = self.terms.bool(mixed([self.round, call, 77 + flag]) & 1 == 1);
            state.set_flag(flag as usize, value);
        }
        state
    }

    /// Executes the function. Returns what others see, and the loads that cannot trap.
    fn events(mut self) -> (Vec<Event>, Vec<Quiet>) {
        let mut state = self.state(0);
        let pointer = stack_pointer(self.code.machine);
        let pushed = if self.code.machine == Machine::X64 { 8 } else { 0 };
        state.general[pointer] = self.terms.number(64, u128::from(STACK - pushed));
        let entry = state.clone();
        for _ in 0..MAX_STEPS {
            if let Some(end) = self.step(&mut state, &entry) {
                self.events.push(end);
                return (self.events, self.quiet);
            }
        }
        self.events.push(Event::Unfinished);
        (self.events, self.quiet)
    }

    /// Executes an instruction. Returns the end of the execution, if it is one.
    fn step(&mut self, state: &mut State, entry: &State) -> Option<Event> {
        let wrong = |what| Some(Event::Wrong(what));
        let code = self.code;
        let Some(bytes) = code.bytes.get(self.offset as usize..code.end as usize).filter(|bytes| !bytes.is_empty())
        else {
            return wrong("outside of the code");
        };
        let base = self.terms.number(64, BASE.into());
        let (offset, flow, len);
        offset = self.offset;
        match code.machine {
            Machine::X64 => {
                let Ok((instruction, bytes)) = x64::decode(bytes) else { return wrong("no instruction") };
                len = bytes as u32;
                let at = At { base, offset: offset.into(), symbol: self.relocated(offset, len) };
                flow = x64::step(self, &instruction, bytes, at, state);
            }
            Machine::Aarch64 => {
                let Ok((instruction, bytes)) = a64::decode(bytes) else { return wrong("no instruction") };
                len = bytes as u32;
                let at = At { base, offset: offset.into(), symbol: self.relocated(offset, len) };
                flow = a64::step(self, &instruction, at, state);
            }
        }
        let traps = || code.traps.iter().filter(|&&(at, _)| at == offset).map(|&(_, code)| code).collect();
        if self.faults {
            return Some(Event::Trap(traps()));
        }
        self.offset = offset + len;
        let registers = state.general.iter_mut().chain(state.vector.iter_mut().flatten());
        for register in registers {
            if self.terms.value(*register).is_none() {
                let value = Evaluator::new(&self.terms, &[*register], &Model::default()).value(*register);
                *register = self.terms.constant_of(value);
            }
        }
        match flow {
            Flow::Next => {}
            Flow::Jump(to) => return self.jump(to),
            Flow::Branch { condition, target } => {
                if self.is_true(condition) {
                    return self.jump(target);
                }
            }
            Flow::Indirect(address) => {
                let address = self.number(address) as u64;
                if self.is_code(address) {
                    return self.jump((address - BASE) as i64);
                }
                let arguments = self.arguments(address, state);
                return Some(Event::TailCall(address, arguments, self.preserved(state, entry)));
            }
            Flow::Call(callee) => {
                let callee = self.number(callee) as u64;
                self.call(callee, state);
            }
            Flow::Return(address) => {
                let address = self.number(address) as u64;
                let signature = &self.func.signature;
                let results = places(code.machine, signature, &signature.returns, true)
                    .map_or_else(Vec::new, |(places, _)| self.values(&places, state));
                return Some(Event::Return(address, results, self.preserved(state, entry)));
            }
            Flow::Trap => return Some(Event::Trap(traps())),
        }
        None
    }

    fn jump(&mut self, to: i64) -> Option<Event> {
        match u32::try_from(to) {
            Ok(to) if to < self.code.end => {
                self.offset = to;
                None
            }
            _ => Some(Event::Wrong("a jump out of the code")),
        }
    }

    fn relocated(&mut self, offset: u32, len: u32) -> Option<Term> {
        let is_here = |relocation: &&Relocation| (offset..offset + len).contains(&relocation.offset);
        let relocation = self.code.relocations.iter().find(is_here)?;
        let rest = i64::from(offset + len - relocation.offset);
        let address = match relocation.kind {
            RelocationKind::Address => address_of(&relocation.symbol) as i64,
            RelocationKind::Distance => address_of(&relocation.symbol) as i64 + rest,
            RelocationKind::Pointer => pointer_to(&relocation.symbol) as i64,
            RelocationKind::PointerDistance => pointer_to(&relocation.symbol) as i64 + rest,
            RelocationKind::Other(_) => 0,
        };
        Some(self.terms.number(64, (address + relocation.addend) as u64 as u128))
    }

    fn values(&self, places: &[Place], state: &State) -> Vec<u128> {
        let pointer = self.number(state.general[stack_pointer(self.code.machine)]) as u64;
        let value = |&place: &Place| match place {
            Place::General(register, bits) => cut(self.number(state.general[register]), bits),
            Place::Vector(register, bits) => cut(self.number(state.vector[register][0]), bits),
            Place::Stack(offset, bits) => cut(self.read(pointer + offset, 8), bits),
        };
        places.iter().map(value).collect()
    }

    fn signature(&self, callee: u64) -> Option<&'a Signature> {
        let func = self.func;
        let signature = self.callees.get(&callee).copied().or(self.indirect)?;
        Some(&func.dfg.signatures[signature])
    }

    /// Returns the arguments of a call of a function with a known signature.
    fn arguments(&self, callee: u64, state: &State) -> Vec<u128> {
        let places =
            self.signature(callee).and_then(|signature| places(self.code.machine, signature, &signature.params, false));
        places.map_or_else(Vec::new, |(places, _)| self.values(&places, state))
    }

    /// Returns the stack pointer, and the registers of the caller that differ from the entry.
    fn preserved(&self, state: &State, entry: &State) -> Vec<u64> {
        let pointer = state.general[stack_pointer(self.code.machine)];
        let mut all = vec![self.number(pointer) as u64];
        for &register in saved(self.code.machine) {
            if state.general[register] != entry.general[register] {
                all.push(register as u64);
            }
        }
        if self.code.machine == Machine::Aarch64 {
            let changed = (8..16).filter(|&register| state.vector[register][0] != entry.vector[register][0]);
            all.extend(changed.map(|register| 100 + register as u64));
        }
        all
    }

    /// Returns a hash of the contents of all stack slots.
    fn slots(&self) -> u64 {
        let sizes = self.func.stack_slots.values().map(|data| u64::from(data.size));
        let bytes = self
            .code
            .slots
            .iter()
            .zip(sizes)
            .flat_map(|(&start, size)| (0..size).map(move |at| STACK.wrapping_add(start as u64) + at));
        bytes.fold(0, |hash, address| mixed([hash, address, self.byte(address).into()]))
    }

    /// Continues after a call, which changes what it may.
    fn call(&mut self, callee: u64, state: &mut State) {
        let machine = self.code.machine;
        let pointer = stack_pointer(machine);
        let pushed = if machine == Machine::X64 { 8 } else { 0 };
        let stack = self.number(state.general[pointer]) as u64 + pushed;
        let before = std::mem::replace(&mut state.general[pointer], self.terms.number(64, stack.into()));
        let arguments = self.arguments(callee, state);
        state.general[pointer] = before;
        let frame = self.number(state.general[if machine == Machine::X64 { x64::RBP } else { 29 }]) as u64;
        let chain = [0, 8].map(|offset| self.read(frame.wrapping_add(offset), 8) as u64);
        self.events.push(Event::Call(callee, arguments, [stack, frame, chain[0], chain[1], self.slots()]));
        let signature = self.signature(callee);
        let popped = match signature {
            Some(signature) if signature.call_conv == CallConv::Tail => {
                places(machine, signature, &signature.params, false).map_or(0, |(_, bytes)| bytes)
            }
            _ => 0,
        };
        self.calls.push(stack);
        self.memory.retain(|address, _| !(STACK - BELOW..stack).contains(address));
        let mut after = self.state(self.calls.len() as u64);
        for &register in saved(machine) {
            after.general[register] = state.general[register];
        }
        if machine == Machine::Aarch64 {
            (8..16).for_each(|register| after.vector[register][0] = state.vector[register][0]);
        }
        after.general[pointer] = self.terms.number(64, (stack + popped).into());
        *state = after;
    }
}

fn cut(value: u128, bits: u32) -> u128 {
    value & (u128::MAX >> (128 - bits))
}

fn stack_pointer(machine: Machine) -> usize {
    match machine {
        Machine::X64 => x64::RSP,
        Machine::Aarch64 => a64::SP,
    }
}

/// Returns the general registers that calls preserve, without the stack pointer.
fn saved(machine: Machine) -> &'static [usize] {
    match machine {
        Machine::X64 => &[3, 5, 12, 13, 14, 15],
        Machine::Aarch64 => &[19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29],
    }
}

fn hash_of(symbol: &Symbol) -> u64 {
    let bytes = match symbol {
        Symbol::Named(name) => name.as_bytes(),
        Symbol::Literal(bytes) => bytes,
    };
    bytes.iter().fold(bytes.len() as u64, |hash, &byte| mixed([hash, byte.into(), 0])) % (1 << 28)
}

fn address_of(symbol: &Symbol) -> u64 {
    0x20_0000_0000 + 64 * hash_of(symbol)
}

fn pointer_to(symbol: &Symbol) -> u64 {
    0x30_0000_0000 + 64 * hash_of(symbol)
}
