//! Decodes the packed form of an instruction into its view.

use crate::atomic_rmw_op::AtomicRmwOp;
use crate::condcodes::{FloatCC, IntCC};
use crate::dfg::DataFlowGraph;
use crate::entities::{
    Block, Constant, DynamicStackSlot, ExceptionTable, FuncRef, GlobalValue, Inst, JumpTable, ShuffleMask, SigRef,
    StackSlot,
};
use crate::immediates::{Ieee16, Ieee32, Ieee64};
use crate::inst_view::InstView;
use crate::memflags::MemFlags;
use crate::opcodes::Format;
use crate::trapcode::TrapCode;

impl DataFlowGraph {
    /// Returns the instruction by format, with its operands named.
    pub fn view(&self, inst: Inst) -> InstView<'_> {
        let data = self.inst(inst);
        let [a, b, c] = data.words;
        let flags = || MemFlags::from_bits(c.0);
        // The constructors only accept codes that exist.
        let code = || TrapCode::from_byte(data.small).unwrap_or(TrapCode::HEAP_OUT_OF_BOUNDS);
        match data.opcode.format() {
            Format::Nullary => InstView::Nullary,
            Format::Unary => InstView::Unary { arg: a },
            Format::Binary => InstView::Binary { args: [a, b] },
            Format::Ternary => InstView::Ternary { args: [a, b, c] },
            Format::MultiAry => InstView::MultiAry { args: self.args_of(data) },
            Format::UnaryImm => InstView::UnaryImm { imm: data.imm64(0) },
            Format::UnaryIeee16 => InstView::UnaryIeee16 { imm: Ieee16::from_bits(a.0 as u16) },
            Format::UnaryIeee32 => InstView::UnaryIeee32 { imm: Ieee32::from_bits(a.0) },
            Format::UnaryIeee64 => InstView::UnaryIeee64 { imm: Ieee64::from_bits(data.imm64(0) as u64) },
            Format::UnaryConst => InstView::UnaryConst { constant: Constant(a.0) },
            Format::BinaryImm8 => InstView::BinaryImm8 { arg: a, imm: data.small },
            Format::TernaryImm8 => InstView::TernaryImm8 { args: [a, b], imm: data.small },
            Format::Shuffle => InstView::Shuffle { args: [a, b], mask: self.shuffle_mask(ShuffleMask(c.0)) },
            Format::IntCompare => InstView::IntCompare { cond: IntCC::ALL[usize::from(data.small)], args: [a, b] },
            Format::FloatCompare => {
                InstView::FloatCompare { cond: FloatCC::ALL[usize::from(data.small)], args: [a, b] }
            }
            Format::Trap => InstView::Trap { code: code() },
            Format::CondTrap => InstView::CondTrap { arg: a, code: code() },
            Format::IntAddTrap => InstView::IntAddTrap { args: [a, b], code: code() },
            Format::Load => InstView::Load { flags: flags(), addr: a, offset: b.0 as i32 },
            Format::Store => InstView::Store { flags: data.wide_flags(), value: a, addr: b, offset: c.0 as i32 },
            Format::LoadNoOffset => InstView::LoadNoOffset { flags: flags(), arg: a },
            Format::StoreNoOffset => InstView::StoreNoOffset { flags: data.wide_flags(), value: a, addr: b },
            Format::AtomicRmw => {
                InstView::AtomicRmw { flags: flags(), op: AtomicRmwOp::ALL[usize::from(data.small)], addr: a, value: b }
            }
            Format::AtomicCas => InstView::AtomicCas { flags: data.wide_flags(), addr: a, expected: b, new: c },
            Format::StackAddr => InstView::StackAddr { slot: StackSlot(a.0), offset: b.0 as i32 },
            Format::DynamicStackAddr => InstView::DynamicStackAddr { slot: DynamicStackSlot(a.0) },
            Format::UnaryGlobalValue => InstView::UnaryGlobalValue { global: GlobalValue(a.0) },
            Format::FuncAddr => InstView::FuncAddr { func: FuncRef(a.0) },
            Format::ExceptionHandlerAddress => {
                InstView::ExceptionHandlerAddress { block: Block(a.0), index: data.imm64(1) }
            }
            Format::Jump => InstView::Jump { dest: self.branch_destinations(inst)[0] },
            Format::Brif => {
                let dests = self.branch_destinations(inst);
                InstView::Brif { cond: a, then_dest: dests[0], else_dest: dests[1] }
            }
            Format::BranchTable => InstView::BranchTable { index: a, table: JumpTable(b.0) },
            Format::Call => InstView::Call { func: FuncRef(a.0), args: self.args_of(data) },
            Format::CallIndirect => {
                let args = self.args_of(data);
                InstView::CallIndirect { sig: SigRef(a.0), callee: args[0], args: &args[1..] }
            }
            Format::TryCall => {
                InstView::TryCall { func: FuncRef(a.0), args: self.args_of(data), table: self.try_call_table(data) }
            }
            Format::TryCallIndirect => {
                let args = self.args_of(data);
                let table = ExceptionTable(a.0);
                InstView::TryCallIndirect { callee: args[0], args: &args[1..], table }
            }
        }
    }
}
