//! Comparison of the meanings with the interpreter, for every opcode with a meaning, at every type, on corner cases
//! and random operands.
//!
//! `KINGPOST_CASES` is the minimum number of cases for each opcode, over all its types and immediates.

use kingpost_interpreter::{DataValue, Environment, Interpreter, Stop};
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::opcodes::Suffix;
use kingpost_ir::type_class::{Allowed, Constraint};
use kingpost_ir::{Format, Opcode, TrapCode, Type, types};
use kingpost_semantics::{Immediate, Operand, Operation, access_bits, by_halves, loaded, outcome, stored};
use kingpost_smt::{Bits, Evaluator, Model, Sort, Term, Terms, Value};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of operands for each opcode at each combination of types and each immediate.
const CASES: usize = 300;
/// Minimum number of cases in all.
const LEAST_CASES: usize = 1_000_000;

/// A small generator (Marsaglia, Xorshift RNGs, 2003).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns the bits of a random value: small, sparse, near the limits, or arbitrary.
    fn bits(&mut self, ty: Type) -> u128 {
        let any = u128::from(self.next()) << 64 | u128::from(self.next());
        let lane = ty.lane_bits();
        let exponent = match lane {
            16 => 5,
            32 => 8,
            64 => 11,
            _ => 15.min(lane - 1),
        };
        let bits = match self.next() % 6 {
            0 => any % 4,
            1 => (1 << (any % u128::from(lane))) - any % 3 % 2,
            2 => !(any % 4),
            3 => (1 << (lane - 1)) ^ (any % 3),
            // Infinities of floats.
            4 => ((any % 2) << exponent | ((1 << exponent) - 1)) << (lane - 1 - exponent),
            _ => any,
        };
        // Half of the vectors have equal lanes; the lanes of the other half differ in random bits.
        let copies = (0..ty.lane_count()).fold(0, |all, index| all | (bits & ty.lane_mask()) << (index * lane));
        if self.next().is_multiple_of(2) { copies } else { copies ^ any & u128::from(self.next()) }
    }
}

/// An instruction whose meaning is compared.
struct Subject {
    opcode: Opcode,
    ctrl: Type,
    operands: Vec<Type>,
    immediate: Immediate,
    /// The instruction's text between the opcode and the operands. The next field is the text after the operands.
    condition: String,
    trailing: String,
}

impl Subject {
    /// Returns a function that executes the instruction on its parameters.
    fn text(&self, results: &[Type]) -> String {
        let info = self.opcode.info();
        let params: Vec<String> = self.operands.iter().enumerate().map(|(i, ty)| format!("v{i}: {ty}")).collect();
        let types: Vec<String> = self.operands.iter().map(Type::to_string).collect();
        let result_types: Vec<String> = results.iter().map(Type::to_string).collect();
        let names: Vec<String> = (0..results.len()).map(|i| format!("v{}", 100 + i)).collect();
        let operands: Vec<String> = (0..self.operands.len()).map(|i| format!("v{i}")).collect();
        let suffix = if info.suffix == Suffix::Required { format!(".{}", self.ctrl) } else { String::new() };
        let defines = if names.is_empty() { String::new() } else { format!("{} = ", names.join(", ")) };
        let returns = if results.is_empty() { String::new() } else { format!(" -> {}", result_types.join(", ")) };
        format!(
            "function %f({}){returns} {{\nblock0({}):\n    {defines}{}{suffix} {}{}{}\n    return {}\n}}\n",
            types.join(", "),
            params.join(", "),
            self.opcode,
            self.condition,
            operands.join(", "),
            self.trailing,
            names.join(", "),
        )
    }
}

/// Returns the operand types allowed at a place.
fn choices(constraint: Constraint, ctrl: Type) -> Vec<Type> {
    let fits = |ty: &Type| !ty.is_dynamic_vector() && ty.bits() <= 128;
    match constraint.resolve(ctrl) {
        Allowed::Exactly(ty) => vec![ty],
        Allowed::In(set) => set.iter().filter(fits).collect(),
        Allowed::Nothing => Vec::new(),
    }
}

/// Returns every combination of operand types.
fn combinations(constraints: &[Constraint], ctrl: Type) -> Vec<Vec<Type>> {
    constraints.iter().fold(vec![Vec::new()], |all, &constraint| {
        let choices = choices(constraint, ctrl);
        all.iter().flat_map(|head| choices.iter().map(move |&ty| [head.as_slice(), &[ty]].concat())).collect()
    })
}

/// Returns immediates with their text before and after the operands.
fn immediates(terms: &mut Terms, opcode: Opcode, ctrl: Type) -> Vec<(Immediate, String, String)> {
    let none = String::new;
    match opcode.format() {
        Format::IntCompare => {
            IntCC::ALL.iter().map(|&cc| (Immediate::Condition(cc), format!("{cc} "), none())).collect()
        }
        Format::FloatCompare => {
            FloatCC::ALL.iter().map(|&cc| (Immediate::FloatCondition(cc), format!("{cc} "), none())).collect()
        }
        Format::BinaryImm8 | Format::TernaryImm8 => [0, ctrl.lane_count().saturating_sub(1)]
            .map(|lane| (Immediate::Lane(lane as u8), none(), format!(", {lane}")))
            .to_vec(),
        Format::CondTrap | Format::IntAddTrap => {
            let code = TrapCode::user(7).expect("a code");
            vec![(Immediate::Code(terms.number(8, code.byte().into())), none(), format!(", {code}"))]
        }
        _ => vec![(Immediate::None, none(), none())],
    }
}

/// Compares the meaning with the interpreter on many operands. Returns the number of cases, or zero if the opcode
/// has no meaning at these types.
fn compare(subject: &Subject, terms: &mut Terms, random: &mut Random, cases: usize) -> usize {
    let operands: Vec<Operand> = subject
        .operands
        .iter()
        .enumerate()
        .map(|(index, &ty)| Operand { ty, bits: terms.var(&format!("v{index}.{ty}"), Sort::Bits(ty.bits())) })
        .collect();
    let operation = Operation { opcode: subject.opcode, ty: subject.ctrl, immediate: subject.immediate };
    let Some(outcome) = outcome(terms, &operation, &operands) else { return 0 };
    let results: Vec<Type> =
        subject.opcode.info().results.iter().map(|constraint| choices(*constraint, subject.ctrl)[0]).collect();
    let text = subject.text(&results);
    let functions =
        kingpost_reader::parse_functions(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let environment = Environment::new(&functions);
    let mut interpreter = Interpreter::new(&environment);
    // A NaN result may be one of several; the interpreter's NaN must be one of them.
    let any = outcome.nan.as_ref().map(|nan| (nan, terms.var("any NaN", Sort::Bits(results[0].bits()))));
    let allowed = any.map(|(nan, any)| [nan.open, nan.allows(terms, any)]);
    let roots: Vec<Term> =
        outcome.results.iter().copied().chain([outcome.trap]).chain(allowed.into_iter().flatten()).collect();
    let mut evaluator = Evaluator::prepare(terms, &roots);
    let function = environment.by_word("f").expect("the function");
    let (mut values, mut model) = (Vec::new(), Model::default());
    for _ in 0..cases {
        values.clear();
        values.extend(subject.operands.iter().map(|&ty| DataValue::new(ty, random.bits(ty))));
        for (value, operand) in values.iter().zip(&operands) {
            let bits = Bits::new(operand.ty.bits(), value.bits());
            model.set(terms.name(operand.bits).unwrap_or_default(), Value::Bits(bits));
        }
        let theirs = interpreter.call_id(function, &values);
        if let (Some(_), Ok(theirs)) = (&allowed, &theirs) {
            model.set("any NaN", Value::Bits(Bits::new(results[0].bits(), theirs[0].bits())));
        }
        evaluator.evaluate(&model);
        if let Some([open, allowed]) = allowed
            && evaluator.value(open).is_true()
        {
            assert!(evaluator.value(allowed).is_true(), "{text}for {values:?}: {theirs:?}");
            continue;
        }
        let bits = |term: Term| evaluator.value(term).bits().map_or(0, Bits::unsigned);
        let ours = match TrapCode::from_byte(bits(outcome.trap) as u8) {
            Some(code) => Err(Stop::Trap(code)),
            None => {
                Ok(results.iter().zip(&outcome.results).map(|(&ty, &term)| DataValue::new(ty, bits(term))).collect())
            }
        };
        assert_eq!(ours, theirs, "{text}for {values:?}");
    }
    cases
}

/// Compares an opcode in `least` cases or more, equally many at all types and immediates. Returns the number of
/// cases, or zero if the opcode has no meaning. Each opcode has its own sequence of operands.
fn compare_opcode(opcode: Opcode, least: usize) -> usize {
    let info = opcode.info();
    let controlling: Vec<Type> = match info.suffix {
        Suffix::None => vec![types::INVALID],
        _ => info.class.set().iter().filter(|ty| !ty.is_dynamic_vector() && ty.bits() <= 128).collect(),
    };
    let subjects: Vec<(Type, Vec<Type>)> = controlling
        .into_iter()
        .flat_map(|ctrl| combinations(info.operands, ctrl).into_iter().map(move |operands| (ctrl, operands)))
        .collect();
    let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(2 * opcode as u64 + 1));
    let mut each_subject = |cases: usize| {
        let mut compared = 0;
        for (ctrl, operands) in &subjects {
            for raw in [true, false] {
                let mut terms = if raw { Terms::raw() } else { Terms::new() };
                for (immediate, condition, trailing) in immediates(&mut terms, opcode, *ctrl) {
                    let (ctrl, operands) = (*ctrl, operands.clone());
                    let subject = Subject { opcode, ctrl, operands, immediate, condition, trailing };
                    compared += compare(&subject, &mut terms, &mut random, cases);
                }
            }
        }
        compared
    };
    let first = each_subject(CASES);
    let rounds = least.saturating_sub(first).div_ceil(first.max(1));
    first + if first == 0 || rounds == 0 { 0 } else { each_subject(CASES * rounds) }
}

/// Compares the bits that a store leaves in a stack slot of ones, and the bits that a load reads from known bits.
#[test]
fn accesses_agree_with_the_interpreter() {
    let (mut random, mut compared) = (Random(0x9e37_79b9_7f4a_7c15), 0);
    for &opcode in Opcode::ALL {
        let info = opcode.info();
        let types = info.class.set().iter().filter(|ty| !ty.is_dynamic_vector() && ty.bits() <= 128);
        for ty in types {
            let is_load = opcode.format() == Format::Load;
            let value_type = if is_load { choices(info.results[0], ty)[0] } else { ty };
            if access_bits(opcode, value_type).is_none()
                || matches!(info.suffix, Suffix::From(_)) && is_load && ty != types::I64
            {
                continue;
            }
            let suffix = if info.suffix == Suffix::Required { format!(".{ty}") } else { String::new() };
            let (params, access, returned) = match is_load {
                true => (
                    "v0: i64, v1: i64".to_string(),
                    format!("store v0, v9\n    store v1, v9+8\n    v2 = {opcode}{suffix} v9"),
                    ty,
                ),
                false => (
                    format!("v0: {ty}"),
                    format!(
                        "v1 = iconst.i64 -1\n    store v1, v9\n    store v1, v9+8\n    {opcode} v0, v9\n    v3 = load.i64 v9\n    v4 = load.i64 v9+8\n    v2 = iconcat v3, v4"
                    ),
                    types::I128,
                ),
            };
            let returned = if is_load { value_type } else { returned };
            let kinds = if is_load { "i64, i64".to_string() } else { ty.to_string() };
            let text = format!(
                "function %f({kinds}) -> {returned} {{\n    ss0 = explicit_slot 16\nblock0({params}):\n    v9 = stack_addr.i64 ss0\n    {access}\n    return v2\n}}\n"
            );
            let functions =
                kingpost_reader::parse_functions(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
            let environment = Environment::new(&functions);
            for _ in 0..CASES {
                let arguments: Vec<DataValue> = if is_load {
                    [types::I64; 2].map(|ty| DataValue::new(ty, random.bits(ty))).to_vec()
                } else {
                    vec![DataValue::new(ty, random.bits(ty))]
                };
                let theirs = Interpreter::new(&environment).call("f", &arguments).expect("no trap")[0].bits();
                let mut terms = Terms::raw();
                let width = access_bits(opcode, value_type).expect("an access");
                let ours = if is_load {
                    let all = arguments[0].bits() | arguments[1].bits() << 64;
                    let contents = terms.constant(Bits::new(width, all));
                    loaded(&mut terms, opcode, value_type, contents).expect("a load")
                } else {
                    let bits = terms.constant(Bits::new(ty.bits(), arguments[0].bits()));
                    stored(&mut terms, opcode, Operand { ty, bits }).expect("a store")
                };
                let ours =
                    Evaluator::new(&terms, &[ours], &Model::default()).value(ours).bits().expect("bits").unsigned();
                let ours = if is_load || width == 128 { ours } else { ours | u128::MAX << width };
                assert_eq!(ours, theirs, "{text}for {arguments:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 20 * CASES, "{compared}");
}

#[test]
fn meanings_agree_with_the_interpreter() {
    let least = std::env::var("KINGPOST_CASES").map_or(0, |count| count.parse().expect("a number"));
    let opcodes: Vec<Opcode> =
        Opcode::ALL.iter().copied().filter(|opcode| !opcode.is_terminator() && !opcode.is_call()).collect();
    let next = AtomicUsize::new(0);
    let work = || -> Vec<usize> {
        let opcodes = std::iter::from_fn(|| opcodes.get(next.fetch_add(1, Ordering::Relaxed)));
        opcodes.map(|&opcode| compare_opcode(opcode, least)).filter(|&cases| cases > 0).collect()
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let counts: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no difference")).collect()
    });
    let (opcodes, cases) = (counts.len(), counts.iter().sum::<usize>());
    println!("{opcodes} opcodes, {cases} cases, at least {} of each", counts.iter().min().copied().unwrap_or_default());
    assert!(cases >= LEAST_CASES && opcodes >= 80, "{opcodes} opcodes, {cases} cases");
}

#[test]
fn sums_by_halves_are_sums() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut terms = Terms::new();
    for opcode in [Opcode::Iadd, Opcode::Isub] {
        let operation = Operation { opcode, ty: types::I128, immediate: Immediate::None };
        for _ in 0..10_000 {
            let [x, y] = [random.bits(types::I128), random.bits(types::I128)].map(|bits| terms.number(128, bits));
            let operands = [x, y].map(|bits| Operand { ty: types::I128, bits });
            let whole = outcome(&mut terms, &operation, &operands).unwrap().results[0];
            assert_eq!(by_halves(&mut terms, opcode, [x, y]), Some(whole), "{opcode}");
        }
    }
}
