//! Lowering that passes instructions to a receiver as they are selected, in reverse order, so that they need not be
//! kept.
//!
//! Calls per block, in the order of the walk: [`InstReceiver::end`] with the edges out of it,
//! [`InstReceiver::receive`] for each instruction of the function that has machine instructions,
//! [`InstReceiver::head`]. After all blocks: [`InstReceiver::finish`]. Blocks come in reverse order. The block of an
//! edge has the arguments on that edge. At the definition of a value all its uses are known, except for arguments of
//! edges back to the head of a loop.
//!
//! The [`Code`] of a receiver has no instructions; symbols, tables and registers are in it as usual.

use super::{Edges, InstReceiver, LowerCtx, LowerIsa, LowerState, Receiver, SelectedInst};
use crate::abi::{AbiArg, AbiPlace};
use crate::block_order::{BlockOrder, MachineBlock};
use crate::code::Code;
use crate::error::Refusal;
use crate::inst::MInst;
use crate::row::Row;
use crate::settings::Settings;
use cranelift_entity::packed_option::PackedOption;
use kingpost_ir::analyses::Analyses;
use kingpost_ir::loops::{Loop, LoopForest};
use kingpost_ir::{Block as IrBlock, BlockArgKind, BlockCall, Function, Inst, Opcode, Value, ValueDef};
use kingpost_regalloc::{Block, InstFlags, MachineEnv, Operand, PReg, VReg};

/// Number of entries that are added to the origins at once.
const ROOM: usize = 32;

impl LowerState {
    /// Lowers `func` as [`LowerState::run`] does, but delivers instructions to `receiver`. The values that a call with
    /// handlers defines on its edges are recorded in the problem, as edges without arguments.
    ///
    /// # Errors
    /// The errors of [`LowerState::run`].
    pub fn run_into<'a>(
        &'a mut self,
        func: &'a Function,
        analyses: &'a mut Analyses,
        isa: &'a dyn LowerIsa,
        settings: &'a Settings,
        code: &'a mut Code,
        receiver: &'a mut dyn InstReceiver,
    ) -> Result<(), Refusal> {
        let mut lower = self.start(func, analyses, isa, settings, code)?;
        lower.is_streaming = true;
        let mut receiver: Receiver<'_> = Some(receiver);
        lower.lower_blocks(&mut receiver)?;
        lower.lay_out();
        if let Some(receiver) = receiver {
            receiver.finish(&mut lower);
        }
        lower.label_values();
        Ok(())
    }
}

/// Delivery to a receiver.
impl LowerCtx<'_> {
    /// Passes the finished sequence to the receiver.
    pub(super) fn deliver(&mut self, receiver: &mut dyn InstReceiver) {
        if self.cx.records.is_empty() {
            return;
        }
        self.cx.stream.count += self.cx.records.len();
        receiver.receive(self);
        self.cx.records.clear();
        self.cx.operands.clear();
    }

    /// Passes the end of a block of the function to the receiver.
    pub(super) fn deliver_edges(
        &mut self,
        block: IrBlock,
        terminator: Inst,
        machine: Block,
        receiver: &mut dyn InstReceiver,
    ) {
        let func = self.func;
        let dests = func.dfg.branch_destinations(terminator);
        let mut edges = self.cx.stream.edges.take().unwrap_or_default();
        edges.succs.clear();
        edges.succs.extend(self.cx.order.own_targets(block, dests.len()));
        edges.pairs.clear();
        // Only an edge that is the only one passes arguments without a block of its own.
        if let [to] = edges.succs[..]
            && self.cx.order.block_of(dests[0].block) == Some(to)
        {
            self.pair_arguments(machine, (to, 0), &dests[0], &mut edges.pairs);
        }
        self.deliver_end(machine, edges, receiver);
    }

    /// Passes the end of the block of an edge, which leads to the block `to`, to the receiver.
    pub(super) fn deliver_edge(
        &mut self,
        edge: usize,
        dest: &BlockCall,
        (machine, to): (Block, Block),
        receiver: &mut dyn InstReceiver,
    ) {
        let mut edges = self.cx.stream.edges.take().unwrap_or_default();
        edges.succs.clear();
        edges.succs.push(to);
        edges.pairs.clear();
        self.pair_arguments(machine, (to, edge), dest, &mut edges.pairs);
        self.deliver_end(machine, edges, receiver);
    }

    fn deliver_end(&mut self, machine: Block, mut edges: Box<Edges>, receiver: &mut dyn InstReceiver) {
        receiver.end(self, machine, &mut edges);
        self.cx.stream.edges = Some(edges);
    }

    /// Appends the needed parameters of `to` with the arguments that the edge passes to them. The edge belongs to the
    /// current branch. Parameters that the code of `to` does not use are left out, because that code is known
    /// already. At the head of a loop all parameters count as used.
    fn pair_arguments(
        &mut self,
        from: Block,
        (to, edge): (Block, usize),
        dest: &BlockCall,
        pairs: &mut Vec<(VReg, VReg)>,
    ) {
        let func = self.func;
        for (&param, arg) in func.dfg.block_params(dest.block).iter().zip(func.dfg.block_args(*dest)) {
            if !self.is_needed(param) {
                continue;
            }
            if to <= from {
                self.use_reg_half(param, 0);
            }
            let params = self.parts(param);
            if params[0].is_some() {
                let params = params.into_iter().filter_map(|part| part.expand());
                match arg.kind() {
                    BlockArgKind::Value(arg) => pairs.extend(self.use_regs(arg).iter().copied().zip(params)),
                    kind => pairs.extend(self.call_results(edge, kind).zip(params)),
                }
            }
        }
    }

    /// Returns `true` if this is the block of an edge of a call with handlers.
    pub fn is_call_edge(&self, block: MachineBlock) -> bool {
        let MachineBlock::Edge { from, .. } = block else { return false };
        let (dfg, branch) = (&self.func.dfg, self.func.layout.last_inst(from));
        dfg.has_exception_tables() && branch.is_some_and(|branch| dfg.inst_exception_table(branch).is_some())
    }

    /// Returns the registers that the current call with an exception table defines on an edge.
    fn call_results(&mut self, edge: usize, kind: BlockArgKind) -> impl Iterator<Item = VReg> + use<> {
        let func = self.func;
        let table = func.dfg.inst_exception_table(self.inst);
        let parts = table.map(|table| self.edge_result(func.dfg.exception_table(table), edge, kind));
        parts.into_iter().flatten().filter_map(|part| part.expand())
    }

    /// Records the value that a register belongs to, which has just been made.
    pub(super) fn note_origin(&mut self, vreg: VReg, value: PackedOption<Value>) {
        let (origins, index) = (&mut self.cx.stream.origins, vreg.as_u32() as usize);
        match origins.get_mut(index) {
            Some(origin) => *origin = value,
            None => make_room(origins, index, value),
        }
    }
}

/// Makes room for the origins of registers up to number `index` and some more, and sets the origin of this one.
#[cold]
fn make_room(origins: &mut Vec<PackedOption<Value>>, index: usize, value: PackedOption<Value>) {
    origins.resize(index + index / 2 + ROOM, None.into());
    origins[index] = value;
}

/// Queries of a receiver.
impl LowerCtx<'_> {
    /// Returns the machine instructions, in order, of one instruction of the function. Their operands are ranges of
    /// [`LowerCtx::operands`].
    pub fn sequence(&self) -> &[SelectedInst] {
        &self.cx.records
    }

    /// Returns the operands of the sequence.
    pub fn operands(&self) -> &[Operand] {
        &self.cx.operands
    }

    /// Returns the source location of the sequence.
    pub fn srcloc(&self) -> u32 {
        self.srcloc
    }

    /// Returns the value that a register is a part of, or `None` for intermediate results.
    #[inline]
    pub fn origin(&self, vreg: VReg) -> Option<Value> {
        self.cx.stream.origins.get(vreg.as_u32() as usize)?.expand()
    }

    /// Returns the instruction table.
    pub fn rows(&self) -> &'static [Row] {
        self.rows
    }

    /// Returns the machine's registers.
    pub fn env(&self) -> &MachineEnv {
        self.isa.env()
    }

    /// Returns the machine blocks, with their order and frequencies.
    pub fn order(&self) -> &BlockOrder {
        &self.cx.order
    }

    /// Returns the code that is being built, and its blocks with their order and frequencies.
    pub fn code_and_order(&mut self) -> (&mut Code, &BlockOrder) {
        (self.code, &self.cx.order)
    }

    /// Returns the loops of the function's blocks.
    pub fn loops(&self) -> &LoopForest {
        &self.analyses.loops
    }

    /// Returns the innermost loop around a block. For the block of an edge, returns the innermost loop that contains
    /// both ends of the edge.
    pub fn innermost_loop(&self, block: Block) -> Option<Loop> {
        let loops = &self.analyses.loops;
        match self.cx.order.blocks()[block.as_u32() as usize] {
            MachineBlock::Ir(block) => loops.innermost_loop(block),
            MachineBlock::Edge { from, edge } => {
                let to = self.analyses.cfg.succs(from)[edge as usize];
                std::iter::successors(loops.innermost_loop(from), |&each| loops.parent(each))
                    .find(|&each| loops.contains(each, to))
            }
        }
    }

    /// Returns the block that defines a value, and whether there is a call between the definition and the current
    /// instruction, in the order of blocks.
    #[inline]
    pub fn definition(&self, value: Value) -> (Option<Block>, bool) {
        let here = self.cx.needed.epoch(self.inst).calls;
        let (block, lives_over_call) = match self.func.dfg.value_def(value) {
            ValueDef::Result(inst, _) => {
                let calls = self.cx.needed.epoch(inst).calls;
                // The count includes a call that defines the value.
                let lives_over_call = calls > here && calls - u32::from(self.func.dfg.opcode(inst).is_call()) > here;
                (self.func.layout.inst_block(inst), lives_over_call)
            }
            ValueDef::Param(block, _) => (Some(block), self.cx.needed.calls_from(block) > here),
            ValueDef::Undefined => return (None, false),
        };
        (block.and_then(|block| self.cx.order.block_of(block)), lives_over_call)
    }

    /// Returns `true` if an instruction or the caller has put a value into a register, and there is no call between
    /// that and the current instruction, in the order of blocks.
    pub fn is_in_register_without_calls(&self, value: Value) -> bool {
        let is_put = matches!(self.func.dfg.value_def(value), ValueDef::Result(..));
        (is_put || self.incoming_register(value).is_some()) && !self.definition(value).1
    }

    /// Returns the register in which the caller passes a value, if it is a parameter of the function in a register.
    pub fn incoming_register(&self, value: Value) -> Option<PReg> {
        let ValueDef::Param(block, index) = self.func.dfg.value_def(value) else { return None };
        match self.abi.args.get(index as usize).filter(|_| Some(block) == self.func.layout.entry_block())? {
            AbiArg::Value(parts) => match parts.first()?.place {
                AbiPlace::Reg(reg) => Some(reg),
                AbiPlace::Stack(_) => None,
            },
            _ => None,
        }
    }

    /// Appends the registers of a block's parameters: of parameters that have registers, or of all needed parameters
    /// if `all`.
    #[inline]
    pub fn parameters(&mut self, block: Block, all: bool, out: &mut Vec<VReg>) {
        let MachineBlock::Ir(block) = self.cx.order.blocks()[block.as_u32() as usize] else { return };
        if !self.func.dfg.block_params(block).is_empty() && Some(block) != self.func.layout.entry_block() {
            self.parameters_of(block, all, out);
        }
    }

    fn parameters_of(&mut self, block: IrBlock, all: bool, out: &mut Vec<VReg>) {
        let func = self.func;
        for &param in func.dfg.block_params(block) {
            if self.is_needed(param) {
                if all {
                    self.use_reg_half(param, 0);
                }
                out.extend(self.parts(param).into_iter().filter_map(|part| part.expand()));
            }
        }
    }

    /// Returns `true` if there are calls between the head of a block and the current instruction, in the order of
    /// blocks.
    pub fn has_calls_since(&self, block: Block) -> bool {
        let MachineBlock::Ir(block) = self.cx.order.blocks()[block.as_u32() as usize] else { return false };
        self.cx.needed.calls_from(block) > self.cx.needed.epoch(self.inst).calls
    }

    /// Returns the instruction that computes a constant or an address at any point. Its only register is its def.
    /// Returns `None` for other values.
    pub fn rematerialised(&mut self, value: Value) -> Option<MInst> {
        let inst = self.def(value)?;
        let is_constant = matches!(
            self.func.dfg.opcode(inst),
            Opcode::Iconst
                | Opcode::F16const
                | Opcode::F32const
                | Opcode::F64const
                | Opcode::Vconst
                | Opcode::FuncAddr
                | Opcode::SymbolValue
                | Opcode::StackAddr
        );
        if !is_constant {
            return None;
        }
        // The definition is lowered at the end of the current sequence, and then removed.
        let (isa, records, operands) = (self.isa, self.cx.records.len(), self.cx.operands.len());
        let is_lowered = isa.lower(self, inst).is_ok();
        let minst = match self.cx.records[records..] {
            [SelectedInst { inst, flags, .. }] if is_lowered && flags == InstFlags::REMAT => Some(inst),
            _ => None,
        };
        self.cx.records.truncate(records);
        self.cx.operands.truncate(operands);
        minst
    }
}
