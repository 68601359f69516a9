//! Compares programs on Wasmtime with the same programs compiled for this machine.

use crate::compiler;
use crate::wasi::{self, ARGUMENTS, Output, Program, VARIABLE};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wasmtime::error::Context;
use wasmtime::{Engine, Module, OptLevel, Result, Strategy, ensure};

/// Runs each module of a folder with Kingpost at each level, and the program of its name in the other folder.
pub fn run(modules: &Path, programs: &Path) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("programs-client-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let result = all(&files(modules)?, programs, &folder);
    fs::remove_dir_all(&folder)?;
    result
}

fn all(files: &[PathBuf], programs: &Path, folder: &Path) -> Result<()> {
    for level in [OptLevel::None, OptLevel::Speed] {
        let engine = Engine::new(&compiler::config(Strategy::Cranelift, level))?;
        for file in files {
            let name = file.file_stem().unwrap_or_default();
            let expected = native(&programs.join(name), folder)?;
            let found = Program::new(&wasi::link(&Module::from_file(&engine, file)?)?, folder)?.run()?;
            ensure!(found == expected, "{name:?} at {level:?}: {found:?}, on this machine {expected:?}");
            println!("{} at {level:?}: as expected", name.display());
        }
    }
    println!("kingpost {}", cranelift_codegen::kingpost_version());
    Ok(())
}

/// Returns the modules in a folder by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "wasm"));
    ensure!(!files.is_empty(), "{}: no modules", folder.display());
    files.sort();
    Ok(files)
}

fn native(program: &Path, folder: &Path) -> Result<Output> {
    let mut command = Command::new(program);
    command.args(ARGUMENTS).env(VARIABLE.0, VARIABLE.1).current_dir(folder);
    let output = command.output().with_context(|| program.display().to_string())?;
    Ok(Output { code: output.status.code().unwrap_or(-1), output: output.stdout, errors: output.stderr })
}
