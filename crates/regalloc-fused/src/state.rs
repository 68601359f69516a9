//! Values, and the registers that they are in at the current point of the walk.

use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{Slot, VReg};
use kingpost_regalloc_common::preference::{Masks, Reg, regs};

/// Eviction bonus, in instructions, for a value defined in the current block, and for a value resident in a loop.
const KEPT: u32 = 64;

/// Rematerialization of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Remat {
    /// Not determined yet.
    Unknown,
    /// The value is not rematerializable.
    No,
    /// The value is rematerialized by the instruction with this number.
    By(u32),
}

/// Facts of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    /// Its register at the current point of the walk.
    pub(crate) reg: Reg,
    /// Its preferred register.
    pub(crate) hint: Reg,
    /// For a block parameter, its register at the head.
    pub(crate) head_reg: Reg,
    /// The register in which it is resident in a loop around the current point.
    pub(crate) resident: Reg,
    /// Its source while the head of a block is reconciled. For a result of a branch, its register while the edges
    /// of the branch are processed.
    pub(crate) entry_reg: Reg,
    /// Index of its class.
    pub(crate) class: u8,
    /// Number of bytes that moves and slots keep.
    pub(crate) width: u8,
    /// Whether code below reads it from its slot, so that the definition must store it.
    pub(crate) is_stored: bool,
    /// Whether a call is between its definition and its last use.
    pub(crate) lives_over_call: bool,
    pub(crate) slot: PackedOption<Slot>,
    pub(crate) remat: Remat,
    /// Time of the last visit, in instructions; 0 if there was none.
    pub(crate) last_visit: u32,
    /// The block that defines it.
    pub(crate) block: u32,
}

impl Default for Value {
    fn default() -> Value {
        Value {
            reg: Reg::NONE,
            hint: Reg::NONE,
            head_reg: Reg::NONE,
            resident: Reg::NONE,
            entry_reg: Reg::NONE,
            class: 0,
            width: 0,
            is_stored: false,
            lives_over_call: false,
            slot: None.into(),
            remat: Remat::Unknown,
            last_visit: 0,
            block: 0,
        }
    }
}

impl Value {
    /// Returns its class as an index.
    pub(crate) fn class(&self) -> usize {
        usize::from(self.class & 1)
    }
}

/// All values and the registers.
#[derive(Debug)]
pub(crate) struct State {
    /// Values by register of lowering, with room for further ones.
    values: Vec<Value>,
    owners: [PackedOption<VReg>; Reg::TABLE],
    /// Registers that hold a value.
    pub(crate) occupied: Masks,
    /// All registers in use so far.
    pub(crate) used: Masks,
    /// Registers in use that `Loops` has not recorded yet.
    pub(crate) recent: Masks,
    /// Number of instructions that the walk has met, plus one.
    pub(crate) clock: u32,
}

heap_bytes!(State { values } without { owners, occupied, used, recent, clock });

/// Least number of values that are added at once.
const ROOM: usize = 4;

impl Default for State {
    fn default() -> State {
        State {
            values: Vec::new(),
            owners: [None.into(); Reg::TABLE],
            occupied: [0; 2],
            used: [0; 2],
            recent: [0; 2],
            clock: 1,
        }
    }
}

impl State {
    /// Prepares for a function.
    pub(crate) fn begin(&mut self) {
        self.clear_registers();
        self.values.clear();
        (self.used, self.recent, self.clock) = ([0; 2], [0; 2], 1);
    }

    /// Makes room for `len` values.
    pub(crate) fn grow(&mut self, len: usize) {
        if self.values.len() < len {
            self.add_room(len);
        }
    }

    #[inline(never)]
    fn add_room(&mut self, len: usize) {
        self.values.resize(len + len / 8 + ROOM, Value::default());
    }

    pub(crate) fn value(&self, vreg: VReg) -> &Value {
        &self.values[vreg.index()]
    }

    pub(crate) fn value_mut(&mut self, vreg: VReg) -> &mut Value {
        &mut self.values[vreg.index()]
    }

    /// Puts a value into a free register.
    pub(crate) fn put(&mut self, reg: Reg, vreg: VReg) {
        debug_assert!(self.owner(reg).is_none() && self.value(vreg).reg.is_none(), "{vreg} into {reg:?}");
        self.owners[reg.index()] = vreg.into();
        let value = &mut self.values[vreg.index()];
        (value.reg, value.hint) = (reg, reg);
        self.occupied[reg.class()] |= reg.bit();
        self.touch(reg);
    }

    /// Records a write to the register.
    pub(crate) fn touch(&mut self, reg: Reg) {
        self.used[reg.class()] |= reg.bit();
        self.recent[reg.class()] |= reg.bit();
    }

    /// Removes the value from a register and returns it.
    pub(crate) fn release(&mut self, reg: Reg) -> Option<VReg> {
        let vreg = std::mem::take(&mut self.owners[reg.index()]).expand()?;
        self.values[vreg.index()].reg = Reg::NONE;
        self.occupied[reg.class()] &= !reg.bit();
        Some(vreg)
    }

    /// Returns the value in a register.
    pub(crate) fn owner(&self, reg: Reg) -> Option<VReg> {
        self.owners[reg.index()].expand()
    }

    /// Returns `true` if the value is in the register.
    pub(crate) fn holds(&self, reg: Reg, vreg: VReg) -> bool {
        self.owners[reg.index()] == vreg.into()
    }

    /// Returns `true` if the register holds no value.
    pub(crate) fn is_free(&self, reg: Reg) -> bool {
        self.occupied[reg.class()] & reg.bit() == 0
    }

    /// Returns all registers with values, class by class.
    pub(crate) fn in_registers(&self) -> impl Iterator<Item = (Reg, VReg)> {
        (0..2).flat_map(|class| regs(class, self.occupied[class])).filter_map(|reg| Some((reg, self.owner(reg)?)))
    }

    /// Removes all values from all registers.
    pub(crate) fn clear_registers(&mut self) {
        for class in 0..2 {
            for reg in regs(class, std::mem::take(&mut self.occupied[class])) {
                if let Some(vreg) = std::mem::take(&mut self.owners[reg.index()]).expand() {
                    self.values[vreg.index()].reg = Reg::NONE;
                }
            }
        }
    }

    /// Returns the candidate register whose value was met the longest time ago, because the walk may not meet it
    /// again soon. Values that would have to be filled more than once get a bonus.
    pub(crate) fn oldest(&self, class: usize, candidates: u64, block: u32) -> Option<Reg> {
        let mut least = u64::MAX;
        for reg in regs(class, candidates) {
            let Some(vreg) = self.owner(reg) else { continue };
            let value = self.value(vreg);
            // A sum without branches, because these conditions are hard to predict.
            let kept = u32::from(value.block == block) + u32::from(!value.resident.is_none());
            least = least.min(u64::from(value.last_visit + KEPT * kept) << 8 | reg.number() as u64);
        }
        (least != u64::MAX).then(|| Reg::new(class, least as u32 & 0xff))
    }
}
