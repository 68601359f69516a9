//! The commands of the README run as they stand there, and print what it says.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The README's function, with directives.
const FIB: &str = include_str!("../../../filetests/run/fib.clif");

const IDENTITY: &str = "\
function %f(i64) -> i64 {
block0(v0: i64):
    return v0
}
";

const PROBLEM: &str = "problem %f {\nb0:\nbranch\n}\nallocation {\n}\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).expect("the README")
}

/// A folder in which `kingpost` is built.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let release = folder.path().join("target/release");
    fs::create_dir_all(&release).expect("made");
    symlink(env!("CARGO_BIN_EXE_kingpost"), release.join("kingpost")).expect("linked");
    folder
}

/// Whether a command succeeds, and what it prints.
fn shell(command: &str, folder: &Path) -> (bool, String) {
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", folder.join("target/release").display());
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", command]).current_dir(folder).env("PATH", path).output().expect("it starts");
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.success(), out + &err)
}

#[test]
fn commands_of_the_readme_run() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    symlink(root().join("crates"), at("crates")).expect("linked");
    // The bad file has no `test` line, so that testing it fails.
    let file = format!("{FIB}\n{IDENTITY}");
    // Of our tests, one is enough here.
    fs::create_dir_all(at("filetests/run")).expect("made");
    let files =
        [("FILE.clif", file.as_str()), ("BAD.clif", IDENTITY), ("FILE.ra", PROBLEM), ("filetests/run/fib.clif", FIB)];
    for (name, text) in files {
        fs::write(at(name), text).expect("written");
    }
    fs::write(at("mine"), "#!/bin/sh\nexec target/release/kingpost alloc --regalloc linear -\n").expect("written");
    fs::set_permissions(at("mine"), fs::Permissions::from_mode(0o755)).expect("executable");
    let readme = readme();
    let lines = readme.lines().filter(|line| line.starts_with("target/release/kingpost"));
    // `make test` runs the filetests by themselves.
    let mut count = 0;
    for line in lines.filter(|line| !line.ends_with(" every allocator")) {
        let command = line.split(" # ").next().unwrap_or(line).split(" | ").next().unwrap_or(line);
        let (is_good, said) = shell(command, folder.path());
        assert!(is_good, "{command}\n{said}");
        count += 1;
    }
    assert!(count >= 12, "only {count} commands were found");
}

/// In blocks of commands and what they print, `cat` shows the files that the others read.
#[test]
fn commands_print_what_the_readme_says() {
    let folder = folder();
    let readme = readme();
    let blocks = readme.split("```console\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let mut count = 0;
    for part in blocks.flat_map(|(block, _)| block.split("$ ").skip(1)) {
        let (command, expected) = part.split_once('\n').expect("a line");
        match command.strip_prefix("cat ") {
            Some(name) => fs::write(folder.path().join(name), expected).expect("written"),
            None => assert_eq!(shell(command, folder.path()).1.trim_end(), expected.trim_end(), "{command}"),
        }
        count += 1;
    }
    assert!(count >= 6, "only {count} commands were found");
    let shown = fs::read_to_string(folder.path().join("fib.clif")).expect("shown");
    assert!(FIB.contains(&shown), "filetests/run/fib.clif is the function of the README");
}
