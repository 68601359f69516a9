//! Functions of regalloc2's generator: regalloc2's checker and ours accept our answers, and ours accepts regalloc2's.
//!
//! `KINGPOST_CASES=1000000` runs more cases. `cargo test -p kingpost-regalloc2 -- --nocapture` prints the weighted
//! costs.

use arbitrary::Unstructured;
use kingpost_regalloc2::{NAMES, Refusal, allocator, check, cost, run};
use kingpost_testgen::rng::Rng;
use regalloc2::checker::Checker;
use regalloc2::fuzzing::func::{Func, Options, machine_env};
use regalloc2::{Algorithm, MachineEnv, Output, RegallocOptions};

/// The generator's options for the tests of regalloc2's own allocator.
const OPTIONS: Options = Options {
    reused_inputs: true,
    fixed_regs: true,
    fixed_nonallocatable: true,
    clobbers: true,
    reftypes: true,
    callsite_ish_constraints: true,
    ..Options::DEFAULT
};

/// Returns a generated function, or `None` if the generator has none for these bytes.
fn generate(seed: u64) -> Option<Func> {
    let mut rng = Rng::new(seed);
    // Most functions are small.
    let length = 1 << rng.range(6..14);
    let bytes: Vec<u8> = (0..length).map(|_| rng.bits() as u8).collect();
    let options = Options { num_blocks: 1..=1 << rng.range(1..6), ..OPTIONS };
    Func::arbitrary_with_options(&mut Unstructured::new(&bytes), &options).ok()
}

fn upstream_accepts(func: &Func, env: &MachineEnv, output: &Output) -> Result<(), String> {
    let mut checker = Checker::new(func, env);
    checker.prepare(output);
    checker.run().map_err(|errors| format!("{errors:?}"))
}

/// Returns the weighted cost in loads.
fn loads(func: &Func, env: &MachineEnv, output: &Output) -> f64 {
    cost(func, env, output).unwrap().iter().map(|cost| cost.loads()).sum()
}

/// Removes an edit from outputs. Both checkers agree on the results.
#[test]
fn both_checkers_reject_outputs_without_an_edit() {
    let env = machine_env();
    let mut verdicts = [0; 2];
    for seed in 0..400 {
        let Some(func) = generate(seed) else { continue };
        let mut output = run(&func, &env, allocator("linear").unwrap().as_mut()).unwrap();
        if output.edits.is_empty() {
            continue;
        }
        let removed = output.edits.remove(Rng::new(seed).range(0..output.edits.len()));
        let accepted = upstream_accepts(&func, &env, &output);
        let ours = check(&func, &env, &output);
        assert_eq!(accepted.is_ok(), ours.is_ok(), "seed {seed}: {accepted:?} {ours:?}, without {removed:?}\n{func:?}");
        verdicts[usize::from(accepted.is_ok())] += 1;
    }
    assert!(verdicts[0] > 100, "{verdicts:?}");
}

#[test]
fn both_checkers_accept_the_answers() {
    let cases: u64 = std::env::var("KINGPOST_CASES").map_or(1000, |text| text.parse().expect("a number of cases"));
    let env = machine_env();
    let mut allocators = NAMES.map(|name| allocator(name).unwrap());
    let mut names: Vec<&str> = NAMES.to_vec();
    names.push("regalloc2");
    let mut costs = vec![0.0; names.len()];
    let mut refused = std::collections::BTreeMap::<String, u64>::new();
    let mut count = 0;
    for seed in 0..cases {
        let Some(func) = generate(seed) else { continue };
        count += 1;
        let mut outputs = Vec::new();
        for allocator in &mut allocators {
            match run(&func, &env, allocator.as_mut()) {
                Ok(output) => {
                    if let Err(error) = upstream_accepts(&func, &env, &output) {
                        panic!("seed {seed}, {}: regalloc2's checker: {error}\n{func:?}\n{output:?}", allocator.name());
                    }
                    outputs.push(output);
                }
                Err(Refusal::Unsupported(what)) => *refused.entry(what.to_string()).or_default() += 1,
                Err(error) => panic!("seed {seed}, {}: {error}\n{func:?}", allocator.name()),
            }
        }
        let options = RegallocOptions { algorithm: Algorithm::Ion, ..RegallocOptions::default() };
        outputs.push(regalloc2::run(&func, &env, &options).unwrap());
        for (output, name) in outputs.iter().zip(&names) {
            if let Err(error) = check(&func, &env, output) {
                panic!("seed {seed}, {name}: our checker: {error}\n{func:?}\n{output:?}");
            }
        }
        if outputs.len() == names.len() {
            for (sum, output) in costs.iter_mut().zip(&outputs) {
                *sum += loads(&func, &env, output);
            }
        }
    }
    println!("{count} functions, refused {refused:?}");
    for (name, sum) in names.iter().zip(&costs) {
        println!("{name:12} {sum:.0} loads, {:.3} of regalloc2's", sum / costs.last().unwrap());
    }
    assert!(count > cases / 2, "{count} of {cases} functions");
}
