//! Planted faults: each is put into a copy of the project, and the smallest tier whose stages fail is its finder.
//!
//! `faults.txt` lists them, an empty line between two:
//!
//! ```text
//! NAME: FILE
//! - LINE OF THE FILE, OR SEVERAL SUCH LINES
//! + THE LINES IN THEIR PLACE
//! ```
//!
//! The lines occur once in the file. The copy is in `target/faults` beside a build folder of its own, so that a fault costs the
//! build of what depends on it. A fault that does not compile is an error: it tests nothing. What the finder wrote is in
//! `target/faults/NAME.txt`.

use crate::cargo::cargo;
use crate::session::Session;
use crate::stages::{STAGES, unit};
use crate::tier::Tier;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::fs;
#[cfg(unix)]
use std::os::unix::fs::symlink;
#[cfg(windows)]
use std::os::windows::fs::symlink_file as symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

/// Folder of the copy and its build, in the project's folder.
const FOLDER: &str = "target/faults";

/// Stages that judge the text of the sources, not what the code does: a fault that these find is not found by a test.
const OF_TEXT: [&str; 3] = ["format", "lints", "faults"];

/// A planted fault.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Fault {
    name: String,
    file: PathBuf,
    find: String,
    replace: String,
}

/// Plants the faults of these names, or all, one at a time; prints which tier finds each. With `--list`, checks that each still
/// fits the sources, and prints the names.
///
/// # Errors
/// If a fault does not fit its file or does not compile.
pub(crate) fn run(words: &[String]) -> Result<ExitCode> {
    let faults = parse(include_str!("../faults.txt"))?;
    let (flags, names): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.starts_with("--"));
    if let Some(name) = names.iter().find(|name| faults.iter().all(|fault| fault.name != ***name)) {
        bail!("there is no fault `{name}`");
    }
    let mut session = Session::new(Tier::Quick, &std::env::temp_dir())?;
    check(&mut session)?;
    let root = &session.root;
    if flags.iter().any(|flag| *flag == "--list") {
        faults.iter().for_each(|fault| println!("{}: {}", fault.name, fault.file.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let (copy, build) = (root.join(FOLDER).join("copy"), root.join(FOLDER).join("build"));
    copy_files(root, &copy)?;
    let mut missed = 0;
    for fault in faults.iter().filter(|fault| names.is_empty() || names.contains(&&fault.name)) {
        let path = copy.join(&fault.file);
        let original = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        fs::write(&path, fault.planted(&copy)?)?;
        let found = find(&copy, &build, fault);
        fs::write(&path, original)?;
        match found? {
            Some((tier, stage)) => println!("{:<32}{:<8}{stage}", fault.name, tier.name()),
            None => {
                println!("{:<32}not found", fault.name);
                missed += 1;
            }
        }
    }
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Checks that each fault fits the sources.
///
/// # Errors
/// If the lines of some do not occur just once in their files.
pub(crate) fn check(session: &mut Session) -> Result<()> {
    let mut misfits = Vec::new();
    for fault in parse(include_str!("../faults.txt"))? {
        match fault.planted(&session.root) {
            Ok(_) => session.count("faults", 1),
            Err(error) => misfits.push(format!("{error:#}")),
        }
    }
    ensure!(misfits.is_empty(), "{}", misfits.join("\n"));
    Ok(())
}

/// Runs the tiers on the copy until a stage fails. The tests of the fault's own crate come first: they are part of the stage `unit` of
/// every tier, and cost a fraction of its build.
fn find(copy: &Path, build: &Path, fault: &Fault) -> Result<Option<(Tier, String)>> {
    let in_copy = |words: &[&str]| {
        let mut command = cargo(words);
        command.current_dir(copy).env("CARGO_TARGET_DIR", build);
        command
    };
    let package = fault.package()?;
    // The tests of the library and of programs are among these.
    let tests = ["test", "--quiet", "--package", &package, "--tests"];
    let compiles = in_copy(&tests).arg("--no-run").status()?;
    ensure!(compiles.success(), "the fault {} does not compile", fault.name);
    let skipped = unit::slow_modules(&package).flat_map(|module| ["--skip", module]);
    let own = in_copy(&tests).arg("--").args(skipped).env("KINGPOST_WITHOUT_TOOLS", "1").output()?;
    if !own.status.success() {
        keep(build, fault, &own)?;
        return Ok(Some((Tier::Quick, format!("unit, {package}"))));
    }
    let compiles = in_copy(&["build", "--workspace", "--quiet"]).status()?;
    ensure!(compiles.success(), "the fault {} does not compile", fault.name);
    for tier in Tier::ALL {
        let stages = STAGES.iter().filter(|stage| stage.first <= tier && !OF_TEXT.contains(&stage.name));
        let mut command = in_copy(&["run", "--quiet", "--package", "kingpost-ci", "--", tier.name()]);
        let output = command.args(stages.map(|stage| stage.name)).output()?;
        if output.status.success() {
            continue;
        }
        keep(build, fault, &output)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let stage =
            text.lines().find_map(|line| line.split_once("FAILED in stage ").map(|(_, stage)| stage.to_string()));
        return Ok(Some((tier, stage.context("a tier fails without a stage")?)));
    }
    Ok(None)
}

/// Keeps the output of what found a fault, beside the build folder.
fn keep(build: &Path, fault: &Fault, output: &Output) -> Result<()> {
    let path = build.with_file_name(format!("{}.txt", fault.name));
    fs::write(&path, [&*output.stdout, &output.stderr].concat()).with_context(|| path.display().to_string())
}

/// Copies the files of the project, new ones too, and removes others. Links are copied as links. Files that did not change keep their
/// times, so that they are not built again.
fn copy_files(root: &Path, copy: &Path) -> Result<()> {
    let words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(words).current_dir(root).output().context("git")?;
    ensure!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout)?;
    let names: BTreeSet<&Path> = names.split_terminator('\0').map(Path::new).collect();
    remove_others(copy, Path::new(""), &names)?;
    for name in names {
        let (from, to) = (root.join(name), copy.join(name));
        if let Ok(target) = fs::read_link(&from) {
            if fs::read_link(&to).is_err() {
                fs::create_dir_all(to.parent().context("a link is in a folder")?)?;
                // A copy by an older version has a file there.
                let _ = fs::remove_file(&to);
                symlink(target, &to).with_context(|| to.display().to_string())?;
            }
            continue;
        }
        // One that was removed and is not yet forgotten.
        let Ok(text) = fs::read(&from) else { continue };
        if fs::read(&to).is_ok_and(|old| old == text) {
            continue;
        }
        fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
        fs::copy(&from, &to)?;
    }
    Ok(())
}

/// Removes the files below a folder of the copy that do not have these names.
fn remove_others(copy: &Path, folder: &Path, names: &BTreeSet<&Path>) -> Result<()> {
    let Ok(entries) = fs::read_dir(copy.join(folder)) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let name = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            remove_others(copy, &name, names)?;
        } else if !names.contains(name.as_path()) {
            fs::remove_file(entry.path()).with_context(|| name.display().to_string())?;
        }
    }
    Ok(())
}

impl Fault {
    /// Returns the package with the fault, which is named after its folder.
    ///
    /// # Errors
    /// If the file is not in a folder below `crates`.
    fn package(&self) -> Result<String> {
        let folder = self.file.strip_prefix("crates").ok().and_then(|path| path.iter().next());
        let folder = folder.with_context(|| format!("{} is in no crate", self.file.display()))?;
        Ok(format!("kingpost-{}", folder.to_string_lossy()))
    }

    /// Returns the file of a tree with the fault.
    ///
    /// # Errors
    /// If the lines do not occur just once.
    fn planted(&self, root: &Path) -> Result<String> {
        let text = fs::read_to_string(root.join(&self.file)).with_context(|| self.file.display().to_string())?;
        let count = text.matches(&self.find).count();
        ensure!(count == 1, "fault {}: {} has its lines {count} times, not once", self.name, self.file.display());
        Ok(text.replace(&self.find, &self.replace))
    }
}

fn parse(text: &str) -> Result<Vec<Fault>> {
    let groups = text.split("\n\n").map(str::trim).filter(|group| !group.is_empty() && !group.starts_with('#'));
    groups.map(|group| fault(group).with_context(|| format!("in the fault\n{group}"))).collect()
}

fn fault(group: &str) -> Result<Fault> {
    let (head, body) = group.split_once('\n').context("no lines")?;
    let (name, file) = head.split_once(": ").context("expected `NAME: FILE`")?;
    let marked = |mark: &str| {
        let lines = body.lines().filter_map(|line| line.strip_prefix(mark));
        lines.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect::<String>()
    };
    let (find, replace) = (marked("-"), marked("+"));
    ensure!(!find.is_empty() && find != replace, "nothing changes");
    Ok(Fault { name: name.into(), file: file.into(), find, replace })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read() {
        let text = "# head\n\none: a/b.rs\n-     x < y\n+     x <= y\n";
        let expected = Fault {
            name: "one".into(),
            file: "a/b.rs".into(),
            find: "    x < y\n".into(),
            replace: "    x <= y\n".into(),
        };
        assert!(expected.package().is_err(), "{expected:?}");
        let in_crate = Fault { file: "crates/isa-x64/src/regs.rs".into(), ..expected.clone() };
        assert_eq!(in_crate.package().unwrap(), "kingpost-isa-x64");
        assert_eq!(parse(text).unwrap(), [expected]);
        assert!(parse("one: a\n- x\n+ x").is_err());
    }
}
