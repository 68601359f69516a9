//! Checks that compiled functions and functions of the system's C compiler call each other with random signatures.
//!
//! C calls a compiled function, which passes its arguments in reverse order to a C function, which computes its
//! result from them. Both sides of the compiled function must agree on the places of arguments.
//! `KINGPOST_CASES=10000` runs more cases.

use kingpost_codegen::Compiler;
use kingpost_emit_object::{ObjectOptions, write};
use kingpost_mach::{ModuleBuffer, Settings};
use std::fmt::Write;
use std::process::Command;
use target_lexicon::triple;

/// Maximum number of cases in one object, so that neither compiler gets a huge file.
const CASES_PER_OBJECT: u64 = 250;
const MAX_ARGS: u64 = 20;

/// A type in C and as a parameter.
#[derive(Clone, Copy)]
struct Ty {
    c: &'static str,
    clif: &'static str,
}

const SCALARS: [Ty; 10] = [
    Ty { c: "signed char", clif: "i8 sext" },
    Ty { c: "unsigned char", clif: "i8 uext" },
    Ty { c: "short", clif: "i16 sext" },
    Ty { c: "unsigned short", clif: "i16 uext" },
    Ty { c: "int", clif: "i32" },
    Ty { c: "unsigned", clif: "i32 uext" },
    Ty { c: "long", clif: "i64" },
    Ty { c: "float", clif: "f32" },
    Ty { c: "double", clif: "f64" },
    Ty { c: "pointer", clif: "i64" },
];

/// Structures too large for registers: copied by value as an argument, returned through a hidden pointer.
const STRUCTS: [Ty; 3] = [
    Ty { c: "struct s24", clif: "i64 sarg(24)" },
    Ty { c: "struct s40", clif: "i64 sarg(40)" },
    Ty { c: "struct s160", clif: "i64 sarg(160)" },
];

const PRELUDE: &str = "
#include <stdio.h>
#include <string.h>
typedef unsigned long word;
typedef void *pointer;
struct s24 { word w[3]; };
struct s40 { word w[5]; };
struct s160 { word w[20]; };
static word fold(word hash, const void *at, unsigned bytes) {
    const unsigned char *p = at;
    for (unsigned i = 0; i < bytes; i++) hash = (hash ^ p[i]) * 0x100000001b3;
    return hash;
}
#define FOLD(x) hash = fold(hash, &x, sizeof x)
static void fill(void *at, unsigned bytes, word seed) {
    unsigned char *p = at;
    for (unsigned i = 0; i < bytes; i++) p[i] = (unsigned char)((seed = seed * 6364136223846793005 + 1442695040888963407) >> 56);
}
static int bad;
";

/// A generator of pseudo-random numbers, with Knuth's constants for MMIX.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn argument(&mut self) -> Ty {
        match self.below(12) {
            0 => STRUCTS[self.below(3) as usize],
            _ => SCALARS[self.below(10) as usize],
        }
    }
}

/// Appends one case: C text, and the function that passes its arguments on.
fn case(number: u64, numbers: &mut Numbers, c: &mut String, main: &mut String, clif: &mut String) {
    let args: Vec<Ty> = (0..numbers.below(MAX_ARGS + 1)).map(|_| numbers.argument()).collect();
    let result = numbers.argument();
    let by_pointer = result.c.starts_with("struct");
    let list = |items: Vec<String>| items.join(", ");
    let backwards = || (0..args.len()).rev();

    let params = list(backwards().map(|i| format!("{} a{i}", args[i].c)).collect());
    let params = if params.is_empty() { "void".to_string() } else { params };
    writeln!(c, "{} c{number}({params}) {{ word hash = {number};", result.c).unwrap();
    for i in 0..args.len() {
        writeln!(c, "  FOLD(a{i});").unwrap();
    }
    writeln!(c, "  {} r; fill(&r, sizeof r, hash); return r; }}", result.c).unwrap();
    let types = list(args.iter().map(|a| a.c.to_string()).collect());
    let types = if types.is_empty() { "void".to_string() } else { types };
    writeln!(c, "extern {} k{number}({types});", result.c).unwrap();

    main.push_str("  {\n");
    for (i, arg) in args.iter().enumerate() {
        writeln!(main, "    {} a{i}; fill(&a{i}, sizeof a{i}, {});", arg.c, number * 100 + i as u64).unwrap();
    }
    let forward = list((0..args.len()).map(|i| format!("a{i}")).collect());
    let reverse = list(backwards().map(|i| format!("a{i}")).collect());
    writeln!(main, "    {} want = c{number}({reverse}), got = k{number}({forward});", result.c).unwrap();
    writeln!(main, "    if (memcmp(&want, &got, sizeof want)) {{ printf(\"case {number}\\n\"); bad = 1; }}\n  }}")
        .unwrap();

    let hidden = if by_pointer { vec!["i64 sret".to_string()] } else { Vec::new() };
    let signature = |order: Vec<usize>| {
        let params = hidden.iter().cloned().chain(order.iter().map(|&i| args[i].clif.to_string())).collect();
        let returns = if by_pointer { String::new() } else { format!(" -> {}", result.clif) };
        format!("({}){returns} system_v", list(params))
    };
    let plain = |ty: &str| ty.split(' ').next().unwrap_or(ty).to_string();
    writeln!(clif, "function %k{number}{} {{", signature((0..args.len()).collect())).unwrap();
    writeln!(clif, "    fn0 = %c{number}{}", signature(backwards().collect())).unwrap();
    let params = hidden.iter().map(|h| format!("v100: {}", plain(h)));
    let params = params.chain((0..args.len()).map(|i| format!("v{i}: {}", plain(args[i].clif)))).collect();
    writeln!(clif, "block0({}):", list(params)).unwrap();
    let passed = hidden.iter().map(|_| "v100".to_string()).chain(backwards().map(|i| format!("v{i}"))).collect();
    match by_pointer {
        true => writeln!(clif, "    call fn0({})\n    return\n}}", list(passed)).unwrap(),
        false => writeln!(clif, "    v101 = call fn0({})\n    return v101\n}}", list(passed)).unwrap(),
    }
}

/// Compiles and links the cases `from..to` and runs them.
fn check(allocator: &str, cases: std::ops::Range<u64>) {
    let numbers = &mut Numbers(cases.start);
    let (mut c, mut main, mut clif) = (PRELUDE.to_string(), "int main(void) {\n".to_string(), String::new());
    for number in cases {
        case(number, numbers, &mut c, &mut main, &mut clif);
    }
    c.push_str(&main);
    c.push_str("  return bad; }\n");

    let triple = triple!("x86_64-unknown-linux-gnu");
    let mut settings = Settings::default();
    for (key, value) in [("is_pic", "true"), ("verify_each", "true"), ("regalloc_algorithm", allocator)] {
        settings.set(key, value).unwrap();
    }
    let compiler = Compiler::new(&triple, settings, &[]).unwrap();
    let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
    for mut function in kingpost_reader::parse_functions(&clif).unwrap() {
        compiler.compile(&mut cx, &mut function, &mut module).unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("k.o"), write(&triple, &module, &[], ObjectOptions::default()).unwrap()).unwrap();
    std::fs::write(path("c.c"), c).unwrap();
    let output =
        Command::new("cc").arg("-O1").args([path("c.c"), path("k.o")]).arg("-o").arg(path("a")).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(path("a")).output().unwrap();
    assert!(output.status.success(), "{allocator}: {:?}\n{}", output.status, String::from_utf8_lossy(&output.stdout));
}

#[test]
fn c_and_compiled_code_agree_on_places() {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) || Command::new("cc").arg("--version").output().is_err()
    {
        assert!(std::env::var_os("CI").is_none(), "CI has a C compiler for x86-64");
        eprintln!("SKIPPED: c_and_compiled_code_agree_on_places: no C compiler for x86-64");
        return;
    }
    let cases = std::env::var("KINGPOST_CASES").map_or(CASES_PER_OBJECT, |text| text.parse().unwrap());
    for from in (0..cases).step_by(CASES_PER_OBJECT as usize) {
        for allocator in ["linear", "spill_all"] {
            check(allocator, from..(from + CASES_PER_OBJECT).min(cases));
        }
    }
}
