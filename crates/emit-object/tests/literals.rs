//! Checks that constants that code loads are in sections that linkers merge, and not among the code.

use kingpost_codegen::{Compiler, Settings};
use kingpost_emit_object::{ObjectOptions, write};
use kingpost_mach::ModuleBuffer;
use std::path::Path;
use std::process::Command;
use target_lexicon::{Triple, triple};

/// `%NAME` returns 100 times its argument plus 0.25. It uses literals of all sizes, and both functions share one of
/// them. No instruction can encode any of them as an immediate.
const TEXT: &str = "
function %NAME(f64) -> f64 {
    fn0 = colocated %NAME_rest(f64) -> f64
block0(v0: f64):
    v1 = f64const 0x1.9p6
    v2 = fmul v0, v1
    v3 = call fn0(v2)
    return v3
}
function %NAME_rest(f64) -> f64 {
block0(v0: f64):
    v1 = f32const 0x1.0ep5
    v2 = fpromote.f64 v1
    v3 = fadd v0, v2
    v4 = vconst.i64x2 0x40590000000000004040c00000000000
    v5 = bitcast.i128 little v4
    v6, v7 = isplit v5
    v8 = bitcast.f64 v6
    v9 = bitcast.f64 v7
    v10 = fsub v3, v8
    v11 = f64const 0x1.9p6
    v12 = fsub v11, v9
    v13 = fadd v10, v12
    return v13
}
";

fn object(triple: &Triple, pic: bool, name: &str) -> Vec<u8> {
    let compiler = Compiler::new(triple, Settings::default().with(|settings| settings.is_pic = pic), &[]).unwrap();
    let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
    for mut func in kingpost_reader::parse_functions(TEXT.replace("NAME", name)).unwrap() {
        compiler.compile(&mut cx, &mut func, &mut module).unwrap();
    }
    for view in module.functions() {
        assert_eq!(view.function.data_offset as usize, view.code.len(), "there is only code");
    }
    write(triple, &module, &[], ObjectOptions::default()).unwrap()
}

/// Returns the output of a command, which must succeed without further messages; `None` if it is not installed.
fn output(command: &mut Command) -> Option<String> {
    let Ok(output) = command.output() else {
        assert!(std::env::var_os("KINGPOST_WITHOUT_TOOLS").is_some(), "{command:?} is missing: see `make deps`");
        return None;
    };
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && errors.is_empty(), "{command:?}: {}\n{out}{errors}", output.status);
    Some(out.into_owned())
}

const PROGRAM: &str = "
double one(double), two(double);
int main(void) { return one(1.5) == 150.25 && two(2) == 200.25 ? 7 : 1; }
";

/// Tries to link two objects with a program, and runs it if the linker is installed.
fn link_and_run(cc: &str, emulator: &[&str], triple: &Triple) {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("main.c"), PROGRAM).unwrap();
    for (flags, pic) in [(&["-pie", "-fPIE"][..], true), (&["-static", "-no-pie"], false), (&["-no-pie"], false)] {
        for name in ["one", "two"] {
            std::fs::write(at(name), object(triple, pic, name)).unwrap();
        }
        let mut link = Command::new(cc);
        link.args(flags).args(["-Wl,--fatal-warnings", "-o"]).arg(at("program"));
        link.args([at("main.c"), at("one"), at("two")]);
        if output(&mut link).is_none() {
            return;
        }
        run(emulator, &at("program"), flags);
        let mut shared = Command::new(cc);
        shared.args(["-shared", "-Wl,--fatal-warnings", "-o"]).arg(at("shared")).args([at("one"), at("two")]);
        if pic {
            let map = output(shared.arg("-Wl,-M")).unwrap();
            assert!(!map.contains("TEXTREL"), "{map}");
        }
    }
}

fn run(emulator: &[&str], program: &Path, flags: &[&str]) {
    let words: Vec<&str> = emulator.iter().copied().chain([program.to_str().unwrap()]).collect();
    let status = Command::new(words[0]).args(&words[1..]).status();
    assert_eq!(status.map(|status| status.code()).ok(), Some(Some(7)), "{flags:?}");
}

#[test]
fn x86_64_objects_link_and_run() {
    if cfg!(target_arch = "x86_64") {
        link_and_run("cc", &[], &triple!("x86_64-unknown-linux-gnu"));
    }
}

#[test]
fn aarch64_objects_link_and_run() {
    let emulator = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"];
    link_and_run("aarch64-linux-gnu-gcc", &emulator, &triple!("aarch64-unknown-linux-gnu"));
}

#[test]
fn linkers_merge_equal_literals() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let triple = triple!("x86_64-unknown-linux-gnu");
    for name in ["one", "two"] {
        std::fs::write(at(name), object(&triple, true, name)).unwrap();
    }
    let mut link = Command::new("ld");
    link.args(["-shared", "-o"]).arg(at("both")).args([at("one"), at("two")]);
    let sizes = |file: &Path| {
        let listed = output(Command::new("readelf").arg("-SW").arg(file))?;
        let size = |section: &str| {
            let line = listed.lines().find(|line| line.split_whitespace().any(|word| word == section))?;
            let words: Vec<&str> = line.split(section).nth(1)?.split_whitespace().collect();
            Some((u64::from_str_radix(words[3], 16).unwrap(), words[4].to_string(), words[5].to_string()))
        };
        Some([".rodata.cst4", ".rodata.cst8", ".rodata.cst16", ".rodata"].map(size))
    };
    let entries = |bytes: u64, size: &str| Some((bytes, size.into(), "AM".into()));
    let Some(object) = sizes(&at("one")) else { return };
    assert_eq!(object, [entries(4, "04"), entries(8, "08"), entries(16, "10"), None]);
    output(&mut link).unwrap();
    let [.., all] = sizes(&at("both")).unwrap();
    assert_eq!(all.unwrap().0, 32, "both objects have the same literals");
}
