//! The machine that runs the code of an architecture: the host, or an emulator on it.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use target_lexicon::{Architecture, Triple};

/// System tools that link an object into a program, and run it.
#[derive(Debug)]
pub(crate) struct Tools {
    /// The C compiler, which also links.
    pub(crate) cc: &'static str,
    /// Options for linking: without shared libraries if the emulator would have to find them.
    pub(crate) link: &'static [&'static str],
    /// Emulator that runs the program, unless the host does.
    emulator: Option<&'static str>,
    /// The first of these tools that is not installed, after it was determined.
    missing: OnceLock<Option<&'static str>>,
    /// The driver's object, once it is compiled.
    pub(crate) driver: OnceLock<Result<Vec<u8>, String>>,
}

const fn new(cc: &'static str, link: &'static [&'static str], emulator: Option<&'static str>) -> Tools {
    Tools { cc, link, emulator, missing: OnceLock::new(), driver: OnceLock::new() }
}

static HOST: Tools = new("cc", &["-no-pie"], None);

/// Tools for other machines, by architecture.
static EMULATED: [(&str, Tools); 1] =
    [("aarch64", new("aarch64-linux-gnu-gcc", &["-static", "-no-pie"], Some("qemu-aarch64")))];

/// Returns `true` if this machine can run code of an architecture.
pub(crate) fn is_host(architecture: Architecture) -> bool {
    architecture == Triple::host().architecture
}

/// Returns the tools for an architecture.
///
/// # Errors
/// If its code cannot be run here, with the reason.
pub(crate) fn tools(architecture: Architecture) -> Result<&'static Tools, String> {
    let name = architecture.to_string();
    let emulated = || EMULATED.iter().find(|(emulated, _)| *emulated == name).map(|(_, tools)| tools);
    let host = is_host(architecture).then_some(&HOST);
    let tools = host.or_else(emulated).ok_or_else(|| format!("this machine does not run {name} code"))?;
    let is_missing = |tool: &&str| Command::new(tool).arg("--version").output().is_err();
    let find = || [Some(tools.cc), tools.emulator].into_iter().flatten().find(is_missing);
    match tools.missing.get_or_init(find) {
        None => Ok(tools),
        Some(tool) => {
            // CI has all tools that tests need.
            assert!(std::env::var_os("CI").is_none(), "CI has {tool}");
            Err(format!("there is no {tool} to run {name} code"))
        }
    }
}

impl Tools {
    /// Returns a command that runs a program.
    pub(crate) fn command(&self, program: &Path) -> Command {
        match self.emulator {
            None => Command::new(program),
            Some(emulator) => {
                let mut command = Command::new(emulator);
                command.arg(program);
                command
            }
        }
    }
}
