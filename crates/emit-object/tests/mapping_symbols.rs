//! Checks that AArch64 objects mark the starts of code and data in `.text`, so that disassemblers and linkers can
//! tell them apart. x86-64 objects have no such symbols.

use kingpost_codegen::{Compiler, Settings};
use kingpost_emit_object::{ObjectOptions, write};
use kingpost_mach::ModuleBuffer;
use std::process::Command;
use target_lexicon::{Triple, triple};

/// Three functions, the first with a jump table.
const TEXT: &str = "
function %table(i32) -> i32 {
block0(v0: i32): br_table v0, block1, [block2, block3, block1, block2, block3]
block1: v1 = iconst.i32 1 return v1
block2: v2 = iconst.i32 2 return v2
block3: v3 = iconst.i32 3 return v3
}
function %code(i64) -> i64 { block0(v0: i64): return v0 }
function %more(i64) -> i64 { block0(v0: i64): return v0 }
";

/// Returns the addresses and names of the symbols that begin with `$`, from the output of `readelf`.
fn mapping_symbols(triple: &Triple) -> Option<Vec<(u64, String)>> {
    let compiler = Compiler::new(triple, Settings::default(), &[]).unwrap();
    let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
    for mut func in kingpost_reader::parse_functions(TEXT).unwrap() {
        compiler.compile(&mut cx, &mut func, &mut module).unwrap();
    }
    let object = write(triple, &module, &[], ObjectOptions::default()).unwrap();
    let file = std::env::temp_dir().join(format!("kingpost-mapping-{}-{}.o", triple.architecture, std::process::id()));
    std::fs::write(&file, object).unwrap();
    let listed = Command::new("readelf").args(["-sW"]).arg(&file).output();
    std::fs::remove_file(&file).unwrap();
    let Ok(listed) = listed else {
        assert!(std::env::var_os("KINGPOST_WITHOUT_TOOLS").is_some(), "readelf is missing: see `make deps`");
        return None;
    };
    let symbol = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, value, size, kind, binding, .., name] = words[..] else { return None };
        name.starts_with('$').then(|| {
            assert_eq!([size, kind, binding], ["0", "NOTYPE", "LOCAL"], "{line}");
            (u64::from_str_radix(value, 16).unwrap(), name.to_string())
        })
    };
    Some(String::from_utf8(listed.stdout).unwrap().lines().filter_map(symbol).collect())
}

#[test]
fn aarch64_tells_code_from_data() {
    if let Some(symbols) = mapping_symbols(&triple!("aarch64-unknown-linux-gnu")) {
        let expected = [(0, "$x"), (0x34, "$d"), (0x50, "$x")];
        assert_eq!(symbols, expected.map(|(at, name)| (at, name.to_string())));
    }
}

#[test]
fn x86_has_none() {
    assert_eq!(mapping_symbols(&triple!("x86_64-unknown-linux-gnu")).unwrap_or_default(), []);
}
