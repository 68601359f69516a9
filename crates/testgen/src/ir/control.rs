//! Functions: statements, branches, loops, calls, returns.

use super::plan::{Plan, TypeSet, random_word};
use super::scope::Scope;
use crate::rng::Rng;
use cranelift_entity::EntitySet;
use kingpost_ir::builder::{ControlBuilder, InstBuilder};
use kingpost_ir::extfunc::{ExtFuncData, ExternalName, FuncName};
use kingpost_ir::signature::CallConv;
use kingpost_ir::types::{I32, I64, I128, INVALID};
use kingpost_ir::{Block, BlockCall, FuncRef, Function, Inst, Type, Value};
use std::ops::Range;

/// Builds the function of a plan; returns it and its pinned instructions.
pub(super) fn function(plans: &[Plan], index: usize, type_set: TypeSet, rng: &mut Rng) -> (Function, EntitySet<Inst>) {
    let plan = &plans[index];
    let mut func = Function::new(plan.name.clone(), plan.signature.clone());
    let entry = func.dfg.make_block();
    func.layout.append_block(entry);
    let budget = if index == 0 { rng.range(6..70) } else { rng.range(2..30) };
    let mut scope = Scope {
        rng,
        func,
        type_set,
        plans,
        index,
        declared: vec![None; plans.len()],
        pinned: EntitySet::new(),
        pool: Vec::new(),
        clean: EntitySet::new(),
        regions: Vec::new(),
        pointee_name: None,
        constants: None,
        block: entry,
        loops: 0,
        budget,
    };
    scope.entry();
    if index == 0 && type_set == TypeSet::Vectors {
        scope.vector();
    }
    scope.statements(0);
    scope.return_values();
    (scope.func, scope.pinned)
}

impl Scope<'_> {
    fn entry(&mut self) {
        self.declare_names();
        self.declare_slots();
        let plan = &self.plans[self.index];
        for (param, &pointer) in plan.signature.params.iter().zip(&plan.pointers) {
            let value = self.func.dfg.append_block_param(self.block, param.value_type);
            if pointer {
                self.add_pointer(value);
                continue;
            }
            self.pool.push(value);
            // Only the bits of the inputs are known; a caller may pass any NaN.
            if self.index == 0 {
                self.mark_clean(value);
            }
        }
        self.fill_slots();
        self.fill_constants();
        self.add_hidden_pointers();
    }

    /// Adds statements until the budget is exhausted, or a few of them.
    pub(super) fn statements(&mut self, depth: usize) {
        let mut most = if depth == 0 { usize::MAX } else { self.rng.range(0..10) };
        while self.budget > 0 && most > 0 {
            self.budget -= 1;
            most -= 1;
            if self.plans[self.index].may_throw && self.rng.chance(12) {
                self.throw();
                continue;
            }
            if self.type_set == TypeSet::Memory && self.rng.chance(60) {
                self.memory();
                continue;
            }
            match self.rng.range(0..100) {
                0..62 => self.scalar(),
                62..80 => self.memory(),
                80..86 => self.call(depth),
                86..91 if depth < 4 => self.diamond(depth),
                91..94 if depth < 4 && self.loops < 2 => self.looped(depth),
                94 if depth < 4 && self.loops < 2 => self.cycle(depth),
                95..98 if depth < 4 => self.switch(depth),
                98 => self.cond_trap(),
                99 => self.endless(),
                _ => self.scalar(),
            }
        }
    }

    /// Returns the types of some block parameters.
    pub(super) fn types(&mut self) -> Vec<Type> {
        let count = if self.rng.chance(10) { self.rng.range(5..12) } else { self.rng.range(0..4) };
        (0..count).map(|_| self.any_type()).collect()
    }

    pub(super) fn append_params(&mut self, block: Block, types: &[Type]) -> Vec<Value> {
        types.iter().map(|&ty| self.func.dfg.append_block_param(block, ty)).collect()
    }

    fn picks(&mut self, types: &[Type]) -> Vec<Value> {
        types.iter().map(|&ty| self.pick(ty)).collect()
    }

    pub(super) fn edge(&mut self, block: Block, types: &[Type]) -> BlockCall {
        let args = self.picks(types);
        self.func.dfg.block_call_with_values(block, &args)
    }

    /// Fills a block that continues at `join`, unless it leaves the function.
    fn arm(&mut self, block: Block, depth: usize, join: Block, types: &[Type]) {
        let (known, regions) = (self.pool.len(), self.regions.len());
        self.block = block;
        self.statements(depth + 1);
        match self.rng.range(0..100) {
            0..4 => {
                let code = self.trap_code();
                self.ins().trap(code);
            }
            4..9 => self.return_values(),
            _ => {
                let args = self.picks(types);
                self.ins().jump(join, &args);
            }
        }
        self.pool.truncate(known);
        self.regions.truncate(regions);
    }

    /// Returns the destination of a branch: `join` directly, or an arm, which is added to `arms`.
    fn destination(&mut self, join: Block, types: &[Type], arms: &mut Vec<Block>) -> BlockCall {
        if self.rng.chance(25) {
            return self.edge(join, types);
        }
        let own = if self.rng.chance(80) { Vec::new() } else { self.types() };
        let arm = self.func.dfg.make_block();
        self.append_params(arm, &own);
        arms.push(arm);
        self.edge(arm, &own)
    }

    fn diamond(&mut self, depth: usize) {
        let types = self.types();
        let join = self.func.dfg.make_block();
        let params = self.append_params(join, &types);
        let mut arms = Vec::new();
        let condition = self.condition();
        let then = self.destination(join, &types, &mut arms);
        let otherwise = self.destination(join, &types, &mut arms);
        let data = self.func.dfg.brif_data(condition, then, otherwise);
        self.ins().insert(data, INVALID);
        self.arms(&arms, depth, join, &types);
        self.enter(join, &params);
    }

    fn switch(&mut self, depth: usize) {
        let types = self.types();
        let join = self.func.dfg.make_block();
        let params = self.append_params(join, &types);
        let mut arms = Vec::new();
        let index = if self.rng.chance(80) { self.masked(I32, 7) } else { self.pick(I32) };
        let default = self.destination(join, &types, &mut arms);
        let count = if self.rng.chance(5) { self.rng.range(0..40) } else { self.rng.range(0..8) };
        let mut entries: Vec<BlockCall> = Vec::new();
        for _ in 0..count {
            let known = self.rng.pick(&entries).filter(|_| self.rng.chance(40) || arms.len() > 4);
            let entry = match known {
                Some(entry) => {
                    // Edges to a common target may differ in their arguments.
                    let args = self.func.dfg.block_params(entry.block).to_vec();
                    let types: Vec<Type> = args.iter().map(|&arg| self.type_of(arg)).collect();
                    if self.rng.chance(50) { entry } else { self.edge(entry.block, &types) }
                }
                None => self.destination(join, &types, &mut arms),
            };
            entries.push(entry);
        }
        let table = self.func.dfg.make_jump_table(default, &entries);
        self.ins().br_table(index, table);
        self.arms(&arms, depth, join, &types);
        self.enter(join, &params);
    }

    pub(super) fn arms(&mut self, arms: &[Block], depth: usize, join: Block, types: &[Type]) {
        for &arm in arms {
            self.func.layout.append_block(arm);
            if self.rng.chance(15) {
                self.func.layout.set_cold(arm);
            }
            let params = self.func.dfg.block_params(arm).to_vec();
            let known = self.pool.len();
            self.pool.extend(params);
            self.arm(arm, depth, join, types);
            self.pool.truncate(known);
        }
    }

    /// Continues in a block whose parameters are new values.
    pub(super) fn enter(&mut self, block: Block, params: &[Value]) {
        self.func.layout.append_block(block);
        self.block = block;
        self.pool.extend_from_slice(params);
    }

    /// Adds a loop that counts down and carries values along. Its condition is tested at the top or at the bottom.
    fn looped(&mut self, depth: usize) {
        let counter_type = random_word(self.rng);
        let types = self.types();
        let exit_types = self.types();
        let (header, exit) = (self.func.dfg.make_block(), self.func.dfg.make_block());
        let counter = self.func.dfg.append_block_param(header, counter_type);
        let params = self.append_params(header, &types);
        let exit_params = self.append_params(exit, &exit_types);

        // At least once, because a loop that is tested at the bottom always runs.
        let masked = self.masked(counter_type, 7);
        let one = self.pinned_const(counter_type, 1);
        let trips = self.ins().bor(masked, one);
        self.pin(trips);
        let mut args = vec![trips];
        args.extend(self.picks(&types));
        self.ins().jump(header, &args);

        self.func.layout.append_block(header);
        self.block = header;
        let known = self.pool.len();
        self.pool.extend(params);
        self.loops += 1;
        let above = self.rng.chance(50);
        if above {
            let body = self.new_block();
            let out = self.picks(&exit_types);
            self.ins().brif(counter, body, &[], exit, &out);
            self.block = body;
        }
        self.statements(depth + 1);
        if self.rng.chance(25) {
            self.leave_early(exit, &exit_types);
        }
        let one = self.pinned_const(counter_type, 1);
        let next = self.ins().isub(counter, one);
        self.pin(next);
        let mut args = vec![next];
        args.extend(self.picks(&types));
        if above {
            self.ins().jump(header, &args);
        } else {
            let out = self.picks(&exit_types);
            self.ins().brif(next, header, &args, exit, &out);
        }
        self.loops -= 1;
        self.pool.truncate(known);
        self.enter(exit, &exit_params);
    }

    fn leave_early(&mut self, exit: Block, types: &[Type]) {
        let condition = self.condition();
        let out = self.picks(types);
        let on = self.new_block();
        self.ins().brif(condition, exit, &out, on, &[]);
        self.block = on;
    }

    /// Returns the functions after this one, without the throwing function.
    fn callees(&self) -> Range<usize> {
        let throws = self.plans.iter().any(|plan| plan.may_throw);
        self.index + 1..self.plans.len() - usize::from(throws)
    }

    /// Calls a later function. Nested loops make no calls, so that programs terminate soon.
    fn call(&mut self, depth: usize) {
        let callees = self.callees();
        if callees.is_empty() || self.loops > 1 {
            return self.scalar();
        }
        let callee = self.rng.range(callees);
        let plan = &self.plans[callee];
        let must_catch = plan.may_throw && !self.plans[self.index].may_throw;
        if must_catch && depth >= 4 {
            return self.scalar();
        }
        let may_catch = plan.signature.call_conv.exception_payloads().is_some() && depth < 4;
        let args = self.arguments(callee);
        let func = self.declare(callee);
        if must_catch || may_catch && self.rng.chance(30) {
            return self.try_call(callee, func, &args, must_catch, depth);
        }
        let inst = if self.rng.chance(80) {
            self.ins().call(func, &args)
        } else {
            let address = self.ins().func_addr(I64, func);
            self.pin(address);
            let signature = self.func.dfg.ext_funcs[func].signature;
            self.ins().call_indirect(signature, address, &args)
        };
        self.pool.extend_from_slice(self.func.dfg.inst_results(inst));
        if self.rng.chance(40) {
            self.annotate(inst);
        }
        if self.rng.chance(10) {
            self.sequence_point();
        }
    }

    fn arguments(&mut self, callee: usize) -> Vec<Value> {
        let plan = &self.plans[callee];
        let params = plan.signature.params.iter().zip(&plan.pointers);
        params
            .map(|(param, &pointer)| if pointer { self.pointer_argument() } else { self.pick(param.value_type) })
            .collect()
    }

    /// Returns a later function that may be called in tail position. Pointers would point into the frame that is
    /// gone. The first function computes its own results, because all of their bits must be known.
    fn tail_callee(&mut self) -> Option<usize> {
        let plan = &self.plans[self.index];
        if self.index == 0 || plan.signature.call_conv != CallConv::Tail {
            return None;
        }
        let types = |plan: &Plan| plan.signature.returns.iter().map(|param| param.value_type).collect::<Vec<_>>();
        let fits = |callee: &usize| {
            let callee = &self.plans[*callee];
            callee.signature.call_conv == CallConv::Tail
                && types(callee) == types(plan)
                && !callee.pointers.contains(&true)
        };
        let callees: Vec<usize> = self.callees().filter(fits).collect();
        (!callees.is_empty() && self.rng.chance(70)).then(|| callees[self.rng.range(0..callees.len())])
    }

    fn tail_call(&mut self, callee: usize) {
        let args = self.arguments(callee);
        let func = self.declare(callee);
        if self.rng.chance(70) {
            self.ins().return_call(func, &args);
        } else {
            let address = self.ins().func_addr(I64, func);
            self.pin(address);
            let signature = self.func.dfg.ext_funcs[func].signature;
            self.ins().return_call_indirect(signature, address, &args);
        }
    }

    pub(super) fn declare(&mut self, callee: usize) -> FuncRef {
        if let Some(func) = self.declared[callee] {
            return func;
        }
        let plan = &self.plans[callee];
        let signature = self.func.dfg.signatures.push(plan.signature.clone());
        let name = match &plan.name {
            FuncName::Named(name) => ExternalName::Named(name.as_str().into()),
            &FuncName::User(namespace, index) => ExternalName::User(self.func.user_names.push((namespace, index))),
        };
        let colocated = self.rng.chance(50);
        let func = self.func.dfg.ext_funcs.push(ExtFuncData { name, signature, colocated, patchable: false });
        self.declared[callee] = Some(func);
        func
    }

    fn return_values(&mut self) {
        if let Some(callee) = self.tail_callee() {
            return self.tail_call(callee);
        }
        let types: Vec<Type> = self.plans[self.index].signature.returns.iter().map(|param| param.value_type).collect();
        let outermost = self.index == 0;
        let mut values = Vec::new();
        for (n, &ty) in types.iter().enumerate() {
            values.push(match (outermost, n) {
                (true, 0) => self.checksum(),
                (true, _) => self.pick_clean(ty),
                (false, _) => self.pick(ty),
            });
        }
        self.ins().return_(&values);
    }

    /// Returns one number that depends on many values and on the stack slots.
    fn checksum(&mut self) -> Value {
        let mut sum = self.pinned_const(I64, 0);
        let count = self.rng.range(0..24);
        let step = self.pool.len() / (count + 1) + 1;
        for index in (0..self.pool.len()).step_by(step) {
            let value = self.cleaned(self.pool[index]);
            sum = self.mix(sum, value);
        }
        self.mix_slots(sum)
    }

    pub(super) fn mix(&mut self, sum: Value, value: Value) -> Value {
        let ty = self.type_of(value);
        let int = match Type::int(ty.bits()) {
            Some(int) if !ty.is_int() => self.bitcast(value, int),
            _ => value,
        };
        let wide = match self.type_of(int) {
            I64 => int,
            I128 => {
                let (low, high) = self.ins().isplit(int);
                self.ins().bxor(low, high)
            }
            _ => self.ins().uextend(I64, int),
        };
        let seven = self.ins().iconst(I32, 7);
        let turned = self.ins().rotl(sum, seven);
        self.ins().bxor(turned, wide)
    }
}
