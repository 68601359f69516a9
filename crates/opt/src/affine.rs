//! Values that grow by the same amount in each round of a loop: sums, differences, products and shifts of a counter and of
//! values from outside of the loop.
//!
//! ```text
//! block1(v1: i64):                         the counter v1 grows by 1
//!   v2 = imul_imm v1, 20                   v2 grows by 20
//!   v3 = iadd v2, v0                       so does v3
//!   v4 = load.i32 v3
//!   v5 = iadd_imm v1, 1
//!   jump block1(v5)
//! ```
//!
//! Part of [`crate::strength_reduction`]. Everything is of type `i64` and wraps around, so that no ranges are needed. Cost:
//! linear.

use cranelift_entity::SecondaryMap;
use kingpost_ir::analyses::Analyses;
use kingpost_ir::cfg::Predecessor;
use kingpost_ir::loops::Loop;
use kingpost_ir::types::I64;
use kingpost_ir::{Function, Inst, InstData, Opcode, Value};
use kingpost_meter::heap_bytes;

use crate::counters::{make, sum_with};
use crate::induction::only_edge_back;
use crate::purity::constant;

/// Maximum number of instructions that compute a value from the counter, with repetitions.
const MAX_SIZE: u8 = 12;

/// A parameter of type `i64` of a loop's header, to which each round adds a constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WideCounter {
    pub(crate) of: Loop,
    pub(crate) param: Value,
    pub(crate) step: i64,
    /// The sum, which the edge back passes.
    pub(crate) next: Value,
    /// The first value, which the only edge from outside passes.
    pub(crate) start: Value,
    pub(crate) entry: Predecessor,
    pub(crate) back: Predecessor,
}

/// A value that grows by the same amount in each round.
#[derive(Clone, Copy, Default, Debug)]
struct Form {
    /// Number plus one of its counter; 0 if the value is another one.
    counter: u32,
    /// Number of instructions that compute it from the counter.
    size: u8,
}

/// Instructions that a loop no longer needs if a value is a counter of its own.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Saved {
    /// Number of instructions, not counting what is part of an address.
    pub(crate) insts: u32,
    /// Number of uses of the counter.
    pub(crate) counter_uses: u32,
}

/// The values of a function that grow by the same amount in each round.
#[derive(Default, Debug)]
pub(crate) struct Affine {
    pub(crate) counters: Vec<WideCounter>,
    forms: SecondaryMap<Value, Form>,
    uses: SecondaryMap<Value, u32>,
    /// By value: whether a value that grows in another way uses it.
    is_root: SecondaryMap<Value, bool>,
    /// By root: whether it is used as something else than an address.
    is_number: SecondaryMap<Value, bool>,
    /// Values that are used in this way, by the numbers of their counters.
    roots: Vec<Value>,
    /// By loop: whether it, or a loop in it, has a call.
    has_call: SecondaryMap<Loop, bool>,
}

heap_bytes!(Affine { counters, forms, uses, is_root, is_number, roots, has_call });

/// Replacement of a counter in a computation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// A value of the counter.
    Value(Value),
    /// The constant by which it grows: then the result is the amount by which the computed value grows.
    Step(i64),
}

impl Affine {
    /// Finds the counters and values of a function that has no aliases. Returns `false` if there are no counters.
    pub(crate) fn find(&mut self, func: &Function, analyses: &Analyses) -> bool {
        self.find_counters(func, analyses);
        if self.counters.is_empty() {
            return false;
        }
        self.clear();
        for (index, counter) in self.counters.iter().enumerate() {
            self.forms[counter.param] = Form { counter: index as u32 + 1, size: 0 };
        }
        for &block in analyses.dominators.preorder() {
            let around = analyses.loops.innermost_loop(block);
            for inst in func.layout.block_insts(block) {
                if let Some(around) = around {
                    self.has_call[around] |= func.dfg.opcode(inst).is_call();
                }
                let form = around.and_then(|around| self.form(func, analyses, around, inst)).unwrap_or_default();
                if let Some(result) = func.dfg.first_result(inst).filter(|_| form.counter != 0) {
                    self.forms[result] = form;
                }
                self.count_uses(func, inst, form);
            }
        }
        for of in analyses.loops.loops() {
            if let Some(parent) = analyses.loops.parent(of) {
                self.has_call[parent] |= self.has_call[of];
            }
        }
        self.roots.sort_by_key(|&root| self.forms[root].counter);
        true
    }

    fn clear(&mut self) {
        self.forms.clear();
        self.uses.clear();
        self.is_root.clear();
        self.is_number.clear();
        self.roots.clear();
        self.has_call.clear();
    }

    fn find_counters(&mut self, func: &Function, analyses: &Analyses) {
        self.counters.clear();
        for of in analyses.loops.loops() {
            let header = analyses.loops.header(of);
            let Some(back) = only_edge_back(func, analyses, header) else { continue };
            let mut entries = analyses.cfg.preds(header).iter().filter(|&pred| *pred != back);
            let (Some(&entry), None) = (entries.next(), entries.next()) else { continue };
            let passed =
                |pred: Predecessor| func.dfg.block_args(func.dfg.branch_destinations(pred.inst)[pred.edge as usize]);
            let args = passed(entry).iter().zip(passed(back));
            for (&param, (start, next)) in func.dfg.block_params(header).iter().zip(args) {
                let (Some(start), Some(next)) = (start.value(), next.value()) else { continue };
                if func.dfg.value_type(param) != I64 {
                    continue;
                }
                if let Some(step) =
                    sum_with(func, next, param).and_then(|step| i64::try_from(step).ok()).filter(|&step| step != 0)
                {
                    self.counters.push(WideCounter { of, param, step, next, start, entry, back });
                }
            }
        }
    }

    /// Returns the form of an instruction's result.
    fn form(&self, func: &Function, analyses: &Analyses, around: Loop, inst: Inst) -> Option<Form> {
        let opcode = func.dfg.opcode(inst);
        if !matches!(opcode, Opcode::Iadd | Opcode::Isub | Opcode::Imul | Opcode::Ishl)
            || func.dfg.ctrl_type(inst) != I64
        {
            return None;
        }
        let [x, y] = *func.dfg.inst_args(inst) else { return None };
        let own = |value| {
            Some(self.forms[value]).filter(|form| self.counter_of(*form).is_some_and(|counter| counter.of == around))
        };
        let is_invariant = |value| constant(func, value).is_some() || is_outside(func, analyses, around, value);
        let form = match (own(x), own(y), opcode) {
            (Some(x), Some(y), Opcode::Iadd | Opcode::Isub) if x.counter == y.counter => {
                Form { counter: x.counter, size: x.size + y.size }
            }
            (Some(x), None, _) if is_invariant(y) => x,
            (None, Some(y), Opcode::Iadd | Opcode::Isub | Opcode::Imul) if is_invariant(x) => y,
            _ => return None,
        };
        (form.size < MAX_SIZE).then_some(Form { size: form.size + 1, ..form })
    }

    fn counter_of(&self, form: Form) -> Option<&WideCounter> {
        self.counters.get((form.counter as usize).checked_sub(1)?)
    }

    fn count_uses(&mut self, func: &Function, inst: Inst, form: Form) {
        let args = func.dfg.inst_args(inst);
        let address = func.dfg.inst(inst).memflags().and(args.last().copied());
        let is_data = |value| args.split_last().is_some_and(|(_, others)| others.contains(&value));
        func.dfg.for_each_use(inst, |value| {
            self.uses[value] += 1;
            let own = self.forms[value];
            if own.size > 0 && own.counter != form.counter {
                self.is_number[value] |= address != Some(value) || is_data(value);
                if !std::mem::replace(&mut self.is_root[value], true) {
                    self.roots.push(value);
                }
            }
        });
    }

    /// Returns the values that grow with the counter of this number, and that a value which grows in another way uses.
    pub(crate) fn roots_of(&self, number: usize) -> &[Value] {
        let end = |number: usize| self.roots.partition_point(|&root| (self.forms[root].counter as usize) <= number);
        &self.roots[end(number)..end(number + 1)]
    }

    /// Returns the number of uses of a value when the walk saw it.
    pub(crate) fn uses(&self, value: Value) -> u32 {
        self.uses[value]
    }

    /// Returns `true` if a loop has a call.
    pub(crate) fn has_call(&self, of: Loop) -> bool {
        self.has_call[of]
    }

    /// Returns what a loop no longer needs if a root is a counter of its own.
    pub(crate) fn saved(&self, func: &Function, root: Value) -> Saved {
        let mut saved = Saved::default();
        self.add_saved(func, root, &mut saved);
        let is_address = !self.is_number[root];
        saved.insts -= if is_address { self.parts_of_address(func, root) } else { 0 };
        saved
    }

    fn add_saved(&self, func: &Function, value: Value, saved: &mut Saved) {
        let Some(inst) = func.dfg.defining_inst(value) else { return };
        saved.insts += 1;
        for &arg in func.dfg.inst_args(inst) {
            saved.counter_uses += u32::from(self.grows_like(arg, value) && self.forms[arg].size == 0);
            if self.is_part_of(arg, value) {
                self.add_saved(func, arg, saved);
            }
        }
    }

    /// Returns `true` if a value depends on the same counter as `other`.
    fn grows_like(&self, value: Value, other: Value) -> bool {
        self.forms[value].counter == self.forms[other].counter
    }

    /// Returns `true` if only `user` uses a result that depends on the same counter.
    fn is_part_of(&self, value: Value, user: Value) -> bool {
        self.grows_like(value, user) && self.forms[value].size > 0 && self.uses[value] == 1 && !self.is_root[value]
    }

    /// Removes the instruction of a root from the layout, and the instructions that only it needs.
    pub(crate) fn remove(&self, func: &mut Function, value: Value) {
        let Some(inst) = func.dfg.defining_inst(value) else { return };
        func.layout.remove_inst(inst);
        for arg in [func.dfg.inline_arg(inst, 0), func.dfg.inline_arg(inst, 1)] {
            if self.is_part_of(arg, value) {
                self.remove(func, arg);
            }
        }
    }

    /// Returns how many instructions of an address take no instruction: a sum, and a shift of one of its operands.
    fn parts_of_address(&self, func: &Function, root: Value) -> u32 {
        let inst = func.dfg.defining_inst(root).filter(|&inst| func.dfg.opcode(inst) == Opcode::Iadd);
        let Some(inst) = inst else { return 0 };
        let is_scaled = |&arg: &Value| {
            let shift = func.dfg.defining_inst(arg).filter(|&inst| func.dfg.opcode(inst) == Opcode::Ishl);
            let amount = shift.and_then(|shift| constant(func, func.dfg.inst_args(shift)[1]));
            self.is_part_of(arg, root) && amount.is_some_and(|amount| amount <= 3)
        };
        1 + u32::from(func.dfg.inst_args(inst).iter().any(is_scaled))
    }

    /// Computes a value before an instruction outside of the loop, with another value in the place of the counter.
    pub(crate) fn compute(&self, func: &mut Function, value: Value, place: Place, before: Inst) -> Value {
        let Some(inst) = func.dfg.defining_inst(value).filter(|_| self.forms[value].size > 0) else {
            return match place {
                Place::Value(value) => value,
                Place::Step(step) => make(func, before, InstData::iconst(I64, step), I64),
            };
        };
        let (opcode, args) = (func.dfg.opcode(inst), [func.dfg.inline_arg(inst, 0), func.dfg.inline_arg(inst, 1)]);
        let grows = args.map(|arg| self.grows_like(arg, value));
        let is_sum = matches!(opcode, Opcode::Iadd | Opcode::Isub) && matches!(place, Place::Step(_));
        match grows {
            [true, false] if is_sum => self.compute(func, args[0], place, before),
            [false, true] if is_sum && opcode == Opcode::Iadd => self.compute(func, args[1], place, before),
            [false, true] if is_sum => {
                let grown = self.compute(func, args[1], place, before);
                make(func, before, InstData::unary(Opcode::Ineg, I64, grown), I64)
            }
            _ => {
                let args = [0, 1].map(|index| match grows[index] {
                    true => self.compute(func, args[index], place, before),
                    false => invariant(func, args[index], before),
                });
                make(func, before, InstData::binary(opcode, I64, args), I64)
            }
        }
    }

    /// Returns the constant by which a root grows in a round, if it is one.
    pub(crate) fn growth(&self, func: &Function, value: Value) -> Option<i128> {
        let form = self.forms[value];
        if form.size == 0 {
            return self.counter_of(form).map(|counter| counter.step.into());
        }
        let inst = func.dfg.defining_inst(value)?;
        let [x, y] = [func.dfg.inline_arg(inst, 0), func.dfg.inline_arg(inst, 1)];
        let grows = [x, y].map(|arg| self.grows_like(arg, value));
        let factor = |value| constant(func, value).map(|bits| i128::from(bits as i64));
        let growth = match (func.dfg.opcode(inst), grows) {
            (Opcode::Iadd | Opcode::Isub, [true, false]) => self.growth(func, x)?,
            (Opcode::Iadd, [false, true]) => self.growth(func, y)?,
            (Opcode::Isub, [false, true]) => -self.growth(func, y)?,
            (Opcode::Iadd, _) => self.growth(func, x)? + self.growth(func, y)?,
            (Opcode::Isub, _) => self.growth(func, x)? - self.growth(func, y)?,
            (Opcode::Imul, [true, _]) => self.growth(func, x)?.checked_mul(factor(y)?)?,
            (Opcode::Imul, _) => self.growth(func, y)?.checked_mul(factor(x)?)?,
            (_, _) => self.growth(func, x)?.checked_mul(1 << (factor(y)? & 63))?,
        };
        (growth.unsigned_abs() < 1 << 63).then_some(growth)
    }
}

/// Returns a value that does not change in a loop. Constants in the loop are made again before an instruction.
fn invariant(func: &mut Function, value: Value, before: Inst) -> Value {
    let ty = func.dfg.value_type(value);
    match constant(func, value) {
        Some(bits) => make(func, before, InstData::iconst(ty, bits as i64), ty),
        None => value,
    }
}

/// Returns `true` if a value is defined outside of a loop.
pub(crate) fn is_outside(func: &Function, analyses: &Analyses, of: Loop, value: Value) -> bool {
    let block = func.defining_block(value);
    block.is_some_and(|block| !analyses.loops.contains(of, block))
}
