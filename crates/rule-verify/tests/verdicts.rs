//! Rules with known verdicts, at small widths. Without z3 or cvc5, the tests report that they are skipped, or fail
//! if `CI` is set.

use kingpost_rule_verify::{Backend, Options, Prover, SolverChoice, Verdict, check};
use kingpost_rules::parse;

/// Returns the verdict as `rules check` prints it.
fn verdict(text: &str, prover: &mut Prover) -> String {
    let options = Options::default().with(|options| options.widths = 1..=6);
    let parsed = parse(text).remove(0).rule;
    match parsed.map_or_else(Verdict::Error, |rule| check(&rule, &options, prover)) {
        Verdict::Correct => "correct".to_string(),
        Verdict::Wrong(counterexample) => format!("wrong: {}", counterexample.kind.name()),
        Verdict::Unknown(reason) => format!("unknown: {reason}"),
        Verdict::Error(error) => format!("error: {}", error.kind.name()),
    }
}

/// Checks pairs of an expected verdict and a rule.
fn expect(pairs: &[(&str, &str)]) {
    for backend in [Backend::Z3, Backend::Cvc5] {
        if !backend.is_installed() {
            assert!(std::env::var_os("CI").is_none(), "{} is missing", backend.program());
            eprintln!("SKIPPED: verdicts: {} is not installed", backend.program());
            return;
        }
    }
    let mut prover = Prover::new(SolverChoice::Z3);
    for (expected, text) in pairs {
        assert_eq!(verdict(text, &mut prover), *expected, "{text}");
    }
}

#[test]
fn values() {
    expect(&[
        ("correct", "%r = xor %x, %x\n=>\n%r = 0"),
        ("wrong: value", "%r = xor %x, %x\n=>\n%r = 1"),
        ("correct", "%a = or %x, %y\n%b = and %x, %y\n%r = sub %a, %b\n=>\n%r = xor %x, %y"),
        ("wrong: value", "%c = icmp ult %x, C\n%r = select %c, %x, C\n=>\n%d = icmp slt %x, C\n%r = select %d, %x, C"),
        ("correct", "%c = icmp CC %x, %y\n%r = xor %c, true\n%s = xor %r, true\n=>\n%s = icmp CC %x, %y"),
        ("correct", "%w = zext %x to i6\n%r = trunc %w to i3\n=>\n%r = ZExtOrTrunc %x"),
        // The divisor is not zero, so its one bit was not shifted out.
        (
            "correct",
            "%s = shl i48 1, %a\n%p = lshr %s, %b\n%r = urem %x, %p\n=>\n\
             %d = sub %a, %b\n%q = shl 1, %d\n%r = urem %x, %q",
        ),
        ("wrong: value", "%w = sext %x to i6\n%r = lshr %w, 1\n=>\n%h = lshr %x, 1\n%r = zext %h"),
    ]);
}

#[test]
fn undefined_behaviour_and_poison() {
    expect(&[
        ("wrong: definedness", "%r = mul %x, 0\n=>\n%q = udiv %x, %x\n%r = sub %q, %q"),
        ("wrong: definedness", "%r = shl %x, C\n=>\n%d = add C, 1\n%t = lshr %x, %d\n%r = add %t, 0"),
        ("correct", "%r = udiv %x, 1\n=>\n%r = %x"),
        ("wrong: poison", "%r = add %x, %y\n=>\n%r = add nsw %x, %y"),
        ("correct", "%r = add nsw %x, %y\n=>\n%r = add %y, %x"),
        ("correct", "Pre: WillNotOverflowUnsignedAdd(%x, %y)\n%r = add %x, %y\n=>\n%r = add nuw %x, %y"),
        ("correct", "%q = udiv exact %x, %y\n%r = mul %q, %y\n=>\n%r = %x"),
        ("wrong: value", "%q = udiv %x, %y\n%r = mul %q, %y\n=>\n%r = %x"),
    ]);
}

#[test]
fn preconditions() {
    expect(&[
        ("correct", "Pre: isPowerOf2(C)\n%r = urem %x, C\n=>\n%r = and %x, C-1"),
        ("wrong: value", "Pre: !isSignBit(C)\n%r = urem %x, C\n=>\n%r = and %x, C-1"),
        (
            "correct",
            "Pre: C1 & C2 == 0 && C1 | C2 == -1\n%a = and %x, C1\n%b = and %x, C2\n%r = add %a, %b\n=>\n%r = %x",
        ),
        ("correct", "Pre: MaskedValueIsZero(%x, C)\n%r = and C, %x\n=>\n%r = 0"),
        (
            "correct",
            "Pre: (computeKnownZeroBits(%x) | computeKnownZeroBits(%y)) == -1\n%r = add %x, %y\n=>\n%r = or %x, %y",
        ),
        ("correct", "Pre: hasOneUse(%a)\n%a = add %x, 1\n%r = sub %a, 1\n=>\n%a = add %x, 2\n%r = sub %a, 2"),
        ("wrong: value", "%a = add %x, 1\n%r = sub %a, 1\n=>\n%a = add %x, 2\n%r = sub %a, 2"),
        ("correct", "Pre: C == width(%x)-1\n%r = lshr %x, C\n=>\n%n = icmp slt %x, 0\n%r = zext %n"),
    ]);
}

#[test]
fn choices_of_undefined_values() {
    expect(&[
        ("correct", "%r = xor %x, undef\n=>\n%r = undef"),
        ("correct", "%r = add undef, %x\n=>\n%r = 1"),
        ("wrong: value", "%r = or undef, C\n=>\n%r = 0"),
        ("wrong: value", "%r = shl undef, 1\n=>\n%r = undef"),
        ("correct", "%r = shl undef, 1\n=>\n%r = 2"),
    ]);
}

#[test]
fn memory() {
    expect(&[
        ("correct", "store i6 %x, %p\n%r = load i6* %p\n=>\nstore %x, %p\n%r = %x"),
        ("wrong: memory", "store i5 %x, %p\n=>\nskip"),
        ("wrong: memory", "store i8 %x, %p\nstore i8 %y, %q\n=>\nstore %y, %q\nstore %x, %p"),
        ("correct", "%p = alloca i8\nstore i8 undef, %p\n%r = load %p\n=>\n%p = alloca i8\n%r = load %p"),
        // The final contents of a block do not matter if its address has no other use.
        ("wrong: memory", "%p = alloca i5\nstore %x, %p\n=>\nskip"),
        ("correct", "Pre: hasOneUse(%p)\n%p = alloca i5\nstore %x, %p\n=>\nskip"),
        (
            "correct",
            "Pre: hasOneUse(%p) && hasOneUse(%q)\n%p = alloca i8\n%q = getelementptr %p, %i\nstore %x, i8* %q\n=>\nskip",
        ),
        ("wrong: memory", "Pre: hasOneUse(%p)\n%p = alloca i8\n%q = getelementptr %p, %i\nstore %x, i8* %q\n=>\nskip"),
        (
            "wrong: memory",
            "Pre: hasOneUse(%p) && hasOneUse(%q)\n%p = alloca i8\n%q = bitcast %p to i4*\nstore %x, %q\nstore i8 %y, %z\n=>\nskip",
        ),
        // A copy of the address may be used elsewhere.
        ("wrong: memory", "Pre: hasOneUse(%p)\n%p = alloca i8\n%q = %p\nstore i8 %x, %q\n=>\nskip"),
        // Unrelated addresses hold unrelated bytes.
        ("wrong: value", "%a = load i8* %p\n%b = load i8* %q\n%r = add %a, %b\n=>\n%r = add %a, %a"),
        (
            "correct",
            "%q = getelementptr i8* %p, i32 1\n%a = ptrtoint %q to i4\n=>\n%b = ptrtoint %p to i4\n%a = add %b, 1",
        ),
        ("wrong: definedness", "%r = load i8* %p\n=>\n%n = load i8* null\n%r = add %n, 0"),
    ]);
}

#[test]
fn blocks() {
    let source = "%c = icmp eq %x, 0\nbr %c, label %zero, label %other\nzero:\n%r = add %x, 1\nother:\nret 0\n=>\n";
    expect(&[
        ("correct", &format!("{source}zero:\n%r = 1")),
        ("wrong: value", &format!("{source}zero:\n%r = 0")),
        ("wrong: block-precondition", &format!("{source}%c = icmp ne %x, 0\nzero:\n%r = 1")),
    ]);
}

#[test]
fn errors_before_any_proof() {
    expect(&[
        ("error: scope", "%r = %x\n=>\n%r = %y"),
        ("error: lint-unused-temporary", "%a = %x\n%r = %x\n=>\n%r = %x"),
        ("error: type", "%r = trunc i4 %x to i8\n=>\n%r = 0"),
        ("error: unsupported", "%r = add i200 %x, %y\n=>\n%r = add %y, %x"),
        ("error: syntax", "%r = add %x\n=>\n%r = %x"),
        ("error: flag", "%r = and nsw %x, %y\n=>\n%r = 0"),
        ("error: function", "Pre: isOdd(C)\n%r = C\n=>\n%r = C"),
    ]);
}

/// Checks one rule for each construct that no other test has.
#[test]
fn the_rest_of_the_language() {
    expect(&[
        ("correct", "%r\t=\tadd nsw nuw %x, 0 ; comment\r\n\n=>\n%r = %x"),
        ("correct", "%r = add %x, - 1\n=>\n%r = sub %x, 1"),
        ("correct", "Pre: 0 u< C1 u< C2\n%r = icmp ult C1, C2\n=>\n%r = true"),
        (
            "correct",
            "Pre: C1 | C2 & C1 == C1 - C2 || true\n%r = add %x, C1\n%s = xor %r, C2\n=>\n%s = xor %r, C2 ^ C1 * 0",
        ),
        ("correct", "Pre: C == max(C, umax(C, C)) && C >= 0\n%r = add %x, C\n=>\n%r = add %x, abs(C)"),
        ("correct", "Pre: C u< width(%x)\n%r = lshr %x, C\n=>\n%r = lshr %x, lshr(C, 0)"),
        ("correct", "Pre: ComputeNumSignBits(%x) > 1\n%a = shl %x, 1\n%r = ashr %a, 1\n=>\n%r = %x"),
        ("correct", "Pre: isPowerOf2OrZero(%x)\n%a = sub %x, 1\n%r = and %x, %a\n=>\n%r = 0"),
        ("correct", "Pre: isShiftedMask(C) && !isShiftedMask(C)\n%r = and %x, C\n=>\n%r = 0"),
        (
            "correct",
            "Pre: WillNotOverflowUnsignedShl(C1, C2) && C2 u< width(C1)\n%a = shl C1, C2\n%r = lshr %a, C2\n=>\n%r = C1",
        ),
        (
            "correct",
            "Pre: equivalentAddressValues(%p, %q)\n%a = load i8* %p\n%b = load i8* %q\n%r = sub %a, %b\n=>\n%r = 0",
        ),
        // A condition without a name has the name of its register.
        ("wrong: value", "%c = icmp %x, %y\n%r = xor %c, true\n%s = xor %r, true\n=>\n%s = icmp %x, %y"),
        ("correct", "%a = zext Ty %x to Ty1\n%r = trunc Ty1 %a to Ty\n=>\n%r = %x"),
        ("correct", "%q = bitcast i8* %p to i16*\n%r = bitcast i16* %q to i8*\n=>\n%r = %p"),
        ("correct", "%q = inttoptr i64 0 to i8*\n%r = icmp eq i8* %q, null\n=>\n%r = true"),
        ("correct", "%q = getelementptr inbounds i8* %p, i8 -1\n%r = getelementptr i8* %q, i16 1\n=>\n%r = %p"),
        (
            "correct",
            "%p = alloca i8, C\nstore i8 3, %p\n%r = load i8* %p\n=>\n%p = alloca i8, C\nstore i8 3, %p\n%r = i8 3",
        ),
        ("wrong: definedness", "%r = load i32* %p, align 4\n=>\n%r = load i32* %p, align 8"),
        ("correct", "%v = load i8* %p\nstore %v, %p\n=>\nskip"),
        ("correct", "%c = icmp eq %x, 0\nbr %c, label %a, label %b\na:\nunreachable\nb:\nret %x\n=>\nb:\nret %x"),
        ("wrong: value", "ret i8 1\n=>\nret i8 2"),
        ("error: function", "Pre: isSignBit(%x)\n%r = add %x, 0\n=>\n%r = %x"),
        ("error: scope", "%r = add %x, 0\n=>\n%x = add %x, 1\n%r = %x"),
        ("error: syntax", "%r = add %x, C1+1\n=>\n%r = %x"),
    ]);
}

#[test]
fn counterexamples_name_inputs_constants_and_both_values() {
    if !Backend::Z3.is_installed() {
        return;
    }
    let rule = parse("%a = add %x, C\n%r = sub %a, 1\n=>\n%r = %x").remove(0).rule.unwrap();
    let options = Options::default();
    let Verdict::Wrong(counterexample) = check(&rule, &options, &mut Prover::new(SolverChoice::Z3)) else { panic!() };
    let text = counterexample.to_string();
    for part in [
        "Mismatch in values of i2 %r\n",
        "\nExample:\n%x i2 = 0x",
        "\nC i2 = 0x",
        "\n%a i2 = 0x",
        "\nSource value: 0x",
        "\nTarget value: 0x",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
