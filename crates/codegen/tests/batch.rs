//! Checks that the compiled module does not depend on the number of threads or on functions compiled earlier.

use kingpost_codegen::{ALLOCATORS, CompileError, Compiler, Settings};
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;
use std::fmt::Write;
use target_lexicon::triple;

fn compiler(allocator: &str) -> Compiler {
    let mut settings = Settings::default();
    settings.set("regalloc_algorithm", allocator).unwrap();
    Compiler::new(&triple!("x86_64-unknown-linux-gnu"), settings, &[]).unwrap()
}

/// Returns functions of different shapes: straight code with pressure, loops with calls, traps, constants, source
/// locations.
fn functions(count: usize) -> Vec<Function> {
    let mut text = String::new();
    for n in 0..count {
        let _ = writeln!(text, "function %straight{n}(i64, i64) -> i64 system_v {{\nblock0(v0: i64, v1: i64):");
        let values = 3 + n % 29;
        for v in 2..values {
            let _ = writeln!(text, "@{:x} v{v} = imul v{}, v{}", v * n + 1, v - 1, v - 2);
        }
        let mut sum = 1;
        for v in 2..values {
            let _ = writeln!(text, "v{} = iadd v{sum}, v{v}", values + v);
            sum = values + v;
        }
        let _ = writeln!(text, "return v{sum}\n}}");
        let _ = writeln!(
            text,
            "function %loop{n}(i64) -> i64 system_v {{
                sig0 = (i64, f64) -> i64 system_v
                fn0 = %straight{n} sig0
                fn1 = u0:{n} sig0
            block0(v0: i64):
                v1 = f64const 0x1.{n}p{n}
                v2 = iconst.i64 {n}
                trapz v0, heap_oob
                jump block1(v0, v2)
            block1(v3: i64, v4: i64):
                v5 = call fn0(v4, v1)
                v6 = call fn1(v3, v1)
                v7 = isub v3, v5
                v8 = icmp sgt v7, v6
                brif v8, block1(v7, v6), block2
            block2:
                v9 = sdiv v4, v7
                return v9
            }}"
        );
    }
    kingpost_reader::parse_functions(&text).unwrap()
}

/// Returns the whole contents of a module as text. Ranges of pools differ if there is unused data between functions.
fn everything(module: &ModuleBuffer) -> String {
    format!("{module:?}")
}

#[test]
fn threads_do_not_show() {
    for (allocator, _) in ALLOCATORS {
        let compiler = compiler(allocator);
        let one = compiler.compile_batch(&mut functions(40), 1);
        assert_eq!((one.module.len(), one.errors.len()), (80, 0));
        assert!(
            one.module.functions().any(|f| !f.relocs.is_empty())
                && one.module.functions().any(|f| !f.srclocs.is_empty())
        );
        for jobs in [2, 7, 1000] {
            let many = compiler.compile_batch(&mut functions(40), jobs);
            assert!(everything(&one.module) == everything(&many.module), "{allocator}: {jobs} jobs");
            assert_eq!(one.stats.code_bytes, many.stats.code_bytes);
        }
        assert!(compiler.compile_batch(&mut [], 7).module.is_empty());
    }
}

#[test]
fn a_used_context_makes_the_same() {
    for (allocator, _) in ALLOCATORS {
        let compiler = compiler(allocator);
        let fresh = compiler.compile_batch(&mut functions(20), 1).module;
        let mut cx = compiler.context();
        let mut module = ModuleBuffer::default();
        for _ in 0..2 {
            module.clear();
            for mut func in functions(20) {
                compiler.compile(&mut cx, &mut func, &mut module).unwrap();
            }
            assert!(everything(&fresh) == everything(&module), "{allocator}");
        }
    }
}

#[test]
fn errors_leave_the_others_alone() {
    let compiler = compiler("linear");
    let good = compiler.compile_batch(&mut functions(10), 1).module;
    let bad = kingpost_reader::parse_functions("function %bad() -> i32 system_v { block0: return }").unwrap();
    for jobs in [1, 3] {
        let mut funcs = functions(10);
        funcs.insert(20, bad[0].clone());
        funcs.insert(7, bad[0].clone());
        funcs.insert(0, bad[0].clone());
        let batch = compiler.compile_batch(&mut funcs, jobs);
        let indices: Vec<usize> = batch.errors.iter().map(|&(index, _)| index).collect();
        assert_eq!(indices, [0, 8, 22]);
        assert!(batch.errors.iter().all(|(_, error)| matches!(error, CompileError::Invalid(_))));
        assert!(everything(&good) == everything(&batch.module), "{jobs} jobs");
    }
}
