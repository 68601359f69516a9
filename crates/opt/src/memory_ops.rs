//! Loads and stores: applies rules to them, replaces loads of known contents, and removes stores that change
//! nothing.
//!
//! ```text
//! store v1, v0                             store v1, v0
//! v2 = load.i64 v0                         v3 = iadd v1, v1
//! v3 = iadd v1, v2
//! ```
//!
//! Part of the walk of [`crate::gvn`]. [`crate::memory`] tracks the contents of memory.

use kingpost_ir::{Inst, InstData, Opcode, Value};

use crate::gvn::Walk;
use crate::memory::load_of_store;
use crate::purity::is_pure_load;
use crate::rewrite::{Effect, Graph};
use crate::store_to_load_forwarding::Conversions;

impl Walk<'_> {
    /// Applies the rules to an access to memory, and returns the resulting instruction.
    fn rewritten_access(&mut self, inst: Inst) -> InstData {
        let mut data = *self.func.dfg.inst(inst);
        while self.may_be_simplified(&data)
            && let Some(Effect::Inst(rewritten)) = self.effect_of_rules(&data)
        {
            self.func.dfg.replace_inst(inst, rewritten);
            data = rewritten;
        }
        data
    }

    pub(crate) fn visit_load(&mut self, inst: Inst) {
        let data = if self.keeps_accesses { *self.func.dfg.inst(inst) } else { self.rewritten_access(inst) };
        if is_pure_load(&data) {
            return self.number_only(inst);
        }
        if self.keeps_accesses {
            return;
        }
        let (Some(result), Some(flags)) = (self.func.dfg.first_result(inst), data.memflags()) else { return };
        let key = self.memory.load_key(&data);
        let (place, entry) = self.table.find(key);
        if let Some(value) = entry.map(Value::from_u32)
            && self.is_available(value)
        {
            return self.replace(inst, result, value);
        }
        if let Some(value) = self.read_back(inst, result) {
            return self.replace(inst, result, value);
        }
        self.table.set(place, key, result.as_u32());
        self.memory.load(flags);
    }

    /// Returns the result of a load whose bytes are part of a stored value, or a stored part of one.
    fn read_back(&mut self, inst: Inst, result: Value) -> Option<Value> {
        let (flags, addr, offset) = self.func.dfg.load_parts(inst);
        let (store, value) = self.memory.stored(flags, addr, offset)?;
        let [stored, loaded] = [value, result].map(|value| self.func.dfg.value_type(value));
        let Conversions { reduced, extended } =
            Conversions::between(store, stored, self.func.dfg.opcode(inst), loaded)?;
        let mut value = value;
        if let Some(ty) = reduced {
            value = self.make(InstData::unary(Opcode::Ireduce, ty, value));
        }
        if let Some((opcode, ty)) = extended {
            value = self.make(InstData::unary(opcode, ty, value));
        }
        Some(value)
    }

    pub(crate) fn visit_store(&mut self, inst: Inst) {
        if self.keeps_accesses {
            return;
        }
        let written = *self.func.dfg.inst(inst);
        let rewritten = self.rewritten_access(inst);
        // A value that was stored whole is recorded whole, even if the store now writes part of a wider value.
        let data = if written.opcode() == Opcode::Store { written } else { rewritten };
        let [value, _] = *data.args() else { return };
        let (flags, addr, offset) = self.func.dfg.store_parts(inst);
        let load = load_of_store(&data, self.func.dfg.value_type(value), addr, offset);
        let is_whole = load.opcode() == Opcode::Load;
        if is_whole && flags.notrap() && self.table.find(self.memory.load_key(&load)).1 == Some(value.as_u32()) {
            return self.func.layout.remove_inst(inst);
        }
        if let Some(dead) = self.memory.store(inst, flags, load.key()) {
            self.func.layout.remove_inst(dead);
        }
        self.memory.note_stored(flags, data.opcode(), value, addr, offset);
        if is_whole {
            let key = self.memory.load_key(&load);
            let (place, _) = self.table.find(key);
            self.table.set(place, key, value.as_u32());
        }
    }
}
