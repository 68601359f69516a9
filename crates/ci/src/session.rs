//! State that stages share: the tier, builds, commands, counts and skips.

use crate::cargo::{Built, cargo};
use crate::output;
use crate::report::{Counts, Done};
use crate::tier::Tier;
use crate::tools;
use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Instant;

/// The corpora that others wrote, beside the project.
const CORPUS: &str = "../shared/corpus";

/// Words by which a shell limits the CPU time of a program, and of every program that it starts.
const LIMITED: [&str; 2] = ["-c", "ulimit -t \"$0\" && exec \"$@\""];

/// A run of the stages of one tier.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) tier: Tier,
    /// The project's folder, which is the current one.
    pub(crate) root: PathBuf,
    /// Folder of files that stages make, which all stages of a run share.
    pub(crate) scratch: PathBuf,
    /// The one build of libraries, programs and tests, once it is made.
    pub(crate) built: Option<Built>,
    /// Counts of the current stage.
    counts: Counts,
    /// Parts that the current stage left out, with the reasons.
    skipped: BTreeSet<String>,
}

/// Output of a command that ended, and the command as a shell takes it.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) text: String,
    pub(crate) command: String,
}

impl Session {
    /// Returns a session in the current folder, with a folder for files.
    ///
    /// # Errors
    /// If the current folder is not the project's.
    pub(crate) fn new(tier: Tier, scratch: &Path) -> Result<Session> {
        let root = std::env::current_dir().context("the current folder")?;
        ensure!(root.join("crates/ci").is_dir(), "{}: not the project's folder", root.display());
        let scratch = scratch.to_path_buf();
        let (built, counts, skipped) = (None, Counts::default(), BTreeSet::new());
        Ok(Session { tier, root, scratch, built, counts, skipped })
    }

    /// Runs a stage.
    pub(crate) fn stage(&mut self, name: &'static str, run: fn(&mut Session) -> Result<()>) -> Done {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        let failure = run(self).err().map(|error| format!("{error:#}"));
        Done {
            name,
            seconds: start.elapsed().as_secs_f64(),
            cpu_seconds: cpu_seconds() - cpu,
            counts: std::mem::take(&mut self.counts),
            skipped: std::mem::take(&mut self.skipped).into_iter().collect(),
            failure,
        }
    }

    /// Returns the folder of the corpora; without one, the current stage skips what needs it.
    ///
    /// # Errors
    /// If CI has none.
    pub(crate) fn corpus(&mut self) -> Option<PathBuf> {
        let corpus = self.root.join(CORPUS);
        if !corpus.is_dir() {
            self.skip(format!("no {CORPUS}"));
            return None;
        }
        Some(corpus)
    }

    /// Returns `true` if these tools are there; the current stage skips `what` otherwise.
    ///
    /// # Errors
    /// If one is missing in CI.
    pub(crate) fn has_tools(&mut self, tools: &[&str], what: &str) -> Result<bool> {
        let Some(missing) = tools.iter().find(|tool| !tools::is_here(tool)) else { return Ok(true) };
        ensure!(!in_ci(), "{missing} is missing: `{}` installs it", tools::INSTALL);
        self.skip(format!("{what}: no {missing} (`{}` installs it)", tools::INSTALL));
        Ok(false)
    }

    /// Records a part that the current stage left out.
    pub(crate) fn skip(&mut self, reason: impl Into<String>) {
        self.skipped.insert(reason.into());
    }

    /// Adds to a count of the current stage.
    pub(crate) fn count(&mut self, name: &str, number: u64) {
        self.counts.add(name, number);
    }

    /// Runs a command, and records what it says that it skipped.
    ///
    /// # Errors
    /// If it cannot be started, or fails: the first failure in its output, and the command that repeats it.
    pub(crate) fn run(&mut self, command: &mut Command) -> Result<String> {
        let ended = self.end_of(command)?;
        if !ended.status.success() {
            bail!(failure(&ended));
        }
        self.skipped.extend(output::skipped(&ended.text));
        Ok(ended.text)
    }

    /// Runs a command to its end, whatever that is.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn end_of(&self, command: &mut Command) -> Result<Ended> {
        let text = shell_text(command, &self.root);
        let file = tempfile::tempfile_in(&self.scratch).context("a file for output")?;
        let both = |file: &File| file.try_clone().context("a file for output");
        let status = command
            .stdin(std::process::Stdio::null())
            .stdout(both(&file)?)
            .stderr(both(&file)?)
            .status()
            .with_context(|| format!("cannot start {text}"))?;
        Ok(Ended { status, text: output::read_all(file)?, command: text })
    }

    /// Builds all libraries, programs and tests of the workspace, once for all stages of a run.
    ///
    /// # Errors
    /// If something does not compile.
    pub(crate) fn build(&mut self) -> Result<&Built> {
        let built = match (self.built.take(), fs::read(self.path_of_build())) {
            (Some(built), _) => built,
            (None, Ok(bytes)) => Built::of_json(&serde_json::from_slice(&bytes).context("the list of programs")?),
            (None, Err(_)) => {
                let built = self.build_of(&["--workspace", "--lib", "--bins", "--tests"])?;
                fs::write(self.path_of_build(), built.json().to_string()).context("the list of programs")?;
                built
            }
        };
        Ok(self.built.insert(built))
    }

    /// Returns the path of the list of programs that stages in other processes read.
    fn path_of_build(&self) -> PathBuf {
        self.scratch.join("built.json")
    }

    /// Builds what `words` select, and returns the programs.
    ///
    /// # Errors
    /// If something does not compile.
    pub(crate) fn build_of(&mut self, words: &[&str]) -> Result<Built> {
        let ended = self.end_of(cargo(&["build", "--message-format=json-render-diagnostics"]).args(words))?;
        if !ended.status.success() {
            // The messages about what was made are of no interest here.
            let lines = ended.text.lines().filter(|line| !line.starts_with('{'));
            let text = lines.map(|line| format!("{line}\n")).collect();
            let command = ended.command.replace(" --message-format=json-render-diagnostics", "");
            bail!(failure(&Ended { text, command, ..ended }));
        }
        let mut built = Built::default();
        for line in ended.text.lines().filter(|line| line.starts_with('{')) {
            let message: Value = serde_json::from_str(line).context("a message of Cargo")?;
            built.add(&message);
        }
        built.tests.sort();
        Ok(built)
    }

    /// Returns a command that runs a built program of a name, within the limit of CPU time of the tier.
    ///
    /// # Errors
    /// If nothing of that name was built.
    pub(crate) fn program(&mut self, name: &str) -> Result<Command> {
        let path = self.path(name)?;
        Ok(self.limited(&path))
    }

    /// Returns the path of a built program.
    ///
    /// # Errors
    /// If nothing of that name was built.
    pub(crate) fn path(&mut self, name: &str) -> Result<PathBuf> {
        self.build()?.programs.get(name).cloned().ok_or_else(|| anyhow!("no program {name} was built"))
    }

    /// Returns a command that runs a program within the limit of CPU time of the tier, so that one that never ends fails. Most
    /// programs take less than a tenth of it.
    pub(crate) fn limited(&self, program: &Path) -> Command {
        let [flag, script] = LIMITED;
        let seconds: u32 = self.tier.choose(1_200, 1_800, 36_000);
        let mut command = Command::new("sh");
        command.args([flag, script, &seconds.to_string()]).arg(program);
        command
    }
}

/// Returns the text of a failed command: the first failure, and how to repeat it.
pub(crate) fn failure(ended: &Ended) -> String {
    let first = output::first_failure(&ended.text);
    let repeat = output::repeat(&ended.text, &ended.command);
    format!("{first}\n{}\nrepeat: {repeat}", ended.status)
}

/// Returns `true` in CI, where nothing may be skipped because a tool is missing.
pub(crate) fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty())
}

/// Returns the command as a shell takes it in the project's folder.
pub(crate) fn shell_text(command: &Command, root: &Path) -> String {
    let mut words = Vec::new();
    if let Some(folder) = command.get_current_dir().filter(|folder| *folder != root) {
        words.push(format!("cd {} &&", quoted(&below(folder, root))));
    }
    let values = command.get_envs().filter_map(|(key, value)| Some((key.to_string_lossy(), value?.to_string_lossy())));
    words.extend(values.map(|(key, value)| format!("{key}={}", quoted(&value))));
    let mut all: Vec<&OsStr> = iter::once(command.get_program()).chain(command.get_args()).collect();
    if let [_, flag, script, ..] = all[..]
        && [flag, script] == LIMITED
    {
        // The limit is not part of the command to repeat.
        all.drain(..4);
    }
    let mut rest = all.into_iter();
    words.extend(rest.next().map(|program| quoted(&below(Path::new(program), root))));
    words.extend(rest.map(|word| quoted(&word.to_string_lossy())));
    words.join(" ")
}

/// Returns the path relative to the project's folder, if it is in there.
fn below(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns the CPU seconds of the programs that this one ran and that ended.
fn cpu_seconds() -> f64 {
    /// Ticks per second of the numbers in `/proc`, a constant of the Linux ABI.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which may have spaces, follow the fields from the third on; 16 and 17 are of ended children.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |n: usize| fields.get(n - 3).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(16) + ticks(17)) / TICKS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_printed_as_shells_take_them() {
        let mut command = Command::new("/a b/target/x");
        command.args(["--set", "a=b", "it's"]).env("K", "v w").current_dir("/a b/in");
        assert_eq!(shell_text(&command, Path::new("/a b")), "cd in && K='v w' target/x --set a=b 'it'\\''s'");
        let mut limited = Command::new("sh");
        limited.args([LIMITED[0], LIMITED[1], "60", "/a b/target/x", "y"]);
        assert_eq!(shell_text(&limited, Path::new("/a b")), "target/x y");
        assert_eq!(shell_text(&command, Path::new("/")), "cd 'a b/in' && K='v w' 'a b/target/x' --set a=b 'it'\\''s'");
    }
}
