//! Lowering: the function's instructions become machine instructions over virtual registers.
//!
//! Before: `v2 = iadd v0, v1`, `v3 = load.i64 v2+8`. After: `mov64_rm [v0 + v1 + 8]`, if nothing else needs `v2`.
//!
//! This file is the part that knows no machine: it walks the machine blocks backwards, last instruction first, and asks
//! the instruction set to lower each instruction whose result someone has asked for, or that has an effect. Asking for
//! a value ([`Lower::put`]) gives it a virtual register. Because users come before definitions, an instruction set can
//! take a value's definition into the user instead (a constant, an address, a single-use load, a comparison), and
//! what nobody asked for is never lowered.
//!
//! Emitted instructions are kept in reverse and turned round at the end, when they become the [`Code`] and its problem.
//! Values narrower than their register have undefined upper bits. Cost: linear in instructions and edges; the
//! contexts are reused, nothing is allocated per instruction once they are warm.

use crate::abi::{AbiSignature, reg_parts};
use crate::block_order::{Analyses, BlockOrder, MachineBlock, destinations};
use crate::code::{Code, SymbolRef};
use crate::compiled::SymbolName;
use crate::edge_widths::EdgeWidths;
pub use crate::error::LowerError;
use crate::inst::{AddrKind, AddrMode, IndexExtend, MInst};
use crate::isa::Isa;
use crate::limits::{Guard, check_limit};
use crate::live::{Needed, has_effect};
use crate::row::{Place, Row, RowId, RowKind};
use crate::settings::Settings;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use kingpost_ir::extfunc::ExternalName;
use kingpost_ir::{Block as IrBlock, BlockArgKind, Function, Inst, InstView, Opcode, SigRef, Type, Value, ValueDef};
use kingpost_regalloc::{
    Block, ClobberId, Clobbers, Constraint, Freq, InstFlags, Kind, Operand, PRegSet, Problem, RegClass, VReg,
};
use smallvec::SmallVec;
use std::sync::Arc;

/// An address over virtual registers. Displacements and offsets are bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Address {
    /// `base + disp`.
    Base {
        /// Address register.
        base: VReg,
        /// Displacement.
        disp: i32,
    },
    /// `base + (extend(index) << shift) + disp`.
    Index {
        /// Address register.
        base: VReg,
        /// Index register.
        index: VReg,
        /// Left shift of the index.
        shift: u8,
        /// How the index is widened first.
        extend: IndexExtend,
        /// Displacement.
        disp: i32,
    },
    /// A symbol, as [`Lower::symbol`] numbers it.
    Symbol(u32),
    /// A place in the area of the user's stack slots.
    Slot(u32),
    /// A stack argument of this function.
    Incoming(u32),
    /// A stack argument of a call made here.
    Outgoing(u32),
    /// A constant or jump table, as the pool numbers it.
    Pool(u32),
}

/// An instruction as recorded: with its operands' place in [`Lowering::operands`].
#[derive(Clone, Copy, Debug)]
struct Record {
    inst: MInst,
    operands: (u32, u32),
    clobbers: ClobberId,
    flags: InstFlags,
    srcloc: u32,
}

/// An edge of machine blocks with its arguments' place in [`Lowering::edge_args`].
#[derive(Clone, Copy, Debug)]
struct EdgeRecord {
    from: Block,
    to: Block,
    freq: Freq,
    args: (u32, u32),
}

/// Memory of lowering. Cleared and used again for function after function.
#[derive(Default, Debug)]
pub struct Lowering {
    guard: Guard,
    analyses: Analyses,
    order: BlockOrder,
    needed: Needed,
    /// Virtual registers of a value's parts, low part first.
    value_regs: SecondaryMap<Value, [PackedOption<VReg>; 2]>,
    /// Instructions that a user has taken in, so that they are not lowered themselves.
    sunk: SecondaryMap<Inst, bool>,
    operands: Vec<Operand>,
    /// Instructions of the piece being lowered, in order.
    group: Vec<Record>,
    /// Instructions of all finished pieces, in reverse.
    reversed: Vec<Record>,
    /// Range of each machine block in `reversed`.
    block_ranges: Vec<(u32, u32)>,
    edges: Vec<EdgeRecord>,
    edge_args: Vec<VReg>,
    edge_widths: EdgeWidths,
    slot_offsets: SecondaryMap<kingpost_ir::StackSlot, u64>,
    /// Assignments of the signatures that calls have named so far.
    call_abis: SecondaryMap<SigRef, Option<Arc<AbiSignature>>>,
    /// The hidden pointer to the caller's return area, once somebody asked for it.
    return_area: PackedOption<VReg>,
    /// Start of the area that calls receive results in: behind the user's slots.
    call_area: u64,
}

/// One function being lowered.
pub struct Lower<'a> {
    /// The function. Its aliases are resolved.
    pub func: &'a Function,
    /// Shared settings.
    pub settings: &'a Settings,
    /// What is being made.
    pub code: &'a mut Code,
    /// Where this function's arguments and results are.
    pub abi: Arc<AbiSignature>,
    isa: &'a dyn Isa,
    rows: &'static [Row],
    cx: &'a mut Lowering,
    srcloc: u32,
    block: IrBlock,
}

impl Lowering {
    /// Memory of lowering that keeps to limits and stops when asked to.
    pub fn with_guard(guard: Guard) -> Lowering {
        Lowering { guard, ..Lowering::default() }
    }

    /// Lowers `func`, whose aliases are resolved and which is valid, into `code`.
    ///
    /// # Errors
    /// What the target does not support, a limit, or that somebody asked to stop.
    pub fn run(
        &mut self,
        func: &Function,
        isa: &dyn Isa,
        settings: &Settings,
        code: &mut Code,
    ) -> Result<(), LowerError> {
        let Some(entry) = func.layout.entry_block() else {
            return Err(LowerError::Feature { what: "a function without blocks", target: isa.name() });
        };
        self.clear();
        code.clear();
        self.analyses.compute(func);
        self.order.compute(func, &self.analyses);
        self.needed.compute(func, &self.order);
        self.block_ranges.resize(self.order.blocks().len(), (0, 0));
        let abi = Arc::new(isa.abi(&func.signature)?);
        let env = isa.env();
        code.also_preserved = abi.callee_saved.intersection(env.allocatable()).difference(env.callee_saved());
        let rows = isa.rows();
        let mut lower = Lower { func, settings, code, abi, isa, rows, cx: self, srcloc: u32::MAX, block: entry };
        lower.place_slots()?;
        lower.lower_blocks()?;
        lower.put_params();
        lower.unify_widths();
        lower.finish();
        Ok(())
    }

    fn clear(&mut self) {
        self.value_regs.clear();
        self.sunk.clear();
        self.operands.clear();
        self.group.clear();
        self.reversed.clear();
        self.block_ranges.clear();
        self.edges.clear();
        self.edge_args.clear();
        self.slot_offsets.clear();
        self.call_abis.clear();
        self.return_area = None.into();
    }
}

/// Walking the function.
impl Lower<'_> {
    /// Lays out the user's stack slots. Those aligned beyond the stack get room to align them at run time.
    fn place_slots(&mut self) -> Result<(), LowerError> {
        let stack_align = u64::from(self.isa.stack_align());
        let mut top = 0u64;
        for (slot, data) in self.func.stack_slots.iter() {
            let align = 1u64 << data.align_shift.min(63);
            let slack = align.saturating_sub(stack_align);
            let align = align.min(stack_align);
            self.code.slots_align = self.code.slots_align.max(align as u32);
            top = top.next_multiple_of(align);
            self.cx.slot_offsets[slot] = top;
            top = top.saturating_add(u64::from(data.size)).saturating_add(slack);
        }
        self.code.slots_bytes = top.next_multiple_of(u64::from(self.code.slots_align));
        self.cx.call_area = self.code.slots_bytes.next_multiple_of(stack_align);
        check_limit("bytes of stack slots", self.code.slots_bytes, self.cx.guard.limits.frame_bytes)
    }

    fn lower_blocks(&mut self) -> Result<(), LowerError> {
        for index in (0..self.cx.order.blocks().len()).rev() {
            let start = self.cx.reversed.len() as u32;
            match self.cx.order.blocks()[index] {
                MachineBlock::Ir(block) => self.lower_block(block, Block::from_u32(index as u32))?,
                MachineBlock::Edge { from, edge } => self.lower_edge_block(from, edge),
            }
            self.cx.block_ranges[index] = (start, self.cx.reversed.len() as u32);
            self.check_guard()?;
        }
        Ok(())
    }

    /// Asked once per block: one block's instructions are bounded by those of the text, which are counted before.
    fn check_guard(&self) -> Result<(), LowerError> {
        let guard = &self.cx.guard;
        if guard.is_cancelled() {
            return Err(LowerError::Cancelled);
        }
        check_limit("machine instructions", self.cx.reversed.len() as u64, guard.limits.instructions)?;
        check_limit("virtual registers", self.code.problem.vregs.len() as u64, guard.limits.vregs)
    }

    fn lower_block(&mut self, block: IrBlock, machine: Block) -> Result<(), LowerError> {
        self.block = block;
        let mut next = self.func.layout.last_inst(block);
        if let Some(terminator) = next {
            self.srcloc = self.func.srcloc(terminator).0;
            self.record_edges(block, machine);
            let dests = destinations(self.func, block).len();
            let targets: SmallVec<[Block; 4]> = self.cx.order.targets(block, dests).into();
            self.isa.lower_terminator(self, terminator, &targets)?;
            self.flush();
            next = self.func.layout.prev_inst(terminator);
        }
        while let Some(inst) = next {
            if self.wanted(inst) {
                self.srcloc = self.func.srcloc(inst).0;
                self.isa.lower_inst(self, inst)?;
                self.flush();
            }
            next = self.func.layout.prev_inst(inst);
        }
        if Some(block) == self.func.layout.entry_block() {
            self.srcloc = u32::MAX;
            self.isa.lower_entry(self)?;
            self.flush();
        }
        Ok(())
    }

    fn wanted(&self, inst: Inst) -> bool {
        let results = self.func.dfg.inst_results(inst);
        !self.cx.sunk[inst]
            && (has_effect(self.func, inst) || results.iter().any(|&r| self.cx.value_regs[r] != [None.into(); 2]))
    }

    fn lower_edge_block(&mut self, from: IrBlock, edge: u32) {
        self.srcloc = u32::MAX;
        let target = destinations(self.func, from)[edge as usize].block;
        let target = self.cx.order.block_of(target).expect("a reachable block is placed");
        self.isa.lower_jump(self, target);
        self.flush();
    }

    /// Notes the edges out of `block` and asks for the values they pass.
    fn record_edges(&mut self, block: IrBlock, machine: Block) {
        let dests = destinations(self.func, block);
        for (k, dest) in dests.iter().enumerate() {
            if self.cx.order.same_as(block, dests.len())[k] != k as u32 {
                continue;
            }
            let to = self.cx.order.targets(block, dests.len())[k];
            let direct = self.cx.order.block_of(dest.block).expect("a reachable block is placed");
            let start = self.cx.edge_args.len() as u32;
            let params = self.func.dfg.block_params(dest.block);
            for (&param, arg) in params.iter().zip(self.func.dfg.block_args(*dest)) {
                if let (true, BlockArgKind::Value(arg)) = (self.is_needed(param), arg.kind()) {
                    for part in self.put_parts(arg) {
                        self.cx.edge_args.push(part);
                    }
                }
            }
            let args = (start, self.cx.edge_args.len() as u32);
            if to == direct {
                // No critical edge is direct: it is the only one out of its source, or the only one into its target.
                let freq = self.cx.order.freq(machine).min(self.cx.order.freq(to));
                self.cx.edges.push(EdgeRecord { from: machine, to, freq, args });
            } else {
                let freq = self.cx.order.freq(to);
                self.cx.edges.push(EdgeRecord { from: to, to: direct, freq, args });
                self.cx.edges.push(EdgeRecord { from: machine, to, freq, args: (start, start) });
            }
        }
    }

    /// Takes the finished piece over, last instruction first.
    fn flush(&mut self) {
        while let Some(record) = self.cx.group.pop() {
            self.cx.reversed.push(record);
        }
    }

    /// Gives a register to every needed block parameter, as the edges pass an argument for each.
    fn put_params(&mut self) {
        let func = self.func;
        for i in 1..self.cx.order.rpo().len() {
            for &param in func.dfg.block_params(self.cx.order.rpo()[i]) {
                if self.is_needed(param) {
                    self.part(param, 0);
                }
            }
        }
    }

    /// Makes arguments and parameters equally wide.
    fn unify_widths(&mut self) {
        self.cx.edge_widths.clear();
        for edge in &self.cx.edges {
            let MachineBlock::Ir(block) = self.cx.order.blocks()[edge.to.as_u32() as usize] else { continue };
            let params = self.func.dfg.block_params(block).iter().filter(|&&p| self.cx.needed.uses(p) > 0);
            let params = params.flat_map(|&p| self.cx.value_regs[p]).filter_map(PackedOption::expand);
            let args = &self.cx.edge_args[edge.args.0 as usize..edge.args.1 as usize];
            for (&arg, param) in args.iter().zip(params) {
                self.cx.edge_widths.add(arg, param);
            }
        }
        self.cx.edge_widths.unify(&mut self.code.problem.vregs);
    }

    /// Turns everything round into the code and its problem.
    fn finish(&mut self) {
        let code = &mut *self.code;
        let has_srclocs = self.cx.reversed.iter().any(|r| r.srcloc != u32::MAX);
        let mut params: SmallVec<[VReg; 16]> = SmallVec::new();
        for (index, &machine) in self.cx.order.blocks().iter().enumerate() {
            params.clear();
            if let (MachineBlock::Ir(block), true) = (machine, index > 0) {
                for &param in self.func.dfg.block_params(block) {
                    if self.cx.needed.uses(param) > 0 {
                        params.extend(self.cx.value_regs[param].iter().filter_map(|r| r.expand()));
                    }
                }
            }
            let freq = self.cx.order.freq(Block::from_u32(index as u32));
            let block = code.problem.begin_block(freq, &params);
            if !self.cx.order.is_cold(block) {
                code.layout.push(block);
            }
            let (start, end) = self.cx.block_ranges[index];
            for record in self.cx.reversed[start as usize..end as usize].iter().rev() {
                let operands = &mut self.cx.operands[record.operands.0 as usize..record.operands.1 as usize];
                settle_read_modify_write(&code.problem, operands);
                for &operand in &*operands {
                    code.problem.push_operand(operand);
                }
                let flags = settle_move(&code.problem, operands, record.flags);
                code.problem.push_inst(flags, record.clobbers);
                code.insts.push(record.inst);
                if has_srclocs {
                    code.srclocs.push(record.srcloc);
                }
            }
        }
        for edge in &self.cx.edges {
            let args = &self.cx.edge_args[edge.args.0 as usize..edge.args.1 as usize];
            code.problem.add_edge(edge.from, edge.to, edge.freq, args, &[]);
        }
        code.layout.extend(code.problem.blocks().filter(|&block| self.cx.order.is_cold(block)));
        code.problem.finish();
    }
}

/// A move whose result was widened since is no longer one: it may not be left out or merged.
fn settle_move(problem: &Problem, operands: &[Operand], flags: InstFlags) -> InstFlags {
    match operands {
        [def, source] if flags == InstFlags::MOVE && problem.width(def.vreg()) > problem.width(source.vreg()) => {
            InstFlags::NONE
        }
        _ => flags,
    }
}

/// An instruction may read, modify and write one slot only if the value it reads is as wide as the one it writes. That is
/// known only when all users have asked for their widths.
fn settle_read_modify_write(problem: &Problem, operands: &mut [Operand]) {
    for def in 0..operands.len() {
        let (Constraint::Reuse(k), true) = (operands[def].constraint(), operands[def].is_rmw()) else { continue };
        let (written, read) = (operands[def], operands[usize::from(k)]);
        if problem.width(written.vreg()) != problem.width(read.vreg()) {
            operands[def] = Operand::new(written.vreg(), written.kind(), written.pos(), written.constraint());
            operands[usize::from(k)] = Operand::new(read.vreg(), read.kind(), read.pos(), Constraint::Reg);
        }
    }
}

/// How many of the symbols mentioned last are compared with the next one, so that many symbols cost linear time.
const MAX_RECENT_NAMES: usize = 64;

/// Values and their definitions.
impl Lower<'_> {
    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.func.dfg.value_type(value)
    }

    /// The instruction that defines a value as its first result.
    pub fn def(&self, value: Value) -> Option<Inst> {
        match self.func.dfg.value_def(value) {
            ValueDef::Result(inst, 0) => Some(inst),
            _ => None,
        }
    }

    /// The instruction that defines a value, if it has this opcode.
    pub fn def_as(&self, value: Value, opcode: Opcode) -> Option<Inst> {
        self.def(value).filter(|&inst| self.func.dfg.opcode(inst) == opcode)
    }

    /// The bits of an integer constant, zero-extended.
    pub fn constant(&self, value: Value) -> Option<u64> {
        match self.func.dfg.view(self.def(value)?) {
            InstView::UnaryImm { imm } => Some(imm as u64),
            _ => None,
        }
    }

    /// The integer constant a value is, sign-extended from its type.
    pub fn constant_signed(&self, value: Value) -> Option<i64> {
        let unused = 64 - self.ty(value).bits().min(64);
        Some((self.constant(value)? as i64) << unused >> unused)
    }

    /// How many instructions and edges use a value.
    pub fn uses(&self, value: Value) -> u32 {
        self.cx.needed.uses(value)
    }

    /// Does anybody need the value?
    pub fn is_needed(&self, value: Value) -> bool {
        self.cx.needed.uses(value) > 0
    }

    /// Has somebody asked for the value's register already?
    pub fn is_put(&self, value: Value) -> bool {
        self.cx.value_regs[value] != [None.into(); 2]
    }

    /// The load that defines `value`, if `user` may do the load itself: nobody else uses it, it is in the same block, and
    /// nothing in between could change memory or trap before it. The caller that takes it calls [`Lower::sink`].
    pub fn sinkable_load(&self, value: Value, user: Inst) -> Option<Inst> {
        let load = self.def(value)?;
        let opcode = self.func.dfg.opcode(load);
        let plain =
            opcode.can_load() && opcode.has_memory_flags() && !opcode.other_side_effects() && !opcode.can_store();
        if !plain || self.uses(value) != 1 || self.is_put(value) {
            return None;
        }
        if self.func.layout.inst_block(load) != self.func.layout.inst_block(user) {
            return None;
        }
        let (from, to) = (self.cx.needed.epoch(load), self.cx.needed.epoch(user));
        let traps = u32::from(crate::live::may_trap(self.func, load));
        let moves = from.writes == to.writes && (traps == 0 || from.traps + traps == to.traps);
        moves.then_some(load)
    }

    /// Notes that a user lowers `inst` along with itself.
    pub fn sink(&mut self, inst: Inst) {
        self.cx.sunk[inst] = true;
    }

    /// Byte offset of a user stack slot in their area.
    pub fn slot_offset(&self, slot: kingpost_ir::StackSlot) -> u64 {
        self.cx.slot_offsets[slot]
    }

    /// Makes room for `bytes` bytes of results that a call leaves in memory, and gives its offset in the area of the user's
    /// stack slots. All calls share it: results are read right after their call.
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

    /// Where the arguments and results of a call are.
    ///
    /// # Errors
    /// What the convention cannot pass.
    pub fn call_abi(&mut self, sig: SigRef) -> Result<Arc<AbiSignature>, LowerError> {
        if let Some(abi) = &self.cx.call_abis[sig] {
            return Ok(Arc::clone(abi));
        }
        let abi = Arc::new(self.isa.abi(&self.func.dfg.signatures[sig])?);
        self.cx.call_abis[sig] = Some(Arc::clone(&abi));
        Ok(abi)
    }

    /// The hidden pointer to the caller's return area: asked for at returns, defined at the entry.
    pub fn return_area(&mut self) -> VReg {
        if let Some(vreg) = self.cx.return_area.expand() {
            return vreg;
        }
        let vreg = self.temp(RegClass::Int, 8);
        self.cx.return_area = vreg.into();
        vreg
    }

    /// The hidden pointer, if any return asked for it.
    pub fn used_return_area(&self) -> Option<VReg> {
        self.cx.return_area.expand()
    }

    /// The error for an instruction this target has no code for.
    pub fn unsupported(&self, inst: Inst) -> LowerError {
        let opcode = self.func.dfg.opcode(inst);
        let first = self.func.dfg.first_result(inst).map(|r| self.ty(r));
        let operand = self.func.dfg.inst_args(inst).first().map(|&a| self.ty(a));
        let ctrl = self.func.dfg.ctrl_type(inst);
        let ty = if ctrl.is_invalid() { first.or(operand).unwrap_or(ctrl) } else { ctrl };
        LowerError::Opcode { opcode, ty, target: self.isa.name() }
    }

    /// The error for a feature this target has no code for.
    pub fn unsupported_feature(&self, what: &'static str) -> LowerError {
        LowerError::Feature { what, target: self.isa.name() }
    }
}

/// Registers of values.
impl Lower<'_> {
    /// Asks for a value of one register. Truncations to a narrower integer cost nothing: upper bits are undefined.
    /// So do extensions with zeros of registers that have those zeros already.
    pub fn put(&mut self, value: Value) -> VReg {
        let source = self.look_through(value);
        let vreg = self.part(source, 0);
        if source != value {
            self.widen(vreg, reg_parts(self.ty(value))[0].1);
        }
        vreg
    }

    /// Asks for all registers of a value, low part first.
    pub fn put_parts(&mut self, value: Value) -> SmallVec<[VReg; 2]> {
        let parts = reg_parts(self.ty(value)).len();
        if parts == 1 {
            return SmallVec::from_slice(&[self.put(value)]);
        }
        (0..parts).map(|k| self.part(value, k)).collect()
    }

    /// The registers of a value somebody asked for, to be defined by its lowering. Makes them if nobody did.
    pub fn result(&mut self, value: Value) -> VReg {
        self.part(value, 0)
    }

    /// As [`Lower::result`], for values of two registers.
    pub fn result_parts(&mut self, value: Value) -> SmallVec<[VReg; 2]> {
        (0..reg_parts(self.ty(value)).len()).map(|k| self.part(value, k)).collect()
    }

    fn part(&mut self, value: Value, k: usize) -> VReg {
        if let Some(vreg) = self.cx.value_regs[value][k].expand() {
            return vreg;
        }
        // All parts at once, so that whoever defines the value finds them all.
        let parts = reg_parts(self.func.dfg.value_type(value));
        for (k, &(class, width)) in parts.iter().enumerate() {
            let vreg = self.code.problem.add_vreg(class, width, false);
            self.cx.value_regs[value][k] = vreg.into();
        }
        self.cx.value_regs[value][k].expand().expect("the value has that many parts")
    }

    /// The value whose register serves for `value`: what free truncations and extensions start from.
    fn look_through(&self, mut value: Value) -> Value {
        while let Some(inst) = self.def(value) {
            let free = match self.func.dfg.opcode(inst) {
                Opcode::Ireduce => true,
                Opcode::Uextend => self.ty(value).bits() <= 64 && self.is_zero_extended(inst),
                _ => false,
            };
            if !free {
                break;
            }
            value = self.func.dfg.inst_args(inst)[0];
        }
        value
    }

    /// Does the register of the operand of `uextend` have zeros above it already?
    fn is_zero_extended(&self, uextend: Inst) -> bool {
        self.isa.zero_extends(self, self.func.dfg.inst_args(uextend)[0])
    }

    /// A register for an intermediate result.
    pub fn temp(&mut self, class: RegClass, width: u8) -> VReg {
        self.code.problem.add_vreg(class, width, false)
    }

    /// Makes sure that spilling keeps at least `width` bytes of `vreg`: somebody reads that much of it.
    pub fn widen(&mut self, vreg: VReg, width: u8) {
        let data = &mut self.code.problem.vregs[vreg];
        data.width = data.width.max(width);
    }
}

/// Emitting machine instructions.
impl Lower<'_> {
    /// Emits an instruction with the operands of its row.
    pub fn emit(&mut self, row: RowId, vregs: &[VReg]) -> &mut MInst {
        self.emit_with(row, vregs, None, &[], ClobberId::NONE)
    }

    /// Emits an instruction with a memory operand.
    pub fn emit_mem(&mut self, row: RowId, vregs: &[VReg], address: Address) -> &mut MInst {
        self.emit_with(row, vregs, Some(address), &[], ClobberId::NONE)
    }

    /// Emits an instruction with everything it can have: operands of its row, a memory operand, more operands behind
    /// those, and destroyed registers.
    pub fn emit_with(
        &mut self,
        row_id: RowId,
        vregs: &[VReg],
        address: Option<Address>,
        more: &[Operand],
        clobbers: ClobberId,
    ) -> &mut MInst {
        let row = &self.rows[row_id.0 as usize];
        debug_assert_eq!(row.operands.len(), vregs.len(), "operands of {row}");
        debug_assert!(row.mem == 0 || address.is_some(), "memory operand of {row}");
        let start = self.cx.operands.len() as u32;
        for (k, &vreg) in vregs.iter().enumerate() {
            let operand = self.row_operand(row, k, vreg, address.is_some());
            self.cx.operands.push(operand);
        }
        let mut inst = MInst::new(row_id);
        if let Some(address) = address {
            self.set_address(&mut inst, address, row);
        }
        self.cx.operands.extend_from_slice(more);
        let mut flags = match row.kind {
            RowKind::Plain => InstFlags::NONE,
            RowKind::Move => InstFlags::MOVE,
            RowKind::Remat => InstFlags::REMAT,
            RowKind::Call => InstFlags::SAFEPOINT,
            RowKind::Branch | RowKind::Exit => InstFlags::BRANCH,
        };
        // An incoming stack argument can be loaded again at any time: nothing writes its place.
        if inst.mode.kind() == AddrKind::Incoming && vregs.len() == 1 && row.operands[0].kind == Kind::Def {
            flags = flags.and(InstFlags::REMAT);
        }
        let operands = (start, self.cx.operands.len() as u32);
        self.cx.group.push(Record { inst, operands, clobbers, flags, srcloc: self.srcloc });
        &mut self.cx.group.last_mut().expect("just pushed").inst
    }

    fn row_operand(&mut self, row: &Row, k: usize, vreg: VReg, has_memory: bool) -> Operand {
        let spec = row.operands[k];
        debug_assert_eq!(spec.class, self.code.problem.class(vreg), "class of operand {k} of {row}");
        let constraint = match spec.place {
            Place::Reg => Constraint::Reg,
            Place::Fixed(reg) => Constraint::Fixed(reg),
            Place::Reuse(of) => Constraint::Reuse(of),
            Place::MemOk if has_memory || row.twin.is_none() => Constraint::Reg,
            Place::MemOk => Constraint::MemOk,
            Place::Within(set) => {
                let set = set.intersection(self.isa.env().allocatable());
                Constraint::Within(self.code.problem.intern_reg_set(set))
            }
        };
        let operand = Operand::new(vreg, spec.kind, spec.pos, constraint);
        let width = self.code.problem.width(vreg);
        // In memory the row writes its own width only: a wider value's zeros above it would be missing.
        let whole = width <= spec.width.max(4);
        debug_assert!(spec.kind == Kind::Use || whole || row.zero_extends, "{row} defines all of operand {k}");
        match (constraint, row.twin) {
            (Constraint::Reuse(of), Some(twin)) if twin.operand == of && !has_memory && whole => operand.with_rmw(),
            _ => operand,
        }
    }

    fn set_address(&mut self, inst: &mut MInst, address: Address, row: &Row) {
        let mut reg = |vreg| {
            let operand = Operand::new(vreg, Kind::Use, row.addr_pos, Constraint::Reg);
            self.cx.operands.push(operand);
        };
        (inst.mode, inst.aux) = match address {
            Address::Base { base, disp } => {
                reg(base);
                (AddrMode::new(AddrKind::Base), disp as u32)
            }
            Address::Index { base, index, shift, extend, disp } => {
                reg(base);
                reg(index);
                (AddrMode::index(shift, extend), disp as u32)
            }
            Address::Symbol(index) => (AddrMode::new(AddrKind::Symbol), index),
            Address::Slot(offset) => (AddrMode::new(AddrKind::Slot), offset),
            Address::Incoming(offset) => (AddrMode::new(AddrKind::Incoming), offset),
            Address::Outgoing(offset) => (AddrMode::new(AddrKind::Outgoing), offset),
            Address::Pool(index) => (AddrMode::new(AddrKind::Pool), index),
        };
    }

    /// Interns the registers a call destroys: `lost` wholly, `partial` above `kept_bytes`.
    pub fn clobbers(&mut self, lost: PRegSet, partial: PRegSet, kept_bytes: u8) -> ClobberId {
        self.code.problem.intern_clobbers(Clobbers { lost, partial, kept_bytes })
    }

    /// Numbers a symbol.
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
        let names = &mut self.code.names;
        // Those mentioned last are the likely ones; a function that mentions very many names some of them twice.
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

    /// The block being lowered.
    pub fn block(&self) -> IrBlock {
        self.block
    }
}
