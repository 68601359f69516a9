//! Checks that the cache gives what compilation gives, or nothing, whatever its store has.

use crate::observation::files;
use kingpost_codegen::cache::{Cache, Directory, Key, Store};
use kingpost_codegen::{ALLOCATORS, Compiler, Options, Pass, Passes, Settings, Stats};
use kingpost_ir::Function;
use kingpost_ir::function::SourceLoc;
use kingpost_mach::ModuleBuffer;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Number of functions for each one that is compiled.
const SAMPLE: usize = 16;

/// A store in memory. Clones share their entries.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<BTreeMap<Key, Vec<u8>>>>);

impl Memory {
    fn entries(&self) -> BTreeMap<Key, Vec<u8>> {
        self.0.lock().expect("no panic").clone()
    }
}

impl Store for Memory {
    fn get(&self, key: Key) -> Option<Vec<u8>> {
        self.0.lock().expect("no panic").get(&key).cloned()
    }

    fn put(&self, key: Key, entry: &[u8]) {
        self.0.lock().expect("no panic").insert(key, entry.into());
    }
}

fn compiler(target: &str, allocator: &str) -> Compiler {
    let settings = Settings::default().with(|settings| {
        settings.regalloc_algorithm = allocator.into();
        settings.enable_llvm_abi_extensions = true;
        settings.debug_values = true;
        settings.machine_code_cfg_info = true;
    });
    Compiler::new(&format!("{target}-unknown-linux-gnu").parse().expect("a triple"), settings, &[]).expect("a target")
}

/// Returns the compiled function with all its tables as text, and the counters. Returns `None` if the function cannot be
/// compiled.
fn compile(compiler: &Compiler, func: &Function) -> (Option<String>, Stats) {
    let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
    let result = compiler.compile(&mut cx, &mut func.clone(), &mut module);
    (result.ok().map(|()| format!("{:?}", module.function(0))), *cx.stats())
}

fn parse(text: &str) -> Function {
    kingpost_reader::parse_functions(text).expect("a function").remove(0)
}

fn function(number: u32) -> Function {
    parse(&format!(
        "function %f(i64) -> i64 {{ block0(v0: i64): v1 = iconst.i64 {number} v2 = sdiv v0, v1 return v2 }}"
    ))
}

/// Returns one of [`SAMPLE`] functions of all filetests, and all functions with rare tables. All have source locations.
fn sample() -> Vec<Function> {
    let texts = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests"));
    let texts = texts.iter().map(|path| fs::read(path).expect("a readable file"));
    let funcs = texts.filter_map(|text| kingpost_reader::parse_functions(text).ok()).flatten();
    let is_rare = |func: &Function| {
        let has_keys = func.stack_slots.values().any(|slot| slot.key.is_some());
        let is_patchable = func.dfg.ext_funcs.values().any(|callee| callee.patchable);
        has_keys || is_patchable || !func.stack_maps.is_empty() || !func.debug_tags.is_empty()
    };
    // The only functions with handlers; they are few, but more than the functions with rare tables.
    let has_handlers = |index: usize, func: &Function| func.dfg.has_exception_tables() && index.is_multiple_of(4);
    let is_taken =
        |&(index, ref func): &(usize, Function)| index % SAMPLE == 0 || is_rare(func) || has_handlers(index, func);
    let funcs = funcs.enumerate().filter(is_taken).map(|(_, func)| func);
    let numbered = |mut func: Function| {
        let insts: Vec<_> = func.layout.blocks().flat_map(|block| func.layout.block_insts(block)).collect();
        insts.iter().zip(1..).for_each(|(&inst, line)| func.set_srcloc(inst, SourceLoc(line)));
        func
    };
    funcs.map(numbered).collect()
}

#[test]
fn hits_give_what_misses_give() {
    let funcs = sample();
    let (mut hits, mut tables) = (0, String::new());
    for target in ["x86_64", "aarch64"] {
        for (allocator, _) in ALLOCATORS {
            let plain = compiler(target, allocator);
            let cached = compiler(target, allocator).with_cache(Cache::new(Memory::default()));
            for func in &funcs {
                let (expected, _) = compile(&plain, func);
                let [(cold, missed), (warm, hit)] = [compile(&cached, func), compile(&cached, func)];
                assert_eq!(cold, expected, "{func}");
                assert_eq!(warm, expected, "{func}");
                assert_eq!(missed.cache_hits, 0, "{func}");
                assert_eq!(hit.cache_hits, u64::from(expected.is_some()), "{func}");
                assert_eq!((hit.functions, hit.clif_insts), (missed.functions, missed.clif_insts));
                assert_eq!(hit.code_bytes, missed.code_bytes);
                hits += hit.cache_hits;
                tables += &expected.unwrap_or_default();
            }
        }
    }
    assert!(hits > 1000, "only {hits} hits");
    // The sample has every table.
    let names = [
        "relocs",
        "symbols",
        "traps",
        "srclocs",
        "calls",
        "stack_maps",
        "debug_tags",
        "patchable_calls",
        "keyed_slots",
        "handlers",
        "values",
        "constants",
        "unwind",
        "blocks",
        "block_edges",
    ];
    let count = |text: &str| tables.matches(text).count();
    let is_empty = |name: &&str| count(&format!(" {name}: [")) == count(&format!(" {name}: []"));
    assert_eq!(names.into_iter().filter(is_empty).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn names_of_variables_are_kept() {
    let mut func = function(3);
    func.variables.push("quotient".into());
    let cached = compiler("x86_64", "ssa").with_cache(Cache::new(Memory::default()));
    let (cold, _) = compile(&cached, &func);
    let (warm, stats) = compile(&cached, &func);
    assert_eq!((warm, stats.cache_hits), (cold, 1));
    func.variables.push("rest".into());
    assert_eq!(compile(&cached, &func).1.cache_hits, 0);
}

#[test]
fn keys_depend_on_all_that_compilation_reads() {
    let memory = Memory::default();
    let cache = || Cache::new(memory.clone());
    let func = function(7);
    let setting = |change: fn(&mut Settings)| Compiler::baseline(Settings::default().with(change)).expect("a compiler");
    let option = |change: fn(&mut Options)| setting(|_| ()).with_options(Options::default().with(change));
    let x64 = |flags: &[&str]| {
        let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
        Compiler::new(&"x86_64-pc-windows-msvc".parse().expect("a triple"), Settings::default(), &flags)
            .expect("a compiler")
    };
    let compilers = [
        setting(|_| ()),
        setting(|settings| settings.opt_level = kingpost_codegen::OptLevel::Speed),
        setting(|settings| settings.regalloc_algorithm = "linear".into()),
        setting(|settings| settings.regalloc_checker = true),
        option(|options| options.limits.instructions = 1000),
        option(|options| options.no_compiler_routines = true),
        option(|options| options.passes = Passes::of([Pass::Gvn])),
        x64(&[]),
        x64(&["has_bmi1"]),
        x64(&["has_bmi1", "has_bmi2"]),
    ];
    let count = compilers.len();
    for compiler in compilers {
        assert_eq!(compile(&compiler.with_cache(cache()), &func).1.cache_hits, 0);
    }
    compile(&setting(|_| ()).with_cache(cache().salted(b"other version")), &func);
    let same = setting(|_| ()).with_cache(cache());
    let mut renamed = func.clone();
    renamed.name = kingpost_ir::extfunc::FuncName::Named("g".into());
    compile(&same, &renamed);
    compile(&same, &function(8));
    assert_eq!(memory.entries().len(), count + 3);
    assert_eq!(compile(&same, &func).1.cache_hits, 1);
}

#[test]
fn observation_ignores_the_cache() {
    let cache = Cache::new(Memory::default());
    let func = function(7);
    let plain = || compiler("x86_64", "ssa");
    for change in [(|options| options.count = true) as fn(&mut Options), |options| options.list = true] {
        let observing = plain().with_cache(cache.clone()).with_options(Options::default().with(change));
        for _ in 0..2 {
            assert_eq!(compile(&observing, &func).1.cache_hits, 0);
        }
    }
    let own = plain().with_allocator(Arc::new(ALLOCATORS[0].1)).with_cache(cache.clone());
    let turned = plain().with_cache(cache).with_allocator(Arc::new(ALLOCATORS[0].1));
    for compiler in [own, turned] {
        for _ in 0..2 {
            assert_eq!(compile(&compiler, &func).1.cache_hits, 0);
        }
    }
}

#[test]
fn damaged_entries_are_misses() {
    let memory = Memory::default();
    let cached = compiler("x86_64", "ssa").with_cache(Cache::new(memory.clone()));
    let func = function(7);
    let (expected, _) = compile(&cached, &func);
    let (key, entry) = memory.entries().pop_first().expect("an entry");
    compile(&cached, &function(9));
    let foreign = memory.entries().into_iter().find(|(other, _)| *other != key).expect("another entry").1;
    let cut = (0..entry.len()).map(|len| entry[..len].to_vec());
    let flipped = (0..8 * entry.len()).map(|bit| {
        let mut entry = entry.clone();
        entry[bit / 8] ^= 1 << (bit % 8);
        entry
    });
    let longer = [entry.clone(), vec![0]].concat();
    let mut wrong = 0;
    for damaged in cut.chain(flipped).chain([foreign, longer, vec![0; 4096], b"text".to_vec()]) {
        memory.0.lock().expect("no panic").insert(key, damaged);
        let (result, stats) = compile(&cached, &func);
        assert_eq!((&result, stats.cache_hits), (&expected, 0));
        // The next compilation finds a whole entry.
        assert_eq!(memory.get(key).as_ref(), Some(&entry));
        wrong += 1;
    }
    assert!(wrong > 1000, "{wrong}");
}

/// A folder that is removed at the end of a test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("kingpost-cache-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        Folder(path)
    }

    /// Returns the number of entries, and their bytes in blocks of 4 KiB.
    fn size(&self) -> (usize, u64) {
        let folders = fs::read_dir(&self.0).expect("a folder").map(|folder| folder.expect("a folder").path());
        let files = folders.filter(|folder| folder.is_dir()).flat_map(|folder| fs::read_dir(folder).expect("a folder"));
        let lens = files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len()));
        lens.fold((0, 0), |(count, sum), len| (count + 1, sum + len.next_multiple_of(4096)))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Returns a key whose first digits differ between numbers.
fn key(number: u128) -> Key {
    Key(number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}

#[test]
fn a_folder_keeps_to_its_limit() {
    let folder = Folder::new("limit");
    let limit = 40 * 4096;
    let store = Directory::open(&folder.0, limit).expect("a store");
    for number in 0..200 {
        let entry = vec![number as u8; 100 + 37 * number as usize];
        store.put(key(number), &entry);
        assert_eq!(store.get(key(number)), Some(entry));
        assert!(folder.size().1 <= limit, "{number}");
    }
    // Three quarters remain after an eviction.
    assert!(folder.size().1 >= limit / 2);
    assert_eq!(store.get(key(0)), None);
    let large = vec![0; limit as usize + 1];
    store.put(key(1000), &large);
    assert_eq!(store.get(key(1000)), None);
    drop(store);
    Directory::open(&folder.0, limit / 4).expect("a store");
    assert!(folder.size().1 <= limit / 4);
}

#[test]
fn remains_of_a_killed_writer_do_no_harm() {
    let folder = Folder::new("killed");
    let limit = 10 * 4096;
    let store = Directory::open(&folder.0, limit).expect("a store");
    // Part of an entry, and a number that counts an entry which does not exist.
    fs::write(folder.0.join("new"), "half an ent").expect("a file");
    fs::write(folder.0.join("lock"), format!("{:020}\n", limit)).expect("a file");
    fs::write(folder.0.join("notes"), "of the user").expect("a file");
    for number in 0..8 {
        store.put(key(number), b"entry");
    }
    assert_eq!(folder.size(), (8, 8 * 4096));
    fs::write(folder.0.join("lock"), "no number").expect("a file");
    for number in 0..30 {
        store.put(key(number), b"entry");
        assert!(folder.size().1 <= limit);
    }
    assert_eq!(store.get(key(29)), Some(b"entry".to_vec()));
    assert!(folder.0.join("notes").exists());
}

#[test]
fn writers_share_a_folder() {
    let folder = Folder::new("shared");
    let limit = 60 * 4096;
    let funcs: Vec<Function> = (2..82).map(function).collect();
    let plain = compiler("x86_64", "ssa");
    let expected: Vec<_> = funcs.iter().map(|func| compile(&plain, func).0).collect();
    // Locks exclude the stores of one process like the stores of several.
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (funcs, expected, folder) = (&funcs, &expected, &folder);
            scope.spawn(move || {
                let store = Directory::open(&folder.0, limit).expect("a store");
                let cached = compiler("x86_64", "ssa").with_cache(Cache::new(store).verified(3));
                for round in 0..3 {
                    for index in 0..funcs.len() {
                        let index = (index * 7 + writer * 11 + round) % funcs.len();
                        assert_eq!(compile(&cached, &funcs[index]).0, expected[index]);
                    }
                    assert!(folder.size().1 <= limit + 4096, "{:?}", folder.size());
                }
            });
        }
    });
    assert!(folder.size().1 <= limit);
}
