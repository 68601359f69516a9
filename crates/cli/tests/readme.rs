//! The commands of the README's shell blocks run as they stand there.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

const FILE: &str = "\
test run
target x86_64
target aarch64
function %fib(i32) -> i64 {
block0(v0: i32):
    v1 = iconst.i64 0
    v2 = iconst.i64 1
    jump block1(v0, v1, v2)
block1(v3: i32, v4: i64, v5: i64):
    brif v3, block2, block3
block2:
    v6 = iadd v4, v5
    v7 = iconst.i32 1
    v8 = isub v3, v7
    jump block1(v8, v5, v6)
block3:
    return v4
}
; run: %fib(10) == 55
function %f(i64) -> i64 {
block0(v0: i64):
    return v0
}
";

/// Without a `test` line, so that testing it fails.
const BAD: &str = "function %f(i64) -> i64 {\nblock0(v0: i64):\n    return v0\n}\n";

const PROBLEM: &str = "problem %f {\nb0:\nbranch\n}\nallocation {\n}\n";

#[test]
fn commands_of_the_readme_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("target/release")).expect("made");
    symlink(env!("CARGO_BIN_EXE_kingpost"), at("target/release/kingpost")).expect("linked");
    symlink(root.join("crates"), at("crates")).expect("linked");
    for (name, text) in [("FILE.clif", FILE), ("BAD.clif", BAD), ("FILE.ra", PROBLEM)] {
        std::fs::write(at(name), text).expect("written");
    }
    std::fs::write(at("mine"), "#!/bin/sh\nexec target/release/kingpost alloc --regalloc linear -\n").expect("written");
    std::fs::set_permissions(at("mine"), std::fs::Permissions::from_mode(0o755)).expect("executable");
    let readme = std::fs::read_to_string(root.join("README.md")).expect("the README");
    let lines = readme.lines().filter(|line| line.starts_with("target/release/kingpost"));
    // `make test` runs the filetests by themselves.
    let mut count = 0;
    for line in lines.filter(|line| !line.ends_with(" every allocator")) {
        let command = line.split(" # ").next().unwrap_or(line).split(" | ").next().unwrap_or(line);
        let output = Command::new("sh").args(["-c", command]).current_dir(folder.path()).output().expect("it starts");
        let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        assert!(output.status.success(), "{command}\n{out}{err}");
        count += 1;
    }
    assert!(count >= 12, "only {count} commands were found");
}
