//! Values, and which of them is in which register at the point that the walk has come to.

use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::{Slot, VReg};
use kingpost_regalloc_common::preference::{Masks, Reg, regs};

/// So many instructions longer a value stays in its register than one met at the same time: if its definition is in the
/// block at hand, and if it is in its register all over a loop.
const KEPT: u32 = 64;

/// Way in which a value is computed again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Remat {
    /// Nothing has asked yet.
    Unknown,
    /// It is not.
    No,
    /// By the instruction of this number.
    By(u32),
}

/// Facts of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    /// Its register at the point that the walk has come to.
    pub(crate) reg: Reg,
    /// A register that it had best be in.
    pub(crate) hint: Reg,
    /// Of a block parameter: its register at the head.
    pub(crate) head_reg: Reg,
    /// The register in which it is all over a loop around the walk's point.
    pub(crate) resident: Reg,
    /// While the head of a block is reconciled: where it comes from. Of what a branch defines, while its edges are: its
    /// register.
    pub(crate) entry_reg: Reg,
    /// Index of its class.
    pub(crate) class: u8,
    /// Bytes that moves and slots keep.
    pub(crate) width: u8,
    /// Whether it is read from its slot somewhere below, so that the definition must store it.
    pub(crate) is_stored: bool,
    /// Whether a call lies between its definition and its last use.
    pub(crate) lives_over_call: bool,
    pub(crate) slot: PackedOption<Slot>,
    pub(crate) remat: Remat,
    /// Time at which the walk met it last, in instructions; 0 if it has not.
    pub(crate) met_at: u32,
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
            met_at: 0,
            block: 0,
        }
    }
}

impl Value {
    /// Returns its class as an index.
    #[inline]
    pub(crate) fn class(&self) -> usize {
        usize::from(self.class & 1)
    }
}

/// All values, and the registers.
#[derive(Debug)]
pub(crate) struct State {
    /// By register of lowering; some room is ahead.
    values: Vec<Value>,
    owners: [PackedOption<VReg>; Reg::TABLE],
    /// Registers that hold a value.
    pub(crate) occupied: Masks,
    /// Registers that anything was put into so far.
    pub(crate) used: Masks,
    /// Those of them that loops do not know of yet.
    pub(crate) recent: Masks,
    /// One more than the instructions that the walk has met.
    pub(crate) clock: u32,
}

/// Values are added so many at once, at least.
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
    /// Begins with a function.
    pub(crate) fn begin(&mut self) {
        self.clear_registers();
        self.values.clear();
        (self.used, self.recent, self.clock) = ([0; 2], [0; 2], 1);
    }

    /// Makes room for so many values.
    #[inline]
    pub(crate) fn grow(&mut self, len: usize) {
        if self.values.len() < len {
            self.add_room(len);
        }
    }

    #[inline(never)]
    fn add_room(&mut self, len: usize) {
        self.values.resize(len + len / 8 + ROOM, Value::default());
    }

    #[inline]
    pub(crate) fn value(&self, vreg: VReg) -> &Value {
        &self.values[vreg.index()]
    }

    #[inline]
    pub(crate) fn value_mut(&mut self, vreg: VReg) -> &mut Value {
        &mut self.values[vreg.index()]
    }

    /// Puts a value into a free register.
    #[inline]
    pub(crate) fn put(&mut self, reg: Reg, vreg: VReg) {
        debug_assert!(self.owner(reg).is_none() && self.value(vreg).reg.is_none(), "{vreg} into {reg:?}");
        self.owners[reg.index()] = vreg.into();
        let value = &mut self.values[vreg.index()];
        (value.reg, value.hint) = (reg, reg);
        self.occupied[reg.class()] |= reg.bit();
        self.touch(reg);
    }

    /// Records that something is written to the register.
    #[inline]
    pub(crate) fn touch(&mut self, reg: Reg) {
        self.used[reg.class()] |= reg.bit();
        self.recent[reg.class()] |= reg.bit();
    }

    /// Takes the value out of a register.
    #[inline]
    pub(crate) fn release(&mut self, reg: Reg) -> Option<VReg> {
        let vreg = std::mem::take(&mut self.owners[reg.index()]).expand()?;
        self.values[vreg.index()].reg = Reg::NONE;
        self.occupied[reg.class()] &= !reg.bit();
        Some(vreg)
    }

    /// Returns the value in a register.
    #[inline]
    pub(crate) fn owner(&self, reg: Reg) -> Option<VReg> {
        self.owners[reg.index()].expand()
    }

    /// Returns `true` if the value is in the register.
    #[inline]
    pub(crate) fn holds(&self, reg: Reg, vreg: VReg) -> bool {
        self.owners[reg.index()] == vreg.into()
    }

    /// Returns `true` if nothing is in the register.
    #[inline]
    pub(crate) fn is_free(&self, reg: Reg) -> bool {
        self.occupied[reg.class()] & reg.bit() == 0
    }

    /// Returns all registers with values, class by class.
    pub(crate) fn in_registers(&self) -> impl Iterator<Item = (Reg, VReg)> {
        (0..2).flat_map(|class| regs(class, self.occupied[class])).filter_map(|reg| Some((reg, self.owner(reg)?)))
    }

    /// Takes all values out of all registers.
    pub(crate) fn clear_registers(&mut self) {
        for class in 0..2 {
            for reg in regs(class, std::mem::take(&mut self.occupied[class])) {
                if let Some(vreg) = std::mem::take(&mut self.owners[reg.index()]).expand() {
                    self.values[vreg.index()].reg = Reg::NONE;
                }
            }
        }
    }

    /// Of the given registers the one whose value the walk met the longest time ago, as it may not be met soon again:
    /// but for those that would have to be filled more than once.
    pub(crate) fn oldest(&self, class: usize, candidates: u64, block: u32) -> Option<Reg> {
        let mut least = u64::MAX;
        for reg in regs(class, candidates) {
            let Some(vreg) = self.owner(reg) else { continue };
            let value = self.value(vreg);
            // A sum without branches: what these conditions are is hard to predict.
            let kept = u32::from(value.block == block) + u32::from(!value.resident.is_none());
            least = least.min(u64::from(value.met_at + KEPT * kept) << 8 | reg.number() as u64);
        }
        (least != u64::MAX).then(|| Reg::new(class, least as u32 & 0xff))
    }
}
