//! Prepares the copies of published packages that the packages of `cranelift-compat` build on.
//!
//! Cargo cannot have a package and its replacement from one registry in one build. The packages `cranelift-codegen`
//! and `regalloc2` of `drop-in/` need the published packages with these names, so they depend on copies with other
//! names. The copies are in `.upstream/`, which Git ignores. `versions.rs` has the packages for other versions of Cranelift.

mod versions;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "\
Usage: kingpost-compat prepare [VERSION]

Copies the published packages cranelift-codegen and regalloc2, without changes except for their names, to the
folder .upstream of cranelift-compat. VERSION is the version of the package cranelift-codegen in drop-in/ by default.
For another one of 0.135, 0.136 or 0.137, packages of drop-in/ with that version are made in .upstream/VERSION.
A package is downloaded if Cargo does not have it.";

/// The replaced packages. The version on the command line is the version of the first one.
const PACKAGES: [&str; 2] = ["cranelift-codegen", "regalloc2"];

/// Returns the name of the copy of a package.
fn copy_name(package: &str) -> String {
    format!("{package}-upstream")
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match *words {
        ["prepare"] => prepare(None),
        ["prepare", version] if !version.starts_with('-') => prepare(Some(version)),
        ["--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Copies the published packages and prints the lines that a client needs.
fn prepare(version: Option<&str>) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder of cranelift-compat");
    let folder = root.join(".upstream");
    let _lock = lock(&folder)?;
    let [codegen, regalloc] = PACKAGES;
    let replaced = |package| version_of(&read(&root.join("drop-in").join(package).join("Cargo.toml"))?);
    let usual = replaced(codegen)?;
    let version = version.unwrap_or(&usual);
    let mut of_version = root.to_path_buf();
    if version != usual {
        of_version = versions::make(root, &folder, &usual, version)?;
    }
    prepare_package(codegen, version, &of_version.join(".upstream"))?;
    prepare_package(regalloc, &replaced(regalloc)?, &folder)?;
    // `cargo fmt --all` includes packages in folders.
    write(&folder.join("rustfmt.toml"), "disable_all_formatting = true\n")?;
    println!("\nLines for Cargo.toml of the client's workspace, the first one or the second one:\n");
    println!("[patch.crates-io]");
    for (package, root) in [(codegen, &*of_version), (regalloc, root)] {
        println!("{package} = {{ path = {:?} }}", root.join("drop-in").join(package));
    }
    println!("\nThen run `cargo update -p` with the name of the package there once.");
    Ok(())
}

/// Waits until no other process prepares packages in `folder`, and makes others wait until the result is dropped.
fn lock(folder: &Path) -> Result<File, String> {
    fs::create_dir_all(folder).map_err(at(folder))?;
    let path = folder.join("lock");
    let file = File::create(&path).map_err(at(&path))?;
    file.lock().map_err(at(&path))?;
    Ok(file)
}

/// Copies one published package to `folder` unless the copy is there.
fn prepare_package(package: &str, version: &str, folder: &Path) -> Result<(), String> {
    let copy = folder.join(package);
    let manifest = copy.join("Cargo.toml");
    // The manifest is written last.
    let present = fs::read_to_string(&manifest).ok().and_then(|manifest| version_of(&manifest).ok());
    let name = copy_name(package);
    if present.as_deref() == Some(version) {
        println!("{name} {version} is in {}", copy.display());
        return Ok(());
    }
    let published = published(&folder.join("fetch"), package, version)?;
    if copy.exists() {
        fs::remove_dir_all(&copy).map_err(at(&copy))?;
    }
    copy_package(&published, &copy)?;
    write(&manifest, &renamed(package, &read(&published.join("Cargo.toml"))?)?)?;
    println!("copied {}\nto {}, as {name} {version}", published.display(), copy.display());
    Ok(())
}

/// Returns the folder to which Cargo unpacked the published package. Downloads it only if Cargo does not have it.
fn published(scratch: &Path, package: &str, version: &str) -> Result<PathBuf, String> {
    let dependency = format!("[dependencies.{package}]\nversion = \"={version}\"\ndefault-features = false\n");
    let head = "[package]\nname = \"fetch\"\nedition = \"2024\"\n\n[workspace]\n\n[lib]\npath = \"lib.rs\"\n\n";
    write(&scratch.join("Cargo.toml"), &format!("{head}{dependency}features = [\"std\"]\n"))?;
    write(&scratch.join("lib.rs"), "")?;
    let metadata = metadata(scratch, &["--offline"]).or_else(|_| metadata(scratch, &[]))?;
    // Paths are between quotation marks.
    let end = Path::new(&format!("{package}-{version}")).join("Cargo.toml");
    let manifest = metadata.split('"').map(Path::new).find(|path| path.ends_with(&end));
    let manifest = manifest.ok_or_else(|| format!("Cargo names no folder of {package} {version}"))?;
    Ok(manifest.parent().expect("it ends with two names").to_path_buf())
}

fn metadata(folder: &Path, words: &[&str]) -> Result<String, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version=1"]).args(words).current_dir(folder);
    let output = command.output().map_err(|error| format!("cargo does not run: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

/// Returns the version of the package with this manifest.
fn version_of(manifest: &str) -> Result<String, String> {
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    line.map(str::to_string).ok_or_else(|| "a manifest without a version".into())
}

/// Returns the manifest with the name of the copy.
fn renamed(package: &str, manifest: &str) -> Result<String, String> {
    // The library can have the name of the package; the version follows only the latter.
    let (from, to) =
        (format!("\nname = \"{package}\"\nversion"), format!("\nname = \"{}\"\nversion", copy_name(package)));
    match manifest.matches(&from).count() {
        1 => Ok(manifest.replace(&from, &to)),
        count => Err(format!("the published manifest has the name {package} {count} times, not once")),
    }
}

/// Copies all files except the manifest at the top.
fn copy_package(from: &Path, to: &Path) -> Result<(), String> {
    copy_folder(from, to)?;
    let manifest = to.join("Cargo.toml");
    fs::remove_file(&manifest).map_err(at(&manifest))
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    fs::create_dir_all(to).map_err(at(to))?;
    for entry in fs::read_dir(from).map_err(at(from))? {
        let path = entry.map_err(at(from))?.path();
        let target = to.join(path.file_name().expect("an entry has a name"));
        match path.is_dir() {
            true => copy_folder(&path, &target)?,
            false => fs::copy(&path, &target).map(drop).map_err(at(&path))?,
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(at(path))
}

/// Writes a file, and its folder if that is missing.
fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().expect("a file is in a folder");
    fs::create_dir_all(folder).map_err(at(folder))?;
    fs::write(path, text).map_err(at(path))
}

/// Returns a function that adds a path to an error.
fn at(path: &Path) -> impl FnOnce(io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_the_package_changes() {
        let manifest =
            "[package]\nname = \"cranelift-codegen\"\nversion = \"1.2.3\"\n\n[lib]\nname = \"cranelift_codegen\"\n";
        let copy = renamed("cranelift-codegen", manifest).unwrap();
        assert_eq!(copy.replace("-upstream", ""), manifest);
        assert_eq!(copy.matches("-upstream").count(), 1);
        assert_eq!(version_of(manifest).unwrap(), "1.2.3");
        assert!(renamed("cranelift-codegen", "[package]\nname = \"other\"\nversion = \"1\"\n").is_err());
    }
}
