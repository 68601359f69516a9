//! Links a program with the driver.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kingpost_emit_object::ObjectOptions;
use kingpost_mach::{DataObject, DataPointer, ModuleBuffer, SymbolName};
use tempfile::TempDir;

use crate::native::build::Program;
use crate::native::machine::{Image, TABLE, Tools, succeed, tools};
use crate::native::{image, macho_image};

/// A program that can be run.
#[derive(Debug)]
pub(crate) struct Executable {
    /// Holds the executable; removed with it.
    pub(crate) folder: TempDir,
    pub(crate) path: PathBuf,
    /// Tools that run it.
    pub(crate) tools: &'static Tools,
}

/// Writes a program as an object and links it with the driver.
///
/// # Errors
/// If there is no object, or the linker fails or warns.
pub(crate) fn link(program: &Program) -> Result<Executable, String> {
    let tools = tools(&program.triple)?;
    let driver = tools.driver.get_or_init(|| compile_driver(tools)).as_ref()?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, bytes: &[u8]| fs::write(at(name), bytes).map_err(|error| error.to_string());
    write("driver.o", driver)?;
    let object = object(program)?;
    match tools.image {
        Some(kind) => write("test.o", &linux_object(program, &object, kind, folder.path())?)?,
        None => write("test.o", &object)?,
    }
    let mut cc = Command::new(tools.cc);
    // Linkers for Windows add the suffix to a name without one.
    cc.args(tools.link).arg("-o").arg(at("test.exe")).args([at("driver.o"), at("test.o")]);
    succeed(cc.args(tools.libraries))?;
    let path = at("test.exe");
    Ok(Executable { folder, path, tools })
}

/// Returns the object for Linux of a program whose object for another system is `object`, using files in `folder`.
///
/// # Errors
/// If a tool fails or warns, or the image is malformed.
fn linux_object(program: &Program, object: &[u8], kind: Image, folder: &Path) -> Result<Vec<u8>, String> {
    let data = match kind {
        Image::Pe => image::link(program, object, folder)?,
        Image::MachO => macho_image::link(program, object, folder)?,
    };
    let linux = format!("{}-unknown-linux-gnu", program.triple.architecture);
    let linux = linux.parse().map_err(|error| format!("{error}"))?;
    let written = kingpost_emit_object::write(&linux, &ModuleBuffer::default(), &data, ObjectOptions::default());
    written.map_err(|error| error.to_string())
}

fn object(program: &Program) -> Result<Vec<u8>, String> {
    let mut data = program.data.clone();
    data.push(table(&program.module));
    let options = ObjectOptions::default().with(|options| options.unwind_info = program.unwind_info);
    let object = kingpost_emit_object::write(&program.triple, &program.module, &data, options);
    object.map_err(|error| error.to_string())
}

/// Returns the driver's table: the number of functions, and their addresses.
fn table(module: &ModuleBuffer) -> DataObject {
    let count = module.len() as u64;
    let mut bytes = count.to_le_bytes().to_vec();
    bytes.resize(8 * (module.len() + 1), 0);
    let pointers = module.functions().enumerate().map(|(index, view)| DataPointer {
        offset: 8 * (index as u64 + 1),
        symbol: view.function.head.name.clone(),
        addend: 0,
    });
    DataObject {
        placement: Default::default(),
        name: SymbolName::named(TABLE),
        align: 8,
        writable: true,
        tls: false,
        size: bytes.len() as u64,
        bytes,
        pointers: pointers.collect(),
    }
}

fn compile_driver(tools: &Tools) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (source, object) = (folder.path().join("driver.c"), folder.path().join("driver.o"));
    fs::write(&source, tools.source).map_err(|error| error.to_string())?;
    let mut cc = Command::new(tools.cc);
    succeed(cc.args(["-c", "-O1", "-fno-stack-protector", "-fno-pie", "-o"]).args([&object, &source]))?;
    fs::read(object).map_err(|error| error.to_string())
}
