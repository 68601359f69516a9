//! Counters of loops, and the instructions that [`crate::induction`] looks for and makes.
//!
//! ```text
//! block1(v1: i32):             v1 is a counter: its only edge back adds a constant
//!   v2 = iconst.i32 1
//!   v3 = iadd v1, v2           the sum, which that edge passes
//!   jump block1(v3)
//! ```

use cranelift_entity::SecondaryMap;
use kingpost_ir::cfg::Predecessor;
use kingpost_ir::loops::Loop;
use kingpost_ir::{Function, Inst, InstData, Opcode, Type, Value, ValueDef};
use kingpost_meter::heap_bytes;

use crate::purity::constant;
use crate::ranges::Sign;

/// A parameter of a loop's header to which each round adds a constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counter {
    pub(crate) of: Loop,
    pub(crate) param: Value,
    /// Number of the parameter.
    pub(crate) number: usize,
    pub(crate) step: i128,
    /// The sum, which the edge back passes.
    pub(crate) next: Value,
    pub(crate) back: Predecessor,
    /// The bits of its first value, if that is a constant.
    pub(crate) start: Option<u64>,
}

/// All counters of a function.
#[derive(Default, Debug)]
pub(crate) struct Counters {
    pub(crate) list: Vec<Counter>,
    /// By value: number plus one of the counter whose parameter it is.
    numbers: SecondaryMap<Value, u32>,
}

heap_bytes!(Counters { list, numbers });

impl Counters {
    /// Prepares [`Counters::number_of`] for the counters in the list.
    pub(crate) fn number(&mut self, func: &Function) {
        self.numbers.clear();
        self.numbers.resize(func.dfg.num_values());
        for (index, counter) in self.list.iter().enumerate() {
            self.numbers[counter.param] = index as u32 + 1;
        }
    }

    /// Returns the number of the counter whose parameter a value is.
    pub(crate) fn number_of(&self, value: Value) -> Option<u32> {
        self.numbers[value].checked_sub(1)
    }
}

/// Returns the bits of a constant, which may be reduced or extended.
pub(crate) fn constant_of(func: &Function, value: Value) -> Option<u64> {
    let value = func.dfg.resolve_aliases(value);
    if let Some(bits) = constant(func, value) {
        return Some(bits);
    }
    let inst = func.dfg.first_result_of(value)?;
    let width = func.dfg.value_type(value).bits();
    let opcode = func.dfg.opcode(inst);
    if width > 64 || !matches!(opcode, Opcode::Ireduce | Opcode::Uextend | Opcode::Sextend) {
        return None;
    }
    let operand = func.dfg.resolve_aliases(func.dfg.inline_arg(inst, 0));
    let bits = constant(func, operand)?;
    let sign = if opcode == Opcode::Sextend { Sign::Signed } else { Sign::Unsigned };
    let number = sign.read(bits, func.dfg.value_type(operand).bits());
    Some(Sign::Unsigned.read(number as u64, width) as u64)
}

/// Returns the constant, read with a sign, whose sum with `param` is `value`.
pub(crate) fn sum_with(func: &Function, value: Value, param: Value) -> Option<i128> {
    param_and_offset(func, value).filter(|&(of, _)| of == param).map(|(_, offset)| offset)
}

/// Returns a parameter and a constant, read with a sign, whose sum a value is. The sum may have been computed in a wider
/// type.
pub(crate) fn param_and_offset(func: &Function, value: Value) -> Option<(Value, i128)> {
    let width = func.dfg.value_type(value).bits();
    let is_param = |value| matches!(func.dfg.value_def(value), ValueDef::Param(..));
    if is_param(value) {
        return Some((value, 0));
    }
    let mut inst = func.dfg.first_result_of(value)?;
    let is_wide = func.dfg.opcode(inst) == Opcode::Ireduce;
    if is_wide {
        inst = func.dfg.first_result_of(func.dfg.resolve_aliases(func.dfg.inline_arg(inst, 0)))?;
    }
    let opcode = func.dfg.opcode(inst);
    if !matches!(opcode, Opcode::Iadd | Opcode::Isub) {
        return None;
    }
    let [x, y] = *func.dfg.inst_args(inst) else { return None };
    let (mut x, y) = if constant_of(func, y).is_none() && opcode == Opcode::Iadd { (y, x) } else { (x, y) };
    if func.dfg.value_type(x).bits() > 64 {
        return None;
    }
    let bits = constant_of(func, y)?;
    let bits = if opcode == Opcode::Isub { bits.wrapping_neg() } else { bits };
    x = func.dfg.resolve_aliases(x);
    if is_wide {
        x = extended(func, x)?.0;
    }
    (is_param(x) && func.dfg.value_type(x).bits() == width).then(|| (x, Sign::Signed.read(bits, width)))
}

/// Returns the operand and the sign of an extension.
pub(crate) fn extended(func: &Function, value: Value) -> Option<(Value, Sign)> {
    let inst = func.dfg.first_result_of(value)?;
    let sign = match func.dfg.opcode(inst) {
        Opcode::Sextend => Sign::Signed,
        Opcode::Uextend => Sign::Unsigned,
        _ => return None,
    };
    Some((func.dfg.resolve_aliases(func.dfg.inline_arg(inst, 0)), sign))
}

/// Replaces an extension by a value of the type `wide`, which has at least as many bits.
pub(crate) fn replace_extension(func: &mut Function, inst: Inst, value: Value, wide: Type) {
    let ty = func.dfg.ctrl_type(inst);
    match func.dfg.first_result(inst) {
        Some(result) if ty == wide => {
            let _ = func.dfg.change_to_alias(result, value);
            func.layout.remove_inst(inst);
        }
        _ => func.dfg.replace_inst(inst, InstData::unary(Opcode::Ireduce, ty, value)),
    }
}

/// Makes an instruction before another one, and returns its result.
pub(crate) fn make(func: &mut Function, before: Inst, data: InstData, ty: Type) -> Value {
    let inst = func.dfg.make_inst(data);
    func.dfg.make_results(inst, ty);
    func.layout.insert_inst(inst, before);
    let location = func.srcloc(before);
    if !location.is_none() {
        func.srclocs[inst] = location;
    }
    func.dfg.inst_results(inst)[0]
}
