use super::*;
use crate::entities::{Block, ClobberId, Inst, VReg};
use crate::problem::{Clobbers, Freq, InstFlags, LabelUse};
use crate::reg::{PReg, PRegSet, RegClass};
use crate::text;

/// Declarations that the cases share; v6 to v9 are integers without a def.
const VALUES: &str = "\
v0, v1, v2, v3: int 8
v4, v5: float 16
v6, v7, v8, v9: int 8
v10: int 4
v11: int 8 ref
";

fn broken(problem: &Problem, env: Option<&MachineEnv>) -> Vec<u8> {
    let result = match env {
        None => problem.verify(),
        Some(env) => problem.verify_with(env),
    };
    let mut rules: Vec<u8> = result.err().into_iter().flatten().map(|e| e.rule as u8).collect();
    rules.dedup();
    rules
}

/// Asserts that a problem with `body` breaks exactly the rules numbered `rules`, in the order of the report.
#[track_caller]
fn check(body: &str, rules: &[u8]) {
    let file = text::parse(&format!("problem %f {{\n{VALUES}{body}\n}}\n")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(broken(&file.cases[0].problem, None), rules, "{body}");
}

/// Asserts the broken rules of a problem of one block; `insts` are the lines before its branch.
#[track_caller]
fn check_insts(insts: &str, rules: &[u8]) {
    check(&format!("b0:\ndef v0, def v1, def v4\n{insts}\nbranch"), rules);
}

#[test]
fn a_problem_with_everything_keeps_the_rules() {
    let body = "\
        b0:
          i0: def v0 = r0, def v1 = r1
          i1: safepoint use v0 mem, use v1 any, def v2 reuse 0 rmw, clobbers {r2} kept 8 {f0}
          i2: branch use v0, early def v6, def v3 -> b1 freq 0.5, b2 freq 0.5 defines (v3)
        b1 freq 0.5:
          branch -> b3(v2) freq 0.5
        b2 freq 0.5:
          i4: move use v3, def v8
          i5: branch -> b3(v8) freq 0.5
        b3(v7) freq 4:
          i6: branch use v7 -> b4, b5
        b4 freq 3: branch -> b3(v7)
        b5: branch use v7 = r0
        order b0, b2, b1, b3, b4, b5
        label 1 = v3 over i4..i6";
    let body = body.replace("freq 3: branch", "freq 3:\nbranch").replace("b5: branch", "b5:\nbranch");
    check(&body, &[]);
}

#[test]
fn blocks_and_edges() {
    check("", &[3]);
    check("b0:", &[3]);
    check("b0:\nnop", &[4]);
    check("b0:\nbranch\nbranch", &[4]);
    check("b0:\nbranch -> b0", &[5]);
    check("b0(v0):\nbranch", &[5]);
    check("b0:\nbranch\nb1:\nbranch", &[6]);
    check("b0:\nbranch -> b1, b2\nb1:\nbranch -> b2\nb2:\nbranch", &[7]);
    check("b0:\nbranch -> b1, b1\nb1:\nbranch", &[7]);
    check("b0:\nbranch\norder b0, b0", &[10]);
    check("b0:\nbranch -> b1\nb1:\nbranch\norder b0", &[10]);
    check("b0:\nbranch -> b1\nb1:\nbranch\norder b1, b0", &[10]);
    check("b0 freq 2:\nbranch", &[24]);
    check("b0:\nbranch -> b1\nb1 freq 20000000:\nbranch", &[24]);
    check("b0:\nbranch -> b1 freq 20000000\nb1:\nbranch", &[24]);
    check("v12: int 3\nb0:\nbranch", &[23]);
    check("v12: float 128\nb0:\nbranch", &[23]);
    check("v12: int 16\nb0:\nbranch", &[23]);
    check("v12: float 2\nb0:\nbranch", &[23]);
}

#[test]
fn arguments() {
    let join = |passed: &str, params: &str| {
        format!("b0:\ndef v0, def v4, def v10, def v11\nbranch -> b1{passed}\nb1{params}:\nbranch")
    };
    check(&join("(v0)", "(v6)"), &[]);
    check(&join("(v0)", ""), &[8]);
    check(&join("", "(v6)"), &[8]);
    check(&join("(v4)", "(v6)"), &[8]);
    check(&join("(v10)", "(v6)"), &[8]);
    check(&join("(v11)", "(v6)"), &[8]);
    check("b0:\ndef v0\nbranch -> b1(v0), b2\nb1(v6):\nbranch\nb2:\nbranch", &[8]);
    check("b0:\ndef v0\nbranch use v0 -> b1(v0)\nb1(v6):\nbranch", &[9]);
    check("b0:\ndef v0\nbranch clobbers {r0} -> b1(v0)\nb1(v6):\nbranch", &[9]);
}

#[test]
fn a_join_is_reached_by_bare_jumps() {
    let build = |jump: &dyn Fn(&mut Problem)| {
        let mut problem = Problem::default();
        let value = problem.add_vreg(RegClass::Int, 8, true);
        let blocks = [Freq::ENTRY; 4].map(|freq| {
            let block = problem.begin_block(freq, &[]);
            match block.as_u32() {
                0 => {
                    problem.push_operand(crate::Operand::reg_def(value));
                    problem.push_inst(InstFlags::NONE, ClobberId::NONE);
                    problem.push_inst(InstFlags::BRANCH, ClobberId::NONE);
                }
                1 => jump(&mut problem),
                _ => _ = problem.push_inst(InstFlags::BRANCH, ClobberId::NONE),
            }
            block
        });
        for (from, to) in [(0, 1), (0, 2), (1, 3), (2, 3)] {
            problem.add_edge(blocks[from], blocks[to], Freq::ENTRY, &[], &[]);
        }
        problem.finish();
        broken(&problem, None)
    };
    let value = VReg::from_u32(0);
    assert_eq!(build(&|p| _ = p.push_inst(InstFlags::BRANCH, ClobberId::NONE)), []);
    assert_eq!(build(&|p| _ = p.push_inst(InstFlags::BRANCH.and(InstFlags::SAFEPOINT), ClobberId::NONE)), [9]);
    let destroy = |p: &mut Problem| {
        let lost = p.intern_clobbers(Clobbers::lost(PRegSet::EMPTY.with(PReg::int(0))));
        p.push_inst(InstFlags::BRANCH, lost);
    };
    assert_eq!(build(&destroy), [9]);
    let read = |p: &mut Problem| {
        p.push_operand(crate::Operand::reg_use(value));
        p.push_inst(InstFlags::BRANCH, ClobberId::NONE);
    };
    assert_eq!(build(&read), [9]);
}

#[test]
fn ssa() {
    check_insts("def v0", &[11]);
    check_insts("use v9", &[11]);
    check_insts("use v6\ndef v6", &[12]);
    check_insts("use v6, def v6", &[12]);
    check("b0:\nbranch -> b1, b2\nb1:\ndef v0\nbranch -> b3\nb2:\nbranch -> b3\nb3:\nuse v0\nbranch", &[12]);
    check("b0:\nbranch -> b1(v6)\nb1(v7):\nuse v0\ndef v0\nbranch -> b1(v0)", &[12, 11]);
    let call = |defines: &str, use_in: &str| {
        format!("b0:\nbranch def v0 -> b1{defines}, b2\nb1:\n{use_in}\nbranch\nb2:\nuse v0\nbranch")
    };
    check("b0:\nbranch def v0 -> b1, b2 defines (v0)\nb1:\nbranch\nb2:\nuse v0\nbranch", &[]);
    check("b0:\nbranch def v0 -> b1, b2 defines (v0)\nb1:\nuse v0\nbranch\nb2:\nbranch", &[12]);
    check(&call("", "nop"), &[13]);
    check(&call(" defines (v0)", "nop").replace("b2\nb1", "b2 defines (v0)\nb1"), &[13]);
    check("b0:\ndef v0\nbranch -> b1 defines (v0)\nb1:\nuse v0\nbranch", &[13]);
    check("b0:\nbranch def v0 -> b1 defines (v0)\nb1:\nuse v0\nbranch -> b1", &[14, 9]);
}

#[test]
fn operand_rules() {
    check_insts("use v0 = f0", &[15]);
    check_insts("use v0 in {}", &[15]);
    check_insts("use v0 in {r0, f0}", &[15]);
    check_insts("use v0 reuse 0", &[16]);
    check_insts("use v0, early def v6 reuse 0", &[16]);
    check_insts("late use v0, def v6 reuse 0", &[16]);
    check_insts("use v4, def v6 reuse 0", &[16]);
    check_insts("use v0, def v6 reuse 2", &[16]);
    check_insts("def v6 reuse 1, def v7", &[16]);
    check_insts("use v0 stack, def v6 reuse 0", &[16]);
    check_insts("use v0, def v6 reuse 0, def v7 reuse 0", &[16]);
    check_insts("use v0, def v6 reuse 0 rmw", &[17]);
    check_insts("use v0 mem rmw", &[17]);
    check_insts("use v0 mem, def v10 reuse 0 rmw", &[17]);
    check_insts("use v0 mem, use v1 mem", &[18]);
    check_insts("def v6 = r0, clobbers {r0}", &[19]);
    check_insts("late use v0 = r0, clobbers {} kept 4 {r0}", &[19]);
    check_insts("use v0 = r0, def v6 reuse 0, clobbers {r0}", &[19]);
    check_insts("use v0 = r0, clobbers {r0}", &[]);
    check_insts("use v0 = r0, use v1 = r0", &[20]);
    check_insts("use v0 = r0, use v0 = r0, def v6 = r0", &[]);
    check_insts("use v0 = r0, early def v6 = r0", &[20]);
    check_insts("late use v0 = r0, def v6 = r0", &[20]);
    check_insts("use v0 = r0, def v6 reuse 0, def v7 = r0", &[20]);
    check_insts("move use v0, def v6", &[]);
    check_insts("move use v0, def v10", &[]);
    check_insts("move use v0", &[21]);
    check_insts("move use v0, use v1, def v6", &[21]);
    check_insts("move use v4, def v6", &[21]);
    check_insts("move use v0, early def v6", &[21]);
    check_insts("move use v0, def v6, clobbers {r0}", &[21]);
    check_insts("def v10\nmove use v10, def v6", &[21]);
    check_insts("remat def v6", &[]);
    check_insts("remat def v6 = r0", &[22]);
    check_insts("remat use v0, def v6", &[22]);
    check_insts("remat early def v6", &[22]);
    check_insts("remat safepoint def v6", &[22]);
    check_insts("safepoint def v11", &[]);
    check_insts("safepoint early def v11", &[31]);
}

#[test]
fn branch_defs_on_different_edges_share_registers() {
    let call = |defs: &str, edges: &str| format!("b0:\nbranch {defs} -> {edges}\nb1:\nbranch\nb2:\nbranch");
    let fixed = "def v0 = r0, def v1 = r0";
    check(&call(fixed, "b1 defines (v0), b2 defines (v1)"), &[]);
    check(&call(fixed, "b1 defines (v0, v1), b2"), &[20]);
    check(&call(fixed, "b1 defines (v0), b2"), &[20]);
    check(&call("early def v2 = r0, def v1 = r0", "b1, b2 defines (v1)"), &[20]);
}

#[test]
fn labels() {
    let case = |label: &str| {
        format!("b0:\ni0: def v0\ni1: nop\ni2: branch -> b1\nb1:\ni3: nop\ni4: branch\nlabel 1 = v0 over {label}")
    };
    check(&case("i1..i3"), &[]);
    check(&case("i3..i5"), &[]);
    check(&case("i0..i1"), &[25]);
    check(&case("i1..i1"), &[25]);
    check(&case("i1..i4"), &[25]);
}

#[test]
fn references_and_lists_come_first() {
    let (v9, b9) = (VReg::from_u32(9), Block::from_u32(9));
    let build = |change: &dyn Fn(&mut Problem)| {
        let mut problem = Problem::default();
        let block = problem.begin_block(Freq::ENTRY, &[]);
        problem.push_inst(crate::InstFlags::BRANCH, crate::ClobberId::NONE);
        assert_eq!(block, problem.entry());
        problem.order.push(block);
        change(&mut problem);
        broken(&problem, None)
    };
    let entry = Block::from_u32(0);
    assert_eq!(build(&|_| {}), []);
    assert_eq!(build(&|p| p.order.push(b9)), [1]);
    assert_eq!(build(&|p| _ = p.begin_block(Freq::ENTRY, &[v9])), [1]);
    assert_eq!(build(&|p| _ = p.add_edge(entry, b9, Freq::ENTRY, &[], &[])), [1, 2]);
    assert_eq!(build(&|p| _ = p.add_edge(entry, entry, Freq::ENTRY, &[], &[])), [2]);
    let label = LabelUse { label: 0, vreg: v9, from: Inst::from_u32(0), to: Inst::from_u32(1) };
    assert_eq!(build(&|p| p.labels.push(label)), [1]);
}

#[test]
fn machines() {
    let check = |env: &str, body: &str, rules: &[u8]| {
        let file = format!("env {{\n{env}\n}}\nproblem %f {{\n{VALUES}b0:\ndef v0\n{body}\nbranch\n}}\n");
        let file = text::parse(&file).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(broken(&file.cases[0].problem, file.env.as_ref()), rules, "{env}, {body}");
    };
    check("int r0, r1 saved {r1} scratch r2", "use v0 in {r0, r1}", &[]);
    check("int r0, r1", "use v0 = r2", &[26]);
    check("int r0, r1", "use v0 in {r1, r2}", &[26]);
    check("int r0, r1 scratch r1", "nop", &[28]);
    check("int r0, r1 saved {r2}", "nop", &[29]);
    check("int r0, r1 saved {r1}", "use v0 = r1", &[]);
    check("int r0, r1 saved {r1}", "branch use v0 = r1 -> b1\nb1:", &[]);
    check("int r0, r1 saved {r1}", "branch use v0 = r1\nb1:", &[6, 30]);
    let mut env = MachineEnv::simple(2, 0);
    env.classes[0].order.push(PReg::int(0));
    assert_eq!(broken(&text::parse("problem %f {\nb0:\nbranch\n}").unwrap().cases[0].problem, Some(&env)), [27]);
}

#[test]
fn an_error_names_place_and_rule() {
    let file = text::parse("problem %f {\nv0: int 8\nb0:\nbranch use v0\n}").unwrap();
    let errors = file.cases[0].problem.verify().unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "operand 0 of i0: rule 11: a value has at most one def, and a used value has one"
    );
    assert!(Rule::ALL.iter().enumerate().all(|(i, &rule)| rule as usize == i + 1));
}
