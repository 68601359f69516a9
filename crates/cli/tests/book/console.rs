//! Runs the commands of `console` blocks, and checks that the commands of `sh` blocks exist.

use super::chapter::{Chapter, root};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// System tools that a chapter may need, and words of commands that call them.
const TOOLS: &[(&str, &str)] = &[
    ("x86_64-w64-mingw32-gcc ", "x86_64-w64-mingw32-gcc"),
    ("wine ", "wine"),
    ("cc ", "cc"),
    ("gdb ", "gdb"),
    ("rules check", "z3"),
    ("rules check", "cvc5"),
    ("objdump ", "objdump"),
];

/// Returns a folder with the parts of the repository that commands read.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for name in ["crates", "filetests", "rules"] {
        symlink(root().join(name), at(name)).expect("linked");
    }
    fs::create_dir_all(at("target/release")).expect("made");
    symlink(env!("CARGO_BIN_EXE_kingpost"), at("target/release/kingpost")).expect("linked");
    folder
}

/// Runs `command` with `kingpost` on the path. Returns whether it succeeds, and its whole output.
pub(crate) fn shell(command: &str, folder: &Path) -> (bool, String) {
    let tool = Path::new(env!("CARGO_BIN_EXE_kingpost")).parent().expect("a folder");
    let path = format!("{}:{}", tool.display(), std::env::var("PATH").unwrap_or_default());
    // No command may take more than a minute of CPU time.
    let script = format!("exec 2>&1; ulimit -t 60; {command}");
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", &script]).current_dir(folder).env("PATH", path).env("NO_COLOR", "1");
    let output = output.env_remove("KINGPOST_BLESS").output().expect("it starts");
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the tool that `command` needs and the system lacks.
fn missing_tool(command: &str, folder: &Path) -> Option<&'static str> {
    let mut needed = TOOLS.iter().filter(|(words, _)| command.contains(words)).map(|&(_, tool)| tool);
    needed.find(|tool| !shell(&format!("command -v {tool}"), folder).0)
}

/// Runs all commands of `chapter` in order, and returns its text with their output. Adds a message to `failures` for
/// each command whose output differs from the text.
pub(crate) fn run(chapter: &Chapter, failures: &mut Vec<String>) -> String {
    let folder = folder();
    let mut text = String::new();
    let mut lines = chapter.text.lines().enumerate().peekable();
    let mut is_console = false;
    while let Some((n, line)) = lines.next() {
        text.push_str(line);
        text.push('\n');
        if line.starts_with("```") {
            is_console = line == "```console";
        }
        let Some(command) = line.strip_prefix("$ ").filter(|_| is_console) else { continue };
        let mut command = command.to_owned();
        while let Some((_, line)) = lines.next_if(|(_, line)| line.starts_with("> ")) {
            text.push_str(line);
            text.push('\n');
            command.push('\n');
            command.push_str(&line[2..]);
        }
        let mut shown = String::new();
        while let Some((_, line)) = lines.next_if(|(_, line)| !line.starts_with("$ ") && !line.starts_with("```")) {
            shown.push_str(line);
            shown.push('\n');
        }
        let file = command.strip_prefix("cat ").map(|name| folder.path().join(name)).filter(|file| !file.exists());
        if let Some(file) = file {
            fs::write(file, &shown).expect("written");
            text.push_str(&shown);
            continue;
        }
        if let Some(tool) = missing_tool(&command, folder.path()) {
            assert!(std::env::var_os("CI").is_none(), "{tool} is missing");
            println!("SKIPPED: {}:{}: no {tool}", chapter.name, n + 1);
            return chapter.text.clone();
        }
        let printed = shell(&command, folder.path()).1;
        let printed = printed.lines().map(|line| format!("{}\n", line.trim_end())).collect::<String>();
        if printed != shown {
            failures.push(format!("{}:{}: {command}\n--- shown\n{shown}--- printed\n{printed}", chapter.name, n + 1));
        }
        text.push_str(&printed);
    }
    text
}

/// Checks that the targets, packages, tests and examples of a command exist.
pub(crate) fn check_build_command(line: &str, makefile: &str, at: &str) {
    // A quoted word is a value.
    let command: String = line.split(" #").next().unwrap_or(line).split('\'').step_by(2).collect();
    let mut words = command.split_whitespace();
    match words.next() {
        Some("make") => {
            let is_target = |word: &str| makefile.lines().any(|line| line.starts_with(&format!("{word}:")));
            for word in words.filter(|word| !word.contains('=')) {
                assert!(is_target(word), "{at}: no target `{word}` in the Makefile");
            }
        }
        Some("cargo") => {
            let words: Vec<&str> = words.collect();
            let package = words.windows(2).find(|pair| pair[0] == "-p").map(|pair| pair[1]);
            let folder = package.map(|name| {
                let folder = format!("crates/{}", name.strip_prefix("kingpost-").unwrap_or(name));
                assert!(root().join(&folder).is_dir(), "{at}: no package `{name}`");
                folder
            });
            for (option, place) in [("--test", "tests"), ("--example", "examples")] {
                let Some(at_option) = words.iter().position(|word| *word == option) else { continue };
                let folder = folder.as_deref().unwrap_or_else(|| panic!("{at}: {option} without -p"));
                let place = root().join(folder).join(place);
                // A filter of the program `all` is a module.
                let (name, module) = (words.get(at_option + 1).copied().unwrap_or(""), words.get(at_option + 2));
                let name = match (name, module.and_then(|module| module.strip_suffix("::"))) {
                    ("all", Some(module)) => module,
                    _ => name,
                };
                let is_there = place.join(format!("{name}.rs")).is_file() || place.join(name).is_dir();
                assert!(is_there, "{at}: no {option} `{name}` in {folder}");
            }
        }
        Some("git") | None => {}
        Some(other) => panic!("{at}: `{other}` belongs in a block of kind `console`"),
    }
}
