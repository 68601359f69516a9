//! Promotion of stack slots to values: replaces slots that are only loaded and stored.
//!
//! ```text
//! v1 = stack_addr.i64 ss0
//! store v0, v1                             v0: i32
//! v2 = load.i32 v1                         v3 = iadd v0, v0
//! v3 = iadd v2, v2
//! ```
//!
//! Needs the [`Analyses`], and that all blocks are reachable. The function may use aliases. Changes neither blocks nor
//! edges, except for block parameters. A slot is promoted if its address is used only by plain loads and stores,
//! and if any two of these access either equal bytes with equal type and byte order, or disjoint bytes. A slot that
//! a stack map, a debug tag or a key names stays.
//!
//! The values are found by the SSA construction of front ends, [`FrontendContext`]. Superfluous parameters and
//! aliases are left to [`crate::simplify_cfg`]. Cost: linear in instructions, near-linear in accesses and edges;
//! none in functions without slots.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_ir::frontend::{FrontendContext, Variable};
use kingpost_ir::function::DebugTag;
use kingpost_ir::memflags::Endianness;
use kingpost_ir::{Block, Function, Inst, InstView, Opcode, StackSlot, Type, Value};

use kingpost_ir::analyses::Analyses;
use kingpost_meter::Meter;
use kingpost_meter::heap_bytes;

/// Bytes, type and byte order that a plain load or store of a slot accesses.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Access {
    slot: StackSlot,
    /// Offset from the slot's first byte, in bytes.
    offset: i64,
    ty: Type,
    is_big: bool,
}

/// Address of a byte of a slot.
#[derive(Copy, Clone, Default, Debug)]
struct Address {
    slot: PackedOption<StackSlot>,
    offset: i32,
}

/// A plain load or store of a slot.
#[derive(Copy, Clone, Debug)]
struct Site {
    inst: Inst,
    access: Access,
}

/// Memory of the pass.
#[derive(Default, Debug)]
pub(crate) struct Mem2Reg {
    construction: FrontendContext,
    /// By value: the slot address that it is, if it is one.
    addresses: SecondaryMap<Value, Address>,
    /// Slots that must be kept.
    stays: SecondaryMap<StackSlot, bool>,
    /// The plain loads and stores of slots, in reverse postorder of their blocks.
    sites: Vec<Site>,
    /// Accesses of promoted slots, sorted; the index of an access is the number of its variable.
    accesses: Vec<Access>,
    /// By block: number of predecessors that have not been visited.
    unvisited: SecondaryMap<Block, u32>,
}

heap_bytes!(Mem2Reg { construction, addresses, stays, sites, accesses, unvisited });

impl Mem2Reg {
    /// Returns `true` if a function has stack slots.
    pub(crate) fn occurs(func: &Function) -> bool {
        !func.stack_slots.is_empty()
    }

    /// Runs the pass. Returns `true` if anything changed; the function uses aliases then.
    pub(crate) fn run(&mut self, func: &mut Function, analyses: &Analyses, meter: &Meter) -> bool {
        if !func.layout.blocks().all(|block| analyses.dominators.is_reachable(block)) {
            return false;
        }
        self.find_named_slots(func);
        self.find_sites(func, analyses);
        self.find_accesses(func);
        if self.accesses.is_empty() {
            return false;
        }
        self.prepare(func, analyses);
        let (mut next, values, mut paid) = (0, func.dfg.num_values(), 0);
        for block in analyses.dominators.reverse_postorder() {
            // Parameters are made for loads, and where paths meet.
            if meter.spend_batch((next + func.dfg.num_values() - values) as u64, &mut paid).is_err() {
                return true;
            }
            while let Some(&site) = self.sites.get(next).filter(|site| func.layout.inst_block(site.inst) == Some(block))
            {
                self.promote(func, block, site);
                next += 1;
            }
            for &succ in analyses.cfg.succs(block) {
                self.unvisited[succ] -= 1;
                if self.unvisited[succ] == 0 {
                    self.construction.seal(func, succ);
                }
            }
        }
        // A refusal is found at the end of the stage.
        let _ = meter.spend_rest((next + func.dfg.num_values() - values) as u64, &mut paid);
        true
    }

    /// Finds plain loads and stores of slots. A slot whose address is used in another way stays. Blocks are visited
    /// in an order in which addresses are defined before they are used.
    fn find_sites(&mut self, func: &Function, analyses: &Analyses) {
        self.sites.clear();
        self.addresses.clear();
        self.addresses.resize(func.dfg.num_values());
        for (alias, value) in func.dfg.aliases() {
            if let Some(inst) = func.dfg.first_result_of(func.dfg.resolve_aliases(value)) {
                self.note_address(func, inst, alias);
            }
        }
        for block in analyses.dominators.reverse_postorder() {
            for inst in func.layout.block_insts(block) {
                match func.dfg.opcode(inst) {
                    Opcode::StackAddr => {
                        if let Some(result) = func.dfg.first_result(inst) {
                            self.note_address(func, inst, result);
                        }
                    }
                    Opcode::Load | Opcode::Store => self.note_access(func, inst),
                    _ => func.dfg.for_each_use(inst, |value| self.note_use(value)),
                }
            }
        }
    }

    /// Records `result` as a slot address if the instruction makes one.
    fn note_address(&mut self, func: &Function, inst: Inst, result: Value) {
        if let InstView::StackAddr { slot, offset } = func.dfg.view(inst) {
            self.addresses[result] = Address { slot: slot.into(), offset };
        }
    }

    fn note_access(&mut self, func: &Function, inst: Inst) {
        let (ty, (flags, addr, offset)) = match stored_value(func, inst) {
            Some(value) => {
                self.note_use(value);
                (func.dfg.value_type(value), func.dfg.store_parts(inst))
            }
            None => (func.dfg.ctrl_type(inst), func.dfg.load_parts(inst)),
        };
        let address = self.addresses[addr];
        let Some(slot) = address.slot.expand() else { return };
        let access = Access {
            slot,
            offset: i64::from(address.offset) + i64::from(offset),
            ty,
            is_big: flags.endianness() == Some(Endianness::Big),
        };
        self.sites.push(Site { inst, access });
    }

    /// Marks the slot of an address that is used other than by a plain access.
    fn note_use(&mut self, value: Value) {
        if let Some(slot) = self.addresses[value].slot.expand() {
            self.stays[slot] = true;
        }
    }

    /// Finds the slots that can be promoted, and their accesses.
    fn find_accesses(&mut self, func: &Function) {
        let stays = &self.stays;
        self.sites.retain(|site| !stays[site.access.slot]);
        self.accesses.clear();
        self.accesses.extend(self.sites.iter().map(|site| site.access));
        self.accesses.sort_unstable();
        self.accesses.dedup();
        for pair in self.accesses.windows(2) {
            let end = pair[0].offset + i64::from(pair[0].ty.bytes());
            if pair[0].slot == pair[1].slot && pair[1].offset < end {
                self.stays[pair[0].slot] = true;
            }
        }
        for &Access { slot, offset, ty, .. } in &self.accesses {
            let is_inside = offset >= 0 && offset + i64::from(ty.bytes()) <= i64::from(func.stack_slots[slot].size);
            self.stays[slot] |= !is_inside || ty.is_dynamic_vector();
        }
        let stays = &self.stays;
        self.accesses.retain(|access| !stays[access.slot]);
        self.sites.retain(|site| !stays[site.access.slot]);
    }

    /// Marks the slots that are known outside the function.
    fn find_named_slots(&mut self, func: &Function) {
        self.stays.clear();
        for entry in func.stack_maps.values().flatten() {
            self.stays[entry.slot] = true;
        }
        for tag in func.debug_tags.values().flatten() {
            if let DebugTag::StackSlot(slot) = tag {
                self.stays[*slot] = true;
            }
        }
        for (slot, data) in &func.stack_slots {
            self.stays[slot] |= data.key.is_some();
        }
    }

    /// Declares a variable for each access and the edges of the graph.
    fn prepare(&mut self, func: &mut Function, analyses: &Analyses) {
        self.construction.clear();
        for access in &self.accesses {
            self.construction.declare(access.ty);
        }
        self.unvisited.clear();
        for block in func.layout.blocks() {
            let preds = analyses.cfg.preds(block);
            for pred in preds {
                self.construction.add_branch(pred.block, pred.inst, pred.edge, block);
            }
            self.unvisited[block] = preds.len() as u32;
        }
        if let Some(entry) = func.layout.entry_block() {
            self.construction.seal(func, entry);
        }
    }

    /// Replaces a load by the value of its variable, or a store by a definition of its variable.
    fn promote(&mut self, func: &mut Function, block: Block, Site { inst, access }: Site) {
        let Ok(number) = self.accesses.binary_search(&access) else { return };
        let variable = Variable::new(number);
        if let Some(value) = stored_value(func, inst) {
            self.construction.define(variable, block, value);
        } else if let Some(result) = func.dfg.first_result(inst) {
            let value = self.construction.value_at_end(func, variable, access.ty, block);
            func.dfg.clear_results(inst);
            // Cannot fail: a value that has just lost its definition is no alias of another one.
            let _ = func.dfg.change_to_alias(result, value);
        }
        func.layout.remove_inst(inst);
    }
}

/// Returns the stored value if the instruction is a plain store.
fn stored_value(func: &Function, inst: Inst) -> Option<Value> {
    (func.dfg.opcode(inst) == Opcode::Store).then(|| func.dfg.inline_arg(inst, 0))
}
