//! Emission of instructions with their operands, addresses and symbols.

use super::{Address, LowerCtx, SelectedInst};
use crate::code::SymbolRef;
use crate::compiled::SymbolName;
use crate::inst::{AddrKind, AddrMode, MInst};
use crate::literal::Literal;
use crate::row::{OperandSpec, PlainOperands, Row, RowConstraint, RowId};
use kingpost_ir::extfunc::ExternalName;
use kingpost_regalloc::{ClobberId, Clobbers, Constraint, InstFlags, Kind, Operand, OperandForm, PRegSet, VReg};

/// Number of the latest symbols that are compared with the next one, so that many symbols cost linear time.
const MAX_RECENT_NAMES: usize = 64;

/// Emission of machine instructions.
impl LowerCtx<'_> {
    /// Emits an instruction with the operands of its row.
    pub fn emit(&mut self, row: RowId, vregs: &[VReg]) -> &mut MInst {
        self.record(row, vregs, None, &[], ClobberId::NONE)
    }

    /// Emits an instruction with a memory operand.
    pub fn emit_mem(&mut self, row: RowId, vregs: &[VReg], address: Address) -> &mut MInst {
        self.record(row, vregs, Some(address), &[], ClobberId::NONE)
    }

    /// Emits an instruction with all its parts: operands of its row, a memory operand, further operands after these,
    /// and clobbered registers. If the row has an upgrade that the CPU supports, emits the upgrade.
    pub fn emit_with(
        &mut self,
        row: RowId,
        vregs: &[VReg],
        address: Option<Address>,
        more: &[Operand],
        clobbers: ClobberId,
    ) -> &mut MInst {
        self.record(row, vregs, address, more, clobbers)
    }

    /// Emits an instruction as [`LowerCtx::emit_with`]. Inlined into each of the three callers, so that each does only
    /// what it needs.
    #[inline(always)]
    fn record(
        &mut self,
        row_id: RowId,
        vregs: &[VReg],
        address: Option<Address>,
        more: &[Operand],
        clobbers: ClobberId,
    ) -> &mut MInst {
        let mut row_id = row_id;
        let mut row = &self.rows[row_id.0 as usize];
        if let Some(upgrade) = row.upgrade
            && self.isa.features().contains(self.rows[upgrade.0 as usize].needs)
        {
            (row_id, row) = (upgrade, &self.rows[upgrade.0 as usize]);
        }
        debug_assert_eq!(row.operands.len(), vregs.len(), "operands of {row}");
        debug_assert!(row.mem == 0 || address.is_some(), "memory operand of {row}");
        let mut inst = MInst::new(row_id);
        let mut registers = [None; 2];
        if let Some(address) = address {
            (inst.mode, inst.aux, registers) = parts(address);
        }
        let registers =
            registers.into_iter().flatten().map(|reg| Operand::new(reg, Kind::Use, row.addr_pos, Constraint::Reg));
        let mut flags = row.kind.inst_flags();
        // An incoming stack argument can be loaded again at any time if its place is never written. It is loaded at
        // the entry, which is lowered last.
        if let Some(Address::Incoming(_)) = address
            && !self.cx.writes_incoming
            && row.operands[0].kind == Kind::Def
        {
            flags = flags.and(InstFlags::REMAT);
        }
        let start = self.cx.operands.len();
        self.row_operands(row, vregs, address.is_some());
        registers.for_each(|operand| self.cx.operands.push(operand));
        self.cx.operands.extend_from_slice(more);
        if self.is_streaming {
            let operands = (start as u32, self.cx.operands.len() as u32);
            let has_more = !more.is_empty() || clobbers != ClobberId::NONE;
            let record = self.cx.records.push_mut(SelectedInst { inst, row, operands, clobbers, flags, has_more });
            return &mut record.inst;
        }
        // The last operand comes first, because the code is in reverse order until it is finished.
        let demands = self.code.problem.prepend_operands(&self.cx.operands);
        self.cx.operands.clear();
        let is_rmw = self.code.problem.prepend_inst(flags, clobbers, demands);
        if is_rmw || flags == InstFlags::MOVE {
            self.cx.depend_on_widths.push(self.code.insts.len() as u32);
        }
        if self.cx.has_srclocs {
            self.push_srcloc();
        }
        self.code.insts.push(inst);
        self.code.insts.last_mut().expect("just pushed").1
    }

    /// Records the source location of the instruction that is pushed next.
    #[inline(always)]
    fn push_srcloc(&mut self) {
        // No location is recorded before the first instruction that has one.
        while self.code.srclocs.len() < self.code.insts.len() {
            self.code.srclocs.push(u32::MAX);
        }
        self.code.srclocs.push(self.srcloc);
    }

    /// Adds the operands of a row. Without the forms that rows of plain operands list, compilation takes 3.3 % more
    /// instructions (`make gate`, `x86_64 fused none`).
    #[inline(always)]
    fn row_operands(&mut self, row: &Row, vregs: &[VReg], has_memory: bool) {
        let are_of_their_class =
            || row.operands.iter().zip(vregs).all(|(s, &vreg)| s.class == self.code.problem.class(vreg));
        debug_assert!(are_of_their_class(), "classes of the operands of {row}");
        let Some(plain) = &row.plain else {
            for (spec, &vreg) in row.operands.iter().zip(vregs) {
                let operand = self.special_operand(row, spec, vreg, has_memory);
                self.cx.operands.push(operand);
            }
            return;
        };
        debug_assert!(
            plain.tied == 0 || self.is_whole(&row.operands[0], vregs[0]) || row.zero_extends,
            "{row} defines all of {}",
            vregs[0]
        );
        let start = self.cx.operands.len();
        let operands = vregs.iter().zip(&plain.forms).map(|(&vreg, &form)| Operand::of_form(vreg, form));
        self.cx.operands.extend(operands);
        // Only one operand can be in memory.
        if !has_memory {
            self.allow_memory(plain, vregs, start);
        }
    }

    /// Places the operand in memory that the row's memory form has there, if allowed, and the def that shares its
    /// location. The operands of the row begin at `start`.
    #[inline(always)]
    fn allow_memory(&mut self, plain: &PlainOperands, vregs: &[VReg], start: usize) {
        let k = usize::from(plain.in_memory);
        let Some(&used) = vregs.get(k) else { return };
        // The value must be as wide as the operand of the memory form.
        if self.code.problem.width(used) >= plain.memory_bytes {
            self.cx.operands[start + k] = Operand::of_form(used, OperandForm::MEM_OK_USE);
        }
        if plain.def_bytes != 0 && self.code.problem.width(vregs[0]) <= plain.def_bytes {
            let def = &mut self.cx.operands[start];
            *def = def.with_rmw();
        }
    }

    /// Returns `true` if the row writes all bytes of the value. In memory a row writes its own width only, so the
    /// zeros above a wider value would be missing.
    fn is_whole(&self, spec: &OperandSpec, vreg: VReg) -> bool {
        self.code.problem.width(vreg) <= spec.whole_width()
    }

    /// Returns an operand of a row that has operands other than plain ones.
    #[inline(never)]
    fn special_operand(&mut self, row: &Row, spec: &OperandSpec, vreg: VReg, has_memory: bool) -> Operand {
        let constraint = match spec.constraint {
            RowConstraint::Reg => Constraint::Reg,
            RowConstraint::MemOk if has_memory || self.code.problem.width(vreg) < spec.width => Constraint::Reg,
            RowConstraint::MemOk => Constraint::MemOk,
            RowConstraint::Reuse(of) => Constraint::Reuse(of),
            RowConstraint::Fixed(_) | RowConstraint::Within(_) => self.fixed_constraint(spec.constraint),
        };
        let operand = Operand::new(vreg, spec.kind, spec.pos, constraint);
        debug_assert!(
            spec.kind == Kind::Use || constraint == Constraint::Reg || self.is_whole(spec, vreg) || row.zero_extends,
            "{row} defines all of {vreg}"
        );
        match (constraint, row.twin) {
            (Constraint::Reuse(of), Some(twin)) if twin.operand == of && !has_memory && self.is_whole(spec, vreg) => {
                operand.with_rmw()
            }
            _ => operand,
        }
    }

    /// Returns the constraint to registers that the row names.
    #[inline(never)]
    fn fixed_constraint(&mut self, constraint: RowConstraint) -> Constraint {
        match constraint {
            RowConstraint::Fixed(reg) => Constraint::Fixed(reg),
            RowConstraint::Within(set) => {
                let set = set.intersection(self.isa.env().allocatable());
                Constraint::Within(self.code.problem.intern_reg_set(set))
            }
            RowConstraint::Reg | RowConstraint::Reuse(_) | RowConstraint::MemOk => Constraint::Reg,
        }
    }

    /// Stores one part of a tail call's argument into the area of this function's stack arguments, or below it.
    pub(super) fn emit_incoming_store(&mut self, row: RowId, value: VReg, offset: i32) {
        self.cx.writes_incoming = true;
        self.emit_mem(row, &[value], Address::Incoming(offset));
    }

    /// Interns the registers that a call destroys: all of `lost`, and `partial` above `kept_bytes`.
    pub fn clobbers(&mut self, lost: PRegSet, partial: PRegSet, kept_bytes: u8) -> ClobberId {
        self.code.problem.intern_clobbers(Clobbers { lost, partial, kept_bytes })
    }

    /// Returns the number of a symbol.
    pub fn symbol(&mut self, name: &ExternalName, colocated: bool, offset: i64) -> u32 {
        let name = match name {
            ExternalName::Named(word) => SymbolName::Named(word.clone()),
            ExternalName::User(user) => {
                let (namespace, index) = self.func.user_names[*user];
                SymbolName::User(namespace, index)
            }
            ExternalName::LibCall(libcall) => SymbolName::LibCall(*libcall),
            ExternalName::KnownSymbol(symbol) => SymbolName::KnownSymbol(*symbol),
        };
        self.named_symbol(name, colocated, offset)
    }

    /// Returns the address of 4, 8 or 16 bytes of read-only data.
    ///
    /// # Panics
    /// If there is another number of bytes.
    pub fn literal(&mut self, bytes: &[u8]) -> Address {
        let literal = Literal::new(bytes).expect("registers are loaded from 4, 8 or 16 bytes");
        Address::Symbol(self.named_symbol(SymbolName::Literal(literal), true, 0))
    }

    fn named_symbol(&mut self, name: SymbolName, colocated: bool, offset: i64) -> u32 {
        let names = &mut self.code.names;
        // The latest symbols are the likely ones. A function that mentions very many symbols has some of them twice.
        let recent = names.len().saturating_sub(MAX_RECENT_NAMES);
        let name = match names[recent..].iter().rposition(|n| *n == name) {
            Some(index) => (recent + index) as u32,
            None => {
                names.push(name);
                names.len() as u32 - 1
            }
        };
        self.code.symbols.push(SymbolRef { name, colocated, offset });
        self.code.symbols.len() as u32 - 1
    }
}

/// Returns the mode, the displacement or index, and the registers of an address.
#[inline(always)]
fn parts(address: Address) -> (AddrMode, u32, [Option<VReg>; 2]) {
    match address {
        Address::Base { base, disp } => (AddrMode::new(AddrKind::Base), disp as u32, [Some(base), None]),
        Address::Index { base, index, shift, extend, disp } => {
            (AddrMode::index(shift, extend), disp as u32, [Some(base), Some(index)])
        }
        Address::Symbol(index) => (AddrMode::new(AddrKind::Symbol), index, [None; 2]),
        Address::Slot(offset) => (AddrMode::new(AddrKind::Slot), offset, [None; 2]),
        Address::SlotIndex { offset, index, shift } => (AddrMode::slot_index(shift), offset, [Some(index), None]),
        Address::Incoming(offset) => (AddrMode::new(AddrKind::Incoming), offset as u32, [None; 2]),
        Address::Outgoing(offset) => (AddrMode::new(AddrKind::Outgoing), offset, [None; 2]),
        Address::Table(index) => (AddrMode::new(AddrKind::Table), index, [None; 2]),
    }
}
