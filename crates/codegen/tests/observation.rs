//! Checks that observation changes no byte of the code: listings, dumps, counters, the checker, debug information.
//!
//! Compiles functions of all filetests and of WebAssembly modules for both machines with each allocator: one of [`SAMPLE`]
//! functions, or one of `KINGPOST_EVERY`; of modules, one of ten times as many.

use kingpost_codegen::{ALLOCATORS, Compiler, DumpReceiver, OptLevel, Options, Settings, Stage};
use kingpost_ir::Function;
use kingpost_ir::function::SourceLoc;
use kingpost_mach::ModuleBuffer;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Number of functions for each one that is compiled.
const SAMPLE: usize = 24;

/// Takes the text of every stage.
struct All;

impl DumpReceiver for All {
    fn takes(&self, _: Stage, _: &str) -> bool {
        true
    }

    fn take(&self, _: Stage, _: &str, _: String) {}
}

/// Kind of observation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Look {
    Nothing,
    /// Listing, text of all stages, time, counters, and all verifiers and checkers.
    Everything,
    /// Lines and values for a debugger, which the checker verifies.
    Debug,
}

fn compiler(target: &str, allocator: &str, opt_level: OptLevel, look: Look) -> Compiler {
    let mut settings = Settings::default().with(|settings| {
        settings.opt_level = opt_level;
        settings.enable_llvm_abi_extensions = true;
        // Functions of the modules read their frame pointer.
        settings.preserve_frame_pointers = true;
    });
    settings.set("regalloc_algorithm", allocator).expect("a setting");
    settings.verify_each = look == Look::Everything;
    settings.regalloc_checker = look != Look::Nothing;
    settings.machine_code_cfg_info = look == Look::Everything;
    settings.debug_values = look == Look::Debug;
    let options = match look {
        Look::Everything => Options::default().with(|options| {
            options.list = true;
            options.time = true;
            options.count = true;
            options.dump = Some(Arc::new(All));
        }),
        Look::Nothing | Look::Debug => Options::default(),
    };
    let triple = format!("{target}-unknown-linux-gnu").parse().expect("a triple");
    Compiler::new(&triple, settings, &[]).expect("a target").with_options(options)
}

/// Returns the code of a function and its tables as text, without the tables that the observation requests.
fn compile(compiler: &Compiler, func: &Function, look: Look) -> Option<String> {
    let (mut cx, mut module, mut func) = (compiler.context(), ModuleBuffer::default(), func.clone());
    if look == Look::Debug {
        let insts: Vec<_> = func.layout.blocks().flat_map(|block| func.layout.block_insts(block)).collect();
        for (line, inst) in insts.into_iter().enumerate() {
            func.set_srcloc(inst, SourceLoc(line as u32 + 1));
        }
    }
    match compiler.compile(&mut cx, &mut func, &mut module) {
        Ok(()) => {}
        // A verifier or checker must not find an error.
        Err(error) => {
            assert!(look != Look::Everything || error.to_string().contains("supported"), "{error}\n{func}");
            return None;
        }
    }
    let f = module.function(0);
    let places = (f.relocs, f.symbols, f.traps, f.calls, f.stack_maps, f.handlers, f.unwind);
    let tables = (f.debug_tags, f.patchable_calls, f.keyed_slots, f.function.head.frame.size);
    Some(format!("{:02x?}\n{places:?}\n{tables:?}", f.code))
}

/// Returns the test files in a folder and its subfolders.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "clif") {
            found.push(path);
        }
    }
    found
}

/// Returns the functions of texts that can be read.
fn functions(texts: impl Iterator<Item = Vec<u8>>) -> Vec<Function> {
    texts.filter_map(|text| kingpost_reader::parse_functions(text).ok()).flatten().collect()
}

/// Returns N: one of N functions is compiled.
fn sample() -> usize {
    let every = std::env::var("KINGPOST_EVERY").ok().map(|number| number.parse().expect("a number"));
    every.unwrap_or(SAMPLE)
}

/// Compares the code of one of `step` functions with and without observation. Returns the number of comparisons.
fn compare(funcs: &[Function], step: usize) -> usize {
    let mut compared = 0;
    for target in ["x86_64", "aarch64"] {
        for (nth, &(allocator, _)) in ALLOCATORS.iter().enumerate() {
            for opt_level in [OptLevel::None, OptLevel::Speed] {
                let make = |look| compiler(target, allocator, opt_level, look);
                let plain = make(Look::Nothing);
                let looks = [Look::Everything, Look::Debug].map(|look| (look, make(look)));
                // Each combination compiles other functions.
                let first = (nth * 7 + opt_level as usize * 3) % step;
                for func in funcs.iter().skip(first).step_by(step) {
                    let Some(expected) = compile(&plain, func, Look::Nothing) else { continue };
                    for (look, observed) in &looks {
                        let found = compile(observed, func, *look);
                        assert_eq!(found, Some(expected.clone()), "{target}, {allocator}, {look:?}:\n{func}");
                        compared += 1;
                    }
                }
            }
        }
    }
    compared
}

#[test]
fn what_is_made_is_what_is_made_unobserved() {
    let texts = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests"));
    let funcs = functions(texts.iter().map(|path| std::fs::read(path).expect("a readable file")));
    let compared = compare(&funcs, sample());
    assert!(compared > 1000, "{compared} compared");
}

#[test]
fn modules_are_made_as_they_are_made_unobserved() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/wasm-clif");
    let names = ["argon2", "source-map", "zstd", "lua"];
    let unpacked = names.iter().filter_map(|name| {
        let unpacked = Command::new("xz").arg("-dc").arg(folder.join(format!("{name}.clif.xz"))).output().ok()?;
        unpacked.status.success().then_some(unpacked.stdout)
    });
    let funcs = functions(unpacked);
    if funcs.is_empty() {
        return eprintln!("SKIPPED: no xz, or no modules in {}", folder.display());
    }
    let compared = compare(&funcs, 10 * sample());
    assert!(compared > 100, "{compared} compared");
}
