//! Values: their definitions, numbers of uses, and registers.

use super::{LowerCtx, Parts, TypeCategory, is_little};
use crate::abi::{AbiSignature, first_part};
use crate::error::LowerError;
use crate::limits::check_limit;
use cranelift_entity::EntityRef;
use kingpost_ir::types::{I16, I32};
use kingpost_ir::{Block as IrBlock, Inst, Opcode, SigRef, Type, Value, ValueDef};
use kingpost_regalloc::{Block, RegClass, VReg};
use std::ops::Deref;
use std::sync::Arc;

/// Number of block parameters, one after the other, through which zeros above a value are followed.
const PARAMETERS: usize = 2;
/// Maximum number of predecessors of a block whose parameters are followed.
const PREDECESSORS: usize = 8;

/// Registers of a value, low part first. Dereferences to a slice of one or two.
#[derive(Clone, Copy, Debug)]
pub struct ValueRegs {
    regs: [VReg; 2],
    len: usize,
}

impl ValueRegs {
    fn one(reg: VReg) -> ValueRegs {
        ValueRegs { regs: [reg; 2], len: 1 }
    }
}

impl Deref for ValueRegs {
    type Target = [VReg];
    #[inline]
    fn deref(&self) -> &[VReg] {
        &self.regs[..self.len]
    }
}

/// Values and their definitions.
impl LowerCtx<'_> {
    /// Returns the target blocks of the terminator being lowered, in the order of the text. Equal edges may share one.
    pub fn targets(&self) -> &[Block] {
        self.cx.order.targets(self.block, self.analyses.cfg.succs(self.block).len())
    }

    /// Returns the category of an instruction's controlling type.
    #[inline]
    pub fn type_category(&self, inst: Inst) -> TypeCategory {
        TypeCategory::of(self.func.dfg.ctrl_type(inst))
    }

    /// Returns the block being lowered.
    pub fn block(&self) -> IrBlock {
        self.block
    }

    /// Returns the type of a value.
    #[inline]
    pub fn ty(&self, value: Value) -> Type {
        self.func.dfg.value_type(value)
    }

    /// Returns the instruction that defines a value as its first result.
    #[inline]
    pub fn def(&self, value: Value) -> Option<Inst> {
        self.func.dfg.first_result_of(value)
    }

    /// Returns the instruction that defines a value, if it has this opcode.
    #[inline]
    pub fn def_as(&self, value: Value, opcode: Opcode) -> Option<Inst> {
        if self.opcode_of(value) == Some(opcode) { self.def(value) } else { None }
    }

    /// Returns the bits of an integer constant, zero-extended. Width changes of constants are constants.
    #[inline]
    pub fn constant(&self, value: Value) -> Option<u64> {
        match self.opcode_of(value)? {
            Opcode::Iconst => self.plain_constant(value),
            Opcode::Uextend | Opcode::Ireduce | Opcode::Sextend => self.widened_constant(value),
            _ => None,
        }
    }

    #[inline(never)]
    fn widened_constant(&self, value: Value) -> Option<u64> {
        // The usual case: the value is not a constant.
        let inst = self.def(value)?;
        let source = self.func.dfg.inline_arg(inst, 0);
        let constant = self.plain_constant(source)?;
        let bits = self.ty(value).bits();
        let is_signed = self.func.dfg.opcode(inst) == Opcode::Sextend;
        let constant = if is_signed { self.sign_extended(source, constant) as u64 } else { constant };
        (bits <= 64).then(|| constant & (u64::MAX >> (64 - bits)))
    }

    fn plain_constant(&self, value: Value) -> Option<u64> {
        self.def_as(value, Opcode::Iconst).map(|inst| self.func.dfg.iconst_bits(inst))
    }

    /// Returns the integer constant that a value is, sign-extended from its type.
    #[inline]
    pub fn constant_signed(&self, value: Value) -> Option<i64> {
        Some(self.sign_extended(value, self.constant(value)?))
    }

    fn sign_extended(&self, value: Value, bits: u64) -> i64 {
        let unused = 64 - self.ty(value).bits().min(64);
        (bits as i64) << unused >> unused
    }

    /// Returns the opcode of the instruction that defines a value as its first result.
    pub fn opcode_of(&self, value: Value) -> Option<Opcode> {
        self.cx.needed.opcode(value)
    }

    /// Returns the number of instructions and edges that use a value.
    pub fn uses(&self, value: Value) -> u32 {
        self.cx.needed.uses(value)
    }

    /// Returns `true` if an instruction or edge that is needed uses the value.
    pub fn is_needed(&self, value: Value) -> bool {
        self.cx.needed.uses(value) > 0
    }

    /// Returns `true` if a user needs the value in a register.
    #[inline]
    pub fn has_reg(&self, value: Value) -> bool {
        self.cx.value_regs[value.index()] != [None.into(); 2]
    }

    /// Returns `true` if the value has one use and no register yet, so that the user may perform the definition
    /// itself.
    #[inline]
    pub fn is_single_use(&self, value: Value) -> bool {
        self.uses(value) == 1 && !self.has_reg(value)
    }

    /// Returns `true` if the instruction being lowered is the last one that needs the value in a register, so that a
    /// result may share the register. A value from outside the loop around the instruction is needed again.
    pub fn is_last_use(&self, value: Value) -> bool {
        if self.has_reg(value) {
            return false;
        }
        let def = self.func.defining_block(value);
        let loops = &self.analyses.loops;
        let is_inside = |def| loops.innermost_loop(self.block).is_none_or(|around| loops.contains(around, def));
        def.is_some_and(is_inside)
    }

    /// Returns `true` if `result`, of an instruction whose result shares the register of its first operand, is better
    /// placed in the register of `y` than of `x`. The operands then are exchanged if that is allowed.
    pub fn is_better_second(&self, result: Value, [x, y]: [Value; 2]) -> bool {
        !self.becomes(x, result) && (self.becomes(y, result) || !self.is_last_use(x) && self.is_last_use(y))
    }

    /// Returns `true` if the value is a parameter of a block to which this block passes `result`, as in a loop that
    /// computes a sum. One register is enough for both. This does not hold if a call is in between, because a value
    /// that is live across a call is better as a second operand, which may be in memory.
    fn becomes(&self, value: Value, result: Value) -> bool {
        let ValueDef::Param(to, number) = self.func.dfg.value_def(value) else { return false };
        let Some(branch) = self.func.layout.last_inst(self.block) else { return false };
        let mut edges = self.func.dfg.branch_destinations(branch).iter().filter(|edge| edge.block == to);
        edges.any(|&edge| self.func.dfg.block_args(edge)[number as usize].value() == Some(result))
            && self.cx.needed.calls_from(to) <= self.cx.needed.epoch(self.inst).calls
    }

    /// Removes a constant from `value` if it is a sum, and adds it to `disp`. Returns `true` if `value` has changed
    /// to the other side.
    #[inline(always)]
    pub fn take_constant(&self, value: &mut Value, disp: &mut i64) -> bool {
        self.opcode_of(*value) == Some(Opcode::Iadd) && self.take_constant_of_sum(value, disp)
    }

    #[inline(never)]
    fn take_constant_of_sum(&self, value: &mut Value, disp: &mut i64) -> bool {
        let Some(sum) = self.def(*value) else { return false };
        let [a, b] = self.args(sum);
        // Front ends put constants second.
        let (rest, constant) = match self.constant_signed(b) {
            Some(constant) => (a, constant),
            None => match self.constant_signed(a) {
                Some(constant) => (b, constant),
                None => return false,
            },
        };
        let total = disp.wrapping_add(constant);
        if i32::try_from(total).is_err() {
            return false;
        }
        (*value, *disp) = (rest, total);
        true
    }

    /// Returns the operand and the amount of a left shift by 1 to `most` that has no register.
    #[inline(always)]
    pub fn small_shift(&self, value: Value, most: u64) -> Option<(Value, u8)> {
        if self.opcode_of(value) == Some(Opcode::Ishl) { self.small_left_shift(value, most) } else { None }
    }

    #[inline(never)]
    fn small_left_shift(&self, value: Value, most: u64) -> Option<(Value, u8)> {
        let shift = self.def(value).filter(|_| !self.has_reg(value))?;
        let [x, amount] = self.args(shift);
        let amount = self.constant(amount)? & u64::from(self.ty(value).bits() - 1);
        (1..=most).contains(&amount).then_some((x, amount as u8))
    }

    /// Returns the amount of a shift without a mask that keeps all bits of `modulus`, which are the bits that the
    /// machine uses.
    pub fn without_mask(&self, amount: Value, modulus: u32) -> Value {
        let Some(and) = self.def_as(amount, Opcode::Band) else { return amount };
        let [x, y] = self.args(and);
        let keeps = |mask| self.constant(mask).is_some_and(|mask| mask as u32 & modulus == modulus);
        match (keeps(y), keeps(x)) {
            (true, _) => x,
            (false, true) => y,
            (false, false) => amount,
        }
    }

    /// Returns the operands of a commutative operation, with a constant second.
    pub fn constant_last(&self, inst: Inst) -> [Value; 2] {
        let [x, y] = self.args(inst);
        if self.constant(x).is_some() { [y, x] } else { [x, y] }
    }

    /// Returns the load that defines `value`, if `user` may do the load itself: it is the only use and in the same
    /// block, and no instruction in between can change memory, or trap before the load. The caller must call
    /// [`LowerCtx::mark_sunk`] if it folds the load.
    #[inline(always)]
    pub fn sinkable_load(&self, value: Value, user: Inst) -> Option<Inst> {
        // Most values are not loads.
        let opcode = self.opcode_of(value).filter(|opcode| opcode.can_load())?;
        self.sinkable_access(opcode, value, user)
    }

    #[inline(never)]
    fn sinkable_access(&self, opcode: Opcode, value: Value, user: Inst) -> Option<Inst> {
        let plain = opcode.has_memory_flags() && !opcode.other_side_effects() && !opcode.can_store();
        if !plain || self.uses(value) != 1 || self.has_reg(value) {
            return None;
        }
        let load = self.def(value)?;
        if self.func.layout.inst_block(load) != self.func.layout.inst_block(user) {
            return None;
        }
        let (from, to) = (self.cx.needed.epoch(load), self.cx.needed.epoch(user));
        let traps = u32::from(crate::live::may_trap(self.func, load));
        let moves = from.writes() == to.writes() && (traps == 0 || from.traps() + traps == to.traps());
        moves.then_some(load)
    }

    /// Marks `inst` as lowered by its user.
    pub fn mark_sunk(&mut self, inst: Inst) {
        self.cx.needed.mark_sunk(inst);
    }

    /// Returns the alignment of the stack in bytes.
    pub fn stack_align(&self) -> u32 {
        self.isa.stack_align()
    }

    /// Returns the byte offset of a user stack slot in the area of these slots.
    pub fn slot_offset(&self, slot: kingpost_ir::StackSlot) -> u64 {
        self.cx.slot_offsets[slot]
    }

    /// Reserves `bytes` bytes for results that a call returns in memory, and returns their offset in the area of the
    /// user's stack slots. All calls share them, because results are read immediately after their call.
    ///
    /// # Errors
    /// If the frame becomes too large.
    pub fn call_area(&mut self, bytes: u32) -> Result<u32, LowerError> {
        self.code.slots_align = self.code.slots_align.max(self.isa.stack_align());
        let end = (self.cx.call_area + u64::from(bytes)).next_multiple_of(u64::from(self.code.slots_align));
        self.code.slots_bytes = self.code.slots_bytes.max(end);
        check_limit("bytes of stack slots", end, self.cx.guard.limits.frame_bytes)?;
        Ok(self.cx.call_area as u32)
    }

    /// Reserves `bytes` bytes of the frame for an argument, and returns their offset in the area of the user's stack
    /// slots. No call is lowered after it.
    ///
    /// # Errors
    /// If the frame becomes too large.
    pub fn argument_slot(&mut self, bytes: u32) -> Result<u32, LowerError> {
        self.code.slots_align = self.code.slots_align.max(self.isa.stack_align());
        let start = self.code.slots_bytes.next_multiple_of(u64::from(self.isa.stack_align()));
        let end = (start + u64::from(bytes)).next_multiple_of(u64::from(self.code.slots_align));
        check_limit("bytes of stack slots", end, self.cx.guard.limits.frame_bytes)?;
        self.code.slots_bytes = end;
        Ok(start as u32)
    }

    /// Returns the places of the arguments and results of a call.
    ///
    /// # Errors
    /// If the convention cannot pass the signature.
    pub fn call_abi(&mut self, sig: SigRef) -> Result<Arc<AbiSignature>, LowerError> {
        if let Some(abi) = &self.cx.call_abis[sig] {
            return Ok(Arc::clone(abi));
        }
        let abi = self.cx.abi_cache.assign(self.isa, &self.func.dfg.signatures[sig])?;
        self.cx.call_abis[sig] = Some(Arc::clone(&abi));
        Ok(abi)
    }

    /// Returns the hidden pointer to the caller's return area, which returns use and the entry defines.
    pub fn return_area(&mut self) -> VReg {
        if let Some(vreg) = self.cx.return_area.expand() {
            return vreg;
        }
        let vreg = self.temp(RegClass::Int, 8);
        self.cx.return_area = vreg.into();
        vreg
    }

    /// Returns the hidden pointer if a return uses it.
    pub fn used_return_area(&self) -> Option<VReg> {
        self.cx.return_area.expand()
    }

    /// Returns the error for an instruction that this target has no code for.
    pub fn unsupported(&self, inst: Inst) -> LowerError {
        let opcode = self.func.dfg.opcode(inst);
        let first = self.func.dfg.first_result(inst).map(|r| self.ty(r));
        let operand = self.func.dfg.inst_args(inst).first().map(|&a| self.ty(a));
        let ctrl = Some(self.func.dfg.ctrl_type(inst)).filter(|ty| !ty.is_invalid());
        LowerError::Opcode { opcode, ty: ctrl.or(first).or(operand), target: self.isa.name() }
    }

    /// Returns the error for a feature that this target has no code for.
    pub fn unsupported_feature(&self, what: &'static str) -> LowerError {
        LowerError::Feature { what, target: self.isa.name() }
    }
}

/// Registers of values.
impl LowerCtx<'_> {
    /// Returns the register of a value of one register, and marks its definition as needed. Truncations to a narrower
    /// integer cost nothing, because upper bits are undefined. Neither do zero extensions of registers that have
    /// these zeros.
    #[inline]
    pub fn use_reg(&mut self, value: Value) -> VReg {
        // A value that costs nothing has no register of its own.
        match self.cx.value_regs[value.index()][0].expand() {
            Some(vreg) => vreg,
            None => self.use_source(value),
        }
    }

    #[inline(never)]
    fn use_source(&mut self, value: Value) -> VReg {
        match self.opcode_of(value) {
            Some(Opcode::Ireduce | Opcode::Uextend) => self.use_through_casts(value),
            _ => self.make_parts(value, 0),
        }
    }

    /// Returns the register of a value that has none yet, looking through free changes of width.
    #[inline(never)]
    fn use_through_casts(&mut self, value: Value) -> VReg {
        let source = self.look_through(value);
        if source == value {
            return self.make_first_parts(value, 0);
        }
        let vreg = self.use_reg_half(source, 0);
        self.widen(vreg, first_part(self.ty(value)).1);
        vreg
    }

    /// Returns the registers of a value, low part first, and marks its definition as needed.
    pub fn use_regs(&mut self, value: Value) -> ValueRegs {
        if first_part(self.ty(value)).2 { self.both_halves(value) } else { ValueRegs::one(self.use_reg(value)) }
    }

    /// Returns the register that the lowering of a value defines.
    #[inline]
    pub fn result(&mut self, value: Value) -> VReg {
        self.use_reg_half(value, 0)
    }

    /// Returns the registers that the lowering of a value defines, low part first.
    pub fn result_parts(&mut self, value: Value) -> ValueRegs {
        if first_part(self.ty(value)).2 { self.both_halves(value) } else { ValueRegs::one(self.result(value)) }
    }

    fn both_halves(&mut self, value: Value) -> ValueRegs {
        ValueRegs { regs: [0, 1].map(|k| self.use_reg_half(value, k)), len: 2 }
    }

    #[inline(always)]
    pub(super) fn use_reg_half(&mut self, value: Value, k: usize) -> VReg {
        if let Some(vreg) = self.cx.value_regs[value.index()][k].expand() {
            return vreg;
        }
        self.make_first_parts(value, k)
    }

    #[inline(never)]
    fn make_first_parts(&mut self, value: Value, k: usize) -> VReg {
        self.make_parts(value, k)
    }

    /// Makes the registers of a value that has none, and returns one of them. The definition of the value is lowered
    /// later.
    #[inline(always)]
    fn make_parts(&mut self, value: Value, k: usize) -> VReg {
        // Make all parts at once, so that the definition finds them.
        let (ty, def) = (self.ty(value), self.func.dfg.defining_inst(value));
        let (class, width, two) = first_part(ty);
        let low = self.make_part(value, class, width);
        let high = two.then(|| self.make_part(value, class, width));
        self.cx.value_regs[value.index()] = [low.into(), high.into()];
        if let Some(def) = def {
            self.cx.needed.mark_used(def);
        }
        if k == 0 { low } else { high.expect("the value has that many parts") }
    }

    #[inline(always)]
    fn make_part(&mut self, value: Value, class: RegClass, width: u8) -> VReg {
        let vreg = self.code.problem.add_vreg(class, width, false);
        if self.is_streaming {
            self.note_origin(vreg, value.into());
        }
        vreg
    }

    /// Returns new registers for a value of type `ty`.
    #[inline(always)]
    pub(super) fn new_parts(&mut self, ty: Type) -> Parts {
        let (class, width, two) = first_part(ty);
        let low = self.temp(class, width);
        let high = two.then(|| self.temp(class, width));
        [low.into(), high.into()]
    }

    /// Returns the registers of a value, if a user needs it in registers.
    pub(super) fn parts(&self, value: Value) -> Parts {
        self.cx.value_regs[value.index()]
    }

    /// Returns the value whose register represents `value`: the source of free truncations and extensions. The loop
    /// ends because unreachable blocks are not lowered, and in reachable ones definitions dominate uses.
    fn look_through(&self, mut value: Value) -> Value {
        while let Some(opcode @ (Opcode::Ireduce | Opcode::Uextend)) = self.opcode_of(value)
            && let Some(inst) = self.def(value)
        {
            let source = self.func.dfg.inline_arg(inst, 0);
            if opcode == Opcode::Uextend && (self.ty(value).bits() > 64 || !self.has_zeros(source)) {
                break;
            }
            value = source;
        }
        value
    }

    /// Returns `true` if the register of this integer has zeros above the value's own bits, however its definition is
    /// lowered.
    ///
    /// Follows the opcode's `[N]` entry in the table, except that an access of 16 bits in big-endian byte order may
    /// leave the upper bits undefined.
    pub fn has_zeros(&self, value: Value) -> bool {
        self.has_zeros_along(value, PARAMETERS)
    }

    /// Returns `true` if [`LowerCtx::has_zeros`] is shown by looking through at most `steps` block parameters.
    fn has_zeros_along(&self, value: Value, steps: usize) -> bool {
        let Some(opcode) = self.opcode_of(value) else { return steps > 0 && self.are_zeros_passed(value, steps - 1) };
        let from = self.zeros_from[opcode as usize];
        let ty = self.ty(value);
        let flags = || self.def(value).and_then(|inst| self.func.dfg.inst(inst).memflags());
        from != 0 && (u32::from(from)..=32).contains(&ty.bits()) && (ty != I16 || flags().is_none_or(is_little))
    }

    /// Returns `true` if all predecessors pass a value with zeros above it to a parameter of 32 bits. A loop that passes the
    /// parameter itself does not change it.
    fn are_zeros_passed(&self, param: Value, steps: usize) -> bool {
        let ValueDef::Param(block, number) = self.func.dfg.value_def(param) else { return false };
        let preds = self.analyses.cfg.preds(block);
        let is_known = self.ty(param) == I32 && !preds.is_empty() && self.func.layout.entry_block() != Some(block);
        is_known
            && preds.len() <= PREDECESSORS
            && preds.iter().all(|pred| {
                let edge = self.func.dfg.branch_destinations(pred.inst)[pred.edge as usize];
                let passed = self.func.dfg.block_args(edge)[number as usize].value();
                passed.is_some_and(|passed| passed == param || self.has_zeros_along(passed, steps))
            })
    }

    /// Records, if code is verified, that the first result of `inst`, which has just been lowered, has zeros above it
    /// according to the table.
    pub(super) fn note_zeros(&mut self, inst: Inst) {
        if !self.settings.verify_each {
            return;
        }
        let Some(result) = self.func.dfg.first_result(inst) else { return };
        if let Some(vreg) = self.cx.value_regs[result.index()][0].expand()
            && self.ty(result).is_int()
            && self.has_zeros(result)
        {
            self.code.zero_extended.push(vreg);
        }
    }

    /// Declares that the instruction emitted last leaves zeros above the value of 32 bits or fewer in `def`, although
    /// its row writes 64 bits and so does not imply it.
    pub fn declare_zeros(&mut self, def: VReg) {
        self.code.declared_zeros.push(def);
    }

    /// Returns a new register for an intermediate result.
    pub fn temp(&mut self, class: RegClass, width: u8) -> VReg {
        let vreg = self.code.problem.add_vreg(class, width, false);
        if self.is_streaming {
            self.note_origin(vreg, None.into());
        }
        vreg
    }

    /// Widens `vreg` to at least `width` bytes, which a user reads, so that spilling preserves them.
    pub fn widen(&mut self, vreg: VReg, width: u8) {
        let data = &mut self.code.problem.vregs[vreg];
        data.width = data.width.max(width);
    }
}
