//! Calls with handlers, and the throwing function.

use super::plan::{Plan, TAGS};
use super::scope::Scope;
use cranelift_entity::EntitySet;
use kingpost_ir::builder::{ControlBuilder, InstBuilder};
use kingpost_ir::cursor::Cursor;
use kingpost_ir::exception_table::ExceptionItem;
use kingpost_ir::extfunc::{ExtFuncData, ExternalName};
use kingpost_ir::signature::{AbiParam, CallConv, Signature};
use kingpost_ir::types::{I32, I64};
use kingpost_ir::{Block, BlockArg, BlockArgKind, BlockCall, FuncRef, Function, Inst, TrapCode, Type, Value};

/// Returns the throwing function: it calls the host, which resumes at a handler, searching from this function's
/// frame.
pub(super) fn thrower(plan: &Plan) -> (Function, EntitySet<Inst>) {
    let mut func = Function::new(plan.name.clone(), plan.signature.clone());
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params.extend([I64, I64, I64, I32, I64, I64].map(AbiParam::new));
    let signature = func.dfg.signatures.push(signature);
    let name = ExternalName::Named("__cranelift_throw".into());
    let host = func.dfg.ext_funcs.push(ExtFuncData { name, signature, colocated: false, patchable: false });
    let mut cursor = Cursor::new(&mut func);
    let block = cursor.new_block();
    let [tag, first, second] = [I32, I64, I64].map(|ty| cursor.func.dfg.append_block_param(block, ty));
    // The search has no end, because all exceptions are caught. It starts at the caller, because no address is 0.
    let zero = cursor.ins().iconst(I64, 0);
    let frame = cursor.ins().get_frame_pointer(I64);
    let address = cursor.ins().func_addr(I64, host);
    cursor.ins().call_indirect(signature, address, &[zero, frame, zero, tag, first, second]);
    cursor.ins().trap(TrapCode::user(1).expect("a client's code"));
    let mut pinned = EntitySet::new();
    func.layout.block_insts(block).for_each(|inst| {
        pinned.insert(inst);
    });
    (func, pinned)
}

impl Scope<'_> {
    /// Adds a throw under a condition.
    pub(super) fn throw(&mut self) {
        let thrower = self.plans.len() - 1;
        let condition = self.condition();
        let (throws, on) = (self.func.dfg.make_block(), self.func.dfg.make_block());
        self.ins().brif(condition, throws, &[], on, &[]);
        self.func.layout.append_block(throws);
        self.block = throws;
        let known = self.pool.len();
        let tag = self.masked(I32, i64::from(TAGS) - 1);
        let payloads = [self.pick(I64), self.pick(I64)];
        let func = self.declare(thrower);
        self.ins().call(func, &[tag, payloads[0], payloads[1]]);
        let code = self.trap_code();
        self.ins().trap(code);
        self.pool.truncate(known);
        self.enter(on, &[]);
    }

    /// Adds a call with handlers. It ends its block. All edges lead to the next block, directly or through a block
    /// of their own.
    pub(super) fn try_call(&mut self, callee: usize, func: FuncRef, args: &[Value], must_catch: bool, depth: usize) {
        let signature = &self.plans[callee].signature;
        let results: Vec<Type> = signature.returns.iter().map(|param| param.value_type).collect();
        let payloads = vec![I64; signature.call_conv.exception_payloads().unwrap_or(0) as usize];
        let join_types = self.types();
        let join = self.func.dfg.make_block();
        let join_params = self.append_params(join, &join_types);
        let mut arms = Vec::new();
        let normal = self.exit(&results, BlockArgKind::TryCallRet, join, &join_types, &mut arms);
        let (items, handlers) = self.handlers(must_catch, |scope, known: &[BlockCall]| {
            // Some handlers share an edge.
            let shared = scope.rng.pick(known).filter(|_| scope.rng.chance(30));
            shared.unwrap_or_else(|| scope.exit(&payloads, BlockArgKind::TryCallExn, join, &join_types, &mut arms))
        });
        let signature = self.func.dfg.ext_funcs[func].signature;
        let table = self.func.dfg.make_exception_table(signature, normal, &items, &handlers);
        let call = if self.rng.chance(80) {
            self.ins().try_call(func, args, table)
        } else {
            let address = self.ins().func_addr(I64, func);
            self.pin(address);
            self.ins().try_call_indirect(address, args, table)
        };
        if self.rng.chance(40) {
            self.annotate(call);
        }
        self.arms(&arms, depth, join, &join_types);
        self.enter(join, &join_params);
    }

    /// Returns the items of an exception table, and the edges of its handlers.
    fn handlers(
        &mut self,
        must_catch: bool,
        mut edge: impl FnMut(&mut Self, &[BlockCall]) -> BlockCall,
    ) -> (Vec<ExceptionItem>, Vec<BlockCall>) {
        let (mut items, mut handlers) = (Vec::new(), Vec::new());
        let has_default = must_catch || self.rng.chance(40);
        let (count, default) = (self.rng.range(0..4), self.rng.range(0..4));
        for n in 0..4 {
            if self.rng.chance(15) {
                let ty = self.any_type();
                let context = self.pick(if ty.bits() > 64 { I64 } else { ty });
                items.push(ExceptionItem::Context(context));
            }
            if n < count {
                items.push(ExceptionItem::Tag(self.rng.range(0..TAGS as usize) as u32));
                handlers.push(edge(self, &handlers));
            }
            if n == default && has_default {
                items.push(ExceptionItem::Default);
                handlers.push(edge(self, &handlers));
            }
        }
        (items, handlers)
    }

    /// Returns an edge out of a call that defines values of `types` there: to `join`, or to a block of its own,
    /// which is added to `arms`.
    fn exit(
        &mut self,
        types: &[Type],
        kind: fn(u32) -> BlockArgKind,
        join: Block,
        join_types: &[Type],
        arms: &mut Vec<Block>,
    ) -> BlockCall {
        if self.rng.chance(30) {
            let mut args = Vec::new();
            for ty in join_types {
                let defined = types.iter().position(|defined| defined == ty).filter(|_| self.rng.chance(70));
                args.push(BlockArg::new(match defined {
                    Some(number) => kind(number as u32),
                    None => BlockArgKind::Value(self.pick(*ty)),
                }));
            }
            return self.func.dfg.block_call(join, &args);
        }
        let own = if self.rng.chance(70) { Vec::new() } else { self.types() };
        let arm = self.func.dfg.make_block();
        self.append_params(arm, types);
        self.append_params(arm, &own);
        let mut args: Vec<BlockArg> = (0..types.len()).map(|number| BlockArg::new(kind(number as u32))).collect();
        args.extend(own.iter().map(|&ty| BlockArg::new(BlockArgKind::Value(self.pick(ty)))));
        arms.push(arm);
        self.func.dfg.block_call(arm, &args)
    }
}
