//! Rules on CLIF: wrong rules are rejected with a counterexample that runs, and the ledger fits the rules.

use kingpost_rule_verify::{Backend, Options, Prover, SolverChoice, Verdict, check_clif, obligations};
use kingpost_rules::clif::parse;
use std::path::Path;

fn verdict(text: &str, prover: &mut Prover) -> String {
    match parse(text).remove(0).rule.map_or_else(Verdict::Error, |rule| check_clif(&rule, &Options::default(), prover))
    {
        Verdict::Correct => "correct".to_string(),
        Verdict::Wrong(counterexample) => format!("wrong: {}", counterexample.kind.name()),
        Verdict::Unknown(reason) => format!("unknown: {reason}"),
        Verdict::Error(error) => format!("error: {}", error.kind.name()),
    }
}

#[test]
fn wrong_rules_are_refused() {
    if [Backend::Z3, Backend::Cvc5].iter().any(|backend| !backend.is_installed()) {
        assert!(std::env::var_os("CI").is_none(), "a solver is missing");
        eprintln!("SKIPPED: a solver is not installed");
        return;
    }
    let mut prover = Prover::new(SolverChoice::Z3);
    for (expected, text) in [
        ("correct", "rule r : icmp uge (x, band(x, y)) => 1"),
        // Traps are part of the outcome.
        ("wrong: trap", "rule r : sdiv(x, -1) => ineg(x)"),
        ("wrong: trap", "rule r : udiv(x, x) => 1"),
        ("wrong: trap", "rule r : imul(x, 0) => urem(x, x)"),
        ("correct", "rule r : imul(udiv(x, y), 0) => urem(0, y)"),
        // Types and conditions.
        ("wrong: value", "rule r : select(icmp slt (x, y), x, y) => umin(x, y)"),
        ("wrong: value", "rule r : icmp cc (iadd(x, C), y) => icmp cc (x, isub(y, C))"),
        ("correct", "rule r : icmp cc (iadd(x, C), y) => icmp cc (x, isub(y, C)) at cc = eq | ne"),
        ("wrong: value", "rule r : select(icmp slt (x, y), x, y) => select(icmp sle (y, x), x, y)"),
        ("error: type", "rule r : iadd(x, uextend(x)) => x"),
        ("error: unsupported", "rule r : fadd(x, y) => fadd(y, x)"),
        // Instructions that are executed for their effect: the edge, the trap, the address and the bits.
        ("wrong: value", "rule r : brif(icmp eq (x, 0), a, b) => brif(x, a, b)"),
        ("wrong: trap", "rule r : trapz(icmp ne (x, 0)) => trapnz(x)"),
        ("wrong: value", "rule r : istore8(band(x, C), p) => istore8(x, p) where C & 127 == 127"),
        ("error: type", "rule r : istore8(uextend(x: i16), p) => store(x, p)"),
        ("error: type", "rule r : istore16(x: i32, p: i64) => istore16(p, x)"),
        ("wrong: value", "rule r : uload8(p) => sload8(p)"),
        ("wrong: value", "rule r : store(x, iadd(p, C), O) => store(x, p, O - C)"),
        ("wrong: value", "rule r : store(x, p) => store(p, x)"),
        ("correct", "rule r : brif(icmp ne (x, 0), a, b) => brif(x, a, b)"),
        ("correct", "rule r : brif(x, a, a) => jump(a)"),
        ("wrong: value", "rule r : brif(x, a, b) => brif(x, a, a)"),
        ("wrong: value", "rule r : brif(C, a, b) => jump(b) where C != 0"),
        ("wrong: trap", "rule r : trapnz(x) => trap"),
        ("wrong: value", "rule r : store(x: i32, p) => store(bswap(x), p)"),
        ("correct", "rule r : uload32(iadd(p, C), C) => uload32(p, C + C)"),
        // In big-endian order, the bytes of each lane are reversed separately.
        ("error: type", "rule r : store(scalar_to_vector.i32x4(x: i32), p) => store(uextend.i128(x), p) at any"),
        // A NaN may have either sign, but a payload only if an operand has one, and is never signaling.
        ("correct", "rule r : fmul(x: T, fneg(y)) => fneg(fmul(x, y)) at T = f16"),
        ("correct", "rule r : fmin(fneg(x), fneg(y)) => fneg(fmax(x, y))"),
        ("wrong: value", "rule r : fmin(x, x) => x"),
        ("wrong: value", "rule r : fdemote.f32(fpromote.f64(x: f32)) => x"),
        ("wrong: value", "rule r : fneg(fsub(x: T, y)) => fsub(y, x) at T = f16"),
        ("correct", "rule r : fcvt_to_sint.i8(fcvt_from_sint.f16(x: i8)) => x"),
        ("wrong: trap", "rule r : fcvt_to_sint.i32(fcvt_from_sint.f32(x: i64)) => ireduce.i32(x)"),
    ] {
        assert_eq!(verdict(text, &mut prover), expected, "{text}");
    }
}

#[test]
fn counterexamples_show_inputs_and_what_the_interpreter_returns() {
    if !Backend::Z3.is_installed() {
        return;
    }
    let rule = parse("rule r : isub(C, x) => iadd(x, C)").remove(0).rule.unwrap();
    let mut prover = Prover::new(SolverChoice::Z3);
    let Verdict::Wrong(counterexample) = check_clif(&rule, &Options::default(), &mut prover) else { panic!("wrong") };
    let text = counterexample.to_string();
    for part in ["Mismatch in values of i8 r\n", "\nx i8 = 0x", "\nC i8 = 0x", "\nSource value: ", "\nTarget value: "] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// Checks that each rule has a proof. A line of the ledger counts only for the formulas for which it was written.
#[test]
fn the_ledger_fits_the_rules() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules");
    let ledger = std::fs::read_to_string(folder.join("ledger.tsv")).unwrap();
    let mut proved = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "rules") {
            continue;
        }
        for parsed in parse(&std::fs::read_to_string(&path).unwrap()) {
            let rule = parsed.rule.unwrap_or_else(|error| panic!("{}:{error}", path.display()));
            let needed = obligations(&rule).unwrap();
            let line = format!("{}\t{:016x}\t{}\t", rule.name, needed.hash, needed.cases);
            let found = ledger.lines().any(|known| known.starts_with(&line));
            assert!(found, "{} is not proved: kingpost rules prove rules/*.rules", rule.name);
            proved += 1;
        }
    }
    assert_eq!(ledger.lines().count(), proved + 1, "the ledger has lines without a rule");
}
