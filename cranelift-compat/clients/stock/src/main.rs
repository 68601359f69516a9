//! Runs modules that `kingpost-wasm` compiles, on the published Wasmtime without a compiler.
//!
//! `stock-client KINGPOST_WASM ALLOCATOR...` compiles each module for its own architecture, with each allocator, the checker on, without
//! and with optimizations, and with veneers. It loads the output by `Module::deserialize_file` with Wasmtime's default settings, and
//! compares results and traps. Output for other settings, versions or targets has to be an error.

use std::env::consts::ARCH;
use std::path::{Path, PathBuf};
use std::process::Command;
use wasmtime::error::Context;
use wasmtime::{Config, Engine, Instance, Module, ModuleVersionStrategy, Result, Store, Trap, bail, ensure};

/// A module whose export `run` has a parameter i32 and a result i64, with results by argument.
struct Program {
    name: &'static str,
    text: &'static str,
    runs: &'static [(i32, std::result::Result<i64, Trap>)],
}

const PROGRAMS: &[Program] = &[
    Program {
        name: "calls",
        text: r#"(module (func $fib (export "run") (param i32) (result i64)
            (if (result i64) (i32.lt_u (local.get 0) (i32.const 2))
                (then (i64.extend_i32_u (local.get 0)))
                (else (i64.add (call $fib (i32.sub (local.get 0) (i32.const 1)))
                               (call $fib (i32.sub (local.get 0) (i32.const 2))))))))"#,
        runs: &[(0, Ok(0)), (20, Ok(6765))],
    },
    Program {
        name: "memory",
        text: r#"(module (memory 1) (data (i32.const 8) "\01\02\03\04\05\06\07\08")
            (func (export "run") (param i32) (result i64)
                (memory.copy (i32.const 100) (i32.const 8) (i32.const 8))
                (i64.load (local.get 0))))"#,
        runs: &[
            (100, Ok(0x0807_0605_0403_0201)),
            (65_529, Err(Trap::MemoryOutOfBounds)),
            (-1, Err(Trap::MemoryOutOfBounds)),
        ],
    },
    Program {
        name: "traps",
        text: r#"(module (type $unary (func (param i64) (result i64))) (table 3 funcref) (elem (i32.const 0) $double $other)
            (func $double (type $unary) (i64.shl (local.get 0) (i64.const 1)))
            (func $other (result i32) (i32.const 0))
            (func (export "run") (param i32) (result i64)
                (call_indirect (type $unary) (i64.div_s (i64.const 84) (i64.extend_i32_s (i32.sub (local.get 0) (i32.const 7))))
                    (local.get 0))))"#,
        runs: &[
            (0, Ok(-24)),
            (1, Err(Trap::BadSignature)),
            (2, Err(Trap::IndirectCallToNull)),
            (3, Err(Trap::TableOutOfBounds)),
            (7, Err(Trap::IntegerDivisionByZero)),
        ],
    },
    Program {
        name: "vectors and floats",
        text: r#"(module (func (export "run") (param i32) (result i64) (local v128)
            (local.set 1 (f32x4.sqrt (f32x4.convert_i32x4_s (i32x4.splat (local.get 0)))))
            (i64.add (i64.trunc_f64_s (f64.nearest (f64.promote_f32 (f32x4.extract_lane 2 (local.get 1)))))
                     (i64.extend_i32_u (i8x16.bitmask (i8x16.shuffle 3 7 11 15 0 0 0 0 0 0 0 0 0 0 0 0 (local.get 1) (local.get 1)))))))"#,
        runs: &[(81, Ok(9)), (2, Ok(1 + 0xfff0)), (-1, Err(Trap::BadConversionToInteger))],
    },
    Program {
        name: "stack overflow",
        text: r#"(module (func $run (export "run") (param i32) (result i64)
            (i64.add (call $run (local.get 0)) (i64.const 1))))"#,
        runs: &[(0, Err(Trap::StackOverflow))],
    },
];

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [compiler, allocators @ ..] = &words[..] else { bail!("usage: stock-client KINGPOST_WASM ALLOCATOR...") };
    let folder = std::env::temp_dir().join(format!("stock-client-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let result = run(&Compiler { program: compiler.into(), folder: folder.clone() }, allocators);
    std::fs::remove_dir_all(&folder)?;
    result
}

/// Settings of the compiler. Calls are farther than the code is long with the last ones, and go through veneers on AArch64.
const SETTINGS: [&[&str]; 3] = [
    &["-O", "opt-level=0"],
    &["-O", "opt-level=2"],
    &[
        "-C",
        "inlining=n,cranelift-wasmtime_linkopt_force_jump_veneer=true,cranelift-wasmtime_linkopt_padding_between_functions=4096",
    ],
];

fn run(compiler: &Compiler, allocators: &[String]) -> Result<()> {
    let engine = Engine::default();
    for allocator in allocators {
        for settings in SETTINGS {
            for program in PROGRAMS {
                let options = [&["--regalloc", allocator, "--checker"], settings].concat();
                let title = || format!("{} with {}", program.name, options.join(" "));
                let module = load(&engine, &compiler.compile(program.text, ARCH, &options)?).with_context(title)?;
                program.run(&engine, &module).with_context(title)?;
                println!("{}: as expected", title());
            }
        }
    }
    refusals(compiler, &engine)
}

impl Program {
    fn run(&self, engine: &Engine, module: &Module) -> Result<()> {
        for &(argument, expected) in self.runs {
            let mut store = Store::new(engine, ());
            let instance = Instance::new(&mut store, module, &[])?;
            let run = instance.get_typed_func::<i32, i64>(&mut store, "run")?;
            let result = match run.call(&mut store, argument) {
                Ok(result) => Ok(result),
                Err(error) => Err(error.downcast::<Trap>()?),
            };
            ensure!(result == expected, "run({argument}) = {result:?}, not {expected:?}");
        }
        Ok(())
    }
}

/// Checks that output for other settings, versions and targets is refused.
fn refusals(compiler: &Compiler, engine: &Engine) -> Result<()> {
    let mut config = Config::new();
    config.module_version(ModuleVersionStrategy::Custom("47".into()))?;
    let older = Engine::new(&config)?;
    let other = if ARCH == "x86_64" { "aarch64" } else { "x86_64" };
    let cases: [(&str, &Engine, &str, &[&str]); 3] = [
        ("another version", &older, ARCH, &[]),
        ("other settings", engine, ARCH, &["-W", "epoch-interruption"]),
        ("another target", engine, other, &[]),
    ];
    for (name, engine, architecture, options) in cases {
        match load(engine, &compiler.compile(PROGRAMS[0].text, architecture, options)?) {
            Ok(_) => bail!("a module for {name} was loaded"),
            Err(error) => println!("{name}: {error:#}: as expected"),
        }
    }
    Ok(())
}

/// The program `kingpost-wasm`, and a folder for its files.
struct Compiler {
    program: PathBuf,
    folder: PathBuf,
}

impl Compiler {
    /// Compiles a module in the text format. Returns the path of the output.
    fn compile(&self, text: &str, architecture: &str, options: &[&str]) -> Result<PathBuf> {
        let (module, output) = (self.folder.join("module.wat"), self.folder.join("module.cwasm"));
        std::fs::write(&module, text)?;
        let mut command = Command::new(&self.program);
        command.arg("compile").arg(&module).arg("-o").arg(&output).args(options);
        command.args(["--target", &format!("{architecture}-unknown-linux-gnu")]);
        let run = command.output().with_context(|| self.program.display().to_string())?;
        ensure!(run.status.success(), "{command:?}: {}", String::from_utf8_lossy(&run.stderr));
        Ok(output)
    }
}

fn load(engine: &Engine, path: &Path) -> Result<Module> {
    // SAFETY: the file is unchanged output of Wasmtime's `compile_module_serialized`.
    unsafe { Module::deserialize_file(engine, path) }
}
