//! Findings of the verifier of machine code in code that lowering did not make.

use kingpost_ir::analyses::Analyses;
use kingpost_isa_x64::{X64, X64Flags};
use kingpost_mach::verify::verify;
use kingpost_mach::{Code, Isa, LowerState, Settings};
use kingpost_regalloc::Operand;

fn code(text: &str) -> (Code, X64) {
    let settings = Settings::default().with(|settings| settings.verify_each = true);
    let isa = X64::new(settings.clone(), X64Flags::default()).unwrap();
    let func = kingpost_reader::parse_functions(text).unwrap().remove(0);
    let mut code = Code::default();
    LowerState::default().run(&func, &mut Analyses::default(), &isa, &settings, &mut code).unwrap();
    (code, isa)
}

#[test]
fn a_promise_of_zeros_that_the_row_does_not_keep_is_found() {
    let body = "function %f(i32, i64) -> i32, i8 { block0(v0: i32, v1: i64):
        v2 = iadd v0, v0 v3 = icmp eq v1, v1 return v2, v3 }";
    let (mut code, isa) = code(body);
    assert_eq!(broken_rules(&code, &isa), []);
    assert!(code.zero_extended.contains(&operands_of(&code, &isa, "lea32_rm")[0].vreg()));
    // `setcc` writes a byte and keeps the upper bytes.
    let boolean = operands_of(&code, &isa, "setcc_r")[0].vreg();
    code.zero_extended.push(boolean);
    assert_eq!(broken_rules(&code, &isa), [8]);
}

#[test]
fn a_slot_that_the_row_writes_in_part_is_found() {
    let (mut code, isa) =
        code("function %f(i32) -> i32 { block0(v0: i32): v1 = iconst.i32 5 v2 = bor v0, v1 return v2 }");
    assert_eq!(broken_rules(&code, &isa), []);
    for operand in operands_of(&code, &isa, "or32_ri").to_vec() {
        code.problem.vregs[operand.vreg()].width = 8;
    }
    assert_eq!(broken_rules(&code, &isa), [6]);
}

fn broken_rules(code: &Code, isa: &X64) -> Vec<u8> {
    verify(code, isa.rows(), isa.features()).iter().map(|error| error.rule).collect()
}

/// Returns the operands of the first instruction of a row.
fn operands_of<'a>(code: &'a Code, isa: &X64, name: &str) -> &'a [Operand] {
    let row = |inst| isa.rows()[usize::from(code.insts[inst].row.0)].name;
    code.problem.operands(code.insts.keys().find(|&inst| row(inst) == name).expect(name))
}
