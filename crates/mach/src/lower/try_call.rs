//! Calls with handlers.
//!
//! Before: `try_call fn0(v0), sig0, block1(ret0), [ tag1: block2(exn0) ]`. After:
//!
//! ```text
//! b0: try_sym %g, use v0 fixed rdi, def v1 fixed rax, def v2 fixed rax -> b1 defines (v1), b2 defines (v2)
//! b1: jmp, v1 to the parameter of block1
//! b2: jmp, v2 to the parameter of block2
//! ```
//! The call ends its block. Each value that it defines exists on one of its edges: results on the normal edge, the
//! payloads of an exception on the edges of handlers. Each edge has a block of its own. The block of the normal edge
//! also has the code that follows a call. An exception table without handlers makes an ordinary call and a jump.
//!
//! In the conventions of C, whose unwinders restore registers, the registers that the callee preserves are preserved
//! for a handler too. In all other conventions no register is preserved for a handler.

use super::branch::jump_to;
use super::call::{
    Callee, Operands, Results, after_call, annotate_call, define_results, direct, emit_call, indirect, pass_arguments,
};
use super::machine::LowerBackend;
use super::{LowerCtx, LowerResult, Parts};
use crate::abi::AbiSignature;
use crate::block_order::destinations;
use crate::code::{CallExits, Handler};
use crate::error::LowerError;
use cranelift_entity::packed_option::PackedOption;
use kingpost_ir::exception_table::{ExceptionItem, ExceptionTableView};
use kingpost_ir::signature::CallConv;
use kingpost_ir::types::{I64, I128};
use kingpost_ir::{BlockArgKind, ExceptionTable, Inst, InstView, SigRef, Value};
use kingpost_regalloc::{Block, Clobbers, Constraint, Kind, Operand, Pos, VReg};
use smallvec::SmallVec;

/// Lowers `try_call`.
///
/// # Errors
/// If the convention cannot pass the signature, if a patchable call pops its arguments, or if an annotation refers to
/// a place without a fixed offset.
pub fn try_call<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let (callee, _, args) = direct(cx, inst)?;
    lower(cx, inst, callee, args)
}

/// Lowers `try_call_indirect`.
///
/// # Errors
/// If the convention cannot pass the signature, or if an annotation refers to a place without a fixed offset.
pub fn try_call_indirect<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let (callee, _, args) = indirect(cx, inst)?;
    lower(cx, inst, callee, args)
}

/// Lowers `get_exception_handler_address`.
///
/// # Errors
/// If the type of the result is not `i64`.
pub fn get_exception_handler_address<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let InstView::ExceptionHandlerAddress { block, index } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    if cx.result_ty(inst) != I64 {
        return Err(cx.unsupported(inst));
    }
    let value = cx.first_result(inst);
    let def = cx.result(value);
    let Some(handler) = cx.handler_block(block, index as usize) else {
        // The call is never reached.
        cx.load_constant(def, 0, 64);
        return Ok(());
    };
    let target = cx.code.tables.targets(std::iter::once(handler.as_u32()));
    cx.emit_imm(M::ROWS.block_address, &[def], target as i32);
    Ok(())
}

fn lower<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst, callee: Callee<'_>, args: &[Value]) -> LowerResult {
    let func = cx.func;
    let Some(table) = func.dfg.inst_exception_table(inst) else { return Err(cx.unsupported(inst)) };
    let table = func.dfg.exception_table(table);
    let abi = cx.call_abi(table.sig)?;
    let annotation = annotate_call(cx, inst, &abi)?;
    let mut operands = Operands::new();
    pass_arguments(cx, inst, &abi, args, &mut operands)?;
    let results = cx.results_on_edge(table);
    let mut defined = define_results(&results, &abi, &mut operands);
    if table.handlers.is_empty() {
        emit_call(cx, M::ROWS.call, callee, &operands, abi.call_clobbers(), defined).set_annotation(annotation);
        after_call(cx, inst, &abi, &results)?;
        let target = cx.targets()[0];
        jump_to(cx, target);
        return Ok(());
    }
    cx.add_exit(table.handlers.len(), operands.iter().filter(|operand| operand.is_def()).map(|def| def.vreg()));
    for handler in 0..table.handlers.len() {
        let payloads = cx.payloads(handler);
        let payloads = payloads.into_iter().zip(M::PAYLOADS).filter_map(|(vreg, reg)| Some((vreg.expand()?, reg)));
        let first = operands.len();
        for (vreg, reg) in payloads {
            operands.push(Operand::fixed_def(vreg, reg));
            defined.insert(reg);
        }
        cx.add_exit(handler, operands[first..].iter().map(|def| def.vreg()));
    }
    let exits = note_exits(cx, table, &mut operands)?;
    let clobbers = clobbers_of_call(cx, table.sig, &abi);
    let call = emit_call(cx, M::ROWS.try_call, callee, &operands, clobbers, defined);
    call.imm = exits;
    call.set_annotation(annotation);
    Ok(())
}

/// Returns `true` if the registers that the callee preserves have their values in a handler.
fn keeps_registers(cx: &LowerCtx<'_>, sig: SigRef) -> bool {
    matches!(cx.func.dfg.signatures[sig].call_conv, CallConv::SystemV | CallConv::AppleAarch64)
}

/// Returns the registers that a call with handlers destroys.
fn clobbers_of_call(cx: &LowerCtx<'_>, sig: SigRef, abi: &AbiSignature) -> Clobbers {
    if keeps_registers(cx, sig) { abi.call_clobbers() } else { Clobbers::lost(cx.isa.registers()) }
}

/// Records the exits of the current call, and adds the contexts to its operands. Returns the number of its exits.
fn note_exits<'f>(
    cx: &mut impl LowerBackend<'f>,
    table: ExceptionTableView<'_>,
    operands: &mut Operands,
) -> Result<i32, LowerError> {
    let first = cx.code.handlers.len() as u32;
    let place = if keeps_registers(cx, table.sig) { Constraint::Any } else { Constraint::Stack };
    let mut context = None;
    for item in table.items {
        let tag = match *item {
            ExceptionItem::Context(value) if cx.ty(value) == I128 => {
                return Err(cx.unsupported_feature("a context of 128 bits"));
            }
            ExceptionItem::Context(value) => {
                context = Some(operands.len() as u32);
                // The runtime reads the context while the call is active.
                let context = cx.use_reg(value);
                operands.push(Operand::new(context, Kind::Use, Pos::Late, place));
                continue;
            }
            ExceptionItem::Tag(tag) => Some(tag),
            ExceptionItem::Default => None,
        };
        let block = cx.targets()[cx.code.handlers.len() - first as usize];
        cx.code.handlers.push(Handler { tag, block, context });
    }
    let normal = cx.targets()[table.handlers.len()];
    let handlers = first..cx.code.handlers.len() as u32;
    cx.code.exits.push(CallExits { normal, handlers });
    Ok(cx.code.exits.len() as i32 - 1)
}

/// Lowers the block of the edge to destination number `edge` of `branch`: the work that a call with handlers leaves
/// to its edges, then a jump to `target`.
///
/// # Errors
/// If there is no code for the type of a result.
pub fn edge<'f>(cx: &mut impl LowerBackend<'f>, branch: Inst, edge: usize, target: Block) -> LowerResult {
    if let Some(table) = cx.func.dfg.inst_exception_table(branch) {
        results_of_edge(cx, branch, table, edge)?;
    }
    jump_to(cx, target);
    Ok(())
}

/// Lowers the work that a call with handlers leaves to the block of the edge to destination number `edge`: on the
/// normal edge, the code after the call.
///
/// # Errors
/// If there is no code for the type of a result.
fn results_of_edge<'f>(cx: &mut impl LowerBackend<'f>, call: Inst, table: ExceptionTable, edge: usize) -> LowerResult {
    let table = cx.func.dfg.exception_table(table);
    if edge < table.handlers.len() {
        return Ok(());
    }
    let abi = cx.call_abi(table.sig)?;
    let results = cx.results_on_edge(table);
    after_call(cx, call, &abi, &results)
}

impl LowerCtx<'_> {
    /// Returns the block of a handler of the call at the end of a block, if that block is reachable.
    fn handler_block(&self, block: kingpost_ir::Block, handler: usize) -> Option<Block> {
        self.cx.order.block_of(block)?;
        Some(self.cx.order.targets(block, destinations(self.func, block).len())[handler])
    }

    /// Returns the registers of the results of a call that its normal edge passes to parameters with uses, by number.
    fn results_on_edge(&mut self, table: ExceptionTableView<'_>) -> Results {
        let func = self.func;
        let params = func.dfg.block_params(table.normal.block);
        for (&param, arg) in params.iter().zip(func.dfg.block_args(table.normal)) {
            if self.is_needed(param) && arg.value().is_none() {
                self.edge_result(table, table.handlers.len(), arg.kind());
            }
        }
        let mut results = Results::from_slice(&self.cx.edge_results.results);
        results.resize(func.dfg.signatures[table.sig].returns.len(), Parts::default());
        results
    }

    /// Returns the registers of the payloads that the edge of a handler passes, by number.
    fn payloads(&self, handler: usize) -> [PackedOption<VReg>; 2] {
        self.cx.edge_results.payloads.get(handler).copied().unwrap_or_default()
    }

    /// Returns the registers of an argument of an edge out of a call. The argument must have a use.
    pub(super) fn edge_result(&mut self, table: ExceptionTableView<'_>, edge: usize, kind: BlockArgKind) -> Parts {
        match kind {
            BlockArgKind::Value(_) => Parts::default(),
            BlockArgKind::TryCallRet(number) => {
                let number = number as usize;
                let results = &mut self.cx.edge_results.results;
                results.resize(results.len().max(number + 1), Parts::default());
                if results[number] == Parts::default() {
                    let parts = self.new_parts(self.func.dfg.signatures[table.sig].returns[number].value_type);
                    self.cx.edge_results.results[number] = parts;
                }
                self.cx.edge_results.results[number]
            }
            BlockArgKind::TryCallExn(number) => {
                let number = number as usize;
                self.cx.edge_results.payloads.resize(table.handlers.len(), Default::default());
                if self.cx.edge_results.payloads[edge][number].is_none() {
                    self.cx.edge_results.payloads[edge][number] = self.new_parts(I64)[0];
                }
                [self.cx.edge_results.payloads[edge][number], None.into()]
            }
        }
    }

    /// Adds the edge from the current call to its destination number `edge`, with the values that the call defines on
    /// it, unless the edge is merged with an earlier one.
    fn add_exit(&mut self, edge: usize, defs: impl Iterator<Item = VReg>) {
        let (block, dests) = (self.block, destinations(self.func, self.block).len());
        if self.cx.order.same_as(block, dests)[edge] != edge as u32 {
            return;
        }
        let from = self.cx.order.block_of(block).expect("a block being lowered is placed");
        let to = self.cx.order.targets(block, dests)[edge];
        let defs: SmallVec<[VReg; 4]> = defs.collect();
        self.code.problem.add_edge(from, to, self.cx.order.freq(to), &[], &defs);
    }
}
