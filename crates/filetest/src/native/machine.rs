//! The machine that runs the code of an architecture: the host, or an emulator on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use target_lexicon::{Architecture, BinaryFormat, Triple};

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
    /// The image that a linker for another system makes, and that becomes data of a program for Linux.
    pub(crate) image: Option<Image>,
    /// Emulator that runs the program, unless the host does.
    emulator: Option<&'static str>,
    /// The first of these tools that is not installed, after it was determined.
    missing: OnceLock<Option<&'static str>>,
    /// The driver's object, once it is compiled.
    pub(crate) driver: OnceLock<Result<Vec<u8>, String>>,
}

/// An image that no system at hand runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Image {
    /// For Windows on AArch64.
    Pe,
    /// For macOS.
    MachO,
}

/// Names of the linker for macOS.
pub(crate) const MACHO_LINKERS: [&str; 2] = ["ld64.lld", "ld64.lld-14"];

impl Image {
    /// Returns the first tool that makes such an image and is not installed.
    fn missing(self) -> Option<&'static str> {
        match self {
            Image::Pe => ["lld-link", "llvm-dlltool"].into_iter().find(|tool| !is_here(tool)),
            Image::MachO => MACHO_LINKERS.into_iter().all(|tool| !is_here(tool)).then_some(MACHO_LINKERS[0]),
        }
    }
}

/// Returns `true` if a tool is installed.
pub(crate) fn is_here(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok()
}

/// Returns tools whose programs need the mathematical library.
const fn new(
    cc: &'static str,
    link: &'static [&'static str],
    emulator: Option<&'static str>,
    image: Option<Image>,
) -> Tools {
    let (libraries, source) = (&["-Wl,--as-needed", "-lm"], include_str!("driver.c"));
    Tools { cc, link, libraries, source, image, emulator, missing: OnceLock::new(), driver: OnceLock::new() }
}

/// Returns tools whose programs start without C's library.
const fn windows(cc: &'static str) -> Tools {
    Tools {
        cc,
        link: &["-nostartfiles", "-Wl,-e,kingpost_start"],
        libraries: &[],
        source: include_str!("driver_windows.c"),
        image: None,
        emulator: Some(WINE),
        missing: OnceLock::new(),
        driver: OnceLock::new(),
    }
}

/// Runs programs for Windows.
const WINE: &str = "wine";

static HOST: Tools = new("cc", &["-no-pie"], None, None);

/// Returns tools for AArch64 elsewhere.
const fn aarch64(image: Option<Image>) -> Tools {
    let (cc, link, emulator) = ("aarch64-linux-gnu-gcc", &["-static", "-no-pie"], Some("qemu-aarch64"));
    new(cc, link, emulator, image)
}

/// Tools for other machines, by architecture and system.
static EMULATED: [(&str, Tools); 5] = [
    ("aarch64", aarch64(None)),
    ("aarch64 Windows", aarch64(Some(Image::Pe))),
    ("aarch64 macOS", aarch64(Some(Image::MachO))),
    ("x86_64 macOS", new("cc", &["-no-pie"], None, Some(Image::MachO))),
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
    // The tools for macOS on x86-64 make a program for the host.
    let is_runnable = |tools: &&Tools| {
        let is_x86_64 = Triple::host().architecture == Architecture::X86_64;
        cfg!(target_os = "linux") && is_x86_64 || tools.emulator.is_some()
    };
    let tools = host
        .or_else(|| emulated().filter(is_runnable))
        .ok_or_else(|| format!("this machine does not run {name} code"))?;
    let find = || {
        let missing = [Some(tools.cc), tools.emulator].into_iter().flatten().find(|tool| !is_here(tool));
        missing.or_else(|| tools.image?.missing())
    };
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
