//! Links objects for Windows with MinGW's linker and C compiler, and runs the programs under Wine.

use kingpost_codegen::module::{DataDescription, DataKind, Linkage, Module};
use kingpost_codegen::{ALLOCATORS, Compiler, Settings};
use kingpost_emit_object::{ObjectModule, ObjectOptions};
use kingpost_mach::{DataPointer, SymbolName};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use target_lexicon::{Triple, triple};

const CC: &str = "x86_64-w64-mingw32-gcc";

/// Functions that every test of Windows compiles.
const FUNCTIONS: &str = "
function %sums(i64, f64, i64, f32, i64, f64) -> i64 windows_fastcall {
block0(v0: i64, v1: f64, v2: i64, v3: f32, v4: i64, v5: f64):
    v6 = fpromote.f64 v3
    v7 = fadd v1, v6
    v8 = fadd v7, v5
    v9 = fcvt_to_sint.i64 v8
    v10 = iadd v0, v2
    v11 = iadd v10, v4
@0007 v12 = iadd v11, v9
    return v12
}
function %through_pointers(i64) -> i64 windows_fastcall {
    gv0 = symbol %from_c
    gv1 = symbol colocated %table_with_a_long_name
block0(v0: i64):
    v1 = symbol_value.i64 gv0
    v2 = symbol_value.i64 gv1
    v30 = iconst.i64 3
    v3 = ishl v0, v30
    v4 = iadd v1, v3
    v5 = iadd v2, v3
    v6 = load.i64 v4
    v7 = load.i64 v5
    v8 = iadd v6, v7
    return v8
}
function %large_frame(i64) -> i64 windows_fastcall {
    ss0 = explicit_slot 100000
    fn0 = %pages(i64, i64) -> i64 windows_fastcall
block0(v0: i64):
    v1 = stack_addr.i64 ss0
    v2 = iconst.i64 100000
    v3 = call fn0(v1, v2)
    v4 = iadd v3, v0
    return v4
}
function %keeps_floats(f64) -> f64 windows_fastcall {
    fn0 = %double_of(f64) -> f64 windows_fastcall
block0(v0: f64):
    v1 = fadd v0, v0
    v2 = fadd v1, v0
    v3 = fadd v2, v0
    v4 = fadd v3, v0
    v5 = fadd v4, v0
    v6 = fadd v5, v0
    v7 = fadd v6, v0
    v10 = call fn0(v0)
    v11 = call fn0(v1)
    v12 = call fn0(v2)
    v13 = call fn0(v3)
    v14 = call fn0(v4)
    v15 = call fn0(v5)
    v16 = call fn0(v6)
    v17 = call fn0(v7)
    v20 = fadd v10, v0
    v21 = fadd v20, v11
    v22 = fadd v21, v1
    v23 = fadd v22, v12
    v24 = fadd v23, v2
    v25 = fadd v24, v13
    v26 = fadd v25, v3
    v27 = fadd v26, v14
    v28 = fadd v27, v4
    v29 = fadd v28, v15
    v30 = fadd v29, v5
    v31 = fadd v30, v16
    v32 = fadd v31, v6
    v33 = fadd v32, v17
    v34 = fadd v33, v7
    return v34
}
function %switches(i64) -> i64 windows_fastcall {
block0(v0: i64):
    v1 = ireduce.i32 v0
    br_table v1, block7, [block1, block2, block3, block4, block5, block6]
block1: v10 = iconst.i64 0
    return v10
block2: v11 = iconst.i64 1
    return v11
block3: v12 = iconst.i64 4
    return v12
block4: v13 = iconst.i64 9
    return v13
block5: v14 = iconst.i64 16
    return v14
block6: v15 = iconst.i64 25
    return v15
block7: v16 = iconst.i64 -1
    return v16
}
function %divides(i64, i64) -> i64 windows_fastcall {
block0(v0: i64, v1: i64):
    v2 = sextend.i128 v0
    v3 = sextend.i128 v1
    v4 = sdiv v2, v3
    v5, v6 = isplit v4
    return v5
}
function %overridden() -> i64 windows_fastcall { block0: v0 = iconst.i64 1 return v0 }
function %kept() -> i64 windows_fastcall { block0: v0 = iconst.i64 5 return v0 }
function %calls_weak() -> i64 windows_fastcall {
    fn0 = %overridden() -> i64 windows_fastcall
    fn1 = %kept() -> i64 windows_fastcall
block0:
    v0 = call fn0()
    v1 = call fn1()
    v2 = iadd v0, v1
    return v2
}
function %prints(i64) -> i64 windows_fastcall {
    gv0 = symbol colocated %format
    gv1 = symbol %buffer
    fn0 = %sprintf(i64, i64, ..., f64, i64, f64) -> i32 windows_fastcall
block0(v0: i64):
    v1 = symbol_value.i64 gv0
    v2 = symbol_value.i64 gv1
    v3 = f64const 0x1.8p0
    v4 = f64const 0x1.4p1
    v5 = call fn0(v2, v1, v3, v0, v4)
    v6 = sextend.i64 v5
    return v6
}
function %walks(i64) -> i64 windows_fastcall {
    fn0 = %walks_2(i64) -> i64 system_v
    fn1 = %spoils(i64) -> i64 windows_fastcall
    ss0 = explicit_slot 20000
block0(v0: i64):
    v1 = call fn1(v0)
    v2 = call fn0(v1)
    v3 = iadd v2, v0
    return v3
}
function %walks_2(i64) -> i64 system_v {
    fn0 = %walk() -> i64 windows_fastcall
    ss0 = explicit_slot 24
block0(v0: i64):
    v1 = call fn0()
    v90 = iconst.i64 1
    v2 = iadd v1, v90
    return v2
}
function %counts() -> i64 windows_fastcall {
    gv0 = symbol colocated %counter
block0:
    v0 = symbol_value.i64 gv0
    v1 = load.i64 v0
    v90 = iconst.i64 1
    v2 = iadd v1, v90
    store v2, v0
    return v2
}
function %literal(f64) -> f64 windows_fastcall {
block0(v0: f64):
    v1 = f64const 0x1.4p1
    v2 = fadd v0, v1
    return v2
}
function %system_v_inside(i64) -> i64 windows_fastcall {
    fn0 = %system_v(i64) -> i64 system_v
block0(v0: i64):
    v1 = call fn0(v0)
    v2 = iadd v1, v0
    return v2
}
function %system_v(i64) -> i64 system_v {
    fn0 = %spoils(i64) -> i64 windows_fastcall
block0(v0: i64):
    v1 = call fn0(v0)
    return v1
}
function %stepped(i64) -> i64 windows_fastcall {
    fn0 = %double_of(f64) -> f64 windows_fastcall
    fn1 = %system_v(i64) -> i64 system_v
    ss0 = explicit_slot 20000
block0(v0: i64):
    v1 = fcvt_from_sint.f64 v0
    v2 = call fn0(v1)
    v3 = fadd v2, v1
    v4 = call fn1(v0)
    v5 = fcvt_to_sint.i64 v3
    v6 = iadd v4, v5
    v7 = iadd v6, v0
    return v7
}
function %thread_counter() -> i64 windows_fastcall {
    gv0 = symbol tls %tls_counter
block0:
    v0 = tls_value.i64 gv0
    return v0
}
function %thread_zeros() -> i64 windows_fastcall {
    gv0 = symbol tls %tls_zeros+128
block0:
    v0 = tls_value.i64 gv0
    return v0
}
function %plus_one(i64) -> i64 windows_fastcall { block0(v0: i64): v2 = iconst.i64 1 v1 = iadd v0, v2 return v1 }
";

/// Tools that run programs for Windows.
pub(crate) struct Tools {
    /// The folder that is Wine's drive.
    prefix: PathBuf,
}

/// Returns the tools, or `None` with a message if they are not installed.
pub(crate) fn tools() -> Option<&'static Tools> {
    static TOOLS: OnceLock<Option<Tools>> = OnceLock::new();
    let find = || {
        let missing = [CC, "wine"].into_iter().find(|tool| Command::new(tool).arg("--version").output().is_err());
        if let Some(tool) = missing {
            assert!(std::env::var_os("CI").is_none(), "CI has {tool}");
            eprintln!("SKIPPED: tests that run programs for Windows: no {tool}");
            return None;
        }
        let prefix = wine_folder();
        std::fs::create_dir_all(&prefix).expect("a folder");
        Some(Tools { prefix })
    };
    TOOLS.get_or_init(find).as_ref()
}

/// Returns the folder of Wine's drives: `WINEPREFIX`, or the one that other tests use. Wine takes half a minute to fill it.
fn wine_folder() -> PathBuf {
    let folder = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches = || folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    let shared = || Some(caches()?.join("kingpost-wine"));
    folder("WINEPREFIX").or_else(shared).unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("wine"))
}

impl Tools {
    /// Compiles and links the inputs, without a warning.
    pub(crate) fn link(&self, inputs: &[&Path], options: &[&str], program: &Path) {
        let output = Command::new(CC).args(["-O1", "-Wall"]).args(inputs).args(options).arg("-o").arg(program).output();
        let output = output.unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs a program and returns its output, which must be a success.
    pub(crate) fn run(&self, program: &Path) -> String {
        let mut command = Command::new("wine");
        command.env("WINEPREFIX", &self.prefix).env("WINEDEBUG", "-all").env("WINEDLLOVERRIDES", "mscoree=;mshtml=");
        // A file, because Wine's servers keep a pipe open for seconds after the program ended.
        let said = program.with_extension("txt");
        command.stdout(File::create(&said).unwrap()).stderr(Stdio::null()).stdin(Stdio::null());
        let status = command.arg(program).status().unwrap();
        let said = std::fs::read_to_string(said).unwrap();
        assert!(status.success(), "{status:?}: {said}");
        said
    }
}

fn compiler(triple: &Triple, allocator: &str) -> Compiler {
    let mut settings = Settings::default().with(|settings| settings.verify_each = true);
    settings.regalloc_algorithm = allocator.into();
    settings.set("tls_model", "coff").unwrap();
    Compiler::new(triple, settings, &[]).unwrap()
}

/// Returns an object with [`FUNCTIONS`] and the functions in `more`.
pub(crate) fn object(triple: &Triple, allocator: &str, options: ObjectOptions, more: &str) -> Vec<u8> {
    let mut m = ObjectModule::new(compiler(triple, allocator), options);
    let table = m.declare_data("table_with_a_long_name", Linkage::Export, DataKind::ReadOnly).unwrap();
    let words = [100u64, 200].map(u64::to_le_bytes).concat();
    m.define_data(table, &DataDescription::bytes(words)).unwrap();
    let pointers = ["kept", "plus_one"].into_iter().enumerate();
    let pointers = pointers.map(|(index, name)| DataPointer {
        offset: 8 * index as u64,
        symbol: SymbolName::named(name),
        addend: 0,
    });
    let functions = m.declare_data("functions", Linkage::Export, DataKind::ReadOnly).unwrap();
    m.define_data(functions, &DataDescription::bytes([0; 16]).with(|data| data.pointers = pointers.collect())).unwrap();
    let counter = m.declare_data("counter", Linkage::Local, DataKind::Writable).unwrap();
    m.define_data(counter, &DataDescription::zeros(8)).unwrap();
    let buffer = m.declare_data("buffer", Linkage::Export, DataKind::Writable).unwrap();
    m.define_data(buffer, &DataDescription::zeros(64)).unwrap();
    let counter = m.declare_data("tls_counter", Linkage::Export, DataKind::ThreadLocal).unwrap();
    m.define_data(counter, &DataDescription::bytes(100u64.to_le_bytes())).unwrap();
    let zeros = m.declare_data("tls_zeros", Linkage::Export, DataKind::ThreadLocal).unwrap();
    m.define_data(zeros, &DataDescription::zeros(192).with(|data| data.align = 16)).unwrap();
    let format = m.declare_data("format", Linkage::Local, DataKind::ReadOnly).unwrap();
    m.define_data(format, &DataDescription::bytes(*b"%.2f %d %.2f\0")).unwrap();
    for mut f in kingpost_reader::parse_functions(format!("{FUNCTIONS}{more}")).unwrap() {
        let name = f.name.to_string()[1..].to_string();
        let linkage = if ["overridden", "kept"].contains(&&*name) { Linkage::Preemptible } else { Linkage::Export };
        let id = m.declare_function(&name, linkage, &f.signature).unwrap();
        m.define_function(id, &mut f).unwrap();
    }
    m.finish().unwrap()
}

#[test]
fn programs_for_windows_run() {
    let Some(tools) = tools() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("windows.c"), include_str!("windows.c")).unwrap();
    for (index, (allocator, _)) in ALLOCATORS.iter().enumerate() {
        let triple = if index % 2 == 0 { triple!("x86_64-pc-windows-gnu") } else { triple!("x86_64-pc-windows-msvc") };
        let options = ObjectOptions::default().with(|options| options.function_sections = index == 0);
        std::fs::write(at("o.o"), object(&triple, allocator, options, "")).unwrap();
        let chkstk: &[&str] = if index % 2 == 0 { &[] } else { &["-Wl,--defsym,__chkstk=___chkstk_ms"] };
        tools.link(&[&at("windows.c"), &at("o.o")], chkstk, &at("a.exe"));
        tools.run(&at("a.exe"));
    }
}
