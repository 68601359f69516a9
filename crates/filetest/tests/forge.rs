//! Files that a forge or a registry reads: manifests, licenses of dependencies, the workflow.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the strings of the list `key` in `deny.toml`.
fn allowed(key: &str) -> BTreeSet<String> {
    let text = read("deny.toml");
    let list = text.split_once(&format!("{key} = [")).and_then(|(_, rest)| rest.split_once(']')).expect("a list").0;
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns `true` if a license expression is satisfied by `allowed`.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], "");
    expression.split(" OR ").any(|one| one.split(" AND ").all(|license| allowed.contains(license.trim())))
}

#[test]
fn dependencies_have_licenses_of_the_list() {
    let allowed = allowed("allow");
    let cargo = std::env::var("CARGO").unwrap_or("cargo".into());
    let arguments = ["tree", "--workspace", "--offline", "--locked", "--prefix", "none", "--format", "{p}\t{l}"];
    let output = Command::new(cargo).args(arguments).current_dir(root()).output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let packages: BTreeSet<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    assert!(packages.len() > 60, "{} packages", packages.len());
    let license = |line: &str| line.split_once('\t').map(|(_, license)| license.trim_end_matches(" (*)").to_owned());
    let wrong: Vec<_> =
        packages.iter().filter(|line| !license(line).is_some_and(|l| is_allowed(&l, &allowed))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn license_expressions_are_read() {
    let allowed = BTreeSet::from(["MIT".to_owned(), "Zlib".to_owned()]);
    assert!(is_allowed("MIT", &allowed) && is_allowed("GPL-3.0 OR MIT", &allowed) && is_allowed("X/MIT", &allowed));
    assert!(is_allowed("(MIT AND Zlib) OR X", &allowed));
    assert!(!is_allowed("MIT AND GPL-3.0", &allowed) && !is_allowed("", &allowed));
}

#[test]
fn the_workflow_runs_what_ci_runs() {
    let workflow = read(".github/workflows/ci.yml");
    assert!(workflow.lines().any(|line| line.trim() == "- run: .ci/run"), "{workflow}");
    let version = read("Cargo.toml");
    let version =
        version.split_once("rust-version = \"").and_then(|(_, rest)| rest.split_once('"')).expect("a version").0;
    assert!(workflow.contains(&format!("rustup default {version}")), "the workflow has another Rust than {version}");
}

/// Crates that are not published: they test or measure this workspace.
const TOOLS: &[&str] = &["bench", "ci", "demo", "difftest", "fuzz", "gate"];

#[test]
fn manifests_have_what_a_registry_shows() {
    let mut published = 0;
    for entry in fs::read_dir(root().join("crates")).expect("a folder") {
        let folder = entry.expect("readable").path();
        let name = folder.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        let line = |start: &str| manifest.lines().find(|line| line.starts_with(start)).unwrap_or_default();
        if TOOLS.contains(&name.as_str()) {
            assert_eq!(line("publish"), "publish = false", "{name} is a tool");
            continue;
        }
        published += 1;
        assert_eq!(line("publish"), "publish.workspace = true", "{name}");
        for key in ["readme.workspace", "license.workspace"] {
            assert_eq!(line(key), format!("{key} = true"), "{name}");
        }
        for key in ["description = \"", "keywords = [\"", "categories = [\""] {
            assert!(line(key).len() > key.len() + 4, "{name}: no {key}");
        }
        // The registry accepts at most five.
        assert!(line("keywords").matches('"').count() <= 10, "{name}: {}", line("keywords"));
        let license = fs::read_to_string(folder.join("LICENSE"));
        assert!(license.is_ok_and(|text| text == read("LICENSE")), "{name}: LICENSE is the workspace's");
    }
    assert!(published > 20, "{published} crates");
}

/// Adds the Rust sources below `folder` to `out`.
fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
}

/// Returns the Rust sources of published crates, each with the folder of its crate.
fn published_sources() -> Vec<(PathBuf, PathBuf)> {
    let folders = fs::read_dir(root().join("crates")).expect("a folder").map(|entry| entry.expect("readable").path());
    let published = folders.filter(|folder| !TOOLS.iter().any(|tool| folder.ends_with(tool)));
    let files = published.flat_map(|folder| {
        let mut files = Vec::new();
        sources(&folder.join("src"), &mut files);
        files.into_iter().map(move |file| (folder.clone(), file))
    });
    files.collect()
}

/// Returns the included paths of a source that leave the folder `depth` levels above it, and are no documentation.
fn outside(text: &str, depth: usize) -> Vec<&str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("#[doc"));
    let paths = lines.flat_map(|line| line.split("include").skip(1)).filter_map(|rest| {
        let path = rest.trim_start_matches("_str").trim_start_matches("_bytes").strip_prefix("!(\"")?;
        path.split('"').next()
    });
    paths.filter(|path| path.split('/').filter(|&part| part == "..").count() > depth).collect()
}

/// Checks that sources include files of their crate only: a package has the files of its folder, and of the links in it.
#[test]
fn published_crates_include_their_own_files() {
    let mut wrong = Vec::new();
    for (folder, file) in published_sources() {
        let depth = file.strip_prefix(&folder).expect("below the folder").components().count() - 1;
        let text = fs::read_to_string(&file).expect("readable");
        wrong.extend(outside(&text, depth).iter().map(|path| format!("{}: {path}", file.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn included_paths_are_read() {
    let text = "const A: &str = include_str!(\"../paper/a.ra\");\n    #[doc = include_str!(\"../../../README.md\")]\n\
                const B: &[u8] = include_bytes!(\"../../rules/b\");";
    assert_eq!(outside(text, 1), ["../../rules/b"]);
    assert!(outside(text, 2).is_empty());
}

/// Checks that no test is left out: files of a program with a list are in the list, and sources that are not tested have no tests.
#[test]
fn all_tests_are_built() {
    for entry in fs::read_dir(root().join("crates")).expect("the crates").map(|entry| entry.expect("a crate").path()) {
        let manifest = fs::read_to_string(entry.join("Cargo.toml")).expect("a manifest");
        if manifest.contains("autotests = false") {
            let main = fs::read_to_string(entry.join("tests/main.rs")).expect("a list of modules");
            for file in fs::read_dir(entry.join("tests")).expect("tests").map(|file| file.expect("a file").path()) {
                let name = file.file_stem().and_then(|name| name.to_str()).expect("a name");
                let is_module = file.extension().is_some_and(|it| it == "rs") || file.join("mod.rs").is_file();
                let is_listed = name == "main" || main.lines().any(|line| line == format!("mod {name};"));
                assert!(is_listed || !is_module, "{} is not in main.rs", file.display());
            }
        }
        if manifest.contains("\ntest = false") {
            let mut files = Vec::new();
            sources(&entry.join("src"), &mut files);
            let has_tests = |file: &PathBuf| fs::read_to_string(file).expect("readable").contains("#[test]");
            assert!(!files.iter().any(has_tests), "{} has tests", entry.display());
        }
    }
}

/// Ends of names of types that a release may extend: errors, options, and diagnostics.
const EXTENDED: &[&str] = &["Error", "ErrorKind", "Options", "Settings", "Limits", "Diagnostics", "TargetInfo"];

/// Returns the public types of a source that a release may extend, but that clients can construct or match completely:
/// enums and structs with public fields, without `#[non_exhaustive]`. The layout of a type with `#[repr(C)]` is fixed.
fn exhaustive(text: &str) -> Vec<&str> {
    let mut is_settled = false;
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let item = ["pub struct ", "pub enum "].iter().find_map(|start| line.strip_prefix(start));
        if let Some(item) = item {
            let name = item.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            let has_field = line.starts_with("pub enum ")
                || lines.clone().take_while(|line| *line != "}").any(|line| line.starts_with("    pub "));
            if EXTENDED.iter().any(|end| name.ends_with(end)) && has_field && line.ends_with('{') && !is_settled {
                found.push(name);
            }
        }
        is_settled = match line {
            "#[non_exhaustive]" | "#[repr(C)]" => true,
            _ => is_settled && (line.starts_with("#[") || line.starts_with("///")),
        };
    }
    found
}

#[test]
fn errors_and_options_may_get_fields_and_variants() {
    let mut wrong = Vec::new();
    for (_, file) in published_sources() {
        let text = fs::read_to_string(&file).expect("readable");
        wrong.extend(exhaustive(&text).iter().map(|name| format!("{}: {name}", file.display())));
    }
    assert!(wrong.is_empty(), "without `#[non_exhaustive]`:\n{}", wrong.join("\n"));
}

#[test]
fn exhaustive_types_are_found() {
    let text = "#[derive(Debug)]\npub enum OpenError {\n    A,\n}\n#[non_exhaustive]\n#[derive(Debug)]\n\
                pub struct Options {\n    pub a: u8,\n}\npub struct Limits {\n    a: u8,\n}\n\
                #[repr(C)]\npub struct Error {\n    pub a: u8,\n}\n\
                pub struct RuleLimits<'a> {\n    pub a: &'a u8,\n}\npub struct Other {\n    pub a: u8,\n}\n";
    assert_eq!(exhaustive(text), ["OpenError", "RuleLimits"]);
}

/// Checks that the script that makes the measured modules has the modules of its page, and refuses other names. It needs
/// no network for that.
#[test]
fn the_script_of_the_modules_has_those_of_its_page() {
    let script = root().join("crates/bench/modules/all.sh");
    let output = Command::new("sh").arg(script).arg("other").output().expect("a shell");
    let page = read("docs/modules.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let names: Vec<&str> = rows.map(|(name, _)| name).collect();
    let expected = format!("there is no module other; there are {}\n", names.join(" "));
    assert_eq!((String::from_utf8_lossy(&output.stderr), output.status.code()), (expected.into(), Some(2)));
}
