//! One function per opcode, controlling type, source type and variant, generated from the opcode table.

use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::opcodes::{Format, OpcodeInfo};
use kingpost_ir::type_class::{Allowed, Constraint, TypeClass};
use kingpost_ir::types::{I32, I64, INVALID};
use kingpost_ir::{Opcode, Type};
use std::fmt::Write;

/// The scalars, all vectors of 128 and 64 bits, and some shorter ones.
pub(crate) const TYPES: [&str; 25] = [
    "i8", "i16", "i32", "i64", "i128", "f16", "f32", "f64", "f128", "i8x16", "i16x8", "i32x4", "i64x2", "f16x8",
    "f32x4", "f64x2", "i8x8", "i16x4", "i32x2", "f16x4", "f32x2", "i8x4", "i16x2", "f16x2", "i8x2",
];

/// A function around one instruction.
pub(crate) struct Case {
    pub(crate) opcode: Opcode,
    /// Condition, operation or byte order; empty if the opcode has only one form.
    pub(crate) variant: String,
    /// The controlling type, or `INVALID`.
    pub(crate) ty: Type,
    /// The type of the operand that is free in its class.
    pub(crate) source: Option<Type>,
    pub(crate) text: String,
}

impl Case {
    /// Returns its type in the form of the list: `-`, `i32`, or `f32<-i64`.
    pub(crate) fn type_name(&self) -> String {
        match self.source {
            Some(source) => format!("{}<-{source}", self.wide_type_name()),
            None => self.wide_type_name(),
        }
    }

    /// Returns its type without the source, which represents all sources.
    pub(crate) fn wide_type_name(&self) -> String {
        if self.ty.is_invalid() { "-".into() } else { self.ty.to_string() }
    }
}

/// Returns all cases, in the order of the opcode table.
pub(crate) fn all() -> Vec<Case> {
    Opcode::ALL.iter().flat_map(|&opcode| of_opcode(opcode)).collect()
}

fn types() -> impl Iterator<Item = Type> {
    TYPES.iter().map(|name| Type::from_name(name.as_bytes()).expect("a type"))
}

fn of_opcode(opcode: Opcode) -> Vec<Case> {
    if let Some(text) = with_entities(opcode) {
        return vec![Case { opcode, variant: String::new(), ty: INVALID, source: None, text: text.into() }];
    }
    let mut cases = Vec::new();
    for variant in variants(opcode) {
        for ty in controlling_types(opcode) {
            for source in sources(opcode, ty) {
                let text = function(opcode, ty, source, &variant);
                if let Some(text) = text.filter(|_| is_order_of(opcode, ty, source, &variant)) {
                    cases.push(Case { opcode, variant: variant.clone(), ty, source, text });
                }
            }
        }
    }
    cases
}

fn controlling_types(opcode: Opcode) -> Vec<Type> {
    match opcode.info().class {
        TypeClass::No => vec![INVALID],
        // Addresses have 64 bits on every target; here the class means any integer of their widths.
        TypeClass::IAddr if opcode != Opcode::UaddOverflowTrap => vec![I64],
        class => types().filter(|&ty| class.set().contains(ty)).collect(),
    }
}

/// Returns the types of the operand that is free in its class, if there is one.
fn sources(opcode: Opcode, ty: Type) -> Vec<Option<Type>> {
    let free = opcode.info().operands.iter().find_map(|&operand| match operand.resolve(ty) {
        Allowed::In(set) if !is_address(operand) => Some((operand, set)),
        _ => None,
    });
    let Some((operand, set)) = free else { return vec![None] };
    let fits = |source: Type| match operand {
        // Amounts and conditions: their type matters to scalars only.
        Constraint::Free(TypeClass::IB) if !ty.is_scalar() => source == I32,
        Constraint::Free(TypeClass::IB | TypeClass::TxNFixed) | Constraint::Wider | Constraint::Narrower => true,
        Constraint::Free(TypeClass::Mem) => source.bits() == ty.bits(),
        _ => source.lane_count() == ty.lane_count(),
    };
    types().filter(|&source| set.contains(source) && fits(source)).map(Some).collect()
}

fn is_address(operand: Constraint) -> bool {
    operand == Constraint::Free(TypeClass::IAddr)
}

/// Returns the conditions, operations or byte orders of an opcode.
fn variants(opcode: Opcode) -> Vec<String> {
    fn names<T: ToString>(all: &[T]) -> Vec<String> {
        all.iter().map(ToString::to_string).collect()
    }
    match opcode.info().format {
        Format::IntCompare => names(&IntCC::ALL),
        Format::FloatCompare => names(&FloatCC::ALL),
        Format::AtomicRmw => names(&AtomicRmwOp::ALL),
        Format::LoadNoOffset if opcode == Opcode::Bitcast => names(&["", "little", "big"]),
        Format::Load | Format::Store | Format::LoadNoOffset | Format::StoreNoOffset | Format::AtomicCas => {
            names(&["", "big"])
        }
        _ => names(&[""]),
    }
}

/// Returns `true` if the instruction can have the byte order. A bitcast has one exactly if the numbers of lanes
/// differ.
fn is_order_of(opcode: Opcode, ty: Type, source: Option<Type>, order: &str) -> bool {
    let Some(source) = source.filter(|_| opcode == Opcode::Bitcast) else { return true };
    (source.lane_count() != ty.lane_count()) != order.is_empty()
}

/// Returns the function around the instruction, or `None` if a result would have no type. Addresses are addresses
/// of a stack slot, other operands are parameters, and results are returned.
fn function(opcode: Opcode, ty: Type, source: Option<Type>, variant: &str) -> Option<String> {
    let info = opcode.info();
    let (mut params, mut body) = (Vec::new(), String::new());
    for (k, &operand) in info.operands.iter().enumerate() {
        let is_first_of_load = matches!(info.format, Format::Load) && k == 0;
        match operand.resolve(ty) {
            _ if is_address(operand) || is_first_of_load => writeln!(body, "    v{k} = stack_addr.i64 ss0").ok()?,
            Allowed::Exactly(exact) => params.push(format!("v{k}: {exact}")),
            Allowed::In(_) => params.push(format!("v{k}: {}", source?)),
            Allowed::Nothing => return None,
        }
    }
    let mut results = Vec::new();
    for result in info.results {
        match result.resolve(ty) {
            Allowed::Exactly(exact) => results.push(exact.to_string()),
            _ => return None,
        }
    }
    let names = (0..results.len()).map(|k| format!("v{}", 10 + k)).collect::<Vec<_>>().join(", ");
    let defines = if results.is_empty() { String::new() } else { format!("{names} = ") };
    let suffix = if ty.is_invalid() { String::new() } else { format!(".{ty}") };
    let operands = operands(info, ty, variant);
    let signature = params.iter().filter_map(|param| param.split(' ').nth(1)).collect::<Vec<_>>().join(", ");
    let end = if opcode.is_terminator() { String::new() } else { format!("    return {names}\n") };
    let targets = if opcode == Opcode::Brif { "block1:\n    return\nblock2:\n    return\n" } else { "" };
    let arrow = if results.is_empty() { "" } else { " -> " };
    Some(format!(
        "function %f({signature}){arrow}{} system_v {{\n    ss0 = explicit_slot 32, align = 16\nblock0({}):\n{body}    \
         {defines}{opcode}{suffix} {operands}\n{end}{targets}}}\n",
        results.join(", "),
        params.join(", "),
    ))
}

/// Returns the text after the opcode.
fn operands(info: &OpcodeInfo, ty: Type, variant: &str) -> String {
    let args = (0..info.operands.len()).map(|k| format!("v{k}")).collect::<Vec<_>>().join(", ");
    let last_lane = ty.lane_count() - 1;
    match info.format {
        Format::Nullary | Format::Unary | Format::Binary | Format::Ternary => args,
        Format::UnaryImm => "1".into(),
        Format::UnaryIeee16 | Format::UnaryIeee32 | Format::UnaryIeee64 => "0x1.0".into(),
        Format::UnaryConst if ty.is_invalid() => "0x1.0".into(),
        Format::UnaryConst => format!("0x{}", "01".repeat(ty.bytes() as usize)),
        Format::BinaryImm8 | Format::TernaryImm8 => format!("{args}, {last_lane}"),
        Format::Shuffle => format!("{args}, 0x{}", "10".repeat(16)),
        Format::Trap => "user1".into(),
        Format::CondTrap | Format::IntAddTrap => format!("{args}, user1"),
        Format::Load | Format::Store => format!("{variant} {args}+8"),
        Format::Brif => format!("{args}, block1, block2"),
        Format::IntCompare
        | Format::FloatCompare
        | Format::LoadNoOffset
        | Format::StoreNoOffset
        | Format::AtomicRmw
        | Format::AtomicCas => format!("{variant} {args}"),
        Format::MultiAry
        | Format::StackAddr
        | Format::DynamicStackAddr
        | Format::UnaryGlobalValue
        | Format::FuncAddr
        | Format::ExceptionHandlerAddress
        | Format::Jump
        | Format::BranchTable
        | Format::Call
        | Format::CallIndirect
        | Format::TryCall
        | Format::TryCallIndirect => unreachable!("a function of its own"),
    }
}

/// Returns the function of an opcode whose operands are not only values.
fn with_entities(opcode: Opcode) -> Option<&'static str> {
    Some(match opcode {
        Opcode::Jump => "function %f() system_v { block0: jump block1 block1: return }",
        Opcode::BrTable => {
            "function %f(i32) system_v {
             block0(v0: i32): br_table v0, block1, [block2, block3, block1]
             block1: return
             block2: return
             block3: return }"
        }
        Opcode::Return => "function %f() system_v { block0: return }",
        Opcode::Call => {
            "function %f(i64) -> i64 system_v {
                 fn0 = %g(i64) -> i64 system_v
             block0(v0: i64): v1 = call fn0(v0) return v1 }"
        }
        Opcode::CallIndirect => {
            "function %f(i64) -> i64 system_v {
                 sig0 = (i64) -> i64 system_v
             block0(v0: i64): v1 = call_indirect sig0, v0(v0) return v1 }"
        }
        Opcode::ReturnCall => {
            "function %f(i64) -> i64 tail {
                 fn0 = %g(i64) -> i64 tail
             block0(v0: i64): return_call fn0(v0) }"
        }
        Opcode::ReturnCallIndirect => {
            "function %f(i64) -> i64 tail {
                 sig0 = (i64) -> i64 tail
             block0(v0: i64): return_call_indirect sig0, v0(v0) }"
        }
        Opcode::TryCall => {
            "function %f(i64) -> i64 system_v {
                 sig0 = (i64) -> i64 system_v
                 fn0 = %g sig0
             block0(v0: i64): try_call fn0(v0), sig0, block1(ret0), [ default: block2(exn0) ]
             block1(v1: i64): return v1
             block2(v2: i64): return v2 }"
        }
        Opcode::TryCallIndirect => {
            "function %f(i64) -> i64 system_v {
                 sig0 = (i64) -> i64 system_v
             block0(v0: i64): try_call_indirect v0(v0), sig0, block1(ret0), [ default: block2(exn0) ]
             block1(v1: i64): return v1
             block2(v2: i64): return v2 }"
        }
        Opcode::GetExceptionHandlerAddress => {
            "function %f() -> i64 system_v {
                 sig0 = () system_v
                 fn0 = %g sig0
             block0: v0 = get_exception_handler_address.i64 block1, 0 jump block1
             block1: try_call fn0(), sig0, block2, [ default: block3 ]
             block2: return v0
             block3: return v0 }"
        }
        Opcode::FuncAddr => {
            "function %f() -> i64 system_v {
                 fn0 = %g()
             block0: v0 = func_addr.i64 fn0 return v0 }"
        }
        Opcode::StackAddr => {
            "function %f() -> i64 system_v {
                 ss0 = explicit_slot 8
             block0: v0 = stack_addr.i64 ss0 return v0 }"
        }
        Opcode::DynamicStackAddr => {
            "function %f() -> i64 system_v {
                 gv0 = dyn_scale_target_const.i32x4
                 dt0 = i32x4*gv0
                 dss0 = explicit_dynamic_slot dt0
             block0: v0 = dynamic_stack_addr.i64 dss0 return v0 }"
        }
        Opcode::ExtractVector => {
            "function %f() -> i32x4 system_v {
                 gv0 = dyn_scale_target_const.i32x4
                 dt0 = i32x4*gv0
             block0: v0 = iconst.i32 1 v1 = splat.dt0 v0 v2 = extract_vector v1, 0 return v2 }"
        }
        Opcode::SymbolValue => {
            "function %f() -> i64 system_v {
                 gv0 = symbol %g
             block0: v0 = symbol_value.i64 gv0 return v0 }"
        }
        Opcode::TlsValue => {
            "function %f() -> i64 system_v {
                 gv0 = symbol tls %g
             block0: v0 = tls_value.i64 gv0 return v0 }"
        }
        _ => return None,
    })
}
