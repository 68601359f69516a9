//! What instruction selection chooses, as text: small functions and the machine instructions that must be among theirs.
//!
//! Every function is also held to the rules of machine code and of allocation problems.

use kingpost_isa_x64::{X64, X64Flags};
use kingpost_mach::verify::verify;
use kingpost_mach::{Code, Isa, LowerError, Lowering, Settings};

/// Lowers one function under `settings` (words of a target line, or `key=value`) and returns its text.
fn lower(settings: &[&str], text: &str) -> Result<String, LowerError> {
    let (code, isa) = code(settings, text)?;
    let text = code.display(isa.rows()).to_string();
    assert_eq!(verify(&code, isa.rows(), isa.features()), [], "{text}");
    assert_eq!(code.problem.verify_with(isa.env()), Ok(()), "{text}");
    Ok(text)
}

fn code(settings: &[&str], text: &str) -> Result<(Code, X64), LowerError> {
    let (mut shared, mut flags) = (Settings::default(), X64Flags::default());
    for word in settings {
        let (key, value) = word.split_once('=').unwrap_or((word, "true"));
        if shared.set(key, value).is_err() {
            flags.set(word).unwrap();
        }
    }
    let isa = X64::new(shared.clone(), flags).unwrap();
    let mut func = kingpost_reader::parse_functions(text).unwrap().remove(0);
    func.dfg.resolve_all_aliases();
    let mut code = Code::default();
    Lowering::default().run(&func, &isa, &shared, &mut code)?;
    Ok((code, isa))
}

/// The names of all rows chosen, without those of entry and return.
fn rows(settings: &[&str], body: &str) -> String {
    let text = lower(settings, body).unwrap();
    let lines = text.lines().filter(|line| line.starts_with(' '));
    let names = lines.filter_map(|line| line.split_whitespace().nth(1));
    names.filter(|name| !matches!(*name, "entry" | "ret")).collect::<Vec<_>>().join(" ")
}

fn check(body: &str, expected: &str) {
    assert_eq!(rows(&[], body), expected, "{body}");
}

#[test]
fn sums_take_the_shortest_form() {
    check("function %f(i32, i32) -> i32 { block0(v0: i32, v1: i32): v2 = iadd v0, v1 return v2 }", "add32_rr");
    check("function %f(i8) -> i8 { block0(v0: i8): v1 = iconst.i8 -3 v2 = iadd v0, v1 return v2 }", "add32_ri");
    check(
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = iconst.i64 2 v3 = ishl v1, v2 v4 = iadd v0, v3 return v4 }",
        "lea64_rm",
    );
    check(
        "function %f(i64) -> i64 { block0(v0: i64): v1 = iconst.i64 0x123456789ab v2 = iadd v0, v1 return v2 }",
        "movabs_ri add64_rr",
    );
    check(
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = load.i64 v1 v3 = isub v0, v2 return v3 }",
        "sub64_rm",
    );
}

#[test]
fn addresses_take_in_their_computation() {
    // The shape of WebAssembly's accesses: the index is zero-extended by whatever makes it.
    check(
        "function %f(i64, i32) -> i32 { block0(v0: i64, v1: i32):
            v2 = iconst.i32 4 v3 = iadd v1, v2 v4 = uextend.i64 v3 v5 = iadd v0, v4 v6 = load.i32 v5+8 return v6 }",
        "add32_ri mov32_rm",
    );
    check(
        "function %f(i64, i32) -> i32 { block0(v0: i64, v1: i32):
            v2 = uextend.i64 v1 v3 = iadd v0, v2 v4 = load.i32 v3 return v4 }",
        "movzx64_32_rr mov32_rm",
    );
    check(
        "function %f(i64) -> i64 { ss0 = explicit_slot 16 block0(v0: i64):
            v1 = stack_addr.i64 ss0+8 store v0, v1 v2 = load.i64 v1 return v2 }",
        "mov64_mr mov64_rm",
    );
    check("function %f(i64) { block0(v0: i64): v1 = iconst.i16 7 store v1, v0+2 return }", "mov16_mi");
}

#[test]
fn extended_constants_are_constants() {
    check(
        "function %f(i64) -> i32 { block0(v0: i64):
            v1 = iconst.i32 0x2da4 v2 = uextend.i64 v1 v3 = iadd v0, v2 v4 = load.i32 v3 return v4 }",
        "mov32_rm",
    );
    check(
        "function %f(i64) -> i64 { block0(v0: i64): v1 = iconst.i8 -1 v2 = sextend.i64 v1 v3 = bxor v0, v2 return v3 }",
        "xor64_ri",
    );
}

#[test]
fn stack_limits_are_checked_in_the_body_if_the_prologue_cannot() {
    let limit = |convention, global| {
        let limit = format!("gv0 = {global} gv1 = load.i64 notrap aligned gv0+8 stack_limit = gv1");
        format!("function %f(i64 vmctx) {convention} {{ {limit} block0(v0: i64): return }}")
    };
    check(&limit("tail", "vmctx"), "");
    check(&limit("preserve_all", "vmctx"), "mov64_rm stack_check_r");
    check(&limit("tail", "symbol colocated %s"), "lea64_const mov64_rm stack_check_r");
}

#[test]
fn loads_stay_where_memory_may_change() {
    check(
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64):
            v2 = load.i64 v1 store v0, v1 v3 = iadd v0, v2 return v3 }",
        "mov64_rm mov64_mr add64_rr",
    );
    // A narrower load than the operation is not taken in.
    check(
        "function %f(i16, i64) -> i16 { block0(v0: i16, v1: i64): v2 = load.i16 v1 v3 = iadd v0, v2 return v3 }",
        "movzx32_16_rm add32_rr",
    );
}

#[test]
fn conditions_go_into_the_flags() {
    check(
        "function %f(i32, i32) -> i32 { block0(v0: i32, v1: i32):
            v2 = icmp slt v0, v1 v3 = uextend.i32 v2 brif v3, block1, block2
            block1: return v0 block2: return v1 }",
        "cmp32_rr jcc",
    );
    check(
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64):
            v2 = iconst.i64 12 v3 = band v0, v2 v4 = iconst.i64 0 v5 = icmp eq v3, v4 v6 = select v5, v0, v1 return v6 }",
        "test64_ri cmov64_rr",
    );
    check(
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64):
            v2 = icmp ult v0, v1 v3 = uextend.i32 v2 v4 = iconst.i32 0 v5 = icmp eq v3, v4 v6 = select v5, v0, v1 return v6 }",
        "cmp64_rr cmov64_rr",
    );
    check("function %f(i8) { block0(v0: i8): trapz v0, user1 return }", "test8_rr trap_if");
    check(
        "function %f(i16) -> i8 { block0(v0: i16): v1 = iconst.i16 9 v2 = icmp ne v1, v0 return v2 }",
        "cmp16_ri setcc_r",
    );
}

#[test]
fn narrow_operands_are_extended_only_where_it_shows() {
    check("function %f(i8, i8) -> i8 { block0(v0: i8, v1: i8): v2 = ushr v0, v1 return v2 }", "and32_ri shr8_rc");
    check("function %f(i32, i32) -> i32 { block0(v0: i32, v1: i32): v2 = ishl v0, v1 return v2 }", "shl32_rc");
    check("function %f(i8, i8) -> i8 { block0(v0: i8, v1: i8): v2 = udiv v0, v1 return v2 }", "movzx32_8_rr div8_r");
    check(
        "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = ireduce.i32 v0 v3 = uextend.i64 v2 return v3 }",
        "movzx64_32_rr",
    );
    check("function %f(i64) -> i64 { block0(v0: i64): v1 = load.i8 v0 v2 = uextend.i64 v1 return v2 }", "movzx32_8_rm");
}

#[test]
fn truncations_are_passed_to_blocks_in_the_wider_register() {
    // The parameter is as wide as what is passed for it, or a slot they share would be too small.
    let text = lower(
        &[],
        "function %f(i64, i32, i8) -> i32 { block0(v0: i64, v1: i32, v2: i8):
            v3 = ireduce.i32 v0 brif v2, block1(v3), block1(v1)
            block1(v4: i32): v5 = iadd v4, v4 return v5 }",
    );
    assert!(text.is_ok());
}

#[test]
fn division_tells_its_traps_apart() {
    let text =
        lower(&[], "function %f(i32, i32) -> i32 { block0(v0: i32, v1: i32): v2 = sdiv v0, v1 return v2 }").unwrap();
    assert!(text.contains("trap_if #0x4 traps int_divz") && text.contains("traps int_ovf"), "{text}");
    check(
        "function %f(i32) -> i32 { block0(v0: i32): v1 = iconst.i32 7 v2 = sdiv v0, v1 return v2 }",
        "mov32_ri cdq idiv32_r",
    );
    check(
        "function %f(i32, i32) -> i32 { block0(v0: i32, v1: i32): v2 = srem v0, v1 return v2 }",
        "mov32_ri cmp32_ri cmov32_rr cdq idiv32_r",
    );
    check("function %f(i16) -> i16 { block0(v0: i16): v1 = iconst.i16 8 v2 = urem v0, v1 return v2 }", "and32_ri");
}

#[test]
fn calls_pass_what_does_not_fit_registers_in_memory() {
    let body = "function %f(i64) -> i64 { fn0 = colocated %g(i64, i64, i64, i64, i64, i64, i64) -> i64
        block0(v0: i64): v1 = call fn0(v0, v0, v0, v0, v0, v0, v0) return v1 }";
    check(body, "mov64_mr call_sym");
    let far = body.replace("colocated ", "");
    check(&far, "mov64_mr movabs_abs call_r");
    assert_eq!(rows(&["is_pic"], &far), "mov64_mr call_plt");
    let tail = body.replace("-> i64\n", "-> i64 tail\n");
    check(&tail, "mov64_mr call_sym subrsp_i");
}

#[test]
fn many_results_need_a_return_area() {
    let body = "function %f(i64) -> i64, i64, i64 { block0(v0: i64): return v0, v0, v0 }";
    assert!(lower(&[], body).unwrap_err().to_string().contains("enable_multi_ret_implicit_sret"));
    assert_eq!(rows(&["enable_multi_ret_implicit_sret"], body), "mov64_mr");
}

#[test]
fn newer_cpus_are_used_if_allowed() {
    let unary = |name, ty| format!("function %f({ty}) -> {ty} {{ block0(v0: {ty}): v1 = {name} v0 return v1 }}");
    let binary = |name, ty| {
        format!("function %f({ty}, {ty}) -> {ty} {{ block0(v0: {ty}, v1: {ty}): v2 = {name} v0, v1 return v2 }}")
    };
    let and_not = "function %f(i32, i32) -> i32 { block0(v0: i32, v1: i32): v2 = bnot v0 v3 = band v1, v2 return v3 }";
    let rotated = "function %f(i32) -> i32 { block0(v0: i32): v1 = iconst.i32 3 v2 = rotl v0, v1 return v2 }";
    let fused = "function %f(f32, f32, f32) -> f32 {
        block0(v0: f32, v1: f32, v2: f32): v3 = fma v0, v1, v2 return v3 }";
    let cases = [
        ("has_popcnt", unary("popcnt", "i32"), "popcnt32_rr"),
        ("has_lzcnt", unary("clz", "i64"), "lzcnt64_rr"),
        ("has_bmi1", unary("ctz", "i64"), "tzcnt64_rr"),
        ("has_bmi1", and_not.into(), "andn32_rr"),
        ("has_bmi2", binary("ishl", "i64"), "shlx64_rr"),
        ("has_bmi2", binary("ushr", "i32"), "shrx32_rr"),
        ("has_bmi2", binary("sshr", "i64"), "sarx64_rr"),
        ("has_bmi2", rotated.into(), "rorx32_rri"),
        ("has_bmi2", binary("umulhi", "i64"), "mulx64_rr"),
        ("has_sse41", unary("floor", "f64"), "roundsd_rri"),
        ("has_fma", fused.into(), "vfmadd213ss_rrr"),
    ];
    for (flag, body, row) in cases {
        assert_eq!(rows(&[flag], &body), row, "{body}");
        assert_eq!(rows(&["skylake"], &body), row, "{body}");
        assert!(!rows(&[], &body).contains(row), "{body}");
        assert!(!rows(&["skylake", &format!("{flag}=false")], &body).contains(row), "{body}");
    }
}

#[test]
fn floats_come_from_memory_where_only_one_wants_them() {
    check(
        "function %f(f64, i64) -> f64 { block0(v0: f64, v1: i64): v2 = load.f64 v1 v3 = fadd v2, v0 return v3 }",
        "addsd_rm",
    );
    check("function %f(f32) -> f32 { block0(v0: f32): v1 = f32const 0x1.8p0 v2 = fmul v1, v0 return v2 }", "mulss_rm");
    check(
        "function %f(f64) -> f64 { block0(v0: f64): v1 = f64const 0x1.8p0 v2 = fsub v1, v0 return v2 }",
        "movsd_const subsd_rr",
    );
    check(
        "function %f(i64) -> f64 { block0(v0: i64): v1 = load.i32 v0 v2 = fcvt_from_uint.f64 v1 return v2 }",
        "mov32_rm xorps_zero cvtsi2sd64_rr",
    );
    check("function %f(f64) -> f64 { block0(v0: f64): v1 = fneg v0 return v1 }", "xorps_rm");
}

#[test]
fn fused_operations_take_in_negations_nobody_else_wants() {
    let body = "function %f(f64, f64, f64) -> f64 { block0(v0: f64, v1: f64, v2: f64):
        v3 = fneg v0 v4 = fneg v2 v5 = fma v3, v1, v4 return v5 }";
    assert_eq!(rows(&["has_fma"], body), "vfnmsub213sd_rrr");
    assert_eq!(rows(&[], body), "xorps_rm xorps_rm movabs_abs call_r");
}

#[test]
fn nans_are_made_canonical_on_request_only() {
    let body = "function %f(f32) -> f32 { block0(v0: f32): v1 = sqrt v0 return v1 }";
    check(body, "sqrtss_rr");
    let canonical = rows(&["enable_nan_canonicalization"], body);
    assert_eq!(canonical, "sqrtss_rr cmpss_rri andnps_rr andps_rm orps_rr");
}

#[test]
fn atomic_results_nobody_wants_are_not_computed() {
    let add = "function %f(i64, i32) { block0(v0: i64, v1: i32): v2 = atomic_rmw.i32 add v0, v1 return }";
    check(add, "lock_add32_mr");
    let returned = "function %f(i64, i32) -> i32 { block0(v0: i64, v1: i32):
        v2 = atomic_rmw.i32 sub v0, v1 return v2 }";
    check(returned, "neg32_r lock_xadd32_mr");
    check(
        "function %f(i64, i8) -> i8 { block0(v0: i64, v1: i8): v2 = atomic_rmw.i8 umax v0, v1 return v2 }",
        "atomic_umax8_mr",
    );
}

#[test]
fn switches_jump_through_a_table() {
    check(
        "function %f(i32) { block0(v0: i32): br_table v0, block1, [block1, block2, block2]
            block1: return block2: return }",
        "jchain3_r",
    );
    check(
        "function %f(i32) { block0(v0: i32): br_table v0, block1, [block1, block2, block2, block1]
            block1: return block2: return }",
        "mov32_ri cmp32_ri cmov32_rr lea64_const movsx64_32_rm add64_rr jmp_r",
    );
    check(
        "function %f(i32) { block0(v0: i32): br_table v0, block1, [block2, block2]
            block1: return block2: return }",
        "cmp32_ri jcc",
    );
}

#[test]
fn what_is_not_supported_is_named() {
    let vector = "function %f(i32x4, i32x4) -> i32x4 { block0(v0: i32x4, v1: i32x4): v2 = iadd v0, v1 return v2 }";
    let error = lower(&[], vector).unwrap_err().to_string();
    assert_eq!(error, "`iadd` on i32x4 is not supported for x86_64");
}

#[test]
fn a_promise_of_zeros_that_the_row_does_not_keep_is_found() {
    let body = "function %f(i32, i64) -> i32, i8 { block0(v0: i32, v1: i64):
        v2 = iadd v0, v0 v3 = icmp eq v1, v1 return v2, v3 }";
    let (mut code, isa) = code(&[], body).unwrap();
    let defined_by = |code: &Code, name: &str| {
        let row = |inst| isa.rows()[usize::from(code.insts[inst].row.0)].name;
        let inst = code.insts.keys().find(|&inst| row(inst) == name).expect(name);
        code.problem.operands(inst)[0].vreg()
    };
    assert!(code.zero_extended.contains(&defined_by(&code, "lea32_rm")));
    // `setcc` writes a byte and keeps the others.
    let boolean = defined_by(&code, "setcc_r");
    code.zero_extended.push(boolean);
    let errors = verify(&code, isa.rows(), isa.features());
    assert_eq!(errors.iter().map(|error| error.rule).collect::<Vec<_>>(), [8]);
}
