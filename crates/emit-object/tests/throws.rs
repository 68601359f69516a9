//! Checks exceptions that are thrown and caught across frames of all conventions with handlers, at every call. Values
//! of all kinds are live across the calls, and a collector moves the objects that references lead to.

use kingpost_codegen::{ALLOCATORS, Compiler, Settings};
use kingpost_emit_object::{ObjectOptions, write};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::Command;
use target_lexicon::Triple;

/// Number of functions of a chain. Each calls the next one.
const FRAMES: usize = 11;

const X86_64: &[&str] = &["system_v", "tail", "winch", "preserve_all"];
const AARCH64: &[&str] = &["system_v", "tail", "winch", "preserve_all", "apple_aarch64"];

/// Returns the convention of a function of a chain. C++ calls the first one.
fn convention(conventions: &'static [&'static str], chain: usize, k: usize) -> &'static str {
    conventions[(k * chain + k / 2) % conventions.len()]
}

fn signature(convention: &str) -> String {
    let result = if convention == "preserve_all" { "" } else { "-> i64 " };
    format!("(i64, f64{}) {result}{convention}", ", i64".repeat(10))
}

/// Returns the functions of all chains. `throws.cpp` has their equivalents in C++.
fn text(conventions: &'static [&'static str]) -> String {
    let mut text = String::new();
    for chain in 0..conventions.len() {
        for k in 0..FRAMES {
            function(conventions, chain, k, &mut text);
        }
    }
    text
}

fn function(conventions: &'static [&'static str], chain: usize, k: usize, text: &mut String) {
    let own = convention(conventions, chain, k);
    let next = convention(conventions, chain, k + 1);
    let params = (2..12).map(|n| format!(", v{n}: i64")).collect::<String>();
    let passed = (2..11).map(|n| format!(", v{n}")).collect::<String>();
    let (site, map) = ((chain * FRAMES + k) * 4, "stack_map=[i64 @ ss0+8]");
    let payload = if next == "winch" { "v29" } else { "exn0" };
    let item = if k % 4 == 1 { "tag1: block13".into() } else { format!("default: block11({payload})") };
    // A callee without a result stores its result in memory.
    let call = match next {
        _ if k + 1 == FRAMES => "v34 = iconst.i64 77 jump block2(v34)".into(),
        "preserve_all" => format!(
            "try_call fn4(v32, v33, v11{passed}), sig1, block4, [ {item} ], {map}
             block4: v35 = symbol_value.i64 gv0 v36 = load.i64 v35 jump block2(v36)"
        ),
        _ => format!("try_call fn4(v32, v33, v11{passed}), sig1, block2(ret0), [ {item} ], {map}"),
    };
    let caught = if k % 4 == 3 { format!("call fn2(v76), {map} trap user1") } else { "jump block3(v76)".into() };
    let others = (2..12).fold(String::new(), |sum, n| {
        format!("{sum}    v{} = iadd v{}, v{n}\n", 90 + n, if n == 2 { 61 } else { 89 + n })
    });
    let result = if own == "preserve_all" { "" } else { "v110" };
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "function %chain{chain}_{k}{} {{
    ss0 = explicit_slot 16
    gv0 = symbol %passed
    sig0 = (i64) system_v
    sig1 = {}
    fn0 = %hook sig0
    fn1 = %caught(i64) -> i64 system_v
    fn2 = %rethrow(i64) system_v
    fn3 = %object(i64) -> i64 system_v
    fn4 = colocated %chain{chain}_{} sig1
block0(v0: i64, v1: f64{params}):
    v20 = iconst.i64 {}
    v21 = imul v0, v20
    v22 = iconcat v0, v21
    v23 = fdemote.f32 v1
    v24 = fpromote.f128 v1
    v25 = fdemote.f16 v1
    v26 = call fn3(v21)
    v27 = stack_addr.i64 ss0
    store v26, v27+8
    v28 = iconst.i64 {site}
    v29 = iconst.i64 0
    try_call fn0(v28), sig0, block1, [ default: block10(exn0) ], {map}
block1:
    v30 = iconst.i64 {}
    call fn0(v30), {map}
    v31 = iconst.i64 1
    v32 = iadd v0, v31
    v33 = fadd v1, v1
    {call}
block2(v40: i64):
    v41 = func_addr.i64 fn0
    v42 = iconst.i64 {}
    try_call_indirect v41(v42), sig0, block3(v40), [ default: block12(exn0) ], {map}
block10(v70: i64):
    v71 = call fn1(v70), {map}
    jump block3(v71)
block11(v72: i64):
    v76 = call fn1(v72), {map}
    {caught}
block12(v73: i64):
    v74 = call fn1(v73), {map}
    v75 = iadd v74, v40
    jump block3(v75)
block13:
    trap user2
block3(v50: i64):
    v51 = iconst.i64 31
    v52 = imul v50, v51
    v53, v54 = isplit v22
    v55 = imul v54, v51
    v56 = iadd v53, v55
    v57 = fcvt_to_sint.i64 v23
    v58 = fcvt_to_sint.i64 v24
    v59 = fcvt_to_sint.i64 v25
    v60 = load.i64 v27+8
    v61 = load.i64 v60
{others}    v62 = iadd v101, v57
    v63 = iadd v62, v58
    v64 = iadd v63, v59
    v65 = iadd v64, v56
    v66 = iadd v65, v52
    v67 = imul v2, v51
    v110 = iadd v66, v67
    v111 = symbol_value.i64 gv0
    store v110, v111
    return {result}
}}

",
        signature(own),
        signature(next),
        k + 1,
        k + 3,
        site + 1,
        site + 2,
    );
}

#[test]
fn exceptions_pass_frames_of_all_conventions() {
    if cfg!(target_arch = "x86_64") {
        run("x86_64-unknown-linux-gnu", X86_64, &["g++", "-pie"], None);
    }
}

#[test]
fn exceptions_pass_frames_of_all_conventions_under_the_emulator() {
    run("aarch64-unknown-linux-gnu", AARCH64, &["aarch64-linux-gnu-g++", "-static"], Some("qemu-aarch64"));
}

fn run(triple: &str, conventions: &'static [&'static str], cxx: &[&str], emulator: Option<&str>) {
    if let Some(tool) =
        [cxx[0]].into_iter().chain(emulator).find(|tool| Command::new(tool).arg("--version").output().is_err())
    {
        assert!(std::env::var_os("CI").is_none(), "CI has {tool}");
        eprintln!("SKIPPED: exceptions_pass_frames_of_all_conventions: no {tool}");
        return;
    }
    let pair = |chain, k| (convention(conventions, chain, k), convention(conventions, chain, k + 1));
    let pairs: BTreeSet<_> =
        (0..conventions.len()).flat_map(|chain| (1..FRAMES).map(move |k| pair(chain, k - 1))).collect();
    assert_eq!(pairs.len(), conventions.len().pow(2), "each convention calls each");
    let functions = text(conventions);
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let tables: String = (0..conventions.len()).map(|chain| format!("CHAIN({chain}) ")).collect();
    let program = include_str!("throws.cpp").replace("CHAINS", &tables).replace("FRAMES", &FRAMES.to_string());
    std::fs::write(at("main.cpp"), program).unwrap();
    let execute = |command: &mut Command| {
        let output = command.current_dir(folder.path()).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{command:?}: {}: {}", output.status, String::from_utf8_lossy(&said));
    };
    execute(Command::new(cxx[0]).args([
        "-c",
        "-O1",
        "-fno-omit-frame-pointer",
        "-Wall",
        "-Werror",
        "-fPIE",
        "main.cpp",
    ]));
    for &(name, _) in ALLOCATORS {
        std::fs::write(at("chains.o"), object(triple, name, &functions)).unwrap();
        execute(Command::new(cxx[0]).args(&cxx[1..]).args(["main.o", "chains.o", "-o", "main"]));
        match emulator {
            None => execute(&mut Command::new(at("main"))),
            Some(emulator) => execute(Command::new(emulator).arg("main")),
        }
    }
}

fn object(triple: &str, allocator: &str, functions: &str) -> Vec<u8> {
    let triple: Triple = triple.parse().unwrap();
    let settings = Settings::default().with(|settings| {
        settings.regalloc_algorithm = allocator.into();
        settings.verify_each = true;
        settings.is_pic = true;
    });
    let compiler = Compiler::new(&triple, settings, &[]).unwrap();
    let batch = compiler.compile_batch(&mut kingpost_reader::parse_functions(functions).unwrap(), 1);
    assert!(batch.errors.is_empty(), "{:?}", batch.errors);
    let options = ObjectOptions::default().with(|options| options.personality = Some("__gxx_personality_v0".into()));
    write(&triple, &batch.module, &[], options).unwrap()
}
