//! The machine that runs the code of an architecture: the host, or an emulator on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use target_lexicon::{BinaryFormat, Triple};

/// Symbol of the driver's table of functions.
pub(crate) const TABLE: &str = "__kingpost_table";

/// System tools that link an object into a program, and run it.
#[derive(Debug)]
pub(crate) struct Tools {
    /// The C compiler, which also links.
    pub(crate) cc: &'static str,
    /// Options for linking: without shared libraries if the emulator would have to find them.
    pub(crate) link: &'static [&'static str],
    /// Libraries, after the objects.
    pub(crate) libraries: &'static [&'static str],
    /// Source of the driver.
    pub(crate) source: &'static str,
    /// Whether a linker for Windows makes an image, which becomes data of a program for Linux.
    pub(crate) is_image: bool,
    /// Emulator that runs the program, unless the host does.
    emulator: Option<&'static str>,
    /// The first of these tools that is not installed, after it was determined.
    missing: OnceLock<Option<&'static str>>,
    /// The driver's object, once it is compiled.
    pub(crate) driver: OnceLock<Result<Vec<u8>, String>>,
}

/// Returns tools whose programs need the mathematical library.
const fn new(cc: &'static str, link: &'static [&'static str], emulator: Option<&'static str>, is_image: bool) -> Tools {
    let (libraries, source) = (&["-Wl,--as-needed", "-lm"], include_str!("driver.c"));
    Tools { cc, link, libraries, source, is_image, emulator, missing: OnceLock::new(), driver: OnceLock::new() }
}

/// Returns tools whose programs start without C's library.
const fn windows(cc: &'static str) -> Tools {
    Tools {
        cc,
        link: &["-nostartfiles", "-Wl,-e,kingpost_start"],
        libraries: &[],
        source: include_str!("driver_windows.c"),
        is_image: false,
        emulator: Some(WINE),
        missing: OnceLock::new(),
        driver: OnceLock::new(),
    }
}

/// Runs programs for Windows.
const WINE: &str = "wine";

static HOST: Tools = new("cc", &["-no-pie"], None, false);

/// Returns tools for AArch64 elsewhere.
const fn aarch64(is_image: bool) -> Tools {
    let (cc, link, emulator) = ("aarch64-linux-gnu-gcc", &["-static", "-no-pie"], Some("qemu-aarch64"));
    new(cc, link, emulator, is_image)
}

/// Tools that make images, besides the others.
const IMAGE_TOOLS: [&str; 2] = ["lld-link", "llvm-dlltool"];

/// Tools for other machines, by architecture and system.
static EMULATED: [(&str, Tools); 3] = [
    ("aarch64", aarch64(false)),
    ("aarch64 Windows", aarch64(true)),
    ("x86_64 Windows", windows("x86_64-w64-mingw32-gcc")),
];

/// Returns `true` if this machine can run code of a target without an emulator.
pub(crate) fn is_host(triple: &Triple) -> bool {
    let host = Triple::host();
    triple.architecture == host.architecture
        && [host.binary_format, BinaryFormat::Unknown].contains(&triple.binary_format)
}

/// Returns the tools for a target.
///
/// # Errors
/// If its code cannot be run here, with the reason.
pub(crate) fn tools(triple: &Triple) -> Result<&'static Tools, String> {
    let name = match triple.binary_format {
        BinaryFormat::Coff => format!("{} Windows", triple.architecture),
        BinaryFormat::Macho => format!("{} macOS", triple.architecture),
        _ => triple.architecture.to_string(),
    };
    let emulated = || EMULATED.iter().find(|(emulated, _)| *emulated == name).map(|(_, tools)| tools);
    let host = is_host(triple).then_some(&HOST);
    let tools = host.or_else(emulated).ok_or_else(|| format!("this machine does not run {name} code"))?;
    let is_missing = |tool: &&str| Command::new(tool).arg("--version").output().is_err();
    let others = IMAGE_TOOLS.into_iter().filter(|_| tools.is_image);
    let find = || [Some(tools.cc), tools.emulator].into_iter().flatten().chain(others.clone()).find(is_missing);
    match tools.missing.get_or_init(find) {
        None => Ok(tools),
        Some(tool) => {
            // CI has all tools that tests need.
            assert!(std::env::var_os("CI").is_none(), "CI has {tool}");
            Err(format!("there is no {tool} to run {name} code"))
        }
    }
}

/// Returns the folder of Wine's drives, which Wine fills on first use: `WINEPREFIX`, or one in the user's folder of caches, as Wine
/// refuses folders of other users. Returns `None` for Wine's own default if the user has no folder.
fn wine_folder() -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches = || folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    folder("WINEPREFIX").or_else(|| Some(caches()?.join("kingpost-wine")))
}

impl Tools {
    /// Returns a command that runs a program.
    pub(crate) fn command(&self, program: &Path) -> Command {
        match self.emulator {
            None => Command::new(program),
            Some(emulator) => {
                let mut command = Command::new(emulator);
                command.arg(program);
                if emulator == WINE {
                    let folder = wine_folder().filter(|folder| fs::create_dir_all(folder).is_ok());
                    command.envs(folder.map(|folder| ("WINEPREFIX", folder))).env("WINEDEBUG", "-all");
                }
                command
            }
        }
    }
}

/// Runs a tool that must succeed without output.
pub(crate) fn succeed(command: &mut Command) -> Result<(), String> {
    let tool = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("cannot run `{tool}`: {error}"))?;
    if output.status.success() && output.stderr.is_empty() {
        return Ok(());
    }
    Err(format!("`{tool}` failed or warned:\n{}", String::from_utf8_lossy(&output.stderr)))
}
