//! Checks that what a format does not have is an error that names the construct and the target, and that objects with
//! more sections than a field of 16 bits can count link and run.

use kingpost_codegen::module::{Linkage, Module};
use kingpost_codegen::{Compiler, Settings};
use kingpost_emit_object::{ObjectModule, ObjectOptions, write};
use kingpost_mach::{Buffer, DataObject, FunctionHead, JumpTables, ModuleBuffer, NoBranches, SymbolName};
use std::process::Command;
use target_lexicon::{Triple, triple};

const WINDOWS: &str = "x86_64-pc-windows-gnu";
const WINDOWS_ARM64: &str = "aarch64-pc-windows-msvc";
const MAC: &str = "aarch64-apple-darwin";

/// Returns an object of one data object, or the error.
fn of_data(triple: &str, change: impl FnOnce(&mut DataObject)) -> Result<Vec<u8>, String> {
    let mut data = DataObject {
        placement: Default::default(),
        name: SymbolName::named("d"),
        align: 8,
        writable: true,
        tls: false,
        size: 8,
        bytes: vec![1; 8],
        pointers: Vec::new(),
    };
    change(&mut data);
    let written = write(&triple.parse().unwrap(), &ModuleBuffer::default(), &[data], ObjectOptions::default());
    written.map_err(|error| error.to_string())
}

/// Returns an object of compiled functions, or the error.
fn of_text(triple: &str, settings: &[(&str, &str)], text: &str, options: ObjectOptions) -> Result<Vec<u8>, String> {
    let mut all = Settings::default();
    settings.iter().for_each(|(key, value)| all.set(key, value).unwrap());
    let compiler = Compiler::new(&triple.parse().unwrap(), all, &[]).map_err(|error| error.to_string())?;
    let mut module = ObjectModule::new(compiler, options);
    for mut f in kingpost_reader::parse_functions(text).unwrap() {
        let id = module.declare_function(&f.name.to_string()[1..], Linkage::Export, &f.signature).unwrap();
        module.define_function(id, &mut f).map_err(|error| error.to_string())?;
    }
    module.finish().map_err(|error| error.to_string())
}

fn refused(result: Result<Vec<u8>, String>, words: &[&str]) {
    let error = result.expect_err("the format does not have this");
    for word in words {
        assert!(error.contains(word), "no `{word}`: {error}");
    }
}

#[test]
fn data_that_a_format_lacks_is_refused() {
    refused(of_data(WINDOWS, |d| d.align = 1 << 14), &["alignment", ".data", "8192"]);
    refused(of_data(WINDOWS, |d| (d.bytes, d.size) = (Vec::new(), 1 << 32)), &["size", ".bss", "2147483647"]);
    refused(of_data(WINDOWS, |d| d.size = 1 << 40), &["size of data `d`"]);
    refused(of_data(WINDOWS, |d| d.placement.used = true), &["data that linkers keep", WINDOWS]);
    refused(of_data(WINDOWS, |d| (d.tls, d.placement.section) = (true, Some("own".into()))), &["`own`", WINDOWS]);
    refused(of_data(WINDOWS, |d| d.placement.section = Some(String::new())), &["name"]);
    refused(of_data(WINDOWS, |d| (d.tls, d.align) = (true, 32)), &["alignment", "thread-local symbol `d`", WINDOWS]);
    refused(of_data(MAC, |d| (d.tls, d.align) = (true, 32)), &["alignment", "thread-local symbol `_d`", MAC]);
    refused(of_data(MAC, |d| (d.tls, d.placement.section) = (true, Some("own".into()))), &["`own`", MAC]);
    of_data(MAC, |d| (d.tls, d.placement.used) = (true, true)).unwrap();
    refused(of_data(MAC, |d| d.placement.section = Some("a_name_of_17_byte".into())), &["a_name_of_17_byte", "16"]);
    refused(of_data(MAC, |d| d.align = 1 << 16), &["alignment", "32768"]);
    refused(of_data(MAC, |d| d.name = SymbolName::named("a\0b")), &["name"]);
    of_data(WINDOWS, |d| d.placement.section = Some("a name, and $ in a section".into())).unwrap();
    of_data("x86_64-pc-windows-msvc", |d| d.placement.used = true).unwrap();
    of_data(MAC, |d| d.placement.section = Some("__MINE,__own".into())).unwrap();
}

#[test]
fn code_that_a_format_lacks_is_refused() {
    let plain = "function %f() { block0: return }";
    let options = ObjectOptions::default;
    for triple in [WINDOWS, WINDOWS_ARM64, MAC, "x86_64-apple-darwin"] {
        refused(of_text(triple, &[("is_pic", "false")], plain, options()), &["is_pic"]);
        refused(of_text(triple, &[("tls_model", "elf_gd")], plain, options()), &["tls_model"]);
    }
    refused(of_text("x86_64-unknown-linux-gnu", &[("tls_model", "coff")], plain, options()), &["tls_model=coff"]);
    refused(of_text("aarch64-apple-ios", &[], plain, options()), &["aarch64-apple-ios"]);
    refused(of_text(WINDOWS, &[("probestack_strategy", "inline")], plain, options()), &["probestack_strategy"]);
    // GCC's library takes and returns f16 in general-purpose registers, LLVM's in vector registers.
    let half = "function %f(f32) -> f32 { block0(v0: f32): v1 = fdemote.f16 v0 v2 = fpromote.f32 v1 return v2 }";
    refused(of_text(WINDOWS, &[], half, options()), &["f16", "windows_fastcall"]);
    of_text(MAC, &[], half, options()).unwrap();
    let grows = "function %f(i64) -> i64 tail {
        fn0 = colocated %g(i64, i64, i64, i64, i64, i64, i64, i64, i64) -> i64 tail
        block0(v0: i64): return_call fn0(v0, v0, v0, v0, v0, v0, v0, v0, v0)
    }";
    refused(of_text(WINDOWS, &[], grows, options()), &["function `f`", "tail call", WINDOWS]);
    of_text(WINDOWS, &[], grows, options().with(|options| options.unwind_info = false)).unwrap();
    let limit = "function %f(i64 vmctx) {
        gv0 = vmctx
        gv1 = load.i64 notrap aligned gv0
        stack_limit = gv1
        ss0 = explicit_slot 64
        fn0 = colocated %g()
        block0(v0: i64): call fn0() return
    }";
    for triple in [WINDOWS, WINDOWS_ARM64] {
        refused(of_text(triple, &[], limit, options()), &["function `f`", "stack limit", triple]);
    }
    refused(of_text("aarch64-unknown-linux-gnu", &[("tls_model", "macho")], plain, options()), &["tls_model=macho"]);
    refused(of_text(WINDOWS_ARM64, &[("tls_model", "macho")], plain, options()), &["tls_model=macho"]);
    let far = "function %f() -> i64 { gv0 = symbol colocated %g+1048576 block0: v0 = symbol_value.i64 gv0 return v0 }";
    refused(of_text(WINDOWS_ARM64, &[], far, options()), &["1048576", WINDOWS_ARM64]);
    let saves_all = "function %f() preserve_all { fn0 = %g() windows_fastcall block0: call fn0() return }";
    refused(of_text(WINDOWS_ARM64, &[], saves_all, options()), &["function `f`", "prologue", WINDOWS_ARM64]);
    of_text(WINDOWS_ARM64, &[], saves_all, options().with(|options| options.unwind_info = false)).unwrap();
}

/// Returns a module of many functions: `f7` returns 7.
fn many(count: usize) -> ModuleBuffer {
    let mut module = ModuleBuffer::default();
    for number in 0..count {
        let mut b = Buffer::default();
        b.start(0);
        b.put1(0xb8); // mov eax, number
        b.put4(number as u32);
        b.put1(0xc3);
        let head = FunctionHead::of_bytes(SymbolName::named(&format!("f{number}")), 1);
        b.finish(head, &JumpTables::default(), &[], &NoBranches, &mut module).unwrap();
    }
    module
}

#[test]
fn many_sections_link_and_run() {
    let options = ObjectOptions::default().with(|options| options.function_sections = true);
    let module = many(70_000);
    refused(
        write(&WINDOWS.parse().unwrap(), &module, &[], options.clone()).map_err(|error| error.to_string()),
        &["number of sections", "65279"],
    );
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return eprintln!("SKIPPED: many_sections_link_and_run: no x86-64 Linux");
    }
    let linux: Triple = triple!("x86_64-unknown-linux-gnu");
    let object = write(&linux, &module, &[], options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("o.o"), object).unwrap();
    std::fs::write(at("c.c"), "int f0(void), f69999(void); int main(void) { return f69999() - f0() != 69999; }")
        .unwrap();
    let mut cc = Command::new("cc");
    let output = cc.arg(at("c.c")).arg(at("o.o")).args(["-Wl,--gc-sections", "-o"]).arg(at("a")).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(Command::new(at("a")).status().unwrap().success());
    let names = Command::new("nm").arg(at("a")).output().unwrap().stdout;
    assert!(!String::from_utf8_lossy(&names).contains("f12345"), "the linker removes functions");
}
