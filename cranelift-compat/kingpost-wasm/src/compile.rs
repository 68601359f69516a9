//! The command `compile`.

use crate::progress::Progress;
use clap::builder::FalseyValueParser;
use cranelift_codegen::CodegenError;
use cranelift_codegen::kingpost::{Defaults, compiled_functions};
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;
use target_lexicon::{Aarch64Architecture, Architecture, Triple};
use wasmtime::{CodeBuilder, Engine, Error};
use wasmtime_cli_flags::CommonOptions;
use wasmtime_environ::WasmError;
use wasmtime_environ::wasmparser::BinaryReaderError;

/// The module `(module (func))`. It compiles if the settings are supported.
const SMALLEST: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x0a\x04\x01\x02\0\x0b";

/// Compile a module for Wasmtime's `Module::deserialize`.
///
/// The program that loads it needs the same release of Wasmtime and the same settings. `-O`, `-C`, `-D` and `-W` are
/// the options of `wasmtime compile`.
#[derive(clap::Args)]
pub(crate) struct Compile {
    /// Module in the binary format, or in the text format if its name ends with `.wat`.
    module: PathBuf,

    /// Output file; the default is the module's name with the extension `cwasm`.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Register allocator: `ssa`, `linear`, `backtracking` or `fused`. The default follows `-O regalloc-algorithm`.
    #[arg(long, value_name = "NAME", env = "KINGPOST_REGALLOC")]
    regalloc: Option<String>,

    /// Prove each allocation before its code is used.
    #[arg(long, env = "KINGPOST_CHECKER", value_parser = FalseyValueParser::new())]
    checker: bool,

    /// Use all features of this machine's CPU, instead of the architecture's baseline.
    #[arg(long, conflicts_with = "target")]
    host_cpu: bool,

    /// Print sizes, the number of functions and the time to standard output.
    #[arg(long)]
    stats: bool,

    #[command(flatten)]
    wasmtime: CommonOptions,
}

impl Compile {
    /// Compiles the module and writes the output, or returns a message.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        // Settings are judged before the module is read.
        let regalloc = self.regalloc.take().filter(|name| !name.is_empty());
        Defaults { regalloc, checker: self.checker }.set().map_err(|error| match error {
            CodegenError::Unsupported(message) => message,
            error => error.to_string(),
        })?;
        let engine = self.engine()?;
        CodeBuilder::new(&engine)
            .wasm_binary(SMALLEST, None)
            .and_then(|builder| builder.compile_module_serialized())
            .map_err(|error| format!("{error:#}"))?;
        let compiled_before = compiled_functions();
        let module = read(&self.module)?;

        let start = Instant::now();
        let progress = Progress::on_terminal();
        let compiled = CodeBuilder::new(&engine)
            .wasm_binary(&module[..], None)
            .and_then(|builder| builder.compile_module_serialized());
        drop(progress);
        let compiled = compiled.map_err(|error| message(&self.module, &error))?;
        let seconds = start.elapsed().as_secs_f64();

        let output = self.output.clone().unwrap_or_else(|| self.module.with_extension("cwasm"));
        write_whole(&output, &compiled).map_err(|error| format!("{}: {error}", output.display()))?;
        if self.stats {
            let stats = format!(
                "target     {}\nmodule     {} bytes\noutput     {} bytes\nfunctions  {}\ntime       {seconds:.3} s\n",
                self.wasmtime.target.as_deref().unwrap_or("host"),
                module.len(),
                compiled.len(),
                compiled_functions() - compiled_before,
            );
            io::stdout().write_all(stats.as_bytes()).map_err(|error| format!("standard output: {error}"))?;
        }
        Ok(())
    }

    /// Returns an engine with Wasmtime's settings, or a message about a setting or target.
    fn engine(&mut self) -> Result<Engine, String> {
        if self.wasmtime.target.is_none() && !self.host_cpu {
            // Wasmtime takes the features of the host's CPU only if it is not given a target.
            self.wasmtime.target = Some(Triple::host().to_string());
        }
        if let Some(name) = &self.wasmtime.target {
            // For some of the other targets, Cranelift panics.
            let triple: Triple = name.parse().map_err(|error| format!("target `{name}`: {error}"))?;
            if !matches!(
                triple.architecture,
                Architecture::X86_64 | Architecture::Aarch64(Aarch64Architecture::Aarch64)
            ) {
                return Err(format!("target `{name}` is not supported: there are x86_64, aarch64"));
            }
        }
        self.wasmtime.config(None).and_then(|config| Engine::new(&config)).map_err(|error| format!("{error:#}"))
    }
}

/// Reads a module, and converts it to the binary format.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if path.extension().is_none_or(|extension| extension != "wat") {
        return Ok(bytes);
    }
    let binary = wat::parse_bytes(&bytes).map(|binary| binary.into_owned());
    binary.map_err(|mut error| {
        error.set_path(path);
        error.to_string()
    })
}

/// Returns a message about a module: with the offset of the error in the file if it is malformed.
fn message(path: &Path, error: &Error) -> String {
    let path = path.display();
    for cause in error.chain() {
        if let Some(error) = cause.downcast_ref::<BinaryReaderError>() {
            return format!("{path}: {:#x}: {}", error.offset(), error.message());
        }
        if let Some(WasmError::InvalidWebAssembly { message, offset }) = cause.downcast_ref() {
            return format!("{path}: {offset:#x}: {message}");
        }
    }
    format!("{path}: {error:#}")
}

/// Writes a file whole or not at all. A path that is no regular file, such as `/dev/null`, is written to directly.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return fs::write(path, bytes);
    }
    // A symbolic link is followed.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".kingpost-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
        // The error names the temporary file, which a user does not know.
        .map_err(|error| io::Error::from(error.kind()))?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}
