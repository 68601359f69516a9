//! Inlining between the functions of a module, with `opt_level=speed` and the setting `enable_inlining`.
//!
//! The default policy inlines a call if the body weighs at most [`MAX_WEIGHT`] after optimization. Functions
//! are visited before their callers, by strongly connected components of the call graph. A function that can call
//! itself is not inlined. Calls in cold blocks remain, and so do calls once a caller has doubled. Bodies of functions that
//! were defined earlier are kept, so that later definitions can use them.
//!
//! Cost: linear in instructions and calls. Functions with up to [`MAX_UNOPTIMIZED`] instructions and few calls and stores are
//! optimized twice: 0.5 and 0.8 % of the instructions of compiling two modules of WebAssembly, text included.
//! Each decision is logged: `RUST_LOG=kingpost_codegen::module::inlining=debug`.

use crate::compiler::{Compiler, Context, StageMemory};
use crate::expand;
use crate::module::call_graph::{CallGraph, Resolve, called};
use kingpost_ir::{FuncRef, Function, Inst, Opcode, Value};
use kingpost_mach::SymbolName;
use kingpost_mach::settings::OptLevel;
use kingpost_opt::inline::{Inline, InlineCommand, Refusal, check_functions, inline_calls};
use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Maximum weight of an inlined body. Each instruction weighs 1, a call [`CALL_WEIGHT`], and jumps and returns nothing.
/// Integer constants weigh nothing, because most users encode them, but 1 in a body that calls, where they are arguments.
const MAX_WEIGHT: usize = 12;
/// Weight of a call. A body that calls is inlined only if it does nothing else: its arguments and saved registers make
/// copies larger than the call that they replace. On five modules of WebAssembly (1.69 MB), code is 0.3 % smaller
/// with this weight, and 0.5 % larger with a weight of 1.
const CALL_WEIGHT: usize = 12;
/// Maximum number of instructions of a function that may become such a body by optimization.
const MAX_UNOPTIMIZED: usize = 48;
/// Maximum size in bytes of the stack slots of an inlined body.
const MAX_SLOT_BYTES: u32 = 128;
/// Weight by which every caller may grow.
const MIN_GROWTH: usize = 64;

/// Bodies of a module's functions for inlining.
#[derive(Default, Debug)]
pub struct Inliner {
    bodies: HashMap<SymbolName, Body>,
    /// Functions that have been inlined at least once.
    inlined: HashSet<SymbolName>,
}

#[derive(Debug)]
struct Body {
    func: Function,
    weight: usize,
}

impl Inliner {
    /// Inlines calls in new functions, which are named by their symbols, and keeps their bodies. A call resolves if
    /// its declaration is `colocated`, because the definition is final then.
    pub fn run(&mut self, compiler: &Compiler, funcs: &mut [Function]) {
        let resolve: Resolve<'_> = &|name, colocated| colocated.then_some(name);
        self.run_all(compiler, &mut funcs.iter_mut().collect::<Vec<_>>(), resolve);
    }

    /// Inlines calls in new functions. The bodies of the functions are kept for callers that are defined later.
    pub(crate) fn run_all(&mut self, compiler: &Compiler, funcs: &mut [&mut Function], resolve: Resolve<'_>) {
        let settings = compiler.settings();
        if !settings.enable_inlining || settings.opt_level != OptLevel::Speed {
            return;
        }
        let mut cx = compiler.take_context();
        let graph = CallGraph::new(funcs, resolve);
        for (index, is_recursive) in graph.callees_first() {
            let func = &mut *funcs[index];
            self.inline_into(compiler, cx.stages.get_mut(), func, resolve);
            let symbol = SymbolName::from(&func.name);
            if !is_recursive
                && resolve(symbol.clone(), true).is_some()
                && let Some(body) = body(compiler, &mut cx, func)
            {
                self.bodies.insert(symbol, body);
            }
        }
        compiler.give_back(cx);
    }

    /// Removes the body of a function whose compilation failed.
    pub(crate) fn forget(&mut self, symbol: &SymbolName) {
        self.bodies.remove(symbol);
    }

    /// Returns the functions that have been inlined at least once.
    pub(super) fn inlined(&self) -> &HashSet<SymbolName> {
        &self.inlined
    }

    fn inline_into(&mut self, compiler: &Compiler, cx: &mut StageMemory, func: &mut Function, resolve: Resolve<'_>) {
        let bodies = func.dfg.ext_funcs.keys().filter_map(|callee| self.bodies.get(&called(func, callee, resolve)?));
        let refusals = bodies.map(|body| (body, check_functions(func, &body.func))).collect::<Vec<_>>();
        // Most callers have no call that can be inlined, so that they need not be verified here.
        if refusals.iter().all(|(_, outcome)| outcome.is_err()) {
            for (body, refusal) in refusals.iter().filter_map(|(body, outcome)| Some((body, outcome.as_ref().err()?))) {
                log::debug!("{}: calls of {} remain: {refusal}", func.name, body.func.name);
            }
            return;
        }
        // The compilation of an invalid function reports its errors.
        if cx.verifier.verify(func, Some(compiler.target_info())).is_err() {
            return;
        }
        let count = func.dfg.num_insts();
        // Jumps and returns of a body weigh nothing, and do not outnumber its other instructions by much.
        let below_limit = compiler.options().limits.clamped().instructions.saturating_sub(count as u64) / 4;
        let room = count.max(MIN_GROWTH).min(below_limit as usize);
        let mut policy = SmallBodies { bodies: &self.bodies, inlined: &mut self.inlined, room, resolve };
        inline_calls(func, &mut policy);
    }
}

/// The policy for one caller.
struct SmallBodies<'a> {
    bodies: &'a HashMap<SymbolName, Body>,
    inlined: &'a mut HashSet<SymbolName>,
    /// Weight by which the caller may still grow.
    room: usize,
    resolve: Resolve<'a>,
}

impl Inline for SmallBodies<'_> {
    fn inline(&mut self, caller: &Function, call: Inst, _: Opcode, callee: FuncRef, _: &[Value]) -> InlineCommand<'_> {
        let body = called(caller, callee, self.resolve).and_then(|symbol| self.bodies.get(&symbol));
        let Some(body) = body else { return InlineCommand::KeepCall };
        let is_cold = caller.layout.inst_block(call).is_some_and(|block| caller.layout.is_cold(block));
        if is_cold || body.weight > self.room {
            let reason = if is_cold { "it is cold" } else { "the caller has grown enough" };
            log::debug!("{}: the call of {} remains: {reason}", caller.name, body.func.name);
            return InlineCommand::KeepCall;
        }
        self.room -= body.weight;
        InlineCommand::Inline { callee: &body.func, visit_callee: false }
    }

    fn decided(&mut self, caller: &Function, callee: FuncRef, outcome: Result<(), Refusal>) {
        let name = caller.display_name(&caller.dfg.ext_funcs[callee].name);
        match outcome {
            Ok(()) => {
                log::debug!("{}: the call of {name} is inlined", caller.name);
                self.inlined.extend(called(caller, callee, self.resolve));
            }
            Err(refusal) => log::debug!("{}: the call of {name} remains: {refusal}", caller.name),
        }
    }
}

/// Returns the body of a function after optimization, if it is small.
fn body(compiler: &Compiler, cx: &mut Context, func: &Function) -> Option<Body> {
    if func.dfg.has_handler_addresses() || !may_be_small(func) {
        return None;
    }
    let optimized = catch_unwind(AssertUnwindSafe(|| optimized(compiler, cx.stages.get_mut(), func)));
    let func = optimized.unwrap_or_else(|_| {
        // The compilation of the function meets the bug again, and reports it.
        cx.stages = compiler.stage_memory();
        None
    })?;
    let opcodes =
        || func.layout.blocks().flat_map(|block| func.layout.block_insts(block)).map(|inst| func.dfg.opcode(inst));
    let constants = opcodes().filter(|&opcode| opcode == Opcode::Iconst).count();
    let free = if opcodes().any(Opcode::is_call) { 0 } else { constants };
    let weight = opcodes().map(weight).sum::<usize>() - free;
    let slot_bytes: u64 = func.stack_slots.values().map(|slot| u64::from(slot.size)).sum();
    (weight <= MAX_WEIGHT && slot_bytes <= MAX_SLOT_BYTES.into()).then_some(Body { func, weight })
}

/// Returns `true` if optimization may make the function small: calls and stores to memory remain in most functions.
fn may_be_small(func: &Function) -> bool {
    let (mut count, mut kept) = (0, 0);
    for inst in func.layout.blocks().flat_map(|block| func.layout.block_insts(block)) {
        let opcode = func.dfg.opcode(inst);
        count += 1;
        kept += if opcode.is_call() || opcode.can_store() { weight(opcode) } else { 0 };
        if count > MAX_UNOPTIMIZED || kept > MAX_WEIGHT {
            return false;
        }
    }
    true
}

fn weight(opcode: Opcode) -> usize {
    match opcode {
        Opcode::Jump | Opcode::Return => 0,
        _ if opcode.is_call() => CALL_WEIGHT,
        _ => 1,
    }
}

/// Returns the function after the passes of the optimizer. `None` if it is invalid or not supported.
fn optimized(compiler: &Compiler, cx: &mut StageMemory, func: &Function) -> Option<Function> {
    cx.verifier.verify(func, Some(compiler.target_info())).ok()?;
    let mut func = func.clone();
    expand::run(&mut func, compiler).ok()?;
    cx.guard.meter.begin();
    cx.optimizer.run_all(&mut func, &mut cx.analyses);
    cx.guard.meter.status().ok().map(|()| func)
}
