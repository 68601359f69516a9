//! Every setting at every value, or at both ends of its range: compiled by every allocator for every machine,
//! linked, and called.
//!
//! Values come from the settings themselves, so that a new key is tested at once.
//! `filetests/matrix/refused_settings.txt` lists rejected values; `make matrix` updates it.

use kingpost_codegen::{ALLOCATORS, Compiler, CpuFlags, Settings};
use kingpost_filetest::native::{self, Program, Request};
use kingpost_filetest::{Ending, Options, Via, run_text};
use kingpost_interpreter::DataValue;
use kingpost_ir::types::I64;
use kingpost_mach::{DataObject, ModuleBuffer, SymbolName};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;
use target_lexicon::Triple;

/// Frames below and above guards, calls with stack arguments, a tail call that needs more of them than its caller
/// has, a loop, a jump table, a library routine, and floats. `u@` is replaced by a namespace of each case.
const PROGRAM: &str = "
function u@:0(i64) -> i64 system_v {
    ss0 = explicit_slot 64
    fn0 = colocated u@:1(i64) -> i64
    fn1 = colocated u@:2(i64) -> i64
    fn2 = u@:3(i64) -> i64 system_v
    fn3 = colocated u@:4(i64, i64) -> i64 tail
block0(v0: i64):
    v1 = stack_addr.i64 ss0
    store v0, v1
    v2 = call fn0(v0)
    v3 = call fn1(v2)
    v4 = call fn2(v3)
    v5 = call fn3(v4, v0)
    v6 = load.i64 v1
    v7 = iadd v5, v6
    return v7
}
function u@:1(i64) -> i64 {
    ss0 = explicit_slot 4000
block0(v0: i64):
    v1 = stack_addr.i64 ss0
    store v0, v1
    v2 = load.i64 v1
    return v2
}
function u@:2(i64) -> i64 {
    ss0 = explicit_slot 100000
block0(v0: i64):
    v1 = stack_addr.i64 ss0
    store v0, v1
    store v0, v1+99992
    v2 = load.i64 v1
    v3 = load.i64 v1+99992
    v4 = iadd v2, v3
    return v4
}
function u@:3(i64) -> i64 system_v {
    fn0 = colocated u@:1(i64) -> i64
block0(v0: i64):
    v1 = iconst.i64 5
    v2 = f64const 0x1.8p0
    jump block1(v1, v0, v2)
block1(v3: i64, v4: i64, v5: f64):
    v6 = ireduce.i32 v3
    br_table v6, block5, [block2, block3, block4]
block2:
    v7 = call fn0(v4)
    v8 = fcvt_to_sint.i64 v5
    v9 = iadd v7, v8
    v10 = iconcat v9, v0
    v11 = iconcat v0, v3
    v12 = udiv v10, v11
    v13, v14 = isplit v12
    v15 = iadd v9, v13
    return v15
block3:
    v16 = call fn0(v4)
    v17 = fadd v5, v5
    jump block6(v16, v17)
block4:
    v41 = iconst.i64 7
    v18 = iadd v4, v41
    jump block6(v18, v5)
block5:
    v42 = iconst.i64 3
    v19 = imul v4, v42
    v20 = fmul v5, v5
    jump block6(v19, v20)
block6(v21: i64, v22: f64):
    v43 = iconst.i64 -1
    v23 = iadd v3, v43
    jump block1(v23, v21, v22)
}
function u@:4(i64, i64) -> i64 tail {
    fn0 = colocated u@:5(i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64) -> i64 tail
block0(v0: i64, v1: i64):
    v2 = iadd v0, v1
    v3 = isub v0, v1
    return_call fn0(v0, v1, v2, v3, v0, v1, v2, v3, v0, v1, v2, v3)
}
function u@:5(i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64) -> i64 tail {
block0(v0: i64, v1: i64, v2: i64, v3: i64, v4: i64, v5: i64, v6: i64, v7: i64, v8: i64, v9: i64, v10: i64, v11: i64):
    v12 = isub v2, v3
    v13 = imul v12, v5
    v14 = iadd v13, v8
    v15 = iadd v14, v11
    return v15
}
";

/// A branch and two blocks, for settings that make blocks large.
const BRANCH: &str = "
function u@:0(i64) -> i64 system_v {
block0(v0: i64):
    brif v0, block1, block2
block1:
    v44 = iconst.i64 21
    v1 = iadd v0, v44
    return v1
block2:
    return v0
}
";

const PINNED: &str = "
function u@:0(i64) -> i64 system_v {
block0(v0: i64):
    v1 = get_pinned_reg.i64
    set_pinned_reg v0
    v2 = get_pinned_reg.i64
    set_pinned_reg v1
    v3 = iadd v2, v2
    return v3
}
";

/// Increments a thread-local number.
const THREAD_LOCAL: &str = "
function u@:0(i64) -> i64 system_v {
    gv0 = symbol tls u@:9
block0(v0: i64):
    v1 = tls_value.i64 gv0
    v2 = load.i64 v1
    v3 = iadd v2, v0
    store v3, v1
    v4 = tls_value.i64 gv0
    v5 = load.i64 v4
    v6 = iadd v5, v0
    return v6
}
";

const MANY_RESULTS: &str = "
function u@:0(i64) -> i64 system_v {
    fn0 = colocated u@:1(i64) -> i64, i64, i64, i64, i64, i64, i64, i64, i64, i64 system_v
block0(v0: i64):
    v1, v2, v3, v4, v5, v6, v7, v8, v9, v10 = call fn0(v0)
    v11 = iadd v1, v10
    return v11
}
function u@:1(i64) -> i64, i64, i64, i64, i64, i64, i64, i64, i64, i64 system_v {
block0(v0: i64):
    v45 = iconst.i64 9
    v1 = iadd v0, v45
    return v0, v1, v1, v1, v1, v1, v1, v1, v1, v0
}
";

const WIDE: &str = "
function u@:0(i64) -> i64 system_v {
    fn0 = colocated u@:1(i128) -> i128 system_v
block0(v0: i64):
    v1 = iconcat v0, v0
    v2 = call fn0(v1)
    v3, v4 = isplit v2
    v5 = iadd v3, v4
    return v5
}
function u@:1(i128) -> i128 system_v {
block0(v0: i128):
    return v0
}
";

/// A context is three words: the stack pointer, the frame pointer, and the address at which to resume.
const SWITCH: &str = "
function u@:0(i64) -> i64 system_v {
    ss0 = explicit_slot 65536, align = 16
    ss1 = explicit_slot 48
    fn0 = colocated u@:1(i64) system_v
block0(v0: i64):
    v1 = stack_addr.i64 ss1
    v2 = stack_addr.i64 ss0+65536
    store v2, v1+24
    v3 = iconst.i64 0
    store v3, v1+32
    v4 = func_addr.i64 fn0
    store v4, v1+40
    v5 = stack_addr.i64 ss1+24
    v6 = stack_switch v1, v5, v1
    v7 = stack_switch v1, v5, v0
    return v7
}
function u@:1(i64) system_v {
block0(v0: i64):
    v46 = iconst.i64 24
    v1 = iadd v0, v46
    v2 = iconst.i64 0
    jump block1(v2)
block1(v3: i64):
    v4 = stack_switch v1, v0, v3
    v5 = iadd v4, v4
    jump block1(v5)
}
";

/// Settings under which a key matters, in addition to the usual ones.
const BASES: &[(&str, &[&str])] = &[
    ("opt_level", &["", "enable_probestack=true probestack_strategy=inline"]),
    ("probestack_size_log2", &["enable_probestack=true", "enable_probestack=true probestack_strategy=inline"]),
    ("probestack_strategy", &["enable_probestack=true"]),
    ("preserve_frame_pointers", &["", "enable_probestack=true probestack_strategy=inline"]),
    ("use_colocated_libcalls", &["is_pic=true"]),
    ("enable_alias_analysis", &["opt_level=speed"]),
    ("debug_values", &["", "opt_level=speed"]),
    ("bb_padding_log2_minus_one", &["", "opt_level=speed"]),
];

/// Functions that need a setting, with the result of `u@:0` for 21.
const NEEDS: &[(&str, &str, i64)] = &[
    ("enable_pinned_reg=true", PINNED, 42),
    ("tls_model=elf_gd", THREAD_LOCAL, 42),
    ("tls_model=elf_gd is_pic=true", THREAD_LOCAL, 42),
    ("enable_multi_ret_implicit_sret=true", MANY_RESULTS, 42),
    ("enable_llvm_abi_extensions=true", WIDE, 42),
    ("stack_switch_model=basic", SWITCH, 42),
];

/// The list of rejected values.
const LIST: &str = "../../filetests/matrix/refused_settings.txt";

/// The head of the list.
const HEAD: &str = "\
# Values of settings, and flags, that a machine refuses by name: `KEY=VALUE | MACHINES`. Numbers outside of the range that their key
# takes are refused as well. `make matrix` updates the list.

";

/// Result of [`PROGRAM`] for 21.
const EXPECTED: i64 = 3322;

/// The machines that reject a value, by key and value.
type Refused = BTreeMap<String, BTreeSet<&'static str>>;

/// A program under settings and flags for one machine.
struct Case {
    words: String,
    settings: Settings,
    flags: Vec<String>,
    text: &'static str,
    expected: i64,
}

impl Case {
    fn new(words: &str, text: &'static str, expected: i64) -> Case {
        let settings = Settings::default().with(|settings| settings.is_pic = false);
        let mut case = Case { words: words.into(), settings, flags: Vec::new(), text, expected };
        for word in words.split_whitespace() {
            match word.split_once('=') {
                Some((key, value)) => case.settings.set(key, value).unwrap(),
                None => case.flags.push(word.into()),
            }
        }
        case
    }
}

/// Returns the values of a key: all of them, or both ends of its range.
fn values(key: &str) -> Vec<String> {
    let words = Settings::words(key);
    if key == "regalloc_registers" {
        return ["all", "few", "0", "11", "255"].map(String::from).to_vec();
    }
    // Every allocator is used anyway.
    if !words.is_empty() || key == "regalloc_algorithm" {
        return words.iter().map(|word| word.to_string()).collect();
    }
    let is_taken = |number: &u8| {
        let mut settings = Settings::default();
        settings.set(key, &number.to_string()).unwrap();
        settings.check().is_ok()
    };
    let numbers: Vec<u8> = (0..=u8::MAX).filter(is_taken).collect();
    [numbers.first(), numbers.last()].into_iter().flatten().map(u8::to_string).collect()
}

fn cases(machine: &str) -> Vec<Case> {
    let mut cases = vec![];
    for (key, _) in Settings::KEYS {
        let bases = BASES.iter().find(|(with, _)| with == key).map_or(&[""][..], |(_, bases)| bases);
        for (base, value) in bases.iter().flat_map(|base| values(key).into_iter().map(move |value| (base, value))) {
            let words = format!("{base} {key}={value}");
            // Terms without a solver decide neither the traps of conversions from floats nor the ones of `i128`.
            let is_simple = *key == "bb_padding_log2_minus_one" || *key == "validate_code" && value == "terms";
            let (text, expected) = if is_simple { (BRANCH, 42) } else { (PROGRAM, EXPECTED) };
            cases.push(Case::new(words.trim(), text, expected));
        }
    }
    cases.extend(NEEDS.iter().map(|&(words, text, expected)| Case::new(words, text, expected)));
    let triple = triple(machine);
    let flags = CpuFlags::of(triple.architecture, &[]).unwrap();
    // Emulators have all flags.
    let host =
        CpuFlags::host().map(|flags| flags.words()).filter(|_| triple.architecture == Triple::host().architecture);
    for (flag, _) in flags.known() {
        if host.as_ref().is_none_or(|host| host.iter().any(|word| word == flag)) {
            cases.push(Case::new(flag, PROGRAM, EXPECTED));
        }
    }
    cases
}

fn triple(machine: &str) -> Triple {
    Triple::from_str(&format!("{machine}-unknown-linux-gnu")).unwrap()
}

/// Adds the functions of a case to a program, and a call of the first.
fn add(number: usize, case: &Case, compiler: &Compiler, program: &mut Program, requests: &mut Vec<Request>) {
    let text = case.text.replace("u@", &format!("u{}", number + 1));
    let functions = kingpost_reader::parse_functions(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let trampoline = native::trampoline(number, &functions[0]).unwrap();
    requests.push(Request { trampoline: program.module.len() as u32, arguments: vec![word(21)], results: vec![I64] });
    let mut cx = compiler.context();
    for mut function in std::iter::once(trampoline).chain(functions) {
        let mut module = ModuleBuffer::default();
        let result = compiler.compile(&mut cx, &mut function, &mut module);
        assert!(result.is_ok(), "{}: {}: {}", case.words, function.name, result.unwrap_err());
        program.module.append(&module);
    }
    if std::ptr::eq(case.text, THREAD_LOCAL) {
        program.data.push(DataObject {
            placement: Default::default(),
            name: SymbolName::User(number as u32 + 1, 9),
            align: 8,
            writable: true,
            tls: true,
            size: 8,
            bytes: Vec::new(),
            pointers: Vec::new(),
        });
    }
}

/// Runs all cases of a machine with all allocators, and returns their number. Adds rejected values to `refused`.
fn run(machine: &'static str, refused: &mut Refused) -> usize {
    let new =
        || Program { triple: triple(machine), unwind_info: true, module: ModuleBuffer::default(), data: Vec::new() };
    let (mut program, mut requests, mut expected) = (new(), Vec::new(), Vec::new());
    let mut number = 0;
    for (allocator, _) in ALLOCATORS {
        for case in cases(machine) {
            let settings = case.settings.clone().with(|settings| settings.regalloc_algorithm = (*allocator).into());
            let compiler = match Compiler::new(&triple(machine), settings, &case.flags) {
                Ok(compiler) => compiler,
                Err(error) => {
                    let text = error.to_string();
                    let word = text.strip_prefix("setting `").and_then(|text| text.strip_suffix("` is not supported"));
                    refused.entry(word.unwrap_or(&text).to_string()).or_default().insert(machine);
                    continue;
                }
            };
            number += 1;
            let label = format!("{machine}, {allocator}, {}", case.words);
            // Large code would be out of reach of the calls of other cases.
            if case.settings.block_padding() > 1 << 10 {
                let (mut program, mut requests) = (new(), Vec::new());
                add(number, &case, &compiler, &mut program, &mut requests);
                call(&program, &requests, &[(label, case.expected)]);
            } else {
                add(number, &case, &compiler, &mut program, &mut requests);
                expected.push((label, case.expected));
            }
        }
    }
    call(&program, &requests, &expected);
    number
}

fn word(number: i64) -> DataValue {
    DataValue::new(I64, number as u64 as u128)
}

/// Makes the calls of `requests`, and fails if a result differs from the expected one.
fn call(program: &Program, requests: &[Request], expected: &[(String, i64)]) {
    let endings = native::run(program, requests, Via::Object).unwrap_or_else(|error| panic!("{error}"));
    let wrong: Vec<String> = endings
        .iter()
        .zip(expected)
        .filter(|(ending, (_, expected))| **ending != Ending::Returned(vec![word(*expected)]))
        .map(|(ending, (label, expected))| format!("{label}: {ending}, expected {expected}"))
        .collect();
    assert!(wrong.is_empty() && endings.len() == expected.len(), "{}", wrong.join("\n"));
}

#[test]
fn every_value_of_every_setting_runs_or_is_refused() {
    let mut refused = Refused::new();
    for machine in ["x86_64", "aarch64"] {
        if let Err(reason) = native::can_run(&triple(machine)) {
            return eprintln!("SKIPPED: settings of {machine}: {reason}");
        }
        let number = run(machine, &mut refused);
        eprintln!("{machine}: {number} cases ran");
    }
    let lines = refused.iter().map(|(word, machines)| {
        let machines: Vec<&str> = machines.iter().copied().collect();
        format!("{word} | {}\n", machines.join(" "))
    });
    let current = HEAD.to_string() + &lines.collect::<String>();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(LIST);
    if std::env::var_os("KINGPOST_BLESS").is_some_and(|value| value != "0") {
        std::fs::write(&path, current).expect("writable");
        return;
    }
    let listed = std::fs::read_to_string(&path).expect("the list");
    assert!(listed == current, "{} is not up to date; `make matrix` updates it to:\n{current}", path.display());
}

#[test]
fn the_interpreter_expects_what_the_program_returns() {
    let text = format!("test interpret\n{}", PROGRAM.replace("u@:", "%f"));
    let second = text.find("function %f1").unwrap();
    let text = format!("{}; run: %f0(21) == {EXPECTED}\n{}", &text[..second], &text[second..]);
    let report = run_text("program.clif", text.as_bytes(), None, &Options::default());
    assert_eq!((report.passed(), report.failed()), (1, 0), "{report}");
}
