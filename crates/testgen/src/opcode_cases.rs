//! One function per opcode, controlling type, source type and variant, generated from the opcode table.
//!
//! A new opcode has cases without a change here, unless its format is new or has operands that are not values.
//!
//! ```
//! use kingpost_testgen::opcode_cases;
//!
//! let cases = opcode_cases::all();
//! let sum = cases.iter().find(|case| case.text.contains("iadd.i32")).unwrap();
//! assert!(sum.text.contains("v10 = iadd.i32 v0, v1"));
//! ```

use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::opcodes::Format;
use kingpost_ir::type_class::{Allowed, Constraint, TypeClass};
use kingpost_ir::types::{I32, I64, INVALID};
use kingpost_ir::{Opcode, Type};

/// The scalars, all vectors of 128 and 64 bits, and some shorter ones.
pub const TYPES: [&str; 25] = [
    "i8", "i16", "i32", "i64", "i128", "f16", "f32", "f64", "f128", "i8x16", "i16x8", "i32x4", "i64x2", "f16x8",
    "f32x4", "f64x2", "i8x8", "i16x4", "i32x2", "f16x4", "f32x2", "i8x4", "i16x2", "f16x2", "i8x2",
];

/// A function around one instruction.
#[derive(Clone, Debug)]
pub struct Case {
    /// The opcode of the instruction.
    pub opcode: Opcode,
    /// Condition, operation or byte order; empty if the opcode has only one form.
    pub variant: String,
    /// The controlling type, or `INVALID`.
    pub ty: Type,
    /// The type of the operand that is free in its class.
    pub source: Option<Type>,
    /// The function. Its operands are parameters, and addresses of a stack slot.
    pub text: String,
}

/// Definition of an operand of the instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operand {
    /// A parameter of the function.
    Parameter,
    /// The value of an operand before it, by its index.
    Copy(usize),
    /// The result of other instructions.
    Computed {
        /// Types of parameters, which the text calls `$0`, `$1` and so on.
        parameters: Vec<Type>,
        /// Instructions, one a line, that define the operand `$r`, and may define `$a` to `$d`.
        text: String,
    },
}

impl Operand {
    /// Returns the address of a stack slot.
    pub fn slot() -> Operand {
        Operand::Computed { parameters: Vec::new(), text: "$r = stack_addr.i64 ss0".into() }
    }
}

impl Case {
    /// Returns the types of the operands. Addresses have 64 bits.
    pub fn operand_types(&self) -> Vec<Type> {
        if with_entities(self.opcode).is_some() {
            return Vec::new();
        }
        let types =
            self.opcode.info().operands.iter().enumerate().map(|(k, &operand)| match operand.resolve(self.ty) {
                _ if self.is_address(k) => Some(I64),
                Allowed::Exactly(exact) => Some(exact),
                Allowed::In(_) => self.source,
                Allowed::Nothing => None,
            });
        types.collect::<Option<_>>().expect("cases with a type alone")
    }

    /// Returns the types of the results.
    pub fn result_types(&self) -> Vec<Type> {
        let types = self.opcode.info().results.iter().filter_map(|result| match result.resolve(self.ty) {
            Allowed::Exactly(exact) => Some(exact),
            Allowed::In(_) | Allowed::Nothing => None,
        });
        types.collect()
    }

    /// Returns `true` if the operand with this index is an address of memory.
    pub fn is_address(&self, index: usize) -> bool {
        let info = self.opcode.info();
        is_address(info.operands[index]) || matches!(info.format, Format::Load) && index == 0
    }

    /// Returns the function with other operands, and with another immediate operand, in its place in the text, unless
    /// it is `None`. Opcodes whose operands are not only values have one function only.
    pub fn with(&self, operands: &[Operand], immediate: Option<&str>) -> String {
        match with_entities(self.opcode) {
            Some(text) => text.into(),
            None => function(self, operands, immediate).expect("a case has types"),
        }
    }

    /// Returns instructions that compute the result of the case, which is the only one, from parameters, as the
    /// definition of an operand. Returns `None` for cases with another number of results.
    pub fn as_operand(&self) -> Option<Operand> {
        let [_] = self.result_types()[..] else { return None };
        let parameters = self.operand_types();
        let names: Vec<String> = (0..parameters.len()).map(|k| format!("${k}")).collect();
        let suffix = suffix(self.ty);
        let operands = operands(self, &names, None)?;
        Some(Operand::Computed { parameters, text: format!("$r = {}{suffix} {operands}", self.opcode) })
    }

    /// Returns its type in the form of lists: `-`, `i32`, or `f32<-i64`.
    pub fn type_name(&self) -> String {
        match self.source {
            Some(source) => format!("{}<-{source}", self.wide_type_name()),
            None => self.wide_type_name(),
        }
    }

    /// Returns its type without the source, which represents all sources.
    pub fn wide_type_name(&self) -> String {
        if self.ty.is_invalid() { "-".into() } else { self.ty.to_string() }
    }
}

/// Returns all cases, in the order of the opcode table.
pub fn all() -> Vec<Case> {
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
                let mut case = Case { opcode, variant: variant.clone(), ty, source, text: String::new() };
                let parameter = |k| if case.is_address(k) { Operand::slot() } else { Operand::Parameter };
                let operands: Vec<Operand> = (0..opcode.info().operands.len()).map(parameter).collect();
                let text = function(&case, &operands, None);
                if let Some(text) = text.filter(|_| is_order_of(opcode, ty, source, &variant)) {
                    case.text = text;
                    cases.push(case);
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

/// Returns the function around the instruction, or `None` if an operand or result would have no type. Results are
/// returned.
fn function(case: &Case, definitions: &[Operand], immediate: Option<&str>) -> Option<String> {
    let info = case.opcode.info();
    let (mut params, mut body, mut names) = (Vec::new(), String::new(), Vec::new());
    for (k, definition) in definitions.iter().enumerate() {
        let ty = match info.operands[k].resolve(case.ty) {
            Allowed::Exactly(exact) => exact,
            _ if case.is_address(k) => I64,
            Allowed::In(_) => case.source?,
            Allowed::Nothing => return None,
        };
        let name = match definition {
            Operand::Copy(index) => format!("v{index}"),
            _ => format!("v{k}"),
        };
        match definition {
            Operand::Parameter => params.push(format!("{name}: {ty}")),
            Operand::Copy(_) => {}
            Operand::Computed { parameters, text } => {
                let mut text = text.replace("$r", &name);
                for (number, ty) in parameters.iter().enumerate() {
                    let parameter = format!("v{}", 100 + 10 * k + number);
                    text = text.replace(&format!("${number}"), &parameter);
                    params.push(format!("{parameter}: {ty}"));
                }
                for (number, letter) in ["$a", "$b", "$c", "$d"].into_iter().enumerate() {
                    text = text.replace(letter, &format!("v{}", 200 + 10 * k + number));
                }
                text.lines().for_each(|line| body.push_str(&format!("    {line}\n")));
            }
        }
        names.push(name);
    }
    let results: Vec<String> = case.result_types().iter().map(ToString::to_string).collect();
    if results.len() < info.results.len() {
        return None;
    }
    let defined = (0..results.len()).map(|k| format!("v{}", 10 + k)).collect::<Vec<_>>().join(", ");
    let defines = if results.is_empty() { String::new() } else { format!("{defined} = ") };
    let operands = operands(case, &names, immediate)?;
    let signature = params.iter().filter_map(|param| param.split(' ').nth(1)).collect::<Vec<_>>().join(", ");
    let end = if case.opcode.is_terminator() { String::new() } else { format!("    return {defined}\n") };
    let targets = if case.opcode == Opcode::Brif { BRANCHES } else { "" };
    let arrow = if results.is_empty() { "" } else { " -> " };
    Some(format!(
        "function %f({signature}){arrow}{} system_v {{\n    ss0 = explicit_slot 32, align = 16\nblock0({}):\n{body}    \
         {defines}{}{} {operands}\n{end}{targets}}}\n",
        results.join(", "),
        params.join(", "),
        case.opcode,
        suffix(case.ty),
    ))
}

/// The destinations of a branch, which end in different ways.
const BRANCHES: &str = "block1:\n    return\nblock2:\n    trap user1\n";

fn suffix(ty: Type) -> String {
    if ty.is_invalid() { String::new() } else { format!(".{ty}") }
}

/// Returns the text after the opcode, or `None` for formats with operands that are not values.
fn operands(case: &Case, names: &[String], immediate: Option<&str>) -> Option<String> {
    let (ty, variant) = (case.ty, &case.variant);
    let args = names.join(", ");
    let last_lane = ty.lane_count() - 1;
    Some(match case.opcode.info().format {
        Format::Nullary | Format::Unary | Format::Binary | Format::Ternary => args,
        Format::UnaryImm => immediate.unwrap_or("1").into(),
        Format::UnaryIeee16 | Format::UnaryIeee32 | Format::UnaryIeee64 => immediate.unwrap_or("0x1.0").into(),
        Format::UnaryConst if ty.is_invalid() => "0x1.0".into(),
        Format::UnaryConst => format!("0x{}", "01".repeat(ty.bytes() as usize)),
        Format::BinaryImm8 | Format::TernaryImm8 => format!("{args}, {last_lane}"),
        Format::Shuffle => format!("{args}, 0x{}", "10".repeat(16)),
        Format::Trap => "user1".into(),
        Format::CondTrap | Format::IntAddTrap => format!("{args}, user1"),
        Format::Load | Format::Store => format!("{variant} {args}{}", immediate.unwrap_or("+8")),
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
        | Format::TryCallIndirect => return None,
    })
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
