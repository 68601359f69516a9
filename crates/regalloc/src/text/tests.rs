use super::*;

/// Every construct once, as it is printed.
const FULL: &str = "\
env {
  int r0, r1, r2, r3, r8 saved {r8} scratch r9 exchange
  float f0, f1 slot_move
  costs move 1, exchange 2, spill 2, fill 2, remat 1, slot_move 4, callee_saved 4, edge_block 2
}
problem %example {
  v0, v1: int 8
  v2: int 8 ref
  v3: float 16
  v4, v5, v6: int 8
  b0 freq 1:
    i0: def v0 = r0, late use v1, early def v2, use v1 mem
    i1: remat def v3 in {f0, f1}
    i2: safepoint use v0 any, use v0 stack, def v1 reuse 0 rmw, clobbers {r0} kept 8 {f1}
    i3: move use v0, def v4
    i4: nop
    i5: branch use v1, def v5 -> b1 freq 0.5, b2 freq 0.0000152587890625 defines (v5)
  b1 freq 16777216.5:
    i6: branch -> b2(v0, v1) freq 3
  b2(v6) freq 1:
    i7: clobbers {} kept 16 {f0}
    i8: safepoint branch
  order b0, b2, b1
  label 7 = v1 over i2..i5
  label 8 = v1 over i2..i9
}
allocation {
  slots s0: 8, s1: 16 align 8
  emergency int s0
  saved {r8}
  i0: r0, r1, r2, s0
  i1: none
  before i2: spill r0 -> s0 8
  before i2: fill s0 -> r1 8
  i2: r0, s0, r0
  before i3: move r0 -> r1 8
  before i3: exchange r0, r1 8
  i3 dropped: r0, r0
  before i4: slot_move s0 -> s1 8
  before i4: remat i1 -> f0
  before i3: move f0 -> f1 16
  i5: r1, r2
  map i2: s0, s1
  label 7 = r0 over i2..i4
  label 8 = s1 over i2..i9
  stats steps 9 splits 1 evictions 2
}
problem %\"odd \\\"name\\\" \\u{fc}\" {
}
";

#[track_caller]
fn check_round_trip(text: &str) {
    let file = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(file.to_string(), text);
}

#[test]
fn what_is_printed_parses_and_prints_the_same() {
    check_round_trip(FULL);
}

#[test]
fn sparse_numbers_are_made_dense() {
    let text = "problem %f {\nv4294967295: int 8\nb77:\ni400000000: def v4294967295\ni9: branch ->b9\nb9:\nbranch\n}";
    let dense = "problem %f {\n  v0: int 8\n  b0 freq 1:\n    i0: def v0\n    i1: branch -> b1 freq 1\n  b1 freq 1:\n    i2: branch\n}\n";
    assert_eq!(parse(text).unwrap().to_string(), dense);
}

#[test]
fn edges_may_be_numbered() {
    let text = "\
problem %f {
  b0 freq 1:
    i0: branch -> e1 b1 freq 0.5, e0 b2 freq 0.5
  b1 freq 0.5:
    i1: branch -> e3 b3 freq 0.5
  b2 freq 0.5:
    i2: branch -> e2 b3 freq 0.5
  b3 freq 1:
    i3: branch
}
";
    // The successors of a block are in the order of their numbers, as in the problem itself.
    let sorted = text.replace("e1 b1 freq 0.5, e0 b2 freq 0.5", "e0 b2 freq 0.5, e1 b1 freq 0.5");
    assert_eq!(parse(text).unwrap().to_string(), sorted);
    check_round_trip(&sorted);
}

#[track_caller]
fn check_error(text: &str, want: &str) {
    assert_eq!(parse(text).unwrap_err().to_string(), want);
}

#[test]
fn errors_have_line_and_column() {
    let body = |line: &str| format!("problem %f {{\n  v0: int 8\n  b0:\n    {line}\n}}\n");
    check_error("hello", "1:1: expected `problem`, `allocation` or, first of all, `env`, found `hello`");
    check_error("allocation {", "1:1: an allocation follows its problem");
    check_error("problem f {", "1:9: expected `%` and a name, found `f`");
    check_error("problem %f {", "1:13: expected a value, a block, `order`, `label` or `}`, found the end of the file");
    check_error("problem %\"a", "1:9: expected `%` and a name, found `%`");
    check_error(&body("use v1"), "4:9: unknown v1");
    check_error(&body("use v0 = r64"), "4:14: 64 is more than 63");
    check_error(&body("use v4294967296"), "4:9: 4294967296 is more than 4294967295");
    check_error(&body("i0: nop\ni0: nop"), "5:1: second i0");
    check_error(&body("branch -> b7"), "4:15: unknown b7");
    check_error(&body("branch -> b0\nnop"), "5:1: nothing follows the edges of a block but another block");
    check_error(&body("use v0,"), "5:1: expected an operand or `clobbers`, found `}`");
    check_error(&body("use v0 use v0"), "4:12: expected the end of the line, found `use`");
    check_error(&body("v0: int 8"), "4:5: second v0");
    check_error(&body("é"), "4:5: expected an instruction, found `é`");
    check_error("env {\n int r0, r1, r0\n}", "2:14: second r0");
    check_error("env {\n int f0\n}", "2:6: expected a register of the class, found `f0`");
    let allocation = |line: &str| format!("{}allocation {{\n{line}\n}}", body("i0: use v0"));
    check_error(&allocation("i0: r0, r1"), "7:1: 2 locations for 1 operands");
    check_error(&allocation("i1: r0"), "7:1: unknown i1");
    check_error(&allocation("i0: s0"), "7:5: unknown s0");
}

#[test]
fn cut_and_changed_texts_give_errors_not_panics() {
    let text: Vec<char> = FULL.chars().collect();
    for end in 0..text.len() {
        let _ = parse(&text[..end].iter().collect::<String>());
    }
    let mut seed = 7u64;
    for _ in 0..20_000 {
        let mut text = text.clone();
        for _ in 0..3 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (at, other) = ((seed >> 33) as usize % text.len(), (seed >> 13) as usize % text.len());
            match seed >> 62 {
                0 => text[at] = text[other],
                1 => text.insert(at, ['9', '-', '{', '\n'][other % 4]),
                2 => drop(text.remove(at)),
                _ => text.swap(at, other),
            }
        }
        let text: String = text.into_iter().collect();
        if let Ok(file) = parse(&text) {
            check_round_trip(&file.to_string());
        }
    }
}

#[test]
fn a_branch_that_is_no_bare_jump_reaches_a_join_through_a_block() {
    let text = "\
problem %f {
  v0: int 8
  b0:
    i0: def v0
    i1: branch -> b1 freq 0.25, b2 freq 0.75
  b1 freq 0.25:
    i2: safepoint branch -> b3
  b2 freq 0.75:
    i3: branch -> b3
  b3:
    i4: branch use v0
}
";
    let problem = &parse(text).unwrap().cases[0].problem;
    assert_eq!(problem.verify(), Ok(()));
    let printed = problem.to_string();
    assert!(printed.contains("i2: safepoint branch -> b4 freq 0.25"), "{printed}");
    assert!(printed.contains("b4 freq 0.25:\n    i5: branch -> b3 freq 0.25"), "{printed}");
    assert!(printed.contains("order b0, b1, b4, b2, b3"), "{printed}");
    assert_eq!(parse(&printed).unwrap().cases[0].problem.to_string(), printed);
}

#[test]
fn answers_may_say_that_there_is_no_solution() {
    let file = parse(FULL).expect("a file");
    let (env, problem) = (file.env.expect("a machine"), &file.cases[0].problem);
    let said = |answer: &str| parse_answer(problem, &env, answer).map(drop).unwrap_err().to_string();
    assert_eq!(said("impossible i2 float\n"), "i2 needs more float registers than there are");
    assert_eq!(said("\n  impossible i0 r1"), "two operands of i0 need r1 at once");
    let unreadable = "the program that allocates failed: its answer cannot be read: ";
    assert_eq!(said("impossible i9 int"), format!("{unreadable}1:12: unknown i9"));
    assert_eq!(said("impossible i0 int i1"), format!("{unreadable}1:19: expected the end of the answer, found `i1`"));
    assert_eq!(said("impossible"), format!("{unreadable}1:11: expected an instruction, found the end of the file"));
}
