//! Checks that `compile --cache` gives the object that `compile` gives, with several processes in one folder.

use std::path::Path;
use std::process::{Command, Stdio};

fn compile(folder: &Path, output: &str, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kingpost"));
    command.current_dir(folder).args(["compile", "in.clif", "--time", "-o", output]).args(options);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Runs a command that succeeds. Returns its line about the cache.
fn run(mut command: Command) -> String {
    let output = command.output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    text.lines().find(|line| line.contains("cache: ")).unwrap_or_default().into()
}

#[test]
fn processes_share_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let functions = (1..400).map(|number| {
        format!("function %f{number}(i64) -> i64 {{ block0(v0: i64): v1 = iconst.i64 {number} v2 = iadd v0, v1 return v2 }}\n")
    });
    std::fs::write(folder.join("in.clif"), functions.collect::<String>()).expect("a file");
    let object = |name: &str| std::fs::read(folder.join(name)).expect("an object");
    run(compile(folder, "plain.o", &[]));

    // A process that is killed while it writes.
    let mut killed = compile(folder, "killed.o", &["--cache", "cache"]).spawn().expect("a process");
    while !folder.join("cache/new").exists() && killed.try_wait().expect("a status").is_none() {
        std::thread::yield_now();
    }
    killed.kill().expect("killed");
    killed.wait().expect("it ended");

    let mut processes =
        ["a.o", "b.o"].map(|name| compile(folder, name, &["--cache", "cache"]).spawn().expect("a process"));
    for process in &mut processes {
        assert!(process.wait().expect("it ends").success());
    }
    let line = run(compile(folder, "warm.o", &["--cache", "cache", "--cache-verify"]));
    assert!(line.ends_with("cache: 399 of 399 functions"), "{line}");
    for name in ["a.o", "b.o", "warm.o"] {
        assert!(object(name) == object("plain.o"), "{name}");
    }
    // Other settings have other entries.
    let line = run(compile(folder, "other.o", &["--cache", "cache", "-O", "speed"]));
    assert!(line.ends_with("cache: 0 of 399 functions"), "{line}");

    // A folder that cannot be one.
    let output = compile(folder, "no.o", &["--cache", "in.clif"]).output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("in.clif"), "{output:?}");
}
