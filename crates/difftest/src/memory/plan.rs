//! Cases: their accesses, their texts, and simpler ones for shrinking.

use kingpost_ir::types::I64;
use kingpost_ir::{TrapCode, Type};
use kingpost_testgen::rng::Rng;

/// Computation of an address from `v0`, the base, and `v1`, the index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Base,
    Index,
    Constant,
    Scaled,
    /// The index is 32 bits wide, and is extended with zeros or its sign.
    ZeroExtended,
    SignExtended,
    /// The sum of index and constant wraps at 32 bits.
    WrappedSum,
    /// The shifted index wraps at 32 bits.
    WrappedShift,
    ScaledSum,
}

const FORMS: [Form; 9] = [
    Form::Index,
    Form::Base,
    Form::Constant,
    Form::Scaled,
    Form::ZeroExtended,
    Form::SignExtended,
    Form::WrappedSum,
    Form::WrappedShift,
    Form::ScaledSum,
];

/// A shape of address.
#[derive(Clone, PartialEq, Eq, Debug)]
struct AddressShape {
    form: Form,
    shift: u32,
    /// Whether the amount of the shift is as wide as the shifted value, and the base is added first.
    wide: bool,
    constant: i32,
    /// Displacement of the access.
    displacement: i32,
}

impl AddressShape {
    fn new(rng: &mut Rng) -> AddressShape {
        let displacement = match rng.range(0..4) {
            0 => 0,
            1 => rng.range(0..256) as i32 - 128,
            2 => rng.bits() as i32,
            _ => i32::MAX - rng.range(0..2) as i32,
        };
        AddressShape {
            displacement,
            shift: rng.range(0..5) as u32,
            constant: [rng.bits() as i32, -(rng.range(1..200) as i32), rng.range(0..5000) as i32][rng.range(0..3)],
            wide: rng.chance(50),
            form: FORMS[rng.range(0..FORMS.len())],
        }
    }

    fn index_type(&self) -> &'static str {
        match self.form {
            Form::ZeroExtended | Form::SignExtended | Form::WrappedSum | Form::WrappedShift => "i32",
            Form::Base | Form::Index | Form::Constant | Form::Scaled | Form::ScaledSum => "i64",
        }
    }

    /// Returns lines that compute `v10`, to which the access adds its displacement.
    fn lines(&self) -> String {
        let AddressShape { shift, wide, constant, .. } = *self;
        let scaled = |index: &str| match (shift, wide) {
            (0, _) => format!("    v10 = iadd v0, {index}\n"),
            (_, true) => {
                format!("    v8 = iconst.i64 {shift}\n    v9 = ishl {index}, v8\n    v10 = iadd v0, v9\n")
            }
            (_, false) => {
                format!("    v8 = iconst.i8 {shift}\n    v9 = ishl {index}, v8\n    v10 = iadd v9, v0\n")
            }
        };
        match self.form {
            Form::Base => "    v10 -> v0\n".into(),
            Form::Index => "    v10 = iadd v0, v1\n".into(),
            Form::Constant => format!("    v4 = iconst.i64 {constant}\n    v10 = iadd v0, v4\n"),
            Form::Scaled => scaled("v1"),
            Form::ZeroExtended => "    v5 = uextend.i64 v1\n".to_string() + &scaled("v5"),
            Form::SignExtended => "    v5 = sextend.i64 v1\n".to_string() + &scaled("v5"),
            Form::WrappedSum => {
                let sum = format!("    v4 = iconst.i32 {constant}\n    v5 = iadd v1, v4\n    v6 = uextend.i64 v5\n");
                sum + &scaled("v6")
            }
            Form::WrappedShift => {
                let shifted = format!("    v4 = iconst.i32 {shift}\n    v5 = ishl v1, v4\n    v6 = uextend.i64 v5\n");
                shifted + "    v10 = iadd v0, v6\n"
            }
            Form::ScaledSum => format!("    v4 = iconst.i64 {constant}\n    v5 = iadd v1, v4\n") + &scaled("v5"),
        }
    }

    /// Returns the accessed address minus the base, for an index.
    fn offset(&self, index: u64) -> u64 {
        let AddressShape { shift, constant, .. } = *self;
        let narrow = index as u32;
        let offset = match self.form {
            Form::Base => 0,
            Form::Index => index,
            Form::Constant => constant as u64,
            Form::Scaled => index << shift,
            Form::ZeroExtended => u64::from(narrow) << shift,
            Form::SignExtended => (i64::from(narrow as i32) << shift) as u64,
            Form::WrappedSum => u64::from(narrow.wrapping_add(constant as u32)) << shift,
            Form::WrappedShift => u64::from(narrow << shift),
            Form::ScaledSum => index.wrapping_add(constant as u64) << shift,
        };
        offset.wrapping_add(self.displacement as u64)
    }

    /// Returns the shapes that are one step simpler.
    fn simpler(&self) -> Vec<AddressShape> {
        let candidates = [
            AddressShape { form: Form::Base, ..self.clone() },
            AddressShape { form: Form::Index, ..self.clone() },
            AddressShape { form: Form::Scaled, ..self.clone() },
            AddressShape { shift: 0, ..self.clone() },
            AddressShape { wide: true, ..self.clone() },
            AddressShape { constant: 1, ..self.clone() },
            AddressShape { displacement: 0, ..self.clone() },
            AddressShape { displacement: 8, ..self.clone() },
        ];
        // Only towards the front of each list, so that shrinking terminates.
        let rank = |shape: &AddressShape| {
            let form = [Form::Base, Form::Index, Form::Scaled].iter().position(|&form| form == shape.form);
            let displacement = [0, 8].iter().position(|&displacement| displacement == shape.displacement);
            (form.unwrap_or(3), shape.shift, !shape.wide, shape.constant != 1, displacement.unwrap_or(2))
        };
        candidates.into_iter().filter(|shape| rank(shape) < rank(self)).collect()
    }
}

/// A load: opcode with suffix, bytes, type of the result.
const LOADS: &[(&str, usize, &str)] = &[
    ("load.i8", 1, "i8"),
    ("load.i16", 2, "i16"),
    ("load.i32", 4, "i32"),
    ("load.i64", 8, "i64"),
    ("load.f32", 4, "f32"),
    ("load.f64", 8, "f64"),
    ("uload8.i16", 1, "i16"),
    ("uload8.i32", 1, "i32"),
    ("uload8.i64", 1, "i64"),
    ("sload8.i16", 1, "i16"),
    ("sload8.i32", 1, "i32"),
    ("sload8.i64", 1, "i64"),
    ("uload16.i32", 2, "i32"),
    ("uload16.i64", 2, "i64"),
    ("sload16.i32", 2, "i32"),
    ("sload16.i64", 2, "i64"),
    ("uload32.i64", 4, "i64"),
    ("sload32.i64", 4, "i64"),
];

/// Uses of a loaded integer `v50` and `v2` of type `T`, and the type of the result `v60`.
const INT_USES: &[(&str, &str)] = &[
    ("v60 = iadd v50, v2", "T"),
    ("v60 = iadd v2, v50", "T"),
    ("v60 = isub v50, v2", "T"),
    ("v60 = isub v2, v50", "T"),
    ("v60 = band v2, v50", "T"),
    ("v60 = bor v2, v50", "T"),
    ("v60 = bxor v50, v2", "T"),
    ("v60 = imul v2, v50", "T"),
    ("v61 = iconst.T 12\nv60 = imul v50, v61", "T"),
    ("v61 = iconst.T 12\nv60 = iadd v50, v61", "T"),
    ("v61 = iconst.T 12\nv60 = icmp ult v50, v61", "i8"),
    ("v60 = umulhi v2, v50", "T"),
    ("v60 = icmp slt v50, v2", "i8"),
    ("v60 = icmp ugt v2, v50", "i8"),
    ("v60 = icmp eq v50, v50", "i8"),
    ("v61 = icmp eq v50, v2\nv60 = select v61, v50, v2", "T"),
    ("v60 = select v2, v50, v2", "T"),
    ("v60 = select v50, v2, v2", "T"),
    ("v60 = smax v50, v2", "T"),
    ("v60 = ishl v50, v2", "T"),
    ("v60 = ishl v2, v50", "T"),
    ("v60 = rotr v2, v50", "T"),
    ("v60 = popcnt v50", "T"),
    ("v60 = clz v50", "T"),
    ("v60 = ctz v50", "T"),
    ("v60 = bnot v50", "T"),
    ("v60 = ineg v50", "T"),
    ("v60 = bmask.i32 v50", "i32"),
    ("v61 = iconst.T 1\nv62 = bor v50, v61\nv60 = udiv v2, v62", "T"),
    ("v61 = iconst.T 1\nv62 = bor v2, v61\nv60 = urem v50, v62", "T"),
    ("v60, v61 = uadd_overflow v2, v50", "T"),
    ("v60 = fcvt_from_sint.f64 v50", "f64"),
    ("v60 = fcvt_from_uint.f32 v50", "f32"),
    ("v60 -> v50", "T"),
];

/// Uses of a loaded integer that change the width; see [`INT_USES`].
const WIDENING: &[(&str, &str)] = &[("v60 = uextend.i64 v50", "i64"), ("v60 = sextend.i64 v50", "i64")];
const NARROWING: &[(&str, &str)] =
    &[("v60 = ireduce.i8 v50", "i8"), ("v61 = ireduce.i8 v50\nv60 = uextend.i32 v61", "i32")];

/// Uses of a loaded float; see [`INT_USES`]. No result is a NaN with undefined bits.
const FLOAT_USES: &[(&str, &str)] = &[
    ("v61 = fadd v2, v50\nv60 = fcmp lt v61, v50", "i8"),
    ("v61 = fsub v2, v50\nv60 = fcmp gt v61, v50", "i8"),
    ("v61 = fmul v50, v2\nv60 = fcmp uno v61, v50", "i8"),
    ("v61 = fdiv v2, v50\nv60 = fcmp ge v61, v2", "i8"),
    ("v61 = sqrt v50\nv60 = fcmp eq v61, v2", "i8"),
    ("v61 = fmin v2, v50\nv60 = fcmp eq v61, v50", "i8"),
    ("v60 = fcmp lt v50, v2", "i8"),
    ("v60 = fcmp ne v2, v50", "i8"),
    ("v60 = fneg v50", "T"),
    ("v60 = fabs v50", "T"),
    ("v60 = fcopysign v2, v50", "T"),
    ("v60 = bxor v2, v50", "T"),
    ("v61 = ceil v50\nv60 = fcmp le v61, v50", "i8"),
    ("v60 = fcvt_to_sint_sat.i32 v50", "i32"),
    ("v60 = fcvt_to_uint_sat.i64 v50", "i64"),
    ("v61 = fcmp lt v50, v2\nv60 = select v61, v50, v2", "T"),
    ("v60 -> v50", "T"),
];

/// Stores: opcode, bytes, type of the stored value.
const STORES: &[(&str, usize, &str)] = &[
    ("store", 1, "i8"),
    ("store", 2, "i16"),
    ("store", 4, "i32"),
    ("store", 8, "i64"),
    ("store", 4, "f32"),
    ("store", 8, "f64"),
    ("istore8", 1, "i16"),
    ("istore8", 1, "i64"),
    ("istore16", 2, "i32"),
    ("istore32", 4, "i64"),
];

/// The loaded value is used unchanged.
const LOADED: (&str, &str) = ("v60 -> v50", "T");
const OPERAND: (&str, &str) = ("v60 -> v2", "T");

/// An access to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    shape: AddressShape,
    /// Flags of the accesses.
    flags: usize,
    /// An index in [`LOADS`].
    load: Option<usize>,
    /// Operation on `v2` and the loaded value.
    middle: (&'static str, &'static str),
    /// An index in [`STORES`] for a plan that only stores; a plan that loads stores back as many bytes.
    store: Option<usize>,
    stores_back: bool,
}

const FLAGS: [&str; 3] = ["", " notrap", " user7"];

/// A native function and the meaning of the code between its load and its store.
pub(super) struct Case {
    pub(super) plan: Plan,
    pub(super) native: String,
    pub(super) oracle: String,
    /// Number of loaded bytes, whether they are sign-extended, and to how many bits.
    pub(super) load: Option<(usize, bool, u32)>,
    /// Number of stored bytes.
    pub(super) store: Option<usize>,
    pub(super) code: Option<TrapCode>,
    /// The type of the loaded value and of the other operand.
    pub(super) ty: Type,
}

fn bits_of(ty: &str) -> u32 {
    ty[1..].parse().unwrap_or(64)
}

impl Plan {
    pub(super) fn new(rng: &mut Rng) -> Plan {
        let (shape, flags) = (AddressShape::new(rng), rng.range(0..FLAGS.len()));
        if rng.chance(65) {
            let load = rng.range(0..LOADS.len());
            let ty = LOADS[load].2;
            let uses = match ty.starts_with('f') {
                true => FLOAT_USES,
                false if rng.chance(10) && ty != "i64" => WIDENING,
                false if rng.chance(10) && ty != "i8" => NARROWING,
                false => INT_USES,
            };
            let middle = uses[rng.range(0..uses.len())];
            return Plan { shape, flags, load: Some(load), middle, store: None, stores_back: rng.chance(40) };
        }
        let store = rng.range(0..STORES.len());
        let middle = match rng.range(0..3) {
            0 if STORES[store].2.starts_with('i') => ("v60 = iconst.T -2", "T"),
            1 if STORES[store].2.starts_with('i') => ("v61 = iconst.T 3\nv60 = iadd v2, v61", "T"),
            _ => OPERAND,
        };
        Plan { shape, flags, load: None, middle, store: Some(store), stores_back: false }
    }

    /// Returns the number of bytes from the base to the access.
    pub(super) fn offset(&self, index: u64) -> u64 {
        self.shape.offset(index)
    }

    /// Returns the plans that are one step simpler, the largest steps first.
    pub(super) fn simpler(&self) -> Vec<Plan> {
        let plainest = if self.load.is_some() { LOADED } else { OPERAND };
        let plain = (self.middle != plainest).then(|| Plan { middle: plainest, ..self.clone() });
        let loads = self.stores_back.then(|| Plan { stores_back: false, ..self.clone() });
        let flagless = (self.flags != 0).then(|| Plan { flags: 0, ..self.clone() });
        let shapes = self.shape.simpler().into_iter().map(|shape| Plan { shape, ..self.clone() });
        plain.into_iter().chain(loads).chain(shapes).chain(flagless).collect()
    }

    /// Returns the case, whose functions have this number in their names.
    pub(super) fn case(&self, number: usize) -> Case {
        let flags = FLAGS[self.flags];
        let code = [Some(TrapCode::HEAP_OUT_OF_BOUNDS), None, TrapCode::user(7)][self.flags];
        let place = match self.shape.displacement {
            0 => "v10".to_string(),
            displacement => format!("v10{displacement:+}"),
        };
        let loads = self.load.map(|load| LOADS[load]);
        let stores = self.store.map(|store| STORES[store]);
        let ty = loads.or(stores).map_or("i64", |(.., ty)| ty);
        let result = if self.middle.1 == "T" { ty } else { self.middle.1 };
        let before = loads.map_or_else(String::new, |(opcode, ..)| format!("    v50 = {opcode}{flags} {place}\n"));
        let middle = self.middle.0.replace("iconst.T", &format!("iconst.{ty}"));
        let middle: String = middle.lines().map(|line| format!("    {line}\n")).collect();
        let store = stores.map(|(opcode, size, _)| (opcode, size)).or_else(|| {
            // Some results are stored where the operand was loaded.
            let (size, width) = (loads?.1, bits_of(result) as usize / 8);
            let opcode = match size {
                _ if width == size => "store",
                1 => "istore8",
                2 => "istore16",
                _ => "istore32",
            };
            let possible = width == size || !result.starts_with('f') && width > size;
            (self.stores_back && possible).then_some((opcode, size))
        });
        let (returned, end) = match store {
            None => (result, "    return v60\n".to_string()),
            Some((opcode, _)) => {
                let store = format!("    {opcode}{flags} v60, {place}\n");
                ("i64", store + "    v70 = load.i64 notrap v3\n    return v70\n")
            }
        };
        let (index_type, lines) = (self.shape.index_type(), self.shape.lines());
        let native = format!(
            "function %f{number}(i64, {index_type}, {ty}, i64) -> {returned} {{\n\
             block0(v0: i64, v1: {index_type}, v2: {ty}, v3: i64):\n{lines}{before}{middle}{end}}}\n"
        );
        let oracle = format!(
            "function %g{number}({ty}, {ty}) -> {result} {{\nblock0(v50: {ty}, v2: {ty}):\n{middle}    return v60\n}}\n"
        );
        Case {
            plan: self.clone(),
            native,
            oracle,
            load: loads.map(|(opcode, size, ty)| (size, opcode.starts_with('s'), bits_of(ty))),
            store: store.map(|(_, size)| size),
            code,
            ty: Type::from_name(ty.as_bytes()).unwrap_or(I64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simpler_plans_end_and_are_valid() {
        for seed in 0..200 {
            let mut plan = Plan::new(&mut Rng::new(seed));
            let mut steps = 0;
            while let Some(next) = plan.simpler().pop() {
                let case = next.case(0);
                let text = case.native + &case.oracle;
                let functions = kingpost_reader::parse_functions(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
                functions.iter().for_each(|f| assert_eq!(kingpost_ir::verifier::verify(f, None), Ok(()), "{text}"));
                (plan, steps) = (next, steps + 1);
                assert!(steps < 40);
            }
        }
    }
}
