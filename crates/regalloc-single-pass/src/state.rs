//! Values, and which of them is in which register at the point that the walk has come to.

use crate::survey::NONE;
use cranelift_entity::PrimaryMap;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::{Edge, Inst, Loc, Problem, Slot, VReg};
use kingpost_regalloc_common::order::BlockIndex;
use kingpost_regalloc_common::preference::{Masks, Reg, regs};

/// For how many more instructions a filled value keeps its register than a rematerialised one.
const COST_OF_FILL: u32 = 4;

/// So many instructions more if its definition would have to store it.
const COST_OF_SPILL: u32 = 8;

/// What is known of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    /// Its register at the point that the walk has come to.
    pub(crate) reg: Reg,
    /// Of a block parameter: its register at the head.
    pub(crate) head_reg: Reg,
    /// While a loop's header is reconciled: the register that was chosen for it there.
    pub(crate) entry_reg: Reg,
    /// The position at which the walk will meet it next, one more than its index; 0 if never.
    pub(crate) next_met: u32,
    /// A register that it had best be in.
    pub(crate) hint: Reg,
    /// Index of its class.
    pub(crate) class: u8,
    /// Bytes.
    pub(crate) width: u8,
    /// Is it read from its slot somewhere below, so that the definition must store it?
    pub(crate) is_stored: bool,
    /// Is it looked for in its slot by debug information?
    pub(crate) is_labelled: bool,
    /// Does a collector look for it?
    pub(crate) is_ref: bool,
    slot: PackedOption<Slot>,
    /// The instruction that computes it again.
    pub(crate) remat: PackedOption<Inst>,
    /// The block that defines it.
    pub(crate) block: BlockIndex,
    /// Is it a parameter of that block?
    pub(crate) is_param: bool,
    /// Calls before its definition, in the linear order.
    pub(crate) calls: u32,
    /// Does a call lie between its definition and a use, in that order?
    pub(crate) lives_over_call: bool,
    /// The edge on which a branch defines it.
    pub(crate) edge: PackedOption<Edge>,
    /// Where that branch leaves it.
    pub(crate) edge_loc: Loc,
    /// The survey's last entry of it in a loop, or [`NONE`].
    pub(crate) loop_use: u32,
    /// Its number among values that parameters and arguments are, or [`NONE`].
    pub(crate) member: u32,
    /// The number of the loop the walk is in, if the value is in a register at that loop's header.
    pub(crate) resident: u32,
}

impl Default for Value {
    fn default() -> Value {
        Value {
            reg: Reg::NONE,
            head_reg: Reg::NONE,
            entry_reg: Reg::NONE,
            next_met: 0,
            hint: Reg::NONE,
            class: 0,
            width: 0,
            is_stored: false,
            is_ref: false,
            slot: None.into(),
            remat: None.into(),
            block: BlockIndex::FIRST,
            is_labelled: false,
            is_param: false,
            calls: 0,
            lives_over_call: false,
            edge: None.into(),
            edge_loc: Loc::NONE,
            loop_use: NONE,
            member: NONE,
            resident: 0,
        }
    }
}

impl Value {
    /// Its class as an index.
    #[inline]
    pub(crate) fn class(&self) -> usize {
        usize::from(self.class & 1)
    }

    /// Does it come into a loop from outside, if only as a parameter of the header?
    #[inline]
    pub(crate) fn comes_into(&self, header: BlockIndex) -> bool {
        self.block < header || self.block == header && self.is_param
    }

    /// Has the definition store the value in a slot.
    pub(crate) fn set_slot(&mut self, slot: Slot) {
        (self.slot, self.is_stored) = (slot.into(), true);
    }

    /// Its slot, if it has one.
    pub(crate) fn existing_slot(&self) -> Option<Slot> {
        self.slot.expand()
    }
}

/// All values, and the registers.
#[derive(Debug)]
pub(crate) struct State {
    values: PrimaryMap<VReg, Value>,
    owners: [PackedOption<VReg>; Reg::TABLE],
    /// Registers that hold a value.
    pub(crate) occupied: Masks,
    /// Registers that ever held one.
    pub(crate) used: Masks,
    /// Counts the loops that the walk came into, from inside or outside. In no loop, no value has its number.
    in_loop: u32,
    /// Registers of values at the header of that loop.
    pub(crate) resident: Masks,
}

impl Default for State {
    fn default() -> State {
        State {
            values: PrimaryMap::new(),
            owners: [None.into(); Reg::TABLE],
            occupied: [0; 2],
            used: [0; 2],
            in_loop: 1,
            resident: [0; 2],
        }
    }
}

impl State {
    pub(crate) fn begin(&mut self, problem: &Problem) {
        self.clear_registers();
        self.values.clear();
        self.values.reserve(problem.vregs.len());
        for data in problem.vregs.values() {
            let class = data.class.index() as u8;
            self.values.push(Value { class, width: data.width, is_ref: data.is_ref, ..Value::default() });
        }
        (self.used, self.in_loop, self.resident) = ([0; 2], 1, [0; 2]);
    }

    /// The walk comes into a loop.
    pub(crate) fn begin_loop(&mut self) {
        self.in_loop += 1;
        self.resident = [0; 2];
    }

    /// The value is in the register at the header of the loop. So it had best be everywhere in it.
    pub(crate) fn reside(&mut self, reg: Reg, vreg: VReg) {
        let value = &mut self.values[vreg];
        (value.resident, value.hint) = (self.in_loop, reg);
        self.resident[reg.class()] |= reg.bit();
    }

    /// Is the value in a register at the header of the loop?
    #[inline]
    pub(crate) fn is_resident(&self, value: &Value) -> bool {
        value.resident == self.in_loop
    }

    #[inline]
    pub(crate) fn value(&self, vreg: VReg) -> &Value {
        &self.values[vreg]
    }

    #[inline]
    pub(crate) fn value_mut(&mut self, vreg: VReg) -> &mut Value {
        &mut self.values[vreg]
    }

    /// Puts a value into a free register.
    #[inline]
    pub(crate) fn put(&mut self, reg: Reg, vreg: VReg) {
        debug_assert!(self.owner(reg).is_none() && self.values[vreg].reg.is_none(), "{vreg} into {reg:?}");
        self.owners[reg.index()] = vreg.into();
        let value = &mut self.values[vreg];
        value.reg = reg;
        if value.resident != self.in_loop {
            value.hint = reg;
        }
        self.occupied[reg.class()] |= reg.bit();
        self.used[reg.class()] |= reg.bit();
    }

    /// Takes the value out of a register.
    #[inline]
    pub(crate) fn release(&mut self, reg: Reg) -> Option<VReg> {
        let vreg = std::mem::take(&mut self.owners[reg.index()]).expand()?;
        self.values[vreg].reg = Reg::NONE;
        self.occupied[reg.class()] &= !reg.bit();
        Some(vreg)
    }

    /// The value in a register.
    #[inline]
    pub(crate) fn owner(&self, reg: Reg) -> Option<VReg> {
        self.owners[reg.index()].expand()
    }

    /// All registers with values, class by class.
    pub(crate) fn in_registers(&self) -> impl Iterator<Item = (Reg, VReg)> {
        (0..2).flat_map(|class| regs(class, self.occupied[class])).filter_map(|reg| Some((reg, self.owner(reg)?)))
    }

    /// Takes all values out of all registers.
    pub(crate) fn clear_registers(&mut self) {
        for class in 0..2 {
            for reg in regs(class, std::mem::take(&mut self.occupied[class])) {
                if let Some(vreg) = std::mem::take(&mut self.owners[reg.index()]).expand() {
                    self.values[vreg].reg = Reg::NONE;
                }
            }
        }
    }

    /// Of the given registers the one whose value is met last, as the walk goes on. One whose value can be rematerialised goes
    /// earlier, one whose definition would have to store it there later.
    pub(crate) fn farthest(&self, class: usize, candidates: u64) -> Option<Reg> {
        let price = |reg: Reg| match self.owner(reg).map(|vreg| &self.values[vreg]) {
            Some(value) if value.remat.is_some() => value.next_met,
            Some(value) if value.is_stored || self.is_resident(value) => value.next_met + COST_OF_FILL,
            Some(value) => value.next_met + COST_OF_FILL + COST_OF_SPILL,
            None => 0,
        };
        regs(class, candidates).min_by_key(|&reg| price(reg))
    }
}
