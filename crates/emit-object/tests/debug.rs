//! Checks source lines with other tools.

use kingpost_codegen::{Compiler, Settings};
use kingpost_emit_object::{ObjectOptions, write};
use kingpost_ir::TrapCode;
use kingpost_mach::ModuleBuffer;
use std::path::Path;
use std::process::Command;
use target_lexicon::{Triple, triple};

const TEXT: &str = "
function %first(i64) -> i64 system_v {
    sig0 = () system_v
    fn0 = %hook sig0
block0(v0: i64):
    @000a v1 = iconst.i64 3
    @000b v2 = imul v0, v1
    @000c call fn0()
    @000d trapz v2, user7
    @7ffffff0 v3 = sdiv v1, v2
    return v3
}
function %second() system_v {
block0:
    return
}
function %third(i64) -> i64 system_v {
block0(v0: i64):
    @0014 v1 = load.i64 v0
    @0015 return v1
}";

fn target() -> Triple {
    triple!("x86_64-unknown-linux-gnu")
}

fn compile(target: &Triple) -> ModuleBuffer {
    let settings = Settings::default().with(|settings| settings.is_pic = true);
    let compiler = Compiler::new(target, settings, &[]).unwrap();
    let batch = compiler.compile_batch(&mut kingpost_reader::parse_functions(TEXT).unwrap(), 1);
    assert!(batch.errors.is_empty(), "{:?}", batch.errors);
    batch.module
}

/// Returns the output of a tool; `None` if it is not installed. In CI it is installed.
fn run(tool: &str, args: &[&str], file: &Path) -> Option<String> {
    match Command::new(tool).args(args).arg(file).output() {
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && errors.is_empty(), "{tool}: {errors}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(_) => {
            assert!(std::env::var_os("CI").is_none(), "CI has {tool}");
            eprintln!("SKIPPED: no {tool}");
            None
        }
    }
}

#[test]
fn other_tools_read_the_lines() {
    read_lines(&target(), "addr2line", Some("gdb"));
    read_lines(&triple!("aarch64-unknown-linux-gnu"), "aarch64-linux-gnu-addr2line", None);
}

fn read_lines(target: &Triple, addr2line: &str, debugger: Option<&str>) {
    let module = compile(target);
    let options = ObjectOptions::default().with(|options| options.source = "some.clif".into());
    let dir = tempfile::tempdir().unwrap();
    let object = dir.path().join("a.o");
    std::fs::write(&object, write(target, &module, &[], options).unwrap()).unwrap();

    // Every row in the output of `readelf`: line, and address within `.text`. The object and the table must agree.
    let mut expected = Vec::new();
    let mut start = 0u64;
    for f in module.functions() {
        start = start.next_multiple_of(16);
        if let Some(first) = f.srclocs.first() {
            let rows = f.srclocs.iter().map(|site| (site.offset, site.srcloc));
            let rows = rows.filter(|&(offset, _)| (offset as usize) < f.code.len());
            let prologue = Some((0, first.srcloc)).filter(|_| first.offset > 0);
            for (offset, line) in prologue.into_iter().chain(rows) {
                expected.push((if line == u32::MAX { 0 } else { line }, start + u64::from(offset)));
            }
        }
        start += f.code.len() as u64;
    }
    assert!(expected.len() > 6);
    let Some(lines) = run("readelf", &["--debug-dump=decodedline"], &object) else { return };
    let rows: Vec<(u32, u64)> = lines.lines().filter_map(decoded_row).collect();
    assert_eq!(rows, expected, "{lines}");

    let call = module.function(0).calls[0].return_offset - 1;
    let address = format!("{call:#x}");
    let Some(found) = run(addr2line, &["-f", &address, "-e"], &object) else { return };
    assert!(found.starts_with("first\n") && found.trim_end().ends_with("some.clif:12"), "{found}");
    let found = run(addr2line, &["-f", &format!("{:#x}", expected[expected.len() - 1].1), "-e"], &object).unwrap();
    assert!(found.starts_with("third\n") && found.trim_end().ends_with("some.clif:21"), "{found}");
    let trap = first_trap(&module);
    let found = run(addr2line, &["-f", &trap, "-e"], &object).unwrap();
    assert!(found.starts_with("first\n") && found.trim_end().ends_with("some.clif:13"), "{found}");
    if let Some(debugger) = debugger
        && let Some(text) = run(debugger, &["-batch", "-nx", "-ex", "info line *0"], &object)
    {
        assert!(text.contains("Line 11 of \"some.clif\" starts at address 0x0 <first>"), "{text}");
    }
}

/// Returns the address of the trap of `trapz`, which is after the function's blocks.
fn first_trap(module: &ModuleBuffer) -> String {
    let f = module.function(0);
    let trap = f.traps.iter().find(|trap| trap.code == TrapCode::user(7).unwrap()).unwrap();
    assert!(trap.offset > f.calls[0].return_offset);
    format!("{:#x}", trap.offset)
}

/// Parses a row and returns its line and address; `None` if this is no row or the end of a sequence.
fn decoded_row(line: &str) -> Option<(u32, u64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["some.clif", line, address, ..] if line != "-" => {
            let address = address.strip_prefix("0x").map_or(Ok(0), |hex| u64::from_str_radix(hex, 16));
            Some((line.parse().ok()?, address.ok()?))
        }
        _ => None,
    }
}

#[test]
fn lines_are_written_only_if_wanted_and_known() {
    let has_lines = |module: &ModuleBuffer, options| {
        let object = write(&target(), module, &[], options).unwrap();
        object.windows(11).any(|bytes| bytes == b".debug_line")
    };
    let module = compile(&target());
    let mut without = ModuleBuffer::default();
    without.append_function(&module.function(1));
    assert!(has_lines(&module, ObjectOptions::default()));
    assert!(!has_lines(&module, ObjectOptions::default().with(|options| options.debug_lines = false)));
    assert!(!has_lines(&without, ObjectOptions::default()));
    let nameless = ObjectOptions::default().with(|options| options.source = String::new());
    assert!(
        write(&target(), &module, &[], nameless)
            .unwrap_err()
            .to_string()
            .contains("invalid symbol, section or file name")
    );
}
