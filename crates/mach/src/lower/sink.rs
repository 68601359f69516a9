//! Lowering into a sink: what takes over instructions as they are selected, last ones first, instead of keeping them.
//!
//! Per block, in the order of the walk: [`Sink::end`] with the edges out of it, [`Sink::piece`] for each instruction of the
//! function that has machine instructions, [`Sink::head`]. Blocks come in the reverse of their order; the block of an edge tells of
//! the arguments on that edge itself. What one value is used for below is all known where it is defined, but for arguments of
//! edges back to the head of a loop.
//!
//! A sink keeps no [`Code`](crate::Code) of instructions; symbols, tables and registers are in it all the same.

use super::{Lower, Lowering, Record};
use crate::abi::{AbiArg, AbiPlace, first_part};
use crate::block_order::{BlockOrder, MachineBlock, destinations};
use crate::code::Code;
use crate::error::Refusal;
use crate::inst::MInst;
use crate::isa::Isa;
use crate::loop_uses::LoopUses;
use crate::row::Row;
use crate::settings::Settings;
use kingpost_ir::analyses::Analyses;
use kingpost_ir::loops::LoopForest;
use kingpost_ir::{Block as IrBlock, BlockArgKind, BlockCall, Function, Opcode, Value, ValueDef};
use kingpost_regalloc::{Block, InstFlags, MachineEnv, Operand, PReg, VReg};

/// What takes over machine code as it is selected.
pub trait Sink {
    /// The walk has come to the end of `block`. `pairs` are the arguments passed to its only successor with their parameters.
    fn end(&mut self, lower: &mut Lower<'_>, block: Block, succs: &[Block], pairs: &[(VReg, VReg)]);

    /// The instructions, in order, that one instruction of the function became. Operands of all of them are in `operands`.
    fn piece(&mut self, lower: &mut Lower<'_>, records: &[Record], operands: &mut [Operand]);

    /// The walk has come to the head of `block`.
    fn head(&mut self, lower: &mut Lower<'_>, block: Block);
}

/// Memory of lowering into a sink.
#[derive(Default, Debug)]
pub(super) struct Handed {
    /// Those of the piece at hand, while the sink reads it.
    records: Vec<Record>,
    operands: Vec<Operand>,
    succs: Vec<Block>,
    pairs: Vec<(VReg, VReg)>,
    /// By register: the value that it is a part of.
    origins: Vec<Option<Value>>,
    loop_uses: LoopUses,
    /// Instructions handed over so far.
    pub(super) count: usize,
}

impl Handed {
    pub(super) fn clear(&mut self) {
        self.origins.clear();
        self.count = 0;
    }
}

impl Lowering {
    /// Machine blocks, their order and frequencies, of the code made last.
    pub fn order(&self) -> &BlockOrder {
        &self.order
    }

    /// Lowers `func` as [`Lowering::run`] does, but hands instructions to `sink`. Functions with exception tables are beyond it.
    ///
    /// # Errors
    /// As [`Lowering::run`].
    pub fn run_into<'a>(
        &'a mut self,
        func: &'a Function,
        analyses: &'a mut Analyses,
        isa: &'a dyn Isa,
        settings: &'a Settings,
        code: &'a mut Code,
        sink: &'a mut dyn Sink,
    ) -> Result<(), Refusal> {
        let mut lower = self.start(func, analyses, isa, settings, code)?;
        let Lowering { handed, order, needed, .. } = &mut *lower.cx;
        handed.loop_uses.compute(func, order, &lower.analyses.loops, needed);
        lower.sink = Some(sink);
        lower.lower_blocks()?;
        lower.lay_out();
        Ok(())
    }
}

/// What the walk hands over.
impl Lower<'_> {
    /// Hands the finished piece over.
    pub(super) fn hand_over(&mut self) {
        let Some(sink) = self.sink.take() else { return };
        // What is lowered for the sink meanwhile goes into other memory.
        std::mem::swap(&mut self.cx.records, &mut self.cx.handed.records);
        std::mem::swap(&mut self.cx.operands, &mut self.cx.handed.operands);
        let mut records = std::mem::take(&mut self.cx.handed.records);
        let mut operands = std::mem::take(&mut self.cx.handed.operands);
        self.cx.handed.count += records.len();
        sink.piece(self, &records, &mut operands);
        records.clear();
        operands.clear();
        (self.cx.handed.records, self.cx.handed.operands) = (records, operands);
        self.sink = Some(sink);
    }

    /// Tells the sink of the end of a block: of the function, with all its destinations, or of an edge, with one.
    pub(super) fn hand_edges(&mut self, machine: Block) {
        let func = self.func;
        let mut succs = std::mem::take(&mut self.cx.handed.succs);
        let mut pairs = std::mem::take(&mut self.cx.handed.pairs);
        succs.clear();
        pairs.clear();
        match self.cx.order.blocks()[machine.as_u32() as usize] {
            MachineBlock::Ir(block) => {
                let dests = destinations(func, block);
                for (k, dest) in dests.iter().enumerate() {
                    if self.cx.order.same_as(block, dests.len())[k] != k as u32 {
                        continue;
                    }
                    let to = self.cx.order.targets(block, dests.len())[k];
                    succs.push(to);
                    if self.cx.order.block_of(dest.block) == Some(to) {
                        self.pair_arguments(machine, to, dest, &mut pairs);
                    }
                }
            }
            MachineBlock::Edge { from, edge } => {
                let dest = &destinations(func, from)[edge as usize];
                let to = self.cx.order.block_of(dest.block).expect("a reachable block is placed");
                succs.push(to);
                self.pair_arguments(machine, to, dest, &mut pairs);
            }
        }
        if let Some(sink) = self.sink.take() {
            sink.end(self, machine, &succs, &pairs);
            self.sink = Some(sink);
        }
        (self.cx.handed.succs, self.cx.handed.pairs) = (succs, pairs);
    }

    /// Needed parameters of `to` with what the edge passes to them. Those that the code of `to`, known already, does not use are
    /// left out; at the head of a loop all are taken to be used.
    fn pair_arguments(&mut self, from: Block, to: Block, dest: &BlockCall, pairs: &mut Vec<(VReg, VReg)>) {
        let func = self.func;
        for (&param, arg) in func.dfg.block_params(dest.block).iter().zip(func.dfg.block_args(*dest)) {
            let BlockArgKind::Value(arg) = arg.kind() else { continue };
            if !self.is_needed(param) {
                continue;
            }
            if to <= from {
                self.use_reg_half(param, 0);
            }
            let params = self.parts(param);
            if params[0].is_some() {
                let args = self.use_regs(arg);
                pairs.extend(args.iter().copied().zip(params.into_iter().filter_map(|part| part.expand())));
            }
        }
    }

    /// Tells the sink of the head of a block.
    pub(super) fn hand_head(&mut self, block: Block) {
        if let Some(sink) = self.sink.take() {
            sink.head(self, block);
            self.sink = Some(sink);
        }
    }

    /// Notes which value the registers from `first` on are parts of.
    pub(super) fn note_origin(&mut self, first: usize, value: Value) {
        if self.sink.is_some() {
            self.cx.handed.origins.resize(first, None);
            self.cx.handed.origins.resize(self.code.problem.vregs.len(), Some(value));
        }
    }
}

/// What a sink may ask.
impl Lower<'_> {
    /// The value that a register is a part of; none of those for intermediate results.
    #[inline]
    pub fn origin(&self, vreg: VReg) -> Option<Value> {
        self.cx.handed.origins.get(vreg.as_u32() as usize).copied().flatten()
    }

    /// The instruction table.
    #[inline]
    pub fn rows(&self) -> &'static [Row] {
        self.rows
    }

    /// The machine's registers.
    pub fn env(&self) -> &MachineEnv {
        self.isa.env()
    }

    /// Machine blocks, their order and frequencies.
    pub fn order(&self) -> &BlockOrder {
        &self.cx.order
    }

    /// The block of the function to which destination number `edge` of the branch at the end of `from` leads.
    pub fn destination(&self, from: IrBlock, edge: u32) -> IrBlock {
        destinations(self.func, from)[edge as usize].block
    }

    /// Loops of the function's blocks.
    pub fn loops(&self) -> &LoopForest {
        &self.analyses.loops
    }

    /// The block that defines a value, and whether a call lies between there and the instruction being lowered, in the order of
    /// blocks.
    pub fn definition(&self, value: Value) -> (Option<Block>, bool) {
        let here = self.cx.needed.epoch(self.inst).calls;
        let (block, calls) = match self.func.dfg.value_def(value) {
            ValueDef::Result(inst, _) => {
                let calls = self.cx.needed.epoch(inst).calls - u32::from(self.func.dfg.opcode(inst).is_call());
                (self.func.layout.inst_block(inst), calls)
            }
            ValueDef::Param(block, _) => (Some(block), self.cx.needed.calls_from(block)),
            ValueDef::Undefined => return (None, false),
        };
        (block.and_then(|block| self.cx.order.block_of(block)), calls > here)
    }

    /// The register in which the caller passes a value, if it is a parameter of the function that comes in one.
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

    /// The registers of the parameters of a block that have some, or, if `all`, of all that are needed.
    pub fn parameters(&mut self, block: Block, all: bool, out: &mut Vec<VReg>) {
        let MachineBlock::Ir(block) = self.cx.order.blocks()[block.as_u32() as usize] else { return };
        if Some(block) == self.func.layout.entry_block() {
            return;
        }
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

    /// What the loop of a header uses of values defined before the header or as its parameters: their registers, with the
    /// frequencies of uses added up. Values of two registers are left out.
    pub fn loop_uses(&mut self, header: Block, out: &mut Vec<(u64, VReg)>) {
        let MachineBlock::Ir(block) = self.cx.order.blocks()[header.as_u32() as usize] else { return };
        let Some(id) = self.analyses.loops.innermost_loop(block) else { return };
        let uses = std::mem::take(&mut self.cx.handed.loop_uses);
        for (value, weight) in uses.of(id) {
            if !first_part(self.ty(value)).2 {
                out.push((weight, self.use_reg_half(value, 0)));
            }
        }
        self.cx.handed.loop_uses = uses;
    }

    /// Do calls lie between the head of a block and the instruction being lowered, in the order of blocks?
    pub fn has_calls_since(&self, block: Block) -> bool {
        let MachineBlock::Ir(block) = self.cx.order.blocks()[block.as_u32() as usize] else { return false };
        self.cx.needed.calls_from(block) > self.cx.needed.epoch(self.inst).calls
    }

    /// The instruction that computes a value anywhere, if there is one: of constants and addresses. Its only register is its def.
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
        let isa = self.isa;
        let is_lowered = isa.lower(self, inst).is_ok();
        let minst = match *self.cx.records {
            [Record { inst, flags, .. }] if is_lowered && flags == InstFlags::REMAT => Some(inst),
            _ => None,
        };
        self.cx.records.clear();
        self.cx.operands.clear();
        minst
    }
}
