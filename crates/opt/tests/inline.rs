//! Inlining: the interpreter agrees on programs before and after it.
//!
//! `KINGPOST_CASES=100000` runs more cases.

use kingpost_interpreter::{DataValue, Environment, Interpreter, Limits, Stop};
use kingpost_ir::analyses::Analyses;
use kingpost_ir::extfunc::{ExternalName, FuncName};
use kingpost_ir::verifier::verify;
use kingpost_ir::{FuncRef, Function, Inst, Opcode, TrapCode, Value};
use kingpost_opt::Optimizer;
use kingpost_opt::inline::{Inline, InlineCommand, Refusal, inline_calls};
use kingpost_testgen::ir::{Program, TARGET, generate};
use std::collections::BTreeMap;

/// Programs in each run.
const CASES: u64 = 300;
/// Instructions that the interpreter may execute for one call.
const FUEL: u64 = 300_000;
/// Limit of a caller, in instructions.
const LIMIT: usize = 3000;

/// Inlines calls of functions with a name, as long as the caller is small.
struct ByName<'a> {
    bodies: &'a [Function],
    refusals: &'a mut BTreeMap<String, usize>,
    opcodes: &'a mut BTreeMap<Opcode, usize>,
}

impl Inline for ByName<'_> {
    fn inline(
        &mut self,
        caller: &Function,
        _: Inst,
        opcode: Opcode,
        callee: FuncRef,
        _: &[Value],
    ) -> InlineCommand<'_> {
        let name = match &caller.dfg.ext_funcs[callee].name {
            ExternalName::Named(name) => FuncName::Named(name.to_string()),
            &ExternalName::User(user) => {
                let (namespace, index) = caller.user_names[user];
                FuncName::User(namespace, index)
            }
            ExternalName::LibCall(_) | ExternalName::KnownSymbol(_) => return InlineCommand::KeepCall,
        };
        match self.bodies.iter().find(|body| body.name == name) {
            Some(body) if caller.dfg.num_insts() + body.dfg.num_insts() < LIMIT => {
                *self.opcodes.entry(opcode).or_default() += 1;
                InlineCommand::Inline { callee: body, visit_callee: false }
            }
            _ => InlineCommand::KeepCall,
        }
    }

    fn decided(&mut self, _: &Function, _: FuncRef, outcome: Result<(), Refusal>) {
        if let Err(refusal) = outcome {
            *self.refusals.entry(refusal.to_string()).or_default() += 1;
        }
    }
}

#[derive(PartialEq, Debug)]
enum Outcome {
    Returned(Vec<DataValue>),
    Trapped(TrapCode),
}

/// Returns the outcomes of the inputs; `None` if the interpreter cannot run the program.
fn outcomes(program: &Program) -> Result<Vec<Outcome>, Stop> {
    let environment = Environment::new(&program.functions);
    let mut interpreter = Interpreter::with_limits(&environment, Limits::default().with(|limits| limits.fuel = FUEL));
    let entry = environment.by_index(0).expect("a program has functions");
    let types: Vec<_> = program.functions[0].signature.params.iter().map(|param| param.value_type).collect();
    let mut call = |input: &Vec<u64>| {
        let pairs = types.iter().zip(input);
        let arguments: Vec<DataValue> = pairs.map(|(&ty, &bits)| DataValue::new(ty, bits.into())).collect();
        match interpreter.call_id(entry, &arguments) {
            Ok(values) => Ok(Outcome::Returned(values)),
            Err(Stop::Trap(code)) => Ok(Outcome::Trapped(code)),
            Err(stop) => Err(stop),
        }
    };
    program.inputs.iter().map(&mut call).collect()
}

#[test]
fn the_interpreter_agrees_on_inlined_programs() {
    let cases = std::env::var("KINGPOST_CASES").map_or(CASES, |text| text.parse().unwrap());
    let (mut refusals, mut opcodes) = (BTreeMap::new(), BTreeMap::new());
    let (mut optimizer, mut analyses) = (Optimizer::default(), Analyses::default());
    let (mut inlined, mut compared) = (0, 0);
    for seed in 0..cases {
        let program = generate(seed);
        let Ok(before) = outcomes(&program) else { continue };
        let mut after = program.clone();
        // Each function calls only later ones.
        for index in (0..after.functions.len()).rev() {
            let (callers, bodies) = after.functions.split_at_mut(index + 1);
            let mut policy = ByName { bodies, refusals: &mut refusals, opcodes: &mut opcodes };
            let caller = &mut callers[index];
            inlined += inline_calls(caller, &mut policy);
            if let Err(errors) = verify(caller, Some(TARGET)) {
                panic!("seed {seed}: {}", errors.pretty(caller));
            }
        }
        assert_eq!(outcomes(&after).unwrap(), before, "seed {seed}, inlined");
        for function in &mut after.functions {
            function.dfg.resolve_all_aliases();
            optimizer.run_all(function, &mut analyses);
        }
        assert_eq!(outcomes(&after).unwrap(), before, "seed {seed}, inlined and optimized");
        compared += 1;
    }
    println!("{inlined} calls inlined in {compared} programs; of {opcodes:?}; refused: {refusals:?}");
    assert!(inlined as u64 > cases / 2, "{inlined} calls");
    for opcode in [Opcode::Call, Opcode::ReturnCall, Opcode::TryCall] {
        assert!(opcodes.contains_key(&opcode), "no {opcode}");
    }
}

/// Checks that the blocks of a body have their frequencies times the frequency of the call, and that cold code stays cold.
#[test]
fn frequencies_of_bodies_are_scaled() {
    const TEXT: &str = "
function %f(i32) -> i32 system_v {
    fn0 = %g(i32) -> i32 system_v
block0(v0: i32):
    jump block1
block1:
    v1 = call fn0(v0)
    return v1
}
function %g(i32) -> i32 system_v {
block0(v0: i32):
    brif v0, block1, block2
block1:
    return v0
block2 cold:
    return v0
}";
    let scaled = |runs: Option<f64>| {
        let [mut caller, mut callee] =
            <[Function; 2]>::try_from(kingpost_reader::parse_functions(TEXT).unwrap()).unwrap();
        if let (Some(runs), Some(block)) = (runs, caller.layout.last_block()) {
            caller.set_block_frequency(block, runs);
        }
        let used = callee.layout.blocks().nth(1).unwrap();
        callee.set_block_frequency(used, 0.5);
        let (refusals, opcodes) = (&mut BTreeMap::new(), &mut BTreeMap::new());
        assert_eq!(inline_calls(&mut caller, &mut ByName { bodies: &[callee], refusals, opcodes }), 1);
        let blocks: Vec<_> = caller.layout.blocks().collect();
        blocks.into_iter().map(|block| caller.layout.frequency(block)).collect::<Vec<_>>()
    };
    assert_eq!(scaled(None), [None, None, None, None, Some(1), None]);
    assert_eq!(scaled(Some(4.0)), [None, Some(4096), Some(4096), Some(2048), Some(1), Some(4096)]);
    assert_eq!(scaled(Some(0.0)), [None, Some(1), Some(1), Some(1), Some(1), Some(1)]);
}
