//! Functions around one instruction whose operands have every form that lowering distinguishes.

use kingpost_ir::opcodes::Format;
use kingpost_ir::types::{I8, I16, I32, I64, I128};
use kingpost_ir::{Opcode, Type};
use kingpost_testgen::opcode_cases::{Case, Operand};
use std::collections::BTreeSet;

/// Numbers of each class of immediates: fields of 8, 12, 16 and 32 bits at both of their ends, shifted ones, patterns of
/// bits, powers of two and their neighbors, divisors.
const NUMBERS: [i64; 41] = [
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    10,
    16,
    0x7f,
    0x80,
    0xff,
    0x100,
    0xfff,
    0x1000,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0xff_f000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 32,
    1 << 40,
    0x0f0f_0f0f_0f0f_0f0f,
    0x1234_5678_9abc_def0,
    i64::MAX,
    i64::MIN,
    -1,
    -2,
    -3,
    -5,
    -8,
    -128,
    -129,
    -4096,
    -0x8000_0000,
    -0x8000_0001,
];

/// Numbers for operands that have an immediate form on no machine, or that change places with another operand.
const FEW_NUMBERS: [i64; 6] = [0, 1, -1, 5, 0x1000, 0x1234_5678_9abc_def0];

const FLOATS: [&str; 7] = ["0.0", "-0.0", "0x1.0", "-0x1.8p3", "0x1.0p31", "+Inf", "+NaN"];

/// Offsets of addresses: each field at its ends, scaled or not, and larger ones.
const OFFSETS: [&str; 14] =
    ["", "+1", "+8", "-8", "+127", "+128", "+255", "+256", "-256", "+4088", "+4095", "+32760", "+32768", "+2147483647"];

/// Returns the functions of a case. `comparisons` are the conditions that branches and selections
/// read.
pub(crate) fn functions(case: &Case, comparisons: &[Operand]) -> Vec<String> {
    let types = case.operand_types();
    let plain = vec![Operand::Parameter; types.len()];
    let mut texts = vec![case.with(&plain, None)];
    texts.extend(immediates(case).iter().map(|immediate| case.with(&plain, Some(immediate))));
    for (k, &ty) in types.iter().enumerate() {
        for form in forms(case, k, ty, comparisons) {
            let mut operands = plain.clone();
            operands[k] = form;
            texts.push(case.with(&operands, None));
        }
        for earlier in (0..k).filter(|&earlier| types[earlier] == ty) {
            let mut operands = plain.clone();
            operands[k] = Operand::Copy(earlier);
            texts.push(case.with(&operands, None));
        }
    }
    texts
}

/// Returns the immediate operands of a case besides the usual one.
fn immediates(case: &Case) -> Vec<String> {
    let words = |all: &[&str]| all.iter().map(ToString::to_string).collect();
    match case.opcode.info().format {
        Format::UnaryImm => numbers(case.ty, &NUMBERS).iter().map(ToString::to_string).collect(),
        Format::UnaryIeee32 | Format::UnaryIeee64 => words(&FLOATS),
        Format::Load | Format::Store => words(&OFFSETS),
        _ => Vec::new(),
    }
}

/// Returns the distinct numbers of a type, in two's complement.
fn numbers(ty: Type, all: &[i64]) -> BTreeSet<i64> {
    let unused = 64 - ty.bits().min(64);
    all.iter().map(|&number| number << unused >> unused).collect()
}

/// Returns the forms of an operand besides a parameter.
fn forms(case: &Case, index: usize, ty: Type, comparisons: &[Operand]) -> Vec<Operand> {
    if case.is_address(index) {
        let count = if case.ty == I128 { 3 } else { usize::MAX };
        return addresses().into_iter().take(count).collect();
    }
    let mut forms = constants(case, index, ty);
    forms.push(computed(&[I64], format!("$r = load.{ty} $0+16")));
    if ty.is_int() {
        forms.extend(changed(ty));
    }
    if case.opcode.info().operand_names[index] == "c" && ty == I8 {
        forms.extend(comparisons.iter().cloned());
    }
    forms
}

fn computed(parameters: &[Type], text: impl Into<String>) -> Operand {
    Operand::Computed { parameters: parameters.to_vec(), text: text.into() }
}

fn addresses() -> Vec<Operand> {
    let scaled = |scale| computed(&[I64, I64], format!("$a = iconst.i64 {scale}\n$b = ishl $1, $a\n$r = iadd $0, $b"));
    let extended = |opcode| {
        let text = format!("$a = {opcode}.i64 $1\n$b = iconst.i64 2\n$c = ishl $a, $b\n$r = iadd $0, $c");
        computed(&[I64, I32], text)
    };
    let mut forms = vec![Operand::slot(), computed(&[I64, I64], "$r = iadd $0, $1")];
    forms.extend((0..=4).map(scaled));
    forms.extend(["uextend", "sextend"].map(extended));
    forms.extend(
        ["uextend", "sextend"].map(|opcode| computed(&[I64, I32], format!("$a = {opcode}.i64 $1\n$r = iadd $0, $a"))),
    );
    forms.extend(
        [-8_i64, 40, 4096, 1 << 33]
            .map(|offset| computed(&[I64], format!("$a = iconst.i64 {offset}\n$r = iadd $0, $a"))),
    );
    forms
}

/// Returns the constants of an operand. Amounts of shifts are exhaustive for operands of one type.
fn constants(case: &Case, index: usize, ty: Type) -> Vec<Operand> {
    let is_shift = matches!(case.opcode, Opcode::Ishl | Opcode::Ushr | Opcode::Sshr | Opcode::Rotl | Opcode::Rotr);
    let is_amount = is_shift && index == 1;
    if ty.is_float() {
        if ty.bits() == 32 || ty.bits() == 64 {
            return FLOATS.iter().map(|value| computed(&[], format!("$r = {ty}const {value}"))).collect();
        }
        return Vec::new();
    }
    let numbers = match index {
        1 if is_amount && ty == I8 => numbers(ty, &(0..=i64::from(case.ty.bits()) + 1).collect::<Vec<_>>()),
        1 if is_amount => numbers(ty, &FEW_NUMBERS),
        1 if case.ty != I128 => numbers(ty, &NUMBERS),
        _ => numbers(ty, &FEW_NUMBERS),
    };
    if ty != I128 {
        return numbers.iter().map(|number| computed(&[], format!("$r = iconst.{ty} {number}"))).collect();
    }
    // Their code has no immediate operands of its own.
    let wide = |low: i64, high: i64| {
        computed(&[], format!("$a = iconst.i64 {low}\n$b = iconst.i64 {high}\n$r = iconcat $a, $b"))
    };
    vec![wide(0, 0), wide(1, 0), wide(-1, -1), wide(0, 1), wide(5, 7)]
}

/// Returns operands that an instruction of a machine may compute on the way: extended, shifted, masked, negated, or a sum
/// or product.
fn changed(ty: Type) -> Vec<Operand> {
    let narrower = [I8, I16, I32, I64].into_iter().filter(|narrow| narrow.bits() < ty.bits());
    let extended = narrower
        .clone()
        .flat_map(|narrow| ["uextend", "sextend"].map(|opcode| computed(&[narrow], format!("$r = {opcode}.{ty} $0"))));
    let mut forms: Vec<Operand> = extended.collect();
    if ty == I128 {
        return forms;
    }
    let loaded = narrower.flat_map(|narrow| {
        let bits = narrow.bits();
        let suffix = if bits == 32 { String::new() } else { format!(".{ty}") };
        ["uload", "sload"].map(|opcode| computed(&[I64], format!("$r = {opcode}{bits}{suffix} $0+16")))
    });
    forms.extend(loaded);
    for opcode in ["bnot", "ineg"] {
        forms.push(computed(&[ty], format!("$r = {opcode} $0")));
    }
    for opcode in ["iadd", "isub", "imul", "bxor"] {
        forms.push(computed(&[ty, ty], format!("$r = {opcode} $0, $1")));
    }
    for (opcode, number) in [("ishl", 3), ("ushr", 3), ("sshr", 3), ("rotr", 3)] {
        forms.push(computed(&[ty], format!("$a = iconst.{ty} {number}\n$r = {opcode} $0, $a")));
    }
    for mask in numbers(ty, &[1, 0xff, 0xffff, 0xffff_ffff, 0xff0]) {
        forms.push(computed(&[ty], format!("$a = iconst.{ty} {mask}\n$r = band $0, $a")));
    }
    forms
}
