//! Checks that an unwinder can walk the stack at every instruction of functions with frames of all kinds.

use kingpost_codegen::{ALLOCATORS, Compiler, Settings};
use kingpost_emit_object::{ObjectOptions, write};
use kingpost_mach::settings::ProbestackStrategy;
use kingpost_mach::{ModuleBuffer, UnwindOp};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::Command;
use target_lexicon::{Architecture, Triple, triple};

/// Returns parameters `vN`, counted from 0.
fn params(count: usize) -> String {
    (0..count).map(|n| format!("v{n}: i64")).collect::<Vec<_>>().join(", ")
}

/// Returns a list of `count` copies of `what`.
fn list(count: usize, what: &str) -> String {
    vec![what; count].join(", ")
}

/// Returns the functions that `unwind.c` names, and the functions that they call.
fn text() -> String {
    let hook = "sig0 = (i64) -> i64 system_v\nfn0 = %hook sig0";
    let mut text = String::new();
    let mut add = |name: &str, signature: &str, preamble: &str, body: &str| {
        let _ = writeln!(text, "function %{name}{signature} {{\n{hook}\n{preamble}\n{body}\n}}");
    };
    let plain = "(i64) -> i64 system_v";
    // No frame.
    add("leaf", plain, "", "block0(v0: i64): v1 = imul v0, v0 return v1");
    // More values across calls than there are callee-saved registers.
    let values = (1..9).map(|n| format!("v{n} = iadd v{}, v0\n", n - 1)).collect::<String>();
    let sums = (1..9).map(|n| format!("v{} = imul v{}, v{n}\n", n + 9, n + 8)).collect::<String>();
    let saves = format!("block0(v0: i64): {values} v9 = call fn0(v8) {sums} return v17");
    add("saves", plain, "", &saves);
    // Returns in the middle, each with an epilogue.
    add(
        "returns",
        plain,
        "",
        "block0(v0: i64): v1 = call fn0(v0) v8 = iconst.i64 1 v2 = icmp ugt v0, v8 brif v2, block1, block2
         block1: return v1
         block2: v3 = isub v0, v1 brif v0, block3, block4
         block3: v5 = call fn0(v3) v6 = iadd v5, v0 return v6
         block4: v7 = iadd v0, v1 return v7",
    );
    // Code after the last epilogue needs the frame.
    add(
        "cold",
        plain,
        "",
        "block0(v0: i64): v1 = call fn0(v0) brif v0, block1, block2
         block1: v2 = iadd v0, v1 return v2
         block2 cold: v3 = call fn0(v1) v4 = iadd v3, v0 v5 = call fn0(v4) v6 = iadd v5, v0 return v6",
    );
    // Callees that pop their arguments, without a frame and with one.
    let ten = format!("({}) -> i64 tail", list(10, "i64"));
    let body = format!("block0({}): v10 = iadd v8, v9 return v10", params(10));
    add("pop_bare", &ten, "", &body);
    let body = format!("block0({}): v10 = call fn0(v8) v11 = iadd v10, v9 return v11", params(10));
    add("pop_framed", &ten, "", &body);
    let args = list(10, "v0");
    add(
        "pops",
        plain,
        &format!("sig1 = {ten}\nfn1 = colocated %pop_bare sig1\nfn2 = colocated %pop_framed sig1"),
        &format!(
            "block0(v0: i64): v1 = call fn1({args}) v2 = iadd v0, v1 v3 = call fn2({args}) v4 = iadd v2, v3
             v5 = call fn1({args}) v6 = iadd v4, v5 return v6"
        ),
    );
    // Tail calls whose callees have more stack arguments and fewer, without a frame and with one.
    let twenty = format!("({}) -> i64 tail", list(20, "i64"));
    let tails = format!(
        "sig1 = {ten}\nfn1 = colocated %pop_bare sig1\nsig2 = {twenty}\nfn2 = %shrink_bare sig2
         fn3 = colocated %shrink_framed sig2\nsig4 = (i64) -> i64 tail\nfn4 = colocated %grow_framed sig4"
    );
    let (v0s, v1s) = (list(20, "v0"), list(20, "v1"));
    add("grow_bare", "(i64) -> i64 tail", &tails, &format!("block0(v0: i64): return_call fn2({v0s})"));
    let grow = format!(
        "block0(v0: i64): v1 = call fn0(v0) brif v0, block1, block2
         block1: v2 = func_addr.i64 fn3 return_call_indirect sig2, v2({v1s})
         block2: return v1"
    );
    add("grow_framed", "(i64) -> i64 tail", &tails, &grow);
    let ten_of = |value: &str| list(10, value);
    let shrink = format!("block0({}): return_call fn1({})", params(20), ten_of("v19"));
    add("shrink_bare", &twenty, &tails, &shrink);
    let shrink = format!("block0({}): v20 = call fn0(v19) return_call fn1({})", params(20), ten_of("v20"));
    add("shrink_framed", &twenty, &tails, &shrink);
    add(
        "tails",
        plain,
        &format!("{tails}\nfn5 = %grow_bare sig4"),
        "block0(v0: i64): v1 = call fn4(v0) v2 = call fn5(v1) v3 = iconst.i64 0 v4 = call fn4(v3) v5 = iadd v2, v4
         v6 = iadd v5, v0 return v6",
    );
    // Calls with handlers, whose callees pop their arguments or do not, and both edges of them.
    let throws = "fn1 = %resume(i64, i64) system_v";
    let body = "block0(v0: i64): v1 = iconst.i64 2 v2 = icmp sgt v0, v1 brif v2, block1, block2
         block1: v3 = iconst.i64 3 call fn1(v3, v0) trap user1
         block2: return v0";
    add("throws", "(i64) -> i64 tail", throws, body);
    let values = params(10);
    let body = format!(
        "block0({values}): v20 = iconst.i64 2 v21 = icmp sgt v9, v20 brif v21, block1, block2
         block1: v23 = iconst.i64 8 call fn1(v23, v9) trap user1
         block2: v22 = iadd v0, v9 return v22"
    );
    add("throws_far", &ten, throws, &body);
    let tries = format!(
        "ss0 = explicit_slot 5000\nsig1 = (i64) -> i64 tail\nfn1 = colocated %throws sig1\nsig2 = {ten}\nfn2 = %throws_far sig2"
    );
    let (products, sums) = (list(10, "v18"), list(10, "v16"));
    add(
        "catches",
        plain,
        &tries,
        &format!(
            "block0(v0: i64): v1 = iadd v0, v0 try_call fn1(v0), sig1, block1(ret0), [ default: block3(exn0, exn1) ]
             block1(v2: i64): v3 = stack_addr.i64 ss0 store v2, v3 v17 = iconst.i64 9 v18 = imul v2, v17
             try_call fn2({products}), sig2, block2(ret0), [ tag1: block4(exn0), tag8: block4(exn0) ]
             block2(v4: i64): v5 = call fn0(v4) v6 = iadd v5, v1 return v6
             block3(v7: i64, v8: i64): v9 = iadd v7, v8 v13 = iconst.i64 6 v14 = icmp ult v7, v13 v15 = iconst.i64 1
             v16 = select v14, v9, v15 v10 = call fn0(v9)
             try_call fn2({sums}), sig2, block2(ret0), [ tag1: block4(exn0), tag8: block4(exn0) ]
             block4(v11: i64): v12 = iadd v11, v1 return v12"
        ),
    );
    // Large frames: one is probed in straight code, and one in a loop.
    add(
        "pages",
        plain,
        "ss0 = explicit_slot 9000",
        "block0(v0: i64): v1 = stack_addr.i64 ss0 store v0, v1+8 v2 = call fn0(v0) v3 = load.i64 v1+8
         v4 = iadd v2, v3 return v4",
    );
    add(
        "big",
        plain,
        "ss0 = explicit_slot 300000",
        "block0(v0: i64): v1 = stack_addr.i64 ss0 store v0, v1+8 v2 = call fn0(v0) v3 = load.i64 v1+8
         v4 = iadd v2, v3 return v4",
    );
    add(
        "recurse",
        plain,
        "fn1 = colocated %recurse sig0",
        "block0(v0: i64): v1 = iconst.i64 1 v2 = iconst.i64 0 v3 = icmp sgt v0, v2 brif v3, block1, block2
         block1: v4 = isub v0, v1 v5 = call fn1(v4) v6 = iadd v5, v0 return v6
         block2: return v1",
    );
    // The stack limit is tested: -1 is above every stack.
    let limit = "gv0 = vmctx\nstack_limit = gv0\nss0 = explicit_slot 40000";
    let limited = "block0(v0: i64): v1 = call fn0(v0) v2 = stack_addr.i64 ss0 store v1, v2 return v0";
    add("limited", "(i64 vmctx) -> i64 tail", limit, limited);
    let calls = "block0(v0: i64): v1 = call fn1(v0) v2 = iadd v0, v1 return v2";
    add("limits", plain, "sig1 = (i64 vmctx) -> i64 tail\nfn1 = colocated %limited sig1", calls);
    // The stack limit in a small frame that saves registers, and before a tail call that needs more room for stack
    // arguments.
    let limit = "gv0 = vmctx\nstack_limit = gv0";
    add("limited_saves", "(i64 vmctx) -> i64 system_v", limit, &saves);
    add("limits_saves", plain, "sig1 = (i64 vmctx) -> i64 system_v\nfn1 = colocated %limited_saves sig1", calls);
    let grows = format!("block0(v0: i64): v1 = call fn0(v0) return_call fn3({v1s})");
    add("limited_grow", "(i64 vmctx) -> i64 tail", &format!("{tails}\n{limit}"), &grows);
    add("limits_grow", plain, "sig1 = (i64 vmctx) -> i64 tail\nfn1 = colocated %limited_grow sig1", calls);
    // Traps, which are after all other code.
    add("traps", plain, "", "block0(v0: i64): v1 = call fn0(v0) trapz v0, user1 return v1");
    add("traps_bare", plain, "", "block0(v0: i64): trapz v0, user1 return v0");
    add("divides", plain, "", "block0(v0: i64): v1 = iconst.i64 7 v2 = udiv v1, v0 return v2");
    text
}

/// Settings that concern all frames.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frames {
    AllWithPointers,
    Probed(ProbestackStrategy),
}

impl Frames {
    fn probes(self) -> Option<ProbestackStrategy> {
        match self {
            Frames::AllWithPointers => None,
            Frames::Probed(strategy) => Some(strategy),
        }
    }
}

fn compile(target: &Triple, allocator: &str, frames: Frames, flags: &[String]) -> ModuleBuffer {
    let settings = Settings::default().with(|settings| {
        settings.regalloc_algorithm = allocator.into();
        settings.verify_each = true;
        settings.preserve_frame_pointers = frames == Frames::AllWithPointers;
        settings.enable_probestack = frames.probes().is_some();
        settings.probestack_strategy = frames.probes().unwrap_or(ProbestackStrategy::Inline);
        // There are no addresses among the instructions then.
        settings.is_pic = true;
    });
    let compiler = Compiler::new(target, settings, flags).unwrap();
    let batch = compiler.compile_batch(&mut kingpost_reader::parse_functions(text()).unwrap(), 1);
    assert!(batch.errors.is_empty(), "{:?}", batch.errors);
    batch.module
}

/// Returns `true` if these tools are installed. In CI they are.
fn has(tools: &[&str]) -> bool {
    let missing = tools.iter().find(|tool| Command::new(tool).arg("--version").output().is_err());
    if let Some(tool) = missing {
        assert!(std::env::var_os("CI").is_none(), "CI has {tool}");
        eprintln!("SKIPPED: a test that needs {tool}");
    }
    missing.is_none()
}

/// Builds the functions with a C compiler, and walks the stack in a program that `run` starts.
fn check(target: &Triple, flags: &[&str], cc: &[&str], run: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("main.c"), include_str!("unwind.c")).unwrap();
    let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
    for (allocator, _) in ALLOCATORS {
        let outline = match target.architecture {
            Architecture::X86_64 => ProbestackStrategy::Outline,
            _ => ProbestackStrategy::Inline,
        };
        for frames in [Frames::AllWithPointers, Frames::Probed(ProbestackStrategy::Inline), Frames::Probed(outline)] {
            let module = compile(target, allocator, frames, &flags);
            let options = ObjectOptions::default().with(|options| options.trap_table = true);
            std::fs::write(at("a.o"), write(target, &module, &[], options).unwrap()).unwrap();
            let mut link = Command::new(cc[0]);
            link.args(&cc[1..]).args(["-O1", "-Wall", "-Werror", "-fno-omit-frame-pointer", "-o"]).arg(at("a"));
            let link = link.args([at("main.c"), at("a.o")]).output().unwrap();
            assert!(link.status.success(), "{}", String::from_utf8_lossy(&link.stderr));
            let mut program = match run {
                [] => Command::new(at("a")),
                [emulator, ..] => Command::new(emulator),
            };
            if !run.is_empty() {
                program.arg(at("a"));
            }
            if frames == Frames::AllWithPointers {
                program.arg("frame-pointers");
            }
            let output = program.output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(output.status.success(), "{allocator}: {:?}: {text}", output.status);
            check_visited(&module, &text);
        }
    }
}

#[test]
fn every_instruction_can_be_unwound_from() {
    if cfg!(target_arch = "x86_64") && has(&["cc"]) {
        check(&triple!("x86_64-unknown-linux-gnu"), &[], &["cc", "-no-pie"], &[]);
    }
}

#[test]
fn every_instruction_can_be_unwound_from_under_the_emulator() {
    let cc = ["aarch64-linux-gnu-gcc", "-static", "-fno-pie"];
    if has(&[cc[0], "qemu-aarch64"]) {
        check(&triple!("aarch64-unknown-linux-gnu"), &[], &cc, &["qemu-aarch64"]);
    }
}

#[test]
fn signed_return_addresses_can_be_unwound_from() {
    let cc = ["aarch64-linux-gnu-gcc", "-static", "-fno-pie"];
    if has(&[cc[0], "qemu-aarch64"]) {
        let flags = ["sign_return_address", "sign_return_address_all"];
        check(&triple!("aarch64-unknown-linux-gnu"), &flags, &cc, &["qemu-aarch64"]);
    }
}

/// Checks that every change of the unwinding state was visited.
fn check_visited(module: &ModuleBuffer, output: &str) {
    assert_eq!(output.lines().count(), module.len());
    let mut epilogues = 0;
    for (f, line) in module.functions().zip(output.lines()) {
        let visited: BTreeSet<u32> = line.split_whitespace().map(|offset| offset.parse().unwrap()).collect();
        assert!(visited.contains(&0));
        for site in f.unwind {
            let reached = visited.contains(&site.offset) || site.offset as usize == f.code.len();
            assert!(reached, "{}: offset {:#x} not in {visited:x?}", f.function.head.name, site.offset);
            epilogues += usize::from(site.op == UnwindOp::EpilogueEnd);
        }
        for trap in f.traps {
            assert!(visited.contains(&trap.offset), "{}: trap at {:#x}", f.function.head.name, trap.offset);
        }
    }
    assert!(epilogues >= 12, "the functions have {epilogues} epilogues, which is less than their returns");
}
