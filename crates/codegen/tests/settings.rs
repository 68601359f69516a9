//! Checks that every accepted setting has the effect that its row describes: the result differs from the default, or
//! the value is refused.

use kingpost_codegen::{A64Flags, Compiler, CpuFlags, Options, Settings, Stage, TargetError, X64Flags};
use kingpost_mach::ModuleBuffer;
use target_lexicon::triple;

/// Visible effect of a setting.
enum Shows {
    /// A difference in the result for this function.
    In(&'static str),
    /// A refusal.
    Refused,
    /// No effect on the compiler. The text names the reader of the setting.
    Elsewhere(&'static str),
}
use Shows::{Elsewhere, In, Refused};

const LEAF: &str = "block0(v0: i64, v1: i64): | v2 = iadd v0, v1 | return v2";
const CALL: &str = "fn0 = %g(i64) -> i64 | block0(v0: i64, v1: i64): | v2 = call fn0(v0) | return v2";
const CALL_IN_LOOP: &str = "fn0 = %g(i64) -> i64 | block0(v0: i64, v1: i64): | jump block1(v0) | block1(v2: i64): | v3 = call fn0(v2) | v4 = iadd v3, v0 | v5 = iadd v4, v1 | brif v5, block1(v5), block2 | block2: | return v0";
const FRAME: &str = "ss0 = explicit_slot 100000 | block0(v0: i64, v1: i64): | v2 = stack_addr.i64 ss0 | return v2";
const WIDE: &str = "block0(v0: i64, v1: i64): | v2 = iconcat v0, v1 | v3 = iconcat v1, v0 | v4 = udiv v2, v3 | v5, v6 = isplit v4 | return v5";
const LOADS: &str = "block0(v0: i64, v1: i64): | v2 = load.i64 v0 | v3 = load.i64 v0 | v4 = iadd v2, v3 | return v4";
const BRANCH: &str = "block0(v0: i64, v1: i64): | brif v0, block1, block2 | block1: | return v0 | block2: | return v1";

// `|` separates lines.

/// Each setting, a value other than the default, the settings under which it matters, and its effect.
const ROWS: &[(&str, &str, &str, Shows)] = &[
    (
        "opt_level",
        "speed",
        "",
        In(
            "block0(v0: i64, v1: i64): | v2 = iadd v0, v0 | v3 = iadd v0, v0 | v4 = imul v2, v3 | v5 = isub v4, v4 | return v5",
        ),
    ),
    ("regalloc_algorithm", "spill_all", "", In(LEAF)),
    ("regalloc_registers", "few", "", In(CALL_IN_LOOP)),
    ("regalloc_checker", "true", "", In(LEAF)),
    ("verify_each", "true", "", In(LEAF)),
    ("validate_code", "terms", "", Elsewhere("the verdict")),
    ("validate_failure", "report", "validate_code=terms", Elsewhere("verdicts, in `validate/tests/policies.rs`")),
    ("regalloc_verbose_logs", "true", "", Elsewhere("the log")),
    ("enable_alias_analysis", "false", "opt_level=speed", In(LOADS)),
    ("enable_inlining", "false", "opt_level=speed", Elsewhere("modules, in `inlining.rs`")),
    ("enable_verifier", "false", "", In(LEAF)),
    ("is_pic", "false", "", In(CALL)),
    ("use_colocated_libcalls", "true", "is_pic=true", In(WIDE)),
    (
        "enable_nan_canonicalization",
        "true",
        "",
        In("block0(v0: i64, v1: i64): | v2 = bitcast.f64 v0 | v3 = fadd v2, v2 | v4 = bitcast.i64 v3 | return v4"),
    ),
    ("enable_pinned_reg", "true", "", In("block0(v0: i64, v1: i64): | v2 = get_pinned_reg.i64 | return v2")),
    (
        "tls_model",
        "elf_gd",
        "is_pic=true",
        In("gv0 = symbol tls %t | block0(v0: i64, v1: i64): | v2 = tls_value.i64 gv0 | return v2"),
    ),
    ("stack_switch_model", "basic", "", In("block0(v0: i64, v1: i64): | v2 = stack_switch v0, v0, v1 | return v2")),
    ("libcall_call_conv", "windows_fastcall", "", Refused),
    (
        "enable_llvm_abi_extensions",
        "true",
        "",
        In("fn0 = %g(i128) | block0(v0: i64, v1: i64): | v2 = iconcat v0, v1 | call fn0(v2) | return v0"),
    ),
    (
        "enable_multi_ret_implicit_sret",
        "true",
        "",
        In("fn0 = %g() -> i64, i64, i64, i64 | block0(v0: i64, v1: i64): | v2, v3, v4, v5 = call fn0() | return v5"),
    ),
    ("unwind_info", "false", "", Elsewhere("objects and the memory of compiled functions")),
    ("preserve_frame_pointers", "true", "", In(LEAF)),
    ("debug_values", "true", "regalloc_algorithm=linear", In(LEAF)),
    ("machine_code_cfg_info", "true", "", In(BRANCH)),
    ("enable_probestack", "true", "", In(FRAME)),
    ("probestack_size_log2", "20", "enable_probestack=true", In(FRAME)),
    ("probestack_strategy", "inline", "enable_probestack=true", In(FRAME)),
    ("enable_heap_access_spectre_mitigation", "false", "", Elsewhere("front ends")),
    ("enable_table_access_spectre_mitigation", "false", "", Elsewhere("front ends")),
    ("enable_incremental_compilation_cache_checks", "true", "", Refused),
    ("bb_padding_log2_minus_one", "4", "", In(BRANCH)),
    ("log2_min_function_alignment", "6", "", In(LEAF)),
    (
        "enable_compact_unwind_abi",
        "true",
        "",
        In(
            "ss0 = explicit_slot 16 | fn0 = %g(i64) -> i64 | block0(v0: i64, v1: i64): | v2 = call fn0(v0) | v4 = stack_addr.i64 ss0 | store v2, v4 | v3 = iadd v2, v1 | return v3",
        ),
    ),
];

/// Returns settings from words of the form `key=value`.
fn settings(words: &[&str]) -> Settings {
    let mut settings = Settings::default();
    for word in words.iter().flat_map(|words| words.split_whitespace()) {
        let (key, value) = word.split_once('=').expect("a key and a value");
        settings.set(key, value).unwrap();
    }
    settings
}

/// Returns the result for a function: its tables or the error, and whether verifier and checker ran.
fn made(source: &str, settings: Settings) -> String {
    let options = Options::default().with(|options| options.time = true);
    let compiler = Compiler::new(&triple!("x86_64-unknown-linux-gnu"), settings, &[]).unwrap().with_options(options);
    let text = format!("function %f(i64, i64) -> i64 system_v {{\n{}\n}}", source.replace(" | ", "\n"));
    let mut function =
        kingpost_reader::parse_functions(text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}")).remove(0);
    let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
    let result = compiler.compile(&mut cx, &mut function, &mut module);
    let ran = [Stage::Verify, Stage::Check].map(|stage| cx.stats().stage_seconds[stage as usize] > 0.0);
    format!("{result:?} {ran:?} {:?}", module.functions().collect::<Vec<_>>())
}

#[test]
fn each_number_of_registers_makes_a_difference() {
    let sums: String = (0..16).map(|n| format!("v{} = iadd v{}, v{n} | ", n + 2, n + 1)).collect();
    let products: String = (2..17).map(|n| format!("v{} = imul v{}, v{n} | ", n + 16, n + 15)).collect();
    let source = format!("block0(v0: i64, v1: i64): | {sums}{products}return v32");
    let made = |registers: &str| made(&source, settings(&["", &format!("regalloc_registers={registers}")]));
    let codes = ["9", "10", "11", "12"].map(made);
    for (fewer, more) in codes.iter().zip(&codes[1..]) {
        assert_ne!(fewer, more);
    }
    assert_eq!([made("0"), made("255")], [made("few"), made("all")]);
}

#[test]
fn keys_do_what_their_rows_say() {
    let keys: Vec<&str> = Settings::KEYS.iter().map(|(key, _)| *key).collect();
    let rows: Vec<&str> = ROWS.iter().map(|(key, ..)| *key).collect();
    let missing: Vec<&&str> = keys.iter().filter(|key| !rows.contains(key)).collect();
    assert!(missing.is_empty() && rows.len() == keys.len(), "keys without a row here: {missing:?}");
    for (key, value, base, shows) in ROWS {
        let (usual, other) = (settings(&[base]), settings(&[base, &format!("{key}={value}")]));
        assert_ne!(usual, other, "{key}={value} is what is usual");
        match shows {
            In(source) => assert_ne!(made(source, usual), made(source, other), "{key}={value} makes no difference"),
            Refused => assert!(Compiler::new(&triple!("x86_64-unknown-linux-gnu"), other, &[]).is_err(), "{key}"),
            Elsewhere(place) => assert!(!place.is_empty()),
        }
    }
}

#[test]
fn typed_flags_are_the_flags_with_their_names() {
    let [x64, arm] = [triple!("x86_64-unknown-linux-gnu"), triple!("aarch64-unknown-linux-gnu")];
    let flags = CpuFlags::X64(X64Flags { has_bmi2: true, ..X64Flags::default() });
    let typed = Compiler::for_cpu(&x64, Settings::default(), flags).unwrap();
    let named = Compiler::new(&x64, Settings::default(), &["has_bmi2".into()]).unwrap();
    assert_eq!(typed.isa().features(), named.isa().features());
    let old = CpuFlags::Aarch64(A64Flags::default());
    assert!(Compiler::for_cpu(&arm, Settings::default(), old).is_ok());
    let error = Compiler::for_cpu(&x64, Settings::default(), old).map(drop).unwrap_err();
    assert_eq!(error, TargetError::Cpu(x64.to_string()));
    assert_eq!(error.to_string(), "the CPU flags are not for the architecture of target `x86_64-unknown-linux-gnu`");
}
