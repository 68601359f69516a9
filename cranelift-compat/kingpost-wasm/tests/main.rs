//! Runs of the program: outputs, and messages about settings and inputs that it refuses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of a test, which is removed with its files.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), bytes).unwrap();
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kingpost-wasm"));
        command.current_dir(&self.0).env_remove("KINGPOST_REGALLOC").env_remove("KINGPOST_CHECKER");
        command.arg("compile").args(words).output().unwrap()
    }

    /// Checks that the program fails with a message, and writes nothing.
    fn check_message(&self, words: &[&str], expected: &str) {
        let before = self.files();
        let output = self.run(words);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains(expected), "{words:?}: {message}");
        assert!(!message.contains("panicked"), "{words:?}: {message}");
        assert!(matches!(output.status.code(), Some(1 | 2)), "{words:?}: {}", output.status);
        assert_eq!(self.files(), before, "{words:?}");
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A test that fails may leave files open.
        let _ = fs::remove_dir_all(&self.0);
    }
}

const TEXT: &str = "(module (func (export \"f\") (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3))))";

/// The first section of a module: the type of a function without parameters and results.
const TYPE: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0";

#[test]
fn text_and_binary_modules_have_equal_outputs() {
    let folder = Folder::new("outputs");
    folder.write("a.wat", TEXT);
    folder.write("b.wasm", wat::parse_str(TEXT).unwrap());
    assert!(folder.run(&["a.wat"]).status.success());
    let output = folder.run(&["b.wasm", "-o", "c.cwasm", "--stats"]);
    let stats = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && stats.contains("\nfunctions  "), "{stats}");
    assert_eq!(fs::read(folder.0.join("a.cwasm")).unwrap(), fs::read(folder.0.join("c.cwasm")).unwrap());
    // Without a terminal there is no progress.
    assert!(output.stderr.is_empty());
}

#[test]
fn outputs_depend_on_target_and_cpu() {
    let folder = Folder::new("targets");
    folder.write("a.wat", TEXT);
    let compile = |words: &[&str]| {
        let output = folder.run(&[&["a.wat", "-o", "out"], words].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read(folder.0.join("out")).unwrap()
    };
    let outputs =
        ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"].map(|target| compile(&["--target", target]));
    assert_ne!(outputs[0], outputs[1]);
    let flag = compile(&["--target", "x86_64-unknown-linux-gnu", "-C", "cranelift-has-avx2"]);
    assert_ne!(outputs[0], flag);
    compile(&["--host-cpu"]);
}

#[test]
fn settings_are_refused_before_the_module_is_read() {
    let folder = Folder::new("settings");
    let cases: &[(&[&str], &str)] = &[
        (&["--regalloc", "fast"], "no register allocator is called `fast`"),
        (&["-O", "opt-level=9"], "opt-level=9"),
        (&["-O", "nothing"], "nothing"),
        (&["-C", "cranelift-nothing=1"], "nothing"),
        (&["-C", "compiler=winch"], "winch"),
        (&["--target", "nothing"], "nothing"),
        (&["--target", "riscv64gc-unknown-linux-gnu"], "target `riscv64gc-unknown-linux-gnu` is not supported"),
        (&["--target", "aarch64_be-unknown-linux-gnu"], "target `aarch64_be-unknown-linux-gnu` is not supported"),
        (&["--target", "pulley64"], "target `pulley64` is not supported"),
        // Wasmtime's code for Windows is not position-independent.
        (&["--target", "x86_64-pc-windows-msvc"], "setting `is_pic=false`"),
        (&["-C", "cache"], "caching"),
        (&["--host-cpu", "--target", "x86_64-unknown-linux-gnu"], "--target"),
    ];
    for (words, message) in cases {
        folder.check_message(&[&["missing.wasm"], *words].concat(), message);
    }
    folder.check_message(&["missing.wasm"], "missing.wasm: No such file");
}

#[test]
fn malformed_modules_have_messages_with_offsets() {
    let folder = Folder::new("malformed");
    let after_type = |bytes: &[u8]| [TYPE, bytes].concat();
    let cases: &[(&str, Vec<u8>, &str)] = &[
        ("empty.wasm", vec![], "empty.wasm: 0x0: "),
        ("noise.wasm", b"nothing".to_vec(), "noise.wasm: 0x0: "),
        ("version.wasm", b"\0asm\x09\0\0\0".to_vec(), "version.wasm: 0x4: "),
        ("component.wasm", b"\0asm\x0d\0\x01\0".to_vec(), "component.wasm: "),
        ("section.wasm", after_type(b"\x03\x7f"), "section.wasm: 0x"),
        // A function without a body.
        ("body.wasm", after_type(b"\x03\x02\x01\0"), "body.wasm: 0x"),
        // The body leaves a value on the stack.
        ("stack.wasm", after_type(b"\x03\x02\x01\0\x0a\x06\x01\x04\0\x41\x01\x0b"), "stack.wasm: 0x19: "),
        // 2^32 - 1 functions, locals, bytes.
        ("functions.wasm", after_type(b"\x03\x05\xff\xff\xff\xff\x0f"), "functions.wasm: 0x"),
        (
            "locals.wasm",
            after_type(b"\x03\x02\x01\0\x0a\x0a\x01\x08\x01\xff\xff\xff\xff\x0f\x7f\x0b"),
            "locals.wasm: 0x",
        ),
        ("bytes.wasm", after_type(b"\x0b\xff\xff\xff\xff\x0f"), "bytes.wasm: 0x"),
        ("text.wat", b"(module\n  (fnc))".to_vec(), "text.wat:2:4"),
        ("nested.wat", b"(".repeat(100_000), "nested.wat:1:"),
        ("latin.wat", b"\xff".to_vec(), "latin.wat"),
    ];
    for (name, bytes, message) in cases {
        folder.write(name, bytes);
        folder.check_message(&[name], message);
    }
}

#[test]
fn an_output_is_written_whole_or_not_at_all() {
    let folder = Folder::new("whole");
    folder.write("a.wat", TEXT);
    folder.check_message(&["a.wat", "-o", "missing/out"], "missing/out: ");
    folder.check_message(&["a.wat", "-o", "."], ".: ");
    folder.write("bad.wasm", "nothing");
    folder.write("old", "old");
    folder.check_message(&["bad.wasm", "-o", "old"], "bad.wasm: ");
    assert_eq!(fs::read(folder.0.join("old")).unwrap(), b"old");
    assert!(folder.run(&["a.wat", "-o", "/dev/null"]).status.success());
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}
