//! Slots and stack maps for values that a collector may move during calls.
//!
//! ```text
//! v1 = …                     v1 = …   v9 = stack_addr ss0   store v1, v9
//! call fn0()                 call fn0(), stack_map=[i64 @ ss0+0]
//! v2 = load.i64 v1+8         v10 = stack_addr ss0   v11 = load.i64 v10   v2 = load.i64 v11+8
//! ```
//!
//! A value that is live during a call gets a slot. It is stored there after its definition, and the calls during which
//! it is live list the slot in their stack maps. After a call the value may be out of date, so that the next use in the
//! block loads it from the slot, and so does the first use in each other block. An argument of an edge of a `try_call`
//! is used after the call: it is loaded in a new block on the edge.
//!
//! Live ranges are found value by value, from uses backwards (Boissinot et al., "Computing Liveness Sets for SSA-Form
//! Programs", 2011). Values share a slot if they have equal sizes, and if the ranges from the first to the last
//! point where they are live do not overlap.
//!
//! Cost: linear in the instructions, and in the blocks and calls through which the values are live.

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::fmt;

use crate::builder::{ControlBuilder, SlotBuilder};
use crate::cfg::ControlFlowGraph;
use crate::cursor::Cursor;
use crate::entities::{Block, Inst, StackSlot, Value};
use crate::function::{Function, UserStackMapEntry};
use crate::instruction::{BlockArg, BlockArgKind};
use crate::preamble::StackSlotData;
use crate::types::Type;
use crate::value_data::ValueDef;

/// Largest reference in bytes.
const MAX_BYTES: u32 = 16;

/// Checks the type of a variable or value that needs a stack map.
///
/// # Panics
/// If stack maps cannot have the type.
pub(super) fn check_type(what: &dyn fmt::Display, ty: Type) {
    let bytes = ty.bytes();
    let is_whole = !ty.is_dynamic_vector() && ty.bits() == 8 * bytes && bytes.is_power_of_two() && bytes <= MAX_BYTES;
    assert!(is_whole, "{what} has type {ty}, but a reference in a stack map has 1, 2, 4, 8 or 16 bytes");
}

/// Adds slots and stack maps for the values that are live during calls.
pub(super) fn run(func: &mut Function, values: &[Value]) {
    let mut values: Vec<Value> = values.iter().map(|&value| func.dfg.resolve_aliases(value)).collect();
    values.sort_unstable();
    values.dedup();
    if values.is_empty() {
        return;
    }
    let points = Points::new(func);
    let mut lives = Lives::new(func, &points, &values);
    let cfg = ControlFlowGraph::new(func);
    let mut spilled = Vec::new();
    for (index, &value) in values.iter().enumerate() {
        let live = lives.of(func, &cfg, &points, index, value);
        spilled.extend(live.filter(|live| !live.calls.is_empty()));
    }
    let slots = assign_slots(func, &mut spilled);
    for live in &spilled {
        let entry = UserStackMapEntry { ty: func.dfg.value_type(live.value), slot: slots[&live.value], offset: 0 };
        for &call in &live.calls {
            func.stack_maps.entry(call).or_default().push(entry);
        }
    }
    Rewrite { slots, current: BTreeMap::new() }.run(func);
}

/// Numbers of program points. Instruction number `n` of the layout uses values at point `2n` and defines them at
/// `2n + 1`.
struct Points {
    of_inst: SecondaryMap<Inst, u32>,
    /// First point of each block, and the point after its last one.
    of_block: SecondaryMap<Block, (u32, u32)>,
    /// Calls of each block with their points, in order.
    calls: SecondaryMap<Block, Vec<(u32, Inst)>>,
}

impl Points {
    fn new(func: &Function) -> Points {
        let mut points =
            Points { of_inst: SecondaryMap::new(), of_block: SecondaryMap::new(), calls: SecondaryMap::new() };
        let mut at = 0;
        for block in func.layout.blocks() {
            // Parameters are defined at a point of their own.
            let start = at;
            at += 2;
            for inst in func.layout.block_insts(block) {
                points.of_inst[inst] = at;
                if is_safepoint(func, inst) {
                    points.calls[block].push((at, inst));
                }
                at += 2;
            }
            points.of_block[block] = (start, at);
        }
        points
    }
}

/// Returns `true` if a collector may run during the instruction while the function is active.
fn is_safepoint(func: &Function, inst: Inst) -> bool {
    let opcode = func.dfg.opcode(inst);
    opcode.is_call() && !opcode.is_return()
}

/// The range of one value.
struct Live {
    value: Value,
    /// Calls during which it is live.
    calls: Vec<Inst>,
    /// First and last point.
    first: u32,
    last: u32,
}

/// Uses of all values, and memory for the search.
struct Lives {
    /// By index of the value: block and point of each use.
    uses: Vec<Vec<(Block, u32)>>,
    /// By block: index of the last value that was found to be live at its end, plus one.
    live_out: SecondaryMap<Block, u32>,
}

impl Lives {
    fn new(func: &Function, points: &Points, values: &[Value]) -> Lives {
        let mut uses = vec![Vec::new(); values.len()];
        for block in func.layout.blocks() {
            for inst in func.layout.block_insts(block) {
                let at = points.of_inst[inst];
                let mut add = |value: Value, at: u32| {
                    if let Ok(index) = values.binary_search(&value) {
                        uses[index].push((block, at));
                    }
                };
                func.dfg.inst_args(inst).iter().for_each(|&value| add(value, at));
                // Edges of a call are taken after it.
                for call in func.dfg.branch_destinations(inst) {
                    func.dfg.block_args(*call).iter().filter_map(|arg| arg.value()).for_each(|arg| add(arg, at + 1));
                }
            }
        }
        Lives { uses, live_out: SecondaryMap::new() }
    }

    /// Returns the range of a value; `None` if no instruction in the layout defines it.
    fn of(
        &mut self,
        func: &Function,
        cfg: &ControlFlowGraph,
        points: &Points,
        index: usize,
        value: Value,
    ) -> Option<Live> {
        let (home, defined) = match func.dfg.value_def(value) {
            ValueDef::Param(block, _) if func.layout.is_block_inserted(block) => (block, points.of_block[block].0),
            ValueDef::Result(inst, _) => (func.layout.inst_block(inst)?, points.of_inst[inst] + 1),
            ValueDef::Param(..) | ValueDef::Undefined => return None,
        };
        let mark = index as u32 + 1;
        let mut ends = std::mem::take(&mut self.uses[index]);
        let mut waiting: Vec<Block> = ends.iter().map(|&(block, _)| block).collect();
        while let Some(block) = waiting.pop() {
            if block == home {
                continue;
            }
            for pred in cfg.preds(block) {
                if std::mem::replace(&mut self.live_out[pred.block], mark) != mark {
                    ends.push((pred.block, points.of_block[pred.block].1));
                    waiting.push(pred.block);
                }
            }
        }
        let mut live = Live { value, calls: Vec::new(), first: defined, last: defined };
        // The last point of each block.
        ends.sort_unstable();
        ends.reverse();
        ends.dedup_by_key(|&mut (block, _)| block);
        for (block, end) in ends {
            let start = if block == home { defined } else { points.of_block[block].0 };
            (live.first, live.last) = (live.first.min(start), live.last.max(end));
            let calls = points.calls[block].iter();
            live.calls.extend(calls.filter(|&&(at, _)| start <= at && at < end).map(|&(_, call)| call));
        }
        live.calls.sort_unstable();
        Some(live)
    }
}

/// Assigns a slot to each value. The values are sorted by their first points.
fn assign_slots(func: &mut Function, spilled: &mut [Live]) -> BTreeMap<Value, StackSlot> {
    spilled.sort_by_key(|live| (live.first, live.value));
    let mut slots = BTreeMap::new();
    // By size in bytes: the slots with the last points of their values.
    let mut used: BTreeMap<u32, Vec<(u32, StackSlot)>> = BTreeMap::new();
    for live in spilled {
        let bytes = func.dfg.value_type(live.value).bytes();
        let used = used.entry(bytes).or_default();
        let slot = match used.iter_mut().find(|(last, _)| *last < live.first) {
            Some((last, slot)) => {
                *last = live.last;
                *slot
            }
            None => {
                let data = StackSlotData { size: bytes, align_shift: bytes.trailing_zeros() as u8, key: None };
                let slot = func.stack_slots.push(data);
                used.push((live.last, slot));
                slot
            }
        };
        slots.insert(live.value, slot);
    }
    slots
}

/// Insertion of stores and loads.
struct Rewrite {
    slots: BTreeMap<Value, StackSlot>,
    /// Values of the current block that are equal to the contents of slots.
    current: BTreeMap<Value, Value>,
}

impl Rewrite {
    fn run(&mut self, func: &mut Function) {
        if self.slots.is_empty() {
            return;
        }
        let mut next = func.layout.entry_block();
        while let Some(block) = next {
            next = func.layout.next_block(block);
            self.current.clear();
            let params: SmallVec<[Value; 8]> = func.dfg.block_params(block).into();
            let mut cursor = Cursor::new(func);
            cursor.start(block);
            params.into_iter().for_each(|param| self.store(&mut cursor, param));
            let mut inst = cursor.func.layout.first_inst(block);
            // Stores of parameters use nothing that is in a slot under another name.
            while let Some(at) = inst {
                inst = func.layout.next_inst(at);
                self.rewrite(func, block, at);
            }
        }
    }

    fn rewrite(&mut self, func: &mut Function, block: Block, inst: Inst) {
        let is_call = is_safepoint(func, inst);
        let mut uses: SmallVec<[Value; 8]> = func.dfg.inst_args(inst).into();
        if !is_call {
            func.dfg.for_each_use(inst, |value| uses.push(value));
        }
        uses.retain(|value| self.slots.contains_key(value));
        let mut cursor = Cursor::new(func);
        cursor.before(inst);
        for value in uses {
            self.load(&mut cursor, value);
        }
        let current = |value: Value| self.current.get(&value).copied().unwrap_or(value);
        if is_call {
            func.dfg.inst_args_mut(inst).iter_mut().for_each(|value| *value = current(*value));
            self.current.clear();
            for edge in 0..func.dfg.branch_destinations(inst).len() {
                self.load_on_edge(func, block, inst, edge);
            }
        } else {
            func.dfg.map_values(inst, current);
        }
        let results: SmallVec<[Value; 4]> = func.dfg.inst_results(inst).into();
        let mut cursor = Cursor::new(func);
        cursor.after(inst);
        results.into_iter().for_each(|result| self.store(&mut cursor, result));
    }

    /// Stores a value that was just defined, if it has a slot.
    fn store(&mut self, cursor: &mut Cursor<'_>, value: Value) {
        if let Some(&slot) = self.slots.get(&value) {
            cursor.ins().stack_store(value, slot, 0);
            self.current.insert(value, value);
        }
    }

    /// Loads a value that is used next, if the block has no current copy.
    fn load(&mut self, cursor: &mut Cursor<'_>, value: Value) {
        if !self.current.contains_key(&value) {
            let ty = cursor.func.dfg.value_type(value);
            let copy = cursor.ins().stack_load(ty, self.slots[&value], 0);
            self.current.insert(value, copy);
        }
    }

    /// Loads the arguments of an edge of a call in a new block on the edge.
    fn load_on_edge(&mut self, func: &mut Function, block: Block, inst: Inst, edge: usize) {
        let call = func.dfg.branch_destinations(inst)[edge];
        let args: SmallVec<[BlockArg; 8]> = func.dfg.block_args(call).into();
        let is_stored = |arg: &BlockArg| arg.value().is_some_and(|value| self.slots.contains_key(&value));
        if !args.iter().any(is_stored) {
            return;
        }
        let between = func.dfg.make_block();
        func.layout.insert_block_after(between, block);
        let (mut passed, mut loaded) = (SmallVec::<[BlockArg; 8]>::new(), SmallVec::<[Value; 8]>::new());
        for (index, &arg) in args.iter().enumerate() {
            loaded.push(match arg.kind() {
                BlockArgKind::Value(value) if self.slots.contains_key(&value) => {
                    let ty = func.dfg.value_type(value);
                    Cursor::new(func).end(between).ins().stack_load(ty, self.slots[&value], 0)
                }
                BlockArgKind::Value(value) => value,
                BlockArgKind::TryCallRet(_) | BlockArgKind::TryCallExn(_) => {
                    passed.push(arg);
                    let ty = func.dfg.value_type(func.dfg.block_params(call.block)[index]);
                    func.dfg.append_block_param(between, ty)
                }
            });
        }
        Cursor::new(func).end(between).ins().jump(call.block, &loaded);
        let entering = func.dfg.block_call(between, &passed);
        func.dfg.set_block_call(inst, edge, entering);
    }
}
