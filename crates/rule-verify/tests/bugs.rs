//! Wrong rules of real compilers, as they were before their fixes. Each must be rejected, and each counterexample
//! is executed or evaluated.

use kingpost_rule_verify::{Backend, Options, Prover, SolverChoice, Verdict, check, check_clif};
use kingpost_rules::{RuleError, clif, parse};

fn prover() -> Option<Prover> {
    if Backend::Z3.is_installed() && Backend::Cvc5.is_installed() {
        return Some(Prover::new(SolverChoice::Z3));
    }
    assert!(std::env::var_os("CI").is_none(), "a solver is missing");
    eprintln!("SKIPPED: a solver is not installed");
    None
}

/// Checks that `judge` returns the expected verdict on each rule.
fn expect(bugs: &[(u32, &str, &str)], judge: impl Fn(&str) -> Result<Verdict, RuleError>) {
    for (number, expected, text) in bugs {
        let found = match judge(text).unwrap_or_else(Verdict::Error) {
            Verdict::Correct => "correct".to_string(),
            Verdict::Wrong(counterexample) => format!("wrong: {}", counterexample.kind.name()),
            Verdict::Unknown(reason) => format!("unknown: {reason}"),
            Verdict::Error(error) => format!("error: {}", error.kind.name()),
        };
        assert_eq!(found, *expected, "{number}: {text}");
    }
}

/// Rules of LLVM, by the numbers of their bug reports. Lopes, Menendez, Nagarakatte, Regehr: Provably Correct
/// Peephole Optimizations with Alive, 2015.
const INSTCOMBINE: [(u32, &str, &str); 8] = [
    (20186, "wrong: definedness", "%a = sdiv %x, C\n%r = sub 0, %a\n=>\n%r = sdiv %x, -C"),
    (20189, "wrong: poison", "%b = sub 0, %a\n%r = sub nsw %x, %b\n=>\n%r = add nsw %x, %a"),
    (21242, "wrong: poison", "Pre: isPowerOf2(C)\n%r = mul nsw %x, C\n=>\n%r = shl nsw %x, log2(C)"),
    (21243, "wrong: value", "Pre: !WillNotOverflowSignedMul(C1, C2)\n%q = sdiv %x, C1\n%r = sdiv %q, C2\n=>\n%r = 0"),
    (
        21245,
        "wrong: value",
        "Pre: C2 % (1 << C1) == 0\n%s = shl nsw %x, C1\n%r = sdiv %s, C2\n=>\n%r = sdiv %x, C2 / (1 << C1)",
    ),
    (21255, "wrong: definedness", "%s = lshr %x, C1\n%r = udiv %s, C2\n=>\n%r = udiv %x, C2 << C1"),
    (21256, "wrong: definedness", "%n = sub 0, %x\n%r = srem %a, %n\n=>\n%r = srem %a, %x"),
    (
        21274,
        "wrong: definedness",
        "Pre: isPowerOf2(%p) && hasOneUse(%y)\n%s = shl %p, %a\n%y = lshr %s, %b\n%r = udiv %x, %y\n=>\n\
         %d = sub %a, %b\n%y = shl %p, %d\n%r = udiv %x, %y",
    ),
];

#[test]
fn instcombine() {
    let Some(mut prover) = prover() else { return };
    let prover = std::cell::RefCell::new(&mut prover);
    let options = Options::default().with(|options| options.widths = 1..=8);
    expect(&INSTCOMBINE, |text| Ok(check(&parse(text).remove(0).rule?, &options, &mut prover.borrow_mut())));
}

/// Rules of Cranelift, by the numbers of the pull requests that fixed them. Two are type errors: the replacement
/// has another type. The second form of 9030 differs for zeros only.
const CRANELIFT: [(u32, &str, &str); 13] = [
    (5061, "wrong: value", "rule r : uextend.i64(C: i32) => sext(C)"),
    (5409, "wrong: value", "rule r : uextend.i64(iadd(C1: i8, C2: i8)) => zext(C1) + zext(C2)"),
    (5682, "wrong: value", "rule r : bor(band(x, y), C) => bor(x, C)"),
    (5695, "wrong: value", "rule r : ishl(ishl(x, C1), C2) => ishl(x, C1 + C2)"),
    (5695, "wrong: value", "rule r : ishl(ushr(x, K), K) => band(x, -1 << K)"),
    (9030, "wrong: value", "rule r : fmin(x, y) => select(fcmp le (x, y), x, y)"),
    (9030, "wrong: value", "rule r : fmin(x, y) => select(fcmp le (x, y), x, fmin(y, x))"),
    (8005, "wrong: value", "rule r : ireduce.N(ushr.W(x, y: i8)) => ushr(ireduce.N(x), y)"),
    (11931, "wrong: value", "rule r : sdiv(x, C) => sshr(x, log2(C)) where isPowerOf2(C)"),
    (12504, "error: type", "rule r : icmp eq (select(c: i8, C1: i64, C2: i64), C2) => icmp eq (c, 0: i64)"),
    (12796, "wrong: value", "rule r : iadd(bnot(x: i128), x) => uextend.i128(-1: i64)"),
    (12854, "error: type", "rule r : fcopysign(x: f16, bitcast.f16(C: i16)) => bitcast.f32(zext(C): i32)"),
    (13099, "wrong: value", "rule r : icmp uge (x, band(x, y)) => 1 at lanes"),
];

#[test]
fn cranelift() {
    let Some(mut prover) = prover() else { return };
    let prover = std::cell::RefCell::new(&mut prover);
    expect(&CRANELIFT, |text| {
        Ok(check_clif(&clif::parse(text).remove(0).rule?, &Options::default(), &mut prover.borrow_mut()))
    });
}
