//! Checks that the optimizer's replacements keep the values of instructions. Each simplification in our tests, in
//! generated programs and in functions that are hard to optimize is evaluated by the meanings of opcodes, on corner
//! cases and random operands. A solver proves a sample.
//!
//! `KINGPOST_PROGRAMS` is the number of generated programs.

use cranelift_entity::EntityRef;
use kingpost_ir::analyses::Analyses;
use kingpost_ir::{Function, InstData, Opcode, Type, Value as IrValue, ValueDef};
use kingpost_opt::rewrite::Effect;
use kingpost_opt::{Observer, Optimizer, Subject};
use kingpost_semantics::{Immediate, Operand, Operation, outcome, stored};
use kingpost_smt::{Answer, Backend, Bits, Evaluator, Model, Query, Solver, Sort, Term, Terms, Value};
use kingpost_testgen::{ir, worst_cases};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PROGRAMS: u64 = 250;
/// Minimum number of simplifications that are judged.
const LEAST: usize = 10_000;
/// Number of operands that are tried for each.
const TRIES: usize = 8;
/// One in this many simplifications is proved as well.
const PROVED: usize = 100;
/// Depths to which expressions are expanded. The first is usually enough; the second covers everything that one
/// instruction of the input can become.
const DEPTHS: [u32; 2] = [6, 96];

#[derive(Default, Debug)]
struct Counts {
    judged: usize,
    proved: usize,
    /// Simplifications without a meaning: floats of 128 bits or in lanes, vectors of more than 128 bits.
    unknown: usize,
    wrong: Vec<String>,
}

/// Judge of simplifications. If it is faulty, it flips the lowest bit of each replacement, to test that errors are
/// detected.
#[derive(Debug)]
struct Judge {
    counts: Arc<Mutex<Counts>>,
    random: u64,
    solver: Option<Mutex<Solver>>,
    is_faulty: bool,
}

impl Judge {
    fn new(is_faulty: bool) -> (Judge, Arc<Mutex<Counts>>) {
        let counts = Arc::new(Mutex::new(Counts::default()));
        let solver = Backend::Z3.is_installed().then(|| Mutex::new(Solver::new(Backend::Z3)));
        (Judge { counts: Arc::clone(&counts), random: 0x9e37_79b9_7f4a_7c15, solver, is_faulty }, counts)
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// Returns a small number, a single bit, a number near the limits, or any number.
    fn operand(&mut self, width: u32) -> Bits {
        let any = u128::from(self.random()) << 64 | u128::from(self.random());
        let bits = match self.random() % 5 {
            0 => any % 3,
            1 => !(any % 3),
            2 => 1 << (any % u128::from(width)),
            3 => (1 << (width - 1)) - any % 2,
            _ => any,
        };
        Bits::new(width, bits)
    }

    /// Returns `true` if a formula holds for all operands that were tried.
    fn holds(&mut self, terms: &Terms, formula: Term) -> bool {
        let variables = terms.variables_of(&[formula]);
        (0..TRIES).all(|_| {
            let mut model = Model::default();
            for &variable in &variables {
                let bits = self.operand(terms.width(variable));
                model.set(terms.name(variable).unwrap_or_default(), Value::Bits(bits));
            }
            Evaluator::new(terms, &[formula], &model).value(formula).is_true()
        })
    }

    /// Returns whether a solver finds no operands for which a formula fails; `None` if it cannot decide.
    fn is_proved(&mut self, terms: &mut Terms, formula: Term) -> Option<bool> {
        let fails = terms.not(formula);
        let answer =
            self.solver.as_mut()?.get_mut().unwrap().check(terms, &Query::new(fails), Duration::from_millis(200));
        match answer.expect("the solver answers") {
            Answer::Unsat => Some(true),
            Answer::Sat(_) => Some(false),
            Answer::Unknown => None,
        }
    }
}

impl Observer for Judge {
    fn simplified(&mut self, func: &Function, subject: Subject, value: IrValue) {
        for depth in DEPTHS {
            let mut terms = Terms::raw();
            let Some(formula) = Meanings::new(func, &mut terms, self.is_faulty).keeps(subject, value, depth) else {
                self.counts.lock().unwrap().unknown += 1;
                return;
            };
            if !self.holds(&terms, formula) {
                continue;
            }
            let judged = self.counts.lock().unwrap().judged;
            let is_proved = if judged.is_multiple_of(PROVED) { self.is_proved(&mut terms, formula) } else { None };
            if is_proved == Some(false) && depth != DEPTHS[DEPTHS.len() - 1] {
                continue;
            }
            let mut counts = self.counts.lock().unwrap();
            counts.judged += 1;
            counts.proved += usize::from(is_proved == Some(true));
            if is_proved != Some(false) {
                return;
            }
        }
        let mut counts = self.counts.lock().unwrap();
        counts.judged += 1;
        counts.wrong.push(format!("{subject:?} became {value} in\n{func}"));
    }

    fn replaced(&mut self, func: &Function, before: &InstData, effect: Effect) {
        for depth in DEPTHS {
            let mut terms = Terms::raw();
            let meanings = Meanings::new(func, &mut terms, self.is_faulty);
            let Some(formula) = meanings.keeps_effect(before, effect, depth) else {
                self.counts.lock().unwrap().unknown += 1;
                return;
            };
            if self.holds(&terms, formula) {
                self.counts.lock().unwrap().judged += 1;
                return;
            }
        }
        let mut counts = self.counts.lock().unwrap();
        counts.judged += 1;
        counts.wrong.push(format!("{before:?} became {effect:?} in\n{func}"));
    }
}

/// Values of a function as terms.
struct Meanings<'a> {
    func: &'a Function,
    terms: &'a mut Terms,
    values: HashMap<IrValue, Term>,
    is_faulty: bool,
}

impl<'a> Meanings<'a> {
    fn new(func: &'a Function, terms: &'a mut Terms, is_faulty: bool) -> Meanings<'a> {
        Meanings { func, terms, values: HashMap::new(), is_faulty }
    }

    /// Returns a formula that holds if `value` equals the value of `subject`, or if `subject` traps. `None` if
    /// there is no meaning.
    fn keeps(&mut self, subject: Subject, value: IrValue, depth: u32) -> Option<Term> {
        let fits = |ty: Type| !ty.is_dynamic_vector() && ty.bits() <= 128;
        if !fits(self.func.dfg.value_type(value)) {
            return None;
        }
        let mut roots: Vec<IrValue> = vec![value];
        match subject {
            Subject::Request(data) => roots.extend(data.args()),
            Subject::Condition(condition) => roots.push(condition),
        }
        self.open(roots, depth);
        let mut after = self.values[&value];
        if self.is_faulty {
            let one = self.terms.number(self.terms.width(after), 1);
            after = self.terms.bit_xor(after, one);
        }
        match subject {
            Subject::Request(data) => {
                let (before, trap) = self.inst(&data)?;
                let zero = self.terms.number(8, 0);
                let (no_trap, equal) = (self.terms.eq(trap, zero), self.terms.eq(before, after));
                Some(self.terms.implies(no_trap, equal))
            }
            Subject::Condition(condition) => {
                let before = self.values[&condition];
                let [before, after] = [before, after].map(|side| {
                    let zero = self.terms.number(self.terms.width(side), 0);
                    self.terms.eq(side, zero)
                });
                Some(self.terms.eq(before, after))
            }
        }
    }

    /// Returns a formula that holds if an effect equals the effect of the instruction before: it traps in equal
    /// cases, takes an equal edge, or moves equal bits to or from an equal address. `None` if there is no meaning.
    fn keeps_effect(mut self, before: &InstData, effect: Effect, depth: u32) -> Option<Term> {
        let mut roots = before.args().to_vec();
        match effect {
            Effect::Inst(after) => roots.extend(after.args()),
            Effect::Branch(value, _) => roots.push(value),
            Effect::Nothing | Effect::Jump(_) => {}
        }
        self.open(roots, depth);
        let faulty = u128::from(self.is_faulty);
        // Branches to one destination may take either edge.
        let equal = match effect {
            Effect::Inst(after) => {
                let (before, after) = (self.effect(before)?, self.effect(&after)?);
                let same_place = self.terms.eq(before[0], after[0]);
                let width = self.terms.width(before[1]);
                if width != self.terms.width(after[1]) {
                    return None;
                }
                let fault = self.terms.number(width, faulty);
                let moved = self.terms.bit_xor(after[1], fault);
                let same_bits = self.terms.eq(before[1], moved);
                self.terms.and(same_place, same_bits)
            }
            Effect::Nothing => {
                let [_, trap] = self.effect(before)?;
                let none = self.terms.number(8, faulty);
                self.terms.eq(trap, none)
            }
            Effect::Jump(edge) => {
                let taken = self.edge(before.args()[0], [0, 1]);
                let only = self.terms.number(8, edge as u128 ^ faulty);
                let is_constant = self.terms.eq(taken, only);
                if self.terms.value(taken).is_none() { return None } else { is_constant }
            }
            Effect::Branch(value, edges) => {
                let taken = self.edge(before.args()[0], [0, 1]);
                let now = self.edge(value, edges.map(|edge| edge as u128 ^ faulty));
                self.terms.eq(taken, now)
            }
        };
        Some(equal)
    }

    fn edge(&mut self, condition: IrValue, [then, otherwise]: [u128; 2]) -> Term {
        let condition = self.values[&condition];
        let zero = self.terms.number(self.terms.width(condition), 0);
        let is_zero = self.terms.eq(condition, zero);
        let (then, otherwise) = (self.terms.number(8, then), self.terms.number(8, otherwise));
        self.terms.ite(is_zero, otherwise, then)
    }

    /// Returns the address and the bits of an access; for a trap, zero and whether it traps.
    fn effect(&mut self, inst: &InstData) -> Option<[Term; 2]> {
        let zero = self.terms.number(8, 0);
        match (inst.opcode(), inst.args()) {
            (Opcode::Trap, _) => Some([zero, self.terms.number(8, 1)]),
            (Opcode::Trapz, &[x]) => Some([zero, self.edge(x, [0, 1])]),
            (Opcode::Trapnz, &[x]) => Some([zero, self.edge(x, [1, 0])]),
            (opcode, args) => {
                let base = self.values[args.last()?];
                let offset = Bits::new(self.terms.width(base), i128::from(inst.offset()) as u128);
                let offset = self.terms.constant(offset);
                let place = self.terms.add(base, offset);
                let moved = match *args {
                    [x, _] => {
                        let (ty, bits) = (self.func.dfg.value_type(x), self.values[&x]);
                        stored(self.terms, opcode, Operand { ty, bits })?
                    }
                    _ => self.terms.number(8, opcode as u128),
                };
                Some([place, moved])
            }
        }
    }

    /// Makes terms of values and of their operands, down to a depth. The term of a value is its instruction if all
    /// operands of that instruction are within the depth, and a variable otherwise.
    fn open(&mut self, roots: Vec<IrValue>, depth: u32) {
        let mut within: HashSet<IrValue> = HashSet::new();
        let mut layer = roots.clone();
        for _ in 0..=depth {
            layer.retain(|&value| within.insert(value));
            let insts = layer.iter().filter_map(|&value| self.definition(value));
            layer = insts.flat_map(|data| data.args().to_vec()).collect();
        }
        let mut work = roots;
        while let Some(&value) = work.last() {
            let inside = |data: &InstData| data.args().iter().all(|arg| within.contains(arg));
            let data = self.definition(value).filter(inside);
            let args = data.map_or(Vec::new(), |data| data.args().to_vec());
            let open: Vec<IrValue> = args.into_iter().filter(|arg| !self.values.contains_key(arg)).collect();
            if !open.is_empty() {
                work.extend(open);
                continue;
            }
            let term = data.and_then(|data| self.inst(&data)).map(|(term, _)| term);
            let term = term.unwrap_or_else(|| self.variable(value));
            self.values.entry(value).or_insert(term);
            work.pop();
        }
    }

    fn variable(&mut self, value: IrValue) -> Term {
        let bits = self.func.dfg.value_type(value).bits().min(128);
        let name = format!("v{}", value.index());
        // The results of extending loads are known to be extended.
        let opcode = self.func.dfg.first_result_of(value).map(|inst| self.func.dfg.inst(inst).opcode());
        match opcode {
            Some(Opcode::Uload8) => self.extended(&name, 8, bits),
            Some(Opcode::Uload16) => self.extended(&name, 16, bits),
            Some(Opcode::Uload32) => self.extended(&name, 32, bits),
            _ => self.terms.var(&name, Sort::Bits(bits.max(1))),
        }
    }

    fn extended(&mut self, name: &str, from: u32, to: u32) -> Term {
        let loaded = self.terms.var(name, Sort::Bits(from));
        self.terms.zero_extend(loaded, to)
    }

    /// Returns the instruction whose only result a value is, if it depends on nothing but its operands.
    fn definition(&self, value: IrValue) -> Option<InstData> {
        let ValueDef::Result(inst, 0) = self.func.dfg.value_def(value) else { return None };
        let data = *self.func.dfg.inst(inst);
        let is_pure = !data.opcode().has_side_effects() && !data.opcode().is_call() && !data.opcode().is_terminator();
        let fits = |ty: Type| !ty.is_dynamic_vector() && ty.bits() <= 128;
        let all_fit = data.args().iter().all(|&arg| fits(self.func.dfg.value_type(arg)));
        let supported = is_pure && all_fit && fits(self.func.dfg.value_type(value));
        (supported && self.func.dfg.inst_results(inst).len() == 1).then_some(data)
    }

    /// Returns the value and the trap of an instruction whose operands have terms.
    fn inst(&mut self, inst: &InstData) -> Option<(Term, Term)> {
        let zero = self.terms.number(8, 0);
        if inst.opcode() == Opcode::Iconst {
            let bits = inst.iconst_bits()?;
            return Some((self.terms.number(inst.controlling_type().bits(), bits.into()), zero));
        }
        let type_of = |value: IrValue| self.func.dfg.value_type(value);
        let operands: Vec<Operand> =
            inst.args().iter().map(|&arg| Operand { ty: type_of(arg), bits: self.values[&arg] }).collect();
        let immediate = match (inst.int_cond(), inst.float_cond(), inst.opcode()) {
            (Some(condition), ..) => Immediate::Condition(condition),
            (_, Some(condition), _) => Immediate::FloatCondition(condition),
            (_, _, Opcode::Extractlane | Opcode::Insertlane) => Immediate::Lane(inst.small()),
            _ => Immediate::None,
        };
        let operation = Operation { opcode: inst.opcode(), ty: inst.controlling_type(), immediate };
        let outcome = outcome(self.terms, &operation, &operands)?;
        Some((*outcome.results.first()?, outcome.trap))
    }
}

/// Optimizes functions, and returns the counts of a judge that observes the optimizer.
fn judged(functions: impl IntoIterator<Item = Function>, is_faulty: bool) -> Counts {
    let (judge, counts) = Judge::new(is_faulty);
    let (mut optimizer, mut analyses) = (Optimizer::default().observed_by(Box::new(judge)), Analyses::default());
    for mut func in functions {
        func.dfg.resolve_all_aliases();
        optimizer.run_all(&mut func, &mut analyses);
    }
    std::mem::take(&mut counts.lock().unwrap())
}

/// Returns the functions of our own tests of a folder.
fn filetests(folder: &str) -> Vec<Function> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests").join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "clif"));
    paths.sort();
    paths.iter().flat_map(|path| kingpost_reader::parse_functions(std::fs::read(path).unwrap()).unwrap()).collect()
}

fn functions() -> impl Iterator<Item = Function> {
    let programs = std::env::var("KINGPOST_PROGRAMS").map_or(PROGRAMS, |count| count.parse().expect("a number"));
    let cases = worst_cases::CASES.iter().map(|(_, make)| make(300));
    let hard = cases.flat_map(|text| kingpost_reader::parse_functions(text).unwrap());
    let generated = (0..programs).flat_map(|seed| ir::generate(seed).functions);
    let folders = ["run/opcodes", "run/vectors", "run/abi", "run/regalloc", "run/regressions", "opt"];
    folders.into_iter().flat_map(filetests).chain(hard).chain(generated)
}

#[test]
fn what_is_simplified_keeps_its_value() {
    let Counts { judged, proved, unknown, wrong } = judged(functions(), false);
    println!("{judged} judged, {proved} of them proved, {unknown} without a meaning");
    assert!(wrong.is_empty(), "{} wrong: {}", wrong.len(), wrong[0]);
    assert!(judged >= LEAST && judged > 20 * unknown, "{judged} judged, {unknown} without a meaning");
}

#[test]
fn what_is_wrong_is_seen() {
    let Counts { judged, wrong, .. } = judged(filetests("run/opcodes"), true);
    assert!(100 * wrong.len() > 98 * judged && judged > 100, "{} of {judged}", wrong.len());
}
