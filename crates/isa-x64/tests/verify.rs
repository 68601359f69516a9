//! Findings of the verifier of machine code in code that lowering did not make.

use kingpost_ir::analyses::Analyses;
use kingpost_isa_x64::{X64, X64Flags};
use kingpost_mach::verify::verify;
use kingpost_mach::{Code, Isa, LowerState, Settings};

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
    let defined_by = |code: &Code, name: &str| {
        let row = |inst| isa.rows()[usize::from(code.insts[inst].row.0)].name;
        let inst = code.insts.keys().find(|&inst| row(inst) == name).expect(name);
        code.problem.operands(inst)[0].vreg()
    };
    assert_eq!(verify(&code, isa.rows(), isa.features()), []);
    assert!(code.zero_extended.contains(&defined_by(&code, "lea32_rm")));
    // `setcc` writes a byte and keeps the upper bytes.
    let boolean = defined_by(&code, "setcc_r");
    code.zero_extended.push(boolean);
    let errors = verify(&code, isa.rows(), isa.features());
    assert_eq!(errors.iter().map(|error| error.rule).collect::<Vec<_>>(), [8]);
}
