//! The README's example of Rust is the example that runs, and prints what the README says.

use std::fs;
use std::path::Path;

#[test]
fn the_readme_shows_what_runs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(readme) = fs::read_to_string(folder.join("../../README.md")) else {
        println!("SKIPPED: the package stands alone, without the project's README");
        return;
    };
    let library = fs::read_to_string(folder.join("src/lib.rs")).unwrap();
    let code = |line: &str| line.trim_start_matches("//!").trim_start_matches(" # ").trim().to_string();
    let runs: Vec<String> = library.lines().filter(|line| line.starts_with("//!")).map(code).collect();
    let (text, rest) = readme.split_once("```rust\n").unwrap();
    let shown = rest.split_once("```").unwrap().0;
    for line in shown.lines().map(str::trim).filter(|line| !line.is_empty()) {
        assert!(runs.iter().any(|run| run == line), "`{line}` is not in the example of crates/kingpost");
    }
    let (_, prints) = text.rsplit_once("this prints `").unwrap();
    let prints = prints.split_once('`').unwrap().0;
    assert!(runs.contains(&format!("assert_eq!(triple(14), {prints});")), "`{prints}` is not what the example prints");
}
